//! Rules about the namespace that an agent is installed in. Page: `tests/rules/install-namespace.md`.
//!
//! Warns about reserved and ineffective namespaces. `install` validates the names. Whether a namespace exists on the managed cluster
//! is not known on the hub.

use std::collections::BTreeSet;

use crate::rules::config::{every_reference, readable, typed};
use crate::rules::reach::is_kind;
use crate::rules::template::{own, template_of, usable_template};
use crate::subject::{self, Addon, ClusterAddon, DeploymentConfig, Subject, rules};
use api::names::RESERVED_NO_DEFAULT;
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use model::{ConfigReference, DEFAULT_INSTALL_NAMESPACE, InstallNamespace};
use store::{AddonFacts, Content, Facts, Kind};

pub(super) const INSTALL_NAMESPACE: &str = "install/namespace";
const RESERVED: &str = "install/reserved-namespace";
const IGNORED: &str = "install/namespace-ignored";
const REPLACED: &str = "install/namespace-replaced";

/// Namespaces that are reserved for Kubernetes or for the components of Open Cluster Management.
const NOT_FOR_ADDONS: [(&str, &str); 5] = [
    ("kube-node-lease", "is reserved for Kubernetes"),
    ("kube-public", "is reserved for Kubernetes"),
    ("kube-system", "is reserved for Kubernetes"),
    (
        "open-cluster-management-agent",
        "is reserved for the klusterlet agents",
    ),
    ("open-cluster-management-hub", "is reserved for the hub"),
];

rules! { pub(crate) ON_ADDONS of Addon {
    warns RESERVED, CreateAndUpdate, addon_reserved =>
        "An agent is not installed in a reserved namespace.\n\n\
         `kube-system`, `kube-public` and `kube-node-lease` are reserved for Kubernetes, `open-cluster-management-agent` for \
         the klusterlet agents, and `open-cluster-management-hub` for the controllers of the hub. Installing or uninstalling \
         an add-on there, or giving it permissions there, can affect these components. Warns, because some agents need such a \
         namespace. Otherwise set another `installNamespace` or `agentInstallNamespace`.";
    warns REPLACED, CreateAndUpdate, addon_replaced =>
        "The default of `agentInstallNamespace` does not replace the namespaces of a template.\n\n\
         If an AddOnDeploymentConfig does not set `agentInstallNamespace`, the API server sets it to OCM's default, \
         `open-cluster-management-agent-addon`. This namespace then replaces the namespace of every manifest in the \
         AddOnTemplate. Warns if an add-on refers to such an AddOnDeploymentConfig and to a template whose manifests have another \
         namespace. To keep the namespaces of the template, set `agentInstallNamespace` to `\"\"`; to move the agent, set it \
         to another namespace.";
} }

rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    warns RESERVED, CreateAndUpdate, own_reserved => "";
    warns IGNORED, CreateAndUpdate, ignored =>
        "`spec.installNamespace` does not differ from `agentInstallNamespace`.\n\n\
         `agentInstallNamespace` of an AddOnDeploymentConfig takes precedence over `spec.installNamespace`, which is \
         deprecated and then has no effect. Warns if both are set and differ, and if the AddOnDeploymentConfig is known. \
         Remove `spec.installNamespace`. To use the namespaces of the AddOnTemplate instead, set `agentInstallNamespace` to \
         `\"\"`.";
    warns REPLACED, CreateAndUpdate, own_replaced => "";
} }

rules! { pub(crate) ON_DEPLOYMENT_CONFIGS of DeploymentConfig {
    refuses INSTALL_NAMESPACE, CreateAndUpdate, agent_namespace => "";
    warns RESERVED, CreateAndUpdate, agent_reserved => "";
} }

fn addon_reserved(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for placement in subject.body.placements.each(subject.effort) {
        for template in placement.spec.iter().chain(&placement.template) {
            let path = || template.path.key("installNamespace");
            warn_reserved(template.install_namespace, path, findings);
        }
    }
}

fn own_reserved(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    warn_reserved(subject.body.install_namespace, own_path, findings);
}

fn own_path() -> Path {
    Path::root().key("spec").key("installNamespace")
}

