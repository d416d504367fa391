//! The web page, as `serve` and `dev` serve it.
//!
//! Joins the room that serves it with the hub that it shows.

mod args;
mod asks;
mod follow;

pub use args::UiArgs;
pub(super) use follow::{Hub, Watched, begin};
