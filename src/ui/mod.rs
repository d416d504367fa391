//! A web page that shows rollouts, and its authentication.
//!
//! Decides who may see what of the cockpit's pictures, and over which requests. Never decides what a picture says. What a user sees and
//! does here, the hub allows that user: an action is sent to the hub with the token of the user, and with no other credential.

mod access;
mod action;
mod answer;
mod assets;
mod fleet;
mod guard;
mod listener;
mod places;
mod reviews;
mod route;
mod state;
mod stream;
mod viewers;
mod visibility;

pub use action::{Action, FreezeAction, FreezeWish, NotDone};
pub use listener::{Page, PageOptions, Visitors};
pub use state::{About, Ask, Sources, Token};
pub use viewers::Interest;
