//! From the bytes of a message to JSON, by the tables.
//!
//! Decides how every kind of value is read. Fields that no table names are left out, as Go's decoders do; a message that
//! stands twice is one message.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::fault::Fault;
use super::message::{Field, Kind, Message};
use super::wire::{DELIMITED, Reader, Tag, VARINT};

/// How deep messages may stand in messages. The tables are not half as deep.
const DEPTH: usize = 32;

/// Decodes a message.
pub fn decode(message: &'static Message, bytes: &[u8]) -> Result<Value, Fault> {
    let mut members = Map::new();
    fields(message, bytes, DEPTH, &mut members)?;
    Ok(Value::Object(members))
}

fn fields(
    message: &'static Message,
    bytes: &[u8],
    depth: usize,
    members: &mut Map<String, Value>,
) -> Result<(), Fault> {
    let depth = depth.checked_sub(1).ok_or(Fault::TooDeep(DEPTH))?;
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag(message.name())? {
        match message.fields.iter().find(|field| field.number == tag.number) {
            Some(field) => member(&mut reader, tag, field, depth, members)?,
            None => reader.skip(tag.wire)?,
        }
    }
    Ok(())
}

/// Reads one occurrence of a field into the members of its object.
fn member(
    reader: &mut Reader<'_>,
    tag: Tag,
    field: &'static Field,
    depth: usize,
    members: &mut Map<String, Value>,
) -> Result<(), Fault> {
    let wire = Wire {
        tag,
        field: field.name,
    };
    if let Kind::Inline(below) = field.kind {
        return fields(below, wire.bytes(reader)?, depth, members);
    }
    if let Kind::Map(item) = field.kind {
        let (key, value) = entry(wire.bytes(reader)?, item, field.name, depth)?;
        let map = members
            .entry(field.name)
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(map) = map {
            map.insert(key, value);
        }
        return Ok(());
    }
    if field.repeated {
        let value = wire.value(reader, field.kind, None, depth)?;
        let list = members
            .entry(field.name)
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            list.push(value);
        }
        return Ok(());
    }
    let before = members.remove(field.name);
    let value = wire.value(reader, field.kind, before, depth)?;
    members.insert(field.name.to_owned(), value);
    Ok(())
}

/// Reads an entry of a map: a message of key and value, either of which may be missing.
fn entry(
    bytes: &[u8],
    item: &'static Kind,
    field: &'static str,
    depth: usize,
) -> Result<(String, Value), Fault> {
    let (mut key, mut value) = (String::new(), empty(*item));
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag(field)? {
        let wire = Wire { tag, field };
        match tag.number {
            1 => key = text(wire.bytes(&mut reader)?),
            2 => value = wire.value(&mut reader, *item, None, depth)?,
            _ => reader.skip(tag.wire)?,
        }
    }
    Ok((key, value))
}

fn empty(kind: Kind) -> Value {
    match kind {
        Kind::Text | Kind::Bytes => Value::String(String::new()),
        Kind::Texts => Value::Array(Vec::new()),
        Kind::Object(_) | Kind::Inline(_) | Kind::Map(_) => Value::Object(Map::new()),
        Kind::Bool | Kind::Integer | Kind::Long | Kind::Time | Kind::MicroTime | Kind::Json => Value::Null,
    }
}

/// One occurrence of a field.
#[derive(Clone, Copy)]
struct Wire {
    tag: Tag,
    field: &'static str,
}

impl Wire {
    fn number(self, reader: &mut Reader<'_>) -> Result<u64, Fault> {
        self.expect(VARINT)?;
        reader.varint()
    }

