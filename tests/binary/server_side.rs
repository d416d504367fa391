//! Server-side apply as `kubectl` users see it: owners, conflicts, removal, and migration from client-side apply.
//!
//! For built-in and custom kinds. Messages are those of Kubernetes.

use serde_json::Value;

use crate::rig::{Dev, Run};

/// Two kinds with one field each that the stories quarrel about: its text is put in for `TEXT`.
const MANIFESTS: [(&str, &[&str], &str, &str); 2] = [
    (
        "configmap",
        &["configmap", "quarrel", "-n", "default"],
        ".data.greeting",
        r"
apiVersion: v1
kind: ConfigMap
metadata:
  name: quarrel
  namespace: default
data:
  greeting: TEXT
",
    ),
    (
        "placement",
        &["placement", "quarrel", "-n", "default"],
        ".spec.clusterSets",
        r"
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata:
  name: quarrel
  namespace: default
spec:
  clusterSets: [TEXT]
",
    ),
];

fn server_side(dev: &Dev, manifest: &str, flags: &[&str]) -> Run {
    dev.kubectl_with(
        &[&["apply", "--server-side", "-f", "-"], flags].concat(),
        manifest,
    )
}

/// Returns manager and operation of every entry of `managedFields` that is about the object itself.
fn managers(object: &Value) -> Vec<(&str, &str)> {
    let entries = object["metadata"]["managedFields"].as_array();
    entries
        .into_iter()
        .flatten()
        .filter(|entry| entry["subresource"].is_null())
        .map(|entry| {
            let manager = entry["manager"].as_str().unwrap_or_default();
            (manager, entry["operation"].as_str().unwrap_or_default())
        })
        .collect()
}

#[test]
fn an_applier_owns_its_fields_and_others_have_to_force() {
    let dev = Dev::start(&["--clusters", "1", "--no-demo"]);
    for (kind, object, path, manifest) in MANIFESTS {
        let first = server_side(&dev, &manifest.replace("TEXT", "hello"), &[]);
        assert!(
            first.ok && first.stdout.ends_with("serverside-applied\n"),
            "{kind}: {first:?}"
        );
        let changed = server_side(&dev, &manifest.replace("TEXT", "ahoy"), &[]);
        assert!(changed.ok, "{kind}: {changed:?}");

        let other = ["--field-manager", "other"];
        let refused = server_side(&dev, &manifest.replace("TEXT", "hands-off"), &other);
        assert_eq!(refused.code, Some(1), "{kind}: {refused:?}");
        let words = format!("error: Apply failed with 1 conflict: conflict with \"kubectl\": {path}\n");
        assert!(refused.stderr.starts_with(&words), "{kind}: {}", refused.stderr);
        assert!(
            refused.stderr.contains("--force-conflicts"),
            "{kind}: {}",
            refused.stderr
        );

        let forced = server_side(
            &dev,
            &manifest.replace("TEXT", "mine"),
            &["--field-manager", "other", "--force-conflicts"],
        );
        assert!(forced.ok, "{kind}: {forced:?}");
        let live = dev.read(&[object, &["--show-managed-fields"]].concat());
        assert_eq!(managers(&live), [("other", "Apply")], "{kind}: {live:#}");
        assert!(live.to_string().contains("mine"), "{kind}: {live:#}");
    }
}

#[test]
fn what_its_owner_leaves_out_goes() {
    let dev = Dev::start(&["--clusters", "1", "--no-demo"]);
    for (kind, object, path, manifest) in MANIFESTS {
        let manifest = manifest.replace("TEXT", "hello");
        assert!(server_side(&dev, &manifest, &[]).ok);
        let without = manifest
            .split_inclusive('\n')
            .filter(|line| !line.contains("hello"))
            .collect::<String>()
            .replace("\ndata:", "\nimmutable: false")
            .replace("\nspec:", "\nspec: {}");
        let shrunk = server_side(&dev, &without, &[]);
        assert!(shrunk.ok, "{kind}: {shrunk:?}");
        let live = dev.read(object);
        let pointer = path.replace('.', "/");
        assert_eq!(live.pointer(&pointer), None, "{kind}: {live:#}");
        assert!(
            live["metadata"].get("managedFields").is_none(),
            "{kind}: shown unasked"
        );
    }
}

#[test]
fn a_manifest_moves_over_from_client_side_apply() {
    let dev = Dev::start(&["--clusters", "1", "--no-demo"]);
    for (kind, object, path, manifest) in MANIFESTS {
        assert!(dev.apply(&manifest.replace("TEXT", "hello")).ok);
        let shown = [object, &["--show-managed-fields"]].concat();
        let before = dev.read(&shown);
        assert_eq!(
            managers(&before),
            [("kubectl-client-side-apply", "Update")],
            "{kind}"
        );

        // There is no conflict: the same tool set the field, and its old name gives way.
        let moved = server_side(&dev, &manifest.replace("TEXT", "ahoy"), &[]);
        assert!(moved.ok, "{kind}: {moved:?}");
        let after = dev.read(&shown);
        let mut owners = managers(&after);
        owners.sort_unstable();
        // kubectl keeps the record of the last apply under a name of its own.
        let wanted = [("kubectl", "Apply"), ("kubectl-last-applied", "Apply")];
        assert_eq!(owners, wanted, "{kind}: {after:#}");
        let last = &after["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
        assert!(
            last.as_str().is_some_and(|text| text.contains("ahoy")),
            "{kind}: {last}"
        );

        // And back: client-side apply still knows what was applied last.
        let back = dev.apply(&manifest.replace("TEXT", "hello"));
        assert!(back.ok && back.stdout.contains("configured"), "{kind}: {back:?}");
        let live = dev.read(object);
        let value = live.pointer(&path.replace('.', "/"));
        assert!(
            value.is_some_and(|value| value.to_string().contains("hello")),
            "{kind}: {live:#}"
        );
    }
}

#[test]
fn a_dry_run_and_a_difference_leave_the_owners_alone() {
    let dev = Dev::start(&["--clusters", "1", "--no-demo"]);
    for (kind, object, _, manifest) in MANIFESTS {
        assert!(server_side(&dev, &manifest.replace("TEXT", "hello"), &[]).ok);
        let shown = [object, &["--show-managed-fields"]].concat();
        let before = dev.read(&shown);
        let dry = server_side(&dev, &manifest.replace("TEXT", "ahoy"), &["--dry-run=server"]);
        assert!(
            dry.ok && dry.stdout.ends_with("serverside-applied (server dry run)\n"),
            "{kind}: {dry:?}"
        );
        let same = dev.kubectl_with(
            &["diff", "--server-side", "-f", "-"],
            &manifest.replace("TEXT", "hello"),
        );
        assert_eq!(
            (same.code, same.stdout.as_str()),
            (Some(0), ""),
            "{kind}: {}",
            same.stderr
        );
        let differs = dev.kubectl_with(
            &["diff", "--server-side", "-f", "-"],
            &manifest.replace("TEXT", "ahoy"),
        );
        assert_eq!(differs.code, Some(1), "{kind}: {differs:?}");
        assert!(differs.stdout.contains("ahoy"), "{kind}: {differs:?}");
        assert_eq!(dev.read(&shown), before, "{kind}");
        let again = server_side(&dev, &manifest.replace("TEXT", "hello"), &[]);
        assert!(again.ok, "{kind}: {again:?}");
        assert_eq!(
            dev.read(&shown),
            before,
            "{kind}: the same intent changes nothing, not even a time"
        );
    }
}
