//! What requests do to objects.
//!
//! Decides the life of objects: creation, change, deletion, and what stands between a request and the store.

mod access;
mod addresses;
mod answer;
mod apply;
mod binary;
mod call;
mod collection;
mod create;
mod decode;
mod delete;
mod errors;
mod finish;
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
mod scale;
mod selection;
mod shape;
mod surroundings;
mod token;
mod unreadable;
mod update;
mod versioned;
mod watch;

pub(crate) use answer::{answer, method_not_allowed};
pub(crate) use call::Incoming;
pub(crate) use finish::{install_policies, install_webhooks};
