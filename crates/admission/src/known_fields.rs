//! The fields of compiled CustomResourceDefinitions, those of this program and those of a hub: which fields are dropped, and the closest
//! known field.

use schema::Schema;
use serde_json::Value;

use kubernetes::field::{Path, Segment, nearest, quoted};

/// The maximum number of unknown fields for which a known field is suggested.
const MOST_SUGGESTED: usize = 20;

/// One version of one CRD, compiled.
pub(super) struct Shape {
    group: String,
    version: String,
    resource: String,
    /// The fields of its schema, as text: few objects have unknown fields, and a tree takes ten times as much memory.
    fields: Box<str>,
    pub(super) schema: Schema,
}

/// The known CRDs of a hub.
#[derive(Default)]
pub struct HubDefinitions(Vec<Shape>);

impl HubDefinitions {
    /// Compiles the CustomResourceDefinitions of a hub. One that cannot be compiled is unknown.
    pub fn of<'d>(definitions: impl IntoIterator<Item = &'d Value>) -> Self {
        Self(definitions.into_iter().flat_map(shapes).collect())
    }

    pub(super) fn shape(&self, group: &str, version: &str, resource: &str) -> Option<&Shape> {
        self.0.iter().find(|shape| shape.is_of(group, version, resource))
    }
}

impl std::fmt::Debug for HubDefinitions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HubDefinitions").field(&self.0.len()).finish()
    }
}

fn shapes(definition: &Value) -> Vec<Shape> {
    let text = |value: &Value, pointer: &str| -> Option<String> {
        value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
    };
    let names = text(definition, "/spec/group").zip(text(definition, "/spec/names/plural"));
    let Some((group, resource)) = names else {
        return Vec::new();
    };
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let served = versions.into_iter().flatten().filter(|version| {
        let served = version.get("served").and_then(Value::as_bool);
        served.unwrap_or_default()
    });
    served
        .filter_map(|version| {
            let schema = version.pointer("/schema/openAPIV3Schema")?.clone();
            let name = text(version, "/name")?;
            Shape::parse(group.as_str(), name.as_str(), resource.as_str(), schema)
        })
        .collect()
}

impl Shape {
    /// Compiles a version of a CRD; `None` if its schema is invalid.
    pub(super) fn parse(group: &str, version: &str, resource: &str, mut definition: Value) -> Option<Self> {
        let schema = Schema::parse(&definition).ok()?;
        keep_fields(&mut definition);
        Some(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.to_owned(),
            schema,
            fields: definition.to_string().into(),
        })
    }

    /// Returns whether it is the version of a resource.
    pub(super) fn is_of(&self, group: &str, version: &str, resource: &str) -> bool {
        self.group == group && self.version == version && self.resource == resource
    }

    /// Removes unknown fields. Returns those that users write, the first ones with the closest known field.
    pub(super) fn prune(&self, object: &mut Value) -> Vec<(Path, Option<String>)> {
        let removed = self.schema.prune(object);
        if removed.is_empty() {
            return Vec::new();
        }
        let (fields, mut suggestions) = (self.fields(), 0..MOST_SUGGESTED);
        let paths = removed.iter().map(|path| Path::parse(path)).filter(is_users);
        paths
            .map(|path| {
                let near = suggestions.next().and_then(|_| fields.nearest(&path));
                (path, near)
            })
            .collect()
    }

    /// Returns the fields of the schema.
    pub(super) fn fields(&self) -> Fields {
        Fields(serde_json::from_str(&self.fields).unwrap_or_default())
    }
}

/// The fields of a schema.
pub(super) struct Fields(Value);

impl Fields {
    /// Returns whether the schema has a field.
    pub(super) fn has(&self, path: &Path) -> bool {
        descend(&self.0, path.segments()).is_some()
    }

    fn nearest(&self, path: &Path) -> Option<String> {
        let (parent, last) = path.split_last()?;
        let name = match last {
            Segment::Key(name) => name.as_ref(),
            Segment::Entry(name) => name.as_str(),
            Segment::Index(_) => "",
        };
        let properties = descend(&self.0, parent.segments())
            .and_then(|schema| schema.get("properties")?.as_object())
            .map(|properties| properties.keys().map(String::as_str).collect::<Vec<_>>());
        let near = nearest(name, properties.unwrap_or_default());
        near.map(|near| format!("did you mean {}?", quoted(near)))
    }
}

/// Keeps of a schema which fields there are. The texts are most of it.
fn keep_fields(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    fields.retain(|name, _| ["properties", "items", "additionalProperties"].contains(&name.as_str()));
    for (name, value) in fields {
        match value.as_object_mut().filter(|_| name == "properties") {
            Some(properties) => properties.values_mut().for_each(keep_fields),
            None => keep_fields(value),
        }
    }
}

// The status belongs to its controller, and the API server checks metadata itself.
pub(super) fn is_users(path: &Path) -> bool {
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
