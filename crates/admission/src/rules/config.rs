//! Rules about references to configurations. Page: `tests/rules/config.md`.
//!
//! Checks the references themselves. `config_objects` checks whether the referenced objects exist.

use std::collections::{BTreeMap, BTreeSet};

use crate::body::AddonBody;
use crate::body::ReferenceAt;
use crate::rules::reach::type_of;
use crate::step_budget::{Items, StepBudget};
use crate::subject::{Addon, ClusterAddon, Subject, rules};
use api::names::DEFAULT_CONFIG_NAMESPACE;
use kubernetes::field::{Class, Fault, Findings, Path, Violation, listed_of, nearest, quoted};
use model::{ConfigReference, ConfigType, KNOWN_TYPES, rule};
use store::Kind;

const UNSUPPORTED_TYPE: &str = "config/unsupported-type";
const UNKNOWN_RESOURCE: &str = "config/unknown-resource";
const DUPLICATE: &str = "config/duplicate";
const MISSING_NAMESPACE: &str = "config/missing-namespace";
const OWN_GROUP: &str = api::v1alpha1::GROUP;

rules! { pub(crate) ON_ADDONS of Addon {
    refuses UNSUPPORTED_TYPE, CreateAndUpdate, unlisted_type =>
        "A configuration has a type that the add-on supports.\n\n\
         A configuration of any other type has no effect. The supported types are those in \
         `spec.supportedConfigs` and `spec.configuration.configs` of the ClusterManagementAddOn, and those that the add-on \
         has reported in `status.supportedConfigs` of a ManagedClusterAddOn on any cluster. An add-on that supports \
         `addontemplates` also supports `addondeploymentconfigs`. In a ManagedClusterAddOn, any other type is refused; it \
         only warns if the add-on is not deployed from templates and has not reported its types on any cluster yet. In the \
         placements of a ClusterManagementAddOn, any other type always warns. If the ClusterManagementAddOn does not exist, the \
         type is not checked. Add the type to `spec.supportedConfigs`, or correct `group` and `resource`.";
    refuses rule::KIND_NOT_PLURAL, CreateAndUpdate, addon_kind_not_plural =>
        "A configuration type is written as its plural, lower-case resource name.\n\n\
         Write `addondeploymentconfigs`, not `AddOnDeploymentConfig` or `addondeploymentconfig`. A kind or a singular name is \
         not the name of a resource, so the configuration would never be found. Refused; the message shows the plural.";
    refuses rule::INCOMPLETE_REFERENCE, CreateAndUpdate, addon_incomplete =>
        "A reference to a configuration has a resource and a name.\n\n\
         Without `resource` and `name` the controllers cannot find the configuration. Refused.";
    warns UNKNOWN_RESOURCE, CreateAndUpdate, addon_unknown_resource =>
        "A configuration type of the add-on API group exists.\n\n\
         The group `addon.open-cluster-management.io` has only a few configuration types, and any other `resource` in it is \
         probably misspelt. The configuration would never be found. Warns, and suggests the closest name.";
    refuses DUPLICATE, CreateAndUpdate, addon_duplicate =>
        "A configuration is referenced only once in a list.\n\n\
         A duplicate reference in a list is usually a copy-and-paste error. Different objects of one type are allowed: their \
         order is kept, and the add-on defines what several of them mean. Refused, with the path of the first reference. \
         Remove the duplicate.";
    warns MISSING_NAMESPACE, CreateAndUpdate, addon_missing_namespace =>
        "A reference to a namespaced configuration has a namespace.\n\n\
         Without `namespace` the controllers look for a cluster-scoped object, which this type does not have, so the \
         configuration is never found. In `addonSpec` and `addonTemplate` of a placement, ManagedClusterAddOns are created \
         with the namespace `open-cluster-management` instead. Warns, because existing manifests omit the namespace. Set \
         `namespace`.";
} }

// What they mean is documented where add-ons have them.
rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    refuses UNSUPPORTED_TYPE, CreateAndUpdate, unsupported_type => "";
    refuses rule::KIND_NOT_PLURAL, CreateAndUpdate, kind_not_plural => "";
    refuses rule::INCOMPLETE_REFERENCE, CreateAndUpdate, incomplete => "";
    warns UNKNOWN_RESOURCE, CreateAndUpdate, unknown_resource => "";
    refuses DUPLICATE, CreateAndUpdate, duplicate => "";
    warns MISSING_NAMESPACE, CreateAndUpdate, missing_namespace => "";
} }

