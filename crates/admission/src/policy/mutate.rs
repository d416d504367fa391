//! Mutations: the changes that policies make to an object before it is checked.
//!
//! Policies run in the order of their names, each on the result of those before it. The changes of one policy are made together or not
//! at all.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cel_engine::admission_policy::{Evaluate as _, Matched};
use json_patch::{Patch, PatchOperation};
use serde_json::Value;

use super::compile::{MutationPart, Policy};
use super::evaluation::{Act, Budget, FactValues, Trouble, activation, facts, units};
use super::judge::{conditions_hold, matched, troubled};
use super::matching::unknown;
use super::outcome::{Actions, Finding};
use super::patch::{merged, operations};
use super::question::Question;
use super::set::PolicySet;
use kubernetes::field::Path;

/// The changes of all policies to one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mutated {
    /// The changes, in their order.
    pub patch: Patch,
    /// The findings of policies whose changes failed.
    pub findings: Vec<Finding>,
}

impl PolicySet {
    /// Returns the changes of the policies to the object of a request.
    pub fn mutate(&self, question: &Question<'_>) -> Mutated {
        let mut mutated = Mutated::default();
        let Some(object) = question.object else {
            return mutated;
        };
        let policies: Vec<&Policy> = self
            .policies()
            .filter(|policy| is_about(policy, question))
            .collect();
        if policies.is_empty() {
            return mutated;
        }
        let facts = facts(policies.iter().copied(), question);
        let (mut object, mut budget) = (object.clone(), Budget::full());
        for policy in policies {
            let changed = catch_unwind(AssertUnwindSafe(|| {
                changes(policy, question, &object, &facts, &mut budget)
            }));
            let changed = changed.unwrap_or_else(|_| {
                Err((
                    "mutations".to_owned(),
                    Trouble::Failed("the evaluation failed because of a bug in Tidegate".to_owned()),
                ))
            });
            match changed {
                Ok(changes) => {
                    // They have already been applied to this object.
                    let _fits = json_patch::patch(&mut object, &changes);
                    mutated.patch.0.extend(changes);
                }
                Err((part, trouble)) => {
                    let mut finding = troubled(policy, Actions::DENY, &part, &Path::root(), &trouble);
                    let lacks_name = awaits_name(&object) && is_about_the_name(&trouble);
                    finding.fault = finding.fault.hint_if(lacks_name.then_some(NO_NAME_YET));
                    mutated.findings.push(finding);
                }
            }
        }
        mutated
    }
}

/// How to write a mutation for objects that have no name yet.
pub(super) const NO_NAME_YET: &str = "the API server replaces generateName with a name after mutations; write object.metadata.?name.orValue('')";

/// Returns whether the API server has not generated the name of an object yet.
pub fn awaits_name(object: &Value) -> bool {
    let is_given = |field: &str| {
        let name = object.pointer(field).and_then(Value::as_str);
        name.is_some_and(|name| !name.is_empty())
    };
    !is_given("/metadata/name") && is_given("/metadata/generateName")
}

fn is_about_the_name(trouble: &Trouble) -> bool {
    matches!(trouble, Trouble::Failed(words) if words.ends_with("no such key: name"))
}

fn is_about(policy: &Policy, question: &Question<'_>) -> bool {
    !policy.mutations.is_empty()
        && policy
            .bindings
            .iter()
            .any(|binding| matched(policy, binding, question) != Matched::No)
}

/// The path of the failed part, and the reason.
type Failed = (String, Trouble);

fn changes(
    policy: &Policy,
    question: &Question<'_>,
    object: &Value,
    facts: &FactValues,
    budget: &mut Budget,
) -> Result<Vec<PatchOperation>, Failed> {
    let whole = |trouble: Trouble| ("match".to_owned(), trouble);
    let size = units(object);
    // A copy of the object, to which the changes are applied.
    budget.take(size);
    let mut draft = object.clone();
    let mut all = Vec::new();
    for binding in &policy.bindings {
        let params = match matched(policy, binding, question) {
            Matched::No => continue,
            Matched::Unknown => Err(Trouble::NoNamespace(unknown(question))),
            Matched::Yes(_) => binding.params(question).map_err(Trouble::Failed),
        };
        for params in params.map_err(whole)? {
            for mutation in &policy.mutations {
                // Every mutation works on the result of the one before it.
                budget.take(size.saturating_mul(2));
                let made = run(policy, mutation, params, question, &draft, facts, budget);
                let made = made?;
                json_patch::patch(&mut draft, &made)
                    .map_err(|error| (mutation.id.clone(), Trouble::Failed(error.to_string())))?;
                all.extend(made);
            }
        }
    }
    Ok(all)
}

fn run(
    policy: &Policy,
    mutation: &MutationPart,
    params: &Value,
    question: &Question<'_>,
    object: &Value,
    facts: &FactValues,
    budget: &mut Budget,
) -> Result<Vec<PatchOperation>, Failed> {
    let asked = Question {
        object: Some(object),
        ..*question
    };
    let shared = activation(&asked, facts);
    let act = Act::begin(policy, params, &shared, budget);
    let made = match conditions_hold(policy, &act) {
        Ok(true) => made(&act, mutation, object),
        Ok(false) => Ok(Vec::new()),
        Err(trouble) => Err(("match".to_owned(), trouble)),
    };
    act.end(budget);
    made
}

fn made(act: &Act<'_, '_>, mutation: &MutationPart, object: &Value) -> Result<Vec<PatchOperation>, Failed> {
    let answer = act.answer(&mutation.expression);
    let value = answer.and_then(|answer| answer.to_json().map_err(Trouble::Failed));
    let made = value.and_then(|value| {
        let made = if mutation.merges {
            merged(&value, object, mutation.leave)
        } else {
            operations(&value, object, mutation.leave)
        };
        made.map_err(Trouble::Failed)
    });
    made.map_err(|trouble| (mutation.id.clone(), trouble))
}
