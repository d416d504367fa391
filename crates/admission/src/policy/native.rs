//! What the API server of Kubernetes checks in the fields of its own policies and bindings, beyond the schema that they share with
//! `AddOnPolicy`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::Kind;
use super::fault::PolicyFault;
use super::matching::labels;
use api::LabelSelector;
use kubernetes::field::{Path, quoted};
use kubernetes::names::{Named, Unit, dns1035_label_faults, dns1123_subdomain_faults, qualified_name_faults};

/// The fields of a document.
const FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
/// The versions of the API.
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];
/// Most match conditions, and most audit annotations.
const MOST_CONDITIONS: usize = 64;
const MOST_ANNOTATIONS: usize = 20;
/// The longest expression of an audit annotation, in bytes.
const LONGEST_VALUE: usize = 5 * 1024;
/// The reasons of a validation.
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

/// Removes the fields that are null: the API server reads them as absent.
pub(super) fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Sets what the oldest version of the API sets itself.
pub(super) fn set_defaults(spec: &mut Value, api_version: &str) {
    let reference = spec.get_mut("paramRef").and_then(Value::as_object_mut);
    if let Some(reference) = reference.filter(|_| api_version.ends_with("/v1alpha1")) {
        let action = reference.entry("parameterNotFoundAction");
        action.or_insert_with(|| Value::from("Deny"));
    }
}

/// Returns the faults of the fields beside the spec.
pub(super) fn document_faults(document: &Value) -> Vec<PolicyFault> {
    let fields = document.as_object().into_iter().flat_map(serde_json::Map::keys);
    let unknown = fields.filter(|name| !FIELDS.contains(&name.as_str()));
    let unknown = unknown.map(|name| PolicyFault::at(Path::root().key(name.clone()), "unknown field"));
    let version = version_fault(text(document, "apiVersion"));
    version.into_iter().chain(unknown).collect()
}

/// Returns the fault of a version that the API does not have.
fn version_fault(api_version: &str) -> Option<PolicyFault> {
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let words = format!("unknown version {}; use \"v1\"", quoted(version));
    (!VERSIONS.contains(&version)).then(|| PolicyFault::at(Path::parse("apiVersion"), words))
}

/// Returns the faults of a policy.
pub(super) fn policy_faults(kind: Kind, name: &str, spec: &Value) -> Vec<PolicyFault> {
    let mut check = Check::default();
    let root = Path::parse("spec");
    if let Some(param_kind) = spec.get("paramKind").filter(|one| one.is_object()) {
        check.param_kind(param_kind, &root.key("paramKind"));
    }
    if let Some(constraints) = spec.get("matchConstraints") {
        check.rules(kind, constraints, &root.key("matchConstraints"));
    }
    check.conditions(spec, &root.key("matchConditions"));
    for (at, variable) in items(spec, "variables", &root) {
        let name = text(variable, "name");
        if cel_engine::names::is_reserved(name) {
            check.add(
                at.key("name"),
                format!("{} is a reserved word of CEL; use another name", quoted(name)),
            );
        }
    }
    for (at, validation) in items(spec, "validations", &root) {
        check.validation(validation, &at);
    }
    check.annotations(name, spec, &root.key("auditAnnotations"));
    let needed = match kind {
        Kind::Mutating => &["mutations"][..],
        Kind::AddOnPolicy | Kind::Validating | Kind::ValidatingBinding | Kind::MutatingBinding => {
            &["validations", "auditAnnotations"][..]
        }
    };
    if needed
        .iter()
        .all(|list| items(spec, list, &root).next().is_none())
    {
        check.add(
            root.clone(),
            format!("must have at least one of {}", needed.join(", ")),
        );
    }
    if kind == Kind::Mutating && text(spec, "reinvocationPolicy").is_empty() {
        check.add(
            root.key("reinvocationPolicy"),
            "must be \"Never\" or \"IfNeeded\"",
        );
    }
    check.faults
}

