//! `tidegate definitions`: Tidegate's fields in the definitions of a hub that has Open Cluster Management.
//!
//! `args` are the words, `hub` reads and patches, `run` joins them. What is added, `definitions` decides.

mod args;
mod hub;
mod run;

pub use args::{ApplyArgs, DefinitionsArgs, DefinitionsCommand, DefinitionsPlanArgs, RevertArgs};
pub(super) use run::run;
