//! The `OpenAPI` v2 document in its binary form, which older clients ask for and nothing else.
//!
//! Decides the bytes, by one table per part of the document; never what stands in the document. What no table names is left out.

use serde_json::{Map, Value};

/// A part of the document: its members, and the number under which members `x-…` stand.
struct Part {
    members: &'static [(&'static str, u32, Shape)],
    extensions: Option<u32>,
}

/// How a member is written.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Texts,
    Flag,
    Count,
    Number,
    Part(&'static Part),
    /// Free values stand as text.
    Any,
    Anys,
    /// One word or several.
    Types,
    /// A schema, or whether there is anything else at all.
    Rest,
    /// A schema within a message of its own.
    Wrapped,
    /// Parts by name, under this number within a message of their own.
    Named(u32, &'static Part),
    Parameters,
    Responses,
}

use Shape::{
    Any, Anys, Count, Flag, Named, Number, Parameters, Responses, Rest, Text, Texts, Types, Wrapped,
};

static DOCUMENT: Part = Part {
    members: &[
        ("swagger", 1, Text),
        ("info", 2, Shape::Part(&INFO)),
        ("paths", 8, Named(2, &PATH)),
        ("definitions", 9, Named(1, &SCHEMA)),
    ],
    extensions: None,
};

static INFO: Part = Part {
    members: &[("title", 1, Text), ("version", 2, Text)],
    extensions: None,
};

static PATH: Part = Part {
    members: &[
        ("get", 2, Shape::Part(&OPERATION)),
        ("put", 3, Shape::Part(&OPERATION)),
        ("post", 4, Shape::Part(&OPERATION)),
        ("delete", 5, Shape::Part(&OPERATION)),
        ("patch", 8, Shape::Part(&OPERATION)),
        ("parameters", 9, Parameters),
    ],
    extensions: Some(10),
};

static OPERATION: Part = Part {
    members: &[
        ("tags", 1, Texts),
        ("description", 3, Text),
        ("operationId", 5, Text),
        ("produces", 6, Texts),
        ("consumes", 7, Texts),
        ("parameters", 8, Parameters),
        ("responses", 9, Responses),
        ("schemes", 10, Texts),
    ],
    extensions: Some(13),
};

static BODY: Part = Part {
    members: &[
        ("description", 1, Text),
        ("name", 2, Text),
        ("in", 3, Text),
        ("required", 4, Flag),
        ("schema", 5, Shape::Part(&SCHEMA)),
    ],
    extensions: None,
};

static QUERY: Part = Part {
    members: &[
        ("required", 1, Flag),
        ("in", 2, Text),
        ("description", 3, Text),
        ("name", 4, Text),
        ("type", 6, Text),
        ("uniqueItems", 20, Flag),
    ],
    extensions: None,
};

static IN_PATH: Part = Part {
    members: &[
        ("required", 1, Flag),
        ("in", 2, Text),
        ("description", 3, Text),
        ("name", 4, Text),
        ("type", 5, Text),
        ("uniqueItems", 19, Flag),
    ],
    extensions: None,
};

static RESPONSE: Part = Part {
    members: &[("description", 1, Text), ("schema", 2, Wrapped)],
    extensions: None,
};

static SCHEMA: Part = Part {
    members: &[
        ("$ref", 1, Text),
        ("format", 2, Text),
        ("title", 3, Text),
        ("description", 4, Text),
        ("default", 5, Any),
        ("multipleOf", 6, Number),
        ("maximum", 7, Number),
        ("exclusiveMaximum", 8, Flag),
        ("minimum", 9, Number),
        ("exclusiveMinimum", 10, Flag),
        ("maxLength", 11, Count),
        ("minLength", 12, Count),
        ("pattern", 13, Text),
        ("maxItems", 14, Count),
        ("minItems", 15, Count),
        ("uniqueItems", 16, Flag),
        ("maxProperties", 17, Count),
        ("minProperties", 18, Count),
        ("required", 19, Texts),
        ("enum", 20, Anys),
        ("additionalProperties", 21, Rest),
        ("type", 22, Types),
        ("items", 23, Wrapped),
        ("properties", 25, Named(1, &SCHEMA)),
    ],
    extensions: Some(31),
};

/// Returns the bytes of a document.
pub(super) fn encode(document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    if let Value::Object(document) = document {
        part(&DOCUMENT, document, &mut out);
    }
    out
}

fn part(part: &Part, members: &Map<String, Value>, out: &mut Vec<u8>) {
    for (name, number, shape) in part.members {
        if let Some(value) = members.get(*name) {
            member(*number, *shape, value, out);
        }
    }
    let Some(number) = part.extensions else {
        return;
    };
    for (name, value) in members.iter().filter(|(name, _)| name.starts_with("x-")) {
        within(number, out, |out| {
            delimited(1, name.as_bytes(), out);
            any(2, value, out);
        });
    }
}

fn member(number: u32, shape: Shape, value: &Value, out: &mut Vec<u8>) {
    match (shape, value) {
        (Shape::Part(below), Value::Object(members)) => within(number, out, |out| part(below, members, out)),
        (Text, Value::String(text)) => delimited(number, text.as_bytes(), out),
        (Texts, Value::Array(texts)) => texts.iter().for_each(|text| member(number, Text, text, out)),
        (Flag, Value::Bool(flag)) => {
            tag(number, 0, out);
            varint(u64::from(*flag), out);
        }
        (Count, value) => {
            if let Some(count) = value.as_u64() {
                tag(number, 0, out);
                varint(count, out);
            }
        }
        (Number, value) => {
            if let Some(float) = value.as_f64() {
                tag(number, 1, out);
                out.extend(float.to_le_bytes());
            }
        }
        (Any, value) => any(number, value, out),
        (Anys, Value::Array(values)) => values.iter().for_each(|value| any(number, value, out)),
        (Types, Value::Array(_)) => within(number, out, |out| member(1, Texts, value, out)),
        (Types, value) => within(number, out, |out| member(1, Text, value, out)),
        (Rest, Value::Bool(_)) => within(number, out, |out| member(2, Flag, value, out)),
        (Rest | Wrapped, value) => within(number, out, |out| member(1, Shape::Part(&SCHEMA), value, out)),
        (Named(inner, below), Value::Object(members)) => {
            within(number, out, |out| named(inner, Shape::Part(below), members, out));
        }
        (Parameters, Value::Array(parameters)) => {
            for one in parameters {
                within(number, out, |out| parameter(one, out));
            }
        }
        (Responses, Value::Object(responses)) => within(number, out, |out| {
            for (code, response) in responses {
                within(1, out, |out| {
                    delimited(1, code.as_bytes(), out);
                    within(2, out, |out| member(1, Shape::Part(&RESPONSE), response, out));
                });
            }
        }),
        (
            Shape::Part(_) | Text | Texts | Flag | Anys | Named(..) | Parameters | Responses,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_),
        ) => {}
    }
}

