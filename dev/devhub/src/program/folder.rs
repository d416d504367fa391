//! The folder of a hub: kubeconfig and certificate authorities.
//!
//! Decides where files lie and who may read them. Never invents their contents.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const PROBE: &str = ".writable";
/// Locked by the program whose folder it is, for as long as that runs; the system lets go of it however the program ends.
const LOCK: &str = "lock";

/// A folder that exists and can be written.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: Option<File>,
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
    /// Another hub uses the folder.
    #[error("folder \"{}\" belongs to a hub that runs: end that one, or name another folder with --dir", dir.display())]
    Taken {
        /// The folder.
        dir: PathBuf,
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
    let folder = Folder { path, _lock: None };
    // Proved on a file of its own: the kubeconfig may belong to a hub that runs, and this one may yet fail to start.
    let probe = folder.path.join(PROBE);
    folder.write_private(PROBE, "")?;
    fs::remove_file(&probe).map_err(|source| FolderError::Write { path: probe, source })?;
    Ok(folder)
}

impl Folder {
    /// Takes the folder for this program: two hubs in one folder would overwrite each other's kubeconfig, and a client would
    /// reach the wrong one.
    pub fn claim(self) -> Result<Self, FolderError> {
        let path = self.path.join(LOCK);
        let failed = |source| FolderError::Write {
            path: path.clone(),
            source,
        };
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self {
                path: self.path,
                _lock: Some(file),
            }),
            Err(TryLockError::WouldBlock) => Err(FolderError::Taken { dir: self.path }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

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
    // A draft of an earlier run would keep its mode, and one of another program may be a symbolic link: it is created again.
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(text.as_bytes())?;
    drop(file);
    fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn nothing_is_written_through_a_link() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| place.path().join(name);
        fs::write(at("victim"), "mine").expect("writable");
        symlink("victim", at(".kubeconfig.new")).expect("a link");
        symlink("victim", at("kubeconfig")).expect("a link");
        write_private(&at("kubeconfig"), "key").expect("writable");
        assert_eq!(fs::read_to_string(at("victim")).expect("text"), "mine");
        assert_eq!(fs::read_to_string(at("kubeconfig")).expect("text"), "key");
        assert!(fs::symlink_metadata(at("kubeconfig")).expect("there").is_file());
    }

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
    fn a_folder_belongs_to_one_hub_at_a_time() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let claimed = || prepare(place.path()).and_then(Folder::claim);
        let first = claimed().expect("the folder is free");
        let second = claimed().expect_err("the first one has it").to_string();
        assert!(second.contains("belongs to a hub that runs"), "{second}");
        drop(first);
        claimed().expect("the first one has ended");
    }

    #[test]
    fn a_file_in_place_of_the_folder_is_reported() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let file = place.path().join("file");
        fs::write(&file, "").expect("writable");
        let error = prepare(&file).expect_err("a file is no folder");
        assert!(error.to_string().contains("cannot write into folder"), "{error}");
    }
}
