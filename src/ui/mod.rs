//! A web page that shows rollouts, and its authentication.
//!
//! Decides who may see what of the cockpit's pictures, and over which requests. Never decides what a picture says, changes nothing on a
//! hub, and answers nothing but GET: what it shows a person, the hub would show that person.

mod access;
mod answer;
mod assets;
mod guard;
mod listener;
mod places;
mod reviews;
mod route;
mod state;
mod stream;
mod viewers;
mod visibility;

pub use listener::{Page, PageOptions, Visitors};
pub use state::{Ask, Sources, Token};
pub use viewers::Interest;
