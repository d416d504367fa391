//! Errors of the installation kit.
//!
//! The tests find errors in the folder itself before a release.

/// Why an installation cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum KitError {
    /// The folder has no such file.
    #[error("the installation kit has no file {0}")]
    Missing(String),
    /// A file cannot be read.
    #[error("cannot read {path} of the installation kit")]
    Parse {
        /// The file.
        path: String,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A patch does not fit what it is for.
    #[error("a patch in {path} does not match its target")]
    Patch {
        /// The file of the patch.
        path: String,
        /// Why not.
        source: json_patch::PatchError,
    },
    /// No workload of the installation serves the web page.
    #[error(
        "the controllers serve the web page, and --workloads gate does not install them; remove --with web-page, or use --workloads two \
         or one"
    )]
    NoControllersForWebPage,
    /// The webhook that fails closed would be called for every change, such as a label or a finalizer.
    #[error(
        "--while-unavailable refuse requires match conditions, and the hub drops them: while the webhook is unavailable, every change of \
         an add-on would be rejected, also that of a label or a finalizer; remove --while-unavailable refuse"
    )]
    NoConditionsForFailClosed,
}
