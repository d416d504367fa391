//! Decoding `ManifestWork`: a digest of what it asks for, which objects it carries, and what the agent says about it.
//!
//! Never keeps manifests. A work with neither the add-on's label nor an add-on as its owner is left out.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;

use crate::decode::hook::hook;
use crate::decode::read::{annotation, meta, owners, parse, shared};
use crate::decode::status::status_of;
use crate::identity::Identity;
use crate::kind::{ADDON_GROUP, Kind};
use crate::meaning::Digest;
use crate::names::Names;
use crate::record::{HashPlace, Meta, OwnerReference, Signal, Status, Work, Workload};
use crate::terms;
use api::names::annotations::CONFIG_SPEC_HASH_ALTERNATIVE;
use api::names::conditions::{WORK_APPLIED, WORK_AVAILABLE};
use api::work::{ManifestCondition, ManifestWorkStatus};
use model::Name;

type Filed = (Name, Name, Work);

/// What the store knows already about the spec of a work.
#[derive(Debug)]
pub(crate) struct KnownSpec {
    uid: Name,
    generation: i64,
    digest: Digest,
    holds: Name,
}

impl From<&Work> for KnownSpec {
    fn from(work: &Work) -> Self {
        Self {
            uid: work.meta.uid.clone(),
            generation: work.meta.generation,
            digest: work.digest,
            holds: work.holds.clone(),
        }
    }
}

/// A work without its manifests, which are by far its largest part.
#[derive(Deserialize)]
struct Head {
    metadata: ObjectMeta,
    #[serde(default)]
    status: Option<ManifestWorkStatus>,
}

pub(crate) fn work(
    object: &Value,
    known: Option<&KnownSpec>,
    names: &mut Names,
) -> Result<Option<Filed>, String> {
    let parsed = &parse::<Head>(object)?;
    let metadata = &parsed.metadata;
    let meta = meta(metadata)?;
    let labels = metadata.labels.as_ref();
    let labelled = labels.and_then(|labels| labels.get(terms::ADDON_NAME));
    let owners = owners(metadata.owner_references.as_ref(), names);
    let own_name = metadata.name.as_deref().unwrap_or_default();
    let Some(addon) = labelled
        .map(String::as_str)
        .or_else(|| owning_addon(own_name, &owners))
    else {
        return Ok(None);
    };
    let addon = names.share(addon);
    let home = labels
        .and_then(|labels| labels.get(terms::ADDON_NAMESPACE))
        .filter(|home| !home.is_empty());
    let namespace = shared(metadata.namespace.as_ref(), names);
    let cluster = home.map_or_else(|| namespace.clone(), |home| names.share(home));
    let hashes = annotation(metadata, terms::CONFIG_HASHES);
    let mirror = annotation(metadata, terms::CONFIG_HASHES_MIRROR);
    let spelled = hashes
        .or(mirror)
        .or_else(|| annotation(metadata, CONFIG_SPEC_HASH_ALTERNATIVE));
    let manifests: Vec<&ManifestCondition> = parsed
        .status
        .iter()
        .flat_map(|status| &status.resource_status)
        .flat_map(|status| &status.manifests)
        .collect();
    let (digest, holds) = content(object, &meta, known, names);
    let work = Work {
        name: shared(metadata.name.as_ref(), names),
        hosted: home.is_some(),
        labelled: labelled.is_some(),
        owners: owners.into(),
        digest,
        holds,
        hashes: shared(spelled, names),
        hashes_in: if hashes.is_some() {
            HashPlace::Usual
        } else {
            HashPlace::Elsewhere
        },
        mirror: shared(mirror, names),
        version: shared(labels.and_then(|labels| labels.get(terms::ADDON_VERSION)), names),
        applied: signal(parsed, WORK_APPLIED, meta.generation, names),
        available: signal(parsed, WORK_AVAILABLE, meta.generation, names),
        failure: names.share(&failure(&manifests)),
        workloads: manifests
            .iter()
            .filter_map(|manifest| workload(manifest, names))
            .collect(),
        hook: hook(object, &addon, metadata, &manifests, names),
        finalizers: finalizers(metadata, names),
        namespace,
        meta,
    };
    Ok(Some((addon, cluster, work)))
}

