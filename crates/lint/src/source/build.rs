//! From the events of the YAML parser to one document.
//!
//! Decides which documents are too large, too deep or ambiguous: an alias may stand for a tree of any size, so every node
//! counts, however it came in. Only the first fault of a document is reported.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use granit_parser::{Event, ScalarStyle, Tag};
use serde_json::Value;

use super::lines::Lines;
use super::node::{Content, Entry, Mark, Node, Span};
use super::parse::Fault;
use super::scalar::{Wanted, plain};
use kubernetes::bounds::{MOST_VALUES, too_many_values};
use kubernetes::field::{Path, quoted};

/// The most values and names in one document, which may be a list of many objects; one object has fewer ([`kubernetes::bounds::MOST_VALUES`]).
const MOST_NODES: usize = 500_000;
/// The deepest nesting; the API server stops far earlier.
const DEEPEST: usize = 200;
/// The key that takes over the entries of other mappings.
const MERGE: &str = "<<";

/// A document under construction.
#[derive(Debug)]
pub(super) struct Builder<'t> {
    lines: &'t Lines<'t>,
    open: Vec<Frame>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
    done: Option<Node>,
    fault: Option<Fault>,
}

#[derive(Debug)]
enum Frame {
    List {
        start: Mark,
        anchor: usize,
        items: Vec<Node>,
    },
    Map {
        start: Mark,
        anchor: usize,
        entries: Vec<Entry>,
        /// The names of the entries: looking through the entries for each would take their square.
        names: BTreeSet<String>,
        merged: Vec<Node>,
        key: Option<(String, Span)>,
    },
}

impl<'t> Builder<'t> {
    /// Returns an empty document of a text with these lines.
    pub(super) fn of(lines: &'t Lines<'t>) -> Self {
        Self {
            lines,
            open: Vec::new(),
            anchors: BTreeMap::new(),
            nodes: 0,
            done: None,
            fault: None,
        }
    }

    /// Returns how many values the document has so far.
    pub(super) fn nodes(&self) -> usize {
        self.nodes
    }

