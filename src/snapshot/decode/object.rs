//! From objects as the API serves them to records.
//!
//! Decides what a record keeps. An object that does not decode is refused with the reason; nothing here panics or guesses.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::cluster as cluster_api;
use crate::api::names::annotations::IMAGE_REGISTRIES;
use crate::api::names::{conditions as condition_types, labels};
use crate::api::v1alpha1 as wire;
use crate::hash::SpecHash;
use crate::model::AddonVersion;
use crate::snapshot::copied::record_of;
use crate::snapshot::decode::addon::addon;
use crate::snapshot::decode::content::{deployment_config, template};
use crate::snapshot::decode::rollout::group_size;
use crate::snapshot::decode::status::{conditions, references, status_of};
use crate::snapshot::decode::work::{Known, work};
use crate::snapshot::facts::{ClusterFacts, NamespaceFacts};
use crate::snapshot::kind::{Kind, ObjectKey};
use crate::snapshot::names::{Name, Names};
use crate::snapshot::pairs::Pairs;
use crate::snapshot::record::{
    AddOn, Cluster, Config, ConfigRef, ConfigType, Content, Decision, Instance, Meta, Namespace, Owner,
    Placement, Status, Work,
};
use crate::snapshot::registration;
use crate::snapshot::registration::grants::{Grant, grant};
use crate::snapshot::registration::requests::{Request, request};
use crate::snapshot::registration::roles::{HubRole, hub_role};
use crate::snapshot::removal::Farewell;
use crate::snapshot::terms;

/// A decoded object.
#[derive(Debug)]
pub(in crate::snapshot) enum Record {
    Cluster(Cluster),
    Placement(Placement),
    Decision(Decision),
    AddOn(AddOn),
    Instance(Instance),
    Config(Config),
    /// A work with its add-on and its cluster; `None` when it belongs to no add-on.
    Work(Option<(Name, Name, Work)>),
    /// A grant with its add-on; `None` when it is not the tide's own.
    Grant(Option<(Name, Grant)>),
    /// A signing request with its add-on; `None` when it belongs to no add-on.
    Request(Option<(Name, Box<Request>)>),
    Namespace(Namespace),
    HubRole(HubRole),
}

impl Record {
    pub(in crate::snapshot) fn meta(&self) -> Option<&Meta> {
        match self {
            Self::Cluster(found) => Some(&found.meta),
            Self::Placement(found) => Some(&found.meta),
            Self::Decision(found) => Some(&found.meta),
            Self::AddOn(found) => Some(&found.meta),
            Self::Instance(found) => Some(&found.meta),
            Self::Config(found) => Some(&found.meta),
            Self::Work(found) => found.as_ref().map(|(_, _, work)| &work.meta),
            Self::Grant(found) => found.as_ref().map(|(_, grant)| &grant.meta),
            Self::Request(found) => found.as_ref().map(|(_, request)| &request.meta),
            Self::Namespace(found) => Some(&found.meta),
            Self::HubRole(found) => Some(&found.meta),
        }
    }
}

/// Returns the key of an object, as far as it has one.
pub(in crate::snapshot) fn key(kind: Kind, object: &Value) -> ObjectKey {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    ObjectKey::new(kind, text("/metadata/namespace"), text("/metadata/name"))
}

/// Returns the reference under which a configuration object is filed.
pub(in crate::snapshot) fn config_ref(key: &ObjectKey) -> ConfigRef {
    let address = key.kind.address();
    ConfigRef {
        of: ConfigType {
            group: address.group.into(),
            resource: address.resource.into(),
        },
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    }
}

/// Decodes an object; `known` is what the store has of it if it is a work.
pub(in crate::snapshot) fn record(
    kind: Kind,
    object: &Value,
    names: &mut Names,
    known: Option<&Known>,
) -> Result<Record, String> {
    match kind {
        Kind::Cluster => cluster(&parse(object)?, names).map(Record::Cluster),
        Kind::Placement => placement(&parse(object)?, names).map(Record::Placement),
        Kind::Decision => decision(&parse(object)?, names).map(Record::Decision),
        Kind::AddOn => addon(&parse(object)?, names).map(Record::AddOn),
        Kind::Instance => instance(&parse(object)?, names).map(Record::Instance),
        Kind::DeploymentConfig | Kind::Template | Kind::HubConfig => {
            config(kind, object, names).map(Record::Config)
        }
        Kind::Work => work(object, known, names).map(Record::Work),
        Kind::ServiceAccount | Kind::Role | Kind::RoleBinding => {
            grant(&key(kind, object), object, names).map(Record::Grant)
        }
        Kind::SigningRequest => request(object, names)
            .map(|found| Record::Request(found.map(|(addon, request)| (addon, Box::new(request))))),
        Kind::Namespace => namespace(object, names).map(Record::Namespace),
        Kind::HubClusterRole | Kind::HubRole => hub_role(object, names).map(Record::HubRole),
    }
}

