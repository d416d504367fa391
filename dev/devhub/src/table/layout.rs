//! Tables: column definitions and rows for objects, lists and watch events.
//!
//! Decides the `Table` documents; cells come from `cells` (custom resources) and `built_in`.

use jiff::Timestamp;
use kubernetes::json_path::JsonPath;
use serde_json::{Map, Value, json};

use super::built_in;
use super::cells::cell;
use super::columns::{BuiltIn, CREATED, NAME, definition};
use super::partial::partial_object;
use super::style::{Include, Style};
use crate::Resource;

/// The columns of one resource.
#[derive(Debug)]
pub struct Layout {
    columns: Vec<Column>,
}

#[derive(Debug)]
struct Column {
    definition: Value,
    source: Source,
}

enum Source {
    Name,
    Path { kind: String, path: Option<JsonPath> },
    Function(fn(&Value, Timestamp) -> Value),
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name => f.write_str("Name"),
            Self::Path { kind, path } => write!(f, "Path({kind}, {path:?})"),
            Self::Function(_) => f.write_str("Function"),
        }
    }
}

impl Layout {
    /// Returns the layout of a built-in or custom resource.
    pub fn of(resource: &Resource) -> Self {
        if !resource.custom {
            let named = built_in::begins_with_name(resource).then(name_column);
            return Self {
                columns: named
                    .into_iter()
                    .chain(built_in::columns(resource).iter().map(from_built_in))
                    .collect(),
            };
        }
        let mut columns = vec![name_column()];
        columns.extend(resource.columns.iter().map(|column| {
            let description = match column.description.as_str() {
                "" => format!(
                    "Custom resource definition column (in JSONPath format): {}",
                    column.json_path
                ),
                text => text.to_owned(),
            };
            let definition = definition(
                &column.name,
                &column.kind,
                &column.format,
                &description,
                column.priority,
            );
            path_column(definition, &column.kind, &column.json_path)
        }));
        if resource.columns.is_empty() {
            columns.push(path_column(
                definition("Age", "date", "", CREATED, 0),
                "date",
                ".metadata.creationTimestamp",
            ));
        }
        Self { columns }
    }

    /// Returns the table of a list; `metadata` is that of the list.
    pub fn list(&self, metadata: &Value, items: &[Value], style: Style, now: Timestamp) -> Value {
        let rows: Vec<Value> = items.iter().map(|item| self.row(item, style, now)).collect();
        table(style, metadata, &self.definitions(), &rows)
    }

    /// Returns the table of one object.
    pub fn object(&self, object: &Value, style: Style, now: Timestamp) -> Value {
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        table(
            style,
            &version_only(metadata),
            &self.definitions(),
            &[self.row(object, style, now)],
        )
    }

    /// Returns the table of a later event of a watch, which repeats no column definitions; the first event takes
    /// [`Layout::object`].
    pub fn later_event(&self, object: &Value, style: Style, now: Timestamp) -> Value {
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        table(
            style,
            &version_only(metadata),
            &Value::Null,
            &[self.row(object, style, now)],
        )
    }

    /// Returns the table of a bookmark: one row of empty cells. `first` says whether it is the first event of its watch.
    pub fn bookmark(&self, object: &Value, style: Style, first: bool) -> Value {
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        let cells: Vec<Value> = self.columns.iter().map(|_| Value::Null).collect();
        let row = json!({ "cells": cells, "object": carried(object, style) });
        let definitions = if first { self.definitions() } else { Value::Null };
        table(style, &version_only(metadata), &definitions, &[row])
    }

    fn definitions(&self) -> Value {
        self.columns
            .iter()
            .map(|column| column.definition.clone())
            .collect()
    }

    fn row(&self, object: &Value, style: Style, now: Timestamp) -> Value {
        let cells: Vec<Value> = self
            .columns
            .iter()
            .map(|column| match &column.source {
                Source::Name => object
                    .pointer("/metadata/name")
                    .cloned()
                    .unwrap_or_else(|| json!("")),
                Source::Path { kind, path } => cell(object, path.as_ref(), kind, now),
                Source::Function(function) => function(object, now),
            })
            .collect();
        json!({ "cells": cells, "object": carried(object, style) })
    }
}

fn carried(object: &Value, style: Style) -> Value {
    match style.include {
        Include::None => Value::Null,
        Include::Metadata => partial_object(object, style.version),
        Include::Object => object.clone(),
    }
}

fn table(style: Style, metadata: &Value, definitions: &Value, rows: &[Value]) -> Value {
    let mut kept = Map::new();
    for member in ["resourceVersion", "continue", "remainingItemCount"] {
        if let Some(value) = metadata
            .get(member)
            .filter(|value| !value.is_null() && *value != "")
        {
            kept.insert(member.to_owned(), value.clone());
        }
    }
    json!({
        "kind": "Table", "apiVersion": style.version.api_version(), "metadata": kept,
        "columnDefinitions": definitions, "rows": rows,
    })
}

