//! Requests with objects of `v1beta1`.
//!
//! The object is converted to `v1alpha1`, the version of the facts and rules, and the paths and field names of the findings are
//! converted back. A value that no conversion would store (an invalid install namespace) is checked as it is written.

use json_patch::Patch;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::bounds;
use super::request::Request;
use super::shape::{self, UNKNOWN_FIELD};
use super::subject::{Addon, Kind as _};
use super::verdict::Verdict;
use api::conversion::{
    Extensions, KINDS, OLD_NAMES, OtherReading, Version, convert, is_signed, place_in_v1beta1,
    read_as_written, words_of_v1beta1,
};
use api::hash::Keys;
use api::v1alpha1::{GROUP, VERSION};
use kubernetes::field::{Class, Fault, Path, Violation};

/// The objects of a request in the version of the rules.
pub(super) struct AsAlpha {
    object: Option<Box<RawValue>>,
    old: Option<Box<RawValue>>,
    /// The fields of the object that `v1beta1` does not have.
    strays: Vec<Violation>,
}

impl AsAlpha {
    /// Converts the objects of a request, if they are of `v1beta1`.
    pub(super) fn of(request: &Request<'_>) -> Option<Self> {
        let is_ours = request.group == GROUP
            && request.version == Version::V1beta1.name()
            && KINDS.iter().any(|(_, resource)| *resource == request.resource);
        if !is_ours || request.passes_unseen() {
            return None;
        }
        // An object that is too large to be parsed is refused as it is.
        let is_small = bounds::excess(request).is_readable();
        let parsed =
            |raw: Option<&RawValue>| -> Option<Value> { bounds::read(raw.filter(|_| is_small)?).ok() };
        let object = parsed(request.object);
        let strays = object
            .iter()
            .flat_map(|object| strays(request.resource, object))
            .collect();
        let alpha = |raw: Option<&RawValue>, parsed: Option<Value>| match parsed {
            Some(object) => to_raw_value(&read_as_written(object)).ok(),
            None => raw.map(ToOwned::to_owned),
        };
        Some(Self {
            object: alpha(request.object, object),
            old: alpha(request.old, parsed(request.old)),
            strays,
        })
    }

    /// Returns the request with the converted objects.
    pub(super) fn request<'a>(&'a self, request: &Request<'a>) -> Request<'a> {
        Request {
            version: VERSION,
            object: self.object.as_deref(),
            old: self.old.as_deref(),
            ..*request
        }
    }

    /// Converts a verdict to the version of the request.
    pub(super) fn convert(self, verdict: Verdict, resource: &str) -> Verdict {
        let patch = self.patch(verdict.patch());
        let moved = |violation: Violation| {
            let path = place_in_v1beta1(resource, violation.path());
            violation.told_at(path, words_of_v1beta1)
        };
        verdict.mapped(moved, patch, self.strays)
    }

    fn patch(&self, patch: &Patch) -> Patch {
        let object = self.object.as_deref().filter(|_| !patch.is_empty());
        let Some(Ok(object)) = object.map(|object| serde_json::from_str::<Value>(object.get())) else {
            return Patch::default();
        };
        let mut patched = object.clone();
        match json_patch::patch(&mut patched, patch) {
            Ok(()) => json_patch::diff(
                &convert(object, Version::V1beta1, Extensions::Served),
                &convert(patched, Version::V1beta1, Extensions::Served),
            ),
            Err(_) => Patch::default(),
        }
    }
}

/// Returns which default configurations of an add-on have no name. Only `v1beta1` requires one: its schema, which the API server
/// checks after the mutating webhook.
pub(super) fn unnamed_defaults(request: &Request<'_>) -> Vec<Violation> {
    let is_ours = request.group == GROUP
        && request.version == Version::V1beta1.name()
        && request.resource == Addon::RESOURCE;
    if !is_ours || request.passes_unseen() || !bounds::excess(request).is_readable() {
        return Vec::new();
    }
    let defaults = |raw: Option<&RawValue>| -> Option<Vec<Value>> {
        let object = bounds::read(raw?).ok()?;
        object.pointer("/spec/defaultConfigs")?.as_array().cloned()
    };
    let stored = defaults(request.old);
    let Some(written) = defaults(request.object).filter(|written| Some(written) != stored.as_ref()) else {
        return Vec::new();
    };
    let root = Path::root().key("spec").key("defaultConfigs");
    let faults = written.iter().enumerate().filter_map(|(index, config)| {
        let name = config.get("name").unwrap_or(&Value::Null);
        if name.as_str().is_some_and(|text| !text.is_empty()) {
            return None;
        }
        let fault = if name.is_null() {
            Fault::bare(Class::Required, "")
        } else {
            Fault::of(Class::Invalid, name, "must be a string that is not empty")
        };
        let hint = "set the name of the default configuration, or __reserved_no_default__ if there is none";
        Some(fault.hint(hint).at(root.index(index).key("name"), shape::VALUE))
    });
    faults.collect()
}

