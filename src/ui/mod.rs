//! The ui room: a web page that shows rollouts, and the door that it is behind.
//!
//! Decides who may see what of the cockpit's pictures, and over which requests. Never decides what a picture says, changes nothing on a
//! hub, and answers nothing but GET: what it shows a person, the hub would show that person.

mod access;
mod answer;
mod assets;
mod delta;
mod desk;
mod entrance;
mod guard;
mod interest;
mod packed;
mod reviews;
mod route;
mod sight;
mod stream;

pub use desk::{Ask, Scene, Scenes, Token};
pub use entrance::{Page, PageOptions, Visitors};
pub use interest::Interest;
