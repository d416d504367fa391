//! Bodies in Kubernetes' binary form.
//!
//! Decides how bytes become the JSON that everything else works on. One table per message (`core`, `meta`, `rbac`, `reviews`,
//! `webhooks`), one reader for all of them.

mod core;
mod decode;
mod envelope;
mod fault;
mod kinds;
mod message;
mod meta;
mod rbac;
mod reviews;
mod webhooks;
pub mod wire;

pub use decode::decode;
pub use envelope::{Envelope, MEDIA_TYPE, open};
pub use fault::Fault;
pub use kinds::{DELETE_OPTIONS, message_of};
pub use message::{Field, Kind, Message, many, message, one};

#[cfg(test)]
mod tests;
