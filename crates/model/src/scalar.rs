//! A leaf of a document, as the parsers take it.
//!
//! Decides nothing: it lets wire types and raw JSON meet the same parser.

use serde_json::Value;

use api::IntOrString;
use kubernetes::field::{Class, Fault};

/// A number, a text, or something that is neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar<'a> {
    /// A whole number.
    Int(i64),
    /// A text.
    Text(&'a str),
    /// Any other JSON value, kept to be shown.
    Other(&'a Value),
}

impl<'a> Scalar<'a> {
    /// Returns the text, or a fault that asks for one like `example`.
    pub fn text(self, example: &str) -> Result<&'a str, Fault> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Int(_) | Self::Other(_) => Err(self.fault(
                Class::TypeInvalid,
                format!("must be a string such as \"{example}\""),
            )),
        }
    }

    /// Returns a fault that shows this value.
    pub fn fault(self, class: Class, detail: impl Into<String>) -> Fault {
        match self {
            Self::Int(number) => Fault::of(class, &Value::from(number), detail),
            Self::Text(text) => Fault::of_text(class, text, detail),
            Self::Other(value) => Fault::of(class, value, detail),
        }
    }
}

impl<'a> From<&'a Value> for Scalar<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            Value::Number(number) => number.as_i64().map_or(Self::Other(value), Self::Int),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Self::Other(value),
        }
    }
}

impl<'a> From<&'a IntOrString> for Scalar<'a> {
    fn from(value: &'a IntOrString) -> Self {
        match value {
            IntOrString::Int(number) => Self::Int(*number),
            IntOrString::String(text) => Self::Text(text),
            IntOrString::Other(value) => Self::Other(value),
        }
    }
}

impl<'a> From<&'a String> for Scalar<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}
