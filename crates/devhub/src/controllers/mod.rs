//! What a cluster does by itself: collecting garbage and emptying namespaces.
//!
//! Decides only through the public API, as an ordinary client: the same code works against any API server.

mod accounts;
mod catalogue;
mod garbage;
mod graph;
mod namespaces;
mod policies;
mod start;

pub(crate) use start::{Controllers, Switches};
