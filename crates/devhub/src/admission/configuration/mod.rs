//! Webhook configuration objects as the API takes them: what absent fields become and which objects are refused.

mod checks;
mod defaults;
mod faults;
mod resources;
mod urls;

pub use checks::check;
pub use defaults::apply_defaults;
