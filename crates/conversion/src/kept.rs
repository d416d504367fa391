//! What a version cannot hold, in an annotation of the object.
//!
//! Decides what goes back to its place, and what does not: a field that the object states itself wins, and what belonged to an
//! item of a list goes with it. Never brings an item back.

use serde_json::{Map, Value, json};

use super::fields::object;
use super::version::Version;
use api::names::annotations::INSTALL_NAMESPACE;
use hash::SpecHash;

/// The fields that tell an item of a list from the others.
const IDENTITY: [&str; 4] = ["group", "name", "namespace", "resource"];

/// What is kept of one object.
#[derive(Debug, Default)]
pub(super) struct KeptFields {
    /// Places, outermost step first, with what stood there. A step is a name, or the identity of an item.
    places: Vec<(Vec<Value>, Value)>,
    /// The object as it was, for as long as what it became is not changed.
    exact: Option<Exact>,
}

#[derive(Debug)]
struct Exact {
    /// Of what the object became.
    digest: String,
    parts: Value,
}

/// Returns what the conversion rests on, in this version's words.
pub(super) fn parts(whole: &Value) -> Value {
    let namespace = whole
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations")?.get(INSTALL_NAMESPACE));
    let given = [
        ("spec", whole.get("spec")),
        ("status", whole.get("status")),
        ("installNamespace", namespace),
    ];
    let given = given
        .into_iter()
        .filter_map(|(name, part)| Some((name.to_owned(), part?.clone())));
    Value::Object(given.collect())
}

fn digest(parts: &Value) -> String {
    SpecHash::of(&json!({"spec": parts})).to_string()
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
                    self.places.push((place, value.clone()));
                }
            }
        }
    }

    /// Notes the object as it was, for as long as it stays what it became.
    pub(super) fn note_exact(&mut self, was: Value, became: &Value) {
        let digest = digest(&parts(became));
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
        let Some(exact) = self
            .exact
            .take()
            .filter(|exact| exact.digest == digest(&parts(whole)))
        else {
            return false;
        };
        let (Value::Object(mut parts), Some(fields)) = (exact.parts, whole.as_object_mut()) else {
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

    /// Takes that annotation away.
    pub(super) fn forget(whole: &mut Value, of: Version) {
        annotate(whole, of.kept_in(), None);
    }

    /// Takes what is kept out of the annotations of an object. What cannot be read is dropped: nothing of ours is in it.
    pub(super) fn read(whole: &mut Value, of: Version) -> Self {
        let metadata = object(whole, "metadata");
        let annotations = metadata.and_then(|metadata| metadata.get("annotations")?.as_object());
        let text = annotations.and_then(|annotations| annotations.get(of.kept_in())?.as_str());
        let Some(Ok(mut read)) = text.map(serde_json::from_str::<Value>) else {
            if annotations.is_some_and(|annotations| annotations.contains_key(of.kept_in())) {
                annotate(whole, of.kept_in(), None);
            }
            return Self::default();
        };
        annotate(whole, of.kept_in(), None);
        let places = read.get_mut("fields").map(Value::take).unwrap_or_default();
        let place = |pair: Value| match <[Value; 2]>::try_from(pair.as_array()?.clone()) {
            Ok([place, value]) => Some((place.as_array()?.clone(), value)),
            Err(_) => None,
        };
        let places = places.as_array().cloned().unwrap_or_default();
        let exact = read.get_mut("exact").map(Value::take).unwrap_or_default();
        let digest = read.get("of").and_then(Value::as_str).map(str::to_owned);
        Self {
            places: places.into_iter().filter_map(place).collect(),
            exact: digest.map(|digest| Exact { digest, parts: exact }),
        }
    }

    /// Writes what is kept into the annotations of an object, if there is anything.
    pub(super) fn write(self, whole: &mut Value, of: Version) {
        let mut all = Map::new();
        if !self.places.is_empty() {
            let places = self.places.into_iter();
            let places = places.map(|(place, value)| json!([place, value])).collect();
            all.insert("fields".to_owned(), Value::Array(places));
        }
        if let Some(Exact { digest, parts }) = self.exact {
            all.insert("exact".to_owned(), parts);
            all.insert("of".to_owned(), Value::from(digest));
        }
        if !all.is_empty() {
            annotate(whole, of.kept_in(), Some(Value::Object(all).to_string()));
        }
    }
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
