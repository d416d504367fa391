//! The install kit, checks of a hub, and the way back to OCM's add-on manager.

pub mod doctor;
pub mod kit;
pub mod release;
pub mod versions;
