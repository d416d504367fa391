//! Decides what the hash of a configuration is, and how hashes are written on a `ManifestWork`.
//!
//! The hash is upstream's, byte for byte, so that a hub can change hands without moving a cluster: the object without
//! `apiVersion`, `kind`, `metadata` and `status`, as Go's JSON encoder writes a map, through SHA-256. Absent, empty and
//! null differ. Never depends on the order of a map, never looks at metadata.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;
use std::str::FromStr;

use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

/// Keys of an object that never take part in its hash.
const LEFT_OUT: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

/// The hash of a configuration's content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpecHash([u8; 32]);

/// Text that is not 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a hash: must be 64 hexadecimal digits")]
pub struct NotAHash;

/// A configuration as the annotation of a `ManifestWork` names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigKey {
    /// Plural name of the type.
    pub resource: String,
    /// API group of the type; empty for the core group.
    pub group: String,
    /// Namespace of the configuration; empty for a cluster-scoped one.
    pub namespace: String,
    /// Name of the configuration.
    pub name: String,
}

/// Why the annotation of a `ManifestWork` cannot be read. A work with such an annotation matches no configuration.
#[derive(Debug, thiserror::Error)]
pub enum AnnotationError {
    /// Not a JSON object of strings.
    #[error("the annotation is not a JSON object of strings")]
    Decode(#[source] serde_json::Error),
    /// A key that names no configuration.
    #[error("key {0:?} is not <resource>[.<group>]/<namespace>/<name>")]
    Key(String),
    /// Two keys that name one configuration and disagree.
    #[error("configuration {0:?} is listed twice, with different hashes")]
    Twice(String),
}

impl SpecHash {
    /// Returns the hash of an object as the API server serves it. A value that is not an object hashes as an empty one.
    pub fn of(object: &Value) -> Self {
        Self::of_text(&canonical_json(object))
    }

    /// Returns the text of an object that is hashed: JSON, with all that counts.
    pub fn text(object: &Value) -> String {
        canonical_json(object)
    }

    /// Returns the hash of a text.
    pub fn of_text(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }
}

impl fmt::Display for SpecHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SpecHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpecHash({self})")
    }
}

impl FromStr for SpecHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let mut digits = text.chars();
        let mut bytes = [0_u8; 32];
        for byte in &mut bytes {
            let mut half = || {
                digits
                    .next()
                    .and_then(|digit| digit.to_digit(16))
                    .and_then(|half| u8::try_from(half).ok())
            };
            let (high, low) = (half().ok_or(NotAHash)?, half().ok_or(NotAHash)?);
            *byte = high << 4 | low;
        }
        if digits.next().is_some() {
            Err(NotAHash)
        } else {
            Ok(Self(bytes))
        }
    }
}

impl fmt::Display for ConfigKey {
    /// Writes `<resource>[.<group>]/<namespace>/<name>`; a cluster-scoped configuration has an empty namespace.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        write!(f, "/{}/{}", self.namespace, self.name)
    }
}

impl FromStr for ConfigKey {
    type Err = AnnotationError;

    /// Reads the form that is written, and the shorter one without the empty namespace.
    fn from_str(text: &str) -> Result<Self, AnnotationError> {
        let mut parts = text.split('/');
        let (kind, middle, last, more) = (parts.next(), parts.next(), parts.next(), parts.next());
        let (namespace, name) = match (middle, last) {
            (Some(namespace), Some(name)) => (namespace, name),
            (Some(name), None) => ("", name),
            (None, _) => ("", ""),
        };
        let (resource, group) = kind.map_or(("", ""), |kind| kind.split_once('.').unwrap_or((kind, "")));
        if resource.is_empty() || name.is_empty() || more.is_some() {
            return Err(AnnotationError::Key(text.to_owned()));
        }
        Ok(Self {
            resource: resource.to_owned(),
            group: group.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }
}

/// Writes the annotation of a `ManifestWork`. A hash that is not known is an empty string.
pub fn render_config_spec_hash(hashes: &BTreeMap<ConfigKey, String>) -> String {
    // Order is that of the written keys, as in Go: a dot sorts before a slash, so the order of the parts may differ.
    let written: BTreeMap<String, &str> = hashes
        .iter()
        .map(|(key, hash)| (key.to_string(), hash.as_str()))
        .collect();
    let mut out = String::from("{");
    for (index, (key, hash)) in written.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(&mut out, key);
        out.push(':');
        write_string(&mut out, hash);
    }
    out.push('}');
    out
}

/// Reads the annotation of a `ManifestWork`, in every spelling of its keys. White space between the entries is free.
pub fn parse_config_spec_hash(text: &str) -> Result<BTreeMap<ConfigKey, String>, AnnotationError> {
    let entries: BTreeMap<String, String> = serde_json::from_str(text).map_err(AnnotationError::Decode)?;
    let mut hashes = BTreeMap::new();
    for (text, hash) in entries {
        let key: ConfigKey = text.parse()?;
        if hashes
            .insert(key, hash.clone())
            .is_some_and(|other| other != hash)
        {
            return Err(AnnotationError::Twice(text));
        }
    }
    Ok(hashes)
}

/// Renders any value as Go's `encoding/json` does: compact, keys sorted by their bytes, `<`, `>` and `&` escaped.
///
/// That is the form in which `kubectl` writes its note of what was applied.
pub fn render_go_json(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

/// Returns the text that is hashed.
fn canonical_json(object: &Value) -> String {
    let mut out = String::new();
    let none = Map::new();
    let fields = object.as_object().unwrap_or(&none);
    write_map(
        &mut out,
        fields.iter().filter(|(key, _)| !LEFT_OUT.contains(&key.as_str())),
    );
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => write_map(out, fields.iter()),
    }
}

/// Writes the fields in the order of their bytes, whatever order the map keeps them in.
fn write_map<'a>(out: &mut String, fields: impl Iterator<Item = (&'a String, &'a Value)>) {
    let sorted: BTreeMap<&String, &Value> = fields.collect();
    out.push('{');
    for (index, (key, value)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(out, key);
        out.push(':');
        write_value(out, value);
    }
    out.push('}');
}

