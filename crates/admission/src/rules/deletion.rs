//! Rules about deletions. Page: `tests/rules/deletion.md`.
//!
//! Decides which deletions are told to reach further than their object, or not as far as is meant. Never refuses by itself: a
//! deletion that is refused holds whatever waits for it.

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
        "An add-on is deleted when no cluster has it any more.\n\n\
         The ManagedClusterAddOns belong to their ClusterManagementAddOn: deleting it uninstalls the add-on everywhere. Warns, \
         with the number of clusters. Set the rule to Deny to make people take the add-on from its clusters first, or guard \
         single add-ons (`deletion/guarded`).";
    refuses GUARDED, Delete, guarded =>
        "A guarded add-on is deleted when no cluster has it any more.\n\n\
         `tidegate.io/deletion-guard: \"true\"` on a ClusterManagementAddOn holds it against a slip, a prune, and clients that \
         delete what they cannot change. Refused while clusters have the add-on. Take it from its clusters first, or take the \
         annotation off in a change of its own.";
} }

rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    warns COMES_BACK, Delete, comes_back =>
        "A deleted add-on stays away.\n\n\
         An install strategy gives a cluster the add-on again as long as it selects the cluster. Warns when one does that \
         gave this ManagedClusterAddOn. To keep the add-on away, let the cluster opt out first: \
         `kubectl annotate --field-manager=ops managedcluster <cluster> tidegate.io/opt-out=<add-on>`, which uninstalls it.";
} }

rules! { pub(crate) ON_DEPLOYMENT_CONFIGS of DeploymentConfig {
    warns CONFIG_IN_USE, Delete, deployment_config_in_use =>
        "A configuration is deleted when no cluster uses it any more.\n\n\
         Clusters keep the work that they have, and nothing else reaches them until the configuration is back or the reference \
         leads elsewhere (`ConfigurationNotFound`). Warns once for each add-on, with the number of its clusters that run with \
         the object, or that would be made with it. Of a template that stands for a version, those that have the version count. \
         Let the add-on refer to another object first.";
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
        let fault = fault.hint("let the add-on refer to another one first");
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
        0 if refers(says, config, subject) => Some(format!("add-on {} refers to it", quoted(addon))),
        0 => None,
        1 => Some(format!("1 cluster runs add-on {} with it", quoted(addon))),
        users => Some(format!("{users} clusters run add-on {} with it", quoted(addon))),
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
    let leaves = facts
        .cluster(cluster)
        .is_none_or(|found| found.deleting || found.opts_out_of(subject.name));
    let Some(addon) = facts.addon(subject.name).filter(|_| !mark.is_empty() && !leaves) else {
        return;
    };
    let mut placements = addon.placements.iter().take_while(|_| subject.effort.spend(1));
    let giver = placements.find(|placement| {
        let found = known(facts, (&placement.namespace, &placement.name));
        found.is_some_and(|found| found.clusters.contains(cluster))
    });
    let Some(giver) = giver else { return };
    let detail = format!(
        "placement {}/{} selects the cluster and gives the add-on again",
        giver.namespace, giver.name
    );
    let hint = format!(
        "to keep it away: kubectl annotate --field-manager=ops managedcluster {cluster} {}={}",
        terms::OPT_OUT,
        subject.name
    );
    let fault = Fault::of_text(Class::Forbidden, subject.name, detail).hint(hint);
    findings.warn(fault.at(name_path(), COMES_BACK));
}

fn addon_in_use(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    if let Some(whose) = losers(subject).filter(|_| !is_guarded(subject)) {
        let detail = format!("{whose} this add-on, and lose it now");
        let fault = Fault::of_text(Class::Forbidden, subject.name, detail);
        findings.warn(fault.at(name_path(), ADDON_IN_USE));
    }
}

fn guarded(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    if let Some(whose) = losers(subject).filter(|_| is_guarded(subject)) {
        let detail = format!(
            "{whose} this add-on, which is guarded by the annotation {}",
            terms::DELETION_GUARD
        );
        let hint = "take the add-on from its clusters first, or remove the annotation";
        let fault = Fault::of_text(Class::Forbidden, subject.name, detail).hint(hint);
        findings.deny(fault.at(name_path(), GUARDED));
    }
}

fn is_guarded(subject: &Subject<'_, Addon>) -> bool {
    let annotations = subject.body.annotations.as_ref();
    annotations.and_then(|all| all.text(terms::DELETION_GUARD)) == Some("true")
}

/// Says how many clusters would lose an add-on, if any.
fn losers(subject: &Subject<'_, Addon>) -> Option<String> {
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
