//! The folder of a dev hub: kubeconfig and certificate authorities.
//!
//! Decides only how a folder that cannot be used is told here; where files lie and who may read them is the dev hub's.

use std::path::Path;

pub(super) use devhub::program::Folder;
use devhub::program::FolderError;

use crate::cli::CliError;

/// Makes the folder where it is absent, proves that it can be written, and takes it for this program.
pub(super) fn prepare(dir: &Path) -> Result<Folder, CliError> {
    Ok(devhub::program::prepare(dir)?.claim()?)
}

impl From<FolderError> for CliError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Prepare { dir, source } => Self::PrepareFolder { dir, source },
            FolderError::Taken { .. } => Self::Refused(Box::new(error)),
            FolderError::Write { path, source } => Self::WriteFile { path, source },
        }
    }
}
