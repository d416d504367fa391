//! Paths of a document.
//!
//! Decides under which paths a resource is reached and which operations each path has.

use serde_json::{Map, Value, json};

use super::operation::{Action, Operation, parameter, upper};
use super::schemas;
use crate::builtin::subresources;
use crate::{Resource, Scope};

/// Returns the paths of all resources of one group and version.
pub(super) fn of(resources: &[&Resource]) -> Map<String, Value> {
    let mut paths = Map::new();
    for resource in resources {
        add_main(&mut paths, resource);
        add_subresources(&mut paths, resource);
    }
    paths
}

/// Returns the single path of a document that describes no resource.
pub(super) fn discovery(path: &str) -> Map<String, Value> {
    let slash = if path == "version" { "" } else { "/" };
    let name: String = path.split(['/', '.', '-']).map(upper).collect();
    let operation = json!({
        "operationId": format!("get{name}"), "tags": [path.split('/').next_back()],
        "responses": { "200": { "description": "OK" } },
    });
    Map::from_iter([(format!("/{path}{slash}"), json!({ "get": operation }))])
}

fn base(resource: &Resource) -> String {
    let root = if resource.group.is_empty() { "api" } else { "apis" };
    format!("/{root}/{}", resource.api_version())
}

/// Returns the path of the collection as seen from inside a namespace, or of the whole for cluster-scoped kinds.
fn collection(resource: &Resource) -> String {
    match resource.scope {
        Scope::Namespaced => format!("{}/namespaces/{{namespace}}/{}", base(resource), resource.plural),
        Scope::Cluster => format!("{}/{}", base(resource), resource.plural),
    }
}

fn add_main(paths: &mut Map<String, Value>, resource: &Resource) {
    let scoped = if resource.scope == Scope::Namespaced {
        "Namespaced"
    } else {
        ""
    };
    let own = schemas::name(resource);
    let list = schemas::list_name(resource);
    let subject = format!("{scoped}{}", resource.kind);
    let describe = |action: Action, subject: &str| {
        let schema = match action {
            Action::List => list.as_str(),
            Action::DeleteCollection | Action::Delete => "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
            Action::Post | Action::Get | Action::Put | Action::Patch => own.as_str(),
        };
        let kind = json!({ "group": resource.group, "version": resource.version, "kind": resource.kind });
        Operation {
            resource,
            action,
            subject: subject.to_owned(),
            schema,
            kind,
        }
        .describe()
    };
    let mut add = |path: String, actions: &[Action], subject: &str| {
        let offered = actions
            .iter()
            .filter(|action| resource.verbs.iter().any(|verb| verb == action.verb()));
        let operations: Vec<(Action, Value)> = offered
            .map(|action| (*action, describe(*action, subject)))
            .collect();
        if !operations.is_empty() {
            paths.insert(path.clone(), item(&path, operations));
        }
    };
    let path = collection(resource);
    add(
        path.clone(),
        &[Action::List, Action::Post, Action::DeleteCollection],
        &subject,
    );
    add(
        format!("{path}/{{name}}"),
        &[Action::Get, Action::Put, Action::Patch, Action::Delete],
        &subject,
    );
    if resource.scope == Scope::Namespaced {
        let everywhere = format!("{}/{}", base(resource), resource.plural);
        add(
            everywhere,
            &[Action::List],
            &format!("{}ForAllNamespaces", resource.kind),
        );
    }
}

fn add_subresources(paths: &mut Map<String, Value>, resource: &Resource) {
    let scoped = if resource.scope == Scope::Namespaced {
        "Namespaced"
    } else {
        ""
    };
    let own = json!({ "group": resource.group, "version": resource.version, "kind": resource.kind });
    let read_write = vec![Action::Get, Action::Put, Action::Patch];
    let mut below: Vec<(&str, Value, String, Vec<Action>)> = Vec::new();
    if resource.custom && resource.status {
        below.push(("status", own, schemas::name(resource), read_write));
    }
    for found in subresources(resource) {
        let schema = schemas::foreign(&found).unwrap_or_else(|| schemas::name(resource));
        let kind = json!({ "group": found.group, "version": found.version, "kind": found.kind });
        let actions = [Action::Get, Action::Put, Action::Patch, Action::Post];
        let offered = actions
            .into_iter()
            .filter(|action| found.verbs.contains(&action.verb()))
            .collect();
        below.push((found.name, kind, schema, offered));
    }
    for (name, kind, schema, actions) in below {
        let path = format!("{}/{{name}}/{name}", collection(resource));
        let subject = format!("{scoped}{}{}", resource.kind, upper(name));
        let operations = actions
            .into_iter()
            .map(|action| {
                (
                    action,
                    Operation {
                        resource,
                        action,
                        subject: subject.clone(),
                        schema: &schema,
                        kind: kind.clone(),
                    }
                    .describe(),
                )
            })
            .collect();
        paths.insert(path.clone(), item(&path, operations));
    }
}

/// Returns a path item; the parameters of the path and `pretty` stand for all of its operations.
fn item(path: &str, operations: Vec<(Action, Value)>) -> Value {
    let mut item: Map<String, Value> = operations
        .into_iter()
        .map(|(action, operation)| (action.names().0.to_owned(), operation))
        .collect();
    let mut parameters: Vec<Value> = ["name", "namespace"]
        .into_iter()
        .filter(|name| path.contains(&format!("{{{name}}}")))
        .map(|name| parameter(name, "path", "string"))
        .collect();
    parameters.push(parameter("pretty", "query", "string"));
    item.insert("parameters".to_owned(), Value::Array(parameters));
    Value::Object(item)
}
