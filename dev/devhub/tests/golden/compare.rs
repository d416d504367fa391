//! Whether a normalised answer equals the recorded one.
//!
//! Decides equality of values up to a renaming of symbols.
//!
//! Symbols are numbered by first appearance. One step that differs would shift all later numbers, so numbers
//! are not compared: a recorded symbol is bound to the first real one it meets, one to one, for the whole file.

use std::{collections::BTreeMap, fmt, sync::LazyLock};

use jiff::Timestamp;
use regex::Regex;
use serde_json::Value;

use crate::ages;

/// A place at which two answers differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) path: String,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            expected,
            found,
        } = self;
        write!(f, "{path}\n        recorded {expected}\n        found    {found}")
    }
}

/// Which real symbol each recorded one stands for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings {
    real: BTreeMap<String, String>,
    recorded: BTreeMap<String, String>,
}

impl Bindings {
    /// Returns the real symbol bound to a recorded one.
    pub(crate) fn real(&self, recorded: &str) -> Option<&str> {
        self.real.get(recorded).map(String::as_str)
    }

    fn bind(&mut self, recorded: &str, real: &str) -> bool {
        match (self.real.get(recorded), self.recorded.get(real)) {
            (None, None) => {
                self.real.insert(recorded.to_owned(), real.to_owned());
                self.recorded.insert(real.to_owned(), recorded.to_owned());
                true
            }
            (Some(bound), Some(_)) => bound == real,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Tells whether two texts are equal, binding the symbols in them.
    pub(crate) fn same_text(&mut self, recorded: &str, found: &str) -> bool {
        static SYMBOL: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"\$(?:rv|uid|gen|t)\d+").expect("a valid pattern"));
        let (left, right): (Vec<&str>, Vec<&str>) =
            (SYMBOL.split(recorded).collect(), SYMBOL.split(found).collect());
        let mut pairs = SYMBOL.find_iter(recorded).zip(SYMBOL.find_iter(found));
        left == right && pairs.all(|(recorded, found)| self.bind(recorded.as_str(), found.as_str()))
    }
}

/// Lists the differences between a recorded and a found value; `path` names the place.
pub(crate) fn differences(
    path: &str,
    recorded: &Value,
    found: &Value,
    bindings: &mut Bindings,
) -> Vec<Difference> {
    let mut list = Vec::new();
    compare(path, recorded, found, bindings, &mut list);
    list
}

/// Returns the difference between two texts, if there is one.
pub(crate) fn text_difference(
    path: &str,
    recorded: &str,
    found: &str,
    bindings: &mut Bindings,
) -> Option<Difference> {
    (!bindings.same_text(recorded, found)).then(|| Difference {
        path: path.to_owned(),
        expected: shown(&Value::String(recorded.to_owned())),
        found: shown(&Value::String(found.to_owned())),
    })
}

fn compare(path: &str, recorded: &Value, found: &Value, bindings: &mut Bindings, list: &mut Vec<Difference>) {
    match (recorded, found) {
        (Value::Object(left), Value::Object(right)) => {
            for (name, recorded) in left {
                let place = format!("{path}.{name}");
                match right.get(name) {
                    Some(found) => compare(&place, recorded, found, bindings, list),
                    None => list.push(difference(&place, &shown(recorded), "nothing")),
                }
            }
            for (name, found) in right.iter().filter(|(name, _)| !left.contains_key(*name)) {
                list.push(difference(&format!("{path}.{name}"), "nothing", &shown(found)));
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (recorded, found)) in left.iter().zip(right).enumerate() {
                compare(&format!("{path}[{index}]"), recorded, found, bindings, list);
            }
        }
        (Value::String(left), Value::String(right))
            if bindings.same_text(left, right) || ages::is_grown(left, right, Timestamp::now()) => {}
        (Value::Number(left), Value::Number(right)) if left == right || left.as_f64() == right.as_f64() => {}
        _ if recorded == found && !recorded.is_string() => {}
        _ => list.push(difference(path, &shown(recorded), &shown(found))),
    }
}

fn difference(path: &str, expected: &str, found: &str) -> Difference {
    Difference {
        path: path.to_owned(),
        expected: expected.to_owned(),
        found: found.to_owned(),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 600 {
        text
    } else {
        text.chars().take(600).chain("...".chars()).collect()
    }
}

/// Tells whether every member of `want` is in `have`; elements of lists may stand anywhere.
pub(crate) fn is_subset(want: &Value, have: &Value) -> bool {
    match (want, have) {
        (Value::Object(want), Value::Object(have)) => want
            .iter()
            .all(|(name, want)| have.get(name).is_some_and(|have| is_subset(want, have))),
        (Value::Array(want), Value::Array(have)) => want
            .iter()
            .all(|want| have.iter().any(|have| is_subset(want, have))),
        _ => want == have,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Bindings, differences, is_subset};

    #[track_caller]
    fn check(recorded: &Value, found: &Value, expected: &[&str]) {
        let paths: Vec<String> = differences("body", recorded, found, &mut Bindings::default())
            .into_iter()
            .map(|difference| difference.path)
            .collect();
        assert_eq!(paths, expected);
    }

    #[test]
    fn names_every_place_that_differs() {
        check(
            &json!({ "a": [1, { "b": "x" }] }),
            &json!({ "a": [1.0, { "b": "x" }] }),
            &[],
        );
        check(
            &json!({ "a": [1, { "b": "x" }] }),
            &json!({ "a": [2, { "b": "y" }] }),
            &["body.a[0]", "body.a[1].b"],
        );
        check(&json!({ "a": 1 }), &json!({ "b": 1 }), &["body.a", "body.b"]);
        check(&json!({ "a": [1] }), &json!({ "a": [1, 2] }), &["body.a"]);
        check(&json!({ "a": null }), &json!({}), &["body.a"]);
    }

    #[test]
    fn binds_symbols_one_to_one() {
        check(
            &json!(["$rv1", "$rv2", "$rv1"]),
            &json!(["$rv7", "$rv9", "$rv7"]),
            &[],
        );
        check(&json!(["$rv1", "$rv2"]), &json!(["$rv7", "$rv7"]), &["body[1]"]);
        check(&json!(["$rv1", "$rv1"]), &json!(["$rv7", "$rv8"]), &["body[1]"]);
        check(&json!(["uid $uid1 of $rv1"]), &json!(["uid $uid2 of $rv4"]), &[]);
        check(&json!(["$uid1"]), &json!(["$rv1"]), &[]);
        check(&json!(["$rv1 x"]), &json!(["$rv1 y"]), &["body[0]"]);
    }

    #[test]
    fn finds_subsets() {
        let have = json!({ "a": [{ "t": "x", "s": 1 }, { "t": "y" }], "b": 2 });
        assert!(is_subset(&json!({ "a": [{ "t": "y" }] }), &have));
        assert!(!is_subset(&json!({ "a": [{ "t": "z" }] }), &have));
        assert!(!is_subset(&json!({ "c": 1 }), &have));
    }
}
