//! Reads of fields and of keys of maps that may be absent: the evaluation of such an expression is an error.
//!
//! Decides from the metadata of all objects and from schemas: of a kind without one, only the metadata is known.

use std::collections::BTreeSet;

use cel_engine::{Reference, Step};
use serde_json::Value;

use super::compile::Policy;
use super::expression::Expression;
use super::fault::PolicyFault;
use kubernetes::field::{Path, Segment, quoted};

/// Fields of every object that may be absent.
const ABSENT_METADATA: [&str; 6] = [
    "annotations",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "labels",
    "ownerReferences",
];

/// Adds a warning for each read of a field or key that may be absent. `definitions` are the schemas of all kinds that the policy matches.
///
/// Something that the expression or a match condition tests counts as present, and for a variable or a message, what any expression
/// tests: where these are evaluated, another one was before.
pub(super) fn may_be_absent(policy: &Policy, definitions: &[Value], faults: &mut Vec<PolicyFault>) {
    let all: Vec<(Path, &Expression)> = policy.expressions().collect();
    for (path, expression) in &all {
        let is_own = |other: &Path| other == path || is_below(other, &["matchConditions"]);
        let is_late = is_below(path, &["variables"]) || is_below(path, &["messageExpression"]);
        let counted = all.iter().filter(|(other, _)| is_late || is_own(other));
        let tested: BTreeSet<(&str, &[Step])> = counted
            .flat_map(|(_, one)| &one.references)
            .flat_map(tested)
            .collect();
        let tests_keys = expression.program.functions().contains(IN);
        let mut known = BTreeSet::new();
        for reference in expression.references.iter().filter(|one| is_object(one)) {
            let needed = reference.steps.get(..reference.needed).unwrap_or_default();
            let absent = (1..=needed.len())
                .filter_map(|length| needed.get(..length))
                .find(|read| {
                    let is_tested = tested.contains(&(reference.name.as_str(), *read));
                    match absence(read, definitions) {
                        Some(Absence::Field) => !is_tested,
                        Some(Absence::Key) => !is_tested && !tests_keys,
                        None => false,
                    }
                });
            let Some(absent) = absent.filter(|absent| known.insert((&reference.name, *absent))) else {
                continue;
            };
            let words = absent_words(&reference.name, absent);
            let source = expression.program.source();
            faults.push(PolicyFault::in_text(path.clone(), reference.place, words, source));
        }
    }
}

/// The operator that tests whether a map has a key.
const IN: &str = "@in";

fn is_object(reference: &Reference) -> bool {
    matches!(reference.name.as_str(), "object" | "oldObject")
}

/// Returns whether a path of an expression contains one of these names.
fn is_below(path: &Path, names: &[&str]) -> bool {
    let mut segments = path.segments().iter();
    segments.any(|segment| matches!(segment, Segment::Key(name) if names.contains(&&**name)))
}

/// Returns what a reference tests: with `has()`, or as an optional value.
fn tested(reference: &Reference) -> impl Iterator<Item = (&str, &[Step])> {
    let from = reference.needed.saturating_add(1);
    let lengths = from..=reference.steps.len();
    lengths.filter_map(|length| Some((reference.name.as_str(), reference.steps.get(..length)?)))
}

/// What may be absent.
enum Absence {
    /// A field of the schema.
    Field,
    /// A key of a map.
    Key,
}

/// Returns whether the last of these steps may be absent although those before it are present, for all kinds that the policy matches.
fn absence(steps: &[Step], definitions: &[Value]) -> Option<Absence> {
    let is_member = |at: usize, name: &str| matches!(steps.get(at), Some(Step::Member(one)) if one == name);
    let last = match steps.last()? {
        Step::Member(name) => name.as_str(),
        Step::Each => return None,
    };
    if is_member(0, "metadata") {
        let is_map = is_member(1, "labels") || is_member(1, "annotations");
        return match steps.len() {
            2 if ABSENT_METADATA.contains(&last) => Some(Absence::Field),
            3 if is_map => Some(Absence::Key),
            _ => None,
        };
    }
    // An object without a spec is not one that a policy is about.
    if steps.len() == 1 && last == "spec" {
        return None;
    }
    let mut all = definitions.iter().map(|definition| {
        let (_, parents) = steps.split_last()?;
        let mut parent = definition;
        for step in parents {
            parent = match step {
                Step::Each => parent.get("items")?,
                Step::Member(name) => parent.get("properties")?.get(name)?,
            };
        }
        let Some(field) = parent.get("properties").and_then(|known| known.get(last)) else {
            return parent.get("additionalProperties").map(|_| Absence::Key);
        };
        let required = parent.get("required").and_then(Value::as_array);
        let is_required = required.is_some_and(|all| all.iter().any(|one| one == last));
        (!is_required && field.get("default").is_none()).then_some(Absence::Field)
    });
    let first = all.next()??;
    all.all(|one| one.is_some()).then_some(first)
}

