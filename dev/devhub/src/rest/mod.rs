//! What requests do to objects.
//!
//! Decides the life of objects: creation, change, deletion, and what stands between a request and the store.

mod access;
mod admission_context;
mod answer;
mod apply;
mod binary;
mod call;
mod collection;
mod commit;
mod create;
mod decode;
mod delete;
mod errors;
mod flow;
mod lifecycle;
mod list;
mod metadata;
mod options;
mod page;
mod part;
mod patch;
mod represent;
mod review;
mod selection;
mod strategy;
mod token;
mod unreadable;
mod update;
mod versioned;
mod watch;

pub(crate) use answer::{answer, method_not_allowed};
pub(crate) use call::Incoming;
