//! Events in both forms.
//!
//! Events with an `eventTime` follow the stricter rules of `events.k8s.io`.

use ::schema::FieldError;
use serde_json::Value;

use crate::builtin::faults::{invalid, required, text, unsupported};
use kubernetes::names::{Named, qualified_name_faults};

struct Names {
    object: &'static str,
    controller: &'static str,
    message: &'static str,
}

const CORE: Names = Names {
    object: "involvedObject",
    controller: "reportingComponent",
    message: "message",
};
const EVENTS: Names = Names {
    object: "regarding",
    controller: "reportingController",
    message: "note",
};

pub(super) fn validate_core(event: &Value) -> Vec<FieldError> {
    let mut errors = validate_namespace(event, &CORE);
    if event.get("eventTime").is_some_and(Value::is_string) {
        errors.extend(validate_new(event, &CORE));
    }
    errors
}

pub(super) fn validate(event: &Value) -> Vec<FieldError> {
    let mut errors = validate_namespace(event, &EVENTS);
    if event.get("eventTime").is_none_or(Value::is_null) {
        errors.push(required("eventTime", ""));
    }
    errors.extend(validate_new(event, &EVENTS));
    let kind = text(event, "/type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(unsupported("type", kind, &["Normal", "Warning"]));
    }
    errors
}

fn validate_namespace(event: &Value, names: &Names) -> Vec<FieldError> {
    let (own, other) = (
        text(event, "/metadata/namespace"),
        text(event, &format!("/{}/namespace", names.object)),
    );
    // Events about objects without a namespace live in one of two namespaces.
    let fits = if other.is_empty() {
        matches!(own, "default" | "kube-system")
    } else {
        own == other
    };
    let field = format!("{}.namespace", names.object);
    if fits {
        Vec::new()
    } else {
        vec![invalid(&field, other, "does not match event.namespace")]
    }
}

fn validate_new(event: &Value, names: &Names) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = |member: &str| text(event, &format!("/{member}"));
    let controller = at(names.controller);
    if controller.is_empty() {
        errors.push(required(names.controller, ""));
    }
    errors.extend(
        qualified_name_faults(controller, Named::QualifiedName)
            .iter()
            .map(|fault| invalid(names.controller, controller, fault)),
    );
    for member in ["reportingInstance", "action", "reason"] {
        match at(member) {
            "" => errors.push(required(member, "")),
            long if long.len() > 128 => errors.push(invalid(member, long, "can have at most 128 characters")),
            _ => {}
        }
    }
    if at(names.message).len() > 1024 {
        errors.push(invalid(
            names.message,
            at(names.message),
            "can have at most 1024 characters",
        ));
    }
    errors
}
