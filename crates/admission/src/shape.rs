//! The schema stage: what the CRD says about an object.
//!
//! Decides shape and unknown fields with our own CRDs, compiled once, in the order of the API server: prune, default,
//! validate. It stands here, before the API server's own check, because that check would hide every other fault.

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
/// The object has a field that no schema knows.
pub(super) const UNKNOWN_FIELD: &str = "schema/unknown-field";

/// Ids and documentation of the rules that every kind has.
pub(super) const DOCS: [(&str, &str); 3] = [
    (
        VALUE,
        "The object fits the schema of its CRD.\n\n\
         Types, required fields, patterns, list keys and the CRD's own expressions, with the words of Kubernetes. The \
         API server checks the same a moment later; here it stands beside all other faults of the object. Where a rule \
         has more to say about a field, the rule speaks alone. Refused.",
    ),
    (
        bounds::RULE,
        "Every part of the object is small enough to be judged.\n\n\
         An object has at most 100,000 values: maps, lists, texts, numbers, truths and nulls in its spec and in the metadata \
         that its authors write, the names of fields not counted. A list has at most 10,000 items, a text at most 1.5 MiB, and \
         nothing nests deeper than 64 levels. What is larger is refused before it is parsed, because its tree takes up to 90 \
         times the memory of its text, and no setting changes that. What is stored so warns: it may stay, lose something, and \
         be deleted. An object that is stored with too many values may keep its spec; any other change must make it small \
         enough.\n\n\
         The densest Kubernetes objects have 19 bytes a value. At 1.5 MiB, which is the most that an API server stores, that is \
         83,000 values.",
    ),
    (
        UNKNOWN_FIELD,
        "Every field is known to the schema.\n\n\
         The API server drops what its definition does not have, so that a misspelt field has no effect. Warns, with the \
         nearest field beside it. `tidegate check` reads files and uses the definitions of this version of Tidegate, \
         `tidegate check --live` those of the hub: a field that only a newer hub has is fine there, and one that an older hub \
         drops warns. The webhook and the audit say nothing: the API server has dropped such a field before, and has warned of it \
         itself.",
    ),
];

static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| api::crds().iter().flat_map(shapes).collect());

/// Compiles the definitions of all kinds now. The gate, which has a deadline for each decision, calls it before the first, which
/// would pay for it otherwise: on a busy machine with its whole time.
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
    /// Removes what the schema does not know and adds its defaults, as the API server does; tells what was unknown.
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

    /// Returns what the schema refuses, as long as the API server would refuse it too.
    pub(super) fn check(&self, object: &Value, old: Option<&Value>, stop: &Stop) -> Vec<Violation> {
        // What the schema only warns of, the API server will say itself.
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
    // The message opens with the words of its class, and so does a violation.
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
    let hint = is_second_default.then(|| {
        "a type stands here once; name more of its objects in spec.configuration.configs".to_owned()
    });
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
