//! The folder of a dev hub: kubeconfig and certificate authorities.
//!
//! Decides where files lie and who may read them. Never invents their contents.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::cli::CliError;

const PROBE: &str = ".writable";

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
    // Proved on a file of its own: the kubeconfig may belong to a hub that runs, and this one may yet fail to start.
    let probe = folder.path.join(PROBE);
    folder.write_private(PROBE, "")?;
    fs::remove_file(&probe).map_err(|source| CliError::WriteFile { path: probe, source })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preparing_keeps_the_kubeconfig_of_a_hub_that_runs_there() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let kubeconfig = place.path().join("kubeconfig");
        fs::write(&kubeconfig, "of another hub").expect("writable");
        let folder = prepare(place.path()).expect("the folder can be written");
        assert_eq!(
            fs::read_to_string(&kubeconfig).expect("readable"),
            "of another hub"
        );
        assert_eq!(
            fs::read_dir(place.path()).expect("readable").count(),
            1,
            "nothing is left behind"
        );

        folder
            .write_private("kubeconfig", "of this hub")
            .expect("writable");
        assert_eq!(fs::read_to_string(&kubeconfig).expect("readable"), "of this hub");
        let mode = fs::metadata(&kubeconfig)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777;
        assert_eq!(mode, 0o600);
    }
}
