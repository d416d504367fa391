//! CEL as Kubernetes speaks it: compile, check, evaluate within a budget, with the libraries of its API server.
//!
//! Decides what an expression evaluates to, what it costs and which words its failures have. Never decides what a variable
//! stands for nor what an answer means: schemas, policies and conditions bind the one and judge the other. `ast`, `convert`,
//! `names`, `plain` and `engine` are open to those that type values better than their JSON does.

mod activation;
pub mod admission_policy;
pub mod ast;
pub mod convert;
mod cost;
mod detach;
mod diagnose;
mod engine;
mod library;
mod lower;
mod macros;
mod members;
pub mod names;
mod nesting;
mod objects;
pub mod plain;
mod program;
mod referenced_fields;
mod references;
mod run;
mod stack;
mod stop;
mod texts;
pub mod typecheck;
mod typed;
mod variables;

pub use activation::{Activation, Evaluated, Failure};
pub use cost::Budget;
pub use diagnose::{CompileError, Fault};
pub use engine::{Purpose, engine, usable_message};
pub use library::{Access, Authority, Decision};
pub use program::{EvalError, Program};
pub use referenced_fields::ReferencedFields;
pub use references::{Reference, ResultKind, Step};
pub use stop::Stop;
pub use typed::Typed;
