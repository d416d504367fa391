//! Configurations: which objects each instance should run with, and whose hash counts.
//!
//! `layers` says which references a layer gives, `notes` whose hash of an object counts, `effective` puts them together.

mod effective;
mod fault;
mod layers;
mod notes;
mod versioned;

pub(super) use effective::{Common, Configs, Desired, Effective, effective};
pub(super) use fault::{Trouble, trouble};
pub(super) use layers::{Source, is_protected, is_template, set_aside, type_of};
