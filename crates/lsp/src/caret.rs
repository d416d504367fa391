//! What stands at a place of a document.
//!
//! Decides which field a caret is in: the innermost whose key or value begins before it.

use serde_json::Value;

use source::{Content, Mark, Node, Reading, Span, objects};

/// A field of an object.
#[derive(Debug)]
pub(super) struct Caret {
    /// The object.
    pub(super) object: Value,
    /// The names on the way to the field; positions in lists are left out.
    pub(super) path: Vec<String>,
    /// The values on the way, the object first: what the parts of the path stand in.
    pub(super) around: Vec<Value>,
    /// Where its key or its value stands.
    pub(super) span: Span,
    /// Whether it is the value.
    pub(super) on_value: bool,
}

impl Caret {
    /// Returns `apiVersion` and `kind` of the object.
    pub(super) fn kind(&self) -> (&str, &str) {
        (text(&self.object, "apiVersion"), text(&self.object, "kind"))
    }
}

/// Returns a text of an object, empty where it has none.
pub(super) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns what stands at a place; nothing between fields.
pub(super) fn at(reading: &Reading, mark: Mark) -> Option<Caret> {
    let all = reading.documents.iter().flat_map(objects);
    let object = all.take_while(|object| object.node.span.start <= mark).last()?;
    let mut caret = Caret {
        object: object.value,
        path: Vec::new(),
        around: Vec::new(),
        span: object.node.span,
        on_value: false,
    };
    let mut node = object.node;
    loop {
        match &node.content {
            Content::Scalar(_) => {
                caret.span = node.span;
                caret.on_value = true;
                return holds(node.span, mark).then_some(caret);
            }
            Content::List(items) => {
                node = items.iter().take_while(|item| item.span.start <= mark).last()?;
            }
            Content::Map(entries) => {
                let entry = entries
                    .iter()
                    .filter(|entry| entry.key.start <= mark)
                    .max_by_key(|entry| entry.key.start)?;
                caret.around.push(node.value());
                caret.path.push(entry.name.clone());
                if holds(entry.key, mark) {
                    caret.span = entry.key;
                    return Some(caret);
                }
                node = below(&entry.value, mark)?;
            }
        }
    }
}

/// A value that begins behind the place is not what stands there.
fn below(node: &Node, mark: Mark) -> Option<&Node> {
    (node.span.start <= mark).then_some(node)
}

/// The place behind the last letter still counts: that is where a caret stands after a word.
fn holds(span: Span, mark: Mark) -> bool {
    span.start <= mark && mark <= span.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use source::read;

    const TEXT: &str =
        "kind: A\nspec:\n  list:\n  - name: x\n    more: {b: c}\n---\nkind: B\nmetadata:\n  name: y\n";

    fn found(line: usize, column: usize) -> Option<(String, bool)> {
        let caret = at(&read(TEXT), Mark { line, column })?;
        Some((
            format!("{} {}", caret.kind().1, caret.path.join(".")),
            caret.on_value,
        ))
    }

    #[test]
    fn a_place_is_in_the_innermost_field() {
        let is = |said: &str, on_value: bool| Some((said.to_owned(), on_value));
        assert_eq!(found(1, 1), is("A kind", false));
        assert_eq!(found(1, 7), is("A kind", true));
        assert_eq!(found(3, 4), is("A spec.list", false));
        assert_eq!(found(4, 5), is("A spec.list.name", false));
        assert_eq!(
            found(4, 12),
            is("A spec.list.name", true),
            "behind the last letter"
        );
        assert_eq!(found(5, 12), is("A spec.list.more.b", false));
        assert_eq!(found(5, 15), is("A spec.list.more.b", true));
        assert_eq!(found(9, 9), is("B metadata.name", true));
        assert_eq!(found(5, 40), None);
        assert_eq!(found(99, 1), None);
        assert_eq!(found(0, 0), None);
    }
}
