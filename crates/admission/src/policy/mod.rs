//! Policies: rules that users write, with the fields of Kubernetes' admission policies.
//!
//! A set of policies is immutable and replaced as a whole. The caller provides the object, the request and the facts.

mod absent_fields;
mod binding;
mod compile;
mod document;
mod evaluation;
mod exception;
mod export;
mod expression;
mod fault;
mod judge;
mod lint;
mod matching;
mod mutant;
mod mutate;
mod native;
mod outcome;
mod patch;
mod question;
mod reads;
mod salvage;
mod set;
mod values;

#[cfg(test)]
mod semantics_tests;

pub use document::{Origin, Source, is_former, is_policy};
pub use exception::is_excused;
pub use export::{NotNative, native};
pub use fault::{Caret, PolicyFault};
pub use lint::{Note, Resources, Schemas, lint, lint_metadata, lint_scope};
pub use mutant::{Mutant, mutants};
pub use mutate::{Mutated, awaits_name};
pub use outcome::{EvaluatedValidation, Finding, Judgement, Outcome, Saw};
pub use question::{Fact, KnownFacts, NoFacts, Question, Target};
pub use set::{InForce, Loaded, PolicySet, Report};
