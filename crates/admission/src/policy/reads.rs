//! The parts of an object that a policy reads, to find out whether two versions of an object differ for the policy.
//!
//! An expression that uses more than it names, such as the whole object, reads all of it.

use std::collections::BTreeSet;

use cel_engine::admission_policy::MatchResources;
use cel_engine::{Reference, Step};
use kubernetes::field::{Path, Segment};
use serde_json::{Map, Value};

use super::compile::Policy;
use super::expression::Expression;
use super::set::PolicySet;

/// The variables of a request that are the same for every change of an object.
const OF_THE_OBJECT: [&str; 7] = [
    "kind",
    "name",
    "namespace",
    "requestKind",
    "requestResource",
    "resource",
    "subResource",
];

/// The metadata fields that the API server manages.
const BOOKKEEPING: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

impl PolicySet {
    /// Returns the policies that read something in which two versions of an object differ.
    #[must_use]
    pub fn that_see_a_difference(&self, object: &Value, old: &Value) -> Self {
        self.only(|policy| policy.sees_a_difference(object, old))
    }

    /// Returns whether everything that a rule of a policy reads is the same in both versions of an object. `at` is the field that
    /// the rule names as the one at fault, or the root.
    ///
    /// A rule that also reads the user, the time or the stored object is about the change itself: for it the objects are the same only if
    /// they are equal. This also applies to a rule that reads nothing.
    pub fn sees_the_same(&self, rule: &str, at: &Path, object: &Value, old: &Value) -> bool {
        let named = rule.strip_prefix("policy/").and_then(|rest| rest.split_once('/'));
        let Some((name, part)) = named else {
            return false;
        };
        let mut all = self.policies().filter(|policy| *policy.name == *name);
        all.all(|policy| policy.part_sees_the_same(part, at, object, old))
    }

    /// Returns whether the text of the policy of a rule contains one of these words; `true` for a rule of no policy in this set.
    pub fn names_any(&self, rule: &str, words: &[&str]) -> bool {
        let named = rule.strip_prefix("policy/").and_then(|rest| rest.split_once('/'));
        let Some((name, _)) = named else {
            return true;
        };
        let mut own = self.policies().filter(|policy| *policy.name == *name).peekable();
        own.peek().is_none() || own.any(|policy| policy.names_any(words))
    }
}

impl Policy {
    fn names_any(&self, words: &[&str]) -> bool {
        let mut texts = self.expressions().map(|(_, one)| one.program.source());
        texts.any(|text| words.iter().any(|word| text.contains(word)))
    }

    fn sees_a_difference(&self, object: &Value, old: &Value) -> bool {
        let bindings = self.bindings.iter().map(|binding| &binding.matcher);
        let mut matchers = std::iter::once(&self.matcher).chain(bindings);
        let labels = |object: &Value| object.pointer("/metadata/labels").cloned();
        let mut references = self.expressions().flat_map(|(_, one)| &one.references);
        (matchers.any(MatchResources::reads_labels) && labels(object) != labels(old))
            || references.any(|reference| is_of_object(reference) && !is_same(reference, object, old))
    }

    fn part_sees_the_same(&self, part: &str, at: &Path, object: &Value, old: &Value) -> bool {
        let references = self.read_by(part);
        let reads = |name: &str| references.iter().any(|reference| reference.name == name);
        let names_a_field = *at != Path::root();
        // The namespace of an object does not change with the object.
        let reads_what_is_stored =
            reads("object") || (names_a_field && (reads("namespaceObject") || reads("facts")));
        if !reads_what_is_stored || references.iter().any(|reference| is_about_the_change(reference)) {
            return is_whole_the_same(object, old);
        }
        // Facts of the fleet are found by values of the spec: by those at the field, if the rule names one of the spec.
        let is_of_spec = matches!(at.segments().first(), Some(Segment::Key(name)) if name == "spec");
        let mut read = references.iter().filter(|reference| reference.name == "object");
        (!reads("facts") || is_of_spec || object.get("spec") == old.get("spec"))
            && read.all(|reference| is_same(reference, object, old))
    }

