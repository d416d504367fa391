//! The gate's door to the network.
//!
//! Decides how long, how large and how many a caller may be, and over which TLS. Never knows a rule: what a request
//! means is asked of `admission::decide`.

mod admission_queue;
mod allowance;
mod answer_cache;
mod bench;
mod body;
mod callers;
mod certificate;
mod connection;
mod convert;
mod counted;
mod denial_log;
mod existence;
mod gate;
mod header_timeout;
mod health;
mod issue;
mod limits;
mod outbound;
mod pages;
mod peer;
mod pem;
mod places;
mod review_deadline;
mod routes;
mod shares;
mod tree_budget;
mod turns;
mod watched;
mod wrong_paths;

pub use callers::{Callers, CallersError, ClientAuthority, PathSecrets};
pub use certificate::{Certificate, CertificateError};
pub use existence::ExistenceReader;
pub use gate::{Gate, GateOptions, StartError};
pub use health::Health;
pub use issue::{Authority, IssueError, Issued};
pub use limits::Limits;
pub use pages::{Pages, PagesAt};

#[cfg(test)]
mod trials;
