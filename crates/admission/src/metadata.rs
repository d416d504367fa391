//! The metadata stage: what an API server checks in the metadata of every object.
//!
//! An API server checks metadata after the mutating webhooks and responds with 422 (`Invalid`). `kubectl apply --force`, Argo CD's `Force`
//! and Flux's `force` delete an object when they get this response. The webhook refuses such a change with 403, which deletes nothing.

use kubernetes::object_meta::{self, MetaFault, NameRule};
use serde_json::Value;

use super::request::{Operation, Request};
use kubernetes::field::{Class, Fault, Path, Violation};

/// The API server rejects a name, a label, an annotation, a finalizer, an owner or another part of the metadata.
pub const METADATA_VALUE: &str = "metadata/value";

/// Id and documentation of the rule.
pub(super) const DOC: (&str, &str) = (
    METADATA_VALUE,
    "The metadata is valid for Kubernetes.\n\n\
     The webhook checks the keys and values of labels, the keys and the size of annotations, finalizers, owner references, the prefix of a \
     generated name, and immutable fields, with the messages of Kubernetes. The API server makes the same checks after the webhook, but \
     rejects an invalid change with code 422. Tools with a force mode then delete the object, with everything that depends on it, \
     and create it again. With the webhook, the change is refused with code 403 instead, and no setting changes that.\n\n\
     `tidegate check` also checks names and namespaces.",
);

/// Metadata fields that an update can repeat or omit, but not change.
pub(super) const IMMUTABLE: [&str; 3] = ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"];

/// Returns what an API server rejects in the metadata of an object that is created or replaces `old`.
pub(super) fn faults(request: &Request<'_>, object: &Value, old: Option<&Value>) -> Vec<Violation> {
    let nothing = Value::Null;
    let metadata = object.get("metadata").unwrap_or(&nothing);
    let prefix = metadata.get("generateName").and_then(Value::as_str);
    let prefix = prefix.unwrap_or_default();
    let of_prefix = object_meta::prefix_faults(prefix, NameRule::Subdomain);
    let found = of_prefix.into_iter().chain(object_meta::content_faults(metadata));
    let mut found: Vec<Violation> = found.map(|fault| metadata_violation(&fault)).collect();
    let before = old
        .filter(|_| request.operation == Operation::Update)
        .and_then(|old| old.get("metadata"));
    for name in before.map_or(&[][..], |_| &IMMUTABLE) {
        let (is, was) = (metadata.get(*name), before.and_then(|before| before.get(*name)));
        if let Some(value) = is.filter(|is| !is.is_null() && Some(*is) != was) {
            let fault = Fault::of(Class::Invalid, value, "cannot be changed");
            found.push(fault.hint("remove it").at(root().key(*name), METADATA_VALUE));
        }
    }
    found
}

fn root() -> Path {
    Path::root().key("metadata")
}

/// Returns a fault of metadata as a finding of [`METADATA_VALUE`].
pub fn metadata_violation(found: &MetaFault) -> Violation {
    let steps = found.field.split('.');
    let path = steps.fold(root(), |path, step| path.key(step));
    let path = match &found.key {
        Some(key) => path.entry(key),
        None => path,
    };
    let detail = match &found.value {
        Some(value) => format!("{value}: {}", found.detail),
        None => found.detail.clone(),
    };
    let hint = found
        .value
        .as_deref()
        .filter(|value| is_placeholder(value))
        .map(|_| "replace the placeholder");
    Fault::bare(found.class, detail)
        .hint_if(hint)
        .at(path, METADATA_VALUE)
}

/// Returns whether a text has a placeholder that a program should have replaced: `<name>`, `${NAME}`, `$(NAME)`, `{{name}}`.
fn is_placeholder(text: &str) -> bool {
    [("<", ">"), ("${", "}"), ("$(", ")"), ("{{", "}}")]
        .into_iter()
        .any(|(open, close)| {
            text.split_once(open)
                .is_some_and(|(_, rest)| rest.contains(close))
        })
}
