//! `tidegate policy`: users' own rules, before they reach a hub.
//!
//! `files` reads folders, `test` runs cases, `new` begins one, `lint` looks over, `bench` measures, `export` writes Kubernetes' own objects.

mod args;
mod bench;
mod export;
mod files;
mod form;
mod hub;
mod lint;
mod new;
mod run;
mod said;
mod test;

pub use args::{BenchArgs, ExportArgs, LintArgs, NewArgs, PolicyArgs, PolicyCommand, TestArgs, TestOutput};
pub(super) use export::written;
pub(super) use files::read_folder;
pub(super) use run::run;
pub use test::{CaseResult, Mutation, TestReport, run_tests};
