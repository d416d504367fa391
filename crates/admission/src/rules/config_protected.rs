//! Rules about protected configurations and deprecated fields. Page: `tests/rules/config-protected.md`.
//!
//! A ManagedClusterAddOn must not set the configurations and versions that the hub's administrator protects. The planner reads the
//! same annotation, and ignores such values in stored objects.

use crate::rules::config::typed;
use crate::subject::{Addon, ClusterAddon, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use model::listed_types;
use serde_json::Value;

const PROTECTED: &str = "config/protected-type";
const DEPRECATED: &str = "config/deprecated-field";

rules! { pub(crate) ON_ADDONS of Addon {
    refuses PROTECTED, CreateAndUpdate, protected_in_templates =>
        "A ManagedClusterAddOn does not set a configuration that the add-on protects.\n\n\
         The annotation `tidegate.io/protected-configs` of a ClusterManagementAddOn lists types, such as \
         `addonhubconfigs.addon.open-cluster-management.io`, that a ManagedClusterAddOn must not override. If it lists \
         `addonhubconfigs` or `addontemplates`, a ManagedClusterAddOn must not set `spec.desiredVersion` either. Refused in a \
         ManagedClusterAddOn; the controllers ignore values that were stored before. In `addonSpec` and `addonTemplate` of a \
         placement this only warns, and ManagedClusterAddOns are created without the configuration. Set it in `configs` of \
         the placement in the ClusterManagementAddOn.";
    warns DEPRECATED, CreateAndUpdate, deprecated =>
        "The deprecated field `spec.addOnConfiguration` is not set.\n\n\
         The field has no effect. Warns. Use `spec.supportedConfigs` instead, which lists the types and their defaults (in \
         `v1beta1`, `spec.defaultConfigs`). An empty value causes no warning, because OCM's conversion stores \
         `addOnConfiguration: {}` in every add-on that is written as `v1beta1`.";
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
        let detail = format!("{owner} this type: a ManagedClusterAddOn must not override it");
        let fault = Fault::of_text(Class::Forbidden, of.resource(), detail);
        let fault = fault.hint("set it in the placement in the ClusterManagementAddOn");
        findings.deny(fault.at(at.path.key("resource"), PROTECTED));
    }
    // A version that the controllers have set from the placement is not a choice of the user: it follows the placement.
    let chosen = body
        .desired_version
        .filter(|version| body.given_version != Some(version));
    if let Some(version) = chosen.filter(|_| addon.protects_version()) {
        let detail = format!("{owner} its version: a ManagedClusterAddOn must not set it");
        let fault = Fault::of_text(Class::Forbidden, version, detail);
        let fault = fault.hint("set it in the placement in the ClusterManagementAddOn");
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
                let detail =
                    "is a protected type here: ManagedClusterAddOns are created without the reference";
                let fault = Fault::of_text(Class::Forbidden, of.resource(), detail);
                let fault = fault.hint("move it to configs of the placement");
                findings.warn(fault.at(at.path.key("resource"), PROTECTED));
            }
        }
    }
}

/// Whether a value is not empty. OCM's conversion stores an empty object in every add-on of `v1beta1`, with Go's zero values.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => fields.values().any(is_set),
    }
}

fn deprecated(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let field = subject
        .body
        .spec
        .as_ref()
        .and_then(|spec| spec.key("addOnConfiguration"))
        .filter(|field| is_set(field.value));
    if let Some(field) = field {
        let detail = "is deprecated and has no effect";
        let fault = Fault::bare(Class::Forbidden, detail)
            .hint("list types and their defaults in spec.supportedConfigs");
        findings.warn(fault.at(field.path, DEPRECATED));
    }
}
