//! Volumes of pods.
//!
//! Decides what is filled in and what is refused, without a look into the rarer kinds of volumes.

use schema::FieldError;
use serde_json::{Map, Value, json};

use super::checks::{duplicates, label_name};
use crate::builtin::faults::{forbidden, required, text};
use crate::builtin::members::{fill, items};

/// Fills in a volume. One that says nothing is an empty folder.
pub(super) fn fill_in(volume: &mut Map<String, Value>) {
    if volume
        .iter()
        .all(|(member, value)| member == "name" || value.is_null())
    {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(Value::Object(source)) = volume.get_mut(source) {
            fill(source, "defaultMode", json!(0o644));
        }
    }
    if let Some(Value::Object(path)) = volume.get_mut("hostPath") {
        fill(path, "type", json!(""));
    }
    if let Some(Value::Object(facts)) = volume.get_mut("downwardAPI") {
        items(facts, "items").for_each(fill_field);
    }
    if let Some(Value::Object(projected)) = volume.get_mut("projected") {
        for source in items(projected, "sources") {
            if let Some(Value::Object(token)) = source.get_mut("serviceAccountToken") {
                fill(token, "expirationSeconds", json!(3600));
            }
            if let Some(Value::Object(facts)) = source.get_mut("downwardAPI") {
                items(facts, "items").for_each(fill_field);
            }
        }
    }
    let claim = volume
        .get_mut("ephemeral")
        .and_then(|ephemeral| ephemeral.pointer_mut("/volumeClaimTemplate/spec"));
    if let Some(Value::Object(claim)) = claim {
        fill(claim, "volumeMode", json!("Filesystem"));
    }
}

fn fill_field(item: &mut Map<String, Value>) {
    if let Some(Value::Object(field)) = item.get_mut("fieldRef") {
        fill(field, "apiVersion", json!("v1"));
    }
}

/// Returns the faults of the volumes that stand at `field`, and the names by which containers mount them.
pub(super) fn validate(volumes: &[Value], field: &str) -> (Vec<FieldError>, Vec<String>) {
    let mut errors = Vec::new();
    for (index, volume) in volumes.iter().enumerate() {
        let at = format!("{field}[{index}]");
        errors.extend(label_name(volume, &at));
        let sources = SOURCES
            .iter()
            .filter(|source| volume.get(**source).is_some_and(Value::is_object));
        let mut sources = sources.peekable();
        if sources.peek().is_none() {
            errors.push(required(&at, "must specify a volume type"));
        }
        for source in sources.skip(1) {
            errors.push(forbidden(
                &format!("{at}.{source}"),
                "may not specify more than 1 volume type",
            ));
        }
        for (pointer, what) in [
            ("/secret/secretName", "secret.secretName"),
            ("/configMap/name", "configMap.name"),
            (
                "/persistentVolumeClaim/claimName",
                "persistentVolumeClaim.claimName",
            ),
            ("/hostPath/path", "hostPath.path"),
        ] {
            let source = pointer.rsplit_once('/').map_or("", |(source, _)| source);
            if volume.pointer(source).is_some_and(Value::is_object) && text(volume, pointer).is_empty() {
                errors.push(required(&format!("{at}.{what}"), ""));
            }
        }
    }
    errors.extend(duplicates(volumes, field, "name"));
    let names = volumes.iter().map(|volume| text(volume, "/name").to_owned());
    (errors, names.collect())
}

/// What a volume can be, in the order in which the server looks.
const SOURCES: &[&str] = &[
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flexVolume",
    "configMap",
    "persistentVolumeClaim",
    "rbd",
    "cephfs",
    "cinder",
    "quobyte",
    "downwardAPI",
    "fc",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
    "flocker",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_filled_in_as_the_server_fills_them_in() {
        for (given, filled) in [
            (json!({"name": "v"}), json!({"name": "v", "emptyDir": {}})),
            (
                json!({"name": "v", "configMap": {"name": "c"}}),
                json!({"name": "v", "configMap": {"name": "c", "defaultMode": 420}}),
            ),
            (
                json!({"name": "v", "hostPath": {"path": "/p"}}),
                json!({"name": "v", "hostPath": {"path": "/p", "type": ""}}),
            ),
        ] {
            let mut volume = given;
            fill_in(volume.as_object_mut().expect("an object"));
            assert_eq!(volume, filled);
        }
    }

    #[test]
    fn every_source_is_known() {
        let known = crate::builtin::schema::definition("io.k8s.api.core.v1.Volume").expect("a definition");
        let members = known.1["properties"].as_object().expect("properties");
        for member in members.keys().filter(|member| *member != "name") {
            assert!(SOURCES.contains(&member.as_str()), "{member}");
        }
        assert_eq!(members.len(), SOURCES.len() + 1);
    }
}
