//! What was there before: the same paths at a revision of git.
//!
//! Decides only how git is asked; git itself says what a revision is. Never changes the repository, and hands git no word
//! that it could take for an option.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::exclude::Exclusions;
use super::folder::{Folder, is_manifest};
use crate::cli::CliError;
use insight::offline::Identity;
use lint::check::Base;
use lint::source::{objects, read};

/// Returns the objects of these paths at a revision. What cannot be read there was no object.
pub(super) fn at(revision: &str, paths: &[PathBuf], exclusions: &Exclusions) -> Result<Base, CliError> {
    let mut base = Base {
        deletes: true,
        ..Base::default()
    };
    for path in paths {
        let folder = before(revision, path, exclusions)?;
        for file in &folder.files {
            let reading = read(&file.text);
            for object in reading.documents.iter().flat_map(objects) {
                base.objects.insert(Identity::of(&object.value), object.value);
            }
        }
    }
    Ok(base)
}

fn before(revision: &str, path: &Path, exclusions: &Exclusions) -> Result<Folder, CliError> {
    let inside = folder_of(path);
    let commit = commit(revision, inside)?;
    let mut wanted = names(&commit, inside, path).map_err(|why| wrong(revision, &why))?;
    wanted.retain(|name| !exclusions.excludes(&inside.join(name)));
    // A name with a line break cannot be requested in this way; manifests have no such names.
    let mut asked = String::new();
    for name in &wanted {
        asked.extend([commit.as_str(), ":./", name.as_str(), "\n"]);
    }
    let answer = git(inside, &["cat-file", "--batch"], Some(asked)).map_err(|why| wrong(revision, &why))?;
    let mut folder = Folder::default();
    let mut rest = answer.as_slice();
    for name in wanted {
        let Some((bytes, after)) = blob(rest) else {
            break;
        };
        folder.add(name, bytes);
        rest = after;
    }
    Ok(folder)
}

fn folder_of(path: &Path) -> &Path {
    let here = Path::new(".");
    let inside = if path.is_dir() {
        path
    } else {
        path.parent().unwrap_or(here)
    };
    if inside.as_os_str().is_empty() {
        here
    } else {
        inside
    }
}

fn commit(revision: &str, inside: &Path) -> Result<String, CliError> {
    let asked = format!("{revision}^{{commit}}");
    let words = ["rev-parse", "--verify", "--quiet", "--end-of-options", &asked];
    let answer = git(inside, &words, None).map_err(|why| {
        let unknown = "git does not have this revision".to_owned();
        wrong(revision, if why.is_empty() { &unknown } else { &why })
    })?;
    Ok(String::from_utf8_lossy(&answer).trim().to_owned())
}

/// The manifests of a path at a commit, named from where git is asked.
fn names(commit: &str, inside: &Path, path: &Path) -> Result<Vec<String>, String> {
    let name = if path.is_dir() {
        ".".to_owned()
    } else {
        file_name(path)
    };
    let words = ["ls-tree", "-r", "-z", "--name-only", commit, "--", &name];
    let listed = git(inside, &words, None)?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let names = listed.split('\0').filter(|name| !name.is_empty());
    let wanted = names.filter(|name| !path.is_dir() || is_manifest(Path::new(name)));
    Ok(wanted.map(str::to_owned).collect())
}

/// Takes one answer of `git cat-file --batch` off: a line `<id> blob <size>`, the bytes, and a line break.
fn blob(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let (head, rest) = text.split_at_checked(end)?;
    let rest = rest.get(1..)?;
    let head = String::from_utf8_lossy(head).into_owned();
    let Some(size) = head.split(' ').nth(2).and_then(|size| size.parse::<usize>().ok()) else {
        return Some((Vec::new(), rest));
    };
    let (bytes, rest) = rest.split_at_checked(size)?;
    Some((bytes.to_vec(), rest.get(1..).unwrap_or_default()))
}

fn git(folder: &Path, words: &[&str], input: Option<String>) -> Result<Vec<u8>, String> {
    let mut child = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(words)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("git cannot be started: {error}"))?;
    // The asking goes beside the reading: git answers while it is still being asked.
    let stdin = child.stdin.take();
    let asking = std::thread::spawn(move || {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            let _told = stdin.write_all(input.as_bytes()).is_ok();
        }
    });
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let _asked = asking.join().is_ok();
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', " "))
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().map(std::ffi::OsStr::to_string_lossy);
    name.map_or_else(|| ".".to_owned(), std::borrow::Cow::into_owned)
}

fn wrong(revision: &str, why: &str) -> CliError {
    CliError::ReadFlag {
        flag: "base",
        reason: format!("{revision:?}: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_git_are_taken_off_one_by_one() {
        let text = b"abc blob 3\na\nb\nx missing\nabc blob 0\n\n";
        let (first, rest) = blob(text).expect("an answer");
        assert_eq!(first, b"a\nb");
        let (missing, rest) = blob(rest).expect("an answer");
        assert!(missing.is_empty());
        assert_eq!(blob(rest).expect("an answer"), (Vec::new(), &b""[..]));
    }
}
