//! A web page that shows rollouts, and the door that it is behind.
//!
//! Decides who may see what of the cockpit's pictures, and over which requests. Never decides what a picture says, changes nothing on a
//! hub, and answers nothing but GET: what it shows a person, the hub would show that person.

mod access;
mod answer;
mod assets;
mod followers;
mod guard;
mod interest;
mod listener;
mod packed;
mod places;
mod reviews;
mod route;
mod state;
mod stream;
mod visibility;

pub use interest::Interest;
pub use listener::{Page, PageOptions, Visitors};
pub use state::{Ask, Sources, Token};
