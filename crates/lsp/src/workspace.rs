//! The files of a folder, as they lie there and as they are being written.
//!
//! Decides which text of a file counts: what an editor holds, before what lies in the folder. All of them together are the hub that each is
//! judged on, as for `tidegate check`.

use std::collections::{BTreeMap, BTreeSet};

use gen_lsp_types::{CompletionItem, Diagnostic, Hover, Position};
use jiff::Timestamp;

use super::{complete, diagnose, hover};
use check::{Background, File, MissingFacts, check};
use report::{Spot, Unreadable};

/// The largest text that is judged, in bytes: as for the check.
pub const LARGEST: usize = 16 << 20;

/// The files of a folder.
#[derive(Debug, Default)]
pub struct Workspace {
    background: Background,
    /// Every file, by its path.
    files: Vec<File>,
    /// What of the folder is no text.
    unreadable: Vec<Unreadable>,
    /// What an editor holds, and in which version.
    open: BTreeMap<String, i32>,
    /// What an editor holds and is not judged.
    too_large: BTreeSet<String>,
    /// What was found last.
    found: BTreeMap<String, Vec<Diagnostic>>,
}

impl Workspace {
    /// Returns a folder without files, judged by these rules on this hub.
    pub fn new(background: Background) -> Self {
        Self {
            background,
            ..Self::default()
        }
    }

    /// Takes what lies in the folder now. What an editor holds stays.
    pub fn read(&mut self, mut files: Vec<File>, unreadable: Vec<Unreadable>) {
        let open = &self.open;
        files.retain(|file| !open.contains_key(&file.path));
        files.extend(self.files.drain(..).filter(|file| open.contains_key(&file.path)));
        files.sort_by(|one, other| one.path.cmp(&other.path));
        self.files = files;
        self.unreadable = unreadable;
        self.unreadable
            .retain(|fault| !open.contains_key(&fault.spot.file));
    }

    /// Takes what an editor holds of a file.
    pub fn hold(&mut self, path: &str, version: i32, text: String) {
        self.open.insert(path.to_owned(), version);
        let fits = text.len() <= LARGEST;
        if fits {
            self.too_large.remove(path);
        } else {
            self.too_large.insert(path.to_owned());
        }
        let text = if fits { text } else { String::new() };
        match self.files.binary_search_by(|file| file.path.as_str().cmp(path)) {
            Ok(at) => self
                .files
                .iter_mut()
                .skip(at)
                .take(1)
                .for_each(|file| file.text.clone_from(&text)),
            Err(at) => self.files.insert(
                at,
                File {
                    path: path.to_owned(),
                    text,
                },
            ),
        }
    }

    /// Lets go of what an editor held: what lies in the folder counts again once it is read.
    pub fn release(&mut self, path: &str) {
        self.open.remove(path);
        self.too_large.remove(path);
        self.files.retain(|file| file.path != path);
    }

    /// Returns the version that an editor holds of a file.
    pub fn version(&self, path: &str) -> Option<i32> {
        self.open.get(path).copied()
    }

    /// Judges everything; returns what is to be underlined, of all that an editor holds and of every file in which something is wrong.
    pub fn judge(&mut self, now: Timestamp) -> &BTreeMap<String, Vec<Diagnostic>> {
        self.background.now = Some(now);
        let mut report = check(&self.files, &self.background, MissingFacts::Warn);
        report.unreadable.extend(self.unreadable.iter().cloned());
        report
            .unreadable
            .extend(self.too_large.iter().map(|path| too_large(path)));
        report.sort();
        self.found = diagnose::by_file(&report, self.files.iter(), self.open.keys().cloned());
        &self.found
    }

    /// Returns what is said of a place in a file.
    pub fn hover(&self, path: &str, position: Position) -> Option<Hover> {
        let found = self.found.get(path).map(Vec::as_slice).unwrap_or_default();
        hover::at(self.text(path)?, found, position)
    }

    /// Returns what may stand at a place in a file.
    pub fn complete(&self, path: &str, position: Position) -> Vec<CompletionItem> {
        let text = self.text(path);
        text.map_or_else(Vec::new, |text| complete::at(text, position, self.files.iter()))
    }

    fn text(&self, path: &str) -> Option<&str> {
        let at = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(path))
            .ok()?;
        Some(&self.files.get(at)?.text)
    }
}

fn too_large(path: &str) -> Unreadable {
    Unreadable {
        spot: Spot {
            file: path.to_owned(),
            line: 1,
            column: 1,
            end: 1,
            excerpt: String::new(),
            begins: 1,
        },
        message: format!("the file has more than {} MiB and is not judged", LARGEST >> 20),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
