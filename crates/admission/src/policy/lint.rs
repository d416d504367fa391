//! Warnings about policies that compile: names that no expression reads, fields that the schema of the object does not have or that may
//! be absent, nested loops, and resources that the webhook is not called for. A warning does not prevent that a policy is active.

use std::collections::BTreeSet;

use cel_engine::Step;
use cel_engine::admission_policy::names_resource;
use jiff::Timestamp;
use serde_json::Value;

use super::absent_fields::may_be_absent;
use super::compile::Policy;
use super::document::{Kind, Origin};
use super::export::{hindrances, is_foreign};
use super::fault::PolicyFault;
use super::mutate::NO_NAME_YET;
use super::set::PolicySet;
use api::names::OWN_GROUP;
use api::v1alpha1::{GROUP, ResourceRule, VERSION};
use kubernetes::field::{Path, WORDS_OF_IMMUTABLE_FIELDS, nearest, quoted};
use schema::METADATA_FIELDS;

/// The number of nested loops with which a policy may exceed its budget on an ordinary object.
const DEEP: usize = 5;

/// A warning about a policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// Name of the policy.
    pub policy: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its origin.
    pub origin: Origin,
    /// Whether it is written in the former group of its kind.
    pub is_former: bool,
    /// The warning, with a position if it is about an expression.
    pub fault: PolicyFault,
}

/// Returns the schema of a kind of object, by group and plural name of the resource.
pub type Schemas<'a> = dyn Fn(&str, &str) -> Option<Value> + 'a;

/// The resources that policies are evaluated for: group and plural name.
pub type Resources<'a> = [(&'a str, &'a str)];

/// The operations that policies are evaluated for.
const OPERATIONS: [&str; 4] = ["*", "CREATE", "UPDATE", "DELETE"];

/// Checks every policy of a set. The second part of the result contains the names of those that can be exported.
pub fn lint(
    set: &PolicySet,
    schemas: &Schemas<'_>,
    evaluated: &Resources<'_>,
    now: Option<Timestamp>,
) -> (Vec<Note>, Vec<String>) {
    let mut notes = Vec::new();
    let mut native = Vec::new();
    for policy in set.policies() {
        let mut faults = Vec::new();
        former(policy, &mut faults);
        unread(policy, &mut faults);
        unnamed(policy, &mut faults);
        like_immutable(policy, &mut faults);
        let rules = policy.spec.match_constraints.as_ref();
        let definitions = rules.and_then(|one| definitions(&one.resource_rules, schemas));
        let definitions = definitions.unwrap_or_default();
        strange_fields(policy, &definitions, &mut faults);
        may_be_absent(policy, &definitions, &mut faults);
        name_in_mutations(policy, &mut faults);
        calls(policy, &mut faults);
        times(policy, now, &mut faults);
        not_evaluated(policy, evaluated, &mut faults);
        creations_only(policy, &mut faults);
        faults.sort();
        faults.dedup();
        notes.extend(faults.into_iter().map(|fault| note(policy, fault)));
        if hindrances(policy).is_empty() {
            native.push(policy.name.to_string());
        }
    }
    (notes, native)
}

/// Returns the policies of a set that match something for which they are never evaluated.
pub fn lint_scope(set: &PolicySet, evaluated: &Resources<'_>) -> Vec<Note> {
    notes(set, |policy, faults| not_evaluated(policy, evaluated, faults))
}

/// Returns the reads of metadata that does not exist or that may be absent.
pub fn lint_metadata(set: &PolicySet) -> Vec<Note> {
    notes(set, |policy, faults| {
        strange_fields(policy, &[], faults);
        may_be_absent(policy, &[], faults);
    })
}

fn notes(set: &PolicySet, check: impl Fn(&Policy, &mut Vec<PolicyFault>)) -> Vec<Note> {
    let of = |policy| {
        let mut faults = Vec::new();
        check(policy, &mut faults);
        faults.into_iter().map(move |fault| note(policy, fault))
    };
    set.policies().flat_map(of).collect()
}

