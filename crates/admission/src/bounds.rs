//! The size limits of the parts of an object (`bounds`), checked before they are parsed into a tree.
//!
//! An object above a limit is refused and never admitted unchecked, so that padding does not evade a rule. For a stored object the ratchet
//! applies: each part above a limit can stay as it is or become smaller, and the rest of the object is checked as usual. An object that
//! was stored with too many values is not parsed: it can keep its spec, or must become small enough.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::request::{MetadataPart, Operation, Request};
pub(super) use ::kubernetes::bounds::RULE;
use ::kubernetes::bounds::{Bounds, MOST_VALUES, ReadError, Size, members};
use kubernetes::field::{Path, Violation};

/// The parts of an object above a limit.
#[derive(Debug, Default)]
pub(super) struct Excess {
    /// New ones, which are refused.
    pub(super) refused: Vec<Violation>,
    /// Stored ones that have only become smaller.
    pub(super) excused: Vec<Violation>,
    /// Whether a stored part has too many values to be parsed.
    is_unread: bool,
}

impl Excess {
    /// Returns whether the object can be parsed.
    pub(super) fn is_readable(&self) -> bool {
        self.refused.is_empty() && !self.is_unread
    }
}

/// Returns the parts of the object of a request above a limit.
pub(super) fn excess(request: &Request<'_>) -> Excess {
    let old = match request.operation {
        Operation::Update => request.old,
        Operation::Create | Operation::Delete | Operation::Connect => None,
    };
    let (new, old) = (parts(request.object), parts(old));
    let mut excess = Excess::default();
    let mut values = 0;
    for (part, before) in new.into_iter().zip(old) {
        let Some(text) = part.text else { continue };
        let fault = Bounds::JUDGED.beside(values).exceeded_by(text.get(), &part.path);
        let with_it = values + Size::of(text.get().as_bytes()).values;
        let is_unread = with_it > MOST_VALUES;
        if !is_unread {
            // A part that does not fit is reported, and does not count for the other parts.
            values = with_it;
        }
        let Some(fault) = fault else { continue };
        if has_only_lost(before.text, text, is_unread) {
            excess.excused.push(fault);
            excess.is_unread |= is_unread;
        } else {
            excess.refused.push(fault);
        }
    }
    excess
}

/// Parses an object. If the whole object has too many values, although its parts do not, the parts that the API server manages are omitted
/// if they do not fit: managed fields and the status.
pub(super) fn read(object: &RawValue) -> Result<Value, ReadError> {
    let text = object.get();
    if Size::of(text.as_bytes()).values <= MOST_VALUES {
        return serde_json::from_str(text).map_err(ReadError::Syntax);
    }
    let root = Path::root();
    let mut left = MOST_VALUES;
    for part in parts(Some(object)) {
        let Some(text) = part.text else { continue };
        let fault = Bounds::JUDGED
            .beside(MOST_VALUES - left)
            .exceeded_by(text.get(), &part.path);
        left = left.saturating_sub(Size::of(text.get().as_bytes()).values);
        if let Some(fault) = fault.filter(|_| left == 0) {
            return Err(ReadError::TooManyValues(Box::new(fault)));
        }
    }
    let mut metadata = None;
    let mut fields = what_fits(text, &mut left, |name| match name {
        "spec" => Fits::Always,
        "metadata" => Fits::Apart,
        _ => Fits::WithinLimit,
    })
    .map_err(ReadError::Syntax)?;
    members(text, |name, member| {
        if name == "metadata" {
            metadata = Some(member);
        }
    })
    .map_err(ReadError::Syntax)?;
    if let Some(metadata) = metadata {
        let is_part = |name: &str| MetadataPart::EVERY.iter().any(|part| part.name() == name);
        let read = what_fits(metadata.get(), &mut left, |name| {
            if is_part(name) {
                Fits::Always
            } else {
                Fits::WithinLimit
            }
        });
        let read = read
            .map(Value::Object)
            .or_else(|_| ::kubernetes::bounds::read(metadata.get(), &root));
        fields.insert("metadata".to_owned(), read?);
    }
    Ok(Value::Object(fields))
}

/// Whether a member of an object is parsed.
enum Fits {
    /// It was counted before.
    Always,
    /// Only if its values are within the limit.
    WithinLimit,
    /// It is parsed elsewhere.
    Apart,
}

