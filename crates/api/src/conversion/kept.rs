//! What a version cannot hold, in an annotation of the object.
//!
//! Decides what goes back to its place, and what does not: a field that the object states itself wins, and what belonged to an
//! item of a list goes with it. Never brings an item back.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::trust::Trust;
use super::version::Version;
use crate::hash::SpecHash;
use crate::names::annotations::INSTALL_NAMESPACE;
use kubernetes::bounds::{MOST_VALUES, Size};
use kubernetes::field::Path;

/// The fields that tell an item of a list from the others.
const IDENTITY: [&str; 4] = ["group", "name", "namespace", "resource"];

/// What is kept of one object.
#[derive(Debug, Default)]
pub(super) struct KeptFields {
    /// Places, outermost step first, with what stood there. A step is a name, or the identity of an item.
    places: Vec<(Vec<Value>, Value)>,
    /// The same of values that stay where they are as well: as text, because a copy would take many times the memory.
    copies: Vec<(Vec<Value>, Box<RawValue>)>,
    /// The object as it was, for as long as what it became is not changed.
    exact: Option<Exact>,
}

#[derive(Debug)]
struct Exact {
    /// Of what the object became.
    digest: String,
    /// What it was, as text: a tree would take many times the memory.
    parts: String,
}

/// What the conversion uses of an object, in this version's words.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Parts<'w> {
    #[serde(skip_serializing_if = "Option::is_none")]
    install_namespace: Option<&'w Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<&'w Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'w Value>,
}

/// Returns the text of what the conversion uses of an object.
pub(super) fn parts(whole: &Value) -> String {
    let annotations = whole
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations"));
    let parts = Parts {
        install_namespace: annotations.and_then(|annotations| annotations.get(INSTALL_NAMESPACE)),
        spec: whole.get("spec"),
        status: whole.get("status"),
    };
    serde_json::to_string(&parts).unwrap_or_default()
}

/// Returns the digest of what the conversion uses of an object. Its parts are moved for it and back again, and not copied.
fn digest(whole: &mut Value) -> String {
    const PARTS: [&str; 2] = ["spec", "status"];
    let annotations = whole
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations"));
    let namespace = annotations.and_then(|annotations| annotations.get(INSTALL_NAMESPACE)?.clone().into());
    let mut parts: Map<String, Value> = Map::new();
    parts.extend(namespace.map(|namespace| ("installNamespace".to_owned(), namespace)));
    if let Some(fields) = whole.as_object_mut() {
        parts.extend(PARTS.iter().filter_map(|name| fields.remove_entry(*name)));
    }
    let mut of = Map::new();
    of.insert("spec".to_owned(), Value::Object(parts));
    let mut of = Value::Object(of);
    let digest = SpecHash::of(&of).to_string();
    let parts = of.get_mut("spec").and_then(Value::as_object_mut);
    if let (Some(parts), Some(fields)) = (parts, whole.as_object_mut()) {
        fields.extend(PARTS.iter().filter_map(|name| parts.remove_entry(*name)));
    }
    digest
}

