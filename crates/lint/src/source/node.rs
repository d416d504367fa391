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
    /// A mapping, in the order of the text; no key is in it twice.
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

/// One object as it is in a text.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    /// Where it stands.
    pub node: &'a Node,
    /// What it says; items of a typed list have the kind of that list.
    pub value: Value,
}

/// Returns the objects of a document, those of lists one by one.
pub fn objects(document: &Node) -> Vec<Object<'_>> {
    let mut found = Vec::new();
    collect(document, None, &mut found);
    found
}

fn collect<'a>(node: &'a Node, of: Option<(&str, &str)>, found: &mut Vec<Object<'a>>) {
    let api_version = node.text("apiVersion");
    let item_kind = node.text("kind").and_then(|kind| kind.strip_suffix("List"));
    let items = item_kind.and_then(|_| node.entry("items"));
    if let (Some(kind), Some(items)) = (item_kind, items) {
        let of = api_version
            .filter(|_| !kind.is_empty())
            .map(|version| (version, kind));
        for item in items.value.items() {
            collect(item, of, found);
        }
        return;
    }
    let mut value = node.value();
    if let (Value::Object(fields), Some((version, kind))) = (&mut value, of) {
        let known = |text: &str| Value::String(text.to_owned());
        fields.entry("apiVersion").or_insert_with(|| known(version));
        fields.entry("kind").or_insert_with(|| known(kind));
    }
    found.push(Object { node, value });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::read;

    fn kinds(text: &str) -> Vec<String> {
        let reading = read(text);
        let all = reading.documents.iter().flat_map(objects);
        all.map(|object| {
            let text = |name: &str| object.value[name].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {}",
                text("apiVersion"),
                text("kind"),
                object.node.span.start.line
            )
        })
        .collect()
    }

    #[test]
    fn lists_are_their_items() {
        assert_eq!(
            kinds(
                "apiVersion: v1\nkind: List\nitems:\n- apiVersion: g/v1\n  kind: A\n- apiVersion: v1\n  kind: BList\n  items:\n  - x: 1\n"
            ),
            ["g/v1 A 4", "v1 B 9"]
        );
        assert_eq!(kinds("kind: List\n"), ["- List 1"]);
        assert_eq!(
            kinds("kind: AllowList\napiVersion: g/v1\nspec: {}\n"),
            ["g/v1 AllowList 1"]
        );
        assert_eq!(kinds("kind: List\nitems: []\n"), Vec::<String>::new());
    }
}
