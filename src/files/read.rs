//! One file.
//!
//! Decides whether it is opened. A FIFO would hold the program indefinitely, a device has no end, and a file in `/proc` says that it
//! is empty: so nothing is believed of a size, and nothing but a regular file is opened. What the program was given as a
//! descriptor of its own (`/dev/stdin`, `<(…)` of a shell) is read up to the same size.

use std::ffi::OsString;
use std::fs::{self, File, FileType};
use std::io::{self, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

/// Where a process finds what it was given.
const OWN: [&str; 3] = ["/dev/fd/", "/proc/self/fd/", "/dev/stdin"];

/// Reads a file of at most so many bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    inspect(path, most)?;
    let file = File::open(path)?;
    // What was looked at may have been exchanged since.
    if !is_own(path) {
        regular(file.metadata()?.file_type())?;
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(bytes)
}

/// Reads a text of at most so many bytes.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let text = String::from_utf8(read(path, most)?);
    text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Returns the names in a folder, sorted.
pub fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    let entries = fs::read_dir(folder)?;
    let mut names: Vec<OsString> = entries
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<_>>()?;
    names.sort();
    Ok(names)
}

/// Returns why a file cannot be read, for a caller whose library reads it as a whole, or that reads it later.
pub fn inspect(path: &Path, most: u64) -> io::Result<()> {
    if is_own(path) {
        return Ok(());
    }
    let about = fs::metadata(path)?;
    regular(about.file_type())?;
    if about.len() > most {
        return Err(too_large(most));
    }
    Ok(())
}

fn is_own(path: &Path) -> bool {
    let text = path.to_string_lossy();
    OWN.iter().any(|own| text.starts_with(own)) && !text.contains("..")
}

pub(super) fn regular(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "it is {}, not a regular file",
        word(kind)
    )))
}

pub(super) fn word(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a folder"
    } else if kind.is_symlink() {
        "a link"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

fn too_large(most: u64) -> io::Error {
    let limit = if most >= 1 << 20 {
        format!("{} MiB", most >> 20)
    } else {
        format!("{most} bytes")
    };
    io::Error::other(format!("it has more than {limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_up_to_a_size_are_opened() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("plain"), "text").expect("writable");
        fs::write(path("binary"), [0xff]).expect("writable");
        let made = std::process::Command::new("mkfifo").arg(path("fifo")).status();
        assert!(made.expect("mkfifo is there").success());
        std::os::unix::fs::symlink("/dev/zero", path("zero")).expect("a link");
        std::os::unix::fs::symlink("loop", path("loop")).expect("a link");
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).expect("a socket");
        let sparse = File::create(path("sparse")).expect("writable");
        sparse.set_len(1 << 40).expect("a sparse file uses no space");
        assert_eq!(read_text(&path("plain"), 4).expect("just so large"), "text");
        for (name, most, said) in [
            ("plain", 3, "more than 3 bytes"),
            ("binary", 9, "utf-8"),
            ("fifo", 9, "a FIFO, not a regular file"),
            ("zero", 9, "a device, not a regular file"),
            ("socket", 9, "a socket, not a regular file"),
            ("sparse", 1 << 20, "more than 1 MiB"),
            ("loop", 9, "symbolic links"),
            ("", 9, "a folder, not a regular file"),
            ("nothing", 9, "No such file"),
        ] {
            let error = read_text(&path(name), most).expect_err(name).to_string();
            assert!(error.contains(said), "{name}: {error}");
        }
        // Its size is reported as 0, but it has content.
        let told = read(Path::new("/proc/self/status"), 10)
            .expect_err("too large")
            .to_string();
        assert!(told.contains("more than 10 bytes"), "{told}");
        assert!(read(Path::new("/dev/fd/../../dev/zero"), 9).is_err());
    }
}