    /// Returns the first thing that a part reads that makes it a rule about who changes an object, when, or from what.
    pub(super) fn change_read_by(&self, part: &str) -> Option<String> {
        let references = self.read_by(part);
        let about = references
            .into_iter()
            .find(|reference| is_about_the_change(reference))?;
        let member = about.steps.first().and_then(|step| match step {
            Step::Member(name) => Some(name.as_str()),
            Step::Each => None,
        });
        Some(member.map_or_else(|| about.name.clone(), |member| format!("{}.{member}", about.name)))
    }

    /// Returns whether a part reads the object.
    pub(super) fn reads_object(&self, part: &str) -> bool {
        self.read_by(part)
            .iter()
            .any(|reference| reference.name == "object")
    }

    /// Returns everything that the text of one part names, conditions and variables included; of the whole policy where no part has
    /// this id.
    fn read_by(&self, part: &str) -> Vec<&Reference> {
        let checks = self.validations.iter().filter(|check| check.id == part);
        let schemas = self.schemas.iter().filter(|one| one.id == part);
        let own: Vec<&Expression> = checks
            .map(|check| &check.validation.expression)
            .chain(schemas.map(|one| &one.expression))
            .collect();
        if own.is_empty() {
            return self.expressions().flat_map(|(_, one)| &one.references).collect();
        }
        let mut open: Vec<&Expression> = own;
        open.extend(self.conditions.iter().map(|(_, condition)| condition));
        let (mut known, mut found) = (BTreeSet::new(), Vec::new());
        while let Some(expression) = open.pop() {
            found.extend(&expression.references);
            let variables = self.variables.iter();
            let variables = variables.filter(|(name, _)| expression.variables.contains(name));
            for (name, variable) in variables {
                if known.insert(name.as_str()) {
                    open.push(variable);
                }
            }
        }
        found
    }
}

/// Returns whether something is different for every change of an object: the user, the time, and the stored object.
fn is_about_the_change(reference: &Reference) -> bool {
    let first = match reference.steps.first() {
        Some(Step::Member(name)) => name.as_str(),
        Some(Step::Each) | None => "",
    };
    match reference.name.as_str() {
        "object" | "params" | "variables" | "namespaceObject" => false,
        "facts" => first == "now",
        "request" => !OF_THE_OBJECT.contains(&first),
        _ => true,
    }
}

fn is_of_object(reference: &Reference) -> bool {
    reference.name == "object" || reference.name == "oldObject"
}

/// Returns whether the named field is the same in both objects. For items of a list, the whole list is compared.
fn is_same(reference: &Reference, object: &Value, old: &Value) -> bool {
    let members = reference.steps.iter().map_while(|step| match step {
        Step::Member(name) => Some(name.as_str()),
        Step::Each => None,
    });
    let members: Vec<&str> = members.collect();
    match members.as_slice() {
        [] => is_whole_the_same(object, old),
        ["metadata"] => is_metadata_the_same(object, old),
        members => {
            let find = |object| {
                members
                    .iter()
                    .try_fold(object, |value: &Value, name| value.get(*name))
            };
            find(object) == find(old)
        }
    }
}

fn is_whole_the_same(object: &Value, old: &Value) -> bool {
    are_the_same_but(object, old, &["metadata", "status"]) && is_metadata_the_same(object, old)
}

fn is_metadata_the_same(object: &Value, old: &Value) -> bool {
    let of = |object: &Value| object.get("metadata").cloned().unwrap_or_default();
    are_the_same_but(&of(object), &of(old), &BOOKKEEPING)
}