/// Returns the faults of a binding.
pub(super) fn binding_faults(kind: Kind, spec: &Value) -> Vec<PolicyFault> {
    let mut check = Check::default();
    let root = Path::parse("spec");
    let name = text(spec, "policyName");
    if !name.is_empty() {
        check.all(
            &root.key("policyName"),
            name,
            dns1123_subdomain_faults(name, Unit::Characters),
        );
    }
    let actions = strings(spec, "validationActions");
    if actions.contains(&"Deny") && actions.contains(&"Warn") {
        let words = "\"Deny\" and \"Warn\" exclude each other: remove one";
        check.add(root.key("validationActions"), words);
    }
    if let Some(reference) = spec.get("paramRef") {
        check.param_ref(reference, &root.key("paramRef"));
    }
    if let Some(resources) = spec.get("matchResources") {
        let at = root.key("matchResources");
        check.rules(kind, resources, &at);
        for selector in ["namespaceSelector", "objectSelector"] {
            check.selector(resources.get(selector), &at.key(selector));
        }
    }
    check.faults
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the items of a list with their paths.
fn items<'v>(value: &'v Value, list: &'static str, at: &Path) -> impl Iterator<Item = (Path, &'v Value)> {
    let at = at.key(list);
    let items = value.get(list).and_then(Value::as_array).into_iter().flatten();
    items
        .enumerate()
        .map(move |(index, item)| (at.index(index), item))
}

#[derive(Default)]
struct Check {
    faults: Vec<PolicyFault>,
}

impl Check {
    fn add(&mut self, at: Path, words: impl Into<String>) {
        self.faults.push(PolicyFault::at(at, words));
    }

    /// Adds what is wrong with a value.
    fn all(&mut self, at: &Path, value: &str, wrong: Vec<String>) {
        for words in wrong {
            self.add(at.clone(), format!("Invalid value: {}: {words}", quoted(value)));
        }
    }

    fn param_kind(&mut self, raw: &Value, at: &Path) {
        let (version, kind) = (text(raw, "apiVersion"), text(raw, "kind"));
        let (group, number) = version.split_once('/').unwrap_or(("", version));
        let path = at.key("apiVersion");
        if number.is_empty() || number.contains('/') {
            self.add(
                path,
                format!(
                    "Invalid value: {}: must be a version or group/version",
                    quoted(version)
                ),
            );
        } else {
            self.all(&path, number, dns1035_label_faults(number, Unit::Characters));
            if !group.is_empty() {
                self.all(&path, group, dns1123_subdomain_faults(group, Unit::Characters));
            }
        }
        self.all(
            &at.key("kind"),
            kind,
            dns1035_label_faults(&kind.to_lowercase(), Unit::Characters),
        );
    }

    fn rules(&mut self, kind: Kind, constraints: &Value, at: &Path) {
        for list in ["resourceRules", "excludeResourceRules"] {
            for (at, rule) in items(constraints, list, at) {
                for name in ["operations", "apiGroups", "apiVersions"] {
                    let all = strings(rule, name);
                    if all.len() > 1 && all.contains(&"*") {
                        self.add(at.key(name), "\"*\" selects all: remove the other values");
                    }
                }
                for (index, _) in strings(rule, "apiVersions")
                    .iter()
                    .enumerate()
                    .filter(|(_, one)| one.is_empty())
                {
                    self.add(at.key("apiVersions").index(index), "must not be empty");
                }
                self.resources(&strings(rule, "resources"), &at.key("resources"));
                self.resource_names(&strings(rule, "resourceNames"), &at.key("resourceNames"));
                if list == "resourceRules" && matches!(kind, Kind::Mutating | Kind::MutatingBinding) {
                    let operations = strings(rule, "operations").into_iter().enumerate();
                    for (index, _) in operations.filter(|(_, one)| *one == "DELETE") {
                        let words =
                            "Unsupported value: \"DELETE\": a deletion has no object to mutate; remove it";
                        self.add(at.key("operations").index(index), words);
                    }
                }
            }
        }
    }

    fn resources(&mut self, all: &[&str], at: &Path) {
        let is_plain = |one: &&str| !one.contains('/') && *one != "*";
        for (index, one) in all.iter().enumerate() {
            let path = at.index(index);
            if one.is_empty() {
                self.add(path, "must not be empty");
                continue;
            }
            let Some((resource, part)) = one.split_once('/') else {
                continue;
            };
            let earlier = all.iter().take(index);
            let wider = [format!("{resource}/*"), format!("*/{part}")];
            if let Some(wider) = earlier
                .into_iter()
                .find(|other| wider.iter().any(|wider| wider == *other))
            {
                self.add(
                    path,
                    format!("{} already selects it: remove {}", quoted(wider), quoted(one)),
                );
            }
        }
        if all.len() > 1 && all.contains(&"*/*") {
            self.add(at.clone(), "\"*/*\" selects all: remove the other values");
        }
        // As in Kubernetes, the last resource without a subresource decides.
        let last = all.iter().rev().find(|one| !one.contains('/'));
        if all.contains(&"*") && last.is_some_and(is_plain) {
            self.add(
                at.clone(),
                "\"*\" selects all resources: remove those without a subresource",
            );
        }
    }

