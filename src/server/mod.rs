//! The webhook server: TLS, limits of clients, admission, conversion, probes and metrics.
//!
//! The path of a request: `gate` listens, `connection_limit` closes idle connections for new ones, `connection` does TLS and HTTP,
//! `routes` checks the path, `review` answers an admission review on a thread of `worker_pool`, `convert` a conversion. The server has
//! no rules: `admission::decide` decides.

mod answer_cache;
mod callers;
mod certificate;
mod client_stream;
mod connection;
mod connection_limit;
mod connection_state;
mod convert;
mod denial_log;
mod existence;
mod gate;
mod health;
mod issue;
mod limits;
mod pages;
mod pem;
mod quota;
mod rate_limit;
mod record;
mod request;
mod response_body;
mod responses;
mod review;
mod routes;
mod state;
mod tree_budget;
mod worker_pool;

pub use callers::{Callers, CallersError, ClientAuthority, PathSecrets};
pub use certificate::{Certificate, CertificateError};
pub use existence::ExistenceReader;
pub use gate::{Gate, StartError};
pub use health::Health;
pub use issue::{Authority, IssueError, Issued};
pub use limits::Limits;
pub use pages::{Pages, PagesAt};
pub use state::GateOptions;

#[cfg(test)]
mod trials;
