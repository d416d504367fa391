//! How add-ons go back to OCM's add-on manager, and what Tidegate needs where that manager is off.
//!
//! A table of contents. `steps` decides what of an add-on was Tidegate's alone, `bindings` which rights to copy, `leader` whether a
//! Tidegate is still at work, `objects` which objects are of an add-on. Never reads or writes a hub.

mod bindings;
mod leader;
mod objects;
mod steps;

pub use bindings::{Account, copies};
pub use leader::{is_alive, is_ours};
pub use objects::{path, report_line};
pub use steps::{Act, RemovableObjects, Step, left, steps, twin_of};
