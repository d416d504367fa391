//! The parsed form of one schema: what the passes (prune, default, check, rules) walk over.
//!
//! Holds facts only; never reads JSON schema text and never judges a value.

use crate::rules::Rules;
use kubernetes::formats::Format;
use kubernetes::regexp::Pattern;
use serde_json::{Number, Value};
use std::collections::BTreeMap;

/// The JSON type that a schema asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No type: only legal with `x-kubernetes-preserve-unknown-fields`, or inside `allOf` and friends.
    #[default]
    Any,
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    /// `x-kubernetes-int-or-string`.
    IntOrString,
}

impl Kind {
    /// Returns the name of the type in error texts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::IntOrString => "integer,string",
        }
    }

    /// Tells whether values of this kind are checked against a format; Kubernetes ignores it with other kinds.
    pub(crate) fn meets(self, format: &Format) -> bool {
        match self {
            Self::Any | Self::String | Self::IntOrString => format.is_of_texts(),
            Self::Integer => matches!(format.name(), "int32" | "int64"),
            Self::Number => matches!(format.name(), "float" | "double"),
            Self::Object | Self::Array | Self::Boolean => false,
        }
    }
}

/// Yes/no facts of a schema, and of everything below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(u16);

impl Flags {
    pub(crate) const NULLABLE: Self = Self(1);
    pub(crate) const PRESERVE_UNKNOWN: Self = Self(1 << 1);
    pub(crate) const EMBEDDED: Self = Self(1 << 2);
    pub(crate) const ATOMIC_MAP: Self = Self(1 << 3);
    pub(crate) const UNIQUE_ITEMS: Self = Self(1 << 4);
    /// This schema or one below has rules; likewise for the next three.
    pub(crate) const RULES_WITHIN: Self = Self(1 << 8);
    pub(crate) const LISTS_WITHIN: Self = Self(1 << 9);
    pub(crate) const EMBEDDED_WITHIN: Self = Self(1 << 10);

    /// Tells whether all of `wanted` are set.
    pub(crate) fn has(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// Sets `more`.
    pub(crate) fn add(&mut self, more: Self) {
        self.0 |= more.0;
    }

    /// Takes `less` away.
    pub(crate) fn remove(&mut self, less: Self) {
        self.0 &= !less.0;
    }

    /// Sets what is known of a schema below this one.
    pub(crate) fn add_within(&mut self, below: Self) {
        self.0 |= below.0 & 0xff00;
    }
}

/// What `additionalProperties` says.
#[derive(Debug, Default)]
pub(crate) enum Additional {
    /// Absent.
    #[default]
    Unspecified,
    /// `true`: any member, of any shape.
    Anything,
    /// A schema for every member.
    Schema(Box<Node>),
}

/// How items of a list are distinguished.
#[derive(Debug, Default)]
pub(crate) enum ListType {
    /// The list is one value (the default).
    #[default]
    Atomic,
    /// Items are the keys.
    Set,
    /// These members of an item are its key.
    Map(Vec<String>),
}

/// A bound of a number and whether the bound itself is excluded.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) at: Number,
    pub(crate) exclusive: bool,
}

/// Bounds of lengths and counts; what is absent does not bound.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    pub(crate) least: Option<u64>,
    pub(crate) most: Option<u64>,
}

/// The rarer value checks, boxed to keep [`Node`] small.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub(crate) required: Vec<String>,
    pub(crate) legal: Vec<Value>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) maximum: Option<Bound>,
    pub(crate) multiple_of: Option<Number>,
    pub(crate) length: Sizes,
    pub(crate) items: Sizes,
    pub(crate) members: Sizes,
}

/// `allOf`, `anyOf`, `oneOf` and `not`.
#[derive(Debug, Default)]
pub(crate) struct Junctors {
    pub(crate) all_of: Vec<Node>,
    pub(crate) any_of: Vec<Node>,
    pub(crate) one_of: Vec<Node>,
    pub(crate) not: Option<Box<Node>>,
}

/// One schema.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) flags: Flags,
    pub(crate) properties: BTreeMap<String, Self>,
    pub(crate) additional: Additional,
    pub(crate) items: Option<Box<Self>>,
    pub(crate) list: ListType,
    pub(crate) format: Option<Format>,
    pub(crate) limits: Option<Box<Limits>>,
    pub(crate) junctors: Option<Box<Junctors>>,
    pub(crate) default: Option<Value>,
    pub(crate) rules: Rules,
}

impl Node {
    /// Tells whether `flag` is set.
    pub(crate) fn is(&self, flag: Flags) -> bool {
        self.flags.has(flag)
    }

    /// Returns the schema of the member `name`: a declared property, else the schema of additional ones.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.additional_schema())
    }

    /// Returns the schema of members that are not declared by name.
    pub(crate) fn additional_schema(&self) -> Option<&Self> {
        match &self.additional {
            Additional::Schema(schema) => Some(schema),
            Additional::Unspecified | Additional::Anything => None,
        }
    }

    /// Returns the sub-schemas that describe parts of a value (not alternatives for the same value).
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Self> {
        self.properties
            .values()
            .chain(self.additional_schema())
            .chain(self.items.as_deref())
    }

    /// Tells whether `null` must be dropped or defaulted here.
    pub(crate) fn refuses_null(&self) -> bool {
        !self.is(Flags::NULLABLE)
    }
}
