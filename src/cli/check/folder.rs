//! Files of folders, of standard input and of git, as texts.
//!
//! Decides which files are read and how large they may be. What is no text is told with its place, like bad YAML.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::check::File;
use crate::cli::CliError;
use crate::report::{Spot, Unreadable};

/// The largest file, in bytes.
pub(in crate::cli) const LARGEST: u64 = 16 << 20;
/// The most files of one check.
const MOST_FILES: usize = 100_000;
/// The deepest folder.
const DEEPEST: usize = 64;
/// What a manifest ends with.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// The texts of a check, and what is none.
#[derive(Debug, Default)]
pub(in crate::cli) struct Folder {
    pub(in crate::cli) files: Vec<File>,
    pub(in crate::cli) unreadable: Vec<Unreadable>,
}

/// Reads files and everything below folders; `-` is standard input. A path that is not there ends it.
pub(in crate::cli) fn read<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<Folder, CliError> {
    let mut folder = Folder::default();
    for path in paths {
        if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            let stdin = std::io::stdin().lock();
            let read = stdin.take(LARGEST.saturating_add(1)).read_to_end(&mut bytes);
            read.map_err(|source| cannot_read(path, source))?;
            folder.add("stdin".to_owned(), bytes);
            continue;
        }
        let mut found = Vec::new();
        collect(path, 0, &mut found)?;
        found.sort();
        for path in found {
            let file = fs::File::open(&path).map_err(|source| cannot_read(&path, source))?;
            let mut bytes = Vec::new();
            let read = file.take(LARGEST.saturating_add(1)).read_to_end(&mut bytes);
            read.map_err(|source| cannot_read(&path, source))?;
            folder.add(shown(&path), bytes);
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    folder.files.retain(|file| seen.insert(file.path.clone()));
    Ok(folder)
}

impl Folder {
    /// Adds a file, or what is wrong with it.
    pub(in crate::cli) fn add(&mut self, path: String, bytes: Vec<u8>) {
        let mut wrong = |line: usize, column: usize, message: String| {
            self.unreadable.push(Unreadable {
                spot: Spot {
                    file: path.clone(),
                    line,
                    column,
                    end: column,
                    excerpt: String::new(),
                },
                message,
            });
        };
        if bytes.len() as u64 > LARGEST {
            wrong(0, 0, format!("the file has more than {} MiB", LARGEST >> 20));
            return;
        }
        match String::from_utf8(bytes) {
            Ok(text) => self.files.push(File { path, text }),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let before = error.as_bytes().iter().take(valid);
                let line = before.clone().filter(|byte| **byte == b'\n').count() + 1;
                let column = before.rev().take_while(|byte| **byte != b'\n').count() + 1;
                wrong(line, column, "the file is no text in UTF-8".to_owned());
            }
        }
    }
}

fn collect(path: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), CliError> {
    let about = fs::metadata(path).map_err(|source| cannot_read(path, source))?;
    if !about.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    let entries = fs::read_dir(path).map_err(|source| cannot_read(path, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| cannot_read(path, source))?;
        let (name, path) = (entry.file_name(), entry.path());
        let hidden = name.to_string_lossy().starts_with('.');
        // A link to a folder may lead back up; what it shows is read where it really lies.
        let kind = entry.file_type().map_err(|source| cannot_read(&path, source))?;
        if hidden || found.len() >= MOST_FILES {
            continue;
        }
        if kind.is_dir() && depth < DEEPEST {
            collect(&path, depth + 1, found)?;
        } else if !kind.is_dir() && is_manifest(&path) && path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

/// Tells whether a file of a folder is read at all.
pub(in crate::cli) fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(std::ffi::OsStr::to_str);
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

fn shown(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    text.strip_prefix("./").unwrap_or(&text).to_owned()
}

fn cannot_read(path: &Path, source: std::io::Error) -> CliError {
    CliError::ReadFile {
        path: path.to_owned(),
        source,
    }
}
