//! Files as editors name them.
//!
//! Decides which path a `file:` address is, and the other way round. One file has one path, however it is spelled.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// What stands in the path of an address as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Returns the path of a `file:` address; nothing for addresses of other things.
pub(super) fn path_of(address: &str) -> Option<PathBuf> {
    let rest = address.strip_prefix("file://")?;
    // Before the path may stand the name of this machine.
    let path = rest.get(rest.find('/')?..)?;
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    // No file has such a name, and the system would say so at every look.
    (!bytes.contains(&0)).then(|| PathBuf::from(OsString::from_vec(bytes)))
}

/// Returns what a file is called here: its real path, or, of what is no file yet, its address.
pub(super) fn name_of(address: &str) -> String {
    let Some(path) = path_of(address) else {
        return address.to_owned();
    };
    let real = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    let path = match (real, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        (Some(_) | None, _) => path,
    };
    path.to_string_lossy().into_owned()
}

/// Returns the address of a file.
pub(super) fn address_of(name: &str) -> String {
    let path = Path::new(name);
    if path.is_absolute() {
        format!("file://{}", percent_encode(path.as_os_str().as_bytes(), PLAIN))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_are_two_spellings_of_one_file() {
        for (address, name) in [
            ("file:///no/such/a%20b%25.yaml", "/no/such/a b%.yaml"),
            (
                "file:///no/such/%C3%A4%F0%9F%8C%8A.yaml",
                "/no/such/\u{e4}\u{1f30a}.yaml",
            ),
        ] {
            assert_eq!(name_of(address), name);
            assert_eq!(address_of(name), address);
        }
        assert_eq!(
            name_of("file:///no/such/%40a:b.yaml"),
            "/no/such/@a:b.yaml",
            "other spellings"
        );
        assert_eq!(name_of("file://localhost/no/such"), "/no/such");
        assert_eq!(name_of("untitled:One"), "untitled:One");
        assert_eq!(address_of("untitled:One"), "untitled:One");
        for odd in [
            "",
            "file:",
            "file://",
            "file:///%00",
            "file:///%",
            "file:///%ff%fe",
        ] {
            let _known = name_of(odd);
        }
        assert_eq!(path_of("file:///a%00b"), None);
    }
}