fn unsupported_type(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    // Without the ClusterManagementAddOn the supported types are not known.
    let Some(addon) = subject.facts.addon(subject.name) else {
        return;
    };
    let effort = subject.effort;
    let stored = subject.old.iter().flat_map(|old| old.declared.each(effort));
    let stored = stored.filter_map(|(group, resource)| ConfigType::parse(group, resource).ok());
    let listed = addon.supported.iter().cloned();
    let lists_templates = addon.supported.contains(&type_of(Kind::Template));
    let anywhere = subject.facts.declared_types(subject.name).into_iter().flatten();
    let declared: Vec<ConfigType> = stored.chain(anywhere.cloned()).collect();
    let is_of_templates = lists_templates || subject.facts.versions(subject.name).is_some();
    let types_are_known = is_of_templates || !declared.is_empty();
    let supported = Supported::of(listed.chain(of_templates(lists_templates)).chain(declared));
    let owner = format!("add-on {}", quoted(subject.name));
    let hint = "ask the add-on owner to list it in spec.supportedConfigs";
    for (at, config) in typed(&subject.body.configs, effort).filter(|(_, of)| !supported.has(of)) {
        if types_are_known {
            findings.deny(supported.misses(at, &config, "supports", &owner, hint, effort));
        } else {
            let hint = "check the type: the add-on has not reported its types in status.supportedConfigs yet";
            findings.warn(supported.misses(at, &config, "lists", &owner, hint, effort));
        }
    }
}

fn unlisted_type(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let (body, effort) = (&subject.body, subject.effort);
    let listed: Vec<ConfigType> = listed_types(body, effort).collect();
    let own = of_templates(listed.contains(&type_of(Kind::Template)));
    let declared = subject.facts.declared_types(subject.name).into_iter().flatten();
    let supported = Supported::of(listed.into_iter().chain(own).chain(declared.cloned()));
    let hint = "list it in spec.supportedConfigs";
    for list in placement_lists(&subject.body, subject.effort) {
        for (at, config) in typed(list, effort) {
            if !supported.has(&config) {
                findings.warn(supported.misses(at, &config, "supports", "this add-on", hint, effort));
            }
        }
    }
}

/// Returns the types that every add-on that is deployed from templates supports, even if it does not list them.
fn of_templates(lists_templates: bool) -> impl Iterator<Item = ConfigType> {
    let own = [Kind::Template, Kind::DeploymentConfig].map(type_of);
    own.into_iter().filter(move |_| lists_templates)
}

/// The types that an add-on supports, and the first group of each resource name.
#[derive(Default)]
struct Supported(BTreeSet<ConfigType>, BTreeMap<String, String>);

impl Supported {
    fn of(types: impl Iterator<Item = ConfigType>) -> Self {
        let mut all = Self::default();
        for known in types {
            let first = all.1.entry(known.resource().to_owned());
            let first = first.or_insert_with(|| known.group().to_owned());
            if known.group() < first.as_str() {
                known.group().clone_into(first);
            }
            all.0.insert(known);
        }
        all
    }

    fn has(&self, config: &ConfigType) -> bool {
        self.0.contains(config)
    }

    fn misses(
        &self,
        at: &ReferenceAt<'_>,
        config: &ConfigType,
        verb: &str,
        owner: &str,
        hint: &str,
        effort: &StepBudget<'_>,
    ) -> Violation {
        let detail = if self.0.is_empty() {
            format!("{owner} {verb} no configuration types")
        } else {
            format!("{owner} {verb}: {}", self.names(config.group()))
        };
        // The resource exists in another group, so the finding is at the group.
        if let Some(group) = self.1.get(config.resource()) {
            let hint = format!("did you mean group {}?", quoted(group));
            let fault = Fault::of_text(Class::NotSupported, config.group(), detail).hint(hint);
            return fault.at(at.path.key("group"), UNSUPPORTED_TYPE);
        }
        let near = effort.hint(|| nearest(config.resource(), self.0.iter().map(ConfigType::resource)));
        let hint = near.map_or_else(
            || hint.to_owned(),
            |near| format!("did you mean {}?", quoted(near)),
        );
        let fault = Fault::of_text(Class::NotSupported, config.resource(), detail).hint(hint);
        fault.at(at.path.key("resource"), UNSUPPORTED_TYPE)
    }

    /// Lists the types. Those of `group` are listed without their group.
    fn names(&self, group: &str) -> String {
        let name = |known: &ConfigType| {
            if known.group() == group {
                known.resource().to_owned()
            } else {
                known.to_string()
            }
        };
        listed_of(self.0.iter().map(name), self.0.len())
    }
}

fn kind_not_plural(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    deny_unreadable(
        subject.body.configs.each(subject.effort),
        rule::KIND_NOT_PLURAL,
        findings,
    );
}

