//! Rules about the namespace that an agent is installed in. Page: `tests/rules/install-namespace.md`.
//!
//! Decides which namespaces are doubted. Whether a text is a name at all is decided in `install`; whether the namespace
//! exists is known by the cluster only.

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

/// Namespaces that belong to Kubernetes or to the agents of the hub itself.
const NOT_FOR_ADDONS: [(&str, &str); 5] = [
    ("kube-node-lease", "belongs to Kubernetes"),
    ("kube-public", "belongs to Kubernetes"),
    ("kube-system", "belongs to Kubernetes"),
    (
        "open-cluster-management-agent",
        "belongs to the agents that join a cluster to its hub",
    ),
    ("open-cluster-management-hub", "belongs to the hub"),
];

rules! { pub(crate) ON_ADDONS of Addon {
    warns RESERVED, CreateAndUpdate, addon_reserved =>
        "An agent is installed in a namespace for add-ons.\n\n\
         `kube-system` and its like belong to Kubernetes, `open-cluster-management-agent` to the agents that join a \
         cluster to its hub: uninstalling an add-on there, or its permissions, can harm what runs beside it. Warns; \
         some agents need such a place.";
} }

rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    warns RESERVED, CreateAndUpdate, own_reserved => "";
    warns IGNORED, CreateAndUpdate, ignored =>
        "An install namespace is not given beside one that wins.\n\n\
         The `agentInstallNamespace` of an AddOnDeploymentConfig wins over `spec.installNamespace`, which is deprecated. \
         Warns when both are given, differ, and the configuration is known. To follow the templates instead, set \
         `agentInstallNamespace` to \"\".";
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
    // The CRD's default stands where no client has written a namespace: it is not taken for written.
    let given = subject.body.install_namespace;
    let Some(given) = given.filter(|text| !text.is_empty() && *text != DEFAULT_INSTALL_NAMESPACE) else {
        return;
    };
    let Some((config, wins)) = agent_install_namespace(subject) else {
        return;
    };
    if wins == given {
        return;
    }
    let detail = format!("ignored: agentInstallNamespace of {config} is {}", quoted(&wins));
    findings.warn(Fault::of_text(Class::Forbidden, given, detail).at(own_path(), IGNORED));
}

/// Returns the deployment configuration that has the word about the namespace, and the namespace that it asks for.
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
    let said = asked_by(facts, &first)?;
    // Where all layers count, the default says nothing: the API server fills it in where the configuration has none.
    let is_said = |namespace: &str| !merges || namespace != DEFAULT_INSTALL_NAMESPACE;
    let lower = || {
        let mut asked = all.filter_map(|one| Some((asked_by(facts, &one)?, one)));
        asked.find(|(namespace, _)| is_said(namespace))
    };
    let (namespace, reference) = if is_said(&said) {
        (said, first)
    } else {
        lower().unwrap_or((said, first))
    };
    let place = format!(
        "{}/{}",
        reference.namespace().unwrap_or_default(),
        reference.name()
    );
    (!namespace.is_empty()).then_some((place, namespace))
}

fn asked_by(facts: &Facts, reference: &ConfigReference) -> Option<String> {
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

/// Returns the configurations of a kind that a cluster inherits, the uppermost layer first.
pub(super) fn inherited(
    facts: &Facts,
    addon: &AddonFacts,
    cluster: &str,
    kind: Kind,
) -> Vec<ConfigReference> {
    let is_config = |reference: &&ConfigReference| is_kind(reference.config(), kind);
    let home = addon
        .placements
        .iter()
        .rfind(|placement| facts.selects(&placement.namespace, &placement.name, cluster));
    let placed = home.into_iter().flat_map(|placement| &placement.configs);
    let placed: Vec<ConfigReference> = placed.filter(is_config).cloned().collect();
    let merges = addon.merges && kind == Kind::DeploymentConfig;
    let hides = !placed.is_empty() && (!merges || placed.iter().any(|one| one.name() == RESERVED_NO_DEFAULT));
    let defaults = addon.defaults.iter().filter(|one| !hides && is_config(one));
    placed.into_iter().chain(defaults.cloned()).collect()
}