    fn resource_names(&mut self, all: &[&str], at: &Path) {
        let mut known = BTreeSet::new();
        for (index, one) in all.iter().enumerate() {
            self.all(&at.index(index), one, segment_faults(one));
            if !known.insert(one) {
                self.add(at.index(index), format!("Duplicate value: {}", quoted(one)));
            }
        }
    }

    fn conditions(&mut self, spec: &Value, at: &Path) {
        let all: Vec<&Value> = spec
            .get("matchConditions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .collect();
        if all.len() > MOST_CONDITIONS {
            self.add(
                at.clone(),
                format!(
                    "Too many: {}: must have at most {MOST_CONDITIONS} items",
                    all.len()
                ),
            );
        }
        for (index, condition) in all.into_iter().enumerate() {
            let name = text(condition, "name");
            if !name.is_empty() {
                self.all(
                    &at.index(index).key("name"),
                    name,
                    qualified_name_faults(name, Named::QualifiedName),
                );
            }
        }
    }

    fn validation(&mut self, validation: &Value, at: &Path) {
        for name in ["message", "messageExpression"] {
            let written = text(validation, name);
            if !written.is_empty() && written.trim().is_empty() {
                self.add(at.key(name), "must not be blank: remove it, or write a message");
            }
        }
        if text(validation, "message").trim().contains(['\n', '\r']) {
            self.add(at.key("message"), "must not contain line breaks; write one line");
        }
        let reason = text(validation, "reason");
        if !reason.is_empty() && !REASONS.contains(&reason) {
            let words = format!(
                "Unsupported value: {}: supported values: {}",
                quoted(reason),
                REASONS.map(quoted).join(", ")
            );
            self.add(at.key("reason"), words);
        }
    }

    fn annotations(&mut self, policy: &str, spec: &Value, at: &Path) {
        let all: Vec<&Value> = spec
            .get("auditAnnotations")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .collect();
        if all.len() > MOST_ANNOTATIONS {
            self.add(
                at.clone(),
                format!(
                    "Too many: {}: must have at most {MOST_ANNOTATIONS} items",
                    all.len()
                ),
            );
        }
        for (index, annotation) in all.into_iter().enumerate() {
            let key = format!("{policy}/{}", text(annotation, "key"));
            // A name that the API server makes is not known yet.
            let wrong = qualified_name_faults(
                if policy.is_empty() {
                    text(annotation, "key")
                } else {
                    &key
                },
                Named::QualifiedName,
            );
            self.all(&at.index(index).key("key"), &key, wrong);
            let length = text(annotation, "valueExpression").trim().len();
            if length > LONGEST_VALUE {
                let words = format!("Too long: {length} bytes: must have at most {LONGEST_VALUE}");
                self.add(at.index(index).key("valueExpression"), words);
            }
        }
    }

    fn param_ref(&mut self, reference: &Value, at: &Path) {
        let name = text(reference, "name");
        self.all(&at.key("name"), name, segment_faults(name));
        let selector = reference.get("selector");
        match (name.is_empty(), selector) {
            (true, None) => self.add(at.clone(), "must have a name or a selector"),
            (false, Some(_)) => self.add(
                at.key("selector"),
                "name and selector exclude each other: remove one",
            ),
            (true, Some(_)) | (false, None) => {}
        }
        self.selector(selector, &at.key("selector"));
        let action = text(reference, "parameterNotFoundAction");
        if !["Allow", "Deny"].contains(&action) {
            let words = format!("must be \"Allow\" or \"Deny\", not {}", quoted(action));
            self.add(at.key("parameterNotFoundAction"), words);
        }
        let known = ["name", "namespace", "selector", "parameterNotFoundAction"];
        for field in reference.as_object().into_iter().flat_map(serde_json::Map::keys) {
            if !known.contains(&field.as_str()) {
                self.add(at.key(field.clone()), "unknown field");
            }
        }
    }

    fn selector(&mut self, raw: Option<&Value>, at: &Path) {
        // A selector of a wrong form is a fault of the schema.
        if let Some(selector) = raw.and_then(|raw| serde_json::from_value::<LabelSelector>(raw.clone()).ok())
        {
            labels(&selector, at, &mut self.faults);
        }
    }
}

fn strings<'v>(value: &'v Value, name: &str) -> Vec<&'v str> {
    let list = value.get(name).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

