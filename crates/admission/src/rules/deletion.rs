//! Rules about deletions. Page: `tests/rules/deletion.md`.
//!
//! Warns about deletions that affect more than their object, and about those without a lasting effect. Refuses only a deletion that a
//! user has guarded, because other deletions wait for one that is refused.

use crate::rules::reach::{Reach, known, reference_to};
use crate::subject::{self, Addon, ClusterAddon, DeploymentConfig, HubConfig, Subject, Template, rules};
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use model::ConfigReference;
use store::{AddonFacts, Kind, terms};

const ADDON_IN_USE: &str = "deletion/addon-in-use";
const GUARDED: &str = "deletion/guarded";
const COMES_BACK: &str = "deletion/comes-back";
const CONFIG_IN_USE: &str = "deletion/config-in-use";

rules! { pub(crate) ON_ADDONS of Addon {
    warns ADDON_IN_USE, Delete, addon_in_use =>
        "A ClusterManagementAddOn is deleted only when no cluster has the add-on.\n\n\
         The ManagedClusterAddOns are owned by their ClusterManagementAddOn, so deleting it uninstalls the add-on from all \
         clusters. Warns with the number of clusters. Uninstall the add-on from the clusters first. To enforce this, set the \
         rule to Deny, or protect a single add-on with the annotation `tidegate.io/deletion-guard` (`deletion/guarded`).";
    refuses GUARDED, Delete, guarded =>
        "A ClusterManagementAddOn with a deletion guard is deleted only when no cluster has the add-on.\n\n\
         The annotation `tidegate.io/deletion-guard: \"true\"` on a ClusterManagementAddOn protects it from an accidental \
         `kubectl delete`, from pruning by a GitOps tool, and from a client that deletes and recreates objects that it \
         cannot update. Each of these would uninstall the add-on from all clusters. Refused while clusters have the add-on. \
         Uninstall the add-on from the clusters first, or remove the annotation in a separate request.";
} }

rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    warns COMES_BACK, Delete, comes_back =>
        "A deleted ManagedClusterAddOn is not created again.\n\n\
         As long as the install strategy selects the cluster, the controllers create the ManagedClusterAddOn again. Warns if \
         the install strategy has created this ManagedClusterAddOn and one of its placements still selects the cluster. To \
         uninstall the add-on from one cluster, set the opt-out annotation on the ManagedCluster: `kubectl annotate \
         --field-manager=ops managedcluster <cluster> tidegate.io/opt-out=<add-on>`. The controllers then delete the \
         ManagedClusterAddOn.";
} }

rules! { pub(crate) ON_DEPLOYMENT_CONFIGS of DeploymentConfig {
    warns CONFIG_IN_USE, Delete, deployment_config_in_use =>
        "A configuration is deleted only when no cluster uses it.\n\n\
         Clusters keep their current ManifestWorks, but receive no further changes (`ConfigurationNotFound`) until the \
         configuration exists again or the reference names another object. Warns once for each add-on, with the number of its \
         clusters that use the object or would be updated to it. If the AddOnTemplate belongs to a version, the clusters with this version count. Change the reference of the add-on to another object first.";
} }

rules! { pub(crate) ON_HUB_CONFIGS of HubConfig {
    warns CONFIG_IN_USE, Delete, hub_config_in_use => "";
} }

rules! { pub(crate) ON_TEMPLATES of Template {
    warns CONFIG_IN_USE, Delete, template_in_use => "";
} }

fn name_path() -> Path {
    Path::root().key("metadata").key("name")
}

fn deployment_config_in_use(subject: &Subject<'_, DeploymentConfig>, findings: &mut Findings) {
    config_in_use(subject, Kind::DeploymentConfig, findings);
}

fn hub_config_in_use(subject: &Subject<'_, HubConfig>, findings: &mut Findings) {
    config_in_use(subject, Kind::HubConfig, findings);
}

fn template_in_use(subject: &Subject<'_, Template>, findings: &mut Findings) {
    config_in_use(subject, Kind::Template, findings);
}