    /// Takes in one event of the document.
    pub(super) fn take(&mut self, event: Event<'_>, span: granit_parser::Span) {
        if self.fault.is_some() {
            return;
        }
        let span = of(span);
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the enum is non-exhaustive; all other events have no value"
        )]
        let taken = match event {
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::Scalar(text, style, anchor, tag) => self.scalar(&text, style, anchor, tag, span),
            Event::SequenceStart(_, anchor, _) => self.begin(
                Frame::List {
                    start: span.start,
                    anchor,
                    items: Vec::new(),
                },
                span,
            ),
            Event::MappingStart(_, anchor, _) => self.begin(
                Frame::Map {
                    start: span.start,
                    anchor,
                    entries: Vec::new(),
                    names: BTreeSet::new(),
                    merged: Vec::new(),
                    key: None,
                },
                span,
            ),
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            _ => Ok(()),
        };
        self.fault = taken.err();
    }

    /// Returns the document; nothing when it is empty.
    pub(super) fn finish(self) -> Result<Option<Node>, Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let is_empty = |node: &Node| matches!(node.content, Content::Scalar(Value::Null));
        let done = self.done.filter(|node| !is_empty(node));
        match done.as_ref().and_then(|node| crowded(node, &Path::root())) {
            Some(fault) => Err(fault),
            None => Ok(done),
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<Cow<'_, Tag>>,
        span: Span,
    ) -> Result<(), Fault> {
        let tagged_text = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix() != "int");
        let wanted = if tagged_text { Wanted::Text } else { Wanted::Any };
        // The parser writes a value without a letter as "~".
        let text = if style == ScalarStyle::Plain && span.start == span.end {
            ""
        } else {
            text
        };
        let (value, span) = match style {
            ScalarStyle::Plain => {
                let value = plain(text, wanted).map_err(|message| Fault {
                    at: span.start,
                    message,
                })?;
                (value, tight(span, text))
            }
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                (Value::String(text.to_owned()), self.unpadded(span))
            }
            ScalarStyle::Literal | ScalarStyle::Folded => (Value::String(text.to_owned()), span),
        };
        if let Some(Frame::Map { key: key @ None, .. }) = self.open.last_mut() {
            // A key is text for JSON, whatever it looks like.
            *key = Some((text.to_owned(), span));
            return self.count(1, span.start);
        }
        self.add(
            Node {
                span,
                content: Content::Scalar(value),
            },
            anchor,
        )
    }

    /// The parser ends a quoted value where the next thing begins; this ends it behind its closing quote.
    fn unpadded(&self, span: Span) -> Span {
        let mut letters = self.lines.from(span.start).chars();
        let Some(quote) = letters.next() else {
            return span;
        };
        let mut column = span.start.column + 1;
        let mut letters = letters.peekable();
        while let Some(letter) = letters.next() {
            column += 1;
            let doubled = quote == '\'' && letter == quote && letters.peek() == Some(&quote);
            if doubled || (quote == '"' && letter == '\\') {
                letters.next();
                column += 1;
            } else if letter == quote {
                let end = Mark {
                    line: span.start.line,
                    column,
                };
                return Span { end, ..span };
            }
        }
        span
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Fault> {
        let inside_itself = || fault(span.start, "an alias refers to a value that contains it");
        let target = self.anchors.get(&anchor).ok_or_else(inside_itself)?;
        if self.open.len() + target.depth() > DEEPEST {
            return Err(too_deep(span.start));
        }
        // Before the copy is made: that is what a bomb is about.
        let size = target.size();
        if self.nodes.saturating_add(size) > MOST_NODES {
            return Err(too_many(span.start));
        }
        let mut copy = target.clone();
        self.nodes += size;
        copy.span = span;
        self.nodes = self.nodes.saturating_sub(1);
        self.add(copy, 0)
    }

    fn begin(&mut self, frame: Frame, span: Span) -> Result<(), Fault> {
        if let Some(Frame::Map { key: None, .. }) = self.open.last() {
            return Err(fault(span.start, "a key must be text, not a list or a mapping"));
        }
        if self.open.len() >= DEEPEST {
            return Err(too_deep(span.start));
        }
        self.open.push(frame);
        Ok(())
    }

    fn end(&mut self, span: Span) -> Result<(), Fault> {
        match self.open.pop() {
            None => Ok(()),
            Some(Frame::List {
                start,
                anchor,
                mut items,
            }) => {
                items.shrink_to_fit();
                let end = close(&items, |item| item.span.end, span);
                let span = Span { start, end };
                self.add(
                    Node {
                        span,
                        content: Content::List(items),
                    },
                    anchor,
                )
            }
            Some(Frame::Map {
                start,
                anchor,
                mut entries,
                mut names,
                merged,
                key: _,
            }) => {
                let start = entries.first().map_or(start, |first| first.key.start.min(start));
                let end = close(&entries, |entry| entry.value.span.end, span);
                for source in merged {
                    merge(&mut entries, &mut names, source)?;
                }
                // The default capacity of four entries is three times what most maps need.
                entries.shrink_to_fit();
                let span = Span { start, end };
                self.add(
                    Node {
                        span,
                        content: Content::Map(entries),
                    },
                    anchor,
                )
            }
        }
    }

    fn add(&mut self, node: Node, anchor: usize) -> Result<(), Fault> {
        self.count(1, node.span.start)?;
        if anchor != 0 {
            // What has a name is kept a second time: names inside each other would keep the same values again and again.
            self.count(node.size(), node.span.start)?;
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            None => self.done = Some(node),
            Some(Frame::List { items, .. }) => items.push(node),
            Some(Frame::Map {
                entries,
                names,
                merged,
                key,
                ..
            }) => {
                let Some((name, key)) = key.take() else {
                    return Err(fault(node.span.start, "a key must be text"));
                };
                if name == MERGE {
                    merged.push(node);
                    return Ok(());
                }
                if !names.insert(name.clone()) {
                    return Err(twice(entries, &name, key.start));
                }
                entries.push(Entry {
                    name,
                    key,
                    value: node,
                });
            }
        }
        Ok(())
    }

    fn count(&mut self, more: usize, at: Mark) -> Result<(), Fault> {
        self.nodes = self.nodes.saturating_add(more);
        if self.nodes > MOST_NODES {
            let message =
                format!("the document has more than {MOST_NODES} values when its aliases are expanded");
            return Err(fault(at, &message));
        }
        Ok(())
    }
}

