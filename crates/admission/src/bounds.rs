//! How deep, wide and long the parts of an object may be, checked before they are parsed into a tree.
//!
//! Decides what is too large to be judged. That is refused and never waved through: an object must not get past a rule by being
//! padded. What is stored so keeps its ratchet: each part that is too large may stay as it is and may lose something, and
//! everything else about the object is judged as ever. One pass a part, and no memory but the way to where it stands.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::request::{MetadataPart, Operation, Request};
use field::{Class, Fault, Path, Violation};

/// A part of the object is too large to be judged.
pub(super) const RULE: &str = "schema/bounds";

/// How deep, wide and long a part of an object may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    /// How deep objects and lists may nest.
    depth: usize,
    /// How many items a list may have.
    items: usize,
    /// How many entries a map may have.
    entries: usize,
    /// How many bytes a text may have.
    text: usize,
}

/// An API server stores 1.5 MiB an object, and 256 KiB of annotations: that is less than 90,000 of them, however short they are.
const BOUNDS: Bounds = Bounds {
    depth: 64,
    items: 10_000,
    entries: 100_000,
    text: 1536 << 10,
};

/// How many steps of a path are told; one may be as long as objects may be deep.
const TOLD_STEPS: usize = 8;
/// The longest name in a path, in letters.
const TOLD_LETTERS: usize = 80;

/// What is too large in an object.
#[derive(Debug, Default)]
pub(super) struct Excess {
    /// What is new, and refused.
    pub(super) refused: Vec<Violation>,
    /// What was stored so and has only lost something since.
    pub(super) excused: Vec<Violation>,
}

/// Returns what is too large in the object of a request.
pub(super) fn excess(request: &Request<'_>) -> Excess {
    let old = match request.operation {
        Operation::Update => request.old,
        Operation::Create | Operation::Delete | Operation::Connect => None,
    };
    let (new, old) = (parts(request.object), parts(old));
    let mut excess = Excess::default();
    for (part, before) in new.into_iter().zip(old) {
        let fault = part
            .text
            .and_then(|text| BOUNDS.exceeded_by(text.get(), &part.path));
        match fault {
            Some(fault) if has_only_lost(before.text, part.text) => excess.excused.push(fault),
            Some(fault) => excess.refused.push(fault),
            None => {}
        }
    }
    excess
}

/// Tells whether the spec of an update is the stored one, letter by letter.
pub(super) fn keeps_the_spec(request: &Request<'_>) -> bool {
    let text = |object| outline(object).spec.map(RawValue::get);
    request.old.is_some() && text(request.object) == text(request.old)
}

/// A part of an object that its users write.
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

/// What is no object has no parts here: reading it and its schema tell of it.
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

fn has_only_lost(old: Option<&RawValue>, new: Option<&RawValue>) -> bool {
    let (Some(old), Some(new)) = (old, new) else {
        return false;
    };
    let read = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).ok();
    old.get() == new.get() || read(old).is_some_and(|old| read(new).is_some_and(|new| is_left_of(&new, &old)))
}

/// Tells whether one value is what is left of another when something is taken away.
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

/// A list or a map that is open while a text is read.
enum Open {
    List {
        items: usize,
    },
    Map {
        entries: usize,
        /// Where the last key stands, without its quotes.
        key: (usize, usize),
        expects_key: bool,
    },
}

impl Bounds {
    /// Returns what the text of a part has too much of, if anything.
    fn exceeded_by(self, text: &str, at: &Path) -> Option<Violation> {
        let bytes = text.as_bytes();
        let mut open: Vec<Open> = Vec::new();
        let mut place = 0;
        while let Some(byte) = bytes.get(place) {
            place += 1;
            match byte {
                b'"' => {
                    let begin = place;
                    place = end_of_text(bytes, begin);
                    let length = place.saturating_sub(begin + 1);
                    take_text(&mut open, (begin, begin + length));
                    if length > self.text {
                        return Some(self.too_long(&way(at, &open, text)));
                    }
                }
                b'[' | b'{' if open.len() == self.depth => return Some(self.too_deep(&way(at, &open, text))),
                b'[' => open.push(Open::List { items: 1 }),
                b'{' => open.push(Open::Map {
                    entries: 1,
                    key: (0, 0),
                    expects_key: true,
                }),
                b']' | b'}' => drop(open.pop()),
                b',' if !self.may_go_on(&mut open) => {
                    let last = open.pop();
                    return last.map(|last| self.too_many(&last, &way(at, &open, text)));
                }
                _ => {}
            }
        }
        None
    }

    /// Counts one more item; tells whether there may be one.
    fn may_go_on(self, open: &mut [Open]) -> bool {
        match open.last_mut() {
            Some(Open::List { items }) => {
                *items += 1;
                *items <= self.items
            }
            Some(Open::Map {
                entries, expects_key, ..
            }) => {
                *expects_key = true;
                *entries += 1;
                *entries <= self.entries
            }
            None => true,
        }
    }

