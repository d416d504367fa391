//! The scale subresource of custom resources and of the workload kinds.
//!
//! Decides how replicas are read from and written to the places that the definition names.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::apply::{Intent, is_apply};
use super::call::Call;
use super::decode;
use super::errors::{conflict, not_found, unkept};
use super::flow::Flow;
use super::metadata::{self, text};
use super::options::{FieldValidation, How, WriteOptions};
use super::part::Part;
use super::patch::{Dialect, apply};
use super::represent;
use super::update::{check_version, complete, store};
use crate::admission::{Operation, Warnings};
use crate::error::ApiError;
use crate::http::Reply;
use crate::hub::timestamp;
use crate::managed::{self, SCALE_VERSION, Scaled, Scope};
use crate::patch::{go_json, invalid_patch};
use crate::resource::ScalePaths;
use crate::store::Unwritten;
use kubernetes::labels::written;

const ATTEMPTS: usize = 64;

fn paths(call: &Call) -> ScalePaths {
    call.served.resource.scale.clone().unwrap_or(ScalePaths {
        spec_replicas: String::new(),
        status_replicas: String::new(),
        label_selector: None,
    })
}

/// Returns where the replicas are in the other served versions.
fn other_paths(call: &Call) -> BTreeMap<String, Option<String>> {
    let resource = &call.served.resource;
    let registry = call.hub.directory.load();
    let others = call
        .served
        .custom
        .iter()
        .flat_map(|custom| &custom.other_versions);
    let found = others.filter_map(|version| registry.find(&resource.group, version, &resource.plural));
    found
        .map(|other| {
            let scale = other.resource.scale.as_ref();
            let path = scale.map(|scale| scale.spec_replicas.clone());
            (other.resource.api_version(), path)
        })
        .collect()
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .skip(1)
        .try_fold(object, |node, name| node.get(name))
}

fn put(object: &mut Value, path: &str, value: Value) {
    let mut node = object;
    for name in path.split('.').skip(1) {
        if !node.is_object() {
            *node = Value::Object(Map::new());
        }
        let Some(members) = node.as_object_mut() else {
            return;
        };
        node = members.entry(name).or_insert(Value::Null);
    }
    *node = value;
}

/// Shows an object as its scale.
fn of(call: &Call, object: &Value) -> Result<Value, ApiError> {
    let paths = paths(call);
    let Some(replicas) = at(object, &paths.spec_replicas).filter(|replicas| !replicas.is_null()) else {
        let path = &paths.spec_replicas;
        return Err(ApiError::internal(format!(
            "the spec replicas field \"{path}\" does not exist"
        )));
    };
    Ok(shown(object, &paths, replicas))
}

fn shown(object: &Value, paths: &ScalePaths, replicas: &Value) -> Value {
    let mut about = Map::new();
    for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = metadata::metadata(object).and_then(|metadata| metadata.get(name)) {
            about.insert(name.to_owned(), value.clone());
        }
    }
    let observed = at(object, &paths.status_replicas).filter(|value| value.is_number());
    let mut status = json!({ "replicas": observed.cloned().unwrap_or_else(|| json!(0)) });
    let selector = paths
        .label_selector
        .as_deref()
        .and_then(|path| at(object, path))
        .map(|selector| match selector {
            Value::String(text) => text.clone(),
            // Custom resources hold the text; the built-in kinds hold the selector itself.
            selector => written(selector),
        });
    if let (Some(selector), Some(status)) = (selector.filter(|text| !text.is_empty()), status.as_object_mut())
    {
        status.insert("selector".to_owned(), json!(selector));
    }
    json!({ "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": about, "spec": spec(replicas), "status": status })
}

/// No replicas are not said.
fn spec(replicas: &Value) -> Value {
    if replicas.as_i64() == Some(0) {
        json!({})
    } else {
        json!({ "replicas": replicas })
    }
}

fn set_owners(object: &mut Value, owners: Value) {
    if owners.is_null() {
        metadata::remove(object, "managedFields");
    } else {
        metadata::set(object, "managedFields", owners);
    }
}

/// Answers a GET.
pub(super) async fn read(call: &Call) -> Result<Reply, ApiError> {
    let missing = || not_found(&call.served.resource, &call.name);
    let record = call.served.table.read(&call.key()).ok_or_else(missing)?;
    let scale = of(call, &call.read(&record, record.version).await?)?;
    represent::scale(call, &scale)
}

/// Answers a PUT.
pub(super) async fn replace(call: &Call, warnings: &mut Warnings) -> Result<Reply, ApiError> {
    let options = WriteOptions::parse(&call.query, "UpdateOptions")?;
    let body = decode::body(call)?.value;
    check(&body).map_err(|fault| {
        ApiError::bad_request(format!(
            "Scale in version \"v1\" cannot be handled as a Scale: {fault}"
        ))
    })?;
    let propose = |_: &Value| Ok(body.clone());
    write(call, &propose, &options, warnings).await
}

