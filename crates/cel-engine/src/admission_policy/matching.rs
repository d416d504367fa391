//! Which requests are meant: resource rules, match policy and label selectors.
//!
//! Decides by the given facts of a request. Where that depends on labels of a namespace that are not known, it says so: nothing
//! may be skipped because of something that was never looked at.

use std::collections::BTreeMap;
use std::fmt;

use kubernetes::labels::Selector;
use serde_json::Value;

use crate::admission_policy::conditions::Target;
use crate::admission_policy::spec::{MatchPolicy, MatchResources, Rule, RuleScope};

/// The label that every namespace has: its name.
pub const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Whether a request is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matched<'a> {
    /// In this version of its resource.
    Yes(&'a str),
    /// It is not.
    No,
    /// That depends on labels of its namespace, which are not known.
    Unknown,
}

/// What is known of the namespace of a request.
#[derive(Clone, Copy)]
pub enum Namespace<'a> {
    /// There is none: no selector leaves the request out.
    None,
    /// Its labels.
    Labels(&'a BTreeMap<String, String>),
    /// Its object; the label with its name need not be written.
    Known {
        /// The object; null has no labels.
        object: &'a Value,
        /// Its name.
        name: &'a str,
    },
    /// Its name alone.
    Named(&'a str),
}

/// The other versions in which a resource is served.
#[derive(Clone, Copy, Debug)]
pub enum Versions<'a> {
    /// These.
    Served(&'a [String]),
    /// It is not known which: every version that a rule lists may be one.
    Unknown,
}

/// A request, as far as it decides what is meant.
#[derive(Clone, Copy)]
pub struct MatchAttributes<'a> {
    /// What is done to which object.
    pub target: Target<'a>,
    /// The object as it would be stored.
    pub object: Option<&'a Value>,
    /// The object as it is stored.
    pub old_object: Option<&'a Value>,
    /// Its namespace.
    pub namespace: Namespace<'a>,
    /// The other versions of its resource.
    pub versions: Versions<'a>,
}

impl<'a> MatchAttributes<'a> {
    /// Tells whether the object before or after the change has the labels. An absent object has none to be selected by.
    pub fn has_labels(&self, selector: &Selector) -> bool {
        selector.is_everything()
            || [self.object, self.old_object]
                .into_iter()
                .flatten()
                .any(|object| selector.matches_object(object))
    }

    /// Tells whether the namespace has the labels; `None` where they are not known.
    pub fn namespace_has_labels(&self, selector: &Selector) -> Option<bool> {
        if selector.is_everything() {
            return Some(true);
        }
        match self.namespace {
            Namespace::None => Some(true),
            Namespace::Labels(labels) => Some(selector.matches_map(labels)),
            Namespace::Known { object, name } => {
                Some(selector.matches(|key| label(object, key).or_else(|| name_label(key, name))))
            }
            Namespace::Named(_) if reads_more_than_the_name(selector) => None,
            Namespace::Named(name) => Some(selector.matches(|key| name_label(key, name))),
        }
    }

    /// Returns the version in which rules mean the request: its own, before any other.
    pub fn version(&self, rules: &'a [Rule], policy: MatchPolicy) -> Option<&'a str> {
        let target = &self.target;
        if rules
            .iter()
            .any(|rule| rule.means(target) && rule.has_version(target.version))
        {
            return Some(target.version);
        }
        match (policy, self.versions) {
            (MatchPolicy::Exact, _) => None,
            // An object must not slip through because it is written in another version than the author thought of.
            (MatchPolicy::Equivalent, Versions::Unknown) => rules
                .iter()
                .any(|rule| rule.means(target))
                .then_some(target.version),
            (MatchPolicy::Equivalent, Versions::Served(versions)) => rules
                .iter()
                .filter(|rule| rule.means(target))
                .flat_map(|rule| versions.iter().filter(|version| rule.has_version(version)))
                .map(String::as_str)
                .find(|version| *version != target.version),
        }
    }
}

fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("labels")?.get(key)?.as_str()
}

