//! Schemas of the built-in kinds, taken at run time from the `k8s-openapi` crate.
//!
//! Decides how definitions are named and found. What the crate's schemas lack, list types and merge keys, comes from `list_types`.

use std::sync::{Arc, LazyLock};

use k8s_openapi::api::{
    admissionregistration, apps, authentication, authorization, certificates, coordination, core, events,
    rbac,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions;
use k8s_openapi::apimachinery::pkg::apis::meta;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{list_types, untyped};
use crate::Resource;

/// Name of the definition of object metadata.
pub const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// Prefix of references between definitions.
pub const REFERENCE: &str = "#/components/schemas/";

static DEFINITIONS: LazyLock<Map<String, Value>> = LazyLock::new(generate);
static META: LazyLock<Arc<Value>> = LazyLock::new(|| Arc::new(inline(OBJECT_META, &mut Vec::new())));

/// Returns the definition of that name, with references of the form `#/components/schemas/…` and with list types.
pub fn definition(name: &str) -> Option<(&'static str, &'static Value)> {
    let found = DEFINITIONS.get_key_value(name)?;
    Some((found.0, found.1))
}

/// Returns all definitions.
pub fn definitions() -> impl Iterator<Item = (&'static str, &'static Value)> {
    DEFINITIONS
        .iter()
        .map(|(name, definition)| (name.as_str(), definition))
}

/// Returns the name of the definition of a built-in resource.
pub fn definition_name(resource: &Resource) -> Option<String> {
    if resource.custom {
        return None;
    }
    let package = match resource.group.as_str() {
        "" => "io.k8s.api.core",
        "events.k8s.io" => "io.k8s.api.events",
        "coordination.k8s.io" => "io.k8s.api.coordination",
        "apiextensions.k8s.io" => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
        "admissionregistration.k8s.io" => "io.k8s.api.admissionregistration",
        "rbac.authorization.k8s.io" => "io.k8s.api.rbac",
        "certificates.k8s.io" => "io.k8s.api.certificates",
        "authentication.k8s.io" => "io.k8s.api.authentication",
        "authorization.k8s.io" => "io.k8s.api.authorization",
        "apps" => "io.k8s.api.apps",
        "autoscaling" => "io.k8s.api.autoscaling",
        "batch" => "io.k8s.api.batch",
        "discovery.k8s.io" => "io.k8s.api.discovery",
        "networking.k8s.io" => "io.k8s.api.networking",
        "policy" => "io.k8s.api.policy",
        _ => return None,
    };
    Some(format!("{package}.{}.{}", resource.version, resource.kind))
}

/// Returns the schema of a built-in resource in the form of an `openAPIV3Schema`: nothing but inline types, with
/// `x-kubernetes-list-type` and friends, without descriptions. Recursive parts and free-form values are
/// `x-kubernetes-preserve-unknown-fields`. Field management and pruning can treat it like the schema of a custom resource.
pub fn structural(resource: &Resource) -> Option<Arc<Value>> {
    let name = definition_name(resource)?;
    definition(&name)?;
    Some(Arc::new(inline(&name, &mut Vec::new())))
}

/// Returns the schema of `metadata` in the same form.
pub fn object_meta() -> Arc<Value> {
    Arc::clone(&META)
}

/// Follows a reference, alone or inside of a one-element `allOf`; returns the name of the definition and the definition.
pub fn resolve(schema: &'static Value) -> (Option<&'static str>, &'static Value) {
    match reference(schema).and_then(definition) {
        Some((name, definition)) => (Some(name), definition),
        None => (None, schema),
    }
}

/// Returns the name that a schema refers to.
pub fn reference(schema: &Value) -> Option<&str> {
    let target = schema.get("$ref").or_else(|| schema.pointer("/allOf/0/$ref"))?;
    target.as_str()?.strip_prefix(REFERENCE)
}

fn generate() -> Map<String, Value> {
    let mut generator = settings().into_generator();
    macro_rules! roots {
        ($($kind:ty),+ $(,)?) => { $( drop(generator.subschema_for::<$kind>()); )+ };
    }
    roots!(
        core::v1::ConfigMap,
        core::v1::Event,
        core::v1::Namespace,
        core::v1::Secret,
        core::v1::ServiceAccount,
        events::v1::Event,
        coordination::v1::Lease,
        apiextensions::v1::CustomResourceDefinition,
        admissionregistration::v1::MutatingWebhookConfiguration,
        admissionregistration::v1::ValidatingWebhookConfiguration,
        admissionregistration::v1::ValidatingAdmissionPolicy,
        admissionregistration::v1::ValidatingAdmissionPolicyBinding,
        certificates::v1::CertificateSigningRequest,
        rbac::v1::ClusterRole,
        rbac::v1::ClusterRoleBinding,
        rbac::v1::Role,
        rbac::v1::RoleBinding,
        authentication::v1::SelfSubjectReview,
        authentication::v1::TokenRequest,
        authentication::v1::TokenReview,
        authorization::v1::LocalSubjectAccessReview,
        authorization::v1::SelfSubjectAccessReview,
        authorization::v1::SelfSubjectRulesReview,
        authorization::v1::SubjectAccessReview,
        apps::v1::ControllerRevision,
        meta::v1::ObjectMeta,
        meta::v1::ListMeta,
        meta::v1::DeleteOptions,
        meta::v1::Status,
    );
    let mut definitions: Map<String, Value> = generator.take_definitions(true);
    for (name, definition) in &mut definitions {
        ask_for_no_metadata(definition);
        list_types::annotate(name, definition);
    }
    let untyped = super::resources().into_iter().filter(untyped::is_untyped);
    definitions.extend(
        untyped.filter_map(|resource| Some((definition_name(&resource)?, untyped::schema(&resource.kind)))),
    );
    definitions
}

fn settings() -> SchemaSettings {
    SchemaSettings::openapi3().with(|settings| settings.meta_schema = None)
}

/// `metadata` is required by the Rust types only; the API fills it in.
fn ask_for_no_metadata(definition: &mut Value) {
    if let Some(Value::Array(required)) = definition.get_mut("required") {
        required.retain(|member| member != "metadata");
    }
}

/// Replaces references by what they refer to.
fn inline(name: &str, above: &mut Vec<String>) -> Value {
    let free_form = || json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let Some((_, definition)) = definition(name) else {
        return free_form();
    };
    if above.iter().any(|ancestor| ancestor == name) {
        return free_form();
    }
    if list_types::is_free_form(name) {
        return json!({ "x-kubernetes-preserve-unknown-fields": true });
    }
    above.push(name.to_owned());
    let flat = flatten(definition, above);
    above.pop();
    flat
}

fn flatten(schema: &Value, above: &mut Vec<String>) -> Value {
    let Value::Object(map) = schema else {
        return schema.clone();
    };
    if let Some(name) = reference(schema) {
        let mut flat = inline(name, above);
        for (member, value) in map
            .iter()
            .filter(|(member, _)| member.starts_with("x-kubernetes-"))
        {
            if let Value::Object(flat) = &mut flat {
                flat.insert(member.clone(), value.clone());
            }
        }
        return flat;
    }
    let mut flat = Map::new();
    for (member, value) in map {
        match (member.as_str(), value) {
            ("description", _) => {}
            ("properties", Value::Object(properties)) => {
                let properties = properties
                    .iter()
                    .map(|(name, schema)| (name.clone(), flatten(schema, above)))
                    .collect();
                flat.insert(member.clone(), Value::Object(properties));
            }
            ("items" | "additionalProperties", Value::Object(_)) => {
                flat.insert(member.clone(), flatten(value, above));
            }
            _ => {
                flat.insert(member.clone(), value.clone());
            }
        }
    }
    Value::Object(flat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_definition_and_every_reference_a_target() {
        for resource in crate::builtin::resources() {
            let name = definition_name(&resource).expect("a name");
            assert!(definition(&name).is_some(), "{name}");
            assert!(structural(&resource).is_some(), "{name}");
        }
        let all: Vec<&Value> = definitions().map(|(_, definition)| definition).collect();
        let text = json!(all).to_string();
        for target in text.split("\"$ref\":\"").skip(1) {
            let name = target
                .split('"')
                .next()
                .and_then(|target| target.strip_prefix(REFERENCE))
                .expect("a local reference");
            assert!(definition(name).is_some(), "{name}");
        }
    }

    #[test]
    fn structural_schemas_are_inline_and_know_list_types() {
        let resources = crate::builtin::resources();
        for resource in &resources {
            let schema = structural(resource).expect("a schema");
            assert!(!schema.to_string().contains("\"$ref\":\"#"), "{}", resource.kind);
        }
        let account = resources
            .iter()
            .find(|resource| resource.kind == "ServiceAccount")
            .and_then(structural)
            .expect("a schema");
        assert_eq!(
            account.pointer("/properties/secrets/x-kubernetes-list-map-keys"),
            Some(&json!(["name"]))
        );
        assert_eq!(
            account.pointer("/properties/metadata/properties/finalizers/x-kubernetes-list-type"),
            Some(&json!("set"))
        );
    }
}
