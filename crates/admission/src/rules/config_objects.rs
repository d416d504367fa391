//! Rules about the objects that references to configurations name. Page: `tests/rules/config-objects.md`.
//!
//! Checks whether the objects exist. Kinds that have not been read from the hub are not checked.

use std::collections::BTreeMap;

use crate::body::ReferenceAt;
use crate::rules::config::{every_list, every_reference, readable, typed};
use crate::rules::naming::near;
use crate::step_budget::{Items, StepBudget};
use crate::subject::{self, Addon, ClusterAddon, Subject, rules};
use api::names::RESERVED_NO_DEFAULT;
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use model::{ConfigReference, ConfigType, Scope};
use store::{Absence, AddonFacts, ConfigPresence, Kind, ObjectKey, config_key};

const NOT_FOUND: &str = "config/not-found";
const NEEDLESS_NAMESPACE: &str = "config/needless-namespace";
const SEVERAL_OF_A_TYPE: &str = "config/several-of-a-type";

rules! { pub(crate) ON_ADDONS of Addon {
    warns NOT_FOUND, CreateAndUpdate, addon_not_found =>
        "A referenced configuration exists.\n\n\
         A cluster that would use a configuration that does not exist is not updated: it keeps its current configuration \
         until the object is created. Warns, because the object may be created by the same `kubectl apply`. The warning \
         contains the closest name, or the namespace that has an object with this name. Types that Tidegate does not read are \
         not checked.";
    warns NEEDLESS_NAMESPACE, CreateAndUpdate, addon_needless_namespace =>
        "A reference to a cluster-scoped configuration has no namespace.\n\n\
         AddOnTemplates and AddOnHubConfigs are cluster-scoped. With a `namespace`, the controllers look for a namespaced \
         object, which never exists for these types. Warns. Remove `namespace`.";
    warns SEVERAL_OF_A_TYPE, CreateAndUpdate, addon_several =>
        "A list references at most one AddOnTemplate, one AddOnDeploymentConfig and one AddOnHubConfig.\n\n\
         An agent is deployed with one object of each of these types. If a list has several objects of one type, only the \
         first one is used; the others have no effect. With the annotation `tidegate.io/merged-configs`, all \
         AddOnDeploymentConfigs are merged. For other types the add-on defines what several objects mean. Warns at the \
         references that have no effect. Remove them.";
} }

// What they mean is documented where add-ons have them.
rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    warns NOT_FOUND, CreateAndUpdate, not_found => "";
    warns NEEDLESS_NAMESPACE, CreateAndUpdate, needless_namespace => "";
    warns SEVERAL_OF_A_TYPE, CreateAndUpdate, several => "";
} }

fn addon_not_found(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    warn_absent(subject, every_reference(subject), findings);
}

fn not_found(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    warn_absent(subject, subject.body.configs.each(subject.effort), findings);
}

fn warn_absent<'l, 'a: 'l, K: subject::Kind>(
    subject: &Subject<'_, K>,
    list: impl Iterator<Item = &'l ReferenceAt<'a>>,
    findings: &mut Findings,
) {
    for (at, reference) in readable(list) {
        // Other rules report a wrong or missing namespace.
        let ConfigPresence::Absent(Absence::Missing) = subject.facts.config(&reference) else {
            continue;
        };
        if reference.name() == RESERVED_NO_DEFAULT {
            continue;
        }
        let path = at.path.key("name");
        let lacks = if let Some(object) = key(&reference) {
            subject.lacks(object, NOT_FOUND, &path)
        } else {
            subject.doubts.note(NOT_FOUND, &path, None);
            true
        };
        if !lacks {
            continue;
        }
        let detail = match reference.namespace() {
            Some(namespace) => format!("no such object in namespace {}", quoted(namespace)),
            None => format!(
                "no object of type {} has this name",
                reference.config().resource()
            ),
        };
        let fault = Fault::of_text(Class::NotFound, reference.name(), detail);
        let hint = subject.effort.hint(|| suggestion(subject, &reference));
        findings.warn(fault.hint_if(hint).at(path, NOT_FOUND));
    }
}

