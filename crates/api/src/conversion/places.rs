//! Where a field of `v1alpha1` stands in `v1beta1`, for authors of that.
//!
//! Decides paths and words. Never moves a value (`addon`, `cluster_addon`).

use crate::names::annotations::INSTALL_NAMESPACE;
use kubernetes::field::{Path, Segment};

/// Fields of `v1alpha1` that `v1beta1` does not have: resource, path, and what to write instead.
pub const OLD_NAMES: [(&str, [&str; 2], &str); 3] = [
    (
        "clustermanagementaddons",
        ["spec", "supportedConfigs"],
        "v1beta1 calls it defaultConfigs, with name and namespace beside group and resource",
    ),
    (
        "clustermanagementaddons",
        ["spec", "addOnConfiguration"],
        "v1beta1 has no such field; list the type in spec.defaultConfigs",
    ),
    (
        "managedclusteraddons",
        ["spec", "installNamespace"],
        "in v1beta1 the annotation addon.open-cluster-management.io/v1alpha1-install-namespace says it",
    ),
];

/// Returns where a field of an object of a resource stands in `v1beta1`.
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