/// Answers a PATCH.
pub(super) async fn patch(call: &Call, warnings: &mut Warnings) -> Result<Reply, ApiError> {
    if is_apply(call) {
        let options = WriteOptions::parse_apply(&call.query)?;
        let intent = Intent::read(call, "scale", &options)?;
        let propose = |old: &Value| intent.over(&Scope::scale(), Some(old), &mut Warnings::new());
        return write(call, &propose, &options, warnings).await;
    }
    let dialect = Dialect::of(call)?;
    let options = WriteOptions::parse(&call.query, "PatchOptions")?;
    let propose = |old: &Value| {
        let patched = apply(call, dialect, old, FieldValidation::Ignore)?;
        check(&patched.document).map_err(|fault| invalid_patch(&patched.quoted, &fault))?;
        Ok(patched.document)
    };
    write(call, &propose, &options, warnings).await
}

/// Returns the first wrong type of a scale.
fn check(scale: &Value) -> Result<(), String> {
    match scale.pointer("/spec/replicas") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Number(number)) if number.is_i64() => Ok(()),
        Some(other) => {
            let found = go_json::type_name(other);
            Err(format!(
                "json: cannot unmarshal {found} into Go struct field ScaleSpec.spec.replicas of type int32"
            ))
        }
    }
}

/// Returns the scale that a request wants, with its owners.
fn wanted(
    call: &Call,
    old: &Value,
    propose: &(dyn Fn(&Value) -> Result<Value, ApiError> + Send + Sync),
    options: &WriteOptions,
) -> Result<Value, ApiError> {
    let mut wanted = propose(old)?;
    if let Some(said) = wanted.get_mut("spec")
        && let Some(replicas) = said.get("replicas").cloned()
    {
        *said = spec(&replicas);
    }
    if options.how == How::Update {
        let mut writer = call.writer(&options.manager, false, "scale");
        SCALE_VERSION.clone_into(&mut writer.version);
        managed::track(&Scope::scale(), Some(old), &mut wanted, &writer, &timestamp());
    }
    Ok(wanted)
}

async fn write(
    call: &Call,
    propose: &(dyn Fn(&Value) -> Result<Value, ApiError> + Send + Sync),
    options: &WriteOptions,
    warnings: &mut Warnings,
) -> Result<Reply, ApiError> {
    let (key, paths, others) = (call.key(), paths(call), other_paths(call));
    let flow = Flow {
        call,
        operation: Operation::Update,
        subresource: "scale",
        options: options.to_json("UpdateOptions"),
        dry_run: options.dry_run,
    };
    for _ in 0..ATTEMPTS {
        let missing = || not_found(&call.served.resource, &call.name);
        let record = call.served.table.read(&key).ok_or_else(missing)?;
        let old = call.read(&record, record.version).await?;
        let current = at(&old, &paths.spec_replicas)
            .cloned()
            .unwrap_or_else(|| json!(0));
        let old_scale = shown(&old, &paths, &current);
        let owners = Scaled {
            list: managed::raw(&old),
            path: &paths.spec_replicas,
            version: &call.served.resource.api_version(),
            others: &others,
        };
        let mut owned_scale = old_scale.clone();
        set_owners(&mut owned_scale, owners.to_scale());
        let wanted = wanted(call, &owned_scale, propose, options)?;
        let wanted = flow
            .mutate(&call.name, wanted, Some(&old_scale), warnings)
            .await?;
        let replicas = wanted
            .pointer("/spec/replicas")
            .cloned()
            .filter(|value| !value.is_null());
        let replicas = replicas.unwrap_or_else(|| json!(0));
        let mut object = old.clone();
        put(&mut object, &paths.spec_replicas, replicas.clone());
        let given = text(&wanted, "resourceVersion");
        if !given.is_empty() {
            metadata::set(&mut object, "resourceVersion", json!(given));
        }
        check_version(call, &record, &object)?;
        set_owners(&mut object, owners.to_object(managed::raw(&wanted)));
        let object = complete(call, Part::Object, object, &old, warnings)?;
        flow.validate(
            &call.name,
            &shown(&object, &paths, &replicas),
            Some(&old_scale),
            warnings,
        )
        .await?;
        match store(call, &key, &record, &object, options).await? {
            Ok(stored) => return represent::scale(call, &of(call, &stored)?),
            Err(Unwritten::Missing) => return Err(missing()),
            Err(Unwritten::Unkept(cause)) => return Err(unkept(&cause)),
            Err(Unwritten::Changed(_) | Unwritten::Exists(_)) => {}
        }
    }
    Err(conflict(&call.served.resource, &call.name))
}
