//! The built-in kinds: what is served, what each kind fills in, what it refuses.
//!
//! Decides by pure functions on JSON values. The order inside a request is the caller's: `decode` → `patch` → `prepare` (defaults and
//! fields that clients may not set) → admission → `validate` → `canonical` form is what `decode` leaves behind, so a value that admission
//! changed goes through `decode` again.

mod canonical;
pub mod decode;
pub mod events;
mod faults;
pub mod go_time;
pub mod kinds;
mod list_types;
mod managers;
mod members;
pub mod metadata;
pub mod names;
pub mod owners;
mod policies;
pub mod prepare;
pub mod requests;
pub mod schema;
pub mod traits;
mod untyped;
pub mod validate;

pub use decode::Dialect;
pub use kinds::{Subresource, header, resources, subresources};
pub use traits::{DeleteAnswer, Traits, traits};
pub use untyped::is_untyped;
pub use validate::{Outcome, validate_create, validate_update};
