//! Scripted faults: what goes wrong on which cluster, for which works, from when and for how long.

mod book;
mod rule;
mod text;

pub(crate) use book::{Book, Effects};
pub use rule::{Fault, FaultRule, Faults};
pub use text::FaultTextError;
