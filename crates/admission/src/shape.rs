//! The schema stage: what the CRD says about an object.
//!
//! Decides shape and unknown fields with our own CRDs, compiled once, in the order of the API server: prune, default,
//! validate. It stands here, before the API server's own check, because that check would hide every other fault.

use std::sync::LazyLock;

use schema::{Check, FieldError, Part, Schema, Stop};
use serde_json::Value;

use super::bounds;
use super::request::Request;
use field::{Class, Fault, Path, Segment, Violation, nearest, quoted};

/// The object does not fit the schema of its CRD.
pub(super) const VALUE: &str = "schema/value";
/// The most unknown fields that a known one is looked for.
const MOST_SUGGESTED: usize = 20;
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
         A list has at most 10,000 items, a map at most 100,000 entries, a text at most 1.5 MiB, and nothing nests deeper than \
         64 levels. What is larger is refused, because nobody looks into it, and no setting changes that. What is stored so \
         warns: it may stay, lose something, and go.",
    ),
    (
        UNKNOWN_FIELD,
        "Every field is known to the schema.\n\n\
         The API server drops what it does not know, so that a misspelt field has no effect. Warns, with the nearest \
         field beside it.",
    ),
];

/// One version of one CRD, compiled.
pub(super) struct Shape {
    group: String,
    version: String,
    resource: String,
    definition: Value,
    schema: Schema,
}

static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| api::crds().iter().flat_map(shapes).collect());

/// Compiles the definitions of all kinds now. The gate, which has a deadline for each decision, calls it before the first, which
/// would pay for it otherwise: on a busy machine with its whole time.
pub fn prepare() {
    LazyLock::force(&SHAPES);
}

/// Returns the shape of the objects that a request is about, if they are ours.
pub(super) fn of(request: &Request<'_>) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| {
        shape.group == request.group && shape.version == request.version && shape.resource == request.resource
    })
}

impl Shape {
    /// Removes what the schema does not know and adds its defaults, as the API server does; tells what was unknown.
    pub(super) fn settle(&self, object: &mut Value) -> Vec<Violation> {
        let removed = self.schema.prune(object);
        self.apply_defaults(object);
        let mut suggestions = 0..MOST_SUGGESTED;
        removed
            .iter()
            .filter_map(|path| self.unknown(Path::parse(path), suggestions.next().is_some()))
            .collect()
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

    fn unknown(&self, path: Path, suggests: bool) -> Option<Violation> {
        if !is_users(&path) {
            return None;
        }
        let (parent, last) = path.split_last()?;
        let name = match last {
            Segment::Key(name) => name.as_ref(),
            Segment::Entry(name) => name.as_str(),
            Segment::Index(_) => "",
        };
        let fault = Fault::bare(
            Class::Invalid,
            "unknown field: it is dropped when the object is stored",
        );
        if !suggests {
            return Some(fault.at(path, UNKNOWN_FIELD));
        }
        let properties = descend(&self.definition, parent.segments())
            .and_then(|schema| schema.get("properties")?.as_object())
            .map(|properties| properties.keys().map(String::as_str).collect::<Vec<_>>());
        let near = nearest(name, properties.unwrap_or_default());
        let fault = fault.hint_if(near.map(|near| format!("did you mean {}?", quoted(near))));
        Some(fault.at(path, UNKNOWN_FIELD))
    }
}

// The status belongs to the controller that observes, and the API server looks after metadata itself.
fn is_users(path: &Path) -> bool {
    match path.segments().first() {
        Some(Segment::Key(name)) => name != "status" && name != "metadata",
        Some(Segment::Index(_) | Segment::Entry(_)) | None => true,
    }
}

fn descend<'s>(schema: &'s Value, segments: &[Segment]) -> Option<&'s Value> {
    segments.iter().try_fold(schema, |schema, segment| match segment {
        Segment::Index(_) => schema.get("items"),
        Segment::Key(name) => named(schema, name),
        Segment::Entry(name) => named(schema, name),
    })
}

fn named<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let property = schema
        .get("properties")
        .and_then(|properties| properties.get(name));
    property.or_else(|| schema.get("additionalProperties"))
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
            let schema = Schema::parse(&definition).expect("our own definitions are structural");
            Some(Shape {
                group: crd.spec.group.clone(),
                version: version.name.clone(),
                resource: crd.spec.names.plural.clone(),
                definition,
                schema,
            })
        })
        .collect()
}
