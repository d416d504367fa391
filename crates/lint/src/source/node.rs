//! A document as a tree in which every key and every value knows where it stands.
//!
//! Decides nothing; turns into plain JSON where only the values are wanted.

use serde_json::{Map, Value};

/// A place in a text: line and column, both counted from 1, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A stretch of a text: from the first character to the one behind the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Where it begins.
    pub start: Mark,
    /// The first place that does not belong to it any more.
    pub end: Mark,
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub content: Content,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text, number, truth or nothing.
    Scalar(Value),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the text; no key stands in it twice.
    Map(Vec<Entry>),
}

/// One key of a mapping with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub name: String,
    /// Where the key stands.
    pub key: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// Returns the value as plain JSON.
    pub fn value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => Value::Array(items.iter().map(Self::value).collect()),
            Content::Map(entries) => {
                let fields = entries
                    .iter()
                    .map(|entry| (entry.name.clone(), entry.value.value()));
                Value::Object(fields.collect::<Map<String, Value>>())
            }
        }
    }

    /// Returns the entry of a mapping, if this is one and has it.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        match &self.content {
            Content::Map(entries) => entries.iter().find(|entry| entry.name == name),
            Content::Scalar(_) | Content::List(_) => None,
        }
    }

    /// Returns the text of a field, if it has one.
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.entry(name)?.value.content {
            Content::Scalar(value) => value.as_str(),
            Content::List(_) | Content::Map(_) => None,
        }
    }

    /// Returns the items of a list, none if this is no list.
    pub fn items(&self) -> &[Self] {
        match &self.content {
            Content::List(items) => items,
            Content::Scalar(_) | Content::Map(_) => &[],
        }
    }

    /// Returns how many nodes this one is, itself included.
    pub(super) fn size(&self) -> usize {
        match &self.content {
            Content::Scalar(_) => 1,
            Content::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Content::Map(entries) => 1 + entries.iter().map(|entry| entry.value.size()).sum::<usize>(),
        }
    }

    /// Returns how deep the values below this one are nested.
    pub(super) fn depth(&self) -> usize {
        let below = match &self.content {
            Content::Scalar(_) => None,
            Content::List(items) => items.iter().map(Self::depth).max(),
            Content::Map(entries) => entries.iter().map(|entry| entry.value.depth()).max(),
        };
        1 + below.unwrap_or_default()
    }
}
