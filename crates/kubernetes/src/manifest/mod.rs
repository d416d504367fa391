//! What a cluster's API server would refuse in a manifest of one of Kubernetes' own kinds.
//!
//! Decides types, names of fields, what has to be there, and what has to fit together, by the schemas of Kubernetes 1.36
//! (`schemas.txt`). A kind that stands there not is not judged. Asks no cluster, and knows no template: a text with a variable
//! is complete only on a cluster, and is judged as far as that allows.

mod aspect;
mod immutable;
mod judge;
mod pods;
mod schema;
mod selector;
mod walk;

pub use aspect::{Aspect, Effort};
pub use immutable::changed;
pub use judge::{check, is_known};
