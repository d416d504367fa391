//! What a message consists of.
//!
//! Decides the vocabulary of the tables.

/// A message: its name and its fields.
#[derive(Debug)]
pub struct Message {
    /// Last parts of the name of its schema, such as `core.v1.ConfigMap`.
    pub definition: &'static str,
    /// Its fields, in any order.
    pub fields: &'static [Field],
}

impl Message {
    /// Returns the name without group and version.
    pub fn name(&self) -> &'static str {
        self.definition.rsplit('.').next().unwrap_or(self.definition)
    }
}

/// A field of a message.
#[derive(Debug)]
pub struct Field {
    /// Number on the wire.
    pub number: u32,
    /// Name in JSON.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// Whether it stands for a list.
    pub repeated: bool,
}

/// What the value of a field is, on the wire and in JSON.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A truth value.
    Bool,
    /// A number of 32 bits.
    Integer,
    /// A number of 64 bits.
    Long,
    /// A text.
    Text,
    /// Bytes, in JSON as base64.
    Bytes,
    /// A time in whole seconds.
    Time,
    /// A time in microseconds.
    MicroTime,
    /// A message whose first field holds JSON: field sets, raw extensions.
    Json,
    /// A message whose first field is a list of texts.
    Texts,
    /// A map from texts to values of a kind.
    Map(&'static Self),
    /// A message.
    Object(&'static Message),
    /// A message whose fields stand in the object around it.
    Inline(&'static Message),
}

/// Describes a message.
pub const fn message(definition: &'static str, fields: &'static [Field]) -> Message {
    Message { definition, fields }
}

/// Describes a field that stands once.
pub const fn one(number: u32, name: &'static str, kind: Kind) -> Field {
    Field {
        number,
        name,
        kind,
        repeated: false,
    }
}

/// Describes a field that stands for a list.
pub const fn many(number: u32, name: &'static str, kind: Kind) -> Field {
    Field {
        number,
        name,
        kind,
        repeated: true,
    }
}
