//! A kustomization, put together.
//!
//! Decides what of kustomize the folder may use: resources, components, JSON patches by kind, group and name, and deletion by
//! `$patch`. Never reads a file outside of the folder.

use serde::Deserialize;
use serde_json::Value;

use super::error::KitError;
use super::files::FILES;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Kustomization {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(default)]
    resources: Vec<String>,
    #[serde(default)]
    components: Vec<String>,
    #[serde(default)]
    patches: Vec<Patch>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    target: Target,
    patch: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    group: Option<String>,
    kind: Option<String>,
    name: Option<String>,
}

impl Target {
    fn is(&self, object: &Value) -> bool {
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        let fits =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        fits(&self.group, group)
            && fits(&self.kind, text("/kind"))
            && fits(&self.name, text("/metadata/name"))
    }
}

fn file(path: &str) -> Option<&'static str> {
    let mut files = FILES.iter();
    files.find(|(name, _)| *name == path).map(|(_, text)| *text)
}

/// Adds what a folder is put together from to the objects, and changes those that are there as its patches say.
pub(super) fn add(folder: &str, objects: &mut Vec<Value>) -> Result<(), KitError> {
    let path = format!("{folder}/kustomization.yaml");
    let text = file(&path).ok_or_else(|| KitError::Missing(path.clone()))?;
    let parts: Kustomization = serde_saphyr::from_str(text).map_err(|error| unreadable(&path, error))?;
    for resource in &parts.resources {
        let place = format!("{folder}/{resource}");
        match file(&place) {
            Some(text) => objects.extend(documents(&place, text)?),
            None => add(&place, objects)?,
        }
    }
    for component in &parts.components {
        add(&format!("{folder}/{component}"), objects)?;
    }
    for patch in &parts.patches {
        change(&path, patch, objects)?;
    }
    Ok(())
}

fn documents(path: &str, text: &str) -> Result<Vec<Value>, KitError> {
    let all: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|error| unreadable(path, error))?;
    Ok(all.into_iter().filter(|document| !document.is_null()).collect())
}

fn change(path: &str, patch: &Patch, objects: &mut Vec<Value>) -> Result<(), KitError> {
    let what: Value = serde_saphyr::from_str(&patch.patch).map_err(|error| unreadable(path, error))?;
    if what.get("$patch").and_then(Value::as_str) == Some("delete") {
        objects.retain(|object| !patch.target.is(object));
        return Ok(());
    }
    let steps: json_patch::Patch = serde_json::from_value(what).map_err(|error| unreadable(path, error))?;
    for object in objects.iter_mut().filter(|object| patch.target.is(object)) {
        json_patch::patch(object, &steps).map_err(|source| KitError::Patch {
            path: path.to_owned(),
            source,
        })?;
    }
    Ok(())
}

fn unreadable(path: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> KitError {
    KitError::Parse {
        path: path.to_owned(),
        source: source.into(),
    }
}