fn named(number: u32, shape: Shape, members: &Map<String, Value>, out: &mut Vec<u8>) {
    for (name, value) in members {
        within(number, out, |out| {
            delimited(1, name.as_bytes(), out);
            member(2, shape, value, out);
        });
    }
}

/// A parameter is of the body, or else of the query or the path.
fn parameter(value: &Value, out: &mut Vec<u8>) {
    within(1, out, |out| match value.get("in").and_then(Value::as_str) {
        Some("body") => member(1, Shape::Part(&BODY), value, out),
        Some("path") => within(2, out, |out| member(4, Shape::Part(&IN_PATH), value, out)),
        _ => within(2, out, |out| member(3, Shape::Part(&QUERY), value, out)),
    });
}

/// JSON is YAML.
fn any(number: u32, value: &Value, out: &mut Vec<u8>) {
    within(number, out, |out| delimited(2, value.to_string().as_bytes(), out));
}

/// Writes a message of its own.
fn within(number: u32, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    fill(&mut inner);
    delimited(number, &inner, out);
}

fn delimited(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    tag(number, 2, out);
    varint(u64::try_from(bytes.len()).unwrap_or_default(), out);
    out.extend(bytes);
}

fn tag(number: u32, wire: u8, out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | u64::from(wire), out);
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            return out.push(low & 0x7f);
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protobuf::wire::Reader;

    fn schema(value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        member(9, Shape::Part(&SCHEMA), value, &mut out);
        out
    }

    #[test]
    fn parts_of_schemas_stand_where_readers_look_for_them() {
        for (value, bytes) in [
            (json!({"$ref": "a"}), &b"\x4a\x03\x0a\x01a"[..]),
            (json!({"type": "object"}), b"\x4a\x0b\xb2\x01\x08\x0a\x06object"),
            (
                json!({"required": ["a", "b"]}),
                b"\x4a\x08\x9a\x01\x01a\x9a\x01\x01b",
            ),
            (
                json!({"additionalProperties": true}),
                b"\x4a\x05\xaa\x01\x02\x10\x01",
            ),
            (
                json!({"additionalProperties": {"$ref": "a"}}),
                b"\x4a\x08\xaa\x01\x05\x0a\x03\x0a\x01a",
            ),
            (
                json!({"items": {"$ref": "a"}}),
                b"\x4a\x08\xba\x01\x05\x0a\x03\x0a\x01a",
            ),
            (
                json!({"properties": {"p": {"$ref": "a"}}}),
                b"\x4a\x0d\xca\x01\x0a\x0a\x08\x0a\x01p\x12\x03\x0a\x01a",
            ),
            (
                json!({"x-y": 1}),
                b"\x4a\x0d\xfa\x01\x0a\x0a\x03x-y\x12\x03\x12\x011",
            ),
            (json!({"maxLength": 300}), b"\x4a\x03\x58\xac\x02"),
            (
                json!({"minimum": 1}),
                b"\x4a\x09\x49\x00\x00\x00\x00\x00\x00\xf0\x3f",
            ),
        ] {
            assert_eq!(schema(&value), bytes, "{value}");
        }
    }

    #[test]
    fn the_whole_document_has_all_its_definitions() {
        let document = super::super::swagger(&crate::builtin::resources());
        let bytes = encode(&document);
        let (mut reader, mut definitions) = (Reader::new(&bytes), 0);
        while let Some(tag) = reader.tag("Document").expect("a tag") {
            let inner = reader.delimited().expect("bytes");
            if tag.number == 9 {
                let mut reader = Reader::new(inner);
                while reader.tag("Definitions").expect("a tag").is_some() {
                    reader.delimited().expect("bytes");
                    definitions += 1;
                }
            }
        }
        assert_eq!(
            Some(definitions),
            document["definitions"].as_object().map(Map::len)
        );
    }
}
