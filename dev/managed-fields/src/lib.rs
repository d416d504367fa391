//! Structured merge: who owns which field of an object, and what becomes of it when one owner applies another intent.
//!
//! Decides ownership, conflicts and merges as Kubernetes' server-side apply does. Never talks to a server, and knows
//! objects only through their types.

mod check;
mod collect;
mod compare;
mod element;
mod fault;
mod items;
mod merge;
mod owners;
mod reconcile;
mod remove;
mod set;
mod shown;
mod types;
mod views;
mod wire;

pub use check::{Duplicates, check};
pub use collect::field_set;
pub use compare::{Comparison, compare};
pub use element::Element;
pub use fault::{Fault, Faults};
pub use merge::merge;
pub use owners::{Applied, Conflict, FieldWrite, Owned, Owners, Refusal, Types, apply, update};
pub use remove::remove;
pub use set::{Path, Set};
pub use types::{KeyField, List, Map, Relation, Scalar, Type};
pub use views::{Alike, Unseen, Views};
