//! `format.named`, `format.dns1123Label()` and the other formats, and their `validate`.
//!
//! Decides with the name rules of Kubernetes, in its words. A valid text has no faults: `optional.none()`.

use ::cel::common::types::{CelList, CelOptional, CelString, Kind, Type};
use ::cel::common::value::{CowVal, StaticVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError, add_member_overload, add_overload};
use kubernetes::formats::Format as Named;
use kubernetes::names::{self, Unit};
use std::any::Any;

static FORMAT: Type = Type::simple_type(Kind::Opaque, "kubernetes.NamedFormat");

/// A format: its name and what it finds wrong with a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    name: &'static str,
    faults: fn(&str) -> Vec<String>,
}

/// All formats. `format.NAME()` and `format.named('NAME')` return them.
const FORMATS: [Format; 13] = [
    Format {
        name: "dns1123Label",
        faults: |text| names::dns1123_label_faults(text, Unit::Bytes),
    },
    Format {
        name: "dns1123Subdomain",
        faults: |text| names::dns1123_subdomain_faults(text, Unit::Bytes),
    },
    Format {
        name: "dns1035Label",
        faults: |text| names::dns1035_label_faults(text, Unit::Bytes),
    },
    Format {
        name: "qualifiedName",
        faults: |text| names::qualified_name_faults(text, names::Named::LabelKey),
    },
    Format {
        name: "dns1123LabelPrefix",
        faults: |text| names::dns1123_label_faults(&masked(text), Unit::Bytes),
    },
    Format {
        name: "dns1123SubdomainPrefix",
        faults: |text| names::dns1123_subdomain_faults(&masked(text), Unit::Bytes),
    },
    Format {
        name: "dns1035LabelPrefix",
        faults: |text| names::dns1035_label_faults(&masked(text), Unit::Bytes),
    },
    Format {
        name: "labelValue",
        faults: names::label_value_faults,
    },
    Format {
        name: "uri",
        faults: |text| {
            let words = format!("parse {text:?}: invalid URI for request");
            fault_unless(super::url::Url::parse(text).is_some(), &words)
        },
    },
    Format {
        name: "uuid",
        faults: |text| fault_unless(is("uuid", text), "does not match the UUID format"),
    },
    Format {
        name: "byte",
        faults: |text| fault_unless(is("byte", text), "invalid base64"),
    },
    Format {
        name: "date",
        faults: |text| fault_unless(is("date", text), "invalid date"),
    },
    Format {
        name: "datetime",
        faults: |text| fault_unless(is("datetime", text), "invalid datetime"),
    },
];

fn is(name: &str, text: &str) -> bool {
    Named::find(name).is_some_and(|format| format.accepts(text))
}

fn fault_unless(right: bool, words: &str) -> Vec<String> {
    if right { Vec::new() } else { vec![words.to_owned()] }
}

/// Returns a prefix as a name: what follows a final dash makes it whole.
fn masked(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => format!("{rest}a"),
        Some(_) | None => text.to_owned(),
    }
}

impl Val for Format {
    fn get_type(&self) -> &Type {
        &FORMAT
    }

    fn cel_type() -> &'static Type {
        &FORMAT
    }

    fn equals(&self, other: &dyn Val) -> bool {
        other
            .downcast_ref::<Self>()
            .is_some_and(|other| self.name == other.name)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(*self)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Format {}

/// Tells whether `format.NAME()` exists.
pub(crate) fn is_named(name: &str) -> bool {
    find(name).is_some()
}

fn find(name: &str) -> Option<Format> {
    FORMATS.iter().find(|format| format.name == name).copied()
}

/// Adds the functions.
pub(super) fn register(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_type(FORMAT.to_owned())?;
    add_overload!(env, fn named: (CelString<'_>) -> CelOptional<'_>, name = "format.named")?;
    add_overload!(env, fn constant: (CelString<'_>) -> Result<Format>, name = "@format")?;
    add_member_overload!(env, fn validate: (Format, CelString<'_>) -> CelOptional<'_>)
}

fn named(name: &CelString<'_>) -> CelOptional<'static> {
    find(name.inner()).map_or_else(CelOptional::none, |format| CelOptional::of(Box::new(format)))
}

/// What `format.dns1123Label()` is evaluated as.
fn constant(name: &CelString<'_>) -> Result<Format, ExecutionError> {
    find(name.inner()).ok_or_else(|| super::errors::no_overload("format"))
}

fn validate(this: &Format, text: &CelString<'_>) -> CelOptional<'static> {
    let faults = (this.faults)(text.inner());
    if faults.is_empty() {
        return CelOptional::none();
    }
    let faults: Vec<Box<dyn Val>> = faults
        .into_iter()
        .map(|words| CowVal::owned(CelString::from(words)).into_owned())
        .collect();
    CelOptional::of(Box::new(CelList::from(faults)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_tell_what_is_wrong() {
        let long = "a".repeat(64);
        let rows: [(&str, &str, &[&str]); 12] = [
            ("dns1123Label", "abc-123", &[]),
            (
                "dns1123Label",
                "Abc",
                &["a lowercase RFC 1123 label must consist"],
            ),
            ("dns1123Label", &long, &["must be no more than 63 bytes"]),
            ("dns1123LabelPrefix", "abc-", &[]),
            ("dns1123Label", "abc-", &["a lowercase RFC 1123 label"]),
            ("dns1123Subdomain", "a.b-c.d", &[]),
            ("dns1035Label", "1a", &["a DNS-1035 label"]),
            ("labelValue", "", &[]),
            (
                "qualifiedName",
                "example.com/",
                &["name part must be non-empty", "name part must consist"],
            ),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", &[]),
            ("date", "2024-13-01", &["invalid date"]),
            ("byte", "a", &["invalid base64"]),
        ];
        for (name, text, wanted) in rows {
            let format = find(name).unwrap_or_else(|| panic!("{name}"));
            let faults = (format.faults)(text);
            assert_eq!(faults.len(), wanted.len(), "{name} {text}: {faults:?}");
            for (fault, wanted) in faults.iter().zip(wanted) {
                assert!(fault.starts_with(wanted), "{name} {text}: {fault}");
            }
        }
    }
}
