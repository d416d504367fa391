//! Rules about names: of add-ons, of clusters, and names that are reserved. Page: `tests/rules/naming.md`.
//!
//! Decides which names are refused or doubted. A name that is not known yet only warns: one `apply` may bring the
//! add-on and its cluster add-ons together, and what we know may be a moment late.

use crate::body::ReferenceAt;
use crate::defaults::leaves_namespace_open;
use crate::subject::{Addon, ClusterAddon, Subject, rules};
use api::names::RESERVED_NO_DEFAULT;
use kubernetes::field::{Class, Fault, Findings, Path, nearest, quoted};
use model::AddonName;
use store::{Kind, ObjectKey};

use super::config::{every_default, every_reference};

const ADDON_NAME: &str = "naming/addon-name";
const UNKNOWN_ADDON: &str = "naming/unknown-addon";
const UNKNOWN_CLUSTER: &str = "naming/unknown-cluster";
const CLUSTER_STATE: &str = "naming/cluster-state";
const RESERVED_NAME: &str = "naming/reserved-name";
/// What the reserved name begins with; no object can be called so.
const RESERVED_PREFIX: &str = "__";
/// The most names that a misspelt one is compared with.
const MOST_COMPARED: usize = 500;

/// Said to the author of an add-on on a cluster that gives no install namespace.
const NAMESPACE_LATER: &str =
    "spec.installNamespace is the default until it exists; then the controllers set it from the placements";

rules! { pub(crate) ON_ADDONS of Addon {
    refuses ADDON_NAME, Create, addon_name =>
        "The name of an add-on fits a label.\n\n\
         Every work of an add-on carries its name as a label value, which has at most 63 characters. A longer \
         name would be stored and never installed. Refused on creation.";
    refuses RESERVED_NAME, CreateAndUpdate, addon_reserved_name =>
        "The reserved name of a configuration stands where it means something.\n\n\
         `__reserved_no_default__` takes an inherited configuration away from a placement or a cluster. As a \
         default it means that there is none, which is what leaving it out means: this warns. Any other name that \
         begins with `__` belongs to no object that could exist. Refused, with the reserved name.";
} }

rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    warns UNKNOWN_ADDON, CreateAndUpdate, unknown_addon =>
        "A ManagedClusterAddOn has the name of an add-on.\n\n\
         Without a ClusterManagementAddOn of the same name nothing is installed. Warns, with the nearest name; \
         does not refuse, because the add-on may come with the same apply. Until then `spec.installNamespace` is the default \
         of the definition. If the manifest gives none, the controllers set it from the placements as long as nothing is \
         installed.";
    warns UNKNOWN_CLUSTER, Create, unknown_cluster =>
        "A ManagedClusterAddOn is in the namespace of a cluster.\n\n\
         The namespace is the name of a ManagedCluster. In any other namespace nothing is ever installed. Warns, \
         with the nearest name.";
    warns CLUSTER_STATE, Create, cluster_state =>
        "A new ManagedClusterAddOn is for a cluster that takes add-ons.\n\n\
         On a cluster that is being removed from the hub nothing is installed any more, and one that the hub has \
         not accepted gets nothing yet. Warns.";
    refuses RESERVED_NAME, CreateAndUpdate, reserved_name => "";
} }

fn addon_name(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    // The API server has not generated the name yet: it will append to the prefix and check the result itself.
    if subject.name.is_empty() {
        return;
    }
    if let Err(fault) = AddonName::parse(subject.name) {
        findings.deny(fault.at(metadata("name"), ADDON_NAME));
    }
}

fn unknown_addon(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let Subject { name, facts, .. } = subject;
    if name.is_empty() || !facts.knows(Kind::AddOn) || facts.addon(name).is_some() {
        return;
    }
    let path = metadata("name");
    if !subject.lacks(ObjectKey::new(Kind::AddOn, "", *name), UNKNOWN_ADDON, &path) {
        return;
    }
    let near = subject.effort.hint(|| nearest(name, facts.addon_names()));
    let is_open = subject.old.is_none() && leaves_namespace_open(subject.body.object);
    let hint = near
        .map(|known| format!("did you mean {}?", quoted(known)))
        .or_else(|| is_open.then(|| NAMESPACE_LATER.to_owned()));
    let fault =
        Fault::of_text(Class::NotFound, name, "no ClusterManagementAddOn has this name").hint_if(hint);
    findings.warn(fault.at(path, UNKNOWN_ADDON));
}

fn unknown_cluster(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let Subject { namespace, facts, .. } = subject;
    if namespace.is_empty() || !facts.knows(Kind::Cluster) || facts.clusters.contains(namespace) {
        return;
    }
    let path = metadata("namespace");
    let cluster = ObjectKey::new(Kind::Cluster, "", *namespace);
    if !subject.lacks(cluster, UNKNOWN_CLUSTER, &path) {
        return;
    }
    let names = facts.clusters.iter().map(|(name, _)| &**name);
    let near = subject.effort.hint(|| near(namespace, names));
    let hint = near.map(|known| format!("did you mean {}?", quoted(known)));
    let fault = Fault::of_text(Class::NotFound, namespace, "no ManagedCluster has this name").hint_if(hint);
    findings.warn(fault.at(path, UNKNOWN_CLUSTER));
}

/// Returns the nearest name of a fleet. There may be ten thousand: only those of about the same length are compared.
pub(super) fn near<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let first = text.chars().next();
    let alike = |name: &&str| name.len().abs_diff(text.len()) <= 2 && name.chars().next() == first;
    nearest(text, names.into_iter().filter(alike).take(MOST_COMPARED))
}

fn cluster_state(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let Some(cluster) = subject.facts.cluster(subject.namespace) else {
        return;
    };
    let detail = if cluster.deleting {
        "is being removed from the hub: nothing is installed any more"
    } else if !cluster.accepted {
        "is not accepted by the hub: nothing is installed yet"
    } else {
        return;
    };
    findings.warn(
        Fault::of_text(Class::Invalid, subject.namespace, detail).at(metadata("namespace"), CLUSTER_STATE),
    );
}

fn reserved_name(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    deny_reserved(subject.body.configs.each(subject.effort), findings);
}

fn addon_reserved_name(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let effort = subject.effort;
    deny_reserved(every_reference(subject), findings);
    let configured = subject.body.configured.each(effort);
    for at in configured.chain(every_default(subject)) {
        if at.raw.name == Some(RESERVED_NO_DEFAULT) {
            let fault = Fault::of_text(
                Class::Invalid,
                RESERVED_NO_DEFAULT,
                "means that there is no default",
            )
            .hint("leave it out");
            findings.warn(fault.at(at.path.key("name"), RESERVED_NAME));
        }
    }
}

fn deny_reserved<'l, 'a: 'l>(list: impl Iterator<Item = &'l ReferenceAt<'a>>, findings: &mut Findings) {
    for at in list {
        let reserved = |name: &&str| name.starts_with(RESERVED_PREFIX) && *name != RESERVED_NO_DEFAULT;
        let Some(name) = at.raw.name.filter(reserved) else {
            continue;
        };
        let hint = format!("did you mean {}?", quoted(RESERVED_NO_DEFAULT));
        let fault = Fault::of_text(Class::Invalid, name, "no object can have this name").hint(hint);
        findings.deny(fault.at(at.path.key("name"), RESERVED_NAME));
    }
}

fn metadata(field: &'static str) -> Path {
    Path::root().key("metadata").key(field)
}