fn what_fits(
    text: &str,
    left: &mut usize,
    fits: impl Fn(&str) -> Fits,
) -> serde_json::Result<Map<String, Value>> {
    let mut fields = Map::new();
    let mut fault = None;
    members(text, |name: Cow<'_, str>, member| {
        match fits(&name) {
            Fits::Always => {}
            Fits::WithinLimit => match left.checked_sub(Size::of(member.get().as_bytes()).values) {
                Some(rest) => *left = rest,
                None => return,
            },
            Fits::Apart => return,
        }
        match serde_json::from_str(member.get()) {
            Ok(value) => drop(fields.insert(name.into_owned(), value)),
            Err(error) => fault = Some(error),
        }
    })?;
    fault.map_or(Ok(fields), Err)
}

/// Returns whether the spec of an update is the stored one, byte by byte.
pub(super) fn keeps_the_spec(request: &Request<'_>) -> bool {
    let text = |object| outline(object).spec.map(RawValue::get);
    request.old.is_some() && text(request.object) == text(request.old)
}

/// Returns an object with only its metadata, without managed fields. It works even if the whole object cannot be parsed.
pub(super) fn metadata_of(object: Option<&RawValue>) -> Value {
    let mut left = MOST_VALUES;
    let read = outline(object).metadata.and_then(|metadata| {
        let fits = |name: &str| match name {
            "managedFields" => Fits::Apart,
            _ => Fits::WithinLimit,
        };
        what_fits(metadata.get(), &mut left, fits).ok()
    });
    json!({"metadata": read.unwrap_or_default()})
}

/// A part of an object that users write.
struct Part<'a> {
    path: Path,
    text: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    spec: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    labels: Option<&'a RawValue>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
    #[serde(borrow)]
    finalizers: Option<&'a RawValue>,
    #[serde(borrow)]
    owner_references: Option<&'a RawValue>,
}

/// A value that is no object has no parts; parsing it or its schema reports the fault.
fn outline(object: Option<&RawValue>) -> Outline<'_> {
    let read = object.and_then(|object| serde_json::from_str(object.get()).ok());
    read.unwrap_or_default()
}

fn parts(object: Option<&RawValue>) -> Vec<Part<'_>> {
    let outline = outline(object);
    let metadata = outline.metadata;
    let metadata = metadata.and_then(|metadata| serde_json::from_str::<Metadata<'_>>(metadata.get()).ok());
    let metadata = metadata.unwrap_or_default();
    let written = MetadataPart::EVERY.map(|part| Part {
        path: Path::root().key("metadata").key(part.name()),
        text: match part {
            MetadataPart::Labels => metadata.labels,
            MetadataPart::Annotations => metadata.annotations,
            MetadataPart::Finalizers => metadata.finalizers,
            MetadataPart::OwnerReferences => metadata.owner_references,
        },
    });
    let spec = Part {
        path: Path::root().key("spec"),
        text: outline.spec,
    };
    written.into_iter().chain([spec]).collect()
}

/// Returns whether a part is the stored one, or a rest of it. A part with too many values must be the same text.
fn has_only_lost(old: Option<&RawValue>, new: &RawValue, is_unread: bool) -> bool {
    let Some(old) = old else { return false };
    if old.get() == new.get() {
        return true;
    }
    let read = |raw: &RawValue| ::kubernetes::bounds::read(raw.get(), &Path::root()).ok();
    !is_unread && read(old).is_some_and(|old| read(new).is_some_and(|new| is_left_of(&new, &old)))
}

