//! The spec of one work with the name of the cluster left open, so that ten thousand clusters cost one rendering and ten
//! thousand digests.
//!
//! Decides nothing: filling in a recipe gives exactly the spec that was rendered.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use store::{Digest, Digesting, Meaning, canonical};

/// Stands for the cluster's name until the recipe meets its cluster. Cluster names are DNS labels: no JSON escaping.
pub(crate) const CLUSTER: &str = "\u{e000}cluster\u{e000}";
/// Fields that a spec may lack.
const OPTIONAL: [&str; 3] = ["manifestConfigs", "deleteOption", "executor"];
/// Longest name of a cluster, which is the name of a namespace.
const LONGEST: usize = 63;

/// Returns a text with the name of the cluster filled in.
pub(super) fn fill<'t>(text: &'t str, cluster: &str) -> Cow<'t, str> {
    if text.contains(CLUSTER) {
        Cow::Owned(text.replace(CLUSTER, cluster))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns how many bytes a canonical text takes at most, whatever the cluster is called.
pub(super) fn largest_size(canonical: &str) -> usize {
    let names = canonical.matches(CLUSTER).count();
    let longer = LONGEST.saturating_sub(CLUSTER.len());
    canonical.len().saturating_add(names.saturating_mul(longer))
}

/// A deployment or a daemon set whose feedback tells whether the add-on is available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Probe {
    /// Plural name of the kind.
    pub resource: &'static str,
    namespace: String,
    name: String,
}

impl Probe {
    /// Returns the probe of a workload.
    pub(crate) fn new(resource: &'static str, namespace: &str, name: &str) -> Self {
        Self {
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Returns namespace and name on a cluster.
    pub(crate) fn place(&self, cluster: &str) -> (Cow<'_, str>, Cow<'_, str>) {
        (fill(&self.namespace, cluster), fill(&self.name, cluster))
    }
}

/// The spec of a work with the name of the cluster left open.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// The canonical text, cut where the name of the cluster stands.
    parts: Vec<String>,
    /// Whether the cluster's name occurs in keys, so that their order depends on it.
    in_keys: bool,
    /// What the spec means beside its lists.
    rest: Piece,
    /// The items of its lists, and whether their order counts.
    groups: [(Vec<Piece>, bool); 3],
    /// The optional fields that it lacks.
    lacks: Vec<&'static str>,
    /// Whether these are all that a merge patch of it must name.
    is_closed: bool,
    /// The workloads in it whose feedback counts.
    pub probes: Vec<Probe>,
}

/// A text whose digest may depend on the name of the cluster.
#[derive(Debug)]
enum Piece {
    /// The same for all clusters.
    Shared(Digest),
    /// The digest of what stands before the first mention, and what stands after each.
    Open(Digesting, Vec<String>),
}

impl Piece {
    fn new(text: &str) -> Self {
        let mut parts = text.split(CLUSTER);
        let mut begun = Digesting::default();
        begun.add(parts.next().unwrap_or_default());
        let parts: Vec<String> = parts.map(ToOwned::to_owned).collect();
        if parts.is_empty() {
            return Self::Shared(begun.finish());
        }
        Self::Open(begun, parts)
    }

    fn digest(&self, cluster: &str) -> Digest {
        match self {
            Self::Shared(digest) => *digest,
            Self::Open(begun, parts) => {
                let mut digest = begun.clone();
                for part in parts {
                    digest.add(cluster);
                    digest.add(part);
                }
                digest.finish()
            }
        }
    }
}

impl Recipe {
    /// Returns the recipe of a spec in which [`CLUSTER`] stands for the name of the cluster.
    pub(super) fn new(spec: &Value, probes: Vec<Probe>) -> Self {
        let canonical = canonical(spec);
        let Meaning { rest, groups } = Meaning::of(spec);
        let pieces = |items: &[String]| items.iter().map(|item| Piece::new(item)).collect();
        Self {
            parts: canonical.split(CLUSTER).map(ToOwned::to_owned).collect(),
            in_keys: occurs_in_keys(spec),
            lacks: OPTIONAL
                .into_iter()
                .filter(|field| spec.get(field).is_none())
                .collect(),
            is_closed: spec.get("workload").is_some() && spec.get("deleteOption").is_none(),
            rest: Piece::new(&rest),
            groups: groups.map(|group| (pieces(&group.items), group.ordered)),
            probes,
        }
    }

    /// Returns the canonical text of the spec for a cluster.
    pub(crate) fn text(&self, cluster: &str) -> String {
        let text = self.parts.join(cluster);
        if !self.in_keys {
            return text;
        }
        serde_json::from_str(&text)
            .map(|value| canonical(&value))
            .unwrap_or(text)
    }

    /// Returns the text of a merge patch that makes any stored spec that of a cluster: it names what the spec lacks.
    pub(crate) fn patch(&self, cluster: &str) -> String {
        let mut text = self.text(cluster);
        if self.is_closed && text.pop().is_some() {
            for field in &self.lacks {
                // Writing to a string cannot fail.
                let _written = write!(text, ",\"{field}\":null");
            }
            text.push('}');
            return text;
        }
        let mut spec = self.spec(cluster);
        name_absent(&mut spec, &OPTIONAL);
        if let Some(option) = spec.get_mut("deleteOption") {
            name_absent(option, &["selectivelyOrphans", "ttlSecondsAfterFinished"]);
        }
        spec.to_string()
    }

    /// Returns the spec for a cluster.
    pub(crate) fn spec(&self, cluster: &str) -> Value {
        serde_json::from_str(&self.text(cluster)).unwrap_or_default()
    }

    /// Returns the digest of what the spec for a cluster means: that of [`Recipe::spec`], without making it.
    pub(crate) fn digest(&self, cluster: &str) -> Digest {
        if self.in_keys {
            return Digest::of_spec(&self.spec(cluster));
        }
        let digests = |(pieces, ordered): &(Vec<Piece>, bool)| {
            let each = pieces.iter().map(|piece| piece.digest(cluster));
            (each.collect(), *ordered)
        };
        Digest::of_parts(self.rest.digest(cluster), self.groups.each_ref().map(digests))
    }
}

/// A merge patch only removes what it names.
fn name_absent(object: &mut Value, fields: &[&str]) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    for field in fields {
        object.entry(*field).or_insert(Value::Null);
    }
}

fn occurs_in_keys(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        Value::Array(items) => items.iter().any(occurs_in_keys),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key.contains(CLUSTER) || occurs_in_keys(value)),
    }
}
