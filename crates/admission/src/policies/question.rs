//! A request as policies see it: the variable `request`.
//!
//! Decides which members it has: those of an AdmissionRequest, objects aside. Without a user, as in an audit, `userInfo`
//! is left out: a policy which reads it cannot be judged, instead of being judged by a made-up user.

use serde_json::{Map, Value, json};

use crate::policy::Target;
use crate::request::{Operation, Request};
use kubernetes::field::Path;

/// Returns the word for an operation.
pub(super) fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
        Operation::Delete => "DELETE",
        Operation::Connect => "CONNECT",
    }
}

/// Returns what is done to which object.
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
