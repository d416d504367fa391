//! Operations: parameters, bodies and answers of one request.
//!
//! Decides which parameters a request has; kubectl reads `dryRun`, `fieldValidation` and the patch types from here.

use serde_json::{Map, Value, json};

use super::schemas::{PATCH, refer};
use crate::Resource;
use crate::builtin::is_untyped;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    List,
    Post,
    DeleteCollection,
    Get,
    Put,
    Patch,
    Delete,
}

impl Action {
    /// Returns the HTTP method, the name of the action and the first word of operation ids.
    pub(super) fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::List => ("get", "list", "list"),
            Self::Post => ("post", "post", "create"),
            Self::DeleteCollection => ("delete", "deletecollection", "deleteCollection"),
            Self::Get => ("get", "get", "read"),
            Self::Put => ("put", "put", "replace"),
            Self::Patch => ("patch", "patch", "patch"),
            Self::Delete => ("delete", "delete", "delete"),
        }
    }

    /// Returns the verb that a resource must offer.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Post => "create",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::Put => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

/// One operation to be described.
pub(super) struct Operation<'a> {
    pub(super) resource: &'a Resource,
    pub(super) action: Action,
    /// Middle part of the operation id that tells operations of one kind apart, such as `NamespacedWidgetStatus`.
    pub(super) subject: String,
    /// Name of the schema that is sent and returned.
    pub(super) schema: &'a str,
    /// Kind that the operation names as its own.
    pub(super) kind: Value,
}

impl Operation<'_> {
    /// Returns the description of the operation.
    pub(super) fn describe(&self) -> Value {
        let (_, name, word) = self.action.names();
        let group: String = if self.resource.group.is_empty() {
            "core".to_owned()
        } else {
            camel(&self.resource.group)
        };
        let mut operation = Map::new();
        let mut set = |name: &str, value: Value| operation.insert(name.to_owned(), value);
        set(
            "operationId",
            json!(format!(
                "{word}{}{}{}",
                upper(&group),
                upper(&self.resource.version),
                self.subject
            )),
        );
        set("tags", json!([format!("{group}_{}", self.resource.version)]));
        set("x-kubernetes-action", json!(name));
        set("x-kubernetes-group-version-kind", self.kind.clone());
        set("parameters", Value::Array(self.parameters()));
        if let Some(body) = self.body() {
            set("requestBody", body);
        }
        let code = if self.action == Action::Post { "201" } else { "200" };
        let content: Map<String, Value> = ["application/json", "application/yaml"]
            .into_iter()
            .map(|kind| (kind.to_owned(), json!({ "schema": refer(self.schema) })))
            .collect();
        set(
            "responses",
            json!({ code: { "description": "OK", "content": content } }),
        );
        Value::Object(operation)
    }

    fn parameters(&self) -> Vec<Value> {
        let names: &[(&str, &str)] = match self.action {
            Action::List | Action::DeleteCollection => &[
                ("allowWatchBookmarks", "boolean"),
                ("continue", "string"),
                ("fieldSelector", "string"),
                ("labelSelector", "string"),
                ("limit", "integer"),
                ("resourceVersion", "string"),
                ("resourceVersionMatch", "string"),
                ("sendInitialEvents", "boolean"),
                ("timeoutSeconds", "integer"),
                ("watch", "boolean"),
            ],
            Action::Get => &[],
            Action::Post | Action::Put => &[
                ("dryRun", "string"),
                ("fieldManager", "string"),
                ("fieldValidation", "string"),
            ],
            Action::Patch => &[
                ("dryRun", "string"),
                ("fieldManager", "string"),
                ("fieldValidation", "string"),
                ("force", "boolean"),
            ],
            Action::Delete => &[
                ("dryRun", "string"),
                ("gracePeriodSeconds", "integer"),
                ("orphanDependents", "boolean"),
                ("propagationPolicy", "string"),
            ],
        };
        names
            .iter()
            .map(|(name, kind)| parameter(name, "query", kind))
            .collect()
    }

    fn body(&self) -> Option<Value> {
        let content = |types: &[&str], schema: &str| -> Value {
            types
                .iter()
                .map(|kind| ((*kind).to_owned(), json!({ "schema": refer(schema) })))
                .collect::<Map<_, _>>()
                .into()
        };
        match self.action {
            Action::List | Action::Get => None,
            Action::Post | Action::Put => Some(
                json!({ "required": true, "content": content(&["application/json", "application/yaml"], self.schema) }),
            ),
            Action::Patch => {
                let mut types = vec![
                    "application/apply-patch+yaml",
                    "application/json-patch+json",
                    "application/merge-patch+json",
                ];
                // Without a schema, kubectl takes the merge keys from its own types.
                if !self.resource.custom && !is_untyped(self.resource) {
                    types.push("application/strategic-merge-patch+json");
                }
                Some(json!({ "required": true, "content": content(&types, PATCH) }))
            }
            Action::Delete | Action::DeleteCollection => {
                let options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
                Some(json!({ "content": content(&["application/json"], options) }))
            }
        }
    }
}

/// Returns a parameter.
pub(super) fn parameter(name: &str, place: &str, kind: &str) -> Value {
    let mut parameter = json!({ "name": name, "in": place, "schema": { "type": kind, "uniqueItems": true } });
    if place == "path"
        && let Value::Object(map) = &mut parameter
    {
        map.insert("required".to_owned(), json!(true));
    }
    parameter
}

/// Turns `dev.example.io` into `devExampleIo`.
fn camel(group: &str) -> String {
    let mut parts = group.split(['.', '-']);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |joined, part| joined + &upper(part))
}

/// Turns the first letter into upper case.
pub(super) fn upper(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}
