//! A file that takes the place of another.
//!
//! Decides who may read it, and that it is there whole or the old one stays. Never writes through a link, nor onto anything that
//! is no regular file; only a report may be sent to a device that the user names.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::read::word;

/// Names that are tried for the draft.
const ATTEMPTS: u32 = 100;

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its owner.
    Private,
    /// Every user whom the file mode creation mask lets.
    Shared,
}

/// Makes a file that was not there; whatever stands there, a link as well, stays as it is.
pub fn create(path: &Path, text: &str) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    fill(file, text, None)
}

/// Puts a file in its place, whatever stood there before; on failure the old one stays as it is.
pub fn write(path: &Path, text: &str, access: Access) -> io::Result<()> {
    if access == Access::Shared && path.starts_with("/dev") {
        return OpenOptions::new()
            .write(true)
            .open(path)?
            .write_all(text.as_bytes());
    }
    let before = match fs::symlink_metadata(path) {
        Ok(about) => Some(about),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(about) = before.as_ref().filter(|about| !about.is_file()) {
        let kind = word(about.file_type());
        return Err(io::Error::other(format!(
            "{kind} exists there, and only a regular file is replaced: remove it, or choose another file"
        )));
    }
    let (draft, file) = draft(path, access)?;
    let mode = before
        .filter(|_| access == Access::Shared)
        .map(|about| about.permissions());
    let put = fill(file, text, mode).and_then(|()| fs::rename(&draft, path));
    if put.is_err() {
        fs::remove_file(&draft).unwrap_or_default();
    }
    put
}

fn draft(path: &Path, access: Access) -> io::Result<(PathBuf, File)> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::other("the path is not a file path"))?;
    let mode = match access {
        Access::Private => 0o600,
        Access::Shared => 0o666,
    };
    let mut taken = io::Error::other("no name is free");
    for number in 0..ATTEMPTS {
        let draft = format!(".{}.{}-{number}", name.to_string_lossy(), std::process::id());
        let draft = path.with_file_name(draft);
        // Makes it, or fails: never opens what another process has put there.
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&draft)
        {
            Ok(file) => return Ok((draft, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

fn fill(mut file: File, text: &str, mode: Option<Permissions>) -> io::Result<()> {
    if let Some(mode) = mode {
        file.set_permissions(Permissions::from_mode(mode.mode() & 0o777))?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    }

    #[test]
    fn a_private_file_is_for_its_owner_whatever_stood_there() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hub.json");
        for before in [None, Some(0o644), Some(0o666)] {
            if let Some(before) = before {
                fs::write(&path, "old, and longer than the new one").expect("writable");
                fs::set_permissions(&path, Permissions::from_mode(before)).expect("ours");
            }
            write(&path, "new", Access::Private).expect("writable");
            assert_eq!(
                (fs::read_to_string(&path).expect("text").as_str(), mode(&path)),
                ("new", 0o600)
            );
        }
        assert_eq!(
            fs::read_dir(folder.path()).expect("readable").count(),
            1,
            "nothing is left behind"
        );
    }

    #[test]
    fn a_shared_file_keeps_its_mode() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("report");
        write(&path, "a", Access::Shared).expect("writable");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("ours");
        write(&path, "b", Access::Shared).expect("writable");
        assert_eq!(mode(&path), 0o640);
        write(Path::new("/dev/null"), "x", Access::Shared).expect("a report may go there");
        assert!(write(Path::new("/dev/null"), "x", Access::Private).is_err());
    }

    #[test]
    fn no_link_is_followed_and_nothing_else_is_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("victim"), "mine").expect("writable");
        symlink("victim", at("link")).expect("a link");
        symlink("nothing", at("dangling")).expect("a link");
        fs::create_dir(at("folder")).expect("writable");
        let made = std::process::Command::new("mkfifo").arg(at("fifo")).status();
        assert!(made.expect("mkfifo is there").success());
        for access in [Access::Private, Access::Shared] {
            for (name, said) in [
                ("link", "a link"),
                ("dangling", "a link"),
                ("folder", "a folder"),
                ("fifo", "a FIFO"),
            ] {
                let error = write(&at(name), "x", access).expect_err(name).to_string();
                assert!(error.starts_with(said), "{name}: {error}");
            }
        }
        assert_eq!(fs::read_to_string(at("victim")).expect("text"), "mine");
        assert!(!at("nothing").exists());
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_no_draft() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hub.json");
        fs::write(&path, "old").expect("writable");
        // Another process has put a link where the first draft would be.
        let stolen = folder.path().join(format!(".hub.json.{}-0", std::process::id()));
        symlink(&path, &stolen).expect("a link");
        write(&path, "new", Access::Private).expect("another name is taken");
        assert_eq!(fs::read_to_string(&path).expect("text"), "new");
        assert!(write(&folder.path().join("none/hub.json"), "x", Access::Private).is_err());
        assert!(write(Path::new("/"), "x", Access::Private).is_err());
        assert!(write(Path::new("/proc/hub.json"), "x", Access::Private).is_err());
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 2);
    }
}