fn name_label<'a>(key: &str, name: &'a str) -> Option<&'a str> {
    (key == NAME_LABEL && !name.is_empty()).then_some(name)
}

fn reads_more_than_the_name(selector: &Selector) -> bool {
    selector.requirements.iter().any(|one| one.key != NAME_LABEL)
}

impl MatchResources {
    /// Tells whether a request is meant. Where there is no rule every request is.
    pub fn matches<'a>(&'a self, subject: &MatchAttributes<'a>) -> Matched<'a> {
        let policy = self.match_policy.unwrap_or(MatchPolicy::Equivalent);
        if !subject.has_labels(&self.object_selector)
            || subject.version(&self.exclude_resource_rules, policy).is_some()
        {
            return Matched::No;
        }
        let version = if self.resource_rules.is_empty() {
            Some(subject.target.version)
        } else {
            subject.version(&self.resource_rules, policy)
        };
        match (version, subject.namespace_has_labels(&self.namespace_selector)) {
            (None, _) | (_, Some(false)) => Matched::No,
            (Some(_), None) => Matched::Unknown,
            (Some(version), Some(true)) => Matched::Yes(version),
        }
    }

    /// Tells whether labels of the namespace count, other than the one with its name.
    pub fn reads_namespace(&self) -> bool {
        reads_more_than_the_name(&self.namespace_selector)
    }

    /// Tells whether labels of the object count.
    pub fn reads_labels(&self) -> bool {
        !self.object_selector.is_everything()
    }
}

impl Rule {
    /// Tells whether the rule means what is done, in whatever version.
    fn means(&self, target: &Target<'_>) -> bool {
        listed(&self.operations, target.operation)
            && listed(&self.api_groups, target.group)
            && self
                .resources
                .iter()
                .any(|resource| is_resource(resource, target))
            && (self.resource_names.is_empty() || self.resource_names.iter().any(|name| name == target.name))
            && match self.scope {
                RuleScope::All => true,
                RuleScope::Namespaced => !target.namespace.is_empty(),
                RuleScope::Cluster => target.namespace.is_empty(),
            }
    }

    fn has_version(&self, version: &str) -> bool {
        listed(&self.api_versions, version)
    }
}

fn listed(list: &[String], item: &str) -> bool {
    list.iter().any(|entry| entry == "*" || entry == item)
}

fn is_resource(resource: &str, target: &Target<'_>) -> bool {
    names_resource(resource, target.resource, target.subresource)
}

/// Tells whether an entry of a rule means a resource, by its plural name. `x` means objects without a subresource, `x/y` one
/// subresource, `x/*` the object and every subresource.
pub fn names_resource(resource: &str, plural: &str, subresource: &str) -> bool {
    let (name, part) = resource.split_once('/').unwrap_or((resource, ""));
    (name == "*" || name == plural) && (part == "*" || part == subresource)
}

impl fmt::Debug for Namespace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Labels(_) => "Labels",
            Self::Known { .. } => "Known",
            Self::Named(_) => "Named",
        })
    }
}