fn version_only(metadata: &Value) -> Value {
    json!({ "resourceVersion": metadata.get("resourceVersion") })
}

fn name_column() -> Column {
    Column {
        definition: definition("Name", "string", "name", NAME, 0),
        source: Source::Name,
    }
}

fn path_column(definition: Value, kind: &str, path: &str) -> Column {
    Column {
        definition,
        source: Source::Path {
            kind: kind.to_owned(),
            path: JsonPath::parse(path).ok(),
        },
    }
}

fn from_built_in(column: &BuiltIn) -> Column {
    let format = if column.name == "Name" { "name" } else { "" };
    let definition = definition(
        column.name,
        column.kind,
        format,
        column.description,
        column.priority,
    );
    Column {
        definition,
        source: Source::Function(column.cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use crate::table::style::MetaVersion;

    const STYLE: Style = Style {
        version: MetaVersion::V1,
        include: Include::None,
    };

    fn now() -> Timestamp {
        "2020-01-01T00:01:00Z".parse().expect("a time")
    }

    fn kind(group: &str, name: &str) -> Resource {
        builtin::resources()
            .into_iter()
            .find(|resource| resource.group == group && resource.kind == name)
            .expect("a kind")
    }

    fn custom(columns: &[(&str, &str, &str)]) -> Resource {
        let mut resource = kind("", "ConfigMap");
        resource.custom = true;
        resource.columns = columns
            .iter()
            .map(|(name, kind, path)| crate::Column {
                name: (*name).to_owned(),
                kind: (*kind).to_owned(),
                format: String::new(),
                description: String::new(),
                priority: 0,
                json_path: (*path).to_owned(),
            })
            .collect();
        resource
    }

    fn cells(resource: &Resource, object: &Value) -> Value {
        Layout::of(resource).object(object, STYLE, now())["rows"][0]["cells"].clone()
    }

    #[test]
    fn custom_columns_have_the_recorded_cells() {
        let resource = custom(&[
            ("Str", "string", ".spec.s"),
            ("Int", "integer", ".spec.i"),
            ("Num", "number", ".spec.n"),
            ("Bool", "boolean", ".spec.b"),
            ("Idx", "string", ".spec.list[0]"),
            ("All", "string", ".spec.list[*]"),
            ("Filter", "string", ".spec.objs[?(@.k==\"b\")].v"),
            ("Obj", "string", ".spec.o"),
            ("Esc", "string", r".metadata.labels.example\.com/x"),
            ("Brk", "string", ".metadata.annotations['a.b/c']"),
            ("Mismatch", "integer", ".spec.s"),
            ("Date", "date", ".spec.d"),
            ("Last", "string", ".spec.list[-1:]"),
            ("Missing", "string", ".spec.none"),
        ]);
        let a = json!({"metadata": {"name": "a", "labels": {"example.com/x": "lx"}, "annotations": {"a.b/c": "ab"}},
            "spec": {"s": "str", "i": 5, "n": 1.5, "b": true, "list": ["x", "y"], "objs": [{"k": "a", "v": 1}, {"k": "b", "v": 2}], "o": {"p": 1}, "d": "not a date"}});
        let b = json!({"metadata": {"name": "b"}, "spec": {"s": 5, "i": "x", "n": 2, "list": [], "objs": [], "o": {}}});
        let c = json!({"metadata": {"name": "c"}});
        for (object, expected) in [
            (
                a,
                json!([
                    "a",
                    "str",
                    5,
                    1.5,
                    true,
                    "x",
                    "x",
                    "2",
                    "{\"p\":1}",
                    "lx",
                    null,
                    null,
                    "<invalid>",
                    "y",
                    null
                ]),
            ),
            (
                b,
                json!([
                    "b", "5", null, 2, null, null, null, null, "{}", null, null, 5, null, null, null
                ]),
            ),
            (
                c,
                json!([
                    "c", null, null, null, null, null, null, null, null, null, null, null, null, null, null
                ]),
            ),
        ] {
            assert_eq!(cells(&resource, &object), expected);
        }
    }

    #[test]
    fn custom_resources_without_columns_show_name_and_age() {
        let table = Layout::of(&custom(&[])).list(
            &json!({"resourceVersion": "7", "continue": ""}),
            &[],
            STYLE,
            now(),
        );
        let names: Vec<&Value> = table["columnDefinitions"]
            .as_array()
            .expect("columns")
            .iter()
            .map(|column| &column["name"])
            .collect();
        assert_eq!(names, ["Name", "Age"]);
        assert!(
            table["columnDefinitions"][0]["description"]
                .as_str()
                .expect("a text")
                .len()
                > 60
        );
        assert_eq!(
            (&table["metadata"], &table["rows"]),
            (&json!({"resourceVersion": "7"}), &json!([]))
        );
    }

    #[test]
    fn rows_carry_what_was_asked_for() {
        let layout = Layout::of(&custom(&[]));
        let object = json!({"kind": "K", "metadata": {"name": "a", "resourceVersion": "7"}, "spec": {}});
        for (include, expected) in [
            ("None", Value::Null),
            (
                "",
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1beta1", "metadata": {"name": "a", "resourceVersion": "7"}}),
            ),
            ("Object", object.clone()),
        ] {
            let style = Style {
                version: MetaVersion::V1Beta1,
                include: Include::parse(include).expect("legal"),
            };
            assert_eq!(
                layout.object(&object, style, now())["rows"][0]["object"],
                expected
            );
        }
        let error = Include::parse("Bogus").expect_err("unknown");
        assert_eq!(
            error.message,
            "Unable to convert to Table as requested: includeObject: Invalid value: \"Bogus\": must be 'Metadata', 'Object', 'None', or empty"
        );
    }

    #[test]
    fn watches_define_columns_once() {
        let layout = Layout::of(&kind("", "Namespace"));
        let object = json!({"metadata": {"name": "n", "resourceVersion": "7", "creationTimestamp": "2020-01-01T00:00:00Z"}, "status": {"phase": "Active"}});
        assert_eq!(
            layout.object(&object, STYLE, now())["columnDefinitions"]
                .as_array()
                .map(Vec::len),
            Some(3)
        );
        let later = layout.later_event(&object, STYLE, now());
        assert_eq!(
            (&later["columnDefinitions"], &later["rows"][0]["cells"]),
            (&Value::Null, &json!(["n", "Active", "60s"]))
        );
        let bookmark = layout.bookmark(&json!({"metadata": {"resourceVersion": "9"}}), STYLE, false);
        assert_eq!(
            (&bookmark["rows"][0]["cells"], &bookmark["metadata"]),
            (&json!([null, null, null]), &json!({"resourceVersion": "9"}))
        );
    }

    fn built_in_cells(group: &str, name: &str, mut object: Value) -> Value {
        object["metadata"] = json!({"name": "x", "creationTimestamp": "2020-01-01T00:00:00Z"});
        cells(&kind(group, name), &object)
    }

    #[test]
    fn built_in_kinds_show_what_kubectl_expects() {
        for (group, name, object, expected) in [
            (
                "",
                "ConfigMap",
                json!({"data": {"a": "1"}, "binaryData": {"b": "AA=="}}),
                json!(["x", 2, "60s"]),
            ),
            (
                "",
                "Secret",
                json!({"type": "Opaque", "data": {"a": "MQ=="}}),
                json!(["x", "Opaque", 1, "60s"]),
            ),
            ("", "ServiceAccount", json!({}), json!(["x", 0, "60s"])),
            (
                "coordination.k8s.io",
                "Lease",
                json!({"spec": {"holderIdentity": "me"}}),
                json!(["x", "me", "60s"]),
            ),
            (
                "admissionregistration.k8s.io",
                "ValidatingWebhookConfiguration",
                json!({"webhooks": [{}]}),
                json!(["x", 1, "60s"]),
            ),
            (
                "rbac.authorization.k8s.io",
                "Role",
                json!({}),
                json!(["x", "2020-01-01T00:00:00Z"]),
            ),
            (
                "apiextensions.k8s.io",
                "CustomResourceDefinition",
                json!({}),
                json!(["x", "2020-01-01T00:00:00Z"]),
            ),
        ] {
            assert_eq!(built_in_cells(group, name, object), expected, "{name}");
        }
    }

    #[test]
    fn bindings_and_events_show_what_kubectl_expects() {
        for (group, name, object, expected) in [
            (
                "rbac.authorization.k8s.io",
                "RoleBinding",
                json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "namespace": "n", "name": "s"}]}),
                json!(["x", "Role/r", "60s", "u", "", "n/s"]),
            ),
            (
                "",
                "Event",
                json!({"type": "Normal", "reason": "Tested", "message": "hello\n", "involvedObject": {"kind": "Widget", "name": "w1"},
                       "source": {"component": "golden"}, "firstTimestamp": "2020-01-01T00:00:30Z", "lastTimestamp": "2020-01-01T00:00:50Z", "count": 2}),
                json!([
                    "10s",
                    "Normal",
                    "Tested",
                    "widget/w1",
                    "",
                    "golden",
                    "hello",
                    "30s",
                    2,
                    "x"
                ]),
            ),
        ] {
            assert_eq!(built_in_cells(group, name, object), expected, "{name}");
        }
    }
}