fn addon_kind_not_plural(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let effort = subject.effort;
    for list in every_list(subject) {
        deny_unreadable(list.each(effort), rule::KIND_NOT_PLURAL, findings);
    }
    for entry in subject.body.supported.each(effort) {
        let Some(resource) = entry.resource.filter(|resource| !resource.is_empty()) else {
            continue;
        };
        if let Err(fault) = ConfigType::parse(entry.group.unwrap_or_default(), resource) {
            findings.deny(fault.at(entry.path.key("resource"), rule::KIND_NOT_PLURAL));
        }
    }
}

fn incomplete(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let list = subject.body.configs.each(subject.effort);
    deny_unreadable(list, rule::INCOMPLETE_REFERENCE, findings);
}

fn addon_incomplete(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for list in every_list(subject) {
        deny_unreadable(list.each(subject.effort), rule::INCOMPLETE_REFERENCE, findings);
    }
    for default in every_default(subject) {
        let named = default.raw.name.is_some_and(|name| !name.is_empty());
        if !named {
            let fault = Fault::bare(Class::Required, "must name the configuration object");
            findings.deny(fault.at(default.path.key("name"), rule::INCOMPLETE_REFERENCE));
        }
    }
}

fn deny_unreadable<'l, 'a: 'l>(
    list: impl Iterator<Item = &'l ReferenceAt<'a>>,
    id: &str,
    findings: &mut Findings,
) {
    let read = list.filter_map(|at| ConfigReference::parse(at.raw, &at.path).err());
    let own = read.flatten().filter(|violation| violation.rule() == id);
    own.for_each(|violation| findings.deny(violation));
}

fn unknown_resource(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    // If the add-on is known, the rule about unsupported types checks its list, which is more precise.
    if subject.facts.addon(subject.name).is_none() {
        warn_unknown_resource(&subject.body.configs, subject.effort, findings);
    }
}

fn addon_unknown_resource(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let effort = subject.effort;
    for list in every_list(subject) {
        warn_unknown_resource(list, effort, findings);
    }
    for entry in subject.body.supported.each(effort) {
        let config = ConfigType::parse(
            entry.group.unwrap_or_default(),
            entry.resource.unwrap_or_default(),
        );
        findings_of_unknown(config.ok(), &entry.path, effort, findings);
    }
}

fn warn_unknown_resource(list: &Items<ReferenceAt<'_>>, effort: &StepBudget<'_>, findings: &mut Findings) {
    for (at, config) in typed(list, effort) {
        findings_of_unknown(Some(config), &at.path, effort, findings);
    }
}

fn findings_of_unknown(
    config: Option<ConfigType>,
    path: &Path,
    effort: &StepBudget<'_>,
    findings: &mut Findings,
) {
    let Some(config) = config.filter(|config| config.group() == OWN_GROUP) else {
        return;
    };
    let known = || {
        KNOWN_TYPES
            .iter()
            .filter(|known| known.group == OWN_GROUP)
            .map(|known| known.resource)
    };
    if known().any(|known| known == config.resource()) {
        return;
    }
    let near = effort.hint(|| nearest(config.resource(), known()));
    let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
    let detail = "no such configuration type in this group";
    let fault = Fault::of_text(Class::NotFound, config.resource(), detail).hint_if(hint);
    findings.warn(fault.at(path.key("resource"), UNKNOWN_RESOURCE));
}

fn duplicate(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    deny_duplicates(&subject.body.configs, subject.effort, findings);
}

fn addon_duplicate(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for list in every_list(subject) {
        deny_duplicates(list, subject.effort, findings);
    }
}

fn deny_duplicates(list: &Items<ReferenceAt<'_>>, effort: &StepBudget<'_>, findings: &mut Findings) {
    let mut first: BTreeMap<String, &Path> = BTreeMap::new();
    for (at, reference) in readable(list.each(effort)) {
        let key = reference.to_string();
        match first.get(&key) {
            None => {
                first.insert(key, &at.path);
            }
            Some(before) => {
                let fault = Fault::of_text(
                    Class::Duplicate,
                    &key,
                    format!("is already referenced at {before}"),
                );
                findings.deny(fault.at(at.path.clone(), DUPLICATE));
            }
        }
    }
}

fn missing_namespace(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    warn_missing_namespace(subject.body.configs.each(subject.effort), findings);
}

fn addon_missing_namespace(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let (body, effort) = (&subject.body, subject.effort);
    warn_missing_namespace(body.configured.each(effort), findings);
    for placement in body.placements.each(effort) {
        warn_missing_namespace(placement.configs.each(effort), findings);
        for template in placement.spec.iter().chain(&placement.template) {
            warn_filled_namespace(template.configs.each(effort), findings);
        }
    }
    warn_missing_namespace(every_default(subject), findings);
}

