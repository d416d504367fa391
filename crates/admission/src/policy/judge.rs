//! Evaluates one policy for one request, with the semantics of Kubernetes.
//!
//! A false match condition takes precedence over any error, the failure policy decides about an error, and the message comes from
//! `messageExpression`, or else `message`, or else the expression. A panic or an exhausted budget is a finding of the policy that caused
//! it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cel_engine::admission_policy::{
    Annotation, Evaluate as _, FailurePolicy, Matched, ValidationResult, all_hold,
};
use serde_json::Value;

use super::binding::Binding;
use super::compile::{Check, Policy, SchemaPart};
use super::evaluation::{Act, Budget, Shared, Trouble};
use super::exception::with_excuse;
use super::expression::Expression;
use super::matching::{subject, unknown};
use super::outcome::{Actions, EvaluatedValidation, Finding, Judgement, Outcome, Saw};
use super::question::Question;
use kubernetes::field::{Class, Fault, Path};

/// The last part of a rule id for findings about a policy as a whole.
const WHOLE: &str = "match";
/// The maximum length of an audit annotation, in bytes.
const LONGEST_NOTE: usize = 10 * 1024;

/// Evaluates one policy for a request.
pub(super) fn judge<'v>(
    policy: &'v Policy,
    question: &Question<'v>,
    shared: &Shared<'_, 'v>,
    budget: &mut Budget,
) -> Outcome {
    let judged = catch_unwind(AssertUnwindSafe(|| {
        let mut outcome = Outcome::default();
        for binding in &policy.bindings {
            outcome.extend(bound(policy, binding, question, shared, budget));
        }
        outcome
    }));
    judged.unwrap_or_else(|_| Outcome {
        findings: vec![troubled(
            policy,
            Actions::DENY,
            WHOLE,
            &Path::root(),
            &Trouble::Failed("the evaluation failed because of a bug in Tidegate".to_owned()),
        )],
        ..Outcome::default()
    })
}

/// Returns whether a policy with one binding applies to a request.
pub(super) fn matched<'a>(policy: &'a Policy, binding: &'a Binding, question: &Question<'a>) -> Matched<'a> {
    let subject = subject(question);
    match (
        policy.matcher.matches(&subject),
        binding.matcher.matches(&subject),
    ) {
        (Matched::No, _) | (_, Matched::No) => Matched::No,
        (Matched::Unknown, _) | (_, Matched::Unknown) => Matched::Unknown,
        (yes @ Matched::Yes(_), Matched::Yes(_)) => yes,
    }
}

fn bound<'v>(
    policy: &'v Policy,
    binding: &'v Binding,
    question: &Question<'v>,
    shared: &Shared<'_, 'v>,
    budget: &mut Budget,
) -> Outcome {
    let mut outcome = Outcome::default();
    let whole = |trouble: &Trouble| troubled(policy, binding.actions, WHOLE, &Path::root(), trouble);
    let params = match matched(policy, binding, question) {
        Matched::No => return outcome,
        Matched::Unknown => Err(Trouble::NoNamespace(unknown(question))),
        Matched::Yes(_) => binding.params(question).map_err(Trouble::Failed),
    };
    match params {
        Err(trouble) => outcome.findings.push(whole(&trouble)),
        Ok(all) => {
            for params in all {
                let mut case = Case {
                    policy,
                    actions: binding.actions,
                    question: *question,
                    act: Act::begin(policy, params, shared, budget),
                    outcome: Outcome::default(),
                };
                case.run();
                outcome.extend(std::mem::take(&mut case.outcome));
                case.act.end(budget);
            }
        }
    }
    outcome
}

/// Returns whether all match conditions of a policy hold. A false one takes precedence over any error.
pub(super) fn conditions_hold(policy: &Policy, act: &Act<'_, '_>) -> Result<bool, Trouble> {
    let held = all_hold(policy.conditions.iter().map(|(name, condition)| {
        act.holds(condition).map_err(|trouble| match trouble {
            Trouble::Failed(words) => Trouble::Failed(format!("matchConditions[{name}]: {words}")),
            other @ (Trouble::Stopped(_) | Trouble::Unknown(_) | Trouble::NoNamespace(_)) => other,
        })
    }));
    // Only the first one is reported; the others are found when it is fixed.
    held.or_else(|troubles| troubles.into_iter().next().map_or(Ok(true), Err))
}

/// Returns the finding of an expression that has no value.
pub(super) fn troubled(
    policy: &Policy,
    actions: Actions,
    part: &str,
    path: &Path,
    trouble: &Trouble,
) -> Finding {
    let (judgement, words) = match trouble {
        Trouble::Failed(words) | Trouble::Stopped(words) => (Judgement::Failed, words.clone()),
        Trouble::NoNamespace(words) => (Judgement::NoNamespace, words.clone()),
        Trouble::Unknown(fact) => (
            Judgement::Unknown,
            format!("the fact \"{}\" is not known", fact.name()),
        ),
    };
    Finding {
        policy: policy.name.clone(),
        rule: policy.rule(part),
        judgement,
        actions: match (policy.on_failure, trouble) {
            (FailurePolicy::Fail, _) => actions,
            // The failure policy ignores the error, but the user should know that the object is too large to check.
            (FailurePolicy::Ignore, Trouble::Stopped(_)) => Actions::WARNED,
            // The failure policy ignores the error, and it is recorded.
            (FailurePolicy::Ignore, Trouble::Failed(_) | Trouble::Unknown(_) | Trouble::NoNamespace(_)) => {
                Actions::AUDIT
            }
        },
        path: place(trouble, path),
        fault: Fault::bare(
            Class::Internal,
            format!("policy {} cannot be evaluated: {words}", policy.name),
        ),
    }
}

