//! What all works of an upgrade have: their names, whose they are, and the run that they were written in.
//!
//! Decides the metadata of a work.

use serde_json::{Value, json};

use store::upgrade::marks::{self, Stage};

/// Whose a work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkMark<'a> {
    /// Namespace of the upgrade.
    pub namespace: &'a str,
    /// Name of the upgrade.
    pub name: &'a str,
    /// Uid of the upgrade.
    pub uid: &'a str,
    /// The run and the attempt.
    pub run: &'a str,
}

impl WorkMark<'_> {
    /// Returns a whole work.
    pub(super) fn work(&self, stage: Stage, cluster: &str, spec: &Value) -> Value {
        json!({
            "apiVersion": "work.open-cluster-management.io/v1",
            "kind": "ManifestWork",
            "metadata": {
                "name": stage.work(cluster, self.name),
                "namespace": cluster,
                "labels": {marks::UID: self.uid, marks::STAGE: stage.word()},
                "annotations": {marks::OWNER: format!("{}/{}", self.namespace, self.name), marks::RUN: self.run},
            },
            "spec": spec,
        })
    }
}