fn note(policy: &Policy, fault: PolicyFault) -> Note {
    Note {
        policy: policy.name.to_string(),
        kind: policy.kind.name(),
        origin: policy.origin.clone(),
        is_former: policy.is_former,
        fault,
    }
}

/// Resources and operations of the match constraints for which the webhook is not called.
fn not_evaluated(policy: &Policy, evaluated: &Resources<'_>, faults: &mut Vec<PolicyFault>) {
    let Some(constraints) = &policy.spec.match_constraints else {
        return;
    };
    let root = Path::parse("spec.matchConstraints.resourceRules");
    for (index, rule) in constraints.resource_rules.iter().enumerate() {
        let at = root.index(index);
        let operations = &rule.operations;
        if !operations.is_empty() && !operations.iter().any(|one| OPERATIONS.contains(&one.as_str())) {
            let words = format!(
                "the webhook is called for creations, updates and deletions, not for {}",
                operations.join(", ")
            );
            faults.push(PolicyFault::at(at.key("operations"), words));
        }
        for (place, resource) in rule.resources.iter().enumerate() {
            let is_one = |(group, plural): &(&str, &str)| {
                names_resource(resource, plural, "")
                    && rule.api_groups.iter().any(|one| one == "*" || one == group)
            };
            if !evaluated.iter().any(is_one) {
                let of = match rule.api_groups.join(", ") {
                    groups if groups.is_empty() => "of the core group".to_owned(),
                    groups => format!("of {groups}"),
                };
                let words = format!(
                    "the webhook is not called for {resource} {of}: the policy is never evaluated for them"
                );
                faults.push(PolicyFault::at(at.key("resources").index(place), words));
            }
        }
    }
}

/// Validations of creations that an update can evade: what is rejected in a new object can be added to it later.
fn creations_only(policy: &Policy, faults: &mut Vec<PolicyFault>) {
    let Some(constraints) = &policy.spec.match_constraints else {
        return;
    };
    let rules = &constraints.resource_rules;
    let has = |operations: &[String], word: &str| operations.iter().any(|one| one == word);
    let sees_updates = |rule: &ResourceRule| has(&rule.operations, "*") || has(&rule.operations, "UPDATE");
    if policy.spec.validations.is_empty() || rules.iter().any(sees_updates) {
        return;
    }
    // What depends on the user or on params alone cannot be added to an object.
    let is_of_object = |id: &str| policy.reads_object(id) && policy.change_read_by(id).is_none();
    if !policy.validations.iter().any(|check| is_of_object(&check.id)) {
        return;
    }
    let root = Path::parse("spec.matchConstraints.resourceRules");
    for (index, rule) in rules.iter().enumerate() {
        if has(&rule.operations, "CREATE") {
            let words = "the policy is evaluated for creations and not for updates: what it rejects can be added by an update";
            faults.push(PolicyFault::at(root.index(index).key("operations"), words));
        }
    }
}

/// A policy in the former API group of its kind.
fn former(policy: &Policy, faults: &mut Vec<PolicyFault>) {
    if policy.is_former {
        let words = format!(
            "{GROUP} is deprecated and is supported for one more release; write {OWN_GROUP}/{VERSION}"
        );
        faults.push(PolicyFault::at(Path::parse("apiVersion"), words));
    }
}

