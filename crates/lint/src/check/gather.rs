//! From files to the objects that are judged.
//!
//! Decides which documents count and why the others do not. A file that cannot be read does not hide the others.

use std::collections::BTreeMap;

use serde_json::Value;

use super::kinds::{FileKind, KnownKind, standing};
use super::leftovers;
use super::run::File;
use super::works::work_of;
use crate::report::{Ignored, Spot, Unreadable};
use crate::source::{Lines, Node, Reading, Span, objects, read_lines};
use admission::is_policy;

/// The most letters of a line that a report holds: of a text of one line it would hold the whole text once a finding.
const WIDEST: usize = 400;

/// What the readings of all files hold; the objects borrow from it.
#[derive(Debug, Default)]
pub(super) struct Library<'f> {
    books: Vec<(Page<'f>, Reading)>,
    ignored: Ignored,
}

/// A file and its lines.
#[derive(Debug)]
pub(super) struct Page<'f> {
    file: &'f File,
    lines: Lines<'f>,
}

/// One object of a file.
#[derive(Debug)]
pub(super) struct Item<'a> {
    /// The file.
    pub(super) page: &'a Page<'a>,
    /// Where everything of it stands.
    pub(super) node: &'a Node,
    /// What it says.
    pub(super) value: Value,
    /// Its kind, if it can be judged.
    pub(super) kind: Option<&'static KnownKind>,
}

/// Reads all files; what is only a template is counted.
pub(super) fn open(files: &[File]) -> Library<'_> {
    let mut library = Library::default();
    let charts = leftovers::charts(files.iter().map(|file| file.path.as_str()));
    for file in files {
        if leftovers::is_template(&file.path, &charts) {
            library.ignore(leftovers::TEMPLATE, &file.path);
        } else {
            library.read(file);
        }
    }
    library
}

impl<'f> Library<'f> {
    /// Reads all files, whatever they look like.
    pub(super) fn of(files: &'f [File]) -> Self {
        let mut library = Self::default();
        for file in files {
            library.read(file);
        }
        library
    }

    fn read(&mut self, file: &'f File) {
        let lines = Lines::of(&file.text);
        let reading = read_lines(&lines);
        self.books.push((Page { file, lines }, reading));
    }

    /// Returns the documents; lists stay what they are.
    pub(super) fn documents(&self) -> Vec<Item<'_>> {
        let books = self.books.iter();
        let all = books.flat_map(|(page, reading)| reading.documents.iter().map(move |node| (page, node)));
        all.map(|(page, node)| Item {
            page,
            node,
            value: node.value(),
            kind: None,
        })
        .collect()
    }
}

impl Library<'_> {
    fn ignore(&mut self, why: &str, what: &str) {
        count(&mut self.ignored, why, what);
    }

    /// Returns what could not be read.
    pub(super) fn unreadable(&self) -> Vec<Unreadable> {
        let books = self.books.iter();
        let all = books.flat_map(|(page, reading)| {
            // A file is searched once, however many faults it has.
            let has_braces = !reading.faults.is_empty() && page.has_braces();
            let faults = reading.faults.iter();
            faults.map(move |fault| (page, fault, has_braces))
        });
        all.map(|(page, fault, has_braces)| {
            let mut message = fault.message.clone();
            if has_braces {
                message.push_str(
                    "; if this is a template, render it first: helm template … | tidegate check -f -",
                );
            }
            let span = Span {
                start: fault.at,
                end: fault.at,
            };
            Unreadable {
                spot: spot(page, span),
                message,
            }
        })
        .collect()
    }

    /// Returns the objects, and how many documents are none that can be judged.
    pub(super) fn items(&self) -> (Vec<Item<'_>>, Ignored) {
        let mut ignored = self.ignored.clone();
        let mut ignore = |why: &str, what: &str| count(&mut ignored, why, what);
        let readings: BTreeMap<&str, &Reading> = self
            .books
            .iter()
            .map(|(page, reading)| (page.file.path.as_str(), reading))
            .collect();
        let patches = leftovers::patches(&readings);
        let mut items = Vec::new();
        for (page, reading) in &self.books {
            if patches.contains(&page.file.path) {
                ignore(leftovers::PATCH, &page.file.path);
                continue;
            }
            for object in reading.documents.iter().flat_map(objects) {
                let kind = match standing(&object.value) {
                    FileKind::Known(kind) => Some(kind),
                    FileKind::OtherVersion => {
                        ignore("in unknown versions", &named(&object.value));
                        None
                    }
                    FileKind::Foreign => {
                        if !is_policy(&object.value) && work_of(&object.value).is_none() {
                            ignore("of other kinds", &named(&object.value));
                        }
                        None
                    }
                    FileKind::NoObject => {
                        ignore("that are not objects", &page.file.path);
                        continue;
                    }
                };
                items.push(Item {
                    page,
                    node: object.node,
                    value: object.value,
                    kind,
                });
            }
        }
        (items, ignored)
    }
}

fn count(ignored: &mut Ignored, why: &str, what: &str) {
    let kinds = ignored.entry(why.to_owned()).or_default();
    *kinds.entry(what.to_owned()).or_default() += 1;
}

/// The kind of an object, with its version unless it is in the core group.
fn named(object: &Value) -> String {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("apiVersion") {
        "v1" => text("kind").to_owned(),
        version => format!("{version} {}", text("kind")),
    }
}

impl<'p> Page<'p> {
    /// Returns the name of the file.
    pub(super) fn path(&self) -> &'p str {
        &self.file.path
    }

    /// Returns the lines of the file.
    pub(super) fn lines(&self) -> &Lines<'p> {
        &self.lines
    }

    fn has_braces(&self) -> bool {
        self.file.text.contains("{{")
    }
}

/// Returns a stretch of a file as a report shows it.
pub(super) fn spot(page: &Page<'_>, span: Span) -> Spot {
    let (excerpt, begins) = page.lines.around(span.start, WIDEST);
    Spot {
        file: page.file.path.clone(),
        line: span.start.line,
        column: span.start.column,
        end: span.end.column.max(span.start.column),
        excerpt: excerpt.to_owned(),
        begins,
    }
}