impl KeptFields {
    /// Takes the fields of these paths out of an object.
    pub(super) fn take<'a>(whole: &mut Value, paths: impl IntoIterator<Item = &'a &'a str>) -> Self {
        let mut kept = Self::default();
        for path in paths {
            let steps: Vec<&str> = path.split('.').collect();
            kept.take_from(whole, &steps, &mut Vec::new());
        }
        kept
    }

    fn take_from(&mut self, from: &mut Value, steps: &[&str], before: &mut Vec<Value>) {
        let Some((step, rest)) = steps.split_first() else {
            return;
        };
        let (name, is_list) = step
            .strip_suffix("[]")
            .map_or((*step, false), |name| (name, true));
        let Some(fields) = from.as_object_mut() else {
            return;
        };
        before.push(Value::from(name));
        if rest.is_empty() {
            self.places
                .extend(fields.remove(name).map(|value| (before.clone(), value)));
        } else if let (true, Some(Value::Array(items))) = (is_list, fields.get_mut(name)) {
            let all: Vec<Value> = items.iter().map(identity).collect();
            for (item, identity) in items.iter_mut().zip(&all) {
                // What is kept of one of two items with the same identity could not go back to the right one.
                if all.iter().filter(|other| *other == identity).count() == 1 {
                    before.push(identity.clone());
                    self.take_from(item, rest, before);
                    before.pop();
                }
            }
        } else if let (false, Some(next)) = (is_list, fields.get_mut(name)) {
            self.take_from(next, rest, before);
        }
        before.pop();
    }

    /// Notes the first fields of spec and status that are unknown: the other version may lack them. `back` are on their way home.
    pub(super) fn note_unknown(&mut self, whole: &Value, is_known: impl Fn(&str, &str) -> bool, back: &Self) {
        for part in ["spec", "status"] {
            let fields = whole.get(part).and_then(Value::as_object).into_iter().flatten();
            for (name, value) in fields.filter(|(name, _)| !is_known(part, name)) {
                let place = vec![Value::from(part), Value::from(name.as_str())];
                if !back.places.iter().any(|(known, _)| *known == place) {
                    self.copies
                        .extend(to_raw_value(value).ok().map(|text| (place, text)));
                }
            }
        }
    }

    /// Notes the object as it was, for as long as it stays what it became.
    pub(super) fn note_exact(&mut self, was: String, became: &mut Value) {
        let digest = digest(became);
        self.exact = Some(Exact { digest, parts: was });
    }

    /// Puts everything back where it stood, unless something stands there.
    pub(super) fn put_back(self, whole: &mut Value) {
        for (place, value) in self.places {
            put(whole, &place, value);
        }
    }

    /// Puts the object back as it was, unless what it became has changed; returns whether it did.
    pub(super) fn restore(&mut self, whole: &mut Value) -> bool {
        let Some(exact) = self.exact.take().filter(|exact| exact.digest == digest(whole)) else {
            return false;
        };
        let (Ok(Value::Object(mut parts)), Some(fields)) = (
            kubernetes::bounds::read(&exact.parts, &Path::root()),
            whole.as_object_mut(),
        ) else {
            return false;
        };
        for name in ["spec", "status"] {
            fields.remove(name);
            fields.extend(parts.remove(name).map(|value| (name.to_owned(), value)));
        }
        let namespace = parts.get("installNamespace").and_then(Value::as_str);
        annotate(whole, INSTALL_NAMESPACE, namespace.map(str::to_owned));
        true
    }

    /// Returns the annotation for what only a version can hold.
    pub(super) fn text(whole: &Value, of: Version) -> Option<String> {
        let annotations = whole.get("metadata")?.get("annotations")?;
        annotations.get(of.kept_in())?.as_str().map(str::to_owned)
    }

    /// Tells whether an object has that annotation.
    pub(super) fn is_in(whole: &Value, of: Version) -> bool {
        Self::text(whole, of).is_some()
    }

    /// Sets that annotation.
    pub(super) fn set(whole: &mut Value, of: Version, text: Option<String>) {
        annotate(whole, of.kept_in(), text);
    }

    /// Takes that annotation away, unless it does not count: it may be the only place of what it keeps.
    pub(super) fn forget_counted(whole: &mut Value, of: Version, trust: Trust<'_>) {
        if Self::text(whole, of).is_none_or(|text| trust.open(whole, of, &text).is_some()) {
            Self::forget(whole, of);
        }
    }

    /// Takes that annotation away.
    pub(super) fn forget(whole: &mut Value, of: Version) {
        annotate(whole, of.kept_in(), None);
    }

    /// Takes what is kept out of the annotations of an object. What cannot be read is dropped: nothing of ours is in it.
    /// What does not count stays where it is.
    pub(super) fn read(whole: &mut Value, of: Version, trust: Trust<'_>) -> Self {
        let metadata = whole.get("metadata").and_then(Value::as_object);
        let annotations = metadata.and_then(|metadata| metadata.get("annotations")?.as_object());
        let text = annotations.and_then(|annotations| annotations.get(of.kept_in())?.as_str());
        let kept = text.map(|text| trust.open(whole, of, text));
        if kept == Some(None) {
            return Self::default();
        }
        // What this program wrote has no more values than an object may have, and the three of its own.
        let is_small = |text: &&str| Size::of(text.as_bytes()).values <= MOST_VALUES + 3;
        let kept = kept.flatten().filter(is_small);
        let Some(Ok(read)) = kept.map(serde_json::from_str::<Written<'_>>) else {
            if annotations.is_some_and(|annotations| annotations.contains_key(of.kept_in())) {
                annotate(whole, of.kept_in(), None);
            }
            return Self::default();
        };
        let Written {
            fields,
            exact,
            of: digest,
        } = read;
        let kept = Self {
            places: fields.map(places).unwrap_or_default(),
            copies: Vec::new(),
            exact: digest.map(|digest| Exact {
                digest,
                parts: exact.map_or_else(|| "null".to_owned(), |exact| exact.get().to_owned()),
            }),
        };
        annotate(whole, of.kept_in(), None);
        kept
    }

    /// Writes what is kept into the annotations of an object, if there is anything.
    pub(super) fn write(self, whole: &mut Value, of: Version, trust: Trust<'_>) {
        let mut all = Vec::new();
        if let Some(Exact { digest, parts }) = &self.exact {
            all.push(format!(r#""exact":{parts}"#));
            all.push(format!(r#""of":{}"#, Value::from(digest.as_str())));
        }
        let places = self.places.iter().map(serde_json::to_string);
        let copies = self.copies.iter().map(serde_json::to_string);
        let fields: Vec<String> = places.chain(copies).filter_map(Result::ok).collect();
        if !fields.is_empty() {
            all.insert(
                usize::from(self.exact.is_some()),
                format!(r#""fields":[{}]"#, fields.join(",")),
            );
        }
        drop(self);
        if !all.is_empty() {
            let text = trust.close(whole, of, format!("{{{}}}", all.join(",")));
            annotate(whole, of.kept_in(), Some(text));
        }
    }
}

/// The annotation as it is written.
#[derive(Deserialize)]
struct Written<'t> {
    fields: Option<Value>,
    #[serde(borrow)]
    exact: Option<&'t RawValue>,
    #[serde(default, deserialize_with = "text")]
    of: Option<String>,
}

/// Reads a text; anything else is none.
fn text<'t, D: Deserializer<'t>>(reader: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(reader)? {
        Value::String(text) => Some(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    })
}

/// Reads the places of fields; what is none is left out.
fn places(fields: Value) -> Vec<(Vec<Value>, Value)> {
    let Value::Array(pairs) = fields else {
        return Vec::new();
    };
    let place = |pair: Value| {
        let Value::Array(pair) = pair else { return None };
        match <[Value; 2]>::try_from(pair) {
            Ok([Value::Array(place), value]) => Some((place, value)),
            Ok(_) | Err(_) => None,
        }
    };
    pairs.into_iter().filter_map(place).collect()
}

/// Sets or removes an annotation; the last one takes the list with it.
fn annotate(whole: &mut Value, name: &str, text: Option<String>) {
    let Some(fields) = whole.as_object_mut() else {
        return;
    };
    if text.is_none() && !fields.contains_key("metadata") {
        return;
    }
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    let Some(metadata) = metadata.as_object_mut() else {
        return;
    };
    if let Some(text) = text {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(name.to_owned(), Value::from(text));
        }
        return;
    }
    let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
    let is_empty = annotations.is_some_and(|all| all.remove(name).is_some() && all.is_empty());
    if is_empty {
        metadata.remove("annotations");
    }
}

fn identity(item: &Value) -> Value {
    let given = |name: &&str| {
        let text = item.get(*name)?.as_str().filter(|text| !text.is_empty())?;
        Some(((*name).to_owned(), Value::from(text)))
    };
    Value::Object(IDENTITY.iter().filter_map(given).collect())
}

fn put(into: &mut Value, place: &[Value], value: Value) {
    let Some((step, rest)) = place.split_first() else {
        return;
    };
    match (step, into) {
        (Value::String(name), Value::Object(fields)) if rest.is_empty() => {
            fields.entry(name.as_str()).or_insert(value);
        }
        (Value::String(name), Value::Object(fields)) => {
            // Typed clients leave a status out when nothing is left of it that they know.
            let is_part = ["spec", "status"].contains(&name.as_str()) && rest.len() == 1;
            if is_part {
                fields.entry(name.as_str()).or_insert_with(|| json!({}));
            }
            if let Some(next) = fields.get_mut(name) {
                put(next, rest, value);
            }
        }
        (Value::Object(_), Value::Array(items)) => {
            if let Some(item) = items.iter_mut().find(|item| identity(item) == *step) {
                put(item, rest, value);
            }
        }
        _ => {}
    }
}