/// Without another path the fault is at the spec, so that labels of a stored object can still be changed.
fn place(trouble: &Trouble, path: &Path) -> Path {
    match trouble {
        Trouble::Stopped(_) if *path == Path::root() => Path::root().key("spec"),
        Trouble::Stopped(_) | Trouble::Failed(_) | Trouble::Unknown(_) | Trouble::NoNamespace(_) => {
            path.clone()
        }
    }
}

/// One policy, with one set of params, and one request.
struct Case<'s, 'v> {
    policy: &'v Policy,
    actions: Actions,
    question: Question<'v>,
    act: Act<'s, 'v>,
    outcome: Outcome,
}

impl Case<'_, '_> {
    fn run(&mut self) {
        match conditions_hold(self.policy, &self.act) {
            Ok(true) => {}
            Ok(false) => return,
            Err(trouble) => return self.trouble(WHOLE, &Path::root(), &trouble),
        }
        let policy = self.policy;
        policy.validations.iter().for_each(|check| self.check(check));
        policy.schemas.iter().for_each(|part| self.fit(part));
        for (key, expression) in &policy.annotations {
            self.annotate(key, expression);
        }
    }

    fn trouble(&mut self, part: &str, path: &Path, trouble: &Trouble) {
        let finding = troubled(self.policy, self.actions, part, path, trouble);
        self.outcome.findings.push(finding);
    }

    fn saw(&mut self, part: &str, saw: Saw) {
        let rule = self.policy.rule(part);
        self.outcome.seen.push(EvaluatedValidation { rule, saw });
    }

    fn check(&mut self, check: &Check) {
        let trouble = match check.validation.judge(&self.act) {
            ValidationResult::Holds => return self.saw(&check.id, Saw::True),
            ValidationResult::Broken => {
                self.saw(&check.id, Saw::False);
                let message = check.validation.message(&self.act);
                let hint = check.suggestion.clone();
                return self.broken(&check.id, check.class, &check.path, message, hint);
            }
            ValidationResult::NotBool(_) => Trouble::not_bool(),
            ValidationResult::Failed(trouble) => trouble,
        };
        self.saw(&check.id, Saw::Error);
        self.trouble(&check.id, &check.path, &trouble);
    }

    fn broken(&mut self, part: &str, class: Class, path: &Path, message: String, suggestion: Option<String>) {
        let value = self.question.object.and_then(|object| path.lookup(object));
        let excused = self
            .policy
            .exceptions
            .iter()
            .find_map(|one| one.excuses(&self.question, part));
        let (actions, message) = match excused {
            Some(words) => (Actions::AUDIT, with_excuse(&message, words)),
            None => (self.actions, message),
        };
        let fault = match value {
            Some(value) if class == Class::Invalid && is_short(value) => Fault::of(class, value, message),
            Some(_) | None => Fault::bare(class, message),
        };
        self.outcome.findings.push(Finding {
            policy: self.policy.name.clone(),
            rule: self.policy.rule(part),
            judgement: Judgement::Broken,
            actions,
            path: path.clone(),
            fault: fault.hint_if(suggestion),
        });
    }

    fn fit(&mut self, part: &SchemaPart) {
        let answer = self.act.answer(&part.expression);
        let value = answer.and_then(|answer| answer.to_json().map_err(Trouble::Failed));
        let misfits = match value {
            Ok(Value::Null) => return,
            Ok(value) => part.fitting.misfits(&value, part.form),
            Err(trouble) => {
                self.saw(&part.id, Saw::Error);
                return self.trouble(&part.id, &part.path, &trouble);
            }
        };
        self.saw(&part.id, if misfits.is_empty() { Saw::True } else { Saw::False });
        for misfit in misfits {
            let steps = misfit.path.segments().iter();
            let path = steps.fold(part.path.clone(), |path, step| path.step(step.clone()));
            let hint = misfit.hint.or_else(|| part.suggestion.clone());
            self.broken(&part.id, Class::Invalid, &path, misfit.words, hint);
        }
    }

    fn annotate(&mut self, key: &str, expression: &Expression) {
        let trouble = match Annotation::of(expression, &self.act) {
            Annotation::None => return,
            Annotation::Text(text) => {
                let note = cut(&text, LONGEST_NOTE).to_owned();
                let key = format!("{}.{key}", self.policy.name);
                self.outcome.annotations.insert(key, note);
                return;
            }
            Annotation::NotText(found) => Trouble::Failed(format!("must be a string or null, is {found}")),
            Annotation::Failed(trouble) => trouble,
        };
        self.trouble(key, &Path::root(), &trouble);
    }
}

fn is_short(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn cut(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}
