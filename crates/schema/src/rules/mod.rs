//! Table of contents of the rules of schemas: what they hold, how they are checked and evaluated.

mod escaping;
mod evaluate;
mod overloads;
mod rule;
mod scope;
mod typing;
mod values;

pub(crate) use evaluate::{Findings, check, check_default};
pub(crate) use rule::{Member, Rule, Rules};
pub(crate) use typing::{OldSelf, Wanted, check_expression, is_typed};
