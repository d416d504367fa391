//! Rules about the variables in a template's manifests.
//!
//! Decides which texts cannot be filled in, and which variables no configuration gives a value.

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
/// What every manifest may use.
pub(super) const BUILT_IN: [&str; 2] = ["CLUSTER_NAME", "INSTALL_NAMESPACE"];
/// What the manifests of an agent may use that registers with the hub.
pub(super) const KUBECONFIG: &str = "HUB_KUBECONFIG";

rules! { pub(in crate::rules) RULES of Template {
    refuses UNCLOSED, CreateAndUpdate, unclosed =>
        "Braces that open are closed.\n\n\
         `{{` without `}}` in one text of a manifest cannot be filled in. Other add-on managers end on it, and with \
         them every add-on of the hub. Refused, at the text.";
    refuses BLANKS, CreateAndUpdate, blanks =>
        "A variable is written without blanks.\n\n\
         `{{CLUSTER_NAME}}`: with blanks around the name it is no variable, and other add-on managers put nothing in \
         its place. Refused for the names that every template has; any other text with blanks may belong to the \
         templates of another program.";
    warns UNKNOWN, CreateAndUpdate, unknown =>
        "Every variable has a value.\n\n\
         `CLUSTER_NAME` and `INSTALL_NAMESPACE` always have one, `HUB_KUBECONFIG` when the template has a \
         `registration`; all others come from the `customizedVariables` of an AddOnDeploymentConfig. A manifest with a \
         variable that no configuration of the hub has cannot be rendered. Warns once for each name, with the \
         nearest one, as soon as the add-on of the template is known; when a ClusterManagementAddOn refers to a template with such \
         variables; when a ManagedClusterAddOn brings a template to a cluster whose configurations leave variables of it without \
         a value; and when an AddOnDeploymentConfig loses a variable that the template of a cluster needs which runs with it. \
         The last three name all of the variables.";
    refuses OF_CLUSTER, CreateAndUpdate, of_cluster =>
        "A variable of the cluster names what the cluster says.\n\n\
         `{{CLUSTER_LABEL:region}}`, `{{CLUSTER_CLAIM:id.k8s.io}}` and `{{CLUSTER_ANNOTATION:example.com/owner}}`: a label, a claim or \
         an annotation by its key, with `:-` and a text that counts where the cluster says nothing. Without blanks, and with no \
         braces within. Anything else that begins like one can be filled in on no cluster. Refused, with both forms.";
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

/// Shows every variable in the manifests of a template.
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
                let fault = Fault::of_text(Class::Invalid, text, "has \"{{\" that is never closed");
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
            // One text is told once for each name: its place says where to look.
            if is_ours && names.insert(name) {
                let fault =
                    Fault::of_text(Class::Invalid, text, "blanks around the name make it no variable");
                let hint = format!("write {{{{{name}}}}}");
                findings.deny(fault.hint(hint).at(trail.path(), BLANKS));
            }
        });
    });
}

fn of_cluster(subject: &Subject<'_, Template>, findings: &mut Findings) {
    each(subject, |text, trail| {
        let mut told = BTreeSet::new();
        each_tag(text, |tag| {
            let Tag::BadCluster(inside, why) = tag else { return };
            if told.insert(inside) {
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

/// Returns the variables that a template may use because they are built-in, or because some configuration of the hub gives them a value.
pub(super) fn known<'f, K: subject::Kind>(subject: &Subject<'f, K>, registers: bool) -> BTreeSet<&'f str> {
    let mut known: BTreeSet<&str> = BTreeSet::from(BUILT_IN);
    known.extend(registers.then_some(KUBECONFIG));
    for (_, presence) in subject.facts.configs.iter() {
        let ConfigPresence::Exists(config) = presence else {
            continue;
        };
        if let Some(Content::Deployment(config)) = config.content.as_deref() {
            let names = config.variables.iter().map(|(name, _)| &**name);
            // They are the fleet's, not the object's: they cost no steps, but there may be no more time.
            known.extend(names.take_while(|_| subject.effort.spend(0)));
        }
    }
    known
}
