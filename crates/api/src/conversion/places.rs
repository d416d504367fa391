//! Where a field of `v1alpha1` is in `v1beta1`, for authors of that.
//!
//! Decides paths and words. Never moves a value (`addon`, `cluster_addon`).

use crate::names::annotations::INSTALL_NAMESPACE;
use kubernetes::field::{Path, Segment};
use serde_json::{Map, Value};

/// Fields of `v1alpha1` that `v1beta1` does not have: resource, path, and what to write instead.
pub const OLD_NAMES: [(&str, [&str; 2], &str); 3] = [
    (
        "clustermanagementaddons",
        ["spec", "supportedConfigs"],
        "in v1beta1 the field is defaultConfigs, with name and namespace next to group and resource",
    ),
    (
        "clustermanagementaddons",
        ["spec", "addOnConfiguration"],
        "v1beta1 has no such field; list the type in spec.defaultConfigs",
    ),
    (
        "managedclusteraddons",
        ["spec", "installNamespace"],
        "in v1beta1, set the annotation addon.open-cluster-management.io/v1alpha1-install-namespace instead",
    ),
];

/// Returns where a field of an object of a resource is in `v1beta1`.
#[must_use]
pub fn place_in_v1beta1(resource: &str, path: &Path) -> Path {
    let names: Vec<&str> = path.segments().iter().map(name).collect();
    match (resource, names.as_slice()) {
        ("managedclusteraddons", ["spec", "installNamespace", ..]) => Path::root()
            .key("metadata")
            .key("annotations")
            .entry(INSTALL_NAMESPACE),
        ("clustermanagementaddons", ["spec", "supportedConfigs", rest @ ..]) => {
            let start = Path::root().key("spec").key("defaultConfigs");
            let rest = path.segments().iter().skip(2).zip(rest);
            rest.filter(|(_, name)| **name != "defaultConfig")
                .fold(start, |path, (segment, _)| path.step(segment.clone()))
        }
        _ => path.clone(),
    }
}

fn name(segment: &Segment) -> &str {
    match segment {
        Segment::Key(name) => name.as_ref(),
        Segment::Entry(name) => name,
        Segment::Index(_) => "",
    }
}

/// Returns a sentence about fields of `v1alpha1` in the words of `v1beta1`.
#[must_use]
pub fn words_of_v1beta1(text: &str) -> String {
    text.replace("spec.supportedConfigs", "spec.defaultConfigs")
        .replace(
            "spec.installNamespace",
            "the annotation addon.open-cluster-management.io/v1alpha1-install-namespace",
        )
}

/// Whether everything that stood in an object can be told from what it became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fidelity {
    /// It can.
    Exact,
    /// Something was lost on the way.
    Lossy,
}

impl Fidelity {
    /// Lossy as soon as one of both is.
    pub(super) fn and(self, other: Self) -> Self {
        if self == Self::Exact { other } else { self }
    }

    /// Exact if this holds.
    pub(super) const fn only_if(holds: bool) -> Self {
        if holds { Self::Exact } else { Self::Lossy }
    }
}

/// Returns a member of an object, if that is an object.
pub(super) fn object<'a>(of: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    of.get_mut(name)?.as_object_mut()
}

/// Gives a member another name. What had that name before was nothing of this version's, and is lost.
pub(super) fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) -> Fidelity {
    let stray = fields.remove(to);
    if let Some(value) = fields.remove(from) {
        fields.insert(to.to_owned(), value);
    }
    Fidelity::only_if(stray.is_none())
}

/// Returns a member that is a text.
pub(super) fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

/// Tells whether an object has no other members than these.
pub(super) fn has_only(fields: &Map<String, Value>, names: &[&str]) -> bool {
    fields.keys().all(|key| names.contains(&key.as_str()))
}
