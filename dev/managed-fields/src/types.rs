//! Types of values for field ownership: atomic or granular, and how items of a list are identified. The caller builds them from a
//! schema.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::element::Element;

/// The type of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Type {
    /// A value without parts.
    Scalar(Scalar),
    /// Members with names.
    Map(Arc<Map>),
    /// Items in an order.
    List(Arc<List>),
    /// Not known, deduced from the value: maps are owned member by member, all else as a whole.
    Deduced,
    /// A value of any form; if it is a map, of this one, and otherwise owned as a whole.
    Free(Arc<Map>),
    /// Anything, owned as a whole.
    #[default]
    Opaque,
}

/// A value without parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// A number, whole or not.
    Number,
    /// A text.
    Text,
    /// True or false.
    Boolean,
    /// Any of these.
    Any,
}

/// A map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    /// Declared members.
    pub fields: BTreeMap<String, Type>,
    /// The type of other members; absent where there may be none.
    pub others: Option<Type>,
    /// Whether it is owned as a whole.
    pub atomic: bool,
}

/// A list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// How its items are identified.
    pub relation: Relation,
    /// The type of an item.
    pub item: Type,
}

/// How the items of a list are identified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Not at all: the list is owned as a whole.
    Atomic,
    /// Items are their own keys.
    Set,
    /// Some members of an item are its key, in the order of the schema.
    Keyed(Vec<KeyField>),
}

/// A member that is part of an item's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyField {
    /// Its name.
    pub name: String,
    /// Its value where an item does not say.
    pub default: Option<Value>,
}

/// What a type says of one value at hand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Atom<'t> {
    Scalar(Scalar),
    Map(&'t Map),
    List(&'t List),
}

static OPAQUE: Type = Type::Opaque;
static OPEN_MAP: LazyLock<Map> = LazyLock::new(|| Map {
    others: Some(Type::Deduced),
    ..Map::default()
});
static CLOSED_MAP: LazyLock<Map> = LazyLock::new(|| Map {
    others: Some(Type::Opaque),
    atomic: true,
    ..Map::default()
});
static CLOSED_LIST: List = List {
    relation: Relation::Atomic,
    item: Type::Opaque,
};

impl Type {
    /// Returns what the type says of a value. Where it leaves a choice, the value decides; null and nothing count as maps.
    pub(crate) fn atom(&self, value: Option<&Value>) -> Atom<'_> {
        let open = match self {
            Self::Scalar(scalar) => return Atom::Scalar(*scalar),
            Self::Map(map) => return Atom::Map(map),
            Self::List(list) => return Atom::List(list),
            Self::Deduced => &*OPEN_MAP,
            Self::Free(map) => map,
            Self::Opaque => &*CLOSED_MAP,
        };
        match value {
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => Atom::Scalar(Scalar::Any),
            Some(Value::Array(_)) => Atom::List(&CLOSED_LIST),
            Some(Value::Null | Value::Object(_)) | None => Atom::Map(open),
        }
    }

    /// Returns the type behind one step.
    pub(crate) fn step(&self, element: &Element) -> &Self {
        match (self, element) {
            (Self::Map(map) | Self::Free(map), Element::Field(name)) => map.member_or_opaque(name),
            (Self::List(list), Element::Key(_) | Element::Value(_) | Element::Index(_)) => &list.item,
            (Self::Deduced, Element::Field(_)) => self,
            (
                Self::Scalar(_) | Self::Map(_) | Self::List(_) | Self::Deduced | Self::Free(_) | Self::Opaque,
                _,
            ) => &OPAQUE,
        }
    }

    /// Returns whether the type declares a member by name.
    pub(crate) fn declares(&self, name: &str) -> bool {
        match self {
            Self::Map(map) | Self::Free(map) => map.fields.contains_key(name),
            Self::Scalar(_) | Self::List(_) | Self::Deduced | Self::Opaque => false,
        }
    }
}

impl Map {
    /// Returns the type of a member, if there may be one of that name.
    pub fn member(&self, name: &str) -> Option<&Type> {
        self.fields.get(name).or(self.others.as_ref())
    }

    /// Returns whether nothing is declared of any member.
    pub(crate) fn is_undeclared(&self) -> bool {
        self.fields.is_empty()
            && matches!(
                self.others,
                Some(Type::Deduced | Type::Free(_) | Type::Scalar(Scalar::Any))
            )
    }

    pub(crate) fn member_or_opaque(&self, name: &str) -> &Type {
        self.member(name).unwrap_or(&OPAQUE)
    }
}
