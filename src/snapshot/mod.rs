//! The snapshot room.

mod facts;

pub use facts::{AddonFacts, AddonPlacement, CreationTemplate, Facts};
