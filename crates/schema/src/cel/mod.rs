//! Table of contents of the one door to the CEL engine: compile, check, evaluate within a budget.
//!
//! `ast`, `convert`, `names` and `plain` are open to the rules of schemas, which type by schema what others bind by its
//! JSON type.

pub(crate) mod ast;
mod budget;
pub(crate) mod convert;
mod detach;
mod diagnose;
mod engine;
mod library;
mod lower;
mod macros;
mod members;
mod meter;
mod misuse;
pub(crate) mod names;
mod nesting;
mod objects;
mod payment;
pub(crate) mod plain;
mod program;
mod reads;
mod run;
mod stack;
mod stage;
mod survey;
mod texts;
mod typed;
mod variables;

pub use budget::Budget;
pub use diagnose::{CompileError, Fault};
pub(crate) use engine::engine;
pub use library::{Access, Authority, Decision};
pub use misuse::Purpose;
pub use program::{EvalError, Program};
pub(crate) use reads::Needs;
pub use stage::{Answer, Failure, Stage};
pub use survey::{Mention, ResultKind, Step};
pub use typed::Typed;
