//! Files of folders, of standard input and of git, as texts.
//!
//! Decides which files are read and how large they may be. Content that is not text is reported with its position, like invalid YAML.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::exclude::Exclusions;
use crate::cli::CliError;
use crate::files::{self, Walk};
use lint::check::File;
use lint::report::{Spot, Unreadable};

/// The largest file, in bytes.
pub(in crate::cli) const LARGEST: u64 = 16 << 20;
/// The most bytes of all files of one check.
const MOST_BYTES: usize = 512 << 20;
/// Manifests. What a linked folder shows is read where it really lies.
const WALK: Walk = Walk {
    endings: &["yaml", "yml", "json"],
    deepest: 64,
    most: 100_000,
    linked_folders: false,
};

/// The texts of a check, and what is none.
#[derive(Debug, Default)]
pub(in crate::cli) struct Folder {
    pub(in crate::cli) files: Vec<File>,
    pub(in crate::cli) unreadable: Vec<Unreadable>,
    /// The paths below which no manifest lies.
    pub(in crate::cli) empty: Vec<PathBuf>,
}

/// Reads files and everything below folders; `-` is standard input. A path that is not there ends it.
pub(in crate::cli) fn read<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<Folder, CliError> {
    read_except(paths, &Exclusions::default())
}

/// The same without what is excluded.
pub(in crate::cli) fn read_except<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
    exclusions: &Exclusions,
) -> Result<Folder, CliError> {
    let mut folder = Folder::default();
    let mut total = 0;
    for path in paths {
        if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            let stdin = std::io::stdin().lock();
            let read = stdin.take(LARGEST.saturating_add(1)).read_to_end(&mut bytes);
            read.map_err(CliError::reading(path))?;
            folder.add("stdin".to_owned(), bytes);
            continue;
        }
        let below = folder.below(path)?;
        if below.is_empty() {
            folder.empty.push(path.clone());
        }
        for path in below {
            if exclusions.excludes(&path) {
                continue;
            }
            match files::read(&path, LARGEST) {
                Ok(bytes) => {
                    total += bytes.len();
                    folder.add(shown(&path), bytes);
                }
                Err(source) => folder.refuse(&path, &source.to_string()),
            }
            if total > MOST_BYTES {
                let limit = format!("the files up to this one have more than {} MiB", MOST_BYTES >> 20);
                return Err(CliError::reading(&path)(std::io::Error::other(limit)));
            }
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    folder.files.retain(|file| seen.insert(file.path.clone()));
    Ok(folder)
}

impl Folder {
    /// Returns the files of a path: itself, or those below it. One that is not there ends it.
    fn below(&mut self, path: &Path) -> Result<Vec<PathBuf>, CliError> {
        let about = fs::metadata(path).map_err(CliError::reading(path))?;
        if !about.is_dir() {
            files::inspect(path, LARGEST).map_err(CliError::reading(path))?;
            return Ok(vec![path.to_owned()]);
        }
        let found = WALK.below(path).map_err(CliError::reading(path))?;
        for refused in &found.refused {
            self.refuse(&refused.path, &refused.why);
        }
        Ok(found.files)
    }

    fn refuse(&mut self, path: &Path, why: &str) {
        self.unreadable.push(Unreadable {
            spot: Spot {
                file: shown(path),
                begins: 1,
                ..Spot::default()
            },
            message: format!("the file cannot be read: {why}"),
        });
    }

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
                    begins: 1,
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
                wrong(line, column, "the file is not UTF-8 text".to_owned());
            }
        }
    }
}

/// Returns the files of a path, whatever is wrong with it.
pub(in crate::cli) fn below(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        return WALK.below(path).map(|found| found.files).unwrap_or_default();
    }
    vec![path.to_owned()]
}

/// Returns whether a file of a folder is read at all.
pub(in crate::cli) fn is_manifest(path: &Path) -> bool {
    WALK.includes(path)
}

fn shown(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    text.strip_prefix("./").unwrap_or(&text).to_owned()
}
