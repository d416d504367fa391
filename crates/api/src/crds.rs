//! Turns the wire types into CustomResourceDefinitions and their YAML.
//!
//! Decides what the derives cannot say: `null` is never kept (so that defaults fire), a spec is required only where
//! Open Cluster Management requires it. Never reads a file; `manifests/crds/ours` and `manifests/crds/hub-without-ocm` are the output of
//! [`crds_yaml`].

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::addon_rollout::AddOnRollout;
use super::cluster::{
    ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, ManagedClustersUpgrade, Placement,
    PlacementDecision,
};
use super::names::annotations::HUB_WITHOUT_OCM;
use super::rollout_approval::RolloutApproval;
use super::rollout_check::RolloutCheck;
use super::rollout_freeze::RolloutFreeze;
use super::rollout_profile::RolloutProfile;
use super::v1alpha1::{
    AddOnDeploymentConfig, AddOnHubConfig, AddOnPolicy, AddOnTemplate, ClusterManagementAddOn,
    ManagedClusterAddOn,
};
use super::work::{ManifestWork, ManifestWorkReplicaSet};

/// First line of every generated file.
const HEADER: &str = "# Generated from the types in crates/api; change those instead.\n";

/// Whether an object without a spec is refused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spec {
    Required,
    Optional,
}

/// Where a kind comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Tidegate's own.
    Tidegate,
    /// Open Cluster Management's; the definition is for hubs without it.
    Ocm,
}

macro_rules! kinds {
    ($($kind:ident: $origin:ident, $spec:ident;)+) => {
        /// A definition of each kind, with where it comes from.
        fn definitions() -> Vec<(Origin, CustomResourceDefinition)> {
            vec![$((Origin::$origin, finish::<$kind>(Spec::$spec))),+]
        }

        /// Reads an object into the type of its kind, and writes it again: what the type does not have is lost.
        ///
        /// # Errors
        ///
        /// The kind has no type here, or the object does not fit it.
        pub fn through_type(object: &Value) -> Result<Value, String> {
            match object.get("kind").and_then(Value::as_str) {
                $(Some(stringify!($kind)) => through::<$kind>(object),)+
                other => Err(format!("{other:?} has no type")),
            }
        }
    };
}

kinds! {
    AddOnDeploymentConfig: Ocm, Required;
    AddOnHubConfig: Tidegate, Required;
    AddOnPolicy: Tidegate, Required;
    AddOnRollout: Tidegate, Optional;
    AddOnTemplate: Ocm, Required;
    ClusterManagementAddOn: Ocm, Required;
    ManagedCluster: Ocm, Optional;
    ManagedClusterAddOn: Ocm, Required;
    ManagedClusterSet: Ocm, Optional;
    ManagedClusterSetBinding: Ocm, Optional;
    ManagedClustersUpgrade: Tidegate, Required;
    ManifestWork: Ocm, Optional;
    ManifestWorkReplicaSet: Ocm, Optional;
    Placement: Ocm, Required;
    PlacementDecision: Ocm, Optional;
    RolloutApproval: Tidegate, Required;
    RolloutCheck: Tidegate, Required;
    RolloutFreeze: Tidegate, Required;
    RolloutProfile: Tidegate, Required;
}

fn through<T: DeserializeOwned + Serialize>(object: &Value) -> Result<Value, String> {
    let typed: T = serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
    serde_json::to_value(&typed).map_err(|error| error.to_string())
}

/// Returns the definitions of every kind that Tidegate reads or writes, sorted by name.
pub fn crds() -> Vec<CustomResourceDefinition> {
    let mut crds: Vec<CustomResourceDefinition> = definitions()
        .into_iter()
        .map(|(origin, mut crd)| {
            if origin == Origin::Ocm {
                let mark = (HUB_WITHOUT_OCM.to_owned(), "true".to_owned());
                crd.metadata.annotations.get_or_insert_default().extend([mark]);
            }
            crd
        })
        .collect();
    crds.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    crds
}

/// Returns whether a definition is of a kind of our own, in any group. The others are Open Cluster Management's, and are only for hubs
/// without it: a hub that has them serves versions that an apply of ours would remove.
pub fn is_ours(crd: &CustomResourceDefinition) -> bool {
    let annotations = crd.metadata.annotations.as_ref();
    !annotations.is_some_and(|all| all.contains_key(HUB_WITHOUT_OCM))
}

