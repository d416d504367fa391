//! The pieces of text in a manifest, and what stands between double braces in them.
//!
//! Decides what is a variable, as rendering does: a letter or `_`, then letters, digits and `_`, with nothing else between
//! the braces. Other text between braces belongs to somebody else's templates.

use serde_json::Value;

use crate::admission::effort::Effort;
use crate::field::Path;

/// Where a text stands, as a chain that costs nothing until somebody wants its path.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trail<'t> {
    /// The manifest itself.
    Root(&'t Path),
    /// A field of what stands at the trail.
    Field(&'t Self, &'t str),
    /// An item of it.
    Item(&'t Self, usize),
}

impl Trail<'_> {
    /// Returns the path.
    pub(super) fn path(&self) -> Path {
        match self {
            Self::Root(path) => (*path).clone(),
            Self::Field(parent, name) if is_plain(name) => parent.path().key((*name).to_owned()),
            Self::Field(parent, name) => parent.path().entry(*name),
            Self::Item(parent, index) => parent.path().index(*index),
        }
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Shows every text, keys included, with its place; stops when the effort is spent.
pub(super) fn each_text(
    value: &Value,
    trail: Trail<'_>,
    effort: &Effort,
    see: &mut impl FnMut(&str, &Trail<'_>),
) {
    if !effort.spend(1) {
        return;
    }
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => see(text, &trail),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_text(item, Trail::Item(&trail, index), effort, see);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let at = Trail::Field(&trail, name);
                see(name, &at);
                each_text(field, at, effort, see);
            }
        }
    }
}

/// What stands in a text where braces open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag<'a> {
    /// Braces that are never closed.
    Unclosed,
    /// A variable.
    Variable(&'a str),
    /// A name with blanks around it.
    Blanks(&'a str),
}

/// Shows every tag of a text.
pub(super) fn each_tag<'a>(text: &'a str, mut see: impl FnMut(Tag<'a>)) {
    let mut rest = text;
    while let Some((_, inner)) = rest.split_once("{{") {
        let Some((inside, after)) = inner.split_once("}}") else {
            return see(Tag::Unclosed);
        };
        if is_name(inside) {
            see(Tag::Variable(inside));
            rest = after;
            continue;
        }
        if is_name(inside.trim()) {
            see(Tag::Blanks(inside.trim()));
        }
        // Not ours. A variable may still stand within, as in `{{ printf "{{CLUSTER_NAME}}" }}` or `{{{CLUSTER_NAME}}}`.
        let opening = text.len() - inner.len() - 1;
        rest = text.get(opening..).unwrap_or_default();
    }
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first = bytes.next();
    first.is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tags(text: &str) -> Vec<Tag<'_>> {
        let mut all = Vec::new();
        each_tag(text, |tag| all.push(tag));
        all
    }

    #[test]
    fn only_whole_names_between_braces_are_variables() {
        assert_eq!(
            tags("a {{X}}-{{_y1}} b"),
            [Tag::Variable("X"), Tag::Variable("_y1")]
        );
        assert_eq!(tags("{{ X }}"), [Tag::Blanks("X")]);
        assert_eq!(tags("{{ $labels.pod }} {{1x}} {x} }}"), []);
        assert_eq!(tags("{{{X}}}"), [Tag::Variable("X")]);
        assert_eq!(tags("{{ printf \"{{X}}\" }}"), [Tag::Variable("X")]);
        assert_eq!(tags("{{X}} {{ y"), [Tag::Variable("X"), Tag::Unclosed]);
        assert_eq!(tags("{{"), [Tag::Unclosed]);
        assert_eq!(tags(&"{".repeat(1000)).len(), 1, "hostile text costs little");
    }

    #[test]
    fn every_text_is_seen_with_its_place() {
        let value = json!({"data": {"a.b": ["x", 1, {"{{K}}": "y"}]}});
        let mut seen = Vec::new();
        let root = Path::parse("m[0]");
        each_text(
            &value,
            Trail::Root(&root),
            &Effort::default(),
            &mut |text, trail| {
                seen.push(format!("{} {text}", trail.path()));
            },
        );
        let expected = [
            "m[0].data data",
            "m[0].data[a.b] a.b",
            "m[0].data[a.b][0] x",
            "m[0].data[a.b][2][{{K}}] {{K}}",
            "m[0].data[a.b][2][{{K}}] y",
        ];
        assert_eq!(seen, expected);
    }
}