/// Says what may be absent, and how to test it.
fn absent_words(name: &str, steps: &[Step]) -> String {
    let has_each = steps.contains(&Step::Each);
    let member = |step: &Step| match step {
        Step::Member(name) if is_identifier(name) => format!(".{name}"),
        Step::Member(name) => format!("[{}]", quoted(name)),
        Step::Each => "[]".to_owned(),
    };
    let whole: String = steps.iter().map(member).collect();
    let Some((Step::Member(last), before)) = steps.split_last().filter(|_| !has_each) else {
        let field = whole.trim_start_matches('.');
        return format!(
            "{field} may be absent, and the evaluation then fails: test it with has() or read it with .?"
        );
    };
    let before: String = before.iter().map(member).collect();
    let (test, read) = if is_identifier(last) {
        (format!("has({name}{whole})"), format!("{name}{before}.?{last}"))
    } else {
        let key = quoted(last);
        (
            format!("{key} in {name}{before}"),
            format!("{name}{before}[?{key}]"),
        )
    };
    let field = whole.trim_start_matches('.');
    format!("{field} may be absent, and the evaluation then fails: test {test}, or read {read}.orValue(…)")
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::super::{Origin, PolicySet, Source, lint};
    use super::*;
    use serde_json::json;

    /// The warnings about absent fields of a policy with such a spec.
    fn noted(spec: &Value) -> Vec<String> {
        let mut whole = json!({"matchConstraints": {"resourceRules": [{"apiGroups": ["example.com"], "apiVersions": ["*"],
            "operations": ["*"], "resources": ["widgets"]}]}});
        json_patch::merge(&mut whole, spec);
        let document = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy",
            "metadata": {"name": "p"}, "spec": whole});
        let source = Source {
            origin: Origin::Hub,
            document,
        };
        let loaded = PolicySet::load(&[source], &[], &PolicySet::default());
        let text = json!({"type": "string"});
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["name"], "properties": {
            "name": text, "size": {"type": "integer"}, "mode": {"type": "string", "default": "a"},
            "values": {"type": "object", "additionalProperties": text},
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": text}}}}}}});
        let (notes, _) = lint(&loaded.set, &|_, _| Some(schema.clone()), &[], None);
        let lines = notes.into_iter().map(|note| note.fault.one_line());
        lines.filter(|line| line.contains("may be absent")).collect()
    }

    fn check(expression: &str) -> Value {
        json!({"validations": [{"id": "a", "expression": expression}]})
    }

    #[test]
    fn a_read_of_what_may_be_absent_is_noted() {
        let rows = [
            (
                "object.metadata.labels.owner == 'a'",
                "1:23: metadata.labels may be absent, and the evaluation then fails: test has(object.metadata.labels), or read \
                 object.metadata.?labels.orValue(…)",
            ),
            (
                "has(object.metadata.labels) && object.metadata.labels['example.com/owner'] == 'a'",
                "metadata.labels[\"example.com/owner\"] may be absent, and the evaluation then fails: test \"example.com/owner\" in \
                 object.metadata.labels, or read object.metadata.labels[?\"example.com/owner\"].orValue(…)",
            ),
            (
                "has(object.metadata.labels.owner)",
                "metadata.labels may be absent",
            ),
            (
                "'owner' in object.metadata.annotations",
                "metadata.annotations may be absent",
            ),
            ("object.spec.size < 3", "spec.size may be absent"),
            (
                "has(object.spec.values) && object.spec.values.x == 'a'",
                "spec.values.x may be absent",
            ),
            (
                "has(object.spec.list) && object.spec.list.all(i, i.a == 'a')",
                "spec.list[].a may be absent, and the evaluation then fails: test it with has()",
            ),
            (
                "oldObject.metadata.labels.owner == 'a'",
                "metadata.labels may be absent",
            ),
        ];
        for (expression, expected) in rows {
            let found = noted(&check(expression));
            assert!(
                matches!(found.as_slice(), [one] if one.contains(expected)),
                "{expression}: {found:?}"
            );
        }
    }

    #[test]
    fn what_is_tested_optional_required_or_defaulted_is_not_noted() {
        let tested = "has(object.metadata.labels)";
        let reads = "object.metadata.labels.size() > 0";
        let rows = [
            check(
                "has(object.metadata.labels) && 'owner' in object.metadata.labels && object.metadata.labels.owner == 'a'",
            ),
            check(
                "has(object.metadata.labels) && has(object.metadata.labels.owner) && object.metadata.labels.owner == 'a'",
            ),
            check("!has(object.metadata.labels) || object.metadata.labels.size() > 0"),
            check("object.metadata.?labels.?owner.orValue('') == 'a'"),
            check("object.metadata.?labels[?'owner'].orValue('') == 'a'"),
            check("object.metadata.?labels.hasValue() && object.metadata.labels.size() > 0"),
            check("object.spec.name != '' && object.spec.mode == 'a' && object.metadata.name != ''"),
            check("has(object.spec.list) && object.spec.list.all(i, !has(i.a) || i.a == 'a')"),
            json!({"matchConditions": [{"name": "c", "expression": tested}], "validations": [{"id": "a", "expression": reads}]}),
            json!({"variables": [{"name": "v", "expression": reads}],
                "validations": [{"id": "a", "expression": format!("!{tested} || variables.v")}]}),
            json!({"validations": [{"id": "a", "expression": format!("!{tested} || object.metadata.labels.size() < 3"),
                "messageExpression": "string(object.metadata.labels.size())"}]}),
        ];
        for spec in rows {
            assert_eq!(noted(&spec), <[String; 0]>::default(), "{spec}");
        }
    }
}
