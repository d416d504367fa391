//! From objects of the hub to what a plan is made from.
//!
//! Decides what of a work and of a cluster matters to an upgrade. Never fails: what is not there is empty.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use api::Condition;
use api::cluster::ManagedCluster;
use api::names::conditions::{CLUSTER_AVAILABLE, WORK_APPLIED};
use api::work::{FeedbackValue, ManifestCondition, ManifestWork};

use crate::upgrade::marks::{self, Stage};
use crate::upgrade::view::{Applied, Cluster, Manifest, Mode, Runs, Work};

/// Labels and claims that tell the id of a cluster, the first that is there wins.
const ID_LABEL: &str = "clusterID";
const ID_CLAIM: &str = "id.openshift.io";
/// Labels and claims that tell its version.
const VERSION_LABEL: &str = "openshiftVersion";
const VERSION_CLAIM: &str = "version.openshift.io";

impl Cluster {
    /// Returns what of a cluster matters.
    pub fn of(object: &ManagedCluster) -> Self {
        let status = object.status.as_ref();
        let claim = |name: &str| {
            let claims = status.map_or(&[][..], |status| &status.cluster_claims);
            let found = claims.iter().find(|claim| claim.name == name);
            found.map(|claim| claim.value.clone())
        };
        let conditions = status.map_or(&[][..], |status| &status.conditions);
        Self {
            available: holds(conditions, CLUSTER_AVAILABLE) == Some(true),
            deleting: object.metadata.deletion_timestamp.is_some(),
            ..Self::described(object.metadata.labels.clone().unwrap_or_default(), claim)
        }
    }

    /// Returns what a cluster is by its labels and its claims (by their names): one that neither answers nor goes.
    pub fn described(labels: BTreeMap<String, String>, claim: impl Fn(&str) -> Option<String>) -> Self {
        let first = |label: &str, name: &str| {
            let label = labels.get(label).filter(|value| !value.is_empty()).cloned();
            label.or_else(|| claim(name)).unwrap_or_default()
        };
        Self {
            id: first(ID_LABEL, ID_CLAIM),
            version: first(VERSION_LABEL, VERSION_CLAIM),
            available: false,
            deleting: false,
            labels,
        }
    }
}

