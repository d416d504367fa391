//! Rules about what an add-on keeps for itself or no longer says. Page: `tests/rules/config-protected.md`.
//!
//! Decides which configurations and versions a cluster may not choose, because the hub's administrator protects them, and
//! which fields no controller reads any more. The planner uses the same annotation, whatever is stored.

use crate::rules::config::typed;
use crate::subject::{Addon, ClusterAddon, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use model::listed_types;
use serde_json::Value;

const PROTECTED: &str = "config/protected-type";
const DEPRECATED: &str = "config/deprecated-field";

rules! { pub(crate) ON_ADDONS of Addon {
    refuses PROTECTED, CreateAndUpdate, protected_in_templates =>
        "A cluster chooses nothing that the add-on protects.\n\n\
         The annotation `tidegate.io/protected-configs` of a ClusterManagementAddOn lists types, as \
         `addonhubconfigs.addon.open-cluster-management.io`, that no ManagedClusterAddOn may override. With \
         `addonhubconfigs` or `addontemplates` among them, no cluster may choose `spec.desiredVersion` either. Refused in \
         a ManagedClusterAddOn; what was stored before is left out when configurations are worked out. In the templates that a \
         ClusterManagementAddOn creates add-ons with, such a configuration warns, because it is not given to them.";
    warns DEPRECATED, CreateAndUpdate, deprecated =>
        "A deprecated field is not set.\n\n\
         `spec.addOnConfiguration` is of an earlier form of configuration, and nothing happens by it. Warns: name types and \
         defaults in `spec.supportedConfigs` (`v1beta1` has `spec.defaultConfigs`). An empty value does not warn: OCM's \
         conversion stores `addOnConfiguration: {}` in every add-on that is written as `v1beta1`.";
} }

// What they mean is documented where add-ons have them.
rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    refuses PROTECTED, CreateAndUpdate, protected => "";
} }

fn protected(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let Some(addon) = subject
        .facts
        .addon(subject.name)
        .filter(|addon| !addon.protected.is_empty())
    else {
        return;
    };
    let body = &subject.body;
    let owner = format!("add-on {} protects", quoted(subject.name));
    for (at, of) in typed(&body.configs, subject.effort).filter(|(_, of)| addon.protected.contains(of)) {
        let detail = format!("{owner} this type: no cluster may override it");
        let fault = Fault::of_text(Class::Forbidden, of.resource(), detail);
        let fault = fault.hint("set it in the placement of the ClusterManagementAddOn");
        findings.deny(fault.at(at.path.key("resource"), PROTECTED));
    }
    // What a placement has given is no choice, and follows the placement whatever stands here.
    let chosen = body
        .desired_version
        .filter(|version| body.given_version != Some(version));
    if let Some(version) = chosen.filter(|_| addon.protects_version()) {
        let detail = format!("{owner} its version: no cluster may choose one");
        let fault = Fault::of_text(Class::Forbidden, version, detail);
        let fault = fault.hint("set it in the placement of the ClusterManagementAddOn");
        findings.deny(fault.at(Path::root().key("spec").key("desiredVersion"), PROTECTED));
    }
}

fn protected_in_templates(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let Some(text) = subject.body.protected() else {
        return;
    };
    let effort = subject.effort;
    if !effort.read(text) {
        return;
    }
    let types: std::collections::BTreeSet<_> = listed_types(text).filter_map(|(_, of)| of.ok()).collect();
    for placement in subject.body.placements.each(effort) {
        for template in placement.spec.iter().chain(&placement.template) {
            for (at, of) in typed(&template.configs, effort).filter(|(_, of)| types.contains(of)) {
                let detail = "is protected: add-ons are created without it";
                let fault = Fault::of_text(Class::Forbidden, of.resource(), detail);
                let fault = fault.hint("set it in configs of the placement");
                findings.warn(fault.at(at.path.key("resource"), PROTECTED));
            }
        }
    }
}

/// OCM's conversion stores an empty object in every add-on of `v1beta1`: fields that are empty in Go say nothing.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => fields.values().any(says_something),
    }
}

fn deprecated(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let field = subject
        .body
        .spec
        .as_ref()
        .and_then(|spec| spec.key("addOnConfiguration"))
        .filter(|field| says_something(field.value));
    if let Some(field) = field {
        let detail = "is deprecated, and has no effect";
        let fault = Fault::bare(Class::Forbidden, detail)
            .hint("name types and their defaults in spec.supportedConfigs");
        findings.warn(fault.at(field.path, DEPRECATED));
    }
}
