//! Which requests a policy is about: resource rules and label selectors, as Kubernetes reads them.
//!
//! Decides whether a request matches. Where that depends on labels of a namespace that nobody knows, it says so: a policy
//! must not be skipped because of something that was never looked at.

use apimachinery::labels::Selector;
use serde_json::Value;

use super::fault::PolicyFault;
use super::question::{Question, Target};
use crate::api::LabelSelector;
use crate::api::v1alpha1::{MatchConstraints, ResourceRule};
use crate::field::{Path, quoted, selector_fault};

/// The label that every namespace has.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Whether a policy is about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Matched {
    Yes,
    No,
    /// Nobody knows, and why.
    Unknown(String),
}

/// Resource rules and selectors.
#[derive(Clone, Debug, Default)]
pub(super) struct Matcher {
    /// Every resource when absent.
    rules: Option<Vec<ResourceRule>>,
    excluded: Vec<ResourceRule>,
    namespaces: Selector,
    objects: Selector,
    exact: bool,
}

impl Matcher {
    /// Reads constraints that stand at `path`; a policy needs resource rules, a binding does not.
    pub(super) fn read(
        raw: &MatchConstraints,
        path: &Path,
        needs_rules: bool,
        faults: &mut Vec<PolicyFault>,
    ) -> Self {
        let list = path.key("resourceRules");
        if needs_rules && raw.resource_rules.is_empty() {
            faults.push(PolicyFault::at(list.clone(), "must name at least one resource"));
        }
        check_rules(&raw.resource_rules, &list, faults);
        check_rules(
            &raw.exclude_resource_rules,
            &path.key("excludeResourceRules"),
            faults,
        );
        let mut read = |raw: &Option<LabelSelector>, name: &'static str| {
            raw.as_ref()
                .map(|raw| labels(raw, &path.key(name), faults))
                .unwrap_or_default()
        };
        Self {
            namespaces: read(&raw.namespace_selector, "namespaceSelector"),
            objects: read(&raw.object_selector, "objectSelector"),
            rules: (!raw.resource_rules.is_empty()).then(|| raw.resource_rules.clone()),
            excluded: raw.exclude_resource_rules.clone(),
            exact: raw.match_policy == "Exact",
        }
    }

    /// Tells whether labels of the namespace count, other than the one with its name.
    pub(super) fn asks_for_namespace(&self) -> bool {
        self.namespaces
            .requirements
            .iter()
            .any(|one| one.key != NAME_LABEL)
    }

    /// Tells whether labels of the object count.
    pub(super) fn asks_for_labels(&self) -> bool {
        !self.objects.is_everything()
    }

    /// Tells whether a request matches.
    pub(super) fn matches(&self, question: &Question<'_>) -> Matched {
        let target = &question.target;
        let listed = |rules: &[ResourceRule]| rules.iter().any(|rule| self.rule_matches(rule, target));
        if self.excluded.iter().any(|rule| self.rule_matches(rule, target))
            || self.rules.as_deref().is_some_and(|rules| !listed(rules))
            || !self.object_matches(question)
        {
            return Matched::No;
        }
        self.namespace_matches(question)
    }

    fn object_matches(&self, question: &Question<'_>) -> bool {
        self.objects.is_everything()
            || [question.object, question.old]
                .into_iter()
                .flatten()
                .any(|object| self.objects.matches_object(object))
    }

    fn namespace_matches(&self, question: &Question<'_>) -> Matched {
        let name = question.target.namespace;
        if self.namespaces.is_everything() || name.is_empty() {
            return Matched::Yes;
        }
        let known_by_name = self
            .namespaces
            .requirements
            .iter()
            .all(|one| one.key == NAME_LABEL);
        let selected = match question.namespace {
            Some(namespace) => self
                .namespaces
                .matches(|key| label(namespace, key).or_else(|| (key == NAME_LABEL).then_some(name))),
            None if known_by_name => self.namespaces.matches(|key| (key == NAME_LABEL).then_some(name)),
            None => {
                return Matched::Unknown(format!("the labels of namespace {} are not known", quoted(name)));
            }
        };
        if selected { Matched::Yes } else { Matched::No }
    }

    /// A version that is not listed matches as well, unless the policy asks for exact versions: an object must not slip
    /// through because it is written in another version than the author thought of.
    fn rule_matches(&self, rule: &ResourceRule, target: &Target<'_>) -> bool {
        listed(&rule.operations, target.operation)
            && listed(&rule.api_groups, target.group)
            && (!self.exact || listed(&rule.api_versions, target.version))
            && rule
                .resources
                .iter()
                .any(|resource| resource_matches(resource, target))
            && (rule.resource_names.is_empty() || rule.resource_names.iter().any(|name| name == target.name))
            && match rule.scope.as_str() {
                "Namespaced" => !target.namespace.is_empty(),
                "Cluster" => target.namespace.is_empty(),
                _ => true,
            }
    }
}

