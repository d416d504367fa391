//! The server room: the gate's door to the network.
//!
//! Decides how long, how large and how many a caller may be, and over which TLS. Never knows a rule: what a request
//! means is asked of `admission::decide`.

mod body;
mod certificate;
mod connection;
mod exposition;
mod gate;
mod head;
mod issue;
mod json_bounds;
mod limits;
mod routes;
mod turnstile;
mod witness;

pub use certificate::{Certificate, CertificateError};
pub use exposition::Exposition;
pub use gate::{Gate, GateOptions, StartError};
pub use issue::{Authority, IssueError, Issued};
pub use json_bounds::JsonBounds;
pub use limits::Limits;
pub use witness::Witness;

#[cfg(test)]
mod trials;
