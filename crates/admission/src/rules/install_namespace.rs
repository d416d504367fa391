//! Rules about the namespace that an agent is installed in. Page: `tests/rules/install-namespace.md`.
//!
//! Warns about reserved and ineffective namespaces. `install` validates the names. Whether a namespace exists on the managed cluster
//! is not known on the hub.

use crate::rules::config::typed;
use crate::rules::reach::is_kind;
use crate::subject::{Addon, ClusterAddon, DeploymentConfig, Subject, rules};
use api::names::RESERVED_NO_DEFAULT;
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use model::{ConfigReference, DEFAULT_INSTALL_NAMESPACE, InstallNamespace};
use store::{AddonFacts, Content, Facts, Kind};

pub(super) const INSTALL_NAMESPACE: &str = "install/namespace";
const RESERVED: &str = "install/reserved-namespace";
const IGNORED: &str = "install/namespace-ignored";

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
} }

rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    warns RESERVED, CreateAndUpdate, own_reserved => "";
    warns IGNORED, CreateAndUpdate, ignored =>
        "`spec.installNamespace` does not differ from `agentInstallNamespace`.\n\n\
         `agentInstallNamespace` of an AddOnDeploymentConfig takes precedence over `spec.installNamespace`, which is \
         deprecated and then has no effect. Warns if both are set and differ, and if the AddOnDeploymentConfig is known. \
         Remove `spec.installNamespace`. To use the namespaces of the AddOnTemplate instead, set `agentInstallNamespace` to \
         `\"\"`.";
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
