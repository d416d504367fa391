//! The steps of `docs/operate/upgrade.md`: from a version with older CRDs to the next one, and back, while an add-on is deployed.
//! `installed` calls it, with the program and with Helm.
//!
//! CRDs are extended and kept, images change, and nothing that is deployed changes. There is one binary, so the two versions differ only
//! in image, flags and CRDs.

use serde_json::{Value, json};

use crate::installed::{Site, commands, is_sound, works};
use crate::pods::{Pods, done};

const PAGE: &str = "docs/operate/upgrade.md";

/// A field that the older version did not have, and where its kind has it.
const NEW_FIELD: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/actions";

fn definition(site: &Site) -> Value {
    let read = ["get", "crd", "addonpolicies.tidegate.io", "-o", "json"];
    serde_json::from_str(&done(&site.admin, &read, "")).expect("JSON")
}

/// Makes the hub one that an older version was installed on.
fn is_older(site: &Site) {
    let patch = json!([{"op": "remove", "path": NEW_FIELD}]).to_string();
    let place = [
        "patch",
        "crd",
        "addonpolicies.tidegate.io",
        "--type",
        "json",
        "-p",
    ];
    done(&site.admin, &[&place[..], &[&patch]].concat(), "");
    assert_eq!(definition(site).pointer(NEW_FIELD), None);
}

/// What an upgrade may not move: names, identities and generations of what is deployed, and of a policy of the user's.
fn deployed(site: &Site) -> String {
    site.typed("kubectl get managedclusteraddons,manifestworks,clustermanagementaddons,addonpolicies -A -o 'jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} {.metadata.uid} {.metadata.generation}{\"\\n\"}{end}'")
}

fn runs(pods: &Pods<'_>, tag: &str) {
    for half in ["tidegate-gate", "tidegate-controllers", "tidegate-certificates"] {
        assert_eq!(pods.image(half), format!("registry.example.com/tidegate:{tag}"));
    }
}

/// Upgrades what is installed and goes back.
pub(crate) fn goes_there_and_back(site: &Site, pods: &mut Pods<'_>, heading: &str) {
    is_older(site);
    let before = deployed(site);
    assert!(before.lines().count() >= 6, "{before}");
    runs(pods, env!("CARGO_PKG_VERSION"));
    pods.run_during(|| {
        for command in commands(PAGE, heading) {
            site.typed(&command);
        }
        is_sound(site, "");
    });
    runs(pods, "0.2.0");
    let newer = definition(site)["spec"].clone();
    assert!(definition(site).pointer(NEW_FIELD).is_some(), "definitions grow");
    assert_eq!(deployed(site), before, "nothing moves on the way there");
    let back = heading.replacen("With", "Downgrade with", 1);
    pods.run_during(|| {
        for command in commands(PAGE, &back) {
            site.typed(&command);
        }
        is_sound(site, "");
    });
    runs(pods, env!("CARGO_PKG_VERSION"));
    assert_eq!(definition(site)["spec"], newer, "definitions stay");
    assert_eq!(deployed(site), before, "nothing moves on the way back");
    pods.run_during(|| works_still(site));
}

/// A change still arrives, and what is wrong is still refused.
fn works_still(site: &Site) {
    site.greets("hello");
    works(site);
}
