//! Rules about where and how an add-on is installed. Page: `tests/rules/install.md`.
//!
//! Refuses invalid install namespaces, `addonSpec` and `addonTemplate` that differ, and invalid label selectors. The module
//! `admission::defaults` sets the default of an absent install namespace.

use serde::Deserialize;

use crate::body::{PlacementAt, TemplateAt};
use crate::rules::install_namespace::INSTALL_NAMESPACE;
use crate::subject::{Addon, ClusterAddon, Subject, rules};
use api::LabelSelector;
use kubernetes::field::{Class, Fault, Findings, Path};
use model::{InstallNamespace, parse_selector, rule};

const TEMPLATE_CONFLICT: &str = "install/template-conflict";
const PLACEMENT_SPACE: &str = "install/placement-space";
/// The install strategy that selects clusters by their labels.
const BY_LABELS: &str = "ClusterLabelSelector";

rules! { pub(crate) ON_ADDONS of Addon {
    refuses INSTALL_NAMESPACE, CreateAndUpdate, template_namespace =>
        "An install namespace is a valid namespace name.\n\n\
         A namespace name has at most 63 characters: lower-case letters, digits and `-`, with a letter or digit at both ends. \
         The agent cannot be installed in a namespace with any other name. Applies to `spec.installNamespace` of a \
         ManagedClusterAddOn, to `installNamespace` in `addonSpec` and `addonTemplate` of placements, and to \
         `spec.agentInstallNamespace` of an AddOnDeploymentConfig. Refused, and suggests the closest valid name.";
    refuses TEMPLATE_CONFLICT, CreateAndUpdate, template_conflict =>
        "`addonSpec` and `addonTemplate` of a placement are equal if both are set.\n\n\
         Both fields set the spec of the ManagedClusterAddOns that the controllers create for the placement. If they differ, \
         it is undefined which one applies. Refused. Remove one of the fields.";
    refuses PLACEMENT_SPACE, CreateAndUpdate, placement_space =>
        "The namespace of a placement is in the field `namespace`.\n\n\
         An early draft of the API named this field `space`. Without `namespace` the entry does not name a placement, so the \
         add-on would not be installed on its clusters. Refused; the error is reported at the missing field; rename `space` to `namespace`. An API \
         server that removes unknown fields does so before it calls the webhook, so the rule mostly applies to files in \
         `tidegate check`.";
    refuses rule::LABEL_SELECTOR, CreateAndUpdate, label_selector =>
        "A label selector is valid.\n\n\
         Keys and values must be valid label keys and values. `In` and `NotIn` need values; `Exists` and `DoesNotExist` must \
         not have any. The API server stores an invalid selector, but the add-on would not be installed on any cluster. \
         Refused, with every error. An empty selector (`{}`) selects all clusters. With the type `ClusterLabelSelector` and \
         no `labelSelector`, no cluster is selected, which warns.";
} }

rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    refuses INSTALL_NAMESPACE, CreateAndUpdate, own_namespace => "";
} }

fn own_namespace(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let path = Path::root().key("spec").key("installNamespace");
    check_namespace(subject.body.install_namespace, path, findings);
}

fn template_namespace(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for template in subject.body.placements.each(subject.effort).flat_map(templates) {
        check_namespace(
            template.install_namespace,
            template.path.key("installNamespace"),
            findings,
        );
    }
}

fn check_namespace(text: Option<&str>, path: Path, findings: &mut Findings) {
    if let Some(Err(fault)) = text.map(InstallNamespace::parse) {
        findings.deny(fault.at(path, INSTALL_NAMESPACE));
    }
}

fn template_conflict(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for placement in subject.body.placements.each(subject.effort) {
        let (Some(spec), Some(template)) = (&placement.spec, &placement.template) else {
            continue;
        };
        if subject.effort.same(spec.value, template.value) || subject.effort.is_exceeded() {
            continue;
        }
        let fault = Fault::bare(
            Class::Forbidden,
            "differs from addonSpec, which is another name for the same field",
        )
        .hint("remove addonTemplate or addonSpec");
        findings.deny(fault.at(template.path.clone(), TEMPLATE_CONFLICT));
    }
}

fn placement_space(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for placement in subject.body.placements.each(subject.effort) {
        if placement.space.is_none() || placement.namespace.is_some() {
            continue;
        }
        let fault = Fault::bare(
            Class::Required,
            "must be set; in an early draft of the API, this field was called \"space\"",
        )
        .hint("rename space to namespace");
        findings.deny(fault.at(placement.path.key("namespace"), PLACEMENT_SPACE));
    }
}

fn label_selector(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let body = &subject.body;
    let Some(node) = &body.label_selector else {
        if body.install_type == Some(BY_LABELS) {
            let path = Path::root()
                .key("spec")
                .key("installStrategy")
                .key("labelSelector");
            let fault = Fault::bare(
                Class::Required,
                "is missing, so no cluster is selected; {} selects all clusters",
            );
            findings.warn(fault.at(path, rule::LABEL_SELECTOR));
        }
        return;
    };
    // The schema reports a value that is not an object of this form.
    let Ok(raw) = LabelSelector::deserialize(node.value) else {
        return;
    };
    let faults = parse_selector(&raw, &node.path).err().unwrap_or_default();
    for fault in faults {
        findings.deny(fault);
    }
}

fn templates<'p, 'a>(placement: &'p PlacementAt<'a>) -> impl Iterator<Item = &'p TemplateAt<'a>> {
    placement.spec.iter().chain(&placement.template)
}
