//! The webhook that scenarios talk about: an HTTPS server with its own CA whose path says how to answer.

mod action;
mod conversion;
pub(crate) mod server;

pub(crate) use server::Hook;
