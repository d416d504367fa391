//! The rule about variables of a template that have no value in the configurations of an add-on.
//!
//! Checked when add-ons are written, because the template is usually created first and only an add-on refers to both a template and
//! configurations. A ClusterManagementAddOn is checked against the variables of all configurations of the hub, a ManagedClusterAddOn
//! against the configurations of its cluster.

use std::collections::BTreeSet;

use super::variables::{BUILT_IN, KUBECONFIG, UNKNOWN, each_variable, known};
use crate::rules::config::{every_reference, readable, typed};
use crate::rules::install_namespace::inherited;
use crate::rules::reach::{is_kind, reference_to, type_of};
use crate::subject::{self, Addon, ClusterAddon, Subject, rules};
use api::names::RESERVED_NO_DEFAULT;
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use model::{AddonVersion, ConfigReference};
use store::{AddonFacts, Content, Kind, Template, TemplateSharing};

/// About how many characters of names one warning contains: an API server shows the first 256 characters of each warning.
const LETTERS: usize = 120;

// What they mean is documented where templates have them.
rules! { pub(crate) ON_ADDONS of Addon {
    warns UNKNOWN, CreateAndUpdate, addon_leaves_unset => "";
} }

rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    warns UNKNOWN, CreateAndUpdate, leaves_unset => "";
} }

fn addon_leaves_unset(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    if !subject.facts.knows(Kind::DeploymentConfig) {
        return;
    }
    let mut seen = BTreeSet::new();
    for (at, reference) in readable(every_reference(subject)) {
        if !is_kind(reference.config(), Kind::Template) || !seen.insert(reference.name().to_owned()) {
            continue;
        }
        let Some(template) = usable_template(subject, &reference) else {
            continue;
        };
        if !subject.effort.spend(subject.facts.configs.len()) {
            return;
        }
        let known = known(subject, template.registration.is_some());
        let unset = unset(subject, template, &known);
        let detail = "no value in any AddOnDeploymentConfig";
        warn(&unset, &at.path, reference.name(), detail, findings);
    }
}

fn leaves_unset(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let Some(addon) = subject.facts.addon(subject.name) else {
        return;
    };
    let Some((path, reference)) = template_of(subject, addon) else {
        return;
    };
    let Some(template) = usable_template(subject, &reference) else {
        return;
    };
    let mut known: BTreeSet<&str> = BTreeSet::from(BUILT_IN);
    known.extend(template.registration.is_some().then_some(KUBECONFIG));
    for config in effective(subject, addon) {
        match subject.facts.config_content(&config) {
            Some(Content::Deployment(config)) => {
                let names = config.variables.iter().map(|(name, _)| &**name);
                known.extend(names.take_while(|_| subject.effort.spend(0)));
            }
            // Its variables are not known. Another rule reports that it does not exist.
            Some(Content::Template(_) | Content::Hub) | None => return,
        }
    }
    let unset = unset(subject, template, &known);
    let detail = "no value in the configurations of this cluster";
    warn(&unset, &path, reference.name(), detail, findings);
}

/// Returns the template of a cluster, with the path of its reference, or of the spec if the ManagedClusterAddOn does not refer to one.
pub(in crate::rules) fn template_of(
    subject: &Subject<'_, ClusterAddon>,
    addon: &AddonFacts,
) -> Option<(Path, ConfigReference)> {
    let own = own(subject, addon, Kind::Template).into_iter().next();
    own.or_else(|| given(subject, addon).map(|reference| (Path::root().key("spec"), reference)))
}

/// Returns a template if it is known and the add-on may use it. Another rule refuses the others.
pub(in crate::rules) fn usable_template<'f, K: subject::Kind>(
    subject: &Subject<'f, K>,
    reference: &ConfigReference,
) -> Option<&'f Template> {
    match subject.facts.config_content(reference)? {
        Content::Template(template) => {
            let may_use = TemplateSharing::default().permits(template, subject.name);
            may_use.then_some(template)
        }
        Content::Deployment(_) | Content::Hub => None,
    }
}

