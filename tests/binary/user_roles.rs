//! The ClusterRoles for users on a hub that checks permissions: what each user may do, with kubectl and with `tidegate rollout`.

use devhub::{Authz, DevHub};

use crate::reads::Reader;
use crate::rig::{Run, kubectl, repository, tidegate};

/// Users, and the ClusterRoles that are bound to them.
const BOUND: [(&str, &[&str]); 6] = [
    ("viewer", &["tidegate-viewer", "tidegate-fleet-viewer"]),
    (
        "operator",
        &["tidegate-viewer", "tidegate-fleet-viewer", "tidegate-operator"],
    ),
    ("approver", &["tidegate-approver"]),
    ("reader", &["view"]),
    ("editor", &["edit"]),
    ("owner", &["admin"]),
];

const ADDONS: &str = "clustermanagementaddons.addon.open-cluster-management.io";

/// A user, a verb, a resource, and whether the user may.
const MAY: [(&str, &str, &str, bool); 19] = [
    ("viewer", "list", "addonrollouts.tidegate.io", true),
    ("viewer", "list", ADDONS, true),
    ("viewer", "patch", "addonrollouts.tidegate.io", false),
    ("operator", "patch", "addonrollouts.tidegate.io", true),
    ("operator", "delete", "rolloutfreezes.tidegate.io", true),
    ("operator", "patch", "rolloutapprovals.tidegate.io", false),
    ("operator", "patch", ADDONS, false),
    ("approver", "patch", "rolloutapprovals.tidegate.io", true),
    ("approver", "delete", "rolloutapprovals.tidegate.io", false),
    ("approver", "patch", "addonrollouts.tidegate.io", false),
    ("reader", "list", "addonrollouts.tidegate.io", true),
    ("reader", "list", ADDONS, false),
    ("reader", "patch", "addonrollouts.tidegate.io", false),
    ("editor", "patch", "addonrollouts.tidegate.io", false),
    ("editor", "patch", "rolloutapprovals.tidegate.io", false),
    ("editor", "patch", ADDONS, false),
    ("owner", "patch", "addonrollouts.tidegate.io", true),
    ("owner", "patch", ADDONS, false),
    (
        "owner",
        "patch",
        "managedclustersupgrades.cluster.open-cluster-management.io",
        false,
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn users_may_do_what_their_role_is_for() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut builder = DevHub::builder()
        .authz(Authz::Rbac)
        .controllers(devhub::Controller::ALL);
    for crd in api::crds() {
        builder = builder.crd(serde_json::to_value(crd).expect("a definition is plain data"));
    }
    let hub = builder.start().await.expect("the hub starts");
    let admin = folder.path().join("kubeconfig");
    hub.write_kubeconfig(&admin).expect("writable");
    tokio::task::block_in_place(|| {
        let done = |words: &[&str]| {
            let ran = kubectl(&admin, words, "");
            assert!(ran.ok, "{words:?}: {}", ran.stderr);
        };
        for file in ["manifests/rbac/users.yaml", "manifests/examples"] {
            done(&["apply", "-f", &repository(file).to_string_lossy()]);
        }
        for (user, roles) in BOUND {
            for role in roles {
                let name = format!("{user}-{role}");
                let (role, user) = (format!("--clusterrole={role}"), format!("--user={user}"));
                done(&["create", "clusterrolebinding", &name, &role, &user]);
            }
        }
        let reader = Reader::of(&admin);
        reader.until("the roles are aggregated", &["clusterrole", "admin"], |role| {
            role["rules"].to_string().contains("rolloutfreezes")
        });
        for (user, verb, resource, may) in MAY {
            let ran = kubectl(&admin, &["auth", "can-i", verb, resource, "--as", user], "");
            assert_eq!(
                ran.stdout.trim() == "yes",
                may,
                "{user} {verb} {resource}: {}",
                ran.stderr
            );
        }
        let rollout = |user: &str, words: &str| {
            let mut command = tidegate();
            command.arg("rollout").args(words.split(' ')).args(["--as", user]);
            Run::from(command.env("KUBECONFIG", &admin).output().expect("it starts"))
        };
        let ran = rollout("viewer", "list");
        assert!(ran.stdout.contains("helloworld"), "{}{}", ran.stdout, ran.stderr);
        for words in [
            "pause helloworld --reason=alerts",
            "freeze holidays --reason=holidays",
        ] {
            let ran = rollout("viewer", words);
            assert_eq!(ran.code, Some(1), "{words}: {}{}", ran.stdout, ran.stderr);
            assert!(
                ran.stderr.contains("the hub does not allow viewer to"),
                "{words}: {}",
                ran.stderr
            );
        }
        for words in [
            "pause helloworld --reason=alerts",
            "resume helloworld",
            "freeze holidays --reason=holidays",
            "unfreeze holidays",
        ] {
            let ran = rollout("operator", words);
            assert!(ran.ok, "{words}: {}{}", ran.stdout, ran.stderr);
        }
    });
    hub.shutdown().await;
}
