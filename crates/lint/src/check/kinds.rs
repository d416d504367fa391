//! The kinds that can be judged: those with a definition of ours.
//!
//! Decides what `apiVersion` and `kind` of a document mean. Never knows a rule.

use std::sync::LazyLock;

use serde_json::Value;

use api::conversion::{KINDS, Version};

/// A kind with a definition, in one version.
#[derive(Debug)]
pub(super) struct KnownKind {
    group: String,
    version: String,
    kind: String,
    /// Plural name of its resource.
    pub(super) resource: String,
    /// Whether its objects are in namespaces.
    pub(super) is_namespaced: bool,
}

/// What a document is to the gate.
#[derive(Clone, Copy, Debug)]
pub(super) enum FileKind {
    /// It can be judged.
    Known(&'static KnownKind),
    /// The kind has a definition, but not in this version.
    OtherVersion,
    /// A kind of another project, without a definition here.
    Foreign,
    /// Not an object of Kubernetes at all.
    NoObject,
}

static KNOWN: LazyLock<Vec<KnownKind>> = LazyLock::new(|| {
    let definitions = api::crds().into_iter().map(|definition| definition.spec);
    definitions
        .flat_map(|spec| {
            let served = spec.versions.into_iter().filter(|version| version.served);
            let (group, names) = (spec.group, spec.names);
            let is_namespaced = spec.scope == "Namespaced";
            let has_both = KINDS.iter().any(|(kind, _)| *kind == names.kind);
            let newer = has_both.then(|| Version::V1beta1.name().to_owned());
            let versions = served.map(|version| version.name).chain(newer);
            versions.map(move |version| KnownKind {
                group: group.clone(),
                version,
                kind: names.kind.clone(),
                resource: names.plural.clone(),
                is_namespaced,
            })
        })
        .collect()
});

/// Returns what a document is to the gate.
pub(super) fn standing(object: &Value) -> FileKind {
    let text = |name: &str| {
        object
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
        return FileKind::NoObject;
    };
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let mut ours = KNOWN
        .iter()
        .filter(|known| known.group == group && known.kind == kind)
        .peekable();
    if ours.peek().is_none() {
        return FileKind::Foreign;
    }
    ours.find(|known| known.version == version)
        .map_or(FileKind::OtherVersion, FileKind::Known)
}

impl KnownKind {
    /// Returns group, version and kind.
    pub(super) fn names(&self) -> (&str, &str, &str) {
        (&self.group, &self.version, &self.kind)
    }
}
