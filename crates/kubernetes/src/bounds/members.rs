//! The members of an object, one after the other, without a map of them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

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
