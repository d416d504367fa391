//! Paths of fields, in Kubernetes' syntax.
//!
//! Decides how a path is written, read, ordered, and which value it names. Never knows a schema.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use super::text::one_line;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// A field of an object: `.name`.
    Key(Cow<'static, str>),
    /// An item of a list: `[3]`. Sorts by number, not by text.
    Index(usize),
    /// An entry of a map whose keys are data: `[example.com/team]`.
    Entry(String),
}

/// Where a field is in an object, such as `spec.configs[0].resource`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(Vec<Segment>);

impl Path {
    /// Returns the path of the whole object.
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// Returns the path of the field `name` below this one.
    #[must_use]
    pub fn key(&self, name: impl Into<Cow<'static, str>>) -> Self {
        self.with(Segment::Key(name.into()))
    }

    /// Returns the path of item `index` below this one.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(Segment::Index(index))
    }

    /// Returns the path of the map entry `name` below this one.
    #[must_use]
    pub fn entry(&self, name: impl Into<String>) -> Self {
        self.with(Segment::Entry(name.into()))
    }

    /// Reads Kubernetes' text form; what is inside brackets is an index when it is a number.
    ///
    /// Reading never fails: whatever another component calls a path can be compared and printed.
    pub fn parse(text: &str) -> Self {
        let mut segments = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let (name, after) = inner.split_once(']').unwrap_or((inner, ""));
                segments.push(
                    name.parse()
                        .map_or_else(|_| Segment::Entry(name.to_owned()), Segment::Index),
                );
                rest = after.strip_prefix('.').unwrap_or(after);
                continue;
            }
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            segments.push(Segment::Key(Cow::Owned(name.to_owned())));
            rest = after.strip_prefix('.').unwrap_or(after);
        }
        Self(segments)
    }

    /// Returns the steps of this path, outermost first.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Returns the path without its last step, and that step.
    pub fn split_last(&self) -> Option<(Self, &Segment)> {
        let (last, before) = self.0.split_last()?;
        Some((Self(before.to_vec()), last))
    }

    /// Returns the value that this path names in `object`.
    pub fn lookup<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(object, |value, segment| match segment {
            Segment::Key(name) => value.get(name.as_ref()),
            Segment::Entry(name) => value.get(name.as_str()),
            Segment::Index(index) => value.get(*index),
        })
    }

    /// Returns the path of one step below this one.
    #[must_use]
    pub fn step(&self, segment: Segment) -> Self {
        self.with(segment)
    }

    fn with(&self, segment: Segment) -> Self {
        let mut segments = Vec::with_capacity(self.0.len() + 1);
        segments.extend(self.0.iter().cloned());
        segments.push(segment);
        Self(segments)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("<nil>");
        }
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(name) if position == 0 => f.write_str(&one_line(name))?,
                Segment::Key(name) => write!(f, ".{}", one_line(name))?,
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Entry(name) => write!(f, "[{}]", one_line(name))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_read_as_kubernetes_writes_them() {
        let path = Path::root()
            .key("metadata")
            .key("annotations")
            .entry("example.com/team");
        assert_eq!(path.to_string(), "metadata.annotations[example.com/team]");
        let path = Path::root().key("spec").key("configs").index(10).key("name");
        assert_eq!(path.to_string(), "spec.configs[10].name");
        assert_eq!(Path::root().to_string(), "<nil>");
    }

    #[test]
    fn parsing_undoes_printing() {
        for text in [
            "spec",
            "spec.configs[10].name",
            "metadata.annotations[example.com/team].x",
            "a[0][1]",
        ] {
            assert_eq!(Path::parse(text).to_string(), text);
        }
    }

    #[test]
    fn list_positions_sort_by_number() {
        assert!(Path::parse("spec.configs[9]") < Path::parse("spec.configs[10]"));
    }

    #[test]
    fn a_path_finds_its_value_or_nothing() {
        let object = json!({"spec": {"configs": [{"name": "a"}]}});
        assert_eq!(
            Path::parse("spec.configs[0].name").lookup(&object),
            Some(&json!("a"))
        );
        assert_eq!(Path::parse("spec.configs[1].name").lookup(&object), None);
        assert_eq!(Path::parse("spec.configs.name").lookup(&object), None);
    }
}
