//! The folder of a hub: kubeconfig and certificate authorities.
//!
//! Decides where files lie and who may read them. Never invents their contents.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const PROBE: &str = ".writable";

/// A folder that exists and can be written.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

/// The folder, or a file in it, cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder cannot be used.
    #[error("cannot write into folder \"{}\"", dir.display())]
    Prepare {
        /// The folder.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write file \"{}\"", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Makes the folder (mode 0700) where it is absent, and proves that it can be written.
pub fn prepare(dir: &Path) -> Result<Folder, FolderError> {
    let failed = |source| FolderError::Prepare {
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
    fs::remove_file(&probe).map_err(|source| FolderError::Write { path: probe, source })?;
    Ok(folder)
}

impl Folder {
    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where the kubeconfig lies.
    pub fn kubeconfig(&self) -> PathBuf {
        self.path.join("kubeconfig")
    }

    /// Writes a file that only its owner may read. A reader never sees half of it.
    pub fn write_private(&self, name: &str, text: &str) -> Result<(), FolderError> {
        let path = self.path.join(name);
        write_private(&path, text).map_err(|source| FolderError::Write { path, source })
    }
}

/// Writes a file that only its owner may read, whatever stood there before. A reader never sees half of it.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::other("the path names no file"))?;
    let draft = path.with_file_name(format!(".{}.new", name.to_string_lossy()));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    // A draft left over from an earlier run keeps its old mode; the new one must be private whatever it was.
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    drop(file);
    fs::rename(&draft, path)
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

    #[test]
    fn a_file_where_the_folder_should_be_is_told() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let file = place.path().join("file");
        fs::write(&file, "").expect("writable");
        let error = prepare(&file).expect_err("a file is no folder");
        assert!(error.to_string().contains("cannot write into folder"), "{error}");
    }
}
