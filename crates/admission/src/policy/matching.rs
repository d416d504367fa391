//! Parses match constraints, and the data of a request that they are compared with. The CEL engine matches them.

use cel_engine::admission_policy::{
    MatchAttributes, MatchPolicy, MatchResources, Namespace, Rule, RuleScope, Versions,
};
use kubernetes::labels::Selector;

use super::fault::PolicyFault;
use super::question::Question;
use api::LabelSelector;
use api::v1alpha1::{MatchConstraints, ResourceRule};
use kubernetes::field::{Path, quoted, selector_fault};

/// Parses the constraints at `path`. A policy needs resource rules, a binding does not.
pub(super) fn read(
    raw: &MatchConstraints,
    path: &Path,
    needs_rules: bool,
    faults: &mut Vec<PolicyFault>,
) -> MatchResources {
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
    let mut selector = |raw: &Option<LabelSelector>, name: &'static str| {
        raw.as_ref()
            .map(|raw| labels(raw, &path.key(name), faults))
            .unwrap_or_default()
    };
    MatchResources {
        namespace_selector: selector(&raw.namespace_selector, "namespaceSelector"),
        object_selector: selector(&raw.object_selector, "objectSelector"),
        resource_rules: raw.resource_rules.iter().map(rule).collect(),
        exclude_resource_rules: raw.exclude_resource_rules.iter().map(rule).collect(),
        match_policy: (raw.match_policy == "Exact").then_some(MatchPolicy::Exact),
    }
}

fn rule(raw: &ResourceRule) -> Rule {
    Rule {
        operations: raw.operations.clone(),
        api_groups: raw.api_groups.clone(),
        api_versions: raw.api_versions.clone(),
        resources: raw.resources.clone(),
        resource_names: raw.resource_names.clone(),
        scope: match raw.scope.as_str() {
            "Namespaced" => RuleScope::Namespaced,
            "Cluster" => RuleScope::Cluster,
            _ => RuleScope::All,
        },
    }
}

/// Returns the data of a request that constraints match. The versions that a hub serves are not known here.
pub(super) fn subject<'a>(question: &Question<'a>) -> MatchAttributes<'a> {
    let name = question.target.namespace;
    MatchAttributes {
        target: question.target,
        object: question.object,
        old_object: question.old,
        namespace: match question.namespace {
            _ if name.is_empty() => Namespace::None,
            Some(object) => Namespace::Known { object, name },
            None => Namespace::Named(name),
        },
        versions: Versions::Unknown,
    }
}

/// Returns why it is not known whether a request matches.
pub(super) fn unknown(question: &Question<'_>) -> String {
    format!(
        "the labels of namespace {} are not known",
        quoted(question.target.namespace)
    )
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
                    "must not be empty: \"*\" selects all",
                ));
            }
        }
    }
}

/// Parses the label selector at `path`. An empty one selects everything.
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
    use crate::policy::NoFacts;
    use cel_engine::admission_policy::{Matched, NAME_LABEL, Target};
    use serde_json::{Value, json};

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

    fn matched(
        raw: Value,
        target: Target<'static>,
        object: &Value,
        namespace: Option<&Value>,
    ) -> Matched<'static> {
        let raw: MatchConstraints = serde_json::from_value(raw).expect("constraints");
        let mut faults = Vec::new();
        let matcher = read(&raw, &Path::root(), true, &mut faults);
        assert!(faults.is_empty(), "{faults:?}");
        let request = Value::Null;
        let question = Question {
            stop: Default::default(),
            target,
            request: &request,
            object: Some(object),
            old: None,
            namespace,
            facts: &NoFacts,
            now: None,
        };
        match matcher.matches(&subject(&question)) {
            Matched::Yes(_) => Matched::Yes(target.version),
            Matched::No => Matched::No,
            Matched::Unknown => Matched::Unknown,
        }
    }

    #[test]
    fn resource_rules_name_what_is_matched() {
        let with = |name: &str, value: Value| {
            let mut rule = rule();
            rule[name] = value;
            json!({"resourceRules": [rule]})
        };
        let rows = [
            (with("apiGroups", json!(["*"])), Matched::Yes("v1")),
            (with("operations", json!(["UPDATE"])), Matched::No),
            (with("resources", json!(["things/status"])), Matched::No),
            (with("resources", json!(["things/*"])), Matched::Yes("v1")),
            (with("resourceNames", json!(["two"])), Matched::No),
            (with("scope", json!("Cluster")), Matched::No),
            (with("apiVersions", json!(["v2"])), Matched::Yes("v1")),
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
    fn selectors_look_at_labels_and_report_unknown_labels() {
        let object = json!({"metadata": {"labels": {"team": "a"}}});
        let with =
            |name: &str, key: &str| json!({"resourceRules": [rule()], name: {"matchLabels": {key: "a"}}});
        assert_eq!(
            matched(with("objectSelector", "team"), TARGET, &object, None),
            Matched::Yes("v1")
        );
        assert_eq!(
            matched(with("objectSelector", "x"), TARGET, &object, None),
            Matched::No
        );
        assert_eq!(
            matched(with("namespaceSelector", NAME_LABEL), TARGET, &object, None),
            Matched::Yes("v1")
        );
        assert_eq!(
            matched(with("namespaceSelector", "team"), TARGET, &object, None),
            Matched::Unknown
        );
        assert_eq!(
            matched(with("namespaceSelector", "team"), TARGET, &object, Some(&object)),
            Matched::Yes("v1")
        );
        let cluster_scoped = Target {
            namespace: "",
            ..TARGET
        };
        assert_eq!(
            matched(with("namespaceSelector", "team"), cluster_scoped, &object, None),
            Matched::Yes("v1")
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
        read(&raw, &Path::parse("m"), true, &mut faults);
        let found: Vec<String> = faults.iter().map(PolicyFault::one_line).collect();
        assert_eq!(
            found,
            [
                "m.resourceRules[0].operations: must not be empty: \"*\" selects all",
                "m.objectSelector.matchExpressions[0].operator: Unsupported value: \"Is\": supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\"",
            ]
        );
    }
}
