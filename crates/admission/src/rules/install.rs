//! Rules about where and how an add-on is installed. Page: `tests/rules/install.md`.
//!
//! Decides which install namespaces, creation templates and label selectors are refused. The default of an absent
//! install namespace is made in `admission::defaults`.

use serde::Deserialize;

use crate::body::{PlacementAt, TemplateAt};
use crate::rules::install_namespace::INSTALL_NAMESPACE;
use crate::subject::{Addon, ClusterAddon, Subject, rules};
use api::LabelSelector;
use kubernetes::field::{Class, Fault, Findings, Path};
use model::{InstallNamespace, parse_selector, rule};

const TEMPLATE_CONFLICT: &str = "install/template-conflict";
const PLACEMENT_SPACE: &str = "install/placement-space";
/// The install strategy that follows labels.
const BY_LABELS: &str = "ClusterLabelSelector";

rules! { pub(crate) ON_ADDONS of Addon {
    refuses INSTALL_NAMESPACE, CreateAndUpdate, template_namespace =>
        "An install namespace is the name of a namespace.\n\n\
         At most 63 lower case letters, digits and \"-\", with a letter or digit at both ends. Holds for \
         `spec.installNamespace` of a ManagedClusterAddOn and for the creation templates of placements. Refused, \
         with the nearest valid name.";
    refuses TEMPLATE_CONFLICT, CreateAndUpdate, template_conflict =>
        "The two spellings of a creation template agree.\n\n\
         `addonSpec` and `addonTemplate` are two names of one thing. A placement that gives both with different \
         content leaves open which one is meant. Refused: remove one.";
    refuses PLACEMENT_SPACE, CreateAndUpdate, placement_space =>
        "The namespace of a placement stands at `namespace`.\n\n\
         An early draft of the API spelt it `space`. An API server drops that key unseen, so the answer comes \
         where the object is still whole: in `tidegate check` and where unknown fields reach the gate. Refused at the \
         key that is missing.";
    refuses rule::LABEL_SELECTOR, CreateAndUpdate, label_selector =>
        "A label selector has a meaning.\n\n\
         Keys and values are those of labels; `In` and `NotIn` have values, `Exists` and `DoesNotExist` have none. \
         The API server stores anything else, and nothing would be installed. Refused, with every fault. An empty \
         selector means every cluster; type `ClusterLabelSelector` without any selector means no cluster, which warns.";
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
            "differs from addonSpec, which is the same thing by another name",
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
        let fault =
            Fault::bare(Class::Required, "must hold what stands at space").hint("rename space to namespace");
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
                "absent, so no cluster is selected; {} selects all",
            );
            findings.warn(fault.at(path, rule::LABEL_SELECTOR));
        }
        return;
    };
    // What is not even of the selector's shape is the schema's to tell.
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
