//! The variable `request` of policies.
//!
//! It has the members of an AdmissionRequest without the objects. Without a user, as in an audit, `userInfo` is omitted, so that a policy
//! that reads it cannot be evaluated.

use serde_json::{Map, Value, json};

use crate::policy::Target;
use crate::request::{Operation, Request};
use kubernetes::field::Path;

/// Returns the name of an operation.
pub(super) fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
        Operation::Delete => "DELETE",
        Operation::Connect => "CONNECT",
    }
}

/// Returns the operation and the object.
pub(super) fn target<'a>(request: &Request<'a>, name: &'a str) -> Target<'a> {
    Target {
        operation: word(request.operation),
        group: request.group,
        version: request.version,
        resource: request.resource,
        subresource: request.subresource,
        namespace: request.namespace,
        name,
    }
}

/// Returns the variable `request`.
pub(super) fn value(request: &Request<'_>, name: &str) -> Value {
    let kind = json!({"group": request.group, "version": request.version, "kind": request.kind});
    let resource = json!({"group": request.group, "version": request.version, "resource": request.resource});
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("uid", json!(request.circumstances.uid));
    put("requestKind", kind.clone());
    put("kind", kind);
    put("requestResource", resource.clone());
    put("resource", resource);
    put("subResource", json!(request.subresource));
    put("requestSubResource", json!(request.subresource));
    put("name", json!(name));
    put("namespace", json!(request.namespace));
    put("operation", json!(word(request.operation)));
    put("dryRun", json!(request.dry_run));
    let raw = [
        ("userInfo", request.circumstances.user),
        ("options", request.circumstances.options),
    ];
    for (name, raw) in raw {
        if let Some(value) = raw.and_then(|raw| ::kubernetes::bounds::read(raw.get(), &Path::root()).ok()) {
            put(name, value);
        }
    }
    Value::Object(fields)
}
