//! What a plan rests on, for every face that shows it.
//!
//! `rollout` is what has been decided about a rollout, `origin` what a cluster is rendered with and who says so.

mod origin;
mod rollout;

pub use crate::rollout::{Asked, AskedGroup};
pub use origin::{ConfigOrigin, FROM_INSTANCE, Origins, ValueOrigin, origins};
pub use rollout::*;