    fn too_many(self, what: &Open, path: &Path) -> Violation {
        let (words, hint) = match what {
            Open::List { .. } => (
                format!("must have at most {} items", self.items),
                "split it into several objects",
            ),
            Open::Map { .. } => (
                format!("must have at most {} entries", self.entries),
                "keep data in an object of its own, such as a ConfigMap",
            ),
        };
        Fault::bare(Class::TooMany, words)
            .hint(hint)
            .at(path.clone(), RULE)
    }

    fn too_deep(self, path: &Path) -> Violation {
        let words = format!("must nest at most {} levels deep", self.depth);
        Fault::bare(Class::TooMany, words)
            .hint("flatten it, or keep it as text")
            .at(path.clone(), RULE)
    }

    fn too_long(self, path: &Path) -> Violation {
        let words = format!("must have at most {} bytes", self.text);
        Fault::bare(Class::TooLong, words)
            .hint("keep it in an object of its own, such as a ConfigMap")
            .at(path.clone(), RULE)
    }
}

/// Returns the place behind the quote that ends a text.
fn end_of_text(bytes: &[u8], begin: usize) -> usize {
    let mut place = begin;
    while let Some(byte) = bytes.get(place) {
        place += 1;
        match byte {
            b'"' => break,
            b'\\' => place += 1,
            _ => {}
        }
    }
    place
}

fn take_text(open: &mut [Open], text: (usize, usize)) {
    if let Some(Open::Map { key, expects_key, .. }) = open.last_mut()
        && *expects_key
    {
        *key = text;
        *expects_key = false;
    }
}

/// Returns the way to what is being read.
fn way(at: &Path, open: &[Open], text: &str) -> Path {
    open.iter()
        .take(TOLD_STEPS)
        .fold(at.clone(), |path, one| match one {
            Open::List { items } => path.index(items.saturating_sub(1)),
            Open::Map {
                key: (begin, end), ..
            } => step(&path, text.get(*begin..*end).unwrap_or_default()),
        })
}

fn step(path: &Path, written: &str) -> Path {
    let name: String = serde_json::from_str(&format!("\"{written}\"")).unwrap_or_default();
    let short: String = name.chars().take(TOLD_LETTERS).collect();
    if short.chars().all(char::is_alphanumeric) {
        path.key(short)
    } else {
        path.entry(short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Door, RequestContext};
    use serde_json::json;
    use serde_json::value::to_raw_value;

    const SMALL: Bounds = Bounds {
        depth: 3,
        items: 3,
        entries: 4,
        text: 4,
    };

    fn told(text: &str) -> Option<String> {
        let found = SMALL.exceeded_by(text, &Path::parse("spec"));
        found.map(|fault| format!("{}: {}", fault.path(), fault.detail()))
    }

    #[test]
    fn bounds_are_met_exactly() {
        for text in [
            r#"{"a":[{}]}"#,
            "[1,2,3]",
            r#""abcd""#,
            r#""\"\\""#,
            "",
            r#"{"a":1,"b":2,"c":3,"d":4}"#,
            r#"["[[[[",",,,,","]"]"#,
            "[[1,2,3],[1,2,3],[1,2,3]]",
        ] {
            assert_eq!(told(text), None, "{text}");
        }
    }

    #[test]
    fn one_more_is_too_much_and_told_with_its_place() {
        for (text, words) in [
            (
                r#"{"a":[{"b":[]}]}"#,
                "spec.a[0].b: must nest at most 3 levels deep",
            ),
            ("[1,2,3,4]", "spec: must have at most 3 items"),
            (
                r#"{"x":{"a":1},"list":[{},[1,2,3,4]]}"#,
                "spec.list[1]: must have at most 3 items",
            ),
            (
                r#"{"a":1,"b":2,"c":3,"d":4,"e":5}"#,
                "spec: must have at most 4 entries",
            ),
            (
                r#"{"a":"b","c/d":["abcde"]}"#,
                "spec[c/d][0]: must have at most 4 bytes",
            ),
            (r#"{"a":{"aaaaa":1}}"#, "spec.a.aaaaa: must have at most 4 bytes"),
        ] {
            assert_eq!(told(text).as_deref(), Some(words), "{text}");
        }
    }

    fn judged(new: &Value, old: Option<&Value>) -> (usize, usize) {
        let raw = |value: &Value| to_raw_value(value).expect("JSON");
        let (new, old) = (raw(new), old.map(raw));
        let request = Request {
            door: Door::Validate,
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
        let labels: serde_json::Map<String, Value> =
            (0..100_001).map(|n| (n.to_string(), json!(""))).collect();
        assert_eq!(judged(&with(1, &json!({"labels": labels})), None), (1, 0));
    }

    proptest::proptest! {
        /// Whatever is taken away, what is left is left of the whole; and nothing else is.
        #[test]
        fn what_is_left_is_told_from_what_is_new(list in proptest::collection::vec(0..50_u32, 0..20), keep in proptest::collection::vec(proptest::bool::ANY, 20)) {
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
