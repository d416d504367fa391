//! The program of a third-party add-on, as a neighbour of whatever manages the hub's add-ons: what addon-framework writes, and nothing of
//! a manager's part. Opt-in: no fleet starts one.

mod conditions;
mod decide;
mod framework;
mod hosted;
mod json;
mod run;

pub use decide::{Key, Scene, Write, decide};
pub use framework::{ConfigKind, Framework, Generation};
pub use run::{Neighbour, NeighbourError};
