//! What a text would be as a tree: one pass, no memory.

use serde_json::Value;

/// What a map takes beside its fields, in bytes: a node of a B-tree has space for eleven of them.
const MAP: usize = 640;
/// What a value takes in its list, which has capacity for up to twice its items, but for four at least.
const VALUE: usize = 64;
const LIST: usize = 128;
/// What a field takes in its map, whose nodes are half empty where fields come in their order.
const FIELD: usize = 128;
/// What a text or a name takes beside its letters.
const TEXT: usize = 32;

/// How many values a text has, and how much memory they take as a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Maps, lists, texts, numbers, truths and nulls.
    pub values: usize,
    /// Bytes of the tree, rather too many than too few.
    pub tree: usize,
}

impl Size {
    /// Measures a text. What is no JSON has some size as well; reading it reports the fault.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        let (mut scalars, mut texts, mut names, mut lists, mut maps, mut letters) = (0, 0, 0, 0, 0, 0);
        let mut rest = text;
        while let Some((byte, behind)) = rest.split_first() {
            rest = behind;
            match byte {
                b'"' => {
                    let behind = behind_text(rest);
                    letters += rest.len() - behind.len();
                    texts += 1;
                    rest = behind;
                }
                b':' => names += 1,
                b'[' => lists += 1,
                b'{' => maps += 1,
                b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t' => {}
                _ => {
                    scalars += 1;
                    rest = behind_scalar(rest);
                }
            }
        }
        // The text before a colon is a name, and no value.
        let values = usize::saturating_sub(scalars + texts + lists + maps, names);
        let tree =
            values * VALUE + texts * TEXT + letters + names * FIELD + lists * LIST + maps.min(names) * MAP;
        Self { values, tree }
    }
}

/// Returns how much memory a tree takes, rather too much than too little.
#[must_use]
pub fn tree_size(value: &Value) -> usize {
    VALUE
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => TEXT + text.len(),
            Value::Array(items) => LIST + items.iter().map(tree_size).sum::<usize>(),
            Value::Object(fields) if fields.is_empty() => 0,
            Value::Object(fields) => {
                let field = |(name, field): (&String, &Value)| FIELD + TEXT + name.len() + tree_size(field);
                MAP + fields.iter().map(field).sum::<usize>()
            }
        }
}

/// Returns what follows the quote that ends a text.
pub(crate) fn behind_text(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let Some((byte, behind)) = rest.split_first() {
        rest = match byte {
            b'"' => return behind,
            b'\\' => behind.get(1..).unwrap_or_default(),
            _ => behind,
        };
    }
    rest
}

/// Returns what follows a number or a word.
pub(crate) fn behind_scalar(text: &[u8]) -> &[u8] {
    let is_of_it = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-');
    let end = text.iter().position(|byte| !is_of_it(byte));
    end.and_then(|end| text.get(end..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(counted).sum::<usize>(),
            Value::Object(fields) => 1 + fields.values().map(counted).sum::<usize>(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        }
    }

    #[test]
    fn values_are_counted_and_names_are_not() {
        for (text, values) in [
            ("", 0),
            ("null", 1),
            ("-1.5e+3", 1),
            (r#""a:b,[{""#, 1),
            (r#""\"""#, 1),
            (r#"{"a":0}"#, 2),
            ("[]", 1),
            ("[1, 2,3 ]", 4),
            (r#"{"a" : {"b":[true,"c"]}, "d":null}"#, 6),
        ] {
            assert_eq!(Size::of(text.as_bytes()).values, values, "{text}");
        }
    }

    fn any() -> impl proptest::strategy::Strategy<Value = Value> {
        use proptest::prelude::*;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map(".*", inner, 0..8)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    /// What a tree takes at most: a node of a map has five fields at least, but for the last one.
    fn resident(value: &Value) -> usize {
        match value {
            Value::Array(items) => 32 * items.capacity() + items.iter().map(resident).sum::<usize>(),
            Value::Object(fields) => {
                let nodes = if fields.is_empty() {
                    0
                } else {
                    1 + fields.len() / 6
                };
                let names: usize = fields.keys().map(String::len).sum();
                nodes * 640 + names + fields.values().map(resident).sum::<usize>()
            }
            Value::String(text) => text.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    #[test]
    fn no_tree_takes_more_than_its_size() {
        let fields: Vec<String> = (0..1_000).map(|n| format!("\"{n}\":0")).collect();
        for text in [
            "[]".to_owned(),
            format!("[{}]", vec!["0"; 1_025].join(",")),
            format!("[{}]", vec!["[[]]"; 1_000].join(",")),
            format!("[{}]", vec![r#"{"":0}"#; 1_000].join(",")),
            format!("[{}]", vec!["{}"; 1_000].join(",")),
            format!("{{{}}}", fields.join(",")),
        ] {
            let value: Value = serde_json::from_str(&text).expect("JSON");
            let size = Size::of(text.as_bytes()).tree;
            assert!(resident(&value) <= tree_size(&value), "{text:.60}");
            assert!(
                resident(&value) <= size,
                "{} > {size}: {:.60}",
                resident(&value),
                text
            );
        }
    }

    proptest::proptest! {
        /// Searches for a text that takes more memory than it is charged for.
        #[test]
        fn no_tree_takes_more_than_its_text_is_charged_for(value in any()) {
            let text = value.to_string();
            let read: Value = serde_json::from_str(&text).expect("JSON");
            proptest::prop_assert!(resident(&read) <= Size::of(text.as_bytes()).tree, "{}", text);
            proptest::prop_assert!(resident(&read) <= tree_size(&read), "{}", text);
        }

        #[test]
        fn the_text_of_a_value_has_as_many_as_the_value(value in any()) {
            let (plain, pretty) = (value.to_string(), serde_json::to_string_pretty(&value).expect("JSON"));
            proptest::prop_assert_eq!(Size::of(plain.as_bytes()).values, counted(&value));
            proptest::prop_assert_eq!(Size::of(pretty.as_bytes()).values, counted(&value));
        }
    }
}
