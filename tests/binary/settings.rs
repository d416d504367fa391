//! The settings of a hub's controllers, as every tool reads them: a tool reports what the controllers do, or nothing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::addresses::free_address;
use crate::rig::{Dev, PATIENCE, Run, hub_with_rbac, kubectl, run};
use crate::web::told;

fn at(kubeconfig: &Path, args: &[&str]) -> Run {
    run(&[args, &["--kubeconfig", &kubeconfig.to_string_lossy()]].concat())
}

fn parsed(text: &str) -> Value {
    let parsed = serde_json::from_str(text);
    assert!(parsed.is_ok(), "{text}");
    parsed.expect("just seen")
}

/// What of a picture does not change with every look.
fn essence(picture: &Value) -> Value {
    json!({"phase": picture["phase"], "counts": picture["counts"]})
}

/// Waits until every tool reports what the web page does, and the page reports that phase.
fn agree(dev: &Dev, address: &str, phase: &str) {
    let begun = Instant::now();
    loop {
        let page = parsed(&told(address, "/api/rollouts/helloworld", &["host: 127.0.0.1"]).2);
        let status = at(
            &dev.kubeconfig,
            &["rollout", "status", "helloworld", "-o", "json"],
        );
        let list = at(&dev.kubeconfig, &["rollout", "list", "-o", "json"]);
        let dump = dev.state().join("hub.yaml");
        let dump = dump.to_string_lossy();
        assert!(at(&dev.kubeconfig, &["snapshot", "-o", &dump]).ok);
        let of_dump = run(&["rollout", "status", "helloworld", "--facts", &dump, "-o", "json"]);
        let all = [
            essence(&page),
            essence(&parsed(&status.stdout)),
            essence(&parsed(&list.stdout)["items"][0]),
            essence(&parsed(&of_dump.stdout)),
        ];
        if all.iter().all(|one| *one == all[0]) && all[0]["phase"] == phase {
            let text = at(&dev.kubeconfig, &["rollout", "list"]).stdout;
            assert!(text.contains(&format!("helloworld  {phase}")), "{text}");
            return;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "they do not agree on {phase}: {all:#?}"
        );
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn rollout_and_top_report_what_controllers_with_other_settings_do() {
    for (flags, phase, counts) in [
        (&["--compat", "ocm"][..], "Progressing", 0),
        (&["--failures", "deadline"][..], "Progressing", 0),
        (&[][..], "Failed", 1),
    ] {
        let address = free_address().to_string();
        let begin = [
            "--clusters",
            "3",
            "--ui",
            &address,
            "--fault",
            "cluster2=apply-failure:quota",
        ];
        let dev = Dev::start(&[&begin[..], flags].concat());
        agree(&dev, &address, phase);
        let picture = at(
            &dev.kubeconfig,
            &["rollout", "status", "helloworld", "-o", "json"],
        );
        assert_eq!(parsed(&picture.stdout)["counts"]["failed"], counts, "{flags:?}");
        let status = at(&dev.kubeconfig, &["rollout", "status", "helloworld"]);
        assert_eq!(
            status.code,
            Some(if counts == 0 { 3 } else { 1 }),
            "{flags:?}: {}",
            status.stdout
        );
        // A flag wins over what is published.
        let own = [
            "rollout",
            "status",
            "helloworld",
            "--compat",
            "tidegate",
            "--failures",
            "health",
        ];
        assert_eq!(at(&dev.kubeconfig, &own).code, Some(1), "{flags:?}");
    }
}

const ROLE: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: [addon.open-cluster-management.io, cluster.open-cluster-management.io, work.open-cluster-management.io, tidegate.io], resources: ['*'], verbs: ['*']}
- {apiGroups: [rbac.authorization.k8s.io, certificates.k8s.io, coordination.k8s.io, authorization.k8s.io, apiextensions.k8s.io], resources: ['*'], verbs: [get, list, create]}
- {apiGroups: [''], resources: [events, namespaces, serviceaccounts], verbs: [get, list]}
- {nonResourceURLs: ['*'], verbs: [get]}
";

const ADDON: &str = "
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: hello}
spec: {installStrategy: {type: Manual}}
";

const SETTINGS: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: tidegate-settings, namespace: tidegate}
data: {compat: ocm}
";

fn done(admin: &Path, args: &[&str], stdin: &str) -> String {
    let done = kubectl(admin, args, stdin);
    assert!(done.ok, "{args:?}: {}", done.stderr);
    done.stdout.trim().to_owned()
}