fn agent_reserved(subject: &Subject<'_, DeploymentConfig>, findings: &mut Findings) {
    warn_reserved(agent(subject), agent_path, findings);
}

fn agent_path() -> Path {
    Path::root().key("spec").key("agentInstallNamespace")
}

fn agent<'a>(subject: &Subject<'a, DeploymentConfig>) -> Option<&'a str> {
    subject.body.spec.as_ref()?.text("agentInstallNamespace")
}

fn agent_namespace(subject: &Subject<'_, DeploymentConfig>, findings: &mut Findings) {
    let given = agent(subject).filter(|text| !text.is_empty());
    if let Some(Err(fault)) = given.map(InstallNamespace::parse) {
        findings.deny(fault.at(agent_path(), INSTALL_NAMESPACE));
    }
}

fn addon_replaced(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let references = || readable(every_reference(subject));
    let mut templates = references().filter(|(_, one)| is_kind(one.config(), Kind::Template));
    let found = templates.find_map(|(_, template)| {
        let namespace = other_namespace(subject, &template)?;
        Some((namespace, template))
    });
    let Some((namespace, template)) = found else {
        return;
    };
    let mut seen = BTreeSet::new();
    for (at, config) in references().filter(|(_, one)| is_kind(one.config(), Kind::DeploymentConfig)) {
        let is_new = seen.insert((config.namespace().map(str::to_owned), config.name().to_owned()));
        if is_new && has_default(subject.facts, &config) {
            warn_replaced(&at.path, &config, &namespace, &template, findings);
        }
    }
}

fn own_replaced(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let Some(addon) = subject.facts.addon(subject.name).filter(|addon| !addon.merges) else {
        return;
    };
    let Some((path, config)) = own(subject, addon, Kind::DeploymentConfig).into_iter().next() else {
        return;
    };
    if !has_default(subject.facts, &config) {
        return;
    }
    let template = template_of(subject, addon).map(|(_, template)| template);
    let found = template.and_then(|template| Some((other_namespace(subject, &template)?, template)));
    if let Some((namespace, template)) = found {
        warn_replaced(&path, &config, &namespace, &template, findings);
    }
}

/// Returns whether an AddOnDeploymentConfig has OCM's default namespace, which the API server sets if the author has set none.
fn has_default(facts: &Facts, config: &ConfigReference) -> bool {
    config.name() != RESERVED_NO_DEFAULT
        && namespace_of(facts, config).is_some_and(|namespace| namespace == DEFAULT_INSTALL_NAMESPACE)
}

/// Returns the first namespace of a template's manifests that is not OCM's default.
fn other_namespace<K: subject::Kind>(
    subject: &Subject<'_, K>,
    reference: &ConfigReference,
) -> Option<String> {
    let template = usable_template(subject, reference)?;
    let manifests = template.agent.pointer("/workload/manifests")?.as_array()?.iter();
    let manifests = manifests.take_while(|_| subject.effort.spend(1));
    let mut namespaces =
        manifests.filter_map(|manifest| manifest.get("metadata")?.get("namespace")?.as_str());
    let other = namespaces.find(|namespace| !["", DEFAULT_INSTALL_NAMESPACE].contains(namespace));
    other.map(str::to_owned)
}

fn warn_replaced(
    path: &Path,
    config: &ConfigReference,
    namespace: &str,
    template: &ConfigReference,
    findings: &mut Findings,
) {
    let place = format!("{}/{}", config.namespace().unwrap_or_default(), config.name());
    let detail = format!(
        "its default agentInstallNamespace, {}, replaces namespace {} of template {}",
        quoted(DEFAULT_INSTALL_NAMESPACE),
        quoted(namespace),
        quoted(template.name())
    );
    let fault = Fault::of_text(Class::Forbidden, &place, detail);
    let fault = fault.hint("set it to \"\" to keep the namespace");
    findings.warn(fault.at(path.clone(), REPLACED));
}

