//! Resources of containers: which rule of a deployment configuration is for which container.
//!
//! A rule names containers as `<resource>:<name>:<container>`; `*` stands for anything, and each part is a regular
//! expression. The last rule that matches wins and replaces the container's resources as a whole.

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::pod::{Object, containers};
use crate::render::fault::RenderFault;
use crate::render::object::text;
use crate::size_budget::{SizeBudget, size};
use store::Name;

/// Largest compiled expression in bytes: a rule is one line, not a program.
const LARGEST: usize = 1 << 20;
/// Most expressions stay below this size, and so many of a configuration may exceed it.
const USUAL: usize = 1 << 16;
const MOST_LARGE: usize = 16;

/// The rules of a deployment configuration, in order.
#[derive(Debug)]
pub(super) struct Rules(Vec<(Regex, Value)>);

impl Rules {
    /// Reads the rules.
    pub(super) fn of(rules: &[(Name, Value)]) -> Result<Self, RenderFault> {
        let mut large = 0..MOST_LARGE;
        let mut read =
            |(pattern, resources): &(Name, Value)| Ok((expression(pattern, &mut large)?, resources.clone()));
        rules.iter().map(&mut read).collect::<Result<_, _>>().map(Self)
    }

    /// Applies the rules to the pod of a workload.
    pub(super) fn apply(&self, pod: &mut Object, resource: &str, name: &str, budget: &SizeBudget) {
        for container in containers(pod, "containers") {
            let own = container.get("name").and_then(Value::as_str).unwrap_or_default();
            let id = format!("{resource}:{name}:{own}");
            // Each rule that is tried takes a part of the budget as well: there may be thousands, and thousands of containers.
            let mut tried = self.0.iter().rev().take_while(|_| budget.take(1));
            let last = tried.find(|(pattern, _)| pattern.is_match(&id));
            if let Some((_, resources)) = last.filter(|(_, resources)| budget.take(size(resources))) {
                container.insert("resources".to_owned(), resources.clone());
            }
        }
    }
}

fn expression(pattern: &str, large: &mut std::ops::Range<usize>) -> Result<Regex, RenderFault> {
    let fault = |why: String| RenderFault::Container(pattern.to_owned(), why);
    let parts: Vec<&str> = pattern
        .split(':')
        .map(|part| if part == "*" { ".+" } else { part })
        .collect();
    if parts.len() != 3 {
        return Err(fault("must be <resource>:<name>:<container>".to_owned()));
    }
    let whole = format!("^(?:{})$", parts.join(":"));
    let compiled = |largest| RegexBuilder::new(&whole).size_limit(largest).build();
    let expression = match compiled(USUAL) {
        Err(regex::Error::CompiledTooBig(_)) if large.next().is_some() => compiled(LARGEST),
        usual => usual,
    };
    expression.map_err(|error| fault(last_line(&error.to_string())))
}

/// The error draws the expression over several lines; a condition has one.
fn last_line(error: &str) -> String {
    let line = error.lines().next_back().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}

/// Returns the name of a workload.
pub(super) fn name_of(manifest: &Value) -> String {
    text(manifest, "/metadata/name").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn chosen(patterns: &[&str]) -> String {
        let rules: Vec<(Name, Value)> = patterns
            .iter()
            .map(|pattern| ((*pattern).into(), json!({"rule": pattern})))
            .collect();
        let pod = json!({"containers": [{"name": "main", "resources": {"own": ""}}]});
        let mut pod = pod.as_object().unwrap().clone();
        Rules::of(&rules)
            .unwrap()
            .apply(&mut pod, "deployments", "agent", &SizeBudget::default());
        let rule = &pod["containers"][0]["resources"]["rule"];
        rule.as_str().unwrap_or("own").to_owned()
    }

    #[test]
    fn the_last_rule_that_matches_wins() {
        let rows: [(&[&str], &str); 7] = [
            (&[], "own"),
            (&["deployments:agent:main"], "deployments:agent:main"),
            (&["*:*:*"], "*:*:*"),
            (&["deployments:agent:main", "*:*:*"], "*:*:*"),
            (&["*:*:*", "daemonsets:agent:main"], "*:*:*"),
            (&["deployments:ag.*:main"], "deployments:ag.*:main"),
            (&["deployments:age:main", "deployments:agent:mai"], "own"),
        ];
        for (patterns, expected) in rows {
            assert_eq!(chosen(patterns), expected, "{patterns:?}");
        }
    }

    #[test]
    fn a_rule_that_cannot_be_read_is_a_fault() {
        let fault = |pattern: &str| Rules::of(&[(pattern.into(), json!({}))]).unwrap_err().to_string();
        let begin = "resourceRequirements: containerID ";
        assert_eq!(
            fault("deployments:x"),
            format!("{begin}\"deployments:x\": must be <resource>:<name>:<container>")
        );
        assert_eq!(
            fault("deployments:(:x"),
            format!("{begin}\"deployments:(:x\": unclosed group")
        );
        assert!(fault("deployments:(a{1000}){1000}:x").contains("size limit"));
    }
}