fn unread(policy: &Policy, faults: &mut Vec<PolicyFault>) {
    let root = Path::parse("spec");
    let read = |name: &str| policy.expressions().any(|(_, one)| one.variables.contains(name));
    for (index, (name, _)) in policy.variables.iter().enumerate() {
        if !read(name) {
            let words = format!("no expression reads variables.{name}");
            faults.push(PolicyFault::at(root.key("variables").index(index), words));
        }
    }
    for (index, fact) in policy.facts.iter().enumerate() {
        if !policy.expressions().any(|(_, one)| one.facts.contains(fact)) {
            let words = format!("no expression reads facts.{}", fact.name());
            faults.push(PolicyFault::at(root.key("facts").index(index), words));
        }
    }
    let reads_params = policy
        .expressions()
        .any(|(_, one)| one.references.iter().any(|reference| reference.name == "params"));
    if policy.spec.params.is_some() && !reads_params {
        faults.push(PolicyFault::at(root.key("params"), "no expression reads params"));
    }
    if policy.bindings.is_empty() {
        faults.push(PolicyFault::at(
            root,
            "no binding names this policy: it has no effect",
        ));
    }
}

/// Messages that Flux mistakes for those of immutable fields.
fn like_immutable(policy: &Policy, faults: &mut Vec<PolicyFault>) {
    for (index, raw) in policy.spec.validations.iter().enumerate() {
        let path = Path::parse("spec").key("validations").index(index);
        for (name, text) in [
            ("message", &raw.message),
            ("messageExpression", &raw.message_expression),
        ] {
            let mut words = WORDS_OF_IMMUTABLE_FIELDS.iter();
            if let Some(words) = words.find(|words| text.contains(*words)) {
                let said = format!(
                    "contains {}: with force, Flux deletes and recreates an object if the rejection contains these words; the webhook \
                     prevents that, a native policy does not; write \"cannot be changed\"",
                    quoted(words)
                );
                faults.push(PolicyFault::at(path.key(name), said));
            }
        }
    }
}

/// Validations without an id, a field path or a message.
fn unnamed(policy: &Policy, faults: &mut Vec<PolicyFault>) {
    if policy.kind != Kind::AddOnPolicy {
        return;
    }
    for (index, raw) in policy.spec.validations.iter().enumerate() {
        let path = Path::parse("spec").key("validations").index(index);
        if raw.id.is_empty() {
            faults.push(PolicyFault::at(
                path.clone(),
                "has no id: the id of its rule is its position, which changes when validations are added",
            ));
        }
        let read = policy.validations.get(index);
        let read = read.and_then(|one| policy.change_read_by(&one.id));
        match (raw.field_path.is_empty(), read) {
            (true, None) => faults.push(PolicyFault::at(
                path.clone(),
                "has no fieldPath: the message does not name a field",
            )),
            (false, Some(read)) => {
                let words = format!(
                    "reads {read}: a policy that checks the change also refuses violations that are already stored, at every update \
                     that it matches; fieldPath only names the field in the message"
                );
                faults.push(PolicyFault::at(path.key("fieldPath"), words));
            }
            // A policy about the change needs no fieldPath, because another warning reports one that has it.
            (true, Some(_)) | (false, None) => {}
        }
        if raw.message.is_empty() && raw.message_expression.is_empty() {
            faults.push(PolicyFault::at(path, "has no message: users see the expression"));
        }
    }
}

/// Fields of the object that no schema of its resources has. Without schemas, only the metadata is known.
fn strange_fields(policy: &Policy, definitions: &[Value], faults: &mut Vec<PolicyFault>) {
    for (path, expression) in policy.expressions() {
        let objects = expression.references.iter();
        for reference in objects.filter(|reference| matches!(reference.name.as_str(), "object" | "oldObject"))
        {
            let misses: Vec<(String, Option<String>)> = match reference.steps.as_slice() {
                [Step::Member(first), rest @ ..] if first == "metadata" => {
                    unknown_metadata(rest).into_iter().collect()
                }
                steps => {
                    let misses = definitions.iter().map(|definition| miss(definition, steps));
                    misses.collect::<Option<_>>().unwrap_or_default()
                }
            };
            if let Some((name, near)) = misses.into_iter().next() {
                let hint = near.map(|near| format!("; did you mean {}?", quoted(&near)));
                let words = format!("undefined field '{name}'{}", hint.unwrap_or_default());
                let source = expression.program.source();
                faults.push(PolicyFault::in_text(path.clone(), reference.place, words, source));
            }
        }
    }
}