fn warn_reserved(text: Option<&str>, path: impl Fn() -> Path, findings: &mut Findings) {
    let Some(text) = text else { return };
    let known = NOT_FOR_ADDONS.iter().find(|(name, _)| *name == text);
    if let Some((_, detail)) = known {
        findings.warn(Fault::of_text(Class::Invalid, text, *detail).at(path(), RESERVED));
    }
}

fn ignored(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    // The API server sets the CRD's default if the client has not set a namespace, so the default does not count as set.
    let given = subject.body.install_namespace;
    let Some(given) = given.filter(|text| !text.is_empty() && *text != DEFAULT_INSTALL_NAMESPACE) else {
        return;
    };
    let Some((config, effective)) = agent_install_namespace(subject) else {
        return;
    };
    if effective == given {
        return;
    }
    let detail = format!(
        "has no effect: agentInstallNamespace of {config} is {}",
        quoted(&effective)
    );
    findings.warn(Fault::of_text(Class::Forbidden, given, detail).at(own_path(), IGNORED));
}

/// Returns the AddOnDeploymentConfig that determines the namespace, and the namespace that it sets.
fn agent_install_namespace(subject: &Subject<'_, ClusterAddon>) -> Option<(String, String)> {
    let facts = subject.facts;
    let addon = facts.addon(subject.name);
    let merges = addon.is_some_and(|addon| addon.merges);
    let own = own_configs(subject);
    let hides = !own.is_empty() && (!merges || own.iter().any(|one| one.name() == RESERVED_NO_DEFAULT));
    let below = addon
        .filter(|_| !hides)
        .map(|addon| inherited(facts, addon, subject.namespace, Kind::DeploymentConfig));
    let all = own.into_iter().chain(below.into_iter().flatten());
    let mut all = all.filter(|one| one.name() != RESERVED_NO_DEFAULT);
    let first = all.next()?;
    let highest = namespace_of(facts, &first)?;
    // If all levels are merged, the default does not count as set: the API server sets it if the configuration has no namespace.
    let is_set = |namespace: &str| !merges || namespace != DEFAULT_INSTALL_NAMESPACE;
    let lower = || {
        let mut namespaces = all.filter_map(|one| Some((namespace_of(facts, &one)?, one)));
        namespaces.find(|(namespace, _)| is_set(namespace))
    };
    let (namespace, reference) = if is_set(&highest) {
        (highest, first)
    } else {
        lower().unwrap_or((highest, first))
    };
    let place = format!(
        "{}/{}",
        reference.namespace().unwrap_or_default(),
        reference.name()
    );
    (!namespace.is_empty()).then_some((place, namespace))
}

fn namespace_of(facts: &Facts, reference: &ConfigReference) -> Option<String> {
    match facts.config_content(reference)? {
        Content::Deployment(config) => Some(config.install_namespace.to_string()),
        Content::Template(_) | Content::Hub => None,
    }
}

fn own_configs(subject: &Subject<'_, ClusterAddon>) -> Vec<ConfigReference> {
    let own = typed(&subject.body.configs, subject.effort)
        .filter(|(_, of)| Kind::of_config(of.group(), of.resource()) == Some(Kind::DeploymentConfig));
    own.filter_map(|(at, _)| ConfigReference::read(at.raw)).collect()
}

/// Returns the configurations of a kind that a cluster inherits, from the highest level down.
pub(super) fn inherited(
    facts: &Facts,
    addon: &AddonFacts,
    cluster: &str,
    kind: Kind,
) -> Vec<ConfigReference> {
    let is_config = |reference: &&ConfigReference| is_kind(reference.config(), kind);
    let placement = addon
        .placements
        .iter()
        .rfind(|placement| facts.selects(&placement.namespace, &placement.name, cluster));
    let placed = placement.into_iter().flat_map(|one| &one.configs);
    let placed: Vec<ConfigReference> = placed.filter(is_config).cloned().collect();
    let merges = addon.merges && kind == Kind::DeploymentConfig;
    let hides = !placed.is_empty() && (!merges || placed.iter().any(|one| one.name() == RESERVED_NO_DEFAULT));
    let defaults = addon.defaults.iter().filter(|one| !hides && is_config(one));
    placed.into_iter().chain(defaults.cloned()).collect()
}
