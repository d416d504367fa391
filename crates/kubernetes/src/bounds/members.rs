//! The members of an object, one after the other, without a map of them.

use super::scan::Bounds;
use super::{MOST_VALUES, RULE};
use crate::field::{Class, Fault, Path, Violation};
use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Passes each member of the text of an object to `take`, in its order.
///
/// # Errors
///
/// Where the text is none of an object.
pub fn members<'t>(text: &'t str, take: impl FnMut(Cow<'t, str>, &'t RawValue)) -> serde_json::Result<()> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.deserialize_map(Members(take))?;
    reader.end()
}

struct Members<F>(F);

impl<'t, F: FnMut(Cow<'t, str>, &'t RawValue)> Visitor<'t> for Members<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'t>>(mut self, mut map: M) -> Result<(), M::Error> {
        while let Some(Name(name)) = map.next_key()? {
            (self.0)(name, map.next_value()?);
        }
        Ok(())
    }
}

#[derive(serde::Deserialize)]
struct Name<'t>(#[serde(borrow)] Cow<'t, str>);

/// Why a text is not read.
#[derive(Debug)]
pub enum ReadError {
    /// It has too many values.
    TooManyValues(Box<Violation>),
    /// It is no JSON, or nests too deep.
    Syntax(serde_json::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyValues(violation) => violation.fmt(f),
            Self::Syntax(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads the text of an object that stands at this path. Nothing is built of one that has too many values.
///
/// # Errors
///
/// What it has too much of, or why it is no JSON.
pub fn read(text: &str, at: &Path) -> Result<Value, ReadError> {
    if let Some(violation) = Bounds::READABLE.exceeded_by(text, at) {
        return Err(ReadError::TooManyValues(Box::new(violation)));
    }
    serde_json::from_str(text).map_err(ReadError::Syntax)
}

/// Returns the violation of an object with so many values, at the place where it has too many.
#[must_use]
pub fn too_many_values(has: usize, at: Path) -> Violation {
    let words = format!("an object must have at most {MOST_VALUES} values, and this one has {has}");
    let fault = Fault::bare(Class::TooMany, words);
    fault.hint("split it into several objects").at(at, RULE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_in_their_order_with_their_text() {
        let mut all = Vec::new();
        let text = r#"{"b": [1,2], "a\n": {"x":"y"}}"#;
        members(text, |name, member| all.push(format!("{name}={}", member.get()))).expect("an object");
        assert_eq!(all, ["b=[1,2]", "a\n={\"x\":\"y\"}"]);
        for text in ["[]", "1", "{", r#"{"a":1} 2"#] {
            assert!(members(text, |_, _| ()).is_err(), "{text}");
        }
    }
}

#[cfg(test)]
mod read_tests {
    use super::*;

    #[test]
    fn an_object_has_as_many_values_as_it_may_and_not_one_more() {
        let text = |items: usize| format!(r#"{{"spec":{{"x":[{}]}}}}"#, vec!["0"; items].join(","));
        assert!(read(&text(MOST_VALUES - 3), &Path::root()).is_ok());
        let error = read(&text(MOST_VALUES - 2), &Path::root()).expect_err("one too many");
        assert_eq!(
            error.to_string(),
            "spec.x[99997]: Too many: an object must have at most 100000 values, and this one has 100001; hint: split it into \
             several objects [schema/bounds]"
        );
        let error = read("{", &Path::root()).expect_err("no JSON");
        assert!(matches!(error, ReadError::Syntax(_)), "{error}");
    }
}
