//! Rules about the variables in the manifests of a template: strings that cannot be rendered, and variables without a value.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::text::{Tag, Trail, each_tag, each_text};
use crate::step_budget::StepBudget;
use crate::subject::{self, Subject, Template, rules};
use kubernetes::field::{Class, Fault, Findings, Path, nearest, quoted};
use store::{ConfigPresence, Content, Kind};

const OF_CLUSTER: &str = "template/cluster-variable";
const UNCLOSED: &str = "template/unclosed-braces";
const BLANKS: &str = "template/variable-blanks";
pub(in crate::rules) const UNKNOWN: &str = "template/unknown-variable";
/// The variables that every manifest can use.
pub(super) const BUILT_IN: [&str; 2] = ["CLUSTER_NAME", "INSTALL_NAMESPACE"];
/// The variable that only a template with a registration can use.
pub(super) const KUBECONFIG: &str = "HUB_KUBECONFIG";

rules! { pub(in crate::rules) RULES of Template {
    refuses UNCLOSED, CreateAndUpdate, unclosed =>
        "Every `{{` in a manifest is closed.\n\n\
         Text that contains `{{` without `}}` cannot be rendered. Other add-on managers crash on it, and with them every \
         add-on of the hub stops. Refused. Add `}}`.";
    refuses BLANKS, CreateAndUpdate, blanks =>
        "A variable has no spaces inside its braces.\n\n\
         Write `{{CLUSTER_NAME}}`. With spaces around the name it is not a variable, and other add-on managers replace \
         it with an empty string. Refused for the built-in variables; any other text with spaces may be part of a template of \
         another program.";
    warns UNKNOWN, CreateAndUpdate, unknown =>
        "Every variable has a value.\n\n\
         `CLUSTER_NAME` and `INSTALL_NAMESPACE` always have a value, `HUB_KUBECONFIG` has one if the template has a \
         `registration`, and all others come from `customizedVariables` of an AddOnDeploymentConfig. A manifest with a \
         variable that has no value cannot be rendered. Warns once for each variable of a template that no \
         configuration on the hub has, with the closest name, if the add-on exists. Warns also at a \
         ClusterManagementAddOn that refers to such a template, at a ManagedClusterAddOn whose configurations give no \
         value to variables of its template, and at an AddOnDeploymentConfig that loses a variable that a cluster \
         needs. Set the variable in an AddOnDeploymentConfig, or correct its name.";
    refuses OF_CLUSTER, CreateAndUpdate, of_cluster =>
        "A cluster variable names a label, a claim or an annotation.\n\n\
         Write `{{CLUSTER_LABEL:region}}`, `{{CLUSTER_CLAIM:id.k8s.io}}` or `{{CLUSTER_ANNOTATION:example.com/owner}}`: \
         the key of a label, a claim or an annotation of the ManagedCluster, optionally with `:-` and a default for \
         clusters that do not have it. Spaces and braces inside are not allowed. No other form can be rendered on any \
         cluster. Refused; the message shows the correct form.";
} }

fn each(subject: &Subject<'_, Template>, mut see: impl FnMut(&str, &Trail<'_>)) {
    for manifest in subject.body.manifests.each(subject.effort) {
        each_text(
            manifest.value,
            Trail::Root(&manifest.path),
            subject.effort,
            &mut see,
        );
    }
}

/// Calls `see` for every variable in the manifests of a template.
pub(in crate::rules) fn each_variable(agent: &Value, effort: &StepBudget<'_>, mut see: impl FnMut(&str)) {
    let root = Path::root();
    each_text(agent, Trail::Root(&root), effort, &mut |text, _| {
        each_tag(text, |tag| {
            if let Tag::Variable(name) = tag {
                see(name);
            }
        });
    });
}

fn unclosed(subject: &Subject<'_, Template>, findings: &mut Findings) {
    each(subject, |text, trail| {
        each_tag(text, |tag| {
            if tag == Tag::Unclosed {
                let fault = Fault::of_text(Class::Invalid, text, "has \"{{\" without \"}}\"");
                findings.deny(fault.hint("add \"}}\"").at(trail.path(), UNCLOSED));
            }
        });
    });
}

fn blanks(subject: &Subject<'_, Template>, findings: &mut Findings) {
    each(subject, |text, trail| {
        let mut names = BTreeSet::new();
        each_tag(text, |tag| {
            let Tag::Blanks(name) = tag else { return };
            let is_ours = BUILT_IN.contains(&name) || name == KUBECONFIG;
            // One finding for each name in a string is enough.
            if is_ours && names.insert(name) {
                let fault = Fault::of_text(
                    Class::Invalid,
                    text,
                    "with spaces around the name it is not a variable",
                );
                let hint = format!("write {{{{{name}}}}}");
                findings.deny(fault.hint(hint).at(trail.path(), BLANKS));
            }
        });
    });
}

fn of_cluster(subject: &Subject<'_, Template>, findings: &mut Findings) {
    each(subject, |text, trail| {
        let mut reported = BTreeSet::new();
        each_tag(text, |tag| {
            let Tag::BadCluster(inside, why) = tag else { return };
            if reported.insert(inside) {
                let fault = Fault::of_text(Class::Invalid, inside, why.to_string());
                findings.deny(fault.at(trail.path(), OF_CLUSTER));
            }
        });
    });
}

fn unknown(subject: &Subject<'_, Template>, findings: &mut Findings) {
    let facts = subject.facts;
    if facts.addon(subject.body.addon).is_none() || !facts.knows(Kind::DeploymentConfig) {
        return;
    }
    let mut used: BTreeMap<String, (usize, Path)> = BTreeMap::new();
    each(subject, |text, trail| {
        each_tag(text, |tag| {
            let Tag::Variable(name) = tag else { return };
            if !BUILT_IN.contains(&name) && !used.contains_key(name) {
                used.insert(name.to_owned(), (used.len(), trail.path()));
            }
        });
    });
    if used.is_empty() || !subject.effort.spend(facts.configs.len()) {
        return;
    }
    let known = known(subject, subject.body.registers);
    let mut used: Vec<(String, (usize, Path))> = used.into_iter().collect();
    used.sort_by_key(|(_, (first, _))| *first);
    for (name, (_, path)) in used {
        if known.contains(name.as_str()) {
            continue;
        }
        let detail = if name == KUBECONFIG {
            "only a template with a registration has this variable"
        } else {
            "no AddOnDeploymentConfig gives this variable a value"
        };
        let near = subject.effort.hint(|| nearest(&name, known.iter().copied()));
        let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
        findings.warn(
            Fault::of_text(Class::NotFound, &name, detail)
                .hint_if(hint)
                .at(path, UNKNOWN),
        );
    }
}

/// Returns the variables that are built-in or have a value in a configuration of the hub.
pub(super) fn known<'f, K: subject::Kind>(subject: &Subject<'f, K>, registers: bool) -> BTreeSet<&'f str> {
    let mut known: BTreeSet<&str> = BTreeSet::from(BUILT_IN);
    known.extend(registers.then_some(KUBECONFIG));
    for (_, presence) in subject.facts.configs.iter() {
        let ConfigPresence::Exists(config) = presence else {
            continue;
        };
        if let Some(Content::Deployment(config)) = config.content.as_deref() {
            let names = config.variables.iter().map(|(name, _)| &**name);
            // They belong to the fleet and not to the object, so they cost no steps; this only checks the time limit.
            known.extend(names.take_while(|_| subject.effort.spend(0)));
        }
    }
    known
}