/// Returns whether one value is the rest of another after something was removed.
fn is_left_of(new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => new
            .iter()
            .all(|(name, value)| old.get(name).is_some_and(|old| is_left_of(value, old))),
        (Value::Array(new), Value::Array(old)) => {
            let mut old = old.iter();
            new.iter().all(|item| old.any(|old| is_left_of(item, old)))
        }
        (new, old) => new == old,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RequestContext, Webhook};
    use serde_json::value::to_raw_value;

    fn judged(new: &Value, old: Option<&Value>) -> (usize, usize) {
        let raw = |value: &Value| to_raw_value(value).expect("JSON");
        let (new, old) = (raw(new), old.map(raw));
        let request = Request {
            webhook: Webhook::Validate,
            operation: if old.is_some() {
                Operation::Update
            } else {
                Operation::Create
            },
            group: "",
            version: "",
            resource: "",
            kind: "",
            subresource: "",
            namespace: "",
            name: "",
            object: Some(&new),
            old: old.as_deref(),
            dry_run: false,
            circumstances: RequestContext::default(),
        };
        let excess = excess(&request);
        (excess.refused.len(), excess.excused.len())
    }

    fn with(items: usize, metadata: &Value) -> Value {
        json!({"metadata": metadata, "spec": {"list": (0..items).collect::<Vec<_>>()}})
    }

    #[test]
    fn what_is_stored_too_large_may_stay_and_shrink_and_not_grow() {
        let none = json!({});
        let large = with(12_000, &none);
        assert_eq!(judged(&large, None), (1, 0));
        assert_eq!(judged(&with(10_000, &none), None), (0, 0));
        assert_eq!(
            judged(&with(12_000, &json!({"labels": {"a": "b"}})), Some(&large)),
            (0, 1)
        );
        assert_eq!(
            judged(&with(11_000, &none), Some(&large)),
            (0, 1),
            "less, and still too much"
        );
        assert_eq!(judged(&with(9_000, &none), Some(&large)), (0, 0));
        assert_eq!(judged(&with(12_001, &none), Some(&large)), (1, 0));
        let mut other = large.clone();
        other["spec"]["list"][5] = json!("else");
        assert_eq!(judged(&other, Some(&large)), (1, 0), "something else is not less");
    }

    #[test]
    fn what_the_api_server_keeps_itself_is_not_counted() {
        let fields: serde_json::Map<String, Value> =
            (0..100_001).map(|n| (format!("f:{n}"), json!({}))).collect();
        let object = with(1, &json!({"managedFields": [{"fieldsV1": fields}]}));
        assert_eq!(judged(&object, None), (0, 0));
        let raw = to_raw_value(&object).expect("JSON");
        let seen = read(&raw).expect("the rest of it");
        assert_eq!(seen, with(1, &json!({})), "and not parsed if it does not fit");
        let labels: serde_json::Map<String, Value> =
            (0..100_001).map(|n| (n.to_string(), json!(""))).collect();
        let object = with(1, &json!({"labels": labels}));
        assert_eq!(judged(&object, None), (1, 0));
        assert!(read(&to_raw_value(&object).expect("JSON")).is_err());
    }

    /// A spec with this many values: lists of 9,000 at most, each item a map with one field.
    fn crowded(values: usize) -> Value {
        let maps = vec![json!({"a": 0}); 4_500];
        json!({"spec": {"x": vec![Value::from(maps); values.div_ceil(9_001)]}})
    }

    #[test]
    fn what_has_too_many_values_is_refused_although_each_of_its_lists_is_small() {
        let large = crowded(110_000);
        assert_eq!(judged(&large, None), (1, 0));
        assert_eq!(judged(&crowded(90_000), None), (0, 0));
        assert_eq!(judged(&large, Some(&large)), (0, 1), "it is stored so");
        assert_eq!(
            judged(&crowded(105_000), Some(&large)),
            (1, 0),
            "less, and still too many"
        );
        assert_eq!(judged(&crowded(90_000), Some(&large)), (0, 0));
        assert!(
            read(&to_raw_value(&large).expect("JSON")).is_err(),
            "it is not parsed"
        );
    }

    #[test]
    fn the_parts_of_an_object_are_counted_together() {
        let keys: serde_json::Map<String, Value> = (0..60_000).map(|n| (n.to_string(), json!(""))).collect();
        let mut object = crowded(60_000);
        assert_eq!(judged(&object, None), (0, 0));
        object["metadata"]["annotations"] = Value::Object(keys);
        assert_eq!(judged(&object, None), (1, 0));
    }

    proptest::proptest! {
        /// After any removal the result is a rest of the whole, and no other value is.
        #[test]
        fn a_rest_is_distinguished_from_new_values(list in proptest::collection::vec(0..50_u32, 0..20), keep in proptest::collection::vec(proptest::bool::ANY, 20)) {
            let some: Vec<u32> = list.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(item, _)| *item).collect();
            let whole = json!({"a": list, "b": 1});
            let left = is_left_of(&json!({"a": some}), &whole);
            proptest::prop_assert!(left);
            let mut more = some;
            more.push(99);
            let left = is_left_of(&json!({"a": more}), &whole);
            proptest::prop_assert!(!left);
        }
    }
}
