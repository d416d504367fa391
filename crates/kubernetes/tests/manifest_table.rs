//! The table of schemas against the library that it is made from: `UPDATE_EXPECT=1` writes it again.

#![expect(clippy::disallowed_methods, reason = "a test reads files and clocks")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use k8s_openapi::Resource;
use k8s_openapi::api::{
    admissionregistration, apps, autoscaling, batch, coordination, core, discovery, networking, policy, rbac,
    scheduling, storage,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

const HEAD: &str = "\
# The schemas of Kubernetes 1.36 without their prose, written by tests/table.rs from k8s-openapi: change that instead.
# A line of three words is a kind and its definition; \"@\" begins a definition, \"!\" marks a field that has to be there.
";

/// Kinds, and where their definitions begin.
#[derive(Default)]
struct Table {
    roots: BTreeSet<String>,
    generator: SchemaGenerator,
}

impl Table {
    fn add<K: Resource + JsonSchema>(mut self) -> Self {
        let _reference = self.generator.subschema_for::<K>();
        let name = short(&K::schema_name());
        self.roots
            .insert(format!("{} {} {name}", K::API_VERSION, K::KIND));
        self
    }

    fn text(mut self) -> String {
        let definitions: BTreeMap<String, Value> = self
            .generator
            .take_definitions(true)
            .into_iter()
            .map(|(name, schema)| (short(&name), schema))
            .collect();
        let mut out = HEAD.to_owned();
        for root in &self.roots {
            writeln!(out, "{root}").expect("a string takes everything");
        }
        for (name, schema) in &definitions {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                continue;
            };
            writeln!(out, "@{name}").expect("a string takes everything");
            let required: Vec<&str> = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            for (field, of) in properties {
                // What the status says is thrown away when a manifest is applied.
                if field == "status" && self.roots.iter().any(|root| root.ends_with(&format!(" {name}"))) {
                    continue;
                }
                let mark = if required.contains(&field.as_str()) {
                    "!"
                } else {
                    ""
                };
                writeln!(out, "{field}{mark} {}", word(of, &definitions)).expect("a string takes everything");
            }
        }
        reachable(&out, &self.roots)
    }
}

/// Leaves out what no kind leads to.
fn reachable(text: &str, roots: &BTreeSet<String>) -> String {
    let mut blocks: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut here = "";
    for line in text
        .lines()
        .filter(|line| !line.starts_with('#') && line.split(' ').count() < 3)
    {
        match line.strip_prefix('@') {
            Some(name) => here = name,
            None => blocks.entry(here).or_default().push(line),
        }
    }
    let mut wanted: Vec<&str> = roots.iter().filter_map(|root| root.split(' ').nth(2)).collect();
    let mut seen = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if !seen.insert(name) {
            continue;
        }
        for line in blocks.get(name).into_iter().flatten() {
            let of = line.split(' ').nth(1).unwrap_or_default();
            let of = of
                .trim_start_matches("[]")
                .trim_start_matches("{}")
                .trim_start_matches("[]");
            if blocks.contains_key(of) {
                wanted.push(of);
            }
        }
    }
    let mut out = HEAD.to_owned();
    for root in roots {
        writeln!(out, "{root}").expect("a string takes everything");
    }
    for (name, lines) in blocks.iter().filter(|(name, _)| seen.contains(*name)) {
        writeln!(out, "@{name}").expect("a string takes everything");
        for line in lines {
            writeln!(out, "{line}").expect("a string takes everything");
        }
    }
    out
}

/// `io.k8s.api.apps.v1.Deployment` is `apps.v1.Deployment`.
fn short(name: &str) -> String {
    let parts: Vec<&str> = name.rsplitn(4, '.').take(3).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join(".")
}