fn key(reference: &ConfigReference) -> Option<ObjectKey> {
    let of = reference.config();
    let kind = Kind::of_config(of.group(), of.resource())?;
    Some(ObjectKey::new(
        kind,
        reference.namespace().unwrap_or_default(),
        reference.name(),
    ))
}

/// Returns a hint: the same name in another namespace, or a similar name in the same namespace.
fn suggestion<K: subject::Kind>(subject: &Subject<'_, K>, reference: &ConfigReference) -> Option<String> {
    let of = reference.config();
    let configs = &subject.facts.configs;
    let prefix = config_key(of.group(), of.resource(), "", "");
    let prefix = prefix.strip_suffix('/').unwrap_or(&prefix);
    let places = configs.iter().filter_map(|(key, presence)| match presence {
        ConfigPresence::Exists(_) => key.strip_prefix(prefix)?.split_once('/'),
        ConfigPresence::Absent(_) | ConfigPresence::Unknown => None,
    });
    let places: Vec<(&str, &str)> = places.collect();
    let elsewhere = places.iter().filter(|(_, name)| *name == reference.name());
    if let Some((namespace, _)) = elsewhere.min() {
        return Some(format!("there is one in namespace {}", quoted(namespace)));
    }
    let namespace = reference.namespace().unwrap_or_default();
    let here = places.iter().filter(|(place, _)| *place == namespace);
    let near = near(reference.name(), here.map(|(_, name)| *name))?;
    Some(format!("did you mean {}?", quoted(near)))
}

fn addon_needless_namespace(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    warn_needless_namespace(every_reference(subject), findings);
}

fn needless_namespace(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    warn_needless_namespace(subject.body.configs.each(subject.effort), findings);
}

fn warn_needless_namespace<'l, 'a: 'l>(
    list: impl Iterator<Item = &'l ReferenceAt<'a>>,
    findings: &mut Findings,
) {
    for (at, reference) in readable(list) {
        let (Some(Scope::Cluster), Some(namespace)) = (reference.config().scope(), reference.namespace())
        else {
            continue;
        };
        let detail = format!("{} are cluster-scoped", reference.config().resource());
        let fault = Fault::of_text(Class::Forbidden, namespace, detail).hint("remove the namespace");
        findings.warn(fault.at(at.path.key("namespace"), NEEDLESS_NAMESPACE));
    }
}

fn addon_several(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let merges = AddonFacts::default()
        .merging(subject.body.merged().filter(|text| subject.effort.read(text)))
        .merges;
    for list in every_list(subject) {
        warn_several(list, merges, subject.effort, findings);
    }
}

fn several(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let addon = subject.facts.addon(subject.name);
    let merges = addon.is_some_and(|addon| addon.merges);
    warn_several(&subject.body.configs, merges, subject.effort, findings);
}

fn warn_several(
    list: &Items<ReferenceAt<'_>>,
    merges: bool,
    effort: &StepBudget<'_>,
    findings: &mut Findings,
) {
    let mut first: BTreeMap<ConfigType, (&Path, Option<ReferenceId<'_>>)> = BTreeMap::new();
    for (at, config) in typed(list, effort) {
        let all_count = |kind| kind == Kind::DeploymentConfig && merges;
        if Kind::of_config(config.group(), config.resource()).is_none_or(all_count) {
            continue;
        }
        let this = Some((
            at.raw.namespace.unwrap_or_default(),
            at.raw.name.unwrap_or_default(),
        ));
        match first.get(&config) {
            None => {
                first.insert(config, (&at.path, this));
            }
            // Another rule refuses a duplicate reference.
            Some((_, other)) if *other == this => {}
            Some((before, _)) => {
                let detail = format!("has no effect: only {before} is used");
                let name = at.raw.name.unwrap_or_default();
                let fault = Fault::of_text(Class::Forbidden, name, detail);
                findings.warn(fault.at(at.path.clone(), SEVERAL_OF_A_TYPE));
            }
        }
    }
}

/// Namespace and name.
type ReferenceId<'a> = (&'a str, &'a str);