/// Returns the fault of the first object that has too many values.
fn crowded(node: &Node, at: &Path) -> Option<Fault> {
    let has = node.size();
    if has <= MOST_VALUES {
        return None;
    }
    let is_list = node.text("kind").is_some_and(|kind| kind.ends_with("List"));
    let Some(items) = node.entry("items").filter(|_| is_list) else {
        return Some(Fault {
            at: node.span.start,
            message: too_many_values(has, at.clone()).to_string(),
        });
    };
    let mut items = items.value.items().iter().enumerate();
    items.find_map(|(index, item)| crowded(item, &at.key("items").index(index)))
}

fn twice(entries: &[Entry], name: &str, at: Mark) -> Fault {
    let first = entries.iter().find(|entry| entry.name == name);
    let line = first.map_or(at.line, |first| first.key.start.line);
    let name = quoted(name);
    fault(
        at,
        &format!("the key {name} occurs twice in one mapping, first in line {line}"),
    )
}

/// Adds the entries of a merged mapping that are not there yet.
fn merge(entries: &mut Vec<Entry>, names: &mut BTreeSet<String>, source: Node) -> Result<(), Fault> {
    let at = source.span.start;
    let sources = match source.content {
        Content::Map(found) => vec![found],
        Content::List(items) => {
            let maps = items.into_iter().map(|item| match item.content {
                Content::Map(found) => Ok(found),
                Content::Scalar(_) | Content::List(_) => Err(fault(at, NO_MERGE)),
            });
            maps.collect::<Result<_, _>>()?
        }
        Content::Scalar(_) => return Err(fault(at, NO_MERGE)),
    };
    for entry in sources.into_iter().flatten() {
        if names.insert(entry.name.clone()) {
            entries.push(entry);
        }
    }
    Ok(())
}

const NO_MERGE: &str = "a merge key (<<) needs a mapping or a list of mappings";

/// The parser ends a block collection where the next thing begins; its last value ends earlier.
fn close<T>(parts: &[T], end: impl Fn(&T) -> Mark, span: Span) -> Mark {
    match parts.last().map(end) {
        Some(last) if last.line != span.start.line => last,
        Some(_) | None => span.end,
    }
}

/// An unquoted value ends with its last letter, not with the space behind it.
fn tight(span: Span, text: &str) -> Span {
    let length = text.chars().count();
    if span.start.line != span.end.line && text.contains(' ') {
        return span;
    }
    let end = Mark {
        line: span.start.line,
        column: span.start.column + length,
    };
    Span { end, ..span }
}

fn fault(at: Mark, message: &str) -> Fault {
    Fault {
        at,
        message: message.to_owned(),
    }
}

fn too_many(at: Mark) -> Fault {
    let message = format!("the document has more than {MOST_NODES} values when its aliases are expanded");
    fault(at, &message)
}

fn too_deep(at: Mark) -> Fault {
    fault(at, &format!("values are nested deeper than {DEEPEST} levels"))
}

fn of(span: granit_parser::Span) -> Span {
    let mark = |marker: granit_parser::Marker| Mark {
        line: marker.line().max(1),
        column: marker.col() + 1,
    };
    Span {
        start: mark(span.start),
        end: mark(span.end),
    }
}