/// Returns one definition as YAML, by its plural name or its full name; `None` for a name that is not ours.
pub fn crds_yaml(name: &str) -> Option<String> {
    let crd = crds()
        .into_iter()
        .find(|crd| crd.spec.names.plural == name || crd.metadata.name.as_deref() == Some(name))?;
    let mut plain = serde_json::to_value(&crd).expect("a definition is plain data");
    whole_numbers(&mut plain);
    let body = serde_saphyr::to_string(&plain).expect("plain data has a YAML form");
    Some(format!("{HEADER}{body}"))
}

fn finish<K: CustomResourceExt>(spec: Spec) -> CustomResourceDefinition {
    let mut crd = K::crd();
    crd.spec.names.list_kind = Some(format!("{}List", crd.spec.names.kind));
    for version in &mut crd.spec.versions {
        let Some(validation) = version.schema.as_mut() else {
            continue;
        };
        let mut schema =
            serde_json::to_value(&validation.open_api_v3_schema).expect("a schema is plain data");
        tidy(&mut schema);
        if let Some(root) = schema.as_object_mut() {
            finish_root(root, spec);
        }
        if OBSERVED_FROM_THE_BEGINNING.contains(&crd.spec.names.kind.as_str())
            && let Some(status) = schema
                .pointer_mut("/properties/status")
                .and_then(Value::as_object_mut)
        {
            status.insert("default".to_owned(), json!({"observedGeneration": -1}));
        }
        if let Some(time) = schema.pointer_mut(TIME_ADDED).and_then(Value::as_object_mut) {
            time.insert("nullable".to_owned(), true.into());
        }
        validation.open_api_v3_schema =
            Some(serde_json::from_value(schema).expect("tidying keeps the shape of a schema"));
    }
    crd
}

/// The kinds whose every object gets a status from this program. Until then tools that read `status.observedGeneration` must not take
/// an object without conditions for one that is done. A ManagedClusterAddOn whose add-on manages itself gets none.
const OBSERVED_FROM_THE_BEGINNING: [&str; 3] =
    ["AddOnPolicy", "ClusterManagementAddOn", "ManagedClustersUpgrade"];

/// The one field that keeps an explicit null: the agents of a ManagedCluster write it.
const TIME_ADDED: &str = "/properties/spec/properties/taints/items/properties/timeAdded";

/// Adds the properties that every object has, and settles whether the spec is required.
fn finish_root(root: &mut Map<String, Value>, spec: Spec) {
    // Of metadata an API server allows nothing to be said, not even a description: it refuses the definition.
    let common = [
        (
            "apiVersion",
            json!({"type": "string", "description": "Group and version of the object."}),
        ),
        (
            "kind",
            json!({"type": "string", "description": "Kind of the object."}),
        ),
        ("metadata", json!({"type": "object"})),
    ];
    if let Some(properties) = root
        .entry("properties")
        .or_insert_with(|| json!({}))
        .as_object_mut()
    {
        for (name, schema) in common {
            properties.insert(name.to_owned(), schema);
        }
    }
    match spec {
        Spec::Required => root.insert("required".to_owned(), json!(["spec"])),
        Spec::Optional => root.remove("required"),
    };
    root.insert("type".to_owned(), "object".into());
}

/// Removes titles and `nullable`, which the derives add to every optional field; joins the lines of descriptions.
///
/// A nullable field keeps an explicit null instead of taking its default; upstream's fields take the default.
fn tidy(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    object.remove("nullable");
    object.remove("title");
    if object.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        // The only alternative that a structural schema may have; kube's rewriter would empty it.
        object.insert(
            "anyOf".to_owned(),
            json!([{ "type": "integer" }, { "type": "string" }]),
        );
    }
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = object.get_mut(key) {
            tidy(inner);
        }
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(tidy);
    }
}

/// Writes whole bounds as integers: the Rust type of a bound is a float, and `minimum: 0.0` reads like a mistake.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let whole = number
                .as_f64()
                .filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15);
            if let Some(whole) = whole.and_then(|float| format!("{float:.0}").parse::<i64>().ok()) {
                *number = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
