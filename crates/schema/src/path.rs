//! Where in a value a check stands, as a list on the stack.
//!
//! Decides how a path reads; allocates only when a fault is reported.

use std::fmt::{self, Write as _};

/// One step of a path.
#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root(&'a str),
    Field(&'a str),
    Index(usize),
    Key(&'a str),
    Entry(&'a str),
}

/// A path that points to its parent: `spec` ← `items` ← `[0]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
}

impl<'a> Path<'a> {
    /// Starts a path; `prefix` stands before everything in [`Path::field`] and nowhere in [`Path::name`].
    pub(crate) fn root(prefix: &'a str) -> Self {
        Self {
            parent: None,
            step: Step::Root(prefix),
        }
    }

    /// Goes to a member of an object: `.name`.
    pub(crate) fn child(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Field(name),
        }
    }

    /// Goes to an entry of a map: `[key]`.
    pub(crate) fn key(&'a self, key: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Key(key),
        }
    }

    /// Goes to an entry of a map as value checks do: `.key`, also where nothing stands before it.
    pub(crate) fn entry(&'a self, key: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Entry(key),
        }
    }

    /// Goes to an item of a list: `[3]`.
    pub(crate) fn index(&'a self, at: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Index(at),
        }
    }

    /// Returns the root: where Kubernetes puts faults that name their field in the text only.
    pub(crate) fn base(&self) -> Self {
        self.parent.map_or(*self, Self::base)
    }

    /// Returns the path below the root, as the texts of value checks name it.
    pub(crate) fn name(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut out, false);
        out
    }

    /// Returns the whole path, as `causes[].field` names it; `<nil>` when it is empty.
    pub(crate) fn field(&self) -> String {
        let mut out = String::new();
        let _ = self.write(&mut out, true);
        if out.is_empty() {
            out.push_str("<nil>");
        }
        out
    }

    fn write(&self, out: &mut String, with_prefix: bool) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.write(out, with_prefix)?;
        }
        match self.step {
            Step::Root(prefix) if with_prefix => out.write_str(prefix),
            Step::Root(_) => Ok(()),
            Step::Field(name) if out.is_empty() => out.write_str(name),
            Step::Entry(name) if out.is_empty() && with_prefix => out.write_str(name),
            Step::Field(name) | Step::Entry(name) => write!(out, ".{name}"),
            Step::Index(at) => write!(out, "[{at}]"),
            Step::Key(key) => write!(out, "[{key}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_matches_fields_but_not_in_names() {
        let root = Path::root("status");
        let list = root.child("conditions");
        let item = list.index(1);
        let field = item.child("type");
        assert_eq!(field.field(), "status.conditions[1].type");
        assert_eq!(field.name(), "conditions[1].type");
        assert_eq!(Path::root("").field(), "<nil>");
        assert_eq!(list.key("x y").field(), "status.conditions[x y]");
    }
}
