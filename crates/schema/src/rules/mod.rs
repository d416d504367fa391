//! Table of contents of the rules of schemas: what they hold, how they are checked and evaluated.

mod escaping;
mod evaluate;
mod overloads;
mod reading;
mod rule;
mod scope;
mod typing;
mod values;

pub(crate) use evaluate::{Findings, check, check_default};
pub(crate) use rule::{Member, Rule, Rules};
pub(crate) use typing::{Wanted, check_expression, is_typed};
