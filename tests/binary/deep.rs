//! An object that is nested so deeply that lists of its kind cannot be decoded as trees: it hides no other object from any tool.
//!
//! The depth is valid for a single object, but not for a list that contains it.

use serde_json::{Value, json};

use crate::rig::{Dev, Run, run};

/// How deep serde_json goes is 127; a list adds two levels.
const DEPTH: usize = 126;

/// A work of another add-on with a manifest of so many levels.
fn deep_work() -> Value {
    // What is around it: the object, spec, workload, the list of manifests, the manifest.
    let nested = (5..DEPTH).fold(json!({}), |inner, _| json!({"a": inner}));
    json!({"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"name": "addon-other-deploy-0", "namespace": "cluster1",
            "labels": {"open-cluster-management.io/addon-name": "other"}},
        "spec": {"workload": {"manifests": [{"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "deep", "namespace": "default"}, "data": nested}]}}})
}

#[test]
fn a_work_that_is_too_deep_for_a_list_hides_no_add_on() {
    let dev = Dev::start(&["--clusters", "2"]);
    let at = |args: &[&str]| -> Run {
        run(&[args, &["--kubeconfig", &dev.kubeconfig.to_string_lossy()]].concat())
    };
    let applied = dev.apply(&deep_work().to_string());
    assert!(applied.ok, "{}", applied.stderr);
    let listed = at(&["rollout", "list"]);
    assert!(
        listed.ok && listed.stdout.contains("helloworld"),
        "{}",
        listed.stderr
    );
    for args in [
        &["rollout", "status", "helloworld"][..],
        &["rollout", "history", "helloworld"],
        &["snapshot"],
    ] {
        let said = at(args);
        assert!(!said.stderr.contains("cannot read"), "{args:?}: {}", said.stderr);
        assert!(said.stdout.contains("helloworld"), "{args:?}: {}", said.stdout);
    }
    let doctor = at(&["doctor"]).stdout;
    assert!(doctor.contains("objects/readable"), "{doctor}");
    assert!(
        !doctor.contains("cannot be read"),
        "each object by itself can be read: {doctor}"
    );
}
