//! Values that know their CEL type.
//!
//! Decides how they go into and come out of expressions. JSON cannot tell an `int` from a `uint`, or a text from a
//! timestamp; this can.

use super::convert;
use super::cost::sorted_keys;
use super::library::{Cidr, Ip, Quantity, Semver, Url};
use super::plain;
use ::cel::common::types::{
    CelBool, CelBytes, CelDouble, CelDuration, CelInt, CelList, CelMap, CelMapKey, CelNull, CelOptional,
    CelString, CelTimestamp, CelType, CelUInt,
};
use ::cel::common::value::{CowVal, Val};

/// A value with its CEL type.
#[derive(Clone, Debug, PartialEq)]
pub enum Typed {
    /// `null`
    Null,
    /// `true`
    Bool(bool),
    /// `1`
    Int(i64),
    /// `1u`
    Uint(u64),
    /// `1.0`
    Double(f64),
    /// `'a'`
    String(String),
    /// `b'a'`
    Bytes(Vec<u8>),
    /// `[1]`
    List(Vec<Self>),
    /// `{1: 2}`, by key
    Map(Vec<(Self, Self)>),
    /// `int`
    Type(String),
    /// A timestamp, as `string(x)` prints it.
    Timestamp(String),
    /// A duration, as `string(x)` prints it.
    Duration(String),
    /// An optional value.
    Optional(Option<Box<Self>>),
    /// A value of a Kubernetes type: its type's name and its text.
    Other(String, String),
}

impl Typed {
    /// Makes the value that expressions see. What does not parse becomes `null`.
    pub(super) fn to_val<'v>(&self) -> Box<dyn Val + 'v> {
        match self {
            Self::Null | Self::Other(..) => Box::new(CelNull),
            Self::Bool(yes) => Box::new(CelBool::from(*yes)),
            Self::Int(whole) => Box::new(CelInt::from(*whole)),
            Self::Uint(whole) => Box::new(CelUInt::from(*whole)),
            Self::Double(real) => Box::new(CelDouble::from(*real)),
            Self::String(text) => Box::new(CelString::from(text.clone())),
            Self::Bytes(bytes) => Box::new(CelBytes::from(bytes.clone())),
            Self::List(items) => Box::new(CelList::from(items.iter().map(Self::to_val).collect::<Vec<_>>())),
            Self::Map(entries) => {
                let entry = |(key, value): &(Self, Self)| {
                    let key = CelMapKey::try_from(CowVal::Owned(key.to_val())).ok()?;
                    Some((key, value.to_val()))
                };
                plain::map(entries.iter().filter_map(entry).collect())
            }
            Self::Type(name) => Box::new(CelType::new(name.clone())),
            Self::Timestamp(text) => convert::parsed("timestamp", text).unwrap_or_else(|| Box::new(CelNull)),
            Self::Duration(text) => convert::parsed("duration", text).unwrap_or_else(|| Box::new(CelNull)),
            Self::Optional(inner) => Box::new(match inner {
                Some(inner) => CelOptional::of(inner.to_val()),
                None => CelOptional::none(),
            }),
        }
    }

    /// Reads a value.
    pub(super) fn of(value: &dyn Val) -> Result<Self, String> {
        if let Some(list) = value.downcast_ref::<CelList<'_>>() {
            let items = list.inner().iter().map(|item| Self::of(item.as_ref()));
            return items.collect::<Result<_, _>>().map(Self::List);
        }
        if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
            return Self::of_map(map);
        }
        if let Some(optional) = value.downcast_ref::<CelOptional<'_>>() {
            let inner = optional.inner().map(Self::of).transpose()?;
            return Ok(Self::Optional(inner.map(Box::new)));
        }
        Self::of_scalar(value)
            .or_else(|| Self::of_text(value))
            .ok_or_else(|| format!("a result of type {} cannot be shown", value.get_type().name()))
    }

    fn of_map(map: &CelMap<'_>) -> Result<Self, String> {
        let mut entries = Vec::new();
        for key in sorted_keys(map) {
            let shown = Self::of(key.as_ref())?;
            let key = CelMapKey::try_from(CowVal::Owned(key)).map_err(|error| error.to_string())?;
            if let Some(value) = map.inner().get(&key) {
                entries.push((shown, Self::of(value.as_ref())?));
            }
        }
        Ok(Self::Map(entries))
    }

    fn of_scalar(value: &dyn Val) -> Option<Self> {
        if value.downcast_ref::<CelNull>().is_some() {
            return Some(Self::Null);
        }
        if let Some(yes) = value.downcast_ref::<CelBool>() {
            return Some(Self::Bool(*yes.inner()));
        }
        if let Some(whole) = value.downcast_ref::<CelInt>() {
            return Some(Self::Int(*whole.inner()));
        }
        if let Some(whole) = value.downcast_ref::<CelUInt>() {
            return Some(Self::Uint(*whole.inner()));
        }
        if let Some(real) = value.downcast_ref::<CelDouble>() {
            return Some(Self::Double(*real.inner()));
        }
        if let Some(text) = value.downcast_ref::<CelString<'_>>() {
            return Some(Self::String(text.inner().to_owned()));
        }
        if let Some(bytes) = value.downcast_ref::<CelBytes<'_>>() {
            return Some(Self::Bytes(bytes.inner().to_vec()));
        }
        value
            .downcast_ref::<CelType>()
            .map(|kind| Self::Type(kind.name().to_owned()))
    }

    fn of_text(value: &dyn Val) -> Option<Self> {
        if value.downcast_ref::<CelTimestamp>().is_some() {
            return convert::as_text(value).map(Self::Timestamp);
        }
        if value.downcast_ref::<CelDuration>().is_some() {
            return convert::as_text(value).map(Self::Duration);
        }
        let ours = value.downcast_ref::<Quantity>().is_some()
            || value.downcast_ref::<Semver>().is_some()
            || value.downcast_ref::<Ip>().is_some()
            || value.downcast_ref::<Cidr>().is_some()
            || value.downcast_ref::<Url>().is_some();
        let name = value.get_type().name().to_owned();
        ours.then(|| convert::as_text(value))
            .flatten()
            .map(|text| Self::Other(name, text))
    }
}
