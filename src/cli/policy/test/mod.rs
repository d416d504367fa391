//! `tidegate policy test`: cases of policies, and what they cover.
//!
//! `suite` is the form of a file, `case` runs one case, `expect` compares, `run` does all files and counts, `junit` is its report for CI systems,
//! `mutation` looks for mistakes that no case notices.

mod case;
mod expect;
mod junit;
mod mutation;
mod run;
mod suite;

pub use mutation::Mutation;
pub use run::{CaseResult, TestReport, run_tests};
pub(super) use run::{reads, run};
