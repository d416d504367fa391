//! The folder of a dev hub: kubeconfig and certificate authorities.
//!
//! Decides where files lie and who may read them. Never invents their contents.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::cli::CliError;

/// A folder that exists and can be written.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

/// Makes the folder (mode 0700) where it is absent, and proves that it can be written.
pub(super) fn prepare(dir: &Path) -> Result<Folder, CliError> {
    let failed = |source| CliError::PrepareFolder {
        dir: dir.to_owned(),
        source,
    };
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(failed)?;
    let path = fs::canonicalize(dir).map_err(failed)?;
    let folder = Folder { path };
    folder.write_private("kubeconfig", "")?;
    Ok(folder)
}

impl Folder {
    /// Returns where the kubeconfig lies.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.path.join("kubeconfig")
    }

    /// Writes a file that only its owner may read. A reader never sees half of it.
    pub(super) fn write_private(&self, name: &str, text: &str) -> Result<(), CliError> {
        let path = self.path.join(name);
        let draft = self.path.join(format!(".{name}.new"));
        let failed = |source| CliError::WriteFile {
            path: path.clone(),
            source,
        };
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)
            .map_err(failed)?;
        // A draft left over from an earlier run keeps its old mode; the new one must be private whatever it was.
        file.set_permissions(fs::Permissions::from_mode(0o600))
            .map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        drop(file);
        fs::rename(&draft, &path).map_err(failed)
    }
}
