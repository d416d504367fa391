//! `tidegate serve`: the webhook and the controllers of an existing hub.

mod args;
mod at_start;
mod certificates;
mod endpoint;
mod kept_fields;
mod load_error;
mod part_flags;
mod reload;
mod run;
mod secret;

pub use args::{ServeArgs, TraceArgs};
pub(super) use endpoint::secrets;
pub use endpoint::{CertificatesArg, EndpointArgs};
pub(super) use part_flags::contradiction;
pub(super) use run::run;
