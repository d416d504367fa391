//! Faults on purpose, for tests of clients.
//!
//! Decides which requests fail, how, and in an order that follows from the seed alone; never changes an object. See `docs/faults.md`.

mod dice;
mod spec;
mod strike;

pub use spec::Faults;
pub(crate) use strike::Mischief;
