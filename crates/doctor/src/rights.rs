//! The rights that Tidegate needs, as single questions.
//!
//! Decides how the rules of a role become questions, one a verb. Never decides who has them.

use serde_json::Value;

/// One right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource (plural).
    pub resource: String,
    /// The subresource; empty where there is none.
    pub subresource: String,
    /// The verb.
    pub verb: String,
    /// The namespace; empty for all of them.
    pub namespace: String,
    /// The name; empty for all of them.
    pub name: String,
}

impl Right {
    /// Returns the words with which `kubectl auth can-i` asks for it.
    pub fn words(&self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        let name = if self.name.is_empty() {
            String::new()
        } else {
            format!("/{}", self.name)
        };
        let sub = if self.subresource.is_empty() {
            String::new()
        } else {
            format!(" --subresource={}", self.subresource)
        };
        let place = if self.namespace.is_empty() {
            " -A".to_owned()
        } else {
            format!(" -n {}", self.namespace)
        };
        format!(
            "{} {}{dot}{}{name}{sub}{place}",
            self.verb, self.resource, self.group
        )
    }
}

/// Whether a right is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The right.
    pub right: Right,
    /// Whether it is; or why that could not be asked.
    pub allowed: Result<bool, String>,
}

/// Returns the rights that the roles among some documents give, each once: a `ClusterRole` everywhere, a `Role` in its namespace.
pub fn rights_of(documents: &[Value]) -> Vec<Right> {
    let mut all = Vec::new();
    for document in documents {
        let text = |at: &str| document.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let namespace = match text("/kind") {
            "ClusterRole" => String::new(),
            "Role" => text("/metadata/namespace").to_owned(),
            _ => continue,
        };
        let rules = document.get("rules").and_then(Value::as_array);
        for rule in rules.into_iter().flatten() {
            all.extend(rights_of_rule(rule, &namespace));
        }
    }
    all.sort();
    all.dedup();
    all
}

fn rights_of_rule(rule: &Value, namespace: &str) -> Vec<Right> {
    let words = |field: &str| -> Vec<String> {
        let list = rule.get(field).and_then(Value::as_array);
        let texts = list.into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    };
    let names = match words("resourceNames") {
        names if names.is_empty() => vec![String::new()],
        names => names,
    };
    let mut all = Vec::new();
    for group in words("apiGroups") {
        for resource in words("resources") {
            let (plural, sub) = resource.split_once('/').unwrap_or((&resource, ""));
            for verb in words("verbs") {
                all.extend(names.iter().map(|name| Right {
                    group: group.clone(),
                    resource: plural.to_owned(),
                    subresource: sub.to_owned(),
                    verb: verb.clone(),
                    namespace: namespace.to_owned(),
                    name: name.clone(),
                }));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_verb_of_every_rule_is_one_question() {
        let documents = [
            json!({"kind": "ServiceAccount", "metadata": {"name": "a"}}),
            json!({"kind": "ClusterRole", "rules": [
                {"apiGroups": ["a.example", ""], "resources": ["things", "things/status"], "verbs": ["get", "patch"]},
                {"apiGroups": ["a.example"], "resources": ["things"], "verbs": ["get"]}]}),
            json!({"kind": "Role", "metadata": {"namespace": "here"}, "rules": [
                {"apiGroups": ["c.example"], "resources": ["leases"], "resourceNames": ["one", "two"], "verbs": ["update"]}]}),
        ];
        let words: Vec<String> = rights_of(&documents).iter().map(Right::words).collect();
        assert_eq!(
            words,
            [
                "get things -A",
                "patch things -A",
                "get things --subresource=status -A",
                "patch things --subresource=status -A",
                "get things.a.example -A",
                "patch things.a.example -A",
                "get things.a.example --subresource=status -A",
                "patch things.a.example --subresource=status -A",
                "update leases.c.example/one -n here",
                "update leases.c.example/two -n here",
            ]
        );
    }
}
