//! The policies stage: evaluates the policies of users for a request.
//!
//! `facts` converts facts about the fleet to values, `question` converts a request, `stage` runs the policies between the built-in defaults
//! and the verdict, and `trial` runs them for `tidegate policy test` and `bench`, outside of the gate.

mod facts;
mod question;
mod stage;
mod trial;

pub use facts::references;
pub(super) use stage::{PolicyAttributes, PolicyFindings, examine, mutate, part_with};
pub use trial::{Trial, try_policies};