fn check_rules(rules: &[ResourceRule], path: &Path, faults: &mut Vec<PolicyFault>) {
    for (index, rule) in rules.iter().enumerate() {
        let lists = [
            ("apiGroups", &rule.api_groups),
            ("apiVersions", &rule.api_versions),
            ("operations", &rule.operations),
            ("resources", &rule.resources),
        ];
        for (name, list) in lists {
            if list.is_empty() {
                faults.push(PolicyFault::at(
                    path.index(index).key(name),
                    "must not be empty: \"*\" stands for all",
                ));
            }
        }
    }
}

fn listed(list: &[String], item: &str) -> bool {
    list.iter().any(|entry| entry == "*" || entry == item)
}

/// `x` means objects without a subresource, `x/y` one subresource, `x/*` the object and every subresource.
fn resource_matches(resource: &str, target: &Target<'_>) -> bool {
    let (name, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    (name == "*" || name == target.resource) && (subresource == "*" || subresource == target.subresource)
}

fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("labels")?.get(key)?.as_str()
}

/// Reads a label selector that stands at `path`; one that says nothing selects everything.
pub(super) fn labels(raw: &LabelSelector, path: &Path, faults: &mut Vec<PolicyFault>) -> Selector {
    Selector::from_object(raw).unwrap_or_else(|found| {
        faults.extend(found.iter().map(|fault| {
            let (at, fault) = selector_fault(fault, path);
            PolicyFault::at(at, fault.to_string())
        }));
        Selector::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fact::NoFacts;
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

    fn rule() -> Value {
        json!({"apiGroups": ["g"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]})
    }

    fn matched(raw: Value, target: Target<'_>, object: &Value, namespace: Option<&Value>) -> Matched {
        let raw: MatchConstraints = serde_json::from_value(raw).expect("constraints");
        let mut faults = Vec::new();
        let matcher = Matcher::read(&raw, &Path::root(), true, &mut faults);
        assert!(faults.is_empty(), "{faults:?}");
        let request = Value::Null;
        matcher.matches(&Question {
            stop: Default::default(),
            target,
            request: &request,
            object: Some(object),
            old: None,
            namespace,
            facts: &NoFacts,
            now: None,
        })
    }

    #[test]
    fn resource_rules_name_what_is_matched() {
        let with = |name: &str, value: Value| {
            let mut rule = rule();
            rule[name] = value;
            json!({"resourceRules": [rule]})
        };
        let rows = [
            (with("apiGroups", json!(["*"])), Matched::Yes),
            (with("operations", json!(["UPDATE"])), Matched::No),
            (with("resources", json!(["things/status"])), Matched::No),
            (with("resources", json!(["things/*"])), Matched::Yes),
            (with("resourceNames", json!(["two"])), Matched::No),
            (with("scope", json!("Cluster")), Matched::No),
            (with("apiVersions", json!(["v2"])), Matched::Yes),
        ];
        for (raw, expected) in rows {
            assert_eq!(matched(raw.clone(), TARGET, &json!({}), None), expected, "{raw}");
        }
        let exact = json!({"matchPolicy": "Exact", "resourceRules": [{"apiGroups": ["g"], "apiVersions": ["v2"],
            "operations": ["*"], "resources": ["*"]}]});
        assert_eq!(matched(exact, TARGET, &json!({}), None), Matched::No);
        let excluded = json!({"resourceRules": [rule()], "excludeResourceRules": [rule()]});
        assert_eq!(matched(excluded, TARGET, &json!({}), None), Matched::No);
    }

    #[test]
    fn selectors_look_at_labels_and_say_when_nobody_knows_them() {
        let object = json!({"metadata": {"labels": {"team": "a"}}});
        let with =
            |name: &str, key: &str| json!({"resourceRules": [rule()], name: {"matchLabels": {key: "a"}}});
        assert_eq!(
            matched(with("objectSelector", "team"), TARGET, &object, None),
            Matched::Yes
        );
        assert_eq!(
            matched(with("objectSelector", "x"), TARGET, &object, None),
            Matched::No
        );
        assert_eq!(
            matched(with("namespaceSelector", NAME_LABEL), TARGET, &object, None),
            Matched::Yes
        );
        assert!(matches!(
            matched(with("namespaceSelector", "team"), TARGET, &object, None),
            Matched::Unknown(_)
        ));
        assert_eq!(
            matched(with("namespaceSelector", "team"), TARGET, &object, Some(&object)),
            Matched::Yes
        );
        let cluster_scoped = Target {
            namespace: "",
            ..TARGET
        };
        assert_eq!(
            matched(with("namespaceSelector", "team"), cluster_scoped, &object, None),
            Matched::Yes
        );
    }

    #[test]
    fn constraints_that_mean_nothing_are_faults() {
        let raw: MatchConstraints = serde_json::from_value(json!({
            "resourceRules": [{"apiGroups": ["g"], "apiVersions": ["v1"], "resources": ["things"]}],
            "objectSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]},
        }))
        .expect("constraints");
        let mut faults = Vec::new();
        Matcher::read(&raw, &Path::parse("m"), true, &mut faults);
        let found: Vec<String> = faults.iter().map(PolicyFault::one_line).collect();
        assert_eq!(
            found,
            [
                "m.resourceRules[0].operations: must not be empty: \"*\" stands for all",
                "m.objectSelector.matchExpressions[0].operator: Unsupported value: \"Is\": supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\"",
            ]
        );
    }
}
