//! Rules about the container resources in an AddOnDeploymentConfig.
//!
//! Refuses quantities that no pod can have, and invalid container ids.

use std::collections::BTreeMap;

use kubernetes::quantity::Quantity;
use regex::{Regex, RegexBuilder};

use crate::body::Node;
use crate::step_budget::StepBudget;
use crate::subject::{DeploymentConfig, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, quoted};
use model::parse_quantity;

const QUANTITY: &str = "deployment-config/quantity";
const CONTAINER_ID: &str = "deployment-config/container-id";
/// Maximum size of a compiled expression in bytes.
const LARGEST: usize = 1 << 20;
/// Most expressions stay below this size.
const USUAL: usize = 1 << 14;
/// Steps for the compilation of an expression of usual size, and of a larger one. A compilation takes as long as many comparisons.
const COMPILATION: usize = 500;
const LARGE_COMPILATION: usize = 40_000;
/// The resources whose containers the controllers change, and `*`.
const DECORATED: [&str; 4] = ["*", "daemonsets", "deployments", "statefulsets"];

rules! { pub(in crate::rules) RULES of DeploymentConfig {
    refuses QUANTITY, CreateAndUpdate, quantity =>
        "Limits and requests in `resourceRequirements` are valid quantities.\n\n\
         The controllers copy the resources into the containers of the agent. The API server of the managed cluster rejects \
         invalid ones, so the agent could not be installed or updated. A quantity is, for example, `100m`, `0.5` or `128Mi`. \
         It must not be negative, and a request must not exceed its limit. Refused.";
    refuses CONTAINER_ID, CreateAndUpdate, container_id =>
        "A `containerID` has the form `resource:name:container`.\n\n\
         An example is `deployments:agent:main`. Each part is a regular expression, or `*`, which matches any text. With any \
         other form the controllers cannot render the manifests of the add-on for any cluster that uses the configuration. \
         Refused. Resources apply only to `deployments`, `daemonsets` and `statefulsets`; a \
         `containerID` with another resource has no effect, and warns.";
} }

fn quantity(subject: &Subject<'_, DeploymentConfig>, findings: &mut Findings) {
    for entry in subject.body.list("resourceRequirements").each(subject.effort) {
        let Some(resources) = entry.key("resources") else {
            continue;
        };
        let limits = amounts(&resources, "limits", subject.effort, findings);
        let requests = amounts(&resources, "requests", subject.effort, findings);
        for (name, (node, request)) in &requests {
            let Some((limit_node, limit)) = limits.get(name) else {
                continue;
            };
            if request > limit {
                let detail = format!("must not exceed its limit of {}", shown(limit_node));
                let fault = Fault::of_text(Class::Invalid, &shown(node), detail);
                findings.deny(fault.at(node.path.clone(), QUANTITY));
            }
        }
    }
}

fn shown(node: &Node<'_>) -> String {
    node.value
        .as_str()
        .map_or_else(|| node.value.to_string(), str::to_owned)
}

fn amounts<'a>(
    resources: &Node<'a>,
    field: &'static str,
    effort: &StepBudget<'_>,
    findings: &mut Findings,
) -> BTreeMap<&'a str, (Node<'a>, Quantity)> {
    let mut read = BTreeMap::new();
    let Some(list) = resources.key(field) else {
        return read;
    };
    for (name, node) in list.entries(effort) {
        // The schema reports a value that is neither a number nor a string.
        let text = match node.value {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Number(number) => number.to_string(),
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Array(_)
            | serde_json::Value::Object(_) => continue,
        };
        match parse_quantity(&text) {
            Ok(amount) if amount.is_negative() => {
                let fault = Fault::of_text(Class::Invalid, &text, "must not be negative");
                findings.deny(fault.at(node.path.clone(), QUANTITY));
            }
            Ok(amount) => drop(read.insert(name, (node, amount))),
            Err(fault) => findings.deny(fault.at(node.path.clone(), QUANTITY)),
        }
    }
    read
}

fn container_id(subject: &Subject<'_, DeploymentConfig>, findings: &mut Findings) {
    for entry in subject.body.list("resourceRequirements").each(subject.effort) {
        let Some(id) = entry.text("containerID").filter(|id| !id.is_empty()) else {
            continue;
        };
        let path = entry.path.key("containerID");
        let parts: Vec<&str> = id.split(':').collect();
        let [resource, _, _] = parts.as_slice() else {
            let detail = "must be resource:name:container, such as \"deployments:agent:main\" or \"*:*:*\"";
            findings.deny(Fault::of_text(Class::Invalid, id, detail).at(path, CONTAINER_ID));
            continue;
        };
        if let Some(why) = parts
            .iter()
            .find_map(|part| wrong_expression(part, subject.effort))
        {
            let detail = format!("each part must be \"*\" or a regular expression: {why}");
            findings.deny(Fault::of_text(Class::Invalid, id, detail).at(path, CONTAINER_ID));
        } else if resource.bytes().all(|byte| byte.is_ascii_lowercase()) && !DECORATED.contains(resource) {
            let detail = format!("has no effect: resources are not set on {}", quoted(resource));
            findings.warn(Fault::of_text(Class::Invalid, id, detail).at(path, CONTAINER_ID));
        }
    }
}

/// Returns whether a part is `*` or a plain name, which is a valid expression and needs no compilation.
fn is_plain(part: &str) -> bool {
    part == "*"
        || part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn wrong_expression(part: &str, effort: &StepBudget<'_>) -> Option<String> {
    if is_plain(part) || !effort.read(part) || !effort.spend(COMPILATION) {
        return None;
    }
    match compiled(part, USUAL) {
        Err(regex::Error::CompiledTooBig(_)) if effort.spend(LARGE_COMPILATION) => {
            compiled(part, LARGEST).err().map(|error| last_line(&error))
        }
        Err(regex::Error::CompiledTooBig(_)) | Ok(_) => None,
        Err(error) => Some(last_line(&error)),
    }
}

fn compiled(part: &str, largest: usize) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&format!("^(?:{part})$"))
        .size_limit(largest)
        .build()
}

/// Returns the last line of an error, because the message of a finding has one line.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next_back().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}
