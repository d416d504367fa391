//! The strings of a manifest, and the tags between double braces in them.
//!
//! As in rendering, a variable is a letter or `_`, then letters, digits and `_`, with nothing else between the braces, or a
//! `model::ClusterVariable`. Other text between braces belongs to the templates of another program.

use serde_json::Value;

use crate::step_budget::StepBudget;
use kubernetes::field::Path;
use model::{BadClusterVariable, ClusterVariable};

/// The position of a string, as a linked list that allocates nothing until its path is built.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trail<'t> {
    /// The manifest itself.
    Root(&'t Path),
    /// A field of the object at the trail.
    Field(&'t Self, &'t str),
    /// An item of the list at the trail.
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

/// Calls `see` for every string, including keys, with its position. Stops when the step budget is used up.
pub(super) fn each_text(
    value: &Value,
    trail: Trail<'_>,
    effort: &StepBudget<'_>,
    see: &mut impl FnMut(&str, &Trail<'_>),
) {
    if !effort.spend(1) {
        return;
    }
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => {
            if effort.read(text) {
                see(text, &trail);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_text(item, Trail::Item(&trail, index), effort, see);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                if !effort.read(name) {
                    return;
                }
                let at = Trail::Field(&trail, name);
                see(name, &at);
                each_text(field, at, effort, see);
            }
        }
    }
}

/// The text after an opening `{{`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag<'a> {
    /// `{{` without `}}`.
    Unclosed,
    /// A variable.
    Variable(&'a str),
    /// A name with spaces around it.
    Blanks(&'a str),
    /// A cluster variable.
    OfCluster,
    /// An invalid cluster variable, with the reason.
    BadCluster(&'a str, BadClusterVariable),
}

/// Calls `see` for every tag of a text.
pub(super) fn each_tag<'a>(text: &'a str, mut see: impl FnMut(Tag<'a>)) {
    let find = |from: usize, braces: &str| {
        let rest = text.get(from..)?;
        rest.find(braces).map(|at| from.saturating_add(at))
    };
    // Many openings may share one closing. It is searched once, and the text between is never read as a whole.
    let (mut from, mut closing) = (0_usize, None);
    while let Some(opening) = find(from, "{{") {
        let inside = opening.saturating_add(2);
        if closing.is_none_or(|closing| closing < inside) {
            closing = find(inside, "}}");
        }
        let Some(end) = closing else {
            return see(Tag::Unclosed);
        };
        let tag = tag(text.get(inside..end).unwrap_or_default());
        if let Some(tag) = tag {
            see(tag);
        }
        from = match tag {
            Some(Tag::Variable(_) | Tag::OfCluster) => end.saturating_add(2),
            // Not a variable of Tidegate. It may contain one, as in `{{ printf "{{CLUSTER_NAME}}" }}` or `{{{CLUSTER_NAME}}}`.
            Some(Tag::Blanks(_) | Tag::Unclosed | Tag::BadCluster(..)) | None => opening.saturating_add(1),
        };
    }
}

/// Parses the text between braces. Reads only a name and the spaces around it.
fn tag(inside: &str) -> Option<Tag<'_>> {
    if let Some(variable) = ClusterVariable::parse(inside) {
        // The text after another brace may be the rest of the whole string.
        let shown = inside.split(['{', '}']).next().unwrap_or_default();
        return Some(variable.map_or_else(|why| Tag::BadCluster(shown, why), |_| Tag::OfCluster));
    }
    let begun = inside.trim_start();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = begun.bytes().take_while(is_part).count();
    let (name, after) = begun.split_at_checked(length)?;
    let is_name = name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    if !is_name || !after.chars().all(char::is_whitespace) {
        return None;
    }
    let is_bare = name.len() == inside.len();
    Some(if is_bare {
        Tag::Variable(name)
    } else {
        Tag::Blanks(name)
    })
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
        assert_eq!(tags("{{CLUSTER_LABEL:a/b:-c}}"), [Tag::OfCluster]);
        assert_eq!(
            tags("{{ CLUSTER_CLAIM:a}}"),
            [Tag::BadCluster(" CLUSTER_CLAIM:a", BadClusterVariable::Blanks)]
        );
        assert_eq!(
            tags(&"{".repeat(1000)).len(),
            1,
            "the cost of malicious text is small"
        );
    }

    #[test]
    fn every_text_is_seen_with_its_place() {
        let value = json!({"data": {"a.b": ["x", 1, {"{{K}}": "y"}]}});
        let mut seen = Vec::new();
        let root = Path::parse("m[0]");
        each_text(
            &value,
            Trail::Root(&root),
            &StepBudget::default(),
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