impl Work {
    /// Returns what of a work matters.
    pub fn of(object: &ManifestWork) -> Self {
        let meta = &object.metadata;
        let label = |key: &str| text_of(meta.labels.as_ref(), key);
        let note = |key: &str| text_of(meta.annotations.as_ref(), key);
        let manifests = object
            .spec
            .workload
            .as_ref()
            .map_or(&[][..], |workload| &workload.manifests);
        let update = manifests
            .first()
            .and_then(|first| first.pointer("/spec/desiredUpdate"));
        let asked = |key: &str| {
            let text = update.and_then(|update| update.get(key)).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let strategy = object
            .spec
            .manifest_configs
            .first()
            .and_then(|config| config.update_strategy.as_ref());
        let status = object.status.as_ref();
        let told = status.and_then(|status| status.resource_status.as_ref());
        let told = told.map_or(&[][..], |told| &told.manifests);
        Self {
            uid: meta.uid.as_deref().unwrap_or_default().into(),
            version: meta.resource_version.as_deref().unwrap_or_default().into(),
            owner: label(marks::UID),
            owned_by: note(marks::OWNER),
            stage: Stage::of(&label(marks::STAGE)),
            run: note(marks::RUN),
            created: created(meta),
            deleting: meta.deletion_timestamp.is_some(),
            applied: applied(meta, status.map_or(&[][..], |status| &status.conditions)),
            failure: failure(meta, status.map_or(&[][..], |status| &status.conditions), told),
            mode: match strategy.map(|strategy| strategy.type_.as_str()) {
                Some("ReadOnly") => Mode::ReadOnly,
                Some(_) | None => Mode::Apply,
            },
            target: (asked("version"), asked("image")),
            manifests: told.iter().map(manifest).collect(),
            count: manifests.len(),
        }
    }
}

fn created(meta: &ObjectMeta) -> Timestamp {
    meta.creation_timestamp
        .as_ref()
        .map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}

fn text_of(map: Option<&BTreeMap<String, String>>, key: &str) -> String {
    map.and_then(|map| map.get(key)).cloned().unwrap_or_default()
}

fn holds(conditions: &[Condition], kind: &str) -> Option<bool> {
    let found = conditions.iter().find(|condition| condition.type_ == kind)?;
    truth(&found.status)
}

fn truth(status: &str) -> Option<bool> {
    match status {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    }
}

/// Agents that do not say which generation they mean are believed.
fn applied(meta: &ObjectMeta, conditions: &[Condition]) -> Applied {
    let Some(found) = conditions
        .iter()
        .find(|condition| condition.type_ == WORK_APPLIED)
    else {
        return Applied::Never;
    };
    match (truth(&found.status), is_current(found, meta)) {
        (Some(true), true) => Applied::Yes,
        // Where the agent has seen it and could not, it may have written a part.
        (Some(true), false) | (Some(false) | None, _) => Applied::Not,
    }
}

fn is_current(condition: &Condition, meta: &ObjectMeta) -> bool {
    match (condition.observed_generation, meta.generation) {
        (Some(observed), Some(generation)) if observed > 0 => observed >= generation,
        (Some(_) | None, _) => true,
    }
}

/// The message of the first manifest that was not applied says more than that of the work.
fn failure(meta: &ObjectMeta, conditions: &[Condition], told: &[ManifestCondition]) -> String {
    let has_failed = |condition: &&Condition| condition.type_ == WORK_APPLIED && condition.status == "False";
    let Some(whole) = conditions
        .iter()
        .find(|one| has_failed(one) && is_current(one, meta))
    else {
        return String::new();
    };
    let mut each = told.iter().flat_map(|told| &told.conditions);
    let message = each.find(has_failed).map(|one| one.message.as_str());
    let message = message
        .filter(|message| !message.is_empty())
        .unwrap_or(&whole.message);
    if message.is_empty() {
        return "the agent reports no cause".to_owned();
    }
    message.to_owned()
}

fn manifest(told: &ManifestCondition) -> Manifest {
    let meta = &told.resource_meta;
    let version = if meta.group.is_empty() {
        meta.version.clone()
    } else {
        format!("{}/{}", meta.group, meta.version)
    };
    let each = told.conditions.iter();
    let values = told
        .status_feedback
        .as_ref()
        .map_or(&[][..], |feedback| &feedback.values);
    Manifest {
        runs: Runs::named(&version, &meta.kind),
        conditions: each
            .filter_map(|condition| Some((condition.type_.clone(), truth(&condition.status)?)))
            .collect(),
        feedback: values
            .iter()
            .filter_map(|value| Some((value.name.clone(), shown(value)?)))
            .collect(),
    }
}

fn shown(value: &FeedbackValue) -> Option<String> {
    let field = &value.field_value;
    let number = field.integer.map(|number| number.to_string());
    let truth = field.boolean.map(|truth| truth.to_string());
    let text = field.string.clone().or_else(|| field.json_raw.clone());
    text.or(number).or(truth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn work(object: Value) -> Work {
        Work::of(&serde_json::from_value(object).expect("a work"))
    }

    #[test]
    fn a_work_is_applied_for_the_generation_that_is_meant() {
        let rows = [
            (json!({}), Applied::Never),
            (
                json!({"conditions": [{"type": "Applied", "status": "True", "observedGeneration": 2}]}),
                Applied::Yes,
            ),
            (
                json!({"conditions": [{"type": "Applied", "status": "True", "observedGeneration": 1}]}),
                Applied::Not,
            ),
            (
                json!({"conditions": [{"type": "Applied", "status": "False", "observedGeneration": 2}]}),
                Applied::Not,
            ),
            (
                json!({"conditions": [{"type": "Applied", "status": "True"}]}),
                Applied::Yes,
            ),
        ];
        for (mut status, expected) in rows {
            for condition in status["conditions"].as_array_mut().into_iter().flatten() {
                condition["reason"] = "R".into();
                condition["message"] = "".into();
                condition["lastTransitionTime"] = "2026-01-01T00:00:00Z".into();
            }
            let found = work(json!({"metadata": {"generation": 2}, "spec": {}, "status": status}));
            assert_eq!(found.applied, expected, "{status}");
        }
    }

    #[test]
    fn a_cluster_tells_its_id_and_version_by_label_or_claim() {
        let cluster = |object: Value| Cluster::of(&serde_json::from_value(object).expect("a cluster"));
        let claims = json!([{"name": "id.openshift.io", "value": "x"}, {"name": "version.openshift.io", "value": "4.11.9"}]);
        let claimed =
            cluster(json!({"metadata": {"name": "c"}, "spec": {}, "status": {"clusterClaims": &claims}}));
        assert_eq!(
            (claimed.id.as_str(), claimed.version.as_str(), claimed.available),
            ("x", "4.11.9", false)
        );
        let labelled = cluster(
            json!({"metadata": {"name": "c", "labels": {"clusterID": "y"}}, "spec": {},
            "status": {"clusterClaims": claims}}),
        );
        assert_eq!(labelled.id, "y");
    }
}
