//! The names that other files of the folder have, for a field that refers to one.
//!
//! Decides which kind of objects a field names. Never decides whether a reference is right: the check does.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

use super::caret::{Caret, text};
use check::File;
use offline::Identity;
use source::{objects, read};

/// What a field wants of the objects of a folder.
#[derive(Debug, PartialEq, Eq)]
enum Wants {
    /// The name of an object of a kind, in a namespace where that is said.
    Name(String, Option<String>),
    /// A namespace in which there are objects of a kind.
    Namespace(String),
    /// One of these words.
    Words(Vec<String>),
}

/// Kinds by the plural of their resource, and their group.
static RESOURCES: LazyLock<Vec<(String, String, String)>> = LazyLock::new(|| {
    let all = api::crds().into_iter().map(|crd| crd.spec);
    all.map(|spec| (spec.names.plural, spec.group, spec.names.kind))
        .collect()
});

const ADDON: &str = "ClusterManagementAddOn";
const CLUSTER: &str = "ManagedCluster";
const SET: &str = "ManagedClusterSet";
const HOSTING: &str = "addon.open-cluster-management.io/hosting-cluster-name";
const OF_SET: &str = "cluster.open-cluster-management.io/clusterset";
/// What configurations are made of.
const CONFIGS: [&str; 3] = ["AddOnDeploymentConfig", "AddOnHubConfig", "AddOnTemplate"];

/// Returns the names that may stand in a field, sorted.
pub(super) fn of<'f>(caret: &Caret, files: impl Iterator<Item = &'f File>) -> Vec<String> {
    let Some(wants) = wants(caret) else {
        return Vec::new();
    };
    let (kind, place) = match wants {
        Wants::Words(words) => return words,
        Wants::Name(kind, namespace) => (kind, Some(namespace)),
        Wants::Namespace(kind) => (kind, None),
    };
    let mut found = BTreeSet::new();
    for file in files.filter(|file| file.text.contains(&kind)) {
        let reading = read(&file.text);
        let all = reading.documents.iter().flat_map(objects);
        for identity in all
            .map(|object| Identity::of(&object.value))
            .filter(|one| one.kind == kind)
        {
            match &place {
                None => found.insert(identity.namespace),
                Some(Some(namespace)) if *namespace != identity.namespace => false,
                Some(_) => found.insert(identity.name),
            };
        }
    }
    found.into_iter().filter(|name| !name.is_empty()).collect()
}

fn wants(caret: &Caret) -> Option<Wants> {
    let path: Vec<&str> = caret.path.iter().map(String::as_str).collect();
    if let Some(kind) = named(caret.kind().1, &path) {
        return Some(Wants::Name(kind.to_owned(), None));
    }
    match path.as_slice() {
        ["apiVersion"] => {
            let versions = explain::versions_of_kinds().map(|(version, _)| version);
            Some(Wants::Words(sorted(versions)))
        }
        ["kind"] => Some(Wants::Words(kinds_of(text(&caret.object, "apiVersion")))),
        [.., "resource"] if is_config(&path) => {
            let all = RESOURCES
                .iter()
                .filter(|(_, _, kind)| CONFIGS.contains(&kind.as_str()));
            Some(Wants::Words(sorted(all.map(|(plural, ..)| plural.as_str()))))
        }
        [.., "group"] if is_config(&path) => Some(Wants::Words(vec![api::v1alpha1::GROUP.to_owned()])),
        [.., "name"] => referred(caret, &path).map(|(kind, namespace)| Wants::Name(kind, namespace)),
        [.., "namespace"] => referred(caret, &path).map(|(kind, _)| Wants::Namespace(kind)),
        _ => None,
    }
}

/// Fields that name an object of one kind, wherever it lies.
fn named(kind: &str, path: &[&str]) -> Option<&'static str> {
    let is_addon = matches!(
        (kind, path),
        ("ManagedClusterAddOn", ["metadata", "name"])
            | (
                _,
                ["metadata", "annotations", "tidegate.io/depends-on"] | [.., "addonName"]
            )
    );
    let is_cluster = matches!(
        (kind, path),
        ("ManagedClusterAddOn" | "ManifestWork", ["metadata", "namespace"])
            | (_, ["metadata", "annotations", HOSTING])
    );
    let is_set = matches!(
        path,
        ["metadata", "labels", OF_SET] | ["spec", "clusterSet" | "clusterSets"]
    );
    [(is_addon, ADDON), (is_cluster, CLUSTER), (is_set, SET)]
        .into_iter()
        .find_map(|(is_it, kind)| is_it.then_some(kind))
}

/// Fields in which a type of configurations is named.
fn is_config(path: &[&str]) -> bool {
    path.iter().any(|part| part.to_lowercase().contains("config"))
}

/// The kind of objects that a reference is for, and the namespace that it says.
fn referred(caret: &Caret, path: &[&str]) -> Option<(String, Option<String>)> {
    let beside = caret.around.last();
    let said = |name: &str| {
        let all = caret.around.iter().rev().take(2);
        all.map(|value| text(list_free(value), name))
            .find(|text| !text.is_empty())
    };
    let namespace = beside
        .map(|value| text(value, "namespace"))
        .filter(|text| !text.is_empty());
    let namespace = namespace.map(str::to_owned);
    if let Some(resource) = said("resource") {
        let (.., kind) = RESOURCES.iter().find(|(plural, ..)| plural == resource)?;
        return Some((kind.clone(), namespace));
    }
    let parent = path.iter().rev().nth(1)?;
    match *parent {
        // Sets of works name placements of their own namespace.
        "placementRefs" => {
            let own = caret
                .object
                .pointer("/metadata/namespace")
                .and_then(Value::as_str);
            Some(("Placement".to_owned(), own.map(str::to_owned)))
        }
        parent if parent.to_lowercase().starts_with("placement") => Some(("Placement".to_owned(), namespace)),
        _ => None,
    }
}

fn list_free(value: &Value) -> &Value {
    value.as_array().and_then(|items| items.first()).unwrap_or(value)
}

fn kinds_of(version: &str) -> Vec<String> {
    let all = explain::versions_of_kinds();
    sorted(
        all.filter(|(one, _)| version.is_empty() || *one == version)
            .map(|(_, kind)| kind),
    )
}

fn sorted<'w>(words: impl Iterator<Item = &'w str>) -> Vec<String> {
    let words: BTreeSet<&str> = words.collect();
    words.into_iter().map(str::to_owned).collect()
}
