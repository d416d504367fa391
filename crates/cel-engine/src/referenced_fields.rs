//! What an expression reads of a variable.
//!
//! Decides by the names alone: members that are selected directly, or the whole variable.

use super::ast::{bare_name, children, literal_text};
use ::cel::common::ast::{Expr, IdedExpr, operators};
use std::collections::BTreeSet;

/// Which top-level members of a value an expression reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReferencedFields {
    /// All: the value is used as a whole somewhere.
    All,
    /// These only, in the spelling of expressions.
    Fields(BTreeSet<String>),
}

impl ReferencedFields {
    /// Tells whether a member is read.
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Fields(fields) => fields.contains(name),
        }
    }

    /// Adds what another expression reads.
    #[must_use]
    pub fn join(self, other: &Self) -> Self {
        match (self, other) {
            (Self::Fields(mut fields), Self::Fields(more)) => {
                fields.extend(more.iter().cloned());
                Self::Fields(fields)
            }
            (Self::All, _) | (_, Self::All) => Self::All,
        }
    }
}

/// Returns which members of a variable an expression reads; `None` when it does not read it at all.
pub(super) fn referenced_fields(expr: &IdedExpr, variable: &str) -> Option<ReferencedFields> {
    let mut reads = Reads {
        variable,
        fields: BTreeSet::new(),
        whole: false,
        seen: false,
    };
    reads.visit(expr);
    match (reads.seen, reads.whole) {
        (false, _) => None,
        (true, true) => Some(ReferencedFields::All),
        (true, false) => Some(ReferencedFields::Fields(reads.fields)),
    }
}

/// Collects which members of a variable an expression reads.
struct Reads<'a> {
    variable: &'a str,
    fields: BTreeSet<String>,
    whole: bool,
    seen: bool,
}

impl Reads<'_> {
    fn visit(&mut self, expr: &IdedExpr) {
        match &expr.expr {
            Expr::Ident(name) if name == self.variable => {
                self.seen = true;
                self.whole = true;
            }
            Expr::Select(select) if self.is_variable(&select.operand) => self.field(&select.field),
            Expr::Call(call)
                if matches!(call.func_name.as_str(), operators::OPT_SELECT | operators::INDEX) =>
            {
                match call.args.as_slice() {
                    [operand, field] if self.is_variable(operand) => {
                        if let Some(name) = literal_text(field) {
                            self.field(name);
                        } else {
                            self.seen = true;
                            self.whole = true;
                            self.visit(field);
                        }
                    }
                    args => args.iter().for_each(|arg| self.visit(arg)),
                }
            }
            Expr::Unspecified
            | Expr::Ident(_)
            | Expr::Literal(_)
            | Expr::Call(_)
            | Expr::Comprehension(_)
            | Expr::List(_)
            | Expr::Map(_)
            | Expr::Select(_)
            | Expr::Struct(_) => children(expr).into_iter().for_each(|child| self.visit(child)),
        }
    }

    fn field(&mut self, name: &str) {
        self.seen = true;
        self.fields.insert(name.to_owned());
    }

    fn is_variable(&self, expr: &IdedExpr) -> bool {
        bare_name(expr) == Some(self.variable)
    }
}
