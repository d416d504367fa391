//! A driver for a whole fleet: add-ons on many clusters, over the ordinary API, with a stop watch.
//!
//! Knows nothing of the program that it measures but its command line. `dev/fleetbench/README.md` tells how to use it.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "it measures processes: files, clocks and tasks"
)]

mod bare;
mod counts;
mod error;
mod files;
mod hub;
mod options;
mod picture;
mod process;
mod proxy;
mod report;
mod run;
mod scene;
mod share;

pub use counts::{Call, Counter, Counts};
pub use error::BenchError;
pub use options::Options;
pub use proxy::Proxy;
pub use report::{Phase, Report};
pub use run::run;