/// Mutations that read the name of the object, which is not set yet with `generateName`.
fn name_in_mutations(policy: &Policy, faults: &mut Vec<PolicyFault>) {
    if policy.mutations.is_empty() {
        return;
    }
    let name = [
        Step::Member("metadata".to_owned()),
        Step::Member("name".to_owned()),
    ];
    for (path, expression) in policy.expressions() {
        let reads = |tested: bool| {
            let mut all = expression.references.iter();
            all.find(|one| one.name == "object" && one.steps == name && one.tested == tested)
        };
        let source = expression.program.source();
        let is_guarded = reads(true).is_some() || source.contains("metadata.?name");
        if let Some(reference) = reads(false).filter(|_| !is_guarded) {
            let words = format!("fails for an object with generateName: {NO_NAME_YET}");
            faults.push(PolicyFault::in_text(path, reference.place, words, source));
        }
    }
}

/// Returns the schemas of all resources that the rules name; `None` when one of them is not known.
fn definitions(rules: &[ResourceRule], schemas: &Schemas<'_>) -> Option<Vec<Value>> {
    let mut found = Vec::new();
    for rule in rules {
        for group in &rule.api_groups {
            for resource in &rule.resources {
                found.push(schemas(group, resource)?);
            }
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Returns the first step below metadata if no object has it, and what was probably meant.
fn unknown_metadata(steps: &[Step]) -> Option<(String, Option<String>)> {
    let Some(Step::Member(name)) = steps.first() else {
        return None;
    };
    let near = || nearest(name, METADATA_FIELDS).map(ToOwned::to_owned);
    (!METADATA_FIELDS.contains(&name.as_str())).then(|| (name.clone(), near()))
}

/// Returns the first step that a schema does not have, and what was probably meant.
fn miss(definition: &Value, steps: &[Step]) -> Option<(String, Option<String>)> {
    let mut schema = definition;
    for (depth, step) in steps.iter().enumerate() {
        let open = schema.get("x-kubernetes-preserve-unknown-fields").is_some();
        schema = match step {
            Step::Each => schema.get("items")?,
            Step::Member(name) => {
                if depth == 0 && matches!(name.as_str(), "apiVersion" | "kind") {
                    return None;
                }
                let known = schema.get("properties").and_then(Value::as_object);
                match (known.and_then(|known| known.get(name)), known) {
                    (Some(inner), _) => inner,
                    (None, Some(known)) if !open => {
                        let near = nearest(name, known.keys().map(String::as_str));
                        return Some((name.clone(), near.map(ToOwned::to_owned)));
                    }
                    (None, _) => return None,
                }
            }
        };
    }
    None
}

fn calls(policy: &Policy, faults: &mut Vec<PolicyFault>) {
    for (path, expression) in policy.expressions() {
        let foreign: BTreeSet<String> = expression.program.functions();
        for name in foreign.iter().filter(|name| is_foreign(name)) {
            let words = format!(
                "{name}() is a function of Tidegate, which the API server of Kubernetes does not have"
            );
            faults.push(PolicyFault::at(path.clone(), words));
        }
        let loops = expression.program.loops();
        if loops >= DEEP {
            let words =
                format!("{loops} nested loops: with long lists the policy may exceed its cost budget");
            faults.push(PolicyFault::at(path, words));
        }
    }
}

fn times(policy: &Policy, now: Option<Timestamp>, faults: &mut Vec<PolicyFault>) {
    let Some(now) = now else {
        return;
    };
    for (index, exception) in policy.exceptions.iter().enumerate() {
        if exception.has_ended(now) {
            let path = Path::parse("spec").key("exceptions").index(index);
            faults.push(PolicyFault::at(path, "has ended and has no effect"));
        }
    }
}
