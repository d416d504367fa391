//! Policies in files: every YAML and JSON file of a folder, every document of a file.
//!
//! Decides which files are read, in the order of their paths. Documents that are no policies are kept: params may be among
//! them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::CliError;
use crate::policy::{Loaded, Origin, PolicySet, Source, is_policy};

/// The largest file, in bytes.
const LARGEST: u64 = 8 << 20;
/// The most folders inside each other.
const DEEPEST: usize = 16;
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// What files hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Folder {
    /// The policies and bindings.
    pub(in crate::cli) sources: Vec<Source>,
    /// Everything else.
    pub(in crate::cli) objects: Vec<Value>,
}

impl Folder {
    /// Compiles the policies.
    pub(super) fn load(&self) -> Loaded {
        PolicySet::load(&self.sources, &self.objects, &PolicySet::default())
    }
}

/// Reads all policies below a file or folder.
pub(in crate::cli) fn read_folder(path: &Path) -> Result<Folder, CliError> {
    read_all(&[path.to_owned()])
}

/// Reads all policies below files and folders.
pub(super) fn read_all(paths: &[PathBuf]) -> Result<Folder, CliError> {
    let mut folder = Folder::default();
    for file in files(paths)? {
        let origin = Origin::File(file.display().to_string());
        for document in documents(&file)? {
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

/// Returns the files below files and folders, each once, sorted; a file that is named is read whatever its ending is.
pub(super) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let mut found = Vec::new();
    for path in paths {
        let about = fs::metadata(path).map_err(|source| unreadable(path, source))?;
        if about.is_dir() {
            walk(path, 0, &mut found)?;
        } else {
            found.push(path.clone());
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), CliError> {
    if depth > DEEPEST {
        let reason = format!("more than {DEEPEST} folders stand inside each other");
        return Err(CliError::ReadDocument {
            path: folder.to_owned(),
            reason,
        });
    }
    let entries = fs::read_dir(folder).map_err(|source| unreadable(folder, source))?;
    for entry in entries {
        let path = entry.map_err(|source| unreadable(folder, source))?.path();
        // A mounted folder keeps its real files in a hidden one, and links to them.
        let hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden {
            continue;
        }
        if path.is_dir() {
            walk(&path, depth + 1, found)?;
        } else if path
            .extension()
            .is_some_and(|end| ENDINGS.iter().any(|known| end == *known))
        {
            found.push(path);
        }
    }
    Ok(())
}

/// Returns the documents of a file.
pub(super) fn documents(path: &Path) -> Result<Vec<Value>, CliError> {
    let about = fs::metadata(path).map_err(|source| unreadable(path, source))?;
    let wrong = |reason: String| CliError::ReadDocument {
        path: path.to_owned(),
        reason,
    };
    if about.len() > LARGEST {
        return Err(wrong(format!("is larger than {LARGEST} bytes")));
    }
    let text = fs::read_to_string(path).map_err(|source| unreadable(path, source))?;
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text)
        .map_err(|error| wrong(error.to_string().lines().next().unwrap_or_default().to_owned()))?;
    Ok(documents
        .into_iter()
        .filter(|document| !document.is_null())
        .collect())
}

fn unreadable(path: &Path, source: std::io::Error) -> CliError {
    CliError::ReadFile {
        path: path.to_owned(),
        source,
    }
}