fn config_in_use<K: subject::Kind>(subject: &Subject<'_, K>, kind: Kind, findings: &mut Findings) {
    let effort = subject.effort;
    let Some(config) = reference_to(kind, subject.namespace, subject.name) else {
        return;
    };
    let addons = subject.facts.addons.iter().take_while(|_| effort.spend(1));
    for (addon, says) in addons {
        let Some(detail) = usage(subject, addon, says, &config) else {
            continue;
        };
        let fault = Fault::of_text(Class::Forbidden, subject.name, detail);
        let fault = fault.hint("first make the add-on refer to another object");
        findings.warn(fault.at(name_path(), CONFIG_IN_USE));
    }
}

/// Returns how an add-on uses a configuration, if it does.
pub(super) fn usage<K: subject::Kind>(
    subject: &Subject<'_, K>,
    addon: &str,
    says: &AddonFacts,
    config: &ConfigReference,
) -> Option<String> {
    let standing = Reach::of(subject.facts, addon, says, subject.effort);
    let users = standing.map_or(0, |standing| standing.users(config).len());
    match users {
        0 if refers(says, config, subject) => Some(format!("add-on {} refers to this object", quoted(addon))),
        0 => None,
        1 => Some(format!("1 cluster uses this object for add-on {}", quoted(addon))),
        users => Some(format!(
            "{users} clusters use this object for add-on {}",
            quoted(addon)
        )),
    }
}

fn refers<K: subject::Kind>(says: &AddonFacts, config: &ConfigReference, subject: &Subject<'_, K>) -> bool {
    let placed = says.placements.iter();
    let placed = placed.flat_map(|placement| placement.configs.iter().chain(&placement.template.configs));
    let mut all = says
        .defaults
        .iter()
        .chain(placed)
        .take_while(|_| subject.effort.spend(1));
    all.any(|reference| reference == config)
}

fn comes_back(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let (facts, cluster) = (subject.facts, subject.namespace);
    let annotations = subject.body.annotations.as_ref();
    let mark = annotations
        .and_then(|all| all.text(terms::INSTALLED_BY))
        .unwrap_or_default();
    let is_uninstalled = facts
        .cluster(cluster)
        .is_none_or(|found| found.deleting || found.opts_out_of(subject.name));
    let Some(addon) = facts
        .addon(subject.name)
        .filter(|_| !mark.is_empty() && !is_uninstalled)
    else {
        return;
    };
    let mut placements = addon.placements.iter().take_while(|_| subject.effort.spend(1));
    let placement = placements.find(|placement| {
        let found = known(facts, (&placement.namespace, &placement.name));
        found.is_some_and(|found| found.clusters.contains(cluster))
    });
    let Some(placement) = placement else { return };
    let detail = format!(
        "placement {}/{} selects the cluster, so the add-on is installed again",
        placement.namespace, placement.name
    );
    let hint = format!(
        "to uninstall it, run: kubectl annotate --field-manager=ops managedcluster {cluster} {}={}",
        terms::OPT_OUT,
        subject.name
    );
    let fault = Fault::of_text(Class::Forbidden, subject.name, detail).hint(hint);
    findings.warn(fault.at(name_path(), COMES_BACK));
}

fn addon_in_use(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    if let Some(whose) = users(subject).filter(|_| !is_guarded(subject)) {
        let detail = format!("{whose} this add-on, and the deletion uninstalls it there");
        let fault = Fault::of_text(Class::Forbidden, subject.name, detail);
        findings.warn(fault.at(name_path(), ADDON_IN_USE));
    }
}

fn guarded(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    if let Some(whose) = users(subject).filter(|_| is_guarded(subject)) {
        let detail = format!(
            "{whose} this add-on, which the annotation {} protects",
            terms::DELETION_GUARD
        );
        let hint = "uninstall the add-on from its clusters first, or remove the annotation";
        let fault = Fault::of_text(Class::Forbidden, subject.name, detail).hint(hint);
        findings.deny(fault.at(name_path(), GUARDED));
    }
}

fn is_guarded(subject: &Subject<'_, Addon>) -> bool {
    let annotations = subject.body.annotations.as_ref();
    annotations.and_then(|all| all.text(terms::DELETION_GUARD)) == Some("true")
}

/// Returns how many clusters have the add-on, as text, if any.
fn users(subject: &Subject<'_, Addon>) -> Option<String> {
    match subject
        .facts
        .peers(subject.name)
        .map_or(0, |peers| peers.clusters)
    {
        0 => None,
        1 => Some("1 cluster has".to_owned()),
        clusters => Some(format!("{clusters} clusters have")),
    }
}
