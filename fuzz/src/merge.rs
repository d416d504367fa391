//! Structured merge: a program of applies and updates by several managers, on an object of every kind of type.
//!
//! What is asserted holds for every input: what an applier wants is there afterwards, an apply said twice changes nothing, owned
//! paths survive their writing down, and no manager is left that owns nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use managed_fields::{
    Alike, Applied, Element, FieldWrite, KeyField, List, Map, Owners, Path, Refusal, Relation, Scalar, Set,
    Type, Types, apply, compare, field_set, merge, remove, update,
};
use serde_json::{Value, json};

static TYPES: LazyLock<Types> = LazyLock::new(|| BTreeMap::from([("v1".to_owned(), object_type(2))]));

/// The members of the type, some of them again inside of it.
fn object_type(depth: usize) -> Type {
    let list = |relation: Relation, item: Type| Type::List(Arc::new(List { relation, item }));
    let key = |name: &str, default: Option<Value>| KeyField {
        name: name.to_owned(),
        default,
    };
    let text = || Type::Scalar(Scalar::Text);
    let inner = || {
        if depth == 0 {
            Type::Opaque
        } else {
            object_type(depth - 1)
        }
    };
    let map = |others: Option<Type>, atomic: bool| {
        Type::Map(Arc::new(Map {
            fields: BTreeMap::new(),
            others,
            atomic,
        }))
    };
    let item = Type::Map(Arc::new(Map {
        fields: [
            ("port".to_owned(), Type::Scalar(Scalar::Number)),
            ("protocol".to_owned(), text()),
            ("in".to_owned(), inner()),
        ]
        .into(),
        others: None,
        atomic: false,
    }));
    let keys = vec![key("port", None), key("protocol", Some(json!("TCP")))];
    let fields = [
        ("n", Type::Scalar(Scalar::Number)),
        ("t", text()),
        ("b", Type::Scalar(Scalar::Boolean)),
        ("any", Type::Scalar(Scalar::Any)),
        ("map", map(Some(text()), false)),
        ("deep", map(Some(inner()), false)),
        ("atomicMap", map(Some(text()), true)),
        ("set", list(Relation::Set, Type::Scalar(Scalar::Any))),
        ("atomicList", list(Relation::Atomic, Type::Opaque)),
        ("ports", list(Relation::Keyed(keys), item)),
        ("free", Type::Deduced),
        ("opaque", Type::Opaque),
        ("in", inner()),
    ];
    Type::Map(Arc::new(Map {
        fields: fields.map(|(name, of)| (name.to_owned(), of)).into(),
        others: None,
        atomic: false,
    }))
}

/// Lines of a manager (a letter; upper case applies, with `!` by force) and what it writes.
pub fn program(bytes: &[u8]) {
    let Some(of) = TYPES.get("v1") else { return };
    let (mut live, mut owners) = (json!({}), Owners::new());
    for line in bytes.split(|byte| *byte == b'\n').take(12) {
        let Some((who, rest)) = line.split_first() else {
            continue;
        };
        let (force, rest) = match rest.strip_prefix(b"!") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let Ok(written) = serde_json::from_slice::<Value>(rest) else {
            continue;
        };
        let owner = char::from(*who).to_string();
        let ignored = BTreeMap::new();
        let asked = FieldWrite {
            owner: &owner,
            version: "v1",
            types: &TYPES,
            views: &Alike,
            force,
            ignored: &ignored,
        };
        if who.is_ascii_uppercase() {
            applied(&mut live, &mut owners, &written, &asked, of);
        } else if let Ok(after) = update(&live, &written, &owners, &asked) {
            live = written;
            owners = after;
        }
        owners.values().for_each(|owned| survives(&owned.set));
    }
}

fn applied(live: &mut Value, owners: &mut Owners, intent: &Value, asked: &FieldWrite<'_>, of: &Type) {
    match apply(live, intent, owners, asked) {
        Ok(Applied {
            object,
            owners: after,
        }) => {
            if let Some(object) = object {
                *live = object;
            }
            *owners = after;
            let there = field_set(live, of);
            for path in field_set(intent, of).paths() {
                // An applier that says null of what it had filled itself takes the rest of it away: no manager owns the list that is left empty.
                assert!(
                    is_there(&there, &path) || is_null(intent, &path),
                    "an applier of {intent} does not get {path:?} in {live}"
                );
            }
            // As in Kubernetes, a list that is empty already is no reason to keep it, and null is as good as absent where nothing was:
            // the same intent said again may change that.
            if has_bare(intent) || has_bare(live) {
                return;
            }
            let again = apply(live, intent, owners, asked).expect("who owns it all applies again");
            assert_eq!(
                again.object, None,
                "{intent} changes nothing the second time in {live}"
            );
            assert_eq!(again.owners, *owners, "the same intent changes no owner");
        }
        Err(Refusal::Conflicts(conflicts)) => {
            assert!(!asked.force, "force meets no conflict");
            assert!(
                conflicts
                    .iter()
                    .all(|conflict| conflict.owner != asked.owner && !conflict.set.is_empty()),
                "{conflicts:?}"
            );
        }
        Err(Refusal::Intent(faults) | Refusal::Live(faults)) => assert!(!faults.0.is_empty()),
        Err(Refusal::Unknown(version)) => panic!("{version} is known"),
        Err(Refusal::Misfit { faults, .. }) => panic!("there is no other version: {faults}"),
        Err(Refusal::Unseen(unseen)) => panic!("objects look alike in all versions: {unseen:?}"),
    }
    let merged = merge(live, live, of);
    assert!(
        compare(live, &merged, of).is_same(),
        "merged with itself, {live} became {merged}"
    );
    let bare = remove(live, &Set::default(), of);
    assert_eq!(bare, *live, "nothing taken away leaves everything");
}

/// Tells whether there is an empty list or map, or a null.
fn has_bare(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty() || items.iter().any(has_bare),
        Value::Object(members) => members.is_empty() || members.values().any(has_bare),
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A container is there as well if only something in it is.
fn is_there(set: &Set, path: &Path) -> bool {
    let inside = path.0.iter().try_fold(set, |set, element| set.below(element));
    inside.is_some() || set.has(&path.0)
}

/// What an applier wants at a path of members is null.
fn is_null(intent: &Value, path: &Path) -> bool {
    let member = |value, element: &Element| match element {
        Element::Field(name) => Value::get(value, name),
        Element::Key(_) | Element::Value(_) | Element::Index(_) => None,
    };
    path.0.iter().try_fold(intent, member).is_some_and(Value::is_null)
}

fn survives(set: &Set) {
    let wire = set.to_wire();
    let read = Set::from_wire(&wire).expect("what was written down can be read");
    assert_eq!(read, *set, "{wire}");
}

/// Owned paths as clients send them back: read, written, read again.
pub fn owned_paths(bytes: &[u8]) {
    let Ok(wire) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    let Ok(set) = Set::from_wire(&wire) else { return };
    survives(&set);
    if let Some(of) = TYPES.get("v1") {
        let _ = set.with_declared(of);
        let _ = remove(
            &json!({"ports": [{"port": 1}], "set": [1], "free": {"a": [1]}}),
            &set,
            of,
        );
    }
    for (left, right) in [(&set, &Set::default()), (&set, &set)] {
        let (union, both) = (left.union(right), left.intersection(right));
        assert_eq!(union.difference(&Set::default()), union);
        assert!(both.difference(left).is_empty());
    }
}
