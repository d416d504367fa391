//! One rule of a role.
//!
//! Decides what a rule allows, what it covers of another one, and how it is written in refusals.

use serde_json::{Map, Value, json};

use super::question::{About, Question, ResourceAttributes};
use kubernetes::print::quote;

const ALL: &str = "*";

/// A rule, as stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rule {
    /// Verbs.
    pub(crate) verbs: Vec<String>,
    /// API groups; the empty text is the core group.
    pub(crate) groups: Vec<String>,
    /// Resources, with their parts behind a slash.
    pub(crate) resources: Vec<String>,
    /// Names of objects; none means all.
    pub(crate) names: Vec<String>,
    /// Paths that are no resources.
    pub(crate) urls: Vec<String>,
}

impl Rule {
    /// Reads a rule out of a role.
    pub(crate) fn read(rule: &Value) -> Self {
        let list = |member: &str| -> Vec<String> {
            let texts = rule.get(member).and_then(Value::as_array).into_iter().flatten();
            texts.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            verbs: list("verbs"),
            groups: list("apiGroups"),
            resources: list("resources"),
            names: list("resourceNames"),
            urls: list("nonResourceURLs"),
        }
    }

    /// Returns a rule that allows everything.
    pub(super) fn everything() -> [Self; 2] {
        let all = || vec![ALL.to_owned()];
        let resources = Self {
            verbs: all(),
            groups: all(),
            resources: all(),
            ..Self::default()
        };
        let urls = Self {
            verbs: all(),
            urls: all(),
            ..Self::default()
        };
        [resources, urls]
    }

    /// Tells whether the rule answers a question with yes.
    pub(crate) fn allows(&self, question: &Question) -> bool {
        if !has(&self.verbs, &question.verb) {
            return false;
        }
        match &question.about {
            About::Path(path) => self.urls.iter().any(|url| covers_path(url, path)),
            About::Resource(asked) => {
                has(&self.groups, &asked.group) && self.has_resource(asked) && self.has_name(&asked.name)
            }
        }
    }

    fn has_resource(&self, asked: &ResourceAttributes) -> bool {
        let whole = asked.whole_resource();
        has(&self.resources, &whole)
            || (!asked.subresource.is_empty()
                && self
                    .resources
                    .iter()
                    .any(|resource| resource.strip_prefix("*/") == Some(&asked.subresource)))
    }

    fn has_name(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|known| known == name)
    }

    /// Returns the smallest rules that together are this one.
    pub(super) fn pieces(&self) -> Vec<Self> {
        let one = |text: &String| vec![text.clone()];
        let mut pieces = Vec::new();
        for url in &self.urls {
            pieces.extend(self.verbs.iter().map(|verb| Self {
                verbs: one(verb),
                urls: one(url),
                ..Self::default()
            }));
        }
        for (group, resource) in product(&self.groups, &self.resources) {
            for verb in &self.verbs {
                let piece = Self {
                    verbs: one(verb),
                    groups: one(group),
                    resources: one(resource),
                    ..Self::default()
                };
                if self.names.is_empty() {
                    pieces.push(piece);
                    continue;
                }
                pieces.extend(self.names.iter().map(|name| Self {
                    names: one(name),
                    ..piece.clone()
                }));
            }
        }
        pieces
    }

    /// Tells whether this rule allows everything that a piece of another one allows.
    pub(super) fn covers(&self, piece: &Self) -> bool {
        let within = |own: &[String], other: &[String]| other.iter().all(|text| has(own, text));
        let resource_covered = |resource: &String| {
            has(&self.resources, resource)
                || resource
                    .split_once('/')
                    .is_some_and(|(_, part)| self.resources.contains(&format!("*/{part}")))
        };
        let url_covered = |url: &String| self.urls.iter().any(|own| covers_path(own, url));
        let names_covered = match (self.names.as_slice(), piece.names.as_slice()) {
            ([], _) => true,
            (_, []) => false,
            (own, other) => other.iter().all(|name| own.contains(name)),
        };
        within(&self.verbs, &piece.verbs)
            && within(&self.groups, &piece.groups)
            && piece.resources.iter().all(resource_covered)
            && piece.urls.iter().all(url_covered)
            && names_covered
    }

    /// Returns the rule as refusals quote it.
    pub(super) fn quoted(&self) -> String {
        let members = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.urls),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ];
        let written: Vec<String> = members
            .iter()
            .filter(|(_, list)| !list.is_empty())
            .map(|(name, list)| format!("{name}:{}", quoted_list(list)))
            .collect();
        format!("{{{}}}", written.join(", "))
    }

    /// Returns the rule as an answer to "what may I do" shows it.
    pub(crate) fn shown(&self) -> Value {
        let mut members = Map::new();
        members.insert("verbs".to_owned(), json!(self.verbs));
        let mut put = |name: &str, list: &Vec<String>| {
            if !list.is_empty() {
                members.insert(name.to_owned(), json!(list));
            }
        };
        put("apiGroups", &self.groups);
        put("resources", &self.resources);
        put("resourceNames", &self.names);
        put("nonResourceURLs", &self.urls);
        Value::Object(members)
    }
}

