//! Rules about the names of add-ons and clusters, and about reserved names. Page: `tests/rules/naming.md`.
//!
//! A name that is not known only warns: one `kubectl apply` may create the add-on and its ManagedClusterAddOns together, and the
//! cache may be behind the hub.

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
/// The prefix of the reserved name. No object can have a name with this prefix.
const RESERVED_PREFIX: &str = "__";
/// The maximum number of names that a misspelt name is compared with.
const MOST_COMPARED: usize = 500;

/// The hint for a ManagedClusterAddOn without an install namespace whose add-on does not exist yet.
const NAMESPACE_LATER: &str = "spec.installNamespace has the default until the add-on exists; then the controllers set it from the placements";

rules! { pub(crate) ON_ADDONS of Addon {
    refuses ADDON_NAME, Create, addon_name =>
        "The name of an add-on has at most 63 characters.\n\n\
         The controllers set the name of the add-on as a label value on every ManifestWork, and a label value has at \
         most 63 characters. An add-on with a longer name would be stored but never installed. Refused when the object \
         is created. Choose a shorter `metadata.name`.";
    refuses RESERVED_NAME, CreateAndUpdate, addon_reserved_name =>
        "A reference uses `__reserved_no_default__` only to turn off an inherited configuration.\n\n\
         In the `configs` of a placement or a ManagedClusterAddOn, the name `__reserved_no_default__` turns off the \
         configuration that would be inherited. As a default it means that there is no default, which is the same as omitting the entry: this warns. No object can have any other name that starts with `__`, so a reference to such a name is \
         refused, and the message shows the reserved name.";
} }

rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    warns UNKNOWN_ADDON, CreateAndUpdate, unknown_addon =>
        "A ManagedClusterAddOn has the name of a ClusterManagementAddOn.\n\n\
         Without a ClusterManagementAddOn of the same name, the controllers install nothing. Warns, and suggests the \
         closest name. The object is stored, because the same `kubectl apply` may create the ClusterManagementAddOn. \
         Until then `spec.installNamespace` has the default of the CRD. If the manifest does not set it, the \
         controllers set it from the placements as long as nothing is installed.";
    warns UNKNOWN_CLUSTER, Create, unknown_cluster =>
        "A ManagedClusterAddOn is in the namespace of a managed cluster.\n\n\
         The namespace of a ManagedClusterAddOn is the name of its ManagedCluster. In any other namespace, the \
         controllers install nothing. Warns, and suggests the closest name. Correct `metadata.namespace`, or import the \
         cluster.";
    warns CLUSTER_STATE, Create, cluster_state =>
        "A new ManagedClusterAddOn is for an accepted cluster that is not being deleted.\n\n\
         The controllers install nothing on a cluster that is being removed from the hub, and nothing on a cluster that \
         the hub has not accepted until it is accepted. Warns. For a cluster that is not accepted, set \
         `spec.hubAcceptsClient` of the ManagedCluster.";
    refuses RESERVED_NAME, CreateAndUpdate, reserved_name => "";
} }

fn addon_name(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    // The API server has not generated the name yet. It appends to the prefix, and validates the result itself.
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

/// Returns the closest of the names of a fleet. A fleet may have ten thousand, so only names of about the same length are compared.
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
        "the ManagedCluster of this name is being removed from the hub, so no add-on is installed on it"
    } else if !cluster.accepted {
        "the ManagedCluster of this name is not accepted by the hub, so no add-on is installed on it yet"
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
                "means that there is no default, which is the same as omitting the entry",
            )
            .hint("remove the entry");
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
