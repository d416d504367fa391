//! What is known about single objects (namespaces, placements, configurations), and what the user of a request may do with them.
//!
//! Decides nothing. Of a namespace it keeps names, labels and annotations; what a hub adds by itself, such as a uid, no folder of files
//! has. Of a configuration of a kind that the store does not read it keeps only a hash, so that nothing of a Secret is kept. Answers
//! about a user are about one request; they are never kept beyond it.

use crate::kind::ObjectKey;
use crate::names::LabelMap;
use crate::names::Names;
use crate::parts::config_watch::Absence;
use crate::record::Content;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::{Limit, Name};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The label that every namespace has: its name.
pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// What is known about a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceFacts {
    /// Its labels, the one with its name included.
    pub labels: LabelMap,
    /// Its annotations.
    pub annotations: LabelMap,
}

impl NamespaceFacts {
    /// Reads the metadata of a namespace. The label with its name is there even if a file does not write it: the hub does.
    pub fn of(metadata: &ObjectMeta, names: &mut Names) -> Self {
        let own = (
            NAMESPACE_NAME.to_owned(),
            metadata.name.clone().unwrap_or_default(),
        );
        let labels = metadata.labels.iter().flatten();
        Self {
            labels: LabelMap::share(labels.chain([(&own.0, &own.1)]), names),
            annotations: LabelMap::share(metadata.annotations.iter().flatten(), names),
        }
    }

    /// Returns the namespace as policies see it. No annotations are no field, as in Kubernetes.
    pub fn value(&self, name: &str) -> Value {
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), json!(name));
        for (field, pairs) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !pairs.is_empty() {
                let pairs = pairs.iter();
                let all: Map<String, Value> = pairs
                    .map(|(key, value)| (key.to_string(), json!(&**value)))
                    .collect();
                metadata.insert(field.to_owned(), Value::Object(all));
            }
        }
        json!({ "metadata": metadata })
    }
}

/// What is known about one placement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacementFacts {
    /// Whether its object exists; decisions may outlive it.
    pub exists: bool,
    /// Whether there is a `PlacementDecision` of it yet.
    pub decided: bool,
    /// The clusters that it selects.
    pub clusters: Arc<BTreeSet<Name>>,
    /// Its decision groups, in order of their positions.
    pub groups: Vec<GroupFacts>,
    /// Its own size of groups, `decisionStrategy.groupStrategy.clustersPerDecisionGroup`.
    pub per_group: Option<Limit>,
}

/// One decision group of a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupFacts {
    /// Position of the group.
    pub index: u32,
    /// Name of the group, "" when it has none.
    pub name: Name,
    /// Its clusters.
    pub clusters: Arc<[Name]>,
}

/// A configuration object that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFacts {
    /// Hash of its content.
    pub hash: Name,
    /// The version of the add-on that it stands for, as it is written: a template's label, or what an `AddOnHubConfig` asks for.
    pub version: Option<Name>,
    /// Its content, if the controllers read its kind.
    pub content: Option<Arc<Content>>,
}

/// Whether a configuration object exists, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigPresence {
    /// It does.
    Exists(ConfigFacts),
    /// It does not, and why.
    Absent(Absence),
    /// It was not looked for, or may not be read.
    Unknown,
}

/// Returns the name under which a configuration object is filed: `<resource>.<group>/<namespace>/<name>`.
pub fn config_key(group: &str, resource: &str, namespace: &str, name: &str) -> String {
    let point = if group.is_empty() { "" } else { "." };
    format!("{resource}{point}{group}/{namespace}/{name}")
}

/// Whether the user may bind a role, as a user who writes a role binding, or get another object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UserRight {
    /// The role, or the other object.
    pub object: ObjectKey,
    /// In which namespace; "" asks for all of them.
    pub namespace: Name,
}

impl UserRight {
    /// Returns the verb.
    pub fn verb(&self) -> &'static str {
        if self.object.kind.is_hub_role() {
            "bind"
        } else {
            "get"
        }
    }
}

/// What the hub has said about such questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights(Arc<BTreeMap<UserRight, bool>>);

impl Rights {
    /// Returns the hub's answers.
    pub fn of(answers: BTreeMap<UserRight, bool>) -> Self {
        Self(Arc::new(answers))
    }

    /// Returns the hub's answer to a question, if it was asked and has answered.
    pub fn word_about(&self, question: &UserRight) -> Option<bool> {
        self.0.get(question).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_its_name_as_a_label_and_no_annotations_unless_it_has_some() {
        let read = |metadata: Value| {
            let metadata: ObjectMeta = serde_json::from_value(metadata).expect("metadata");
            NamespaceFacts::of(&metadata, &mut Names::default()).value("c1")
        };
        assert_eq!(
            read(json!({"name": "c1", "labels": {"env": "prod"}, "uid": "u"})),
            json!({"metadata": {"name": "c1", "labels": {"env": "prod", (NAMESPACE_NAME): "c1"}}})
        );
        assert_eq!(
            read(json!({"name": "c1", "annotations": {"owner": "a"}})),
            json!({"metadata": {"name": "c1", "labels": {(NAMESPACE_NAME): "c1"}, "annotations": {"owner": "a"}}})
        );
    }
}