/// Returns a violation if the request adds an annotation for fields of the other version that the conversion of the hub has not signed: it
/// would restore nothing, and the fields would be lost.
pub(super) fn unsigned(request: &Request<'_>, keys: &Keys) -> Option<Violation> {
    let version = Version::EVERY
        .into_iter()
        .find(|version| version.name() == request.version)?;
    let other = Version::EVERY.into_iter().find(|other| *other != version)?;
    let is_ours = request.group == GROUP && KINDS.iter().any(|(_, resource)| *resource == request.resource);
    let raw = request
        .object
        .filter(|_| is_ours && !keys.is_empty() && !request.passes_unseen());
    let signs = [other.kept_in(), "\\u", "\\/"];
    let raw = raw.filter(|raw| signs.iter().any(|sign| raw.get().contains(sign)))?;
    if !bounds::excess(request).refused.is_empty() {
        return None;
    }
    let object: Value = serde_json::from_str(raw.get()).ok()?;
    let old: Option<Value> = request.old.and_then(|old| serde_json::from_str(old.get()).ok());
    let kept = |object: &Value| {
        object
            .get("metadata")?
            .get("annotations")?
            .get(other.kept_in())
            .cloned()
    };
    let is_stored = old.as_ref().and_then(kept) == kept(&object);
    if is_stored || is_signed(&object, keys) != Some(false) {
        return None;
    }
    let fault = Fault::bare(
        Class::Invalid,
        "was not written by the conversion of this hub for this object in this state, so it restores nothing",
    );
    let hint = format!(
        "remove the annotation and set its fields in {}; if the hub has lost its record keys, restore them (--record-keys)",
        other.api_version()
    );
    let path = Path::root()
        .key("metadata")
        .key("annotations")
        .entry(other.kept_in());
    Some(fault.hint(hint).at(path, shape::VALUE))
}

/// Another result of the conversion of the object of a request.
pub(super) struct Other {
    object: Box<RawValue>,
    old: Option<Box<RawValue>>,
}

impl Other {
    /// Returns the other results, so that no object evades a rule because of differences between conversions.
    pub(super) fn of(request: &Request<'_>) -> Vec<Self> {
        let is_ours =
            request.group == GROUP && KINDS.iter().any(|(_, resource)| *resource == request.resource);
        let raw = request.object.filter(|_| is_ours && !request.passes_unseen());
        let raw = raw.filter(|raw| may_differ(request.version, raw.get()));
        let Some(raw) = raw.filter(|_| bounds::excess(request).is_readable()) else {
            return Vec::new();
        };
        let parse = |raw: &RawValue| bounds::read(raw).ok();
        let Some(object) = parse(raw) else {
            return Vec::new();
        };
        let read = |reading: OtherReading| {
            let old = request.old.and_then(parse).map(|old| reading.read(old));
            Some(Self {
                object: to_raw_value(&reading.read(object.clone())).ok()?,
                old: old.and_then(|old| to_raw_value(&old).ok()),
            })
        };
        OtherReading::of(&object).into_iter().filter_map(read).collect()
    }

    /// Returns the request about it.
    pub(super) fn request<'a>(&'a self, request: &Request<'a>) -> Request<'a> {
        Request {
            version: VERSION,
            object: Some(&self.object),
            old: self.old.as_deref(),
            ..*request
        }
    }
}

/// Returns whether an object may have another conversion, from its text, so that most objects of `v1alpha1` need not be parsed. Escaped
/// text can contain anything.
fn may_differ(version: &str, text: &str) -> bool {
    let signs = [Version::V1beta1.kept_in(), "\\u", "\\/"];
    version != VERSION || signs.iter().any(|sign| text.contains(sign))
}

/// Returns the fields of the object of a request that only the other version has.
pub(super) fn strays_of(request: &Request<'_>, object: &Value) -> Vec<Violation> {
    if request.group == GROUP && request.version == Version::V1beta1.name() {
        strays(request.resource, object)
    } else {
        Vec::new()
    }
}

/// Returns the fields that only `v1alpha1` has.
fn strays(resource: &str, object: &Value) -> Vec<Violation> {
    let all = OLD_NAMES.iter().filter(|(of, _, _)| *of == resource);
    let stray = |(_, [part, name], cure): &(&str, [&'static str; 2], &'static str)| {
        object.get(*part)?.get(*name)?;
        let fault = Fault::bare(Class::Forbidden, "unknown field").hint(*cure);
        Some(fault.at(Path::root().key(*part).key(*name), UNKNOWN_FIELD))
    };
    all.filter_map(stray).collect()
}
