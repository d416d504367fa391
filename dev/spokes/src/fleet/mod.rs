//! The shell: it turns watches into values, asks the pure parts (`schedule`, `agent`, `fault`) what to do, and turns
//! their answers into API calls. It decides nothing but when to call.

mod agents;
mod clock;
mod counters;
mod decisions;
mod error;
mod handle;
mod health;
mod hub;
mod lives;
mod options;
mod placements;
mod queue;
mod registration;
mod replica_sets;
mod store;
mod vendor;
mod wishes;
mod works;

pub use counters::Counters;
pub use error::FleetError;
pub use handle::Fleet;
pub use options::{FleetOptions, LabelPattern};
