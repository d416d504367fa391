//! Why there are no manifests.
//!
//! Decides nothing. What is wrong with the folder itself is found by the tests, before a user meets it.

/// Why an installation cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum KitError {
    /// The folder has no such file.
    #[error("the kit has no {0}")]
    Missing(String),
    /// A file cannot be read.
    #[error("cannot read {path} of the kit")]
    Parse {
        /// The file.
        path: String,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A patch does not fit what it is for.
    #[error("a patch of {path} does not fit")]
    Patch {
        /// The file of the patch.
        path: String,
        /// Why not.
        source: json_patch::PatchError,
    },
    /// No part that runs would serve the web page.
    #[error(
        "the web page is served by the controllers, which --workloads gate leaves out; leave --with web-page out, or take --workloads two or one"
    )]
    NobodyServesThePage,
}
