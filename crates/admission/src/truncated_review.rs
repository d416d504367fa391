//! Parses the beginning of an AdmissionReview. An API server writes `uid` and `operation` before the objects.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

/// The fields at the beginning of a review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Beginning {
    /// The uid that the response must contain.
    pub(super) uid: Option<String>,
    /// The operation.
    pub(super) operation: Option<String>,
}

/// Parses the beginning of a review, which may end anywhere.
pub(super) fn read(bytes: &[u8]) -> Beginning {
    let found = RefCell::default();
    let mut text = serde_json::Deserializer::from_slice(bytes);
    let _ended_early = Fields(&found, Level::Review).deserialize(&mut text).is_err();
    found.into_inner()
}

#[derive(Clone, Copy)]
enum Level {
    Review,
    Request,
}

/// Deserializes the fields of an object into a [`Beginning`].
#[derive(Clone, Copy)]
struct Fields<'f>(&'f RefCell<Beginning>, Level);

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<(), D::Error> {
        text.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let Self(found, level) = self;
        while let Some(name) = map.next_key::<String>()? {
            match (level, name.as_str()) {
                (Level::Review, "request") => map.next_value_seed(Fields(found, Level::Request))?,
                (Level::Request, "uid") => found.borrow_mut().uid = Some(map.next_value()?),
                (Level::Request, "operation") => found.borrow_mut().operation = Some(map.next_value()?),
                (Level::Review | Level::Request, _) => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_known_by_its_first_fields() {
        let whole = r#"{"kind":"AdmissionReview","apiVersion":"v1","request":{"uid":"u-1","kind":{"uid":"no"},"operation":"DELETE","object":{"uid":"no","a":"#;
        let review = read(whole.as_bytes());
        assert_eq!(review.uid.as_deref(), Some("u-1"));
        assert_eq!(review.operation.as_deref(), Some("DELETE"));
        for end in 0..whole.len() {
            let review = read(whole.get(..end).expect("letters of one byte").as_bytes());
            assert!(review.uid.is_none_or(|uid| uid == "u-1"), "{end}");
        }
    }

    #[test]
    fn an_invalid_review_has_no_fields() {
        for text in [
            "",
            "[",
            "7",
            r#"{"uid":"u"}"#,
            r#"{"request":[{"uid":"u"}]}"#,
            r#"{"request":{"object":{"uid":"u"}}"#,
        ] {
            assert_eq!(read(text.as_bytes()).uid, None, "{text}");
        }
    }
}
