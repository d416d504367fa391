//! The tables against the schemas, and the reader against bytes of every kind.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::Kind::{Integer, Json, Long, MicroTime, Object, Text};
use super::{DELETE_OPTIONS, Kind, Message, decode, many, message, message_of, one, open};
use crate::builtin;

fn messages() -> Vec<&'static Message> {
    let roots = builtin::resources();
    let mut open: Vec<&Message> = roots
        .iter()
        .filter_map(|resource| message_of(&resource.group, &resource.kind))
        .chain([DELETE_OPTIONS])
        .chain(message_of("authentication.k8s.io", "TokenRequest"))
        .collect();
    let (mut seen, mut all) = (BTreeSet::new(), Vec::new());
    while let Some(message) = open.pop() {
        if !seen.insert(message.definition) {
            continue;
        }
        all.push(message);
        open.extend(message.fields.iter().filter_map(|field| match field.kind {
            Object(below) | Kind::Inline(below) => Some(below),
            _ => None,
        }));
    }
    all
}

fn names(message: &'static Message) -> BTreeSet<&'static str> {
    let of = |field: &'static super::Field| match field.kind {
        Kind::Inline(below) => names(below),
        _ => BTreeSet::from([field.name]),
    };
    message.fields.iter().flat_map(of).collect()
}

fn schema_of(message: &Message) -> Option<&'static Value> {
    let suffix = format!(".{}", message.definition);
    let mut found = builtin::schema::definitions().filter(|(name, _)| name.ends_with(&suffix));
    found.next().map(|(_, schema)| schema)
}