impl fmt::Debug for MatchAttributes<'_> {
    // Never the objects: they do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchAttributes")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    const TARGET: Target<'static> = Target {
        operation: "CREATE",
        group: "g",
        version: "v1",
        resource: "things",
        subresource: "",
        namespace: "a",
        name: "one",
    };

    fn subject<'a>(namespace: Namespace<'a>, versions: Versions<'a>) -> MatchAttributes<'a> {
        MatchAttributes {
            target: TARGET,
            object: None,
            old_object: None,
            namespace,
            versions,
        }
    }

    fn resources(raw: &Value) -> MatchResources {
        MatchResources::deserialize(raw).expect("it is readable")
    }

    fn rule() -> Value {
        json!({"apiGroups": ["g"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]})
    }

    #[test]
    fn rules_name_what_is_meant() {
        let rows = [
            ("apiGroups", json!(["*"]), true),
            ("operations", json!(["UPDATE"]), false),
            ("resources", json!(["things/status"]), false),
            ("resources", json!(["things/*"]), true),
            ("resourceNames", json!(["two"]), false),
            ("resourceNames", json!(["one"]), true),
            ("scope", json!("Cluster"), false),
            ("scope", json!("Namespaced"), true),
        ];
        let subject = subject(Namespace::None, Versions::Served(&[]));
        for (name, value, expected) in rows {
            let mut rule = rule();
            rule[name] = value.clone();
            let wanted = if expected { Matched::Yes("v1") } else { Matched::No };
            let raw = json!({ "resourceRules": [rule.clone()] });
            assert_eq!(resources(&raw).matches(&subject), wanted, "{name} {value}");
            // What a rule means is what it excludes.
            let raw = json!({ "excludeResourceRules": [rule] });
            assert_eq!(
                resources(&raw).matches(&subject) == Matched::No,
                expected,
                "{name} {value}"
            );
        }
    }

    #[test]
    fn another_version_is_meant_unless_the_policy_is_exact() {
        let mut rule = rule();
        rule["apiVersions"] = json!(["v3", "v2"]);
        let served = ["v1".to_owned(), "v2".to_owned(), "v3".to_owned()];
        let rows = [
            ("Equivalent", Versions::Served(&served), Matched::Yes("v2")),
            ("Equivalent", Versions::Served(&served[..1]), Matched::No),
            ("Equivalent", Versions::Unknown, Matched::Yes("v1")),
            ("Exact", Versions::Served(&served), Matched::No),
            ("Exact", Versions::Unknown, Matched::No),
        ];
        for (policy, versions, expected) in rows {
            let raw = json!({ "matchPolicy": policy, "resourceRules": [rule] });
            let raw = resources(&raw);
            let subject = subject(Namespace::None, versions);
            assert_eq!(raw.matches(&subject), expected, "{policy} {versions:?}");
        }
    }

    #[test]
    fn a_namespace_with_unknown_labels_is_not_left_out() {
        let by_team = resources(&json!({"namespaceSelector": {"matchLabels": {"team": "x"}}}));
        let by_name = resources(&json!({"namespaceSelector": {"matchLabels": {NAME_LABEL: "a"}}}));
        let object = json!({"metadata": {"labels": {"team": "x"}}});
        let labels = BTreeMap::from([("team".to_owned(), "x".to_owned())]);
        let known = Namespace::Known {
            object: &object,
            name: "a",
        };
        let rows = [
            (&by_team, Namespace::None, Matched::Yes("v1")),
            (&by_team, known, Matched::Yes("v1")),
            (&by_team, Namespace::Labels(&labels), Matched::Yes("v1")),
            (&by_team, Namespace::Named("a"), Matched::Unknown),
            (&by_name, Namespace::Named("a"), Matched::Yes("v1")),
            (&by_name, Namespace::Named("b"), Matched::No),
            (&by_name, known, Matched::Yes("v1")),
            (&by_name, Namespace::Labels(&labels), Matched::No),
        ];
        for (index, (resources, namespace, expected)) in rows.into_iter().enumerate() {
            let subject = subject(namespace, Versions::Unknown);
            assert_eq!(resources.matches(&subject), expected, "row {index}");
        }
    }

    #[test]
    fn labels_before_or_after_the_change_select_an_object() {
        let raw = resources(&json!({"objectSelector": {"matchLabels": {"team": "x"}}}));
        let (with, without) = (json!({"metadata": {"labels": {"team": "x"}}}), json!({}));
        let rows = [
            (Some(&with), Some(&without), true),
            (Some(&without), Some(&with), true),
            (Some(&without), None, false),
            (None, None, false),
        ];
        for (object, old_object, expected) in rows {
            let subject = MatchAttributes {
                object,
                old_object,
                ..subject(Namespace::None, Versions::Unknown)
            };
            assert_eq!(
                raw.matches(&subject) != Matched::No,
                expected,
                "{object:?} {old_object:?}"
            );
        }
    }
}
