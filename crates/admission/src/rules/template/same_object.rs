//! The rule about objects that two add-ons deploy. Page: `tests/rules/same-object.md`.
//!
//! Compares the templates that add-ons refer to or have as a version, with the install namespace of their defaults. Objects whose
//! name contains a variable other than `CLUSTER_NAME` are not compared, because their names are not known. Two objects with the
//! same content are no conflict.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::rules::reach::{is_kind, known, reference_to};
use crate::step_budget::StepBudget;
use crate::subject::{Addon, Subject, Template, rules};
use api::v1alpha1::ClusterManagementAddOnSpec;
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use store::{AddonFacts, ConfigPresence, Content, Facts, Kind, Name};

const SAME_OBJECT: &str = "template/same-object";
const CLUSTER: &str = "{{CLUSTER_NAME}}";

rules! { pub(in crate::rules) RULES of Template {
    warns SAME_OBJECT, CreateAndUpdate, same_object =>
        "An object on a cluster is deployed by only one add-on.\n\n\
         If the templates of two add-ons deploy the same object (group, kind, namespace and name) with different \
         content, they overwrite each other's changes, and both report that they are available. Warns at the manifest, \
         or at the ClusterManagementAddOn when it is created later, with the other add-on and the object. Only templates that an add-on refers to, or that provide one of its versions, are considered. Does not warn if the placements \
         of the two add-ons have no cluster in common. Remove the object from one of the templates, or use another name \
         for it.";
} }

// What they mean is documented where templates have them.
rules! { pub(crate) ON_ADDONS of Addon {
    warns SAME_OBJECT, Create, same_objects => "";
} }

/// Group, kind, namespace and name.
type Identity = (String, String, String, String);

/// The objects of a template.
type Deployed<'v> = BTreeMap<Identity, &'v Value>;

fn same_object(subject: &Subject<'_, Template>, findings: &mut Findings) {
    let (facts, effort, own) = (subject.facts, subject.effort, subject.body.addon);
    let Some(says) = facts.addon(own) else { return };
    let moved = moved_to(facts, says);
    let mut paths: BTreeMap<Identity, (Path, &Value)> = BTreeMap::new();
    for manifest in subject.body.manifests.each(effort) {
        if let Some(identity) = identity(manifest.value, moved.as_ref(), effort) {
            paths
                .entry(identity)
                .or_insert_with(|| (manifest.path.clone(), manifest.value));
        }
    }
    let mine: Deployed<'_> = paths
        .iter()
        .map(|(identity, (_, value))| (identity.clone(), *value))
        .collect();
    each_clash(facts, effort, own, says, &mine, |identity, other| {
        if let Some((path, _)) = paths.get(identity) {
            findings.warn(clash(identity, other).at(path.clone(), SAME_OBJECT));
        }
    });
}

fn same_objects(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let (facts, effort) = (subject.facts, subject.effort);
    let spec = subject.body.spec.as_ref();
    let Some(spec) = spec.and_then(|spec| ClusterManagementAddOnSpec::deserialize(spec.value).ok()) else {
        return;
    };
    let says = AddonFacts::of(&spec);
    let templates = in_use(facts, subject.name, &says, effort);
    let moved = moved_to(facts, &says);
    let mut mine = Deployed::new();
    for template in &templates {
        mine.extend(deployed(facts, template, moved.as_ref(), effort));
    }
    each_clash(facts, effort, subject.name, &says, &mine, |identity, other| {
        let path = Path::root().key("metadata").key("name");
        findings.warn(clash(identity, other).at(path, SAME_OBJECT));
    });
}

fn clash((_, kind, namespace, name): &Identity, other: &str) -> Fault {
    let place = if namespace.is_empty() {
        name.clone()
    } else {
        format!("{namespace}/{name}")
    };
    let detail = format!(
        "add-on {} also deploys this {kind}, and the two overwrite each other's changes",
        quoted(other)
    );
    Fault::of_text(Class::Duplicate, &place, detail)
}