/// Returns a list of texts as Go prints it with quotes.
pub(super) fn quoted_list(list: &[String]) -> String {
    let quoted: Vec<String> = list.iter().map(|text| quote(text)).collect();
    format!("[{}]", quoted.join(" "))
}

/// Joins pieces of the same resource that differ in the verb only; other pieces stay as they are.
pub(super) fn joined(pieces: Vec<Rule>) -> Vec<Rule> {
    let mut joined: Vec<Rule> = Vec::new();
    for mut piece in pieces {
        let same = joined.iter_mut().find(|other| {
            piece.urls.is_empty()
                && (&other.groups, &other.resources, &other.names, &other.urls)
                    == (&piece.groups, &piece.resources, &piece.names, &piece.urls)
        });
        match same {
            Some(other) => other.verbs.append(&mut piece.verbs),
            None => joined.push(piece),
        }
    }
    joined
}

fn product<'a>(groups: &'a [String], resources: &'a [String]) -> Vec<(&'a String, &'a String)> {
    groups
        .iter()
        .flat_map(|group| resources.iter().map(move |resource| (group, resource)))
        .collect()
}

fn has(list: &[String], text: &str) -> bool {
    list.iter().any(|known| known == ALL || known == text)
}

/// A path ending in a star stands for everything that begins so.
fn covers_path(own: &str, path: &str) -> bool {
    own == ALL
        || own == path
        || own
            .strip_suffix('*')
            .is_some_and(|start| path.trim_end_matches('*').starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(value: &Value) -> Rule {
        Rule::read(value)
    }

    fn asks(verb: &str, group: &str, resource: &str, name: &str) -> Question {
        let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
        Question {
            verb: verb.to_owned(),
            about: About::Resource(ResourceAttributes {
                group: group.to_owned(),
                resource: resource.to_owned(),
                subresource: part.to_owned(),
                namespace: String::new(),
                name: name.to_owned(),
            }),
        }
    }

    #[test]
    fn a_rule_allows_what_all_its_lists_hold() {
        let names = rule(
            &json!({"verbs": ["get"], "apiGroups": ["g"], "resources": ["things", "*/scale"], "resourceNames": ["a"]}),
        );
        let stars = rule(&json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
        for (rule, question, expected) in [
            (&names, asks("get", "g", "things", "a"), true),
            (&names, asks("get", "g", "things", "b"), false),
            (&names, asks("get", "g", "things", ""), false),
            (&names, asks("list", "g", "things", "a"), false),
            (&names, asks("get", "", "things", "a"), false),
            (&names, asks("get", "g", "things/status", "a"), false),
            (&names, asks("get", "g", "others/scale", "a"), true),
            (&names, asks("get", "g", "others", "a"), false),
            (&stars, asks("wipe", "x", "y/z", "a"), true),
        ] {
            assert_eq!(rule.allows(&question), expected, "{question:?}");
        }
    }

    #[test]
    fn paths_end_in_stars() {
        let rule = rule(&json!({"verbs": ["get"], "nonResourceURLs": ["/healthz", "/api/*"]}));
        let path = |path: &str| Question {
            verb: "get".to_owned(),
            about: About::Path(path.to_owned()),
        };
        for (text, expected) in [
            ("/healthz", true),
            ("/healthz/x", false),
            ("/api/v1", true),
            ("/api", false),
            ("/apis", false),
        ] {
            assert_eq!(rule.allows(&path(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_piece_is_covered_by_a_rule_that_allows_at_least_as_much() {
        let piece = |value: Value| rule(&value);
        let own =
            rule(&json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "*/status"]}));
        let named = rule(
            &json!({"verbs": ["*"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]}),
        );
        for (owner, other, expected) in [
            (
                &own,
                piece(json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]})),
                true,
            ),
            (
                &own,
                piece(json!({"verbs": ["get"], "apiGroups": [""], "resources": ["nodes/status"]})),
                true,
            ),
            (
                &own,
                piece(json!({"verbs": ["*"], "apiGroups": [""], "resources": ["pods"]})),
                false,
            ),
            (
                &own,
                piece(json!({"verbs": ["get"], "apiGroups": ["*"], "resources": ["pods"]})),
                false,
            ),
            (
                &named,
                piece(json!({"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]})),
                false,
            ),
            (
                &named,
                piece(
                    json!({"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]}),
                ),
                true,
            ),
        ] {
            assert_eq!(owner.covers(&other), expected, "{other:?}");
        }
        let url = rule(&json!({"verbs": ["get"], "nonResourceURLs": ["/api/*"]}));
        assert!(url.covers(&piece(
            json!({"verbs": ["get"], "nonResourceURLs": ["/api/v1/*"]})
        )));
        assert!(!url.covers(&piece(json!({"verbs": ["get"], "nonResourceURLs": ["*"]}))));
    }

    #[test]
    fn missing_rights_are_joined_by_verb_and_quoted() {
        let wide = rule(&json!({"verbs": ["get", "list"], "apiGroups": ["g"], "resources": ["things"]}));
        let texts: Vec<String> = joined(wide.pieces()).iter().map(Rule::quoted).collect();
        assert_eq!(
            texts,
            [r#"{APIGroups:["g"], Resources:["things"], Verbs:["get" "list"]}"#]
        );
    }
}