#[test]
fn every_table_names_exactly_the_members_of_its_schema() {
    let mut compared = 0;
    let inlined: BTreeSet<&str> = messages()
        .iter()
        .flat_map(|message| message.fields)
        .filter_map(|field| match field.kind {
            Kind::Inline(below) => Some(below.definition),
            _ => None,
        })
        .collect();
    for message in messages() {
        let Some(schema) = schema_of(message) else {
            assert!(inlined.contains(message.definition), "{}", message.definition);
            continue;
        };
        let properties = schema["properties"].as_object().expect("properties");
        let is_root =
            message.fields.iter().any(|field| field.name == "metadata") || message.name() == "DeleteOptions";
        let expected: BTreeSet<&str> = properties
            .keys()
            .map(String::as_str)
            .filter(|name| !(is_root && matches!(*name, "apiVersion" | "kind")))
            .collect();
        assert_eq!(names(message), expected, "{}", message.definition);
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn every_field_has_the_type_of_its_schema() {
    for message in messages() {
        let Some(schema) = schema_of(message) else {
            continue;
        };
        for field in message.fields {
            let property = &schema["properties"][field.name];
            let is_list = property["type"] == "array";
            if !matches!(field.kind, Kind::Inline(_)) {
                assert_eq!(field.repeated, is_list, "{} {}", message.definition, field.name);
            }
            let item = if is_list { &property["items"] } else { property };
            let reference = builtin::schema::reference(item).unwrap_or_default();
            let target = builtin::schema::definition(reference).map_or(item, |(_, definition)| definition);
            let kind = (target["type"].as_str(), target["format"].as_str());
            let fits = match field.kind {
                Kind::Bool => kind.0 == Some("boolean"),
                Integer => kind == (Some("integer"), Some("int32")),
                Long => kind == (Some("integer"), Some("int64")),
                Text => kind == (Some("string"), None),
                Kind::Bytes => kind == (Some("string"), Some("byte")),
                Kind::Time => reference.ends_with(".Time"),
                MicroTime => reference.ends_with(".MicroTime"),
                Json => reference.ends_with(".FieldsV1") || reference.ends_with(".RawExtension"),
                Kind::Map(_) => target.get("additionalProperties").is_some(),
                Object(below) => reference.ends_with(below.definition),
                Kind::Inline(_) => true,
                Kind::Texts => false,
            };
            assert!(fits, "{} {}: {target}", message.definition, field.name);
        }
        let numbers: BTreeSet<u32> = message.fields.iter().map(|field| field.number).collect();
        assert_eq!(
            numbers.len(),
            message.fields.len(),
            "{}: a number stands twice",
            message.definition
        );
    }
}

#[test]
fn recorded_bodies_decode() {
    for (body, group, expected) in [
        (
            "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEigKCwoBYVoGCgFsEgFtEgYKAWsSAXYSBgoBeBIBeRoJCgNiaW4SAgAB",
            "",
            json!({"metadata": {"name": "a", "labels": {"l": "m"}}, "data": {"k": "v", "x": "y"}, "binaryData": {"bin": "AAE="}}),
        ),
        (
            "azhzAAofChZjb29yZGluYXRpb24uazhzLmlvL3YxEgVMZWFzZRIlCgMKAWwSHgoCbWUQDxoJCIDCr/AFEIgnIgkIgMKv8AUQiCcoAQ==",
            "coordination.k8s.io",
            json!({"metadata": {"name": "l"}, "spec": {
                "holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 1,
                "acquireTime": "2020-01-01T00:00:00.000005Z", "renewTime": "2020-01-01T00:00:00.000005Z",
            }}),
        ),
    ] {
        let body = BASE64.decode(body).expect("base64");
        let envelope = open(&body).expect("an envelope");
        let message = message_of(group, &envelope.kind).expect("a table");
        assert_eq!(decode(message, envelope.content).expect("a message"), expected);
    }
}

static LEAF: Message = message("test.v1.Leaf", &[one(1, "size", Text), one(2, "port", Integer)]);
static NODE: Message = message(
    "test.v1.Node",
    &[
        one(1, "below", Object(&NODE)),
        one(2, "leaf", Object(&LEAF)),
        one(3, "any", Json),
        many(4, "nodes", Object(&NODE)),
        one(5, "number", Integer),
        one(6, "big", Long),
        one(7, "when", MicroTime),
        one(8, "objects", Kind::Map(&Object(&LEAF))),
        one(9, "lists", Kind::Map(&Kind::Texts)),
    ],
);

#[test]
fn every_kind_of_value_is_read() {
    for (bytes, expected) in [
        (&b""[..], json!({})),
        (b"\x12\x04\x0a\x02\x32\x30", json!({"leaf": {"size": "20"}})),
        (b"\x12\x02\x10\x50", json!({"leaf": {"port": 80}})),
        (b"\x1a\x09\x0a\x07{\"a\":1}", json!({"any": {"a": 1}})),
        (b"\x1a\x00", json!({"any": null})),
        (b"\x22\x00\x22\x02\x28\x07", json!({"nodes": [{}, {"number": 7}]})),
        (
            b"\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            json!({"number": -1}),
        ),
        (
            b"\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            json!({"big": -1}),
        ),
        (b"\x28\x01\x28\x02", json!({"number": 2})),
        (
            b"\x0a\x02\x28\x01\x0a\x02\x30\x02",
            json!({"below": {"number": 1, "big": 2}}),
        ),
        (b"\x3a\x00", json!({"when": null})),
        (
            b"\x3a\x02\x08\x00",
            json!({"when": "1970-01-01T00:00:00.000000Z"}),
        ),
        (b"\x42\x03\x0a\x01k", json!({"objects": {"k": {}}})),
        (b"\x42\x00", json!({"objects": {"": {}}})),
        (
            b"\x4a\x0a\x0a\x01k\x12\x05\x0a\x01a\x0a\x00",
            json!({"lists": {"k": ["a", ""]}}),
        ),
        (b"\x4a\x03\x0a\x01k", json!({"lists": {"k": []}})),
        // Field 100 is not known: a number, a text and a group of it.
        (
            b"\xa0\x06\x01\xa2\x06\x01x\xa3\x06\x08\x01\xa4\x06\x28\x03",
            json!({"number": 3}),
        ),
    ] {
        assert_eq!(decode(&NODE, bytes), Ok(expected), "{bytes:x?}");
    }
}

#[test]
fn malformed_messages_are_refused_with_the_reason() {
    for (bytes, expected) in [
        (&b"\x0a"[..], "unexpected EOF"),
        (b"\x0a\x05\x28", "unexpected EOF"),
        (b"\x12\x04\x0a\x09\x0a\x02", "unexpected EOF"),
        (b"\x28\x80", "unexpected EOF"),
        (
            b"\x28\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
            "proto: integer overflow",
        ),
        (
            b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "proto: negative length found during unmarshaling",
        ),
        (b"\x08\x01", "proto: wrong wireType = 0 for field below"),
        (b"\x2a\x01a", "proto: wrong wireType = 2 for field number"),
        (
            b"\x2d\x01\x01\x01\x01",
            "proto: wrong wireType = 5 for field number",
        ),
        (b"\x00\x00", "proto: Node: illegal tag 0 (wire type 0)"),
        (b"\x0a\x01\x0c", "proto: Node: wiretype end group for non-group"),
        (b"\xa6\x06", "proto: illegal wireType 6"),
        (
            b"\x1a\x03\x0a\x01{",
            "proto: field any does not hold JSON: EOF while parsing an object at line 1 column 1",
        ),
        (
            b"\x3a\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
            "proto: 9223372036854775807 seconds and 0 nanoseconds are not a time",
        ),
        (b"\x42\x04\x12\x02\x0a\x05", "unexpected EOF"),
    ] {
        let fault = decode(&NODE, bytes).expect_err("a fault");
        assert_eq!(fault.to_string(), expected, "{bytes:x?}");
    }
}

#[test]
fn messages_within_messages_have_a_bound() {
    let nested = |levels: usize| {
        (1..levels).fold(Vec::new(), |inner: Vec<u8>, _| {
            let mut outer = vec![0x0a];
            let mut length = inner.len();
            while length >= 0x80 {
                outer.push(u8::try_from(length % 0x80).expect("a byte") | 0x80);
                length /= 0x80;
            }
            outer.push(u8::try_from(length).expect("a byte"));
            outer.extend(inner);
            outer
        })
    };
    assert!(decode(&NODE, &nested(32)).is_ok());
    for levels in [33, 5_000] {
        let fault = decode(&NODE, &nested(levels)).expect_err("too deep");
        assert_eq!(
            fault.to_string(),
            "proto: messages are nested more than 32 levels deep"
        );
    }
}

proptest! {
    #[test]
    fn any_bytes_are_an_answer_or_a_fault(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(open(&bytes));
        for message in messages() {
            drop(decode(message, &bytes));
        }
        drop(decode(&NODE, &bytes));
    }

    #[test]
    fn a_truncated_body_is_never_more_than_the_whole(at in 0_usize..60) {
        let body = BASE64.decode("azhzAAoPCgJ2MRIJQ29uZmlnTWFwEigKCwoBYVoGCgFsEgFtEgYKAWsSAXYSBgoBeBIBeRoJCgNiaW4SAgAB").expect("base64");
        let whole = decode(message_of("", "ConfigMap").expect("a table"), open(&body).expect("an envelope").content).expect("a message");
        let Some(cut) = body.get(..at.min(body.len() - 1)) else { return Ok(()) };
        if let Ok(envelope) = open(cut) && let Ok(part) = decode(message_of("", "ConfigMap").expect("a table"), envelope.content) {
            prop_assert!(part.to_string().len() < whole.to_string().len());
        }
    }
}
