//! Values of a file beside those that a dump hides.
//!
//! A value that fits what is left of the hidden one is taken for it: whether it is the same is not in the dump.

use std::collections::BTreeMap;

use serde_json::Value;

use super::redact::VALUE;
use super::secret::TEXT;

/// Replaces the texts of a file that may be those that a dump hides; returns how many there were.
pub(super) fn assume(known: &Value, file: &mut Value) -> usize {
    match (known, file) {
        (Value::Object(known), Value::Object(file)) => {
            let pairs = file
                .iter_mut()
                .filter_map(|(name, field)| Some((known.get(name)?, field)));
            pairs.map(|(known, field)| assume(known, field)).sum()
        }
        (Value::Array(known), Value::Array(file)) => {
            let named: BTreeMap<&str, &Value> = known
                .iter()
                .filter_map(|item| Some((name_of(item)?, item)))
                .collect();
            let mut count = 0_usize;
            for (at, item) in file.iter_mut().enumerate() {
                let same = name_of(item).map_or_else(|| known.get(at), |name| named.get(name).copied());
                if let Some(same) = same {
                    count = count.saturating_add(assume(same, item));
                }
            }
            count
        }
        (Value::String(known), Value::String(file)) if known != file && fits(known, file) => {
            file.clone_from(known);
            1
        }
        (Value::String(known), file @ Value::Number(_)) if known == TEXT => {
            *file = Value::String(known.clone());
            1
        }
        _ => 0,
    }
}

fn name_of(item: &Value) -> Option<&str> {
    let own = item.get("name").or_else(|| item.pointer("/metadata/name"));
    own.and_then(Value::as_str)
}

/// Tells whether a text may be one of which parts are hidden.
fn fits(hidden: &str, text: &str) -> bool {
    if hidden == VALUE {
        return true;
    }
    let mut pieces: Vec<&str> = hidden.split(TEXT).collect();
    let (Some(last), false) = (pieces.pop(), pieces.is_empty()) else {
        return false;
    };
    let mut rest = text;
    for (at, piece) in pieces.into_iter().enumerate() {
        let found = rest.find(piece).filter(|place| at > 0 || *place == 0);
        let after = found.and_then(|place| rest.get(place.saturating_add(piece.len())..));
        let Some(after) = after else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_that_fits_what_is_hidden_is_taken_for_it() {
        for (hidden, text, expected) in [
            ("redacted", "anything", true),
            ("--key=redacted -v", "--key=4711 -v", true),
            ("--key=redacted -v", "--key=4711 -w", false),
            ("--key=redacted -v", "x --key=4711 -v", false),
            ("http://redacted:redacted@proxy", "http://a:b@proxy", true),
            (VALUE, "c2VjcmV0", true),
            ("plain", "other", false),
        ] {
            assert_eq!(fits(hidden, text), expected, "{hidden} {text}");
        }
        let known =
            json!({"a": [{"name": "x", "value": "redacted"}, {"name": "y", "value": "1"}], "n": "redacted"});
        let mut file =
            json!({"a": [{"name": "y", "value": "2"}, {"name": "x", "value": "s3cret"}], "n": 5, "new": "z"});
        assert_eq!(assume(&known, &mut file), 2);
        let expected = json!({"a": [{"name": "y", "value": "2"}, {"name": "x", "value": "redacted"}], "n": "redacted", "new": "z"});
        assert_eq!(file, expected);
    }
}