/// Returns the variables of a template that are not known, in the order of the text.
fn unset<K: subject::Kind>(
    subject: &Subject<'_, K>,
    template: &Template,
    known: &BTreeSet<&str>,
) -> Vec<String> {
    let (mut names, mut seen) = (Vec::new(), BTreeSet::new());
    each_variable(&template.agent, subject.effort, |name| {
        if !known.contains(name) && seen.insert(name.to_owned()) {
            names.push(name.to_owned());
        }
    });
    names
}

/// Warns about all names, in several warnings if one is too short for them.
fn warn(names: &[String], path: &Path, template: &str, detail: &str, findings: &mut Findings) {
    let mut rest = names;
    while !rest.is_empty() {
        let mut letters = 0_usize;
        let fits = |name: &&String| {
            letters = letters.saturating_add(name.len()).saturating_add(4);
            letters <= LETTERS
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (some, others) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        rest = others;
        let some: Vec<String> = some.iter().map(|name| quoted(name)).collect();
        let (variables, have) = if some.len() == 1 {
            ("variable", "has")
        } else {
            ("variables", "have")
        };
        let fault = Fault::bare(
            Class::NotFound,
            format!(
                "the {variables} {} of template {} {have} {detail}",
                some.join(", "),
                quoted(template)
            ),
        );
        findings.warn(fault.at(path.clone(), UNKNOWN));
    }
}

/// Returns the configurations of a kind in the ManagedClusterAddOn, unless the type is protected.
pub(in crate::rules) fn own(
    subject: &Subject<'_, ClusterAddon>,
    addon: &AddonFacts,
    kind: Kind,
) -> Vec<(Path, ConfigReference)> {
    if addon.protected.contains(&type_of(kind)) {
        return Vec::new();
    }
    let own = typed(&subject.body.configs, subject.effort).filter(|(_, of)| is_kind(of, kind));
    own.filter_map(|(at, _)| Some((at.path.clone(), ConfigReference::read(at.raw)?)))
        .collect()
}

/// Returns the template that the add-on gives to the cluster: that of `desiredVersion`, or else the default.
fn given(subject: &Subject<'_, ClusterAddon>, addon: &AddonFacts) -> Option<ConfigReference> {
    let facts = subject.facts;
    let Some(desired) = subject.body.desired_version else {
        let mut all = inherited(facts, addon, subject.namespace, Kind::Template).into_iter();
        return all.next();
    };
    let (desired, known) = (AddonVersion::parse(desired).ok()?, facts.versions(subject.name)?);
    let versions = known.supported.iter().zip(&known.templates);
    let mut versions = versions.take_while(|_| subject.effort.spend(1));
    let (_, template) =
        versions.find(|(text, _)| AddonVersion::parse(text).ok().as_ref() == Some(&desired))?;
    reference_to(Kind::Template, "", template)
}

/// Returns the AddOnDeploymentConfigs that apply to the cluster.
fn effective(subject: &Subject<'_, ClusterAddon>, addon: &AddonFacts) -> Vec<ConfigReference> {
    let own: Vec<ConfigReference> = own(subject, addon, Kind::DeploymentConfig)
        .into_iter()
        .map(|(_, reference)| reference)
        .collect();
    let hides = !own.is_empty() && (!addon.merges || own.iter().any(|one| one.name() == RESERVED_NO_DEFAULT));
    let below = if hides {
        Vec::new()
    } else {
        inherited(subject.facts, addon, subject.namespace, Kind::DeploymentConfig)
    };
    let all = own.into_iter().chain(below);
    let all = all.filter(|one| one.name() != RESERVED_NO_DEFAULT);
    // An agent is deployed with the first of several, or with all of them merged.
    all.take(if addon.merges { usize::MAX } else { 1 }).collect()
}