/// Writes a number as an API server that decoded it would: an integer of 64 bits, or else a float.
///
/// `-0` is an integer there and served as `0`; `serde_json` keeps it as a float, and so as the only negative zero.
fn write_number(out: &mut String, number: &Number) {
    if let Some(whole) = number.as_i64() {
        out.push_str(&whole.to_string());
    } else if let Some(float) = number.as_f64() {
        write_float(out, if float == 0.0 { 0.0 } else { float });
    }
}

/// Writes the shortest digits that read back as the same float; very small and very large ones with an exponent.
fn write_float(out: &mut String, float: f64) {
    let size = float.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{float:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let sign = if exponent.starts_with('-') { "" } else { "+" };
        for part in [digits, "e", sign, exponent] {
            out.push_str(part);
        }
    } else {
        out.push_str(&float.to_string());
    }
}

/// Writes a string as Go does with its HTML escapes on.
fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                // Writing to a string cannot fail.
                let _written = write!(out, "\\u{:04x}", u32::from(c));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn canonical(text: &str) -> String {
        canonical_json(&serde_json::from_str(text).expect("the row is JSON"))
    }

    #[test]
    fn known_objects_have_the_hashes_that_upstream_gives_them() {
        let variables = |text: &str| {
            format!(
                r#"{{"spec":{{"agentInstallNamespace":"open-cluster-management-agent-addon","customizedVariables":[{{"name":"{text}","value":"{text}"}}],"proxyConfig":{{}}}}}}"#
            )
        };
        let rows = [
            (
                variables("test"),
                "ea4e6089e8b2f584c1cd8b86e16a15df3186b30744f433ede7436091c93a4cc7",
            ),
            (
                variables("test1"),
                "b746cc98936955dd2168640f0011a14f2a74be306c747bc8ba829328cc772690",
            ),
            (
                variables("test2"),
                "3e6348b0c0f0a341ce28d0a2f99bc41fc63fb17d947eb5a45284729fbeb63b32",
            ),
            (
                variables("test3"),
                "9b3c6d09731ed254589fa4fc2936e6fb00537de92da5e035183da313eb98d27e",
            ),
            (
                r#"{"spec":{"agentInstallNamespace":"open-cluster-management-agent-addon"}}"#.to_owned(),
                "d18a79b7b556192a80b3023546cd8346114f2dec27fb39707e6193a0130e4b39",
            ),
            (
                r#"{"data":{"a":"1","b":"x"}}"#.to_owned(),
                "822a5d07136cf8c29f0d2a4618afe67abf7fe3b342a0b39b7b0b37bd973abcb2",
            ),
            (
                r#"{"data":{"a":"<b>&"}}"#.to_owned(),
                "2939e5a3f902d8daad0ee4f199d922a3e9140397d2c27a92f00ed981527b44f7",
            ),
            (
                "{}".to_owned(),
                "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
            ),
        ];
        for (object, hash) in rows {
            let object: Value = serde_json::from_str(&object).expect("the row is JSON");
            assert_eq!(SpecHash::of(&object).to_string(), hash, "{object}");
        }
    }

    #[test]
    fn what_says_who_and_where_is_left_out_and_nothing_else() {
        let full = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "status": {},
            "type": "Opaque", "data": {"k": "eA=="}, "immutable": true
        });
        assert_eq!(
            canonical_json(&full),
            r#"{"data":{"k":"eA=="},"immutable":true,"type":"Opaque"}"#
        );
        assert_eq!(
            canonical_json(&json!({"spec": {"status": 1, "kind": 2}})),
            r#"{"spec":{"kind":2,"status":1}}"#
        );
        assert_eq!(canonical_json(&json!("text")), "{}");
    }

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        let rows = [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("-7", "-7"),
            ("9223372036854775807", "9223372036854775807"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775808", "9223372036854776000"),
            ("18446744073709551615", "18446744073709552000"),
            ("1.0", "1"),
            ("1e3", "1000"),
            ("1.5", "1.5"),
            ("0.1", "0.1"),
            ("-2.50", "-2.5"),
            ("0.000001", "0.000001"),
            ("0.00000099", "9.9e-7"),
            ("1e-7", "1e-7"),
            ("-1.25e-10", "-1.25e-10"),
            ("1e20", "100000000000000000000"),
            ("123456789012345678901", "123456789012345680000"),
            ("1e21", "1e+21"),
            ("1.5e300", "1.5e+300"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ];
        for (given, wanted) in rows {
            assert_eq!(
                canonical(&format!(r#"{{"n":{given}}}"#)),
                format!(r#"{{"n":{wanted}}}"#),
                "{given}"
            );
        }
    }

    #[test]
    fn strings_are_escaped_as_go_escapes_them() {
        let rows = [
            ("a\"b\\c/d", r#"a\"b\\c/d"#),
            ("\u{8}\u{c}\n\r\t", r"\b\f\n\r\t"),
            ("\0\u{1}\u{b}\u{1f}\u{7f}", "\\u0000\\u0001\\u000b\\u001f\u{7f}"),
            ("<&>", r"\u003c\u0026\u003e"),
            ("\u{2028}\u{2029}\u{2030}", "\\u2028\\u2029\u{2030}"),
            ("grün 😀", "grün 😀"),
        ];
        for (given, wanted) in rows {
            assert_eq!(
                canonical_json(&json!({ given: given })),
                format!(r#"{{"{wanted}":"{wanted}"}}"#)
            );
        }
    }

    #[test]
    fn keys_are_sorted_by_their_bytes_and_lists_keep_their_order() {
        assert_eq!(
            canonical(r#"{"b":[2,1],"B":0,"a.b":1,"a":2,"é":3}"#),
            r#"{"B":0,"a":2,"a.b":1,"b":[2,1],"é":3}"#
        );
    }

    #[test]
    fn absent_empty_and_null_are_three_things() {
        let hashes: Vec<SpecHash> = [
            json!({"spec": {}}),
            json!({"spec": {"a": null}}),
            json!({"spec": {"a": ""}}),
            json!({"spec": {"a": {}}}),
        ]
        .iter()
        .map(SpecHash::of)
        .collect();
        for (index, hash) in hashes.iter().enumerate() {
            assert_eq!(hashes.iter().position(|other| other == hash), Some(index));
        }
    }

    #[test]
    fn a_hash_reads_back_and_nothing_else_does() {
        let hash = SpecHash::of(&json!({}));
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for text in [
            "",
            "44136f",
            &format!("{hash}0"),
            &hash.to_string().replace('4', "g"),
            "é",
        ] {
            assert_eq!(text.parse::<SpecHash>(), Err(NotAHash), "{text}");
        }
    }

    fn key(resource: &str, group: &str, namespace: &str, name: &str) -> ConfigKey {
        ConfigKey {
            resource: resource.to_owned(),
            group: group.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn the_annotation_is_written_sorted_and_without_spaces() {
        let group = "addon.open-cluster-management.io";
        let hashes = BTreeMap::from([
            (key("addontemplates", group, "", "hello"), "b4c7".to_owned()),
            (
                key(
                    "addondeploymentconfigs",
                    group,
                    "open-cluster-management",
                    "default",
                ),
                "f81f".to_owned(),
            ),
            (key("configmaps", "", "ns", "plain"), String::new()),
        ]);
        assert_eq!(
            render_config_spec_hash(&hashes),
            concat!(
                r#"{"addondeploymentconfigs.addon.open-cluster-management.io/open-cluster-management/default":"f81f","#,
                r#""addontemplates.addon.open-cluster-management.io//hello":"b4c7","configmaps/ns/plain":""}"#
            )
        );
        assert_eq!(render_config_spec_hash(&BTreeMap::new()), "{}");
    }

    #[test]
    fn the_spelling_of_the_lifecycle_design_is_read() {
        let text = "{\"addonhubconfigs.addon.open-cluster-management.io/hub-config-yyy\":\"h1\", \n\
                    \"addondeploymentconfigs.addon.open-cluster-management.io/open-cluster-management/aws-config\":\"h2\"}\n";
        let group = "addon.open-cluster-management.io";
        assert_eq!(
            parse_config_spec_hash(text).expect("readable"),
            BTreeMap::from([
                (
                    key("addonhubconfigs", group, "", "hub-config-yyy"),
                    "h1".to_owned()
                ),
                (
                    key(
                        "addondeploymentconfigs",
                        group,
                        "open-cluster-management",
                        "aws-config"
                    ),
                    "h2".to_owned()
                ),
            ])
        );
    }

    #[test]
    fn an_annotation_that_names_no_configuration_is_an_error() {
        for text in [
            "",
            "[]",
            r#"{"a/b/c":1}"#,
            r#"{"a":"h"}"#,
            r#"{"a//":"h"}"#,
            r#"{"/b/c":"h"}"#,
            r#"{"a/b/c/d":"h"}"#,
        ] {
            assert!(parse_config_spec_hash(text).is_err(), "{text}");
        }
        assert!(parse_config_spec_hash(r#"{"a//n":"h","a/n":"other"}"#).is_err());
        assert_eq!(
            parse_config_spec_hash(r#"{"a//n":"h","a/n":"h"}"#)
                .expect("they agree")
                .len(),
            1
        );
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter_map("finite", |float| Number::from_f64(float).map(Value::Number)),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// Writes JSON with the keys of every object backwards.
    fn backwards(value: &Value) -> String {
        match value {
            Value::Array(items) => format!("[{}]", items.iter().map(backwards).collect::<Vec<_>>().join(",")),
            Value::Object(fields) => {
                let field = |(key, value): (&String, &Value)| format!("{}:{}", json!(key), backwards(value));
                format!(
                    "{{{}}}",
                    fields.iter().rev().map(field).collect::<Vec<_>>().join(",")
                )
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        }
    }

    /// Counts the places of a value: leaves, and empty lists and maps.
    fn places(value: &Value) -> usize {
        match value {
            Value::Array(items) if !items.is_empty() => items.iter().map(places).sum(),
            Value::Object(fields) if !fields.is_empty() => fields.values().map(places).sum(),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => 1,
        }
    }

    /// Changes the value at one place into something that it was not.
    fn change(value: &mut Value, place: &mut usize) {
        match value {
            Value::Array(items) if !items.is_empty() => items.iter_mut().for_each(|item| change(item, place)),
            Value::Object(fields) if !fields.is_empty() => {
                fields.values_mut().for_each(|field| change(field, place));
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => {
                if *place == 0 {
                    *value = json!({ "changed": value });
                }
                *place = place.wrapping_sub(1);
            }
        }
    }

    proptest! {
        #[test]
        fn the_order_of_keys_never_matters(spec in value()) {
            let object = json!({"spec": spec});
            let reordered: Value = serde_json::from_str(&backwards(&object)).expect("still JSON");
            prop_assert_eq!(SpecHash::of(&object), SpecHash::of(&reordered));
        }

        #[test]
        fn metadata_and_status_never_matter(spec in value(), metadata in value(), status in value()) {
            let bare = json!({"spec": spec});
            let full = json!({"apiVersion": "a/v1", "kind": "K", "metadata": metadata, "spec": spec, "status": status});
            prop_assert_eq!(SpecHash::of(&bare), SpecHash::of(&full));
        }

        #[test]
        fn any_other_change_matters(spec in value(), pick in any::<prop::sample::Index>()) {
            let before = json!({"spec": spec});
            let mut after = before.clone();
            change(&mut after, &mut pick.index(places(&before)));
            prop_assert_ne!(SpecHash::of(&before), SpecHash::of(&after));
        }

        #[test]
        fn a_change_of_one_string_matters(a in ".{0,12}", b in ".{0,12}") {
            let hash = |text: &str| SpecHash::of(&json!({"data": {"k": text}}));
            prop_assert_eq!(a == b, hash(&a) == hash(&b));
        }

        #[test]
        fn the_hashed_text_is_json_that_says_the_same(spec in value()) {
            let object = json!({"spec": spec});
            let text = canonical_json(&object);
            let again: Value = serde_json::from_str(&text).expect("canonical text is JSON");
            prop_assert_eq!(canonical_json(&again), text);
        }

        #[test]
        fn the_annotation_reads_back(
            entries in prop::collection::btree_map(("[a-z]{1,5}", "([a-z]{1,3}(\\.[a-z]{1,3})?)?", "[a-z-]{0,4}", "[a-z0-9.-]{1,6}"), "[0-9a-f]{0,8}", 0..5)
        ) {
            let hashes: BTreeMap<ConfigKey, String> = entries
                .into_iter()
                .map(|((resource, group, namespace, name), hash)| (key(&resource, &group, &namespace, &name), hash))
                .collect();
            let text = render_config_spec_hash(&hashes);
            prop_assert_eq!(parse_config_spec_hash(&text).expect("our own text"), hashes);
        }
    }
}
