//! Faults on purpose, for tests of clients.
//!
//! Decides which requests fail, how, and in an order that follows from the seed alone. See `docs/faults.md`.

mod dice;
mod injector;
mod spec;

pub(crate) use injector::FaultInjector;
pub use spec::Faults;