/// Checks the lists that ManagedClusterAddOns are created with: the controllers set the default namespace there.
fn warn_filled_namespace<'l, 'a: 'l>(
    list: impl Iterator<Item = &'l ReferenceAt<'a>>,
    findings: &mut Findings,
) {
    for (at, reference) in readable(list).filter(|(_, reference)| reference.lacks_namespace()) {
        let detail = format!(
            "must be set, because {} are namespaced; ManagedClusterAddOns are created with the namespace {}",
            reference.config().resource(),
            quoted(DEFAULT_CONFIG_NAMESPACE)
        );
        findings.warn(Fault::bare(Class::Required, detail).at(at.path.key("namespace"), MISSING_NAMESPACE));
    }
}

fn warn_missing_namespace<'l, 'a: 'l>(
    list: impl Iterator<Item = &'l ReferenceAt<'a>>,
    findings: &mut Findings,
) {
    for (at, reference) in readable(list).filter(|(_, reference)| reference.lacks_namespace()) {
        let detail = format!("must be set: {} are namespaced", reference.config().resource());
        findings.warn(Fault::bare(Class::Required, detail).at(at.path.key("namespace"), MISSING_NAMESPACE));
    }
}

/// Returns every list of references of an add-on. The defaults of supported types are not in a list.
pub(super) fn every_list<'s, 'a>(
    subject: &'s Subject<'a, Addon>,
) -> impl Iterator<Item = &'s Items<ReferenceAt<'a>>> {
    lists_of(&subject.body, subject.effort)
}

/// Returns the same lists of another add-on object, such as the old one.
pub(super) fn lists_of<'s, 'a>(
    body: &'s AddonBody<'a>,
    effort: &'s StepBudget<'_>,
) -> impl Iterator<Item = &'s Items<ReferenceAt<'a>>> {
    std::iter::once(&body.configured).chain(placement_lists(body, effort))
}

/// Returns the default of every supported type.
pub(super) fn every_default<'s, 'a>(
    subject: &'s Subject<'a, Addon>,
) -> impl Iterator<Item = &'s ReferenceAt<'a>> {
    let supported = subject.body.supported.each(subject.effort);
    supported.filter_map(|entry| entry.default.as_ref())
}

/// Returns every reference of an add-on: those in lists, then the defaults.
pub(super) fn every_reference<'s, 'a>(
    subject: &'s Subject<'a, Addon>,
) -> impl Iterator<Item = &'s ReferenceAt<'a>> {
    let listed = every_list(subject).flat_map(|list| list.each(subject.effort));
    listed.chain(every_default(subject))
}

fn placement_lists<'s, 'a>(
    body: &'s AddonBody<'a>,
    effort: &'s StepBudget<'_>,
) -> impl Iterator<Item = &'s Items<ReferenceAt<'a>>> {
    body.placements.each(effort).flat_map(|placement| {
        let templates = placement.spec.iter().chain(&placement.template);
        std::iter::once(&placement.configs).chain(templates.map(|template| &template.configs))
    })
}

/// Returns the references with a valid type.
pub(super) fn typed<'s, 'a>(
    list: &'s Items<ReferenceAt<'a>>,
    effort: &'s StepBudget<'_>,
) -> impl Iterator<Item = (&'s ReferenceAt<'a>, ConfigType)> {
    list.each(effort).filter_map(|at| {
        let group = at.raw.group.unwrap_or_default();
        Some((at, ConfigType::parse(group, at.raw.resource?).ok()?))
    })
}

/// Returns the types in `spec.supportedConfigs` and `spec.configuration.configs` of an add-on.
pub(super) fn listed_types<'s>(
    body: &'s AddonBody<'_>,
    effort: &'s StepBudget<'_>,
) -> impl Iterator<Item = ConfigType> + 's {
    let listed = body
        .supported
        .each(effort)
        .map(|entry| (entry.group, entry.resource));
    let configured = body
        .configured
        .each(effort)
        .map(|at| (at.raw.group, at.raw.resource));
    listed
        .chain(configured)
        .filter_map(|(group, resource)| ConfigType::parse(group.unwrap_or_default(), resource?).ok())
}

/// Returns the valid references.
pub(super) fn readable<'l, 'a: 'l>(
    list: impl Iterator<Item = &'l ReferenceAt<'a>>,
) -> impl Iterator<Item = (&'l ReferenceAt<'a>, ConfigReference)> {
    list.filter_map(|at| Some((at, ConfigReference::parse(at.raw, &at.path).ok()?)))
}
