//! Policies in files: every YAML and JSON file of a folder, every document of a file.
//!
//! Decides how much may be read; what a folder holds is decided by `files`. A file that cannot be read ends it: a policy that is
//! left out is a gate that stands open. Documents that are no policies are kept: params may be among them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::CliError;
use crate::files::{Walk, read_text};
use admission::policy::{Origin, Source, is_policy};
use lint::check::{File, PolicyFiles};
use lint::source::{Node, read};

/// The largest file, in bytes.
const LARGEST: u64 = 8 << 20;
/// The most bytes of all files.
const MOST_BYTES: usize = 64 << 20;
const WALK: Walk = Walk {
    endings: &["yaml", "yml", "json"],
    deepest: 16,
    most: 10_000,
    linked_folders: true,
};

/// Reads all policies below a file or folder.
pub(in crate::cli) fn read_folder(path: &Path) -> Result<PolicyFiles, CliError> {
    read_all(&[path.to_owned()])
}

/// Reads all policies below files and folders.
pub(super) fn read_all(paths: &[PathBuf]) -> Result<PolicyFiles, CliError> {
    let mut folder = PolicyFiles::default();
    for File { path, text } in texts(paths)? {
        let origin = Origin::File(path.clone());
        for document in parsed(Path::new(&path), &text)? {
            if is_policy(&document) {
                let origin = origin.clone();
                folder.sources.push(Source { origin, document });
            } else {
                folder.objects.push(document);
            }
        }
    }
    Ok(folder)
}

/// Reads the texts of all files below files and folders.
pub(super) fn texts(paths: &[PathBuf]) -> Result<Vec<File>, CliError> {
    let mut read = Vec::new();
    let mut bytes = 0;
    for file in files(paths)? {
        let text = text(&file)?;
        bytes += text.len();
        if bytes > MOST_BYTES {
            let limit = format!("the files up to this one have more than {} MiB", MOST_BYTES >> 20);
            return Err(wrong(&file, limit));
        }
        let path = file.display().to_string();
        read.push(File { path, text });
    }
    Ok(read)
}

/// Returns the files below files and folders, each once, sorted; a file that is named is read whatever its ending is.
pub(super) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let mut found = Vec::new();
    for path in paths {
        let about = std::fs::metadata(path).map_err(CliError::reading(path))?;
        if !about.is_dir() {
            found.push(path.clone());
            continue;
        }
        let below = WALK.below(path).map_err(CliError::reading(path))?;
        if let Some(refused) = below.refused.into_iter().next() {
            return Err(wrong(&refused.path, refused.why));
        }
        found.extend(below.files);
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Returns the documents of a file.
pub(super) fn documents(path: &Path) -> Result<Vec<Value>, CliError> {
    parsed(path, &text(path)?)
}

fn text(path: &Path) -> Result<String, CliError> {
    read_text(path, LARGEST).map_err(CliError::reading(path))
}

fn parsed(path: &Path, text: &str) -> Result<Vec<Value>, CliError> {
    let reading = read(text);
    match reading.faults.first() {
        None => Ok(reading.documents.iter().map(Node::value).collect()),
        Some(fault) => {
            let (line, column) = (fault.at.line, fault.at.column);
            Err(wrong(path, format!("{line}:{column}: {}", fault.message)))
        }
    }
}

fn wrong(path: &Path, reason: String) -> CliError {
    CliError::ReadDocument {
        path: path.to_owned(),
        reason,
    }
}