/// The kubeconfig of an account that may read everything but the settings.
fn reader(admin: &Path) -> PathBuf {
    done(admin, &["create", "serviceaccount", "reader"], "");
    done(admin, &["apply", "-f", "-"], ROLE);
    let bind = [
        "create",
        "clusterrolebinding",
        "reader",
        "--clusterrole=reader",
        "--serviceaccount=default:reader",
    ];
    done(admin, &bind, "");
    let token = done(admin, &["create", "token", "reader"], "");
    let words = ["config", "view", "--minify", "--raw", "-o", "json"];
    let mut config = parsed(&done(admin, &words, ""));
    config["users"][0]["user"] = json!({"token": token});
    let own = admin.with_extension("reader");
    std::fs::write(&own, config.to_string()).expect("writable");
    own
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_cannot_read_the_settings_gets_that_message_and_no_verdict() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, admin) = hub_with_rbac(folder.path()).await;
    tokio::task::block_in_place(|| {
        done(&admin, &["create", "namespace", "tidegate"], "");
        done(&admin, &["apply", "-f", "-"], ADDON);
        let none = at(&admin, &["rollout", "list"]);
        assert!(
            none.ok && none.stderr.contains("no ConfigMap tidegate/tidegate-settings"),
            "{}",
            none.stderr
        );
        done(&admin, &["apply", "-f", "-"], SETTINGS);
        let known = at(&admin, &["rollout", "list"]);
        assert!(known.ok && known.stderr.is_empty(), "{}", known.stderr);
        let reader = reader(&admin);
        let manifest = folder.path().join("hello.yaml");
        std::fs::write(&manifest, ADDON).expect("writable");
        let manifest = manifest.to_string_lossy();
        without_a_verdict(&reader);
        let checked = at(&reader, &["check", "--live", &manifest]);
        assert!(
            checked.ok
                && checked
                    .stderr
                    .contains("cannot read the settings of the hub's controllers"),
            "{}{}",
            checked.stdout,
            checked.stderr
        );
        let history = at(&reader, &["rollout", "history", "hello"]);
        assert!(history.ok, "it depends on no settings: {}", history.stderr);
        let paused = at(&reader, &["rollout", "pause", "hello", "--dry-run"]);
        assert!(
            paused.ok && paused.stdout.contains("cannot read the settings"),
            "{}{}",
            paused.stdout,
            paused.stderr
        );
        let doctor = parsed(&at(&reader, &["doctor", "-o", "json"]).stdout);
        let findings = doctor["findings"].as_array().expect("findings");
        let unknown = findings
            .iter()
            .filter(|one| one.to_string().contains("cannot read the settings"));
        assert_eq!(unknown.count(), 1, "{findings:#?}");
        dumped(&reader, folder.path());
    });
    hub.shutdown().await;
}

fn without_a_verdict(reader: &Path) {
    let verbs: [&[&str]; 10] = [
        &["plan", "--live"],
        &["plan", "--live", "--take-over"],
        &["why", "hello"],
        &["render", "hello", "--cluster", "c1", "--live"],
        &["rollout", "list"],
        &["rollout", "status", "hello"],
        &["rollout", "status", "hello", "--watch", "--timeout", "1s"],
        &["rollout", "promote", "hello"],
        &["rollout", "approve", "hello"],
        &["rollout", "undo", "hello"],
    ];
    for verb in verbs {
        let refused = at(reader, verb);
        assert_eq!(
            refused.code,
            Some(2),
            "{verb:?}: {}{}",
            refused.stdout,
            refused.stderr
        );
        assert!(refused.stdout.is_empty(), "{verb:?}: {}", refused.stdout);
        let told = &refused.stderr;
        assert!(
            told.contains("cannot read the settings of the hub's controllers")
                && told.contains("--settings none"),
            "{verb:?}: {told}"
        );
        let given = at(reader, &[verb, &["--settings", "none"]].concat());
        assert!(
            !given.stderr.contains("cannot read the settings"),
            "{verb:?}: {}",
            given.stderr
        );
    }
}

/// A dump of such an account gives no verdict either.
fn dumped(reader: &Path, folder: &Path) {
    let dump = folder.join("hub.yaml");
    let dump = dump.to_string_lossy();
    let written = at(reader, &["snapshot", "-o", &dump]);
    assert!(
        written.ok && written.stderr.contains("cannot read the settings"),
        "{}",
        written.stderr
    );
    for verb in [
        &["plan", &dump][..],
        &["why", "hello", "--facts", &dump],
        &["rollout", "list", "--facts", &dump],
    ] {
        let refused = run(verb);
        assert_eq!(refused.code, Some(2), "{verb:?}: {}", refused.stdout);
        assert!(
            refused.stderr.contains("the dump does not contain them"),
            "{verb:?}: {}",
            refused.stderr
        );
        assert_ne!(
            run(&[verb, &["--settings", "none"]].concat()).code,
            Some(2),
            "{verb:?}"
        );
    }
}