pub(in crate::snapshot) fn parse<T: DeserializeOwned>(object: &Value) -> Result<T, String> {
    T::deserialize(object).map_err(|error| error.to_string())
}

/// Reads identity and revision; an object without them cannot be written to safely.
pub(in crate::snapshot) fn meta(metadata: &ObjectMeta, names: &mut Names) -> Result<Meta, String> {
    let text = |value: &Option<String>, field: &str| {
        value
            .as_deref()
            .filter(|text| !text.is_empty())
            .map(Name::from)
            .ok_or_else(|| format!("metadata.{field} is absent"))
    };
    text(&metadata.name, "name")?;
    let _ = names;
    Ok(Meta {
        uid: text(&metadata.uid, "uid")?,
        version: text(&metadata.resource_version, "resourceVersion")?,
        generation: metadata.generation.unwrap_or_default(),
        deleting: metadata.deletion_timestamp.is_some(),
    })
}

/// Shares an optional text, "" when it is absent.
pub(in crate::snapshot) fn shared(text: Option<&String>, names: &mut Names) -> Name {
    names.share(text.map(String::as_str).unwrap_or_default())
}

pub(in crate::snapshot) fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a String> {
    metadata.annotations.as_ref()?.get(key)
}

fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a String> {
    metadata.labels.as_ref()?.get(key)
}

pub(in crate::snapshot) fn config_type(group: &str, resource: &str, names: &mut Names) -> ConfigType {
    ConfigType {
        group: names.share(group),
        resource: names.share(resource),
    }
}

pub(in crate::snapshot) fn configs(configs: &[crate::api::AddOnConfig], names: &mut Names) -> Vec<ConfigRef> {
    let each = configs.iter().map(|config| ConfigRef {
        of: config_type(&config.group, &config.resource, names),
        namespace: names.share(&config.namespace),
        name: names.share(&config.name),
    });
    each.collect()
}

pub(in crate::snapshot) fn owners(owners: Option<&Vec<OwnerReference>>, names: &mut Names) -> Vec<Owner> {
    let each = owners.into_iter().flatten().map(|owner| Owner {
        api_version: names.share(&owner.api_version),
        kind: names.share(&owner.kind),
        name: names.share(&owner.name),
        uid: names.share(&owner.uid),
        controller: owner.controller,
        block: owner.block_owner_deletion,
    });
    each.collect()
}

fn cluster(object: &cluster_api::ManagedCluster, names: &mut Names) -> Result<Cluster, String> {
    let mut stated = object.status.iter().flat_map(|status| &status.conditions);
    let stated = stated.find(|condition| condition.type_ == condition_types::CLUSTER_AVAILABLE);
    let available = stated.map(|condition| status_of(&condition.status));
    let unknown = stated.filter(|_| available == Some(Status::Unknown));
    let annotations = travelling(&object.metadata, names);
    Ok(Cluster {
        meta: meta(&object.metadata, names)?,
        copied: names.share(&record_of(&annotations)),
        annotations,
        labels: Pairs::share(object.metadata.labels.iter().flatten(), names),
        accepted: object.spec.hub_accepts_client == Some(true),
        opt_out: shared(annotation(&object.metadata, terms::OPT_OUT), names),
        available,
        unknown: unknown.map(|condition| (names.share(&condition.reason), names.share(&condition.message))),
        image_registries: shared(annotation(&object.metadata, IMAGE_REGISTRIES), names),
        facts: Arc::new(ClusterFacts::of(object, names)),
    })
}

/// The annotations that travel from a cluster to its add-ons, wherever they stand.
fn travelling(metadata: &ObjectMeta, names: &mut Names) -> Pairs {
    let all = metadata.annotations.iter().flatten();
    Pairs::share(
        all.filter(|(key, _)| key.starts_with(terms::COPIED_PREFIX)),
        names,
    )
}

fn namespace(object: &Value, names: &mut Names) -> Result<Namespace, String> {
    let metadata: ObjectMeta = parse(object.get("metadata").unwrap_or(&Value::Null))?;
    Ok(Namespace {
        meta: meta(&metadata, names)?,
        facts: Arc::new(NamespaceFacts::of(&metadata, names)),
    })
}

fn placement(object: &cluster_api::Placement, names: &mut Names) -> Result<Placement, String> {
    let selected = object
        .status
        .as_ref()
        .and_then(|status| status.number_of_selected_clusters);
    Ok(Placement {
        meta: meta(&object.metadata, names)?,
        selected: selected.map(i64::from),
        per_group: group_size(&object.spec),
    })
}

