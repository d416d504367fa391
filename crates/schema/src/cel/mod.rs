//! Table of contents of the one door to the CEL engine: compile, check, evaluate within a budget.

mod convert;
mod engine;
mod library;
mod literals;
mod meter;
mod names;
mod program;
mod scope;
mod stage;
mod survey;
mod typing;

pub(crate) use meter::Budget;
pub use program::Program;
pub use stage::{Answer, Failure, Stage};
pub use survey::{Mention, ResultKind, Step};
pub(crate) use program::{CompileError, EvalError};
pub(crate) use scope::{Place, Reading, Scope};
pub(crate) use typing::{Wanted, check};
