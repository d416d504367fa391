//! The install kit on a hub with Open Cluster Management's definitions: what `docs/deploy.md` tells to apply is taken, changes
//! nothing when applied again, and is gone afterwards.
//!
//! Decides nothing about pods: none is run here. Whether the rights are enough, `rights_on_hub` decides.

use crate::definitions::hub_with_theirs;
use crate::rig::{kubectl, repository};

/// In the order of the page.
const FOLDERS: [&str; 3] = ["gate", "controllers", "webhooks"];

#[tokio::test(flavor = "multi_thread")]
async fn the_kit_is_applied_in_the_order_of_its_page_and_taken_away_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = hub_with_theirs(folder.path()).await;
    tokio::task::block_in_place(|| {
        let on = |verb: &[&str], part: &str| {
            let place = repository(&format!("manifests/deploy/{part}"));
            let ran = kubectl(
                &kubeconfig,
                &[verb, &["-k", &place.to_string_lossy()]].concat(),
                "",
            );
            assert!(ran.ok, "{verb:?} {part}: {}", ran.stderr);
            ran.stdout
        };
        for part in FOLDERS {
            let made = on(&["apply"], part);
            assert!(made.lines().all(|line| line.ends_with(" created")), "{made}");
        }
        for part in FOLDERS {
            let again = on(&["apply"], part);
            assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");
        }
        // First the webhooks: no request must wait for an answer that does not come.
        for part in FOLDERS.iter().rev() {
            // The namespace takes along what is told one by one after it.
            on(&["delete", "--ignore-not-found"], part);
        }
        let kinds = "clusterroles,clusterrolebindings,validatingwebhookconfigurations,mutatingwebhookconfigurations,crd,deployments,services";
        let left = kubectl(&kubeconfig, &["get", kinds, "-A", "-o", "name"], "");
        assert!(left.ok, "{}", left.stderr);
        let ours: Vec<&str> = left
            .stdout
            .lines()
            .filter(|name| name.contains("tidegate") || name.contains("addonpolicies"))
            .collect();
        assert!(ours.is_empty(), "{ours:?}");
    });
    hub.shutdown().await;
}