fn decision(object: &cluster_api::PlacementDecision, names: &mut Names) -> Result<Decision, String> {
    let metadata = &object.metadata;
    let index = label(metadata, labels::DECISION_GROUP_INDEX).and_then(|text| text.parse().ok());
    let decided = object.status.iter().flat_map(|status| &status.decisions);
    let decided = decided.filter(|decision| !decision.cluster_name.is_empty());
    Ok(Decision {
        meta: meta(metadata, names)?,
        placement: shared(label(metadata, labels::PLACEMENT), names),
        group_index: index.unwrap_or_default(),
        group_name: shared(label(metadata, labels::DECISION_GROUP_NAME), names),
        clusters: decided
            .map(|decision| names.share(&decision.cluster_name))
            .collect(),
    })
}

fn instance(object: &wire::ManagedClusterAddOn, names: &mut Names) -> Result<Instance, String> {
    let metadata = &object.metadata;
    let status = object.status.as_ref();
    let types = status.into_iter().flat_map(|status| &status.supported_configs);
    let types = types
        .map(|of| config_type(&of.group, &of.resource, names))
        .collect();
    let owners = owners(metadata.owner_references.as_ref(), names);
    let stated = status.map(|status| status.config_references.as_slice());
    let cluster = metadata.namespace.as_deref().unwrap_or_default();
    let addon = metadata.name.as_deref().unwrap_or_default();
    Ok(Instance {
        meta: meta(metadata, names)?,
        addon: shared(metadata.name.as_ref(), names),
        cluster: shared(metadata.namespace.as_ref(), names),
        owners: names.share_owners(owners),
        farewell: Farewell::of(metadata, names),
        installed_by: shared(annotation(metadata, terms::INSTALLED_BY), names),
        // A time that nobody can read counts as none: it is written anew.
        deselected_at: annotation(metadata, terms::DESELECTED_AT).and_then(|text| text.parse().ok()),
        annotations: travelling(metadata, names),
        copied: shared(annotation(metadata, terms::COPIED_ANNOTATIONS), names),
        hosting_cluster: shared(annotation(metadata, terms::HOSTING_CLUSTER), names),
        install_namespace: names.share(
            object
                .spec
                .install_namespace
                .as_deref()
                .unwrap_or(crate::api::names::DEFAULT_INSTALL_NAMESPACE),
        ),
        configs: configs(&object.spec.configs, names),
        desired_version: names.share(&object.spec.desired_version),
        given_version: shared(annotation(metadata, terms::GIVEN_VERSION), names),
        current_version: shared(status.map(|status| &status.current_version), names),
        last_version: shared(status.map(|status| &status.last_version), names),
        supported: names.share_types(types),
        references: references(stated.unwrap_or_default(), names),
        health_mode: shared(
            status
                .and_then(|status| status.health_check.as_ref())
                .map(|check| &check.mode),
            names,
        ),
        conditions: status
            .map(|status| conditions(&status.conditions, names))
            .unwrap_or_default(),
        registrations: status
            .map(|status| registration::registered(&status.registrations, (cluster, addon), names))
            .unwrap_or_default(),
        driver: shared(status.map(|status| &status.kube_client_driver), names),
        namespace: shared(status.map(|status| &status.namespace), names),
    })
}

fn config(kind: Kind, object: &Value, names: &mut Names) -> Result<Config, String> {
    let mut addon = names.share("");
    let (metadata, version, content) = match kind {
        Kind::DeploymentConfig => {
            let parsed: wire::AddOnDeploymentConfig = parse(object)?;
            let content = Content::Deployment(deployment_config(object, parsed.spec, names));
            (parsed.metadata, None, content)
        }
        Kind::Template => {
            let parsed: wire::AddOnTemplate = parse(object)?;
            let version = label(&parsed.metadata, labels::TEMPLATE_VERSION).cloned();
            addon = names.share(&parsed.spec.addon_name);
            let content = Content::Template(template(object, parsed.spec, names));
            (parsed.metadata, version, content)
        }
        Kind::HubConfig
        | Kind::Cluster
        | Kind::Placement
        | Kind::Decision
        | Kind::AddOn
        | Kind::Instance
        | Kind::Work
        | Kind::ServiceAccount
        | Kind::Role
        | Kind::RoleBinding
        | Kind::SigningRequest
        | Kind::HubClusterRole
        | Kind::HubRole
        | Kind::Namespace => {
            let object: wire::AddOnHubConfig = parse(object)?;
            (object.metadata, Some(object.spec.desired_version), Content::Hub)
        }
    };
    let hash = names.share(&SpecHash::of(object).to_string());
    Ok(Config {
        meta: meta(&metadata, names)?,
        hash,
        version: version
            .as_deref()
            .filter(|version| !version.is_empty())
            .map(|version| names.share(version)),
        is_version: version
            .as_deref()
            .is_some_and(|version| AddonVersion::parse(version).is_ok()),
        addon,
        content: Arc::new(content),
    })
}
