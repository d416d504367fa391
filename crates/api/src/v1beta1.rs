//! The definitions of kinds that have `v1beta1` as well, derived from what `v1alpha1` serves.
//!
//! Decides which fields stand elsewhere: as Open Cluster Management has them, with Tidegate's own fields in the same place, so that
//! nothing has to be kept in an annotation. For hubs of our own; a hub with Open Cluster Management has its own definitions.

use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition, CustomResourceDefinitionVersion, WebhookClientConfig,
    WebhookConversion,
};
use serde_json::{Map, Value, json};

/// The webhook that converts between the versions.
#[derive(Clone, Debug)]
pub struct Converter<'a> {
    /// Its URL: an `https` address with its path.
    pub url: &'a str,
    /// The authority of its certificate (PEM).
    pub ca_pem: &'a str,
}

/// Adds `v1beta1` to the definition of a kind that has it; returns whether it has.
pub fn serve_v1beta1(crd: &mut CustomResourceDefinition, converter: &Converter<'_>) -> bool {
    let map: fn(&mut Value) = match crd.spec.names.kind.as_str() {
        "AddOnDeploymentConfig" | "AddOnTemplate" => |_| {},
        "ClusterManagementAddOn" => addon,
        "ManagedClusterAddOn" => cluster_addon,
        _ => return false,
    };
    let Some(stored) = crd.spec.versions.iter().find(|version| version.storage) else {
        return false;
    };
    let version = derived(stored, map);
    crd.spec.versions.retain(|known| known.name != version.name);
    crd.spec.versions.push(version);
    let is_converted =
        ["ClusterManagementAddOn", "ManagedClusterAddOn"].contains(&crd.spec.names.kind.as_str());
    crd.spec.conversion = is_converted.then(|| conversion(converter));
    true
}

fn conversion(converter: &Converter<'_>) -> CustomResourceConversion {
    CustomResourceConversion {
        strategy: "Webhook".to_owned(),
        webhook: Some(WebhookConversion {
            client_config: Some(WebhookClientConfig {
                ca_bundle: Some(ByteString(converter.ca_pem.as_bytes().to_vec())),
                service: None,
                url: Some(converter.url.to_owned()),
            }),
            conversion_review_versions: vec!["v1".to_owned()],
        }),
    }
}

fn derived(stored: &CustomResourceDefinitionVersion, map: fn(&mut Value)) -> CustomResourceDefinitionVersion {
    let mut version = stored.clone();
    "v1beta1".clone_into(&mut version.name);
    version.storage = false;
    if let Some(columns) = &mut version.additional_printer_columns {
        // It shows a field that this version has not got.
        columns.retain(|column| !column.json_path.starts_with(".spec.addOnConfiguration"));
    }
    if let Some(validation) = &mut version.schema {
        let mut schema =
            serde_json::to_value(&validation.open_api_v3_schema).expect("a schema is plain data");
        map(&mut schema);
        validation.open_api_v3_schema =
            Some(serde_json::from_value(schema).expect("what stands elsewhere is still a schema"));
    }
    version
}

/// The properties of an object somewhere in a schema: every step is a property, or `[]` for the items of a list.
fn properties<'a>(schema: &'a mut Value, steps: &[&str]) -> &'a mut Map<String, Value> {
    let pointer: String = steps
        .iter()
        .map(|step| match *step {
            "[]" => "/items".to_owned(),
            name => format!("/properties/{name}"),
        })
        .collect();
    schema
        .pointer_mut(&format!("{pointer}/properties"))
        .and_then(Value::as_object_mut)
        .expect("a field of the types in crates/api")
}

fn take(from: &mut Map<String, Value>, name: &str) -> Value {
    from.remove(name).expect("a field of the types in crates/api")
}

fn addon(schema: &mut Value) {
    let spec = properties(schema, &["spec"]);
    take(spec, "addOnConfiguration");
    let supported = take(spec, "supportedConfigs");
    spec.insert("defaultConfigs".to_owned(), supported);
    let item = properties(schema, &["spec", "defaultConfigs", "[]"]);
    let mut default = take(item, "defaultConfig");
    let coordinates = default.get_mut("properties").map(Value::take).unwrap_or_default();
    item.extend(coordinates.as_object().cloned().unwrap_or_default());
    if let Some(items) = schema.pointer_mut("/properties/spec/properties/defaultConfigs/items") {
        items["required"] = json!(["name", "resource"]);
    }
    let status = properties(schema, &["status"]);
    let references = take(status, "defaultconfigReferences");
    status.insert("defaultConfigReferences".to_owned(), references);
}

fn cluster_addon(schema: &mut Value) {
    take(properties(schema, &["spec"]), "installNamespace");
    let status = properties(schema, &["status"]);
    take(status, "addOnConfiguration");
    let driver = take(status, "kubeClientDriver");
    registrations(schema, &driver);
    let reference = properties(schema, &["status", "configReferences", "[]"]);
    take(reference, "name");
    take(reference, "namespace");
    if let Some(items) = schema.pointer_mut("/properties/status/properties/configReferences/items") {
        items["required"] = json!(["resource"]);
    }
}

fn registrations(schema: &mut Value, driver: &Value) {
    let item = properties(schema, &["status", "registrations", "[]"]);
    let signer = take(item, "signerName");
    let mut custom = take(item, "subject");
    let mut client = custom.clone();
    let units = take(properties(&mut custom, &[]), "organizationUnit");
    properties(&mut custom, &[]).insert("organizationUnits".to_owned(), units);
    take(properties(&mut client, &[]), "organizationUnit");
    item.extend([
        (
            "type".to_owned(),
            json!({"type": "string", "enum": ["kubeClient", "customSigner"],
            "description": "Type of the registration; its settings are in the field of this name."}),
        ),
        (
            "kubeClient".to_owned(),
            json!({"type": "object", "description": "Access to the hub.",
            "properties": {"driver": driver, "subject": client}}),
        ),
        (
            "customSigner".to_owned(),
            json!({"type": "object", "description": "A certificate from a signer of the add-on's own.",
            "required": ["signerName"], "properties": {"signerName": signer, "subject": custom}}),
        ),
    ]);
    if let Some(items) = schema.pointer_mut("/properties/status/properties/registrations/items") {
        items["required"] = json!(["type"]);
    }
}