fn are_the_same_but(one: &Value, other: &Value, but: &[&str]) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else {
        return one == other;
    };
    let counts =
        |fields: &Map<String, Value>| fields.keys().filter(|name| !but.contains(&name.as_str())).count();
    let mut named = one.iter().filter(|(name, _)| !but.contains(&name.as_str()));
    counts(one) == counts(other) && named.all(|(name, value)| other.get(name) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Origin, Source};
    use serde_json::json;

    fn set(spec: &Value) -> PolicySet {
        let mut whole = json!({"matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"],
            "operations": ["*"], "resources": ["*"]}]}});
        json_patch::merge(&mut whole, spec);
        let document = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy",
            "metadata": {"name": "p"}, "spec": whole});
        let source = Source {
            origin: Origin::Hub,
            document,
        };
        let loaded = PolicySet::load(&[source], &[], &PolicySet::default());
        assert!(
            loaded.reports.iter().all(|one| one.faults.is_empty()),
            "{:?}",
            loaded.reports
        );
        loaded.set
    }

    fn checks(expression: &str) -> Value {
        json!({"validations": [{"id": "a", "expression": expression}]})
    }

    fn object(metadata: &Value) -> Value {
        json!({"metadata": metadata, "spec": {"a": 1, "list": [{"b": 1}]}})
    }

    #[test]
    fn a_policy_sees_what_its_text_names() {
        let (bare, labelled) = (
            object(&json!({"uid": "1"})),
            object(&json!({"labels": {"a": "b"}})),
        );
        let rows = [
            ("object.metadata.labels.a == 'b'", true),
            ("object.metadata.labels['a'] == 'b'", true),
            ("object.metadata['labels'].a == 'b'", true),
            ("has(object.metadata.labels)", true),
            ("object.metadata.?labels.?a.orValue('') == 'b'", true),
            ("[object].all(o, o.metadata.labels.a == 'b')", true),
            ("object == oldObject", true),
            ("oldObject.metadata.labels.a == 'b'", true),
            ("object.metadata.labels.c == 'b'", false),
            ("object.metadata.annotations.a == 'b'", false),
            ("object.spec.a == 1", false),
            ("object.spec.list.all(i, i.b == 1)", false),
            ("request.name == 'x'", false),
        ];
        for (text, expected) in rows {
            let set = set(&checks(text));
            let sees = !set.that_see_a_difference(&labelled, &bare).is_empty();
            assert_eq!(sees, expected, "{text}");
            assert!(set.that_see_a_difference(&bare, &bare).is_empty(), "{text}");
        }
        let selects = set(
            &json!({"matchConstraints": {"objectSelector": {"matchLabels": {"x": "y"}}},
            "validations": [{"expression": "object.spec.a == 1"}]}),
        );
        assert!(
            !selects.that_see_a_difference(&labelled, &bare).is_empty(),
            "a label may bring it into scope"
        );
    }

    #[test]
    fn a_rule_sees_the_same_while_what_it_names_stays() {
        let old = object(&json!({"labels": {"owner": "evil"}, "resourceVersion": "1"}));
        let new = object(&json!({"labels": {"owner": "evil", "x": "y"}, "resourceVersion": "2"}));
        let rows = [
            (checks("object.metadata.labels.owner != 'evil'"), true),
            (checks("object.metadata.labels.size() < 1"), false),
            (
                checks("request.userInfo.username == 'a' || object.metadata.labels.owner != 'evil'"),
                false,
            ),
            (checks("object.spec.a == oldObject.spec.a"), false),
            (checks("1 == 2"), false),
            (checks("size(object.metadata.name) > 300"), true),
            (
                json!({"variables": [{"name": "o", "expression": "object.metadata.labels"}, {"name": "p", "expression":
                    "variables.o"}], "validations": [{"id": "a", "expression": "variables.p.owner != 'evil'"}]}),
                false,
            ),
            (
                json!({"facts": ["now"], "validations": [{"id": "a", "expression": "object.spec.a == 1 || facts.now == ''"}]}),
                false,
            ),
        ];
        for (spec, expected) in rows {
            assert_eq!(
                set(&spec).sees_the_same("policy/p/a", &Path::root(), &new, &old),
                expected,
                "{spec}"
            );
        }
        let asking = json!({"facts": ["configs"], "validations": [{"id": "a", "expression":
            "object.metadata.?name.orValue('') == 'x' || facts.configs.all(c, c.supported)"}]});
        let mut moved = old.clone();
        moved["spec"]["a"] = json!(2);
        assert!(set(&asking).sees_the_same("policy/p/a", &Path::root(), &new, &old));
        assert!(
            !set(&asking).sees_the_same("policy/p/a", &Path::root(), &moved, &old),
            "other references may stand there"
        );
        let any = set(&checks("request.userInfo.username == 'a'"));
        let touched = object(&json!({"labels": {"owner": "evil"}, "resourceVersion": "9"}));
        assert!(
            any.sees_the_same("policy/p/a", &Path::root(), &touched, &old),
            "fields that the API server manages do not count"
        );
    }
}
