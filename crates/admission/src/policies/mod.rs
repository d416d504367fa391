//! The policies stage: what users' own rules say of a request.
//!
//! `facts` turns what is known of the fleet into values, `question` a request, `stage` runs the policies between the
//! built-in defaults and the verdict, `trial` for `tidegate policy test` and `bench`, outside of the gate.

mod facts;
mod question;
mod stage;
mod trial;

pub use facts::references;
pub(super) use stage::{PolicyAttributes, PolicyFindings, examine, mutate, part_with};
pub use trial::{Trial, try_policies};
