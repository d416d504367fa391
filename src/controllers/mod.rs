//! The controllers room: watches in, plans out to the hub.
//!
//! Decides nothing about add-ons; `plan` does. Only `apply` writes; `herald` tells of it in events.

mod apply;
mod audit;
mod cause;
mod der;
mod drive;
mod events;
mod herald;
mod lookout;
mod pauses;
mod policies;
mod queue;
mod raw;
mod second_look;
mod sign;
mod tide;
mod watch;

pub use events::EventBudget;
pub use policies::{PolicyDocuments, PolicyWatch};
pub use tide::{Progress, StartError, Tide, TideOptions};
