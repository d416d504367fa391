//! What this program is and brings along: its versions, and the manifests that its tips speak of.

pub(super) mod examples;
pub(super) mod version;

pub use examples::ExamplesArgs;
pub use version::VersionArgs;
