//! Configurations: which objects each instance should run with, and whose hash counts.
//!
//! `layers` says which references a layer gives, `notes` whose hash of an object counts, `effective` puts them together.

mod desired;
mod effective;
mod fault;
mod layers;
mod notes;
mod trouble;
mod versioned;
mod way_back;

pub(super) use desired::{Desired, Effective};
pub(super) use effective::{Common, Configs, effective};
pub(super) use fault::ConfigFault;
pub(super) use layers::{Source, is_protected, is_template, merges, set_aside, type_of};
pub(super) use trouble::{Trouble, trouble};
pub(super) use way_back::{WayBack, is_governed};
