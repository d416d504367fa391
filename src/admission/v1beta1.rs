//! Objects of `v1beta1` at the gate.
//!
//! Decides how such a request is read and how its answer is told: judged by what the object says in `v1alpha1`, which facts and rules
//! speak, and told with the author's own paths and words. Never decides what is wrong. What no conversion would store (an install
//! namespace that is none) is judged as it is written.

use json_patch::Patch;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::bounds;
use super::request::Request;
use super::shape::UNKNOWN_FIELD;
use super::verdict::Verdict;
use crate::api::v1alpha1::{GROUP, VERSION};
use crate::conversion::{
    KINDS, OLD_NAMES, Version, convert, place_in_v1beta1, read_as_written, speaks_v1alpha1, words_of_v1beta1,
};
use crate::field::{Class, Fault, Path, Violation};

/// The objects of a request in the version that rules speak.
pub(super) struct Read {
    object: Option<Box<RawValue>>,
    old: Option<Box<RawValue>>,
    /// What the author wrote that `v1beta1` does not have.
    strays: Vec<Violation>,
    /// Whether anything in the object means something in `v1alpha1` as it stands.
    speaks_v1alpha1: bool,
}

impl Read {
    /// Reads the objects of a request, if they are of `v1beta1`.
    pub(super) fn of(request: &Request<'_>) -> Option<Self> {
        let is_ours = request.group == GROUP
            && request.version == Version::V1beta1.name()
            && KINDS.iter().any(|(_, resource)| *resource == request.resource);
        if !is_ours || request.passes_unseen() {
            return None;
        }
        // What is too large to be looked into is refused for that, in the author's text.
        let is_small = bounds::excess(request).refused.is_empty();
        let parsed = |raw: Option<&RawValue>| -> Option<Value> {
            let raw = raw.filter(|_| is_small)?;
            serde_json::from_str(raw.get()).ok()
        };
        let object = parsed(request.object);
        let strays = object
            .iter()
            .flat_map(|object| strays(request.resource, object))
            .collect();
        let speaks_v1alpha1 = object
            .as_ref()
            .map_or_else(|| request.object.is_some(), speaks_v1alpha1);
        let alpha = |raw: Option<&RawValue>, parsed: Option<Value>| match parsed {
            Some(object) => to_raw_value(&read_as_written(object)).ok(),
            None => raw.map(ToOwned::to_owned),
        };
        Some(Self {
            object: alpha(request.object, object),
            old: alpha(request.old, parsed(request.old)),
            strays,
            speaks_v1alpha1,
        })
    }

    /// Returns the request about what was read.
    pub(super) fn request<'a>(&'a self, request: &Request<'a>) -> Request<'a> {
        Request {
            version: VERSION,
            object: self.object.as_deref(),
            old: self.old.as_deref(),
            ..*request
        }
    }

    /// Returns the request about what is stored where the hub's definition converts nothing, if that means anything else: nobody gets
    /// past a rule by writing a field of the one version into an object of the other.
    pub(super) fn unconverted<'a>(&self, request: &Request<'a>) -> Option<Request<'a>> {
        let request = Request {
            version: VERSION,
            ..*request
        };
        self.speaks_v1alpha1.then_some(request)
    }

    /// Tells a verdict about what was read as one about what was written.
    pub(super) fn told(self, verdict: Verdict, resource: &str) -> Verdict {
        let patch = self.patch(verdict.patch());
        let moved = |violation: Violation| {
            let path = place_in_v1beta1(resource, violation.path());
            violation.told_at(path, words_of_v1beta1)
        };
        verdict.told(moved, patch, self.strays)
    }

    fn patch(&self, patch: &Patch) -> Patch {
        let object = self.object.as_deref().filter(|_| !patch.is_empty());
        let Some(Ok(object)) = object.map(|object| serde_json::from_str::<Value>(object.get())) else {
            return Patch::default();
        };
        let mut patched = object.clone();
        match json_patch::patch(&mut patched, patch) {
            Ok(()) => json_patch::diff(
                &convert(object, Version::V1beta1),
                &convert(patched, Version::V1beta1),
            ),
            Err(_) => Patch::default(),
        }
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