    fn bytes<'a>(self, reader: &mut Reader<'a>) -> Result<&'a [u8], Fault> {
        self.expect(DELIMITED)?;
        reader.delimited()
    }

    fn expect(self, expected: u8) -> Result<(), Fault> {
        if self.tag.wire == expected {
            return Ok(());
        }
        Err(Fault::WrongType {
            wire: self.tag.wire,
            field: self.field,
        })
    }

    /// Reads a value; `before` is what stood there already.
    fn value(
        self,
        reader: &mut Reader<'_>,
        kind: Kind,
        before: Option<Value>,
        depth: usize,
    ) -> Result<Value, Fault> {
        Ok(match kind {
            Kind::Bool => Value::Bool(self.number(reader)? != 0),
            Kind::Integer => Value::from(narrow(self.number(reader)?)),
            Kind::Long => Value::from(signed(self.number(reader)?)),
            Kind::Text => Value::String(text(self.bytes(reader)?)),
            Kind::Bytes => Value::String(BASE64.encode(self.bytes(reader)?)),
            Kind::Time => time(self.bytes(reader)?, false)?,
            Kind::MicroTime => time(self.bytes(reader)?, true)?,
            Kind::Json => self.json(self.bytes(reader)?)?,
            Kind::Texts => self.texts(self.bytes(reader)?)?,
            Kind::Object(below) | Kind::Inline(below) => {
                let mut members = match before {
                    Some(Value::Object(members)) => members,
                    _ => Map::new(),
                };
                fields(below, self.bytes(reader)?, depth, &mut members)?;
                Value::Object(members)
            }
            // Maps do not stand in maps or lists.
            Kind::Map(_) => {
                reader.skip(self.tag.wire)?;
                Value::Null
            }
        })
    }

    /// Returns the last occurrence of the first field.
    fn first(self, bytes: &[u8]) -> Result<Option<&[u8]>, Fault> {
        let (mut reader, mut found) = (Reader::new(bytes), None);
        while let Some(tag) = reader.tag(self.field)? {
            let wire = Self { tag, ..self };
            match tag.number {
                1 => found = Some(wire.bytes(&mut reader)?),
                _ => reader.skip(tag.wire)?,
            }
        }
        Ok(found)
    }

    fn json(self, bytes: &[u8]) -> Result<Value, Fault> {
        match self.first(bytes)? {
            None | Some([]) => Ok(Value::Null),
            Some(bytes) => serde_json::from_slice(bytes).map_err(|error| Fault::Json {
                field: self.field,
                cause: error.to_string(),
            }),
        }
    }

    fn texts(self, bytes: &[u8]) -> Result<Value, Fault> {
        let (mut reader, mut texts) = (Reader::new(bytes), Vec::new());
        while let Some(tag) = reader.tag(self.field)? {
            let wire = Self { tag, ..self };
            match tag.number {
                1 => texts.push(Value::String(text(wire.bytes(&mut reader)?))),
                _ => reader.skip(tag.wire)?,
            }
        }
        Ok(Value::Array(texts))
    }
}

/// Texts need not be valid on the wire; JSON shows what is not as replacement characters, as Go does.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn signed(number: u64) -> i64 {
    i64::from_le_bytes(number.to_le_bytes())
}

/// Returns the lower half, as 32-bit decoders do.
fn narrow(number: u64) -> i32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// Reads seconds and nanoseconds. An empty message is no time; a `Time` has whole seconds.
fn time(bytes: &[u8], micro: bool) -> Result<Value, Fault> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanoseconds) = (0, 0);
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag("Timestamp")? {
        let wire = |field| Wire { tag, field };
        match tag.number {
            1 => seconds = signed(wire("Seconds").number(&mut reader)?),
            2 => nanoseconds = narrow(wire("Nanos").number(&mut reader)?),
            _ => reader.skip(tag.wire)?,
        }
    }
    let (nanoseconds, layout) = if micro {
        (nanoseconds, "%Y-%m-%dT%H:%M:%S.%6fZ")
    } else {
        (0, "%Y-%m-%dT%H:%M:%SZ")
    };
    match Timestamp::new(seconds, nanoseconds) {
        Ok(time) => Ok(Value::String(time.strftime(layout).to_string())),
        Err(_) => Err(Fault::Time { seconds, nanoseconds }),
    }
}
