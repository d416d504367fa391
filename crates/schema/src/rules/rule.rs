//! One `x-kubernetes-validations` rule, compiled.
//!
//! Holds the programs and what they need; never evaluates them.

use crate::error::ErrorClass;
use cel_engine::{Program, ReferencedFields};

/// A compiled rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The text of the rule, trimmed.
    pub(crate) text: String,
    pub(crate) program: Program,
    pub(crate) message: Option<String>,
    pub(crate) message_expression: Option<Program>,
    pub(crate) class: ErrorClass,
    /// The members that lead from the schema to the field that a violation names.
    pub(crate) field_path: Vec<Member>,
    /// Whether the rule or its message reads `oldSelf`: such a rule needs an old value.
    pub(crate) reads_old: bool,
    pub(crate) optional_old: bool,
}

/// One step of a `fieldPath`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    /// `.name`
    Field(String),
    /// `['key']` of a map.
    Key(String),
}

impl Rule {
    /// Returns the message of a violation when no expression makes one.
    pub(crate) fn fixed_message(&self) -> String {
        self.message
            .clone()
            .unwrap_or_else(|| format!("failed rule: {}", self.text))
    }

    /// Returns what names the rule in the text of an evaluation error.
    pub(crate) fn label(&self) -> &str {
        self.message.as_deref().unwrap_or(&self.text)
    }
}

/// All rules of one schema.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) list: Vec<Rule>,
    /// Why others do not compile: only defaults of a schema that is refused meet them.
    pub(crate) broken: Vec<String>,
    pub(crate) reading: Reading,
}

impl Rules {
    /// Adds a rule.
    pub(crate) fn push(&mut self, rule: Rule) {
        self.reading.add(&rule.program);
        if let Some(program) = &rule.message_expression {
            self.reading.add(program);
        }
        self.list.push(rule);
    }
}

/// What all rules of one schema read together.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(super) of_self: Option<ReferencedFields>,
    pub(super) of_old: Option<ReferencedFields>,
}

impl Reading {
    /// Adds what one program reads.
    pub(crate) fn add(&mut self, program: &Program) {
        let join = |all: Option<ReferencedFields>, more: Option<ReferencedFields>| match (all, more) {
            (Some(all), Some(more)) => Some(all.join(&more)),
            (None, more) => more,
            (all, None) => all,
        };
        self.of_self = join(self.of_self.take(), program.referenced_fields("self"));
        self.of_old = join(self.of_old.take(), program.referenced_fields("oldSelf"));
    }
}
