//! What a certificate says, and what a Secret that certificates are renewed in should hold next.
//!
//! A table of contents. `validity` reads a certificate, `holding` a Secret, `step` decides the next step of its renewal, `bundle` what
//! tells an API server whom to trust. Never makes a key, never knows what time it is.

mod bundle;
mod holding;
mod step;
#[cfg(test)]
mod step_tests;
mod validity;

pub use bundle::{Trusting, bundle_patch, bundles, trusting};
pub use holding::{
    AUTHORITIES, Authority, CERTIFICATE, Data, Flaw, Holding, KEY, NEXT_CERTIFICATE, NEXT_KEY, Pair,
};
pub use step::{Lives, Made, Step, change, next};
pub use validity::{Fault, Validity, holder};
