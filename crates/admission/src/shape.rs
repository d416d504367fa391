//! The schema stage: checks an object with the schema of its CRD.
//!
//! Uses the CRDs of this program, compiled once, in the order of the API server: prune, default, validate. It runs before the check of
//! the API server, because that check would hide every other fault.

use std::sync::LazyLock;

use schema::{Check, FieldError, Part, Stop};
use serde_json::Value;

use super::bounds;
pub(super) use super::known_fields::Shape;
use super::known_fields::is_users;
use super::request::Request;
use super::subject::{AddonPolicy, Kind as _};
use api::names::OWN_GROUP;
use api::v1alpha1::GROUP;
use kubernetes::field::{Class, Fault, Path, Violation};

/// The object does not fit the schema of its CRD.
pub(super) const VALUE: &str = "schema/value";
/// The object has a field that the schema does not have.
pub(super) const UNKNOWN_FIELD: &str = "schema/unknown-field";

/// Ids and documentation of the rules that every kind has.
pub(super) const DOCS: [(&str, &str); 3] = [
    (
        VALUE,
        "The object matches the schema of its CRD.\n\n\
         The webhook checks types, required fields, patterns, list keys and the expressions of the CRD, with the messages of \
         Kubernetes. The API server makes the same checks after the webhook, but reports only these faults; the webhook reports all other \
         faults of the object as well. If a rule reports a fault of the same field, only the message of the rule is shown. Refused.",
    ),
    (
        bounds::RULE,
        "Every part of the object is within the size limits of the webhook.\n\n\
         An object has at most 100,000 values: maps, lists, strings, numbers, booleans and nulls in its spec and in the metadata \
         that users write; the names of fields do not count. A list has at most 10,000 items, a string at most 1.5 MiB, and \
         the nesting is at most 64 levels deep. A larger object is refused before it is parsed, because the parsed object needs up to \
         90 times the memory of its text, and no setting changes that. An object that is already stored with a part above a limit \
         warns: the part can stay as it is, become smaller, or be deleted. An object that is stored with too many values can \
         keep its spec; any other change must reduce it below the limit.\n\n\
         The densest Kubernetes objects have 19 bytes per value. With 1.5 MiB, the most that an API server stores, that is 83,000 \
         values.",
    ),
    (
        UNKNOWN_FIELD,
        "Every field is in the schema of its CRD.\n\n\
         The API server drops fields that its CRD does not have, so a misspelt field has no effect. Warns, and suggests the closest \
         field. `tidegate check` uses the CRDs of this version of Tidegate, and `tidegate check --live` uses those of the hub: then a \
         field that only a newer hub has is accepted, and a field that an older hub drops warns. The webhook and the audit do not \
         report unknown fields, because the API server has already dropped them and printed its own warning.",
    ),
];

static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| api::crds().iter().flat_map(shapes).collect());

/// Compiles the CRDs of all kinds. The gate calls it at the start, because otherwise the first request would compile them, which on a
/// busy machine takes as long as its deadline.
pub fn prepare() {
    LazyLock::force(&SHAPES);
}

/// Returns the shape of the objects that a request is about, if they are ours.
pub(super) fn of(request: &Request<'_>) -> Option<&'static Shape> {
    // A policy of the former group has the shape of one of the present group.
    let is_policy = request.resource == AddonPolicy::RESOURCE;
    let group = if is_policy && request.group == GROUP {
        OWN_GROUP
    } else {
        request.group
    };
    SHAPES
        .iter()
        .find(|shape| shape.is_of(group, request.version, request.resource))
}

impl Shape {
    /// Removes unknown fields and adds the defaults of the schema, as the API server does. Returns the unknown fields.
    pub(super) fn settle(&self, object: &mut Value) -> Vec<Violation> {
        let removed = self.prune(object);
        self.apply_defaults(object);
        let detail = "unknown field: it is dropped when the object is stored";
        let unknown = removed.into_iter().map(|(path, near)| {
            let fault = Fault::bare(Class::Invalid, detail).hint_if(near);
            fault.at(path, UNKNOWN_FIELD)
        });
        unknown.collect()
    }

    /// Adds the defaults of the schema.
    pub(super) fn apply_defaults(&self, object: &mut Value) {
        self.schema.apply_defaults(object);
    }

    /// Returns the faults for which the API server rejects the object as well.
    pub(super) fn check(&self, object: &Value, old: Option<&Value>, stop: &Stop) -> Vec<Violation> {
        // The API server itself reports the warnings of the schema.
        let checked = self.schema.check(&Check {
            new: object,
            old,
            part: Part::Whole,
            before: &[],
            stop,
        });
        let errors = checked.errors;
        errors
            .iter()
            .map(violation)
            .filter(|violation| is_users(violation.path()))
            .collect()
    }
}

fn violation(error: &FieldError) -> Violation {
    let class = error.class;
    // The message starts with the title of its class, and so does a violation.
    let rest = error
        .message
        .strip_prefix(class.title())
        .unwrap_or(&error.message);
    let detail = rest.strip_prefix(": ").unwrap_or(rest);
    let path = if error.field == "<nil>" {
        Path::root()
    } else {
        Path::parse(&error.field)
    };
    let is_second_default = class == Class::Duplicate && error.field.starts_with("spec.supportedConfigs[");
    let hint = is_second_default
        .then(|| "list a type once; add more of its objects to spec.configuration.configs".to_owned());
    Fault::bare(class, detail).hint_if(hint).at(path, VALUE)
}

fn shapes(
    crd: &k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
) -> Vec<Shape> {
    let served = crd.spec.versions.iter().filter(|version| version.served);
    served
        .filter_map(|version| {
            let definition = version.schema.as_ref()?.open_api_v3_schema.as_ref()?;
            let definition = serde_json::to_value(definition).expect("a schema is plain data");
            let shape = Shape::parse(&crd.spec.group, &version.name, &crd.spec.names.plural, definition);
            Some(shape.expect("our own definitions are structural"))
        })
        .collect()
}
