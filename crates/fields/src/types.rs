//! Types of values as far as ownership goes: what is one value, what is many, and how items of a list are told apart.
//!
//! Decides nothing about valid values; whoever knows the schema builds these.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::element::Element;

/// The type of a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Type {
    /// One value, whatever it looks like: a scalar, or something that is owned as a whole.
    #[default]
    Leaf,
    /// Members that are owned one by one.
    Map(Arc<Map>),
    /// Items that are owned one by one, or as a whole.
    List(Arc<List>),
    /// Nobody knows: maps are owned member by member, all else as a whole.
    Deduced,
}

/// A map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// Declared members.
    pub fields: BTreeMap<String, Type>,
    /// The type of other members; absent where there may be none.
    pub others: Option<Type>,
}

/// A list whose items are told apart.
#[derive(Clone, Debug, PartialEq)]
pub enum List {
    /// Items are their own keys.
    Set,
    /// Some members of an item are its key.
    Keyed {
        /// The members, in the order of the schema.
        keys: Vec<KeyField>,
        /// The type of an item.
        item: Type,
    },
}

/// A member that is part of an item's key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyField {
    /// Its name.
    pub name: String,
    /// Its value where an item does not say.
    pub default: Option<Value>,
}

impl Type {
    /// Returns the type behind one step.
    pub(crate) fn step(&self, element: &Element) -> Self {
        match (self, element) {
            (Self::Map(map), Element::Field(name)) => map.member(name).unwrap_or_default(),
            (Self::List(list), Element::Key(_) | Element::Value(_) | Element::Index(_)) => list.item(),
            (Self::Deduced, Element::Field(_)) => Self::Deduced,
            (Self::Leaf | Self::Map(_) | Self::List(_) | Self::Deduced, _) => Self::Leaf,
        }
    }

    /// Returns whether the type declares a member by name.
    pub(crate) fn declares(&self, name: &str) -> bool {
        match self {
            Self::Map(map) => map.fields.contains_key(name),
            Self::Leaf | Self::List(_) | Self::Deduced => false,
        }
    }
}

impl Map {
    /// Returns the type of a member, if there may be one of that name.
    pub fn member(&self, name: &str) -> Option<Type> {
        self.fields.get(name).or(self.others.as_ref()).cloned()
    }
}

impl List {
    pub(crate) fn item(&self) -> Type {
        match self {
            Self::Set => Type::Leaf,
            Self::Keyed { item, .. } => item.clone(),
        }
    }
}