/// The word for a type.
fn word(schema: &Value, definitions: &BTreeMap<String, Value>) -> String {
    if let Some(reference) = reference(schema) {
        let name = short(reference.rsplit('/').next().unwrap_or_default());
        return match name.as_str() {
            name if name.ends_with(".Quantity") => "quantity".to_owned(),
            name if name.ends_with(".IntOrString") => "text-or-whole".to_owned(),
            name => match definitions.get(name) {
                Some(found) if found.get("properties").is_none() => word(found, definitions),
                Some(_) => name.to_owned(),
                None => "any".to_owned(),
            },
        };
    }
    let format = schema["format"].as_str().unwrap_or_default();
    match schema["type"].as_str().unwrap_or_default() {
        "string" if format == "byte" => "bytes".to_owned(),
        "string" if format == "int-or-string" => "text-or-whole".to_owned(),
        "string" => "text".to_owned(),
        "integer" => "whole".to_owned(),
        "number" => "number".to_owned(),
        "boolean" => "bool".to_owned(),
        "array" => format!("[]{}", word(&schema["items"], definitions)),
        "object" if schema["additionalProperties"].is_object() => {
            format!("{{}}{}", word(&schema["additionalProperties"], definitions))
        }
        _ => "any".to_owned(),
    }
}

/// The definition that a schema refers to, alone or beside a description of its own.
fn reference(schema: &Value) -> Option<&str> {
    let one = schema["allOf"]
        .as_array()
        .and_then(|all| all.first())
        .unwrap_or(schema);
    one["$ref"].as_str()
}

fn table() -> String {
    let settings = SchemaSettings::draft07();
    let table = Table {
        generator: settings.into_generator(),
        ..Table::default()
    };
    table
        .add::<admissionregistration::v1::MutatingWebhookConfiguration>()
        .add::<admissionregistration::v1::ValidatingAdmissionPolicy>()
        .add::<admissionregistration::v1::ValidatingAdmissionPolicyBinding>()
        .add::<admissionregistration::v1::ValidatingWebhookConfiguration>()
        .add::<apiextensions::v1::CustomResourceDefinition>()
        .add::<apiregistration::v1::APIService>()
        .add::<apps::v1::DaemonSet>()
        .add::<apps::v1::Deployment>()
        .add::<apps::v1::ReplicaSet>()
        .add::<apps::v1::StatefulSet>()
        .add::<autoscaling::v2::HorizontalPodAutoscaler>()
        .add::<batch::v1::CronJob>()
        .add::<batch::v1::Job>()
        .add::<coordination::v1::Lease>()
        .add::<core::v1::ConfigMap>()
        .add::<core::v1::Endpoints>()
        .add::<core::v1::LimitRange>()
        .add::<core::v1::Namespace>()
        .add::<core::v1::PersistentVolume>()
        .add::<core::v1::PersistentVolumeClaim>()
        .add::<core::v1::Pod>()
        .add::<core::v1::ReplicationController>()
        .add::<core::v1::ResourceQuota>()
        .add::<core::v1::Secret>()
        .add::<core::v1::Service>()
        .add::<core::v1::ServiceAccount>()
        .add::<discovery::v1::EndpointSlice>()
        .add::<networking::v1::Ingress>()
        .add::<networking::v1::IngressClass>()
        .add::<networking::v1::NetworkPolicy>()
        .add::<policy::v1::PodDisruptionBudget>()
        .add::<rbac::v1::ClusterRole>()
        .add::<rbac::v1::ClusterRoleBinding>()
        .add::<rbac::v1::Role>()
        .add::<rbac::v1::RoleBinding>()
        .add::<scheduling::v1::PriorityClass>()
        .add::<storage::v1::CSIDriver>()
        .add::<storage::v1::StorageClass>()
        .text()
}

#[test]
fn the_table_says_what_the_library_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/manifest/schemas.txt");
    let made = table();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, &made).expect("writable");
        return;
    }
    let committed = std::fs::read_to_string(path).expect("the table");
    assert!(
        committed == made,
        "{path} is not what k8s-openapi says; UPDATE_EXPECT=1 rewrites it"
    );
    assert!(
        made.len() < 128 << 10,
        "the table is part of the binary: {} bytes",
        made.len()
    );
}
