//! Rules about the node placement of an AddOnDeploymentConfig.
//!
//! Refuses node selectors and tolerations that the API server of a managed cluster would reject in a pod.

use crate::body::Node;
use crate::step_budget::StepBudget;
use crate::subject::{DeploymentConfig, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, listed, nearest, quoted};
use model::{is_label_key, is_label_value};

const NODES: &str = "deployment-config/node-placement";
const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "PreferNoSchedule"];
const OPERATORS: [&str; 4] = ["Equal", "Exists", "Gt", "Lt"];

rules! { pub(in crate::rules) RULES of DeploymentConfig {
    refuses NODES, CreateAndUpdate, nodes =>
        "`nodePlacement` has a valid node selector and valid tolerations.\n\n\
         The controllers copy `spec.nodePlacement` into the pods of the agent. The API server of the managed cluster rejects \
         pods with invalid values, so the agent could not be installed or updated. Keys and values of `nodeSelector` must be \
         label keys and values. A toleration without a `key` needs the operator `Exists`, which allows no `value`. An \
         `effect` is `NoSchedule`, `PreferNoSchedule` or `NoExecute`; an empty one matches all effects. `tolerationSeconds` \
         needs the effect `NoExecute`. Refused.";
} }

fn nodes(subject: &Subject<'_, DeploymentConfig>, findings: &mut Findings) {
    let Some(placement) = subject.body.key("nodePlacement") else {
        return;
    };
    if let Some(selector) = placement.key("nodeSelector") {
        for (key, node) in selector.entries(subject.effort) {
            check_label(key, &node, findings);
        }
    }
    for toleration in placement.list("tolerations").each(subject.effort) {
        check_toleration(toleration, subject.effort, findings);
    }
}

fn check_label(key: &str, node: &Node<'_>, findings: &mut Findings) {
    if !is_label_key(key) {
        let fault = Fault::of_text(Class::Invalid, key, "must be a valid label key");
        findings.deny(fault.at(node.path.clone(), NODES));
    }
    // The schema reports a value that is not a string.
    let Some(value) = node.value.as_str() else { return };
    if !is_label_value(value) {
        let fault = Fault::of_text(Class::Invalid, value, "must be a valid label value");
        findings.deny(fault.at(node.path.clone(), NODES));
    }
}

fn check_toleration(toleration: &Node<'_>, effort: &StepBudget<'_>, findings: &mut Findings) {
    let given = |field: &str| toleration.text(field).filter(|text| !text.is_empty());
    let (key, operator) = (given("key"), given("operator").unwrap_or("Equal"));
    let mut deny = |field: &'static str, fault: Fault| {
        findings.deny(fault.at(toleration.path.key(field), NODES));
    };
    if !OPERATORS.contains(&operator) {
        deny("operator", one_of(operator, &OPERATORS, effort));
    } else if key.is_none() && operator != "Exists" {
        let fault = Fault::bare(Class::Required, "must be \"Exists\" if there is no key");
        deny("operator", fault.hint("set key to the key of a taint"));
    }
    if let Some(key) = key.filter(|key| !is_label_key(key)) {
        deny(
            "key",
            Fault::of_text(Class::Invalid, key, "must be the key of a taint"),
        );
    }
    if let Some(value) = given("value") {
        if operator == "Exists" {
            let detail = "must be empty if operator is \"Exists\"";
            deny("value", Fault::of_text(Class::Invalid, value, detail));
        } else if !is_label_value(value) {
            deny(
                "value",
                Fault::of_text(Class::Invalid, value, "must be the value of a taint"),
            );
        }
    }
    let effect = given("effect");
    if let Some(effect) = effect.filter(|effect| !EFFECTS.contains(effect)) {
        deny("effect", one_of(effect, &EFFECTS, effort));
    } else if toleration.key("tolerationSeconds").is_some() && effect != Some("NoExecute") {
        let fault = Fault::bare(Class::Forbidden, "must not be set unless effect is \"NoExecute\"");
        deny("tolerationSeconds", fault);
    }
}

fn one_of(text: &str, legal: &[&str], effort: &StepBudget<'_>) -> Fault {
    let near = effort.hint(|| nearest(text, legal.iter().copied()));
    let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
    let detail = format!("must be one of {}", listed(legal.iter().copied()));
    Fault::of_text(Class::NotSupported, text, detail).hint_if(hint)
}
