//! Table of contents of the one door to the CEL engine: compile, check, evaluate within a budget.

mod ast;
mod budget;
mod convert;
mod detach;
mod diagnose;
mod engine;
mod library;
mod lower;
mod macros;
mod members;
mod meter;
mod names;
mod nesting;
mod objects;
mod overloads;
mod payment;
mod program;
mod reads;
mod run;
mod scope;
mod stack;
mod stage;
mod survey;
mod texts;
mod typed;
mod typing;
mod variables;

pub use budget::Budget;
pub use diagnose::{CompileError, Fault};
pub use library::{Access, Authority, Decision};
pub use program::{EvalError, Program, Purpose};
pub(crate) use scope::{Place, Reading, Scope};
pub use stage::{Answer, Failure, Stage};
pub use survey::{Mention, ResultKind, Step};
pub use typed::Typed;
pub(crate) use typing::{Wanted, check, is_typed};