/// Returns why a text cannot be a segment of a path.
fn segment_faults(name: &str) -> Vec<String> {
    let is_dots = [".", ".."].contains(&name);
    let letters = ['/', '%'].into_iter().filter(|letter| name.contains(*letter));
    let letters = letters.map(|letter| format!("may not contain '{letter}'"));
    letters
        .chain(is_dots.then(|| format!("may not be '{name}'")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Origin, PolicySet, Source};
    use serde_json::json;

    fn rule() -> Value {
        json!({"apiGroups": ["g"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]})
    }

    fn validating(fields: &Value) -> Value {
        let mut spec =
            json!({"matchConstraints": {"resourceRules": [rule()]}, "validations": [{"expression": "true"}]});
        for (name, value) in fields.as_object().expect("fields") {
            spec[name] = value.clone();
        }
        object("ValidatingAdmissionPolicy", &spec)
    }

    fn object(kind: &str, spec: &Value) -> Value {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "p"}, "spec": spec})
    }

    fn faults(document: Value) -> Vec<String> {
        let source = Source {
            origin: Origin::Hub,
            document,
        };
        let loaded = PolicySet::load(&[source], &[], &PolicySet::default());
        let faults = loaded.reports.iter().flat_map(|report| &report.faults);
        let faults = faults.map(PolicyFault::one_line);
        faults
            .filter(|fault| !fault.ends_with("does not exist"))
            .collect()
    }

    fn with_rule(name: &str, value: Value) -> Value {
        let mut rule = rule();
        rule[name] = value;
        json!({"matchConstraints": {"resourceRules": [rule]}})
    }

    fn condition(name: &str, expression: &str) -> Value {
        json!({"matchConditions": [{"name": name, "expression": expression}]})
    }

    #[test]
    fn what_the_api_server_accepts_has_no_faults() {
        let none: [&str; 0] = [];
        for fields in [
            json!({"failurePolicy": null, "paramKind": null, "variables": null, "matchConditions": null}),
            json!({"validations": [{"expression": "true", "message": null, "reason": null}]}),
            with_rule("operations", json!(["CREATE", "CREATE"])),
            with_rule("resources", json!(["*", "things/status"])),
            with_rule("resourceNames", Value::Null),
            json!({"variables": [{"name": "object", "expression": "1"}]}),
            json!({"validations": [], "auditAnnotations": [{"key": "a", "valueExpression": "null"}]}),
            json!({"paramKind": {"apiVersion": "example.com/v1", "kind": "Limits"}}),
            condition("example.com/a", "request.dryRun"),
        ] {
            assert_eq!(faults(validating(&fields)), none, "{fields}");
        }
        let mut unnamed = validating(&json!({}));
        unnamed["metadata"] = json!({"generateName": "p-"});
        assert_eq!(faults(unnamed), none);
    }

    #[test]
    fn fields_that_the_api_server_rejects_are_faults() {
        let many: Vec<Value> = (0..65)
            .map(|n| json!({"name": format!("c{n}"), "expression": "true"}))
            .collect();
        let notes: Vec<Value> = (0..21)
            .map(|n| json!({"key": format!("k{n}"), "valueExpression": "'a'"}))
            .collect();
        let rows = [
            (
                with_rule("operations", json!(["*", "CREATE"])),
                "spec.matchConstraints.resourceRules[0].operations: \"*\" selects all",
            ),
            (
                with_rule("apiVersions", json!([""])),
                "spec.matchConstraints.resourceRules[0].apiVersions[0]: must not be empty",
            ),
            (
                with_rule("resources", json!(["*", "things"])),
                "spec.matchConstraints.resourceRules[0].resources: \"*\" selects all resources",
            ),
            (
                with_rule("resources", json!(["*/*", "things"])),
                "spec.matchConstraints.resourceRules[0].resources: \"*/*\" selects all",
            ),
            (
                with_rule("resources", json!(["things/*", "things/status"])),
                "spec.matchConstraints.resourceRules[0].resources[1]: \"things/*\" already selects it",
            ),
            (
                with_rule("resourceNames", json!(["a", "a"])),
                "spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: \"a\"",
            ),
            (
                with_rule("resourceNames", json!(["a/b"])),
                "spec.matchConstraints.resourceRules[0].resourceNames[0]: Invalid value: \"a/b\"",
            ),
            (
                json!({"paramKind": {"apiVersion": "a/b/c", "kind": "A"}}),
                "spec.paramKind.apiVersion: Invalid value: \"a/b/c\"",
            ),
            (
                json!({"paramKind": {"apiVersion": "v1", "kind": "A b"}}),
                "spec.paramKind.kind: Invalid value: \"A b\"",
            ),
            (
                condition("a b", "true"),
                "spec.matchConditions[0].name: Invalid value: \"a b\"",
            ),
            (
                json!({"matchConditions": many}),
                "spec.matchConditions: Too many: 65",
            ),
            (
                json!({"variables": [{"name": "for", "expression": "1"}]}),
                "spec.variables[0].name: \"for\" is a reserved word",
            ),
            (
                json!({"validations": [{"expression": "true", "message": " "}]}),
                "spec.validations[0].message: must not be blank",
            ),
            (
                json!({"validations": [{"expression": "true", "message": "a\nb"}]}),
                "spec.validations[0].message: must not contain line breaks",
            ),
            (
                json!({"validations": [{"expression": "true", "reason": "Unauthorized"}]}),
                "spec.validations[0].reason: Unsupported value",
            ),
            (
                json!({"auditAnnotations": [{"key": "a b", "valueExpression": "'a'"}]}),
                "spec.auditAnnotations[0].key: Invalid value: \"p/a b\"",
            ),
            (
                json!({"auditAnnotations": notes}),
                "spec.auditAnnotations: Too many: 21",
            ),
            (
                json!({"validations": []}),
                "spec: must have at least one of validations, auditAnnotations",
            ),
        ];
        for (fields, expected) in rows {
            let found = faults(validating(&fields));
            assert_eq!(found.len(), 1, "{fields}: {found:?}");
            assert!(found[0].starts_with(expected), "{found:?}");
        }
        let mut other = validating(&json!({}));
        other["apiVersion"] = json!("admissionregistration.k8s.io/v2");
        assert_eq!(faults(other), ["apiVersion: unknown version \"v2\"; use \"v1\""]);
    }

    #[test]
    fn types_are_checked_as_in_the_api_server() {
        let rows = [
            ("object.enabled", "must evaluate to bool, not to dyn"),
            (
                "object.?enabled",
                "must evaluate to bool, not to optional_type(dyn)",
            ),
            ("request.object.x == 1", "undefined field 'object'"),
            (
                "request.name == 1",
                "found no matching overload for '_==_' applied to '(string, int)'",
            ),
            ("[1, 'a'].size() == 2", "expected type 'int' but found 'string'"),
            (
                "math.abs(1) == 1",
                "undeclared reference to 'math' (in container '')",
            ),
        ];
        for (expression, expected) in rows {
            let found = faults(validating(&json!({"validations": [{"expression": expression}]})));
            assert_eq!(found.len(), 1, "{expression}: {found:?}");
            assert!(found[0].ends_with(expected), "{found:?}");
        }
        let typed = json!({"variables": [{"name": "n", "expression": "size(object.items)"}],
            "validations": [{"expression": "variables.n > 1", "messageExpression": "variables.n"}]});
        assert_eq!(
            faults(validating(&typed)),
            ["spec.validations[0].messageExpression:1:1: must evaluate to string, not to int"]
        );
    }

    #[test]
    fn mutations_and_bindings_have_their_own_rules() {
        let patch = json!({"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'remove', path: '/a'}]"}});
        let mut spec = json!({"matchConstraints": {"resourceRules": [rule()]}, "mutations": [patch], "reinvocationPolicy": "Never"});
        assert_eq!(faults(object("MutatingAdmissionPolicy", &spec)), [""; 0]);
        spec["matchConstraints"]["resourceRules"][0]["operations"] = json!(["DELETE"]);
        spec["reinvocationPolicy"] = Value::Null;
        spec["mutations"][0]["jsonPatch"]["expression"] = json!("[]");
        let found = faults(object("MutatingAdmissionPolicy", &spec));
        assert_eq!(found.len(), 3, "{found:?}");

        let binding = |fields: &Value| {
            let mut spec = json!({"policyName": "p", "validationActions": ["Deny"]});
            json_patch::merge(&mut spec, fields);
            faults(object("ValidatingAdmissionPolicyBinding", &spec))
        };
        assert_eq!(binding(&json!({})), [""; 0]);
        for (fields, expected) in [
            (
                json!({"policyName": "A B"}),
                "spec.policyName: Invalid value: \"A B\"",
            ),
            (
                json!({"paramRef": {"name": "a"}}),
                "spec.paramRef.parameterNotFoundAction: must be",
            ),
            (
                json!({"paramRef": {"parameterNotFoundAction": "Deny"}}),
                "spec.paramRef: must have a name or a selector",
            ),
            (
                json!({"paramRef": {"name": "..", "parameterNotFoundAction": "Deny"}}),
                "spec.paramRef.name: Invalid value: \"..\"",
            ),
            (
                json!({"matchResources": {"objectSelector": {"matchLabels": {"a b": "c"}}}}),
                "spec.matchResources.objectSelector",
            ),
        ] {
            let found = binding(&fields);
            assert!(
                found.iter().any(|fault| fault.starts_with(expected)),
                "{fields}: {found:?}"
            );
        }
    }
}