/// The label may have been removed from a work that was deployed for an add-on. Other works that an add-on owns are
/// none of the hub's business.
fn owning_addon<'o>(name: &str, owners: &'o [OwnerReference]) -> Option<&'o str> {
    let is_addon = |owner: &&OwnerReference| {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        group == ADDON_GROUP && *owner.kind == *Kind::Instance.address().kind
    };
    let addon = owners.iter().find(is_addon).map(|owner| &*owner.name)?;
    name.starts_with(&format!("addon-{addon}-deploy-"))
        .then_some(addon)
}

/// They matter only while the work is being deleted: an agent whose cluster was deleted does not remove its own.
fn finalizers(metadata: &ObjectMeta, names: &mut Names) -> Box<[Name]> {
    let finalizers = metadata.finalizers.iter().flatten();
    finalizers
        .filter(|_| metadata.deletion_timestamp.is_some())
        .map(|finalizer| names.share(finalizer))
        .collect()
}

/// Every change of the spec is a new generation; what only reports need not be read again.
fn content(object: &Value, meta: &Meta, known: Option<&KnownSpec>, names: &mut Names) -> (Digest, Name) {
    let same = known
        .filter(|known| known.uid == meta.uid && known.generation == meta.generation && meta.generation > 0);
    if let Some(known) = same {
        return (known.digest, known.holds.clone());
    }
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let manifests = spec.pointer("/workload/manifests").and_then(Value::as_array);
    let marks = manifests
        .into_iter()
        .flatten()
        .map(|manifest| Identity::of(manifest).mark().to_string());
    (Digest::of_spec(spec), names.share(&marks.collect::<String>()))
}

fn signal(work: &Head, kind: &str, generation: i64, names: &mut Names) -> Option<Signal> {
    let stated = work.status.iter().flat_map(|status| &status.conditions);
    let condition = stated.into_iter().find(|condition| condition.type_ == kind)?;
    Some(Signal {
        status: status_of(&condition.status),
        current: condition.observed_generation == Some(generation),
        message: names.share(&condition.message),
    })
}

/// The first manifest that was not applied, with what the agent said about it.
fn failure(manifests: &[&ManifestCondition]) -> String {
    let failed = manifests.iter().find_map(|manifest| {
        let applied = manifest
            .conditions
            .iter()
            .find(|condition| condition.type_ == WORK_APPLIED)?;
        (status_of(&applied.status) == Status::False).then_some((manifest, &applied.message))
    });
    failed.map_or_else(String::new, |(manifest, message)| {
        let place = &manifest.resource_meta;
        let at = if place.namespace.is_empty() {
            String::new()
        } else {
            format!("{}/", place.namespace)
        };
        format!("{} {at}{}: {message}", place.kind, place.name)
    })
}

fn workload(manifest: &ManifestCondition, names: &mut Names) -> Option<Workload> {
    let place = &manifest.resource_meta;
    let ready = match (place.group.as_str(), place.resource.as_str()) {
        ("apps", "deployments") => ["Replicas", "ReadyReplicas"],
        ("apps", "daemonsets") => ["DesiredNumberScheduled", "NumberReady"],
        _ => return None,
    };
    let values = manifest
        .status_feedback
        .as_ref()
        .map(|feedback| feedback.values.as_slice())
        .unwrap_or_default();
    let number = |name: &str| {
        values
            .iter()
            .find(|value| value.name == name)?
            .field_value
            .integer
    };
    let [desired, ready] = ready.map(number);
    Some(Workload {
        resource: names.share(&place.resource),
        namespace: names.share(&place.namespace),
        name: names.share(&place.name),
        desired,
        ready,
        probed: !values.is_empty(),
    })
}