fn each_clash(
    facts: &Facts,
    effort: &StepBudget<'_>,
    own: &str,
    says: &AddonFacts,
    mine: &Deployed<'_>,
    mut see: impl FnMut(&Identity, &str),
) {
    if mine.is_empty() {
        return;
    }
    let others = facts.addons.iter().take_while(|_| effort.spend(1));
    for (other, theirs) in others.filter(|(name, _)| ***name != *own) {
        let templates = in_use(facts, other, theirs, effort);
        if templates.is_empty() || !may_meet(facts, says, theirs, effort) {
            continue;
        }
        let moved = moved_to(facts, theirs);
        let mut reported = BTreeSet::new();
        for template in &templates {
            for (identity, value) in deployed(facts, template, moved.as_ref(), effort) {
                let differs = mine.get(&identity).is_some_and(|own| !effort.same(own, value));
                if differs && reported.insert(identity.clone()) {
                    see(&identity, other);
                }
            }
        }
    }
}

/// Returns the templates that an add-on refers to or has as a version.
fn in_use(facts: &Facts, name: &str, says: &AddonFacts, effort: &StepBudget<'_>) -> BTreeSet<String> {
    let placed = says.placements.iter();
    let placed = placed.flat_map(|placement| placement.configs.iter().chain(&placement.template.configs));
    let named = says.defaults.iter().chain(placed).take_while(|_| effort.spend(1));
    let named = named
        .filter(|one| is_kind(one.config(), Kind::Template))
        .map(|one| one.name().to_owned());
    let offered = facts.versions(name).into_iter().flat_map(|all| &all.templates);
    named.chain(offered.map(ToString::to_string)).collect()
}

fn deployed<'f>(
    facts: &'f Facts,
    template: &str,
    moved: Option<&Name>,
    effort: &StepBudget<'_>,
) -> Vec<(Identity, &'f Value)> {
    let Some(agent) = agent(facts, template) else {
        return Vec::new();
    };
    let manifests = agent.pointer("/workload/manifests").and_then(Value::as_array);
    let manifests = manifests.into_iter().flatten().take_while(|_| effort.spend(1));
    manifests
        .filter_map(|manifest| Some((identity(manifest, moved, effort)?, manifest)))
        .collect()
}

fn agent<'f>(facts: &'f Facts, template: &str) -> Option<&'f Value> {
    let reference = reference_to(Kind::Template, "", template)?;
    match facts.config_content(&reference)? {
        Content::Template(found) => Some(&found.agent),
        Content::Deployment(_) | Content::Hub => None,
    }
}

/// Returns the namespace in which the default AddOnDeploymentConfig of an add-on installs its objects.
fn moved_to(facts: &Facts, says: &AddonFacts) -> Option<Name> {
    let mut defaults = says.defaults.iter();
    let config = defaults.find(|one| is_kind(one.config(), Kind::DeploymentConfig))?;
    let ConfigPresence::Exists(found) = facts.config(config) else {
        return None;
    };
    match found.content.as_deref()? {
        Content::Deployment(config) => Some(config.install_namespace.clone()).filter(|name| !name.is_empty()),
        Content::Template(_) | Content::Hub => None,
    }
}

fn identity(manifest: &Value, moved: Option<&Name>, effort: &StepBudget<'_>) -> Option<Identity> {
    let text = |pointer: &str| {
        let found = manifest.pointer(pointer).and_then(Value::as_str);
        found.filter(|text| effort.read(text)).unwrap_or_default()
    };
    let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    let namespace = match (text("/metadata/namespace"), moved) {
        ("", _) => "",
        (_, Some(moved)) => &**moved,
        (own, None) => own,
    };
    let is_known = |text: &str| !text.replace(CLUSTER, "").contains("{{");
    let comparable = !kind.is_empty() && !name.is_empty() && is_known(name) && is_known(namespace);
    comparable.then(|| [group, kind, namespace, name].map(str::to_owned).into())
}

/// Returns whether both add-ons can be on one cluster: not if both have placements that select no cluster in common.
fn may_meet(facts: &Facts, one: &AddonFacts, other: &AddonFacts, effort: &StepBudget<'_>) -> bool {
    let clusters = |says: &AddonFacts| -> Option<BTreeSet<&Name>> {
        let mut all = BTreeSet::new();
        for placement in says.placements.iter().take_while(|_| effort.spend(1)) {
            let found = known(facts, (&placement.namespace, &placement.name))?;
            all.extend(found.clusters.iter().take_while(|_| effort.spend(1)));
        }
        (!says.placements.is_empty()).then_some(all)
    };
    match (clusters(one), clusters(other)) {
        (Some(one), Some(other)) => !one.is_disjoint(&other),
        (Some(_) | None, _) => true,
    }
}
