//! Columns and cells of the built-in kinds.
//!
//! Decides what `kubectl get` shows of them. A kind without columns of its own shows its name and when it was created.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{age, age_at};
use super::columns::{AGE, BuiltIn, CREATED, NAME, column, wide};
use super::values::{size, text};
use crate::Resource;

const CREATED_AT: BuiltIn = column("Created At", "date", CREATED, |object, _| {
    object
        .pointer("/metadata/creationTimestamp")
        .cloned()
        .unwrap_or_default()
});

static NAMESPACE: &[BuiltIn] = &[
    column("Status", "string", "The status of the namespace", |object, _| {
        json!(text(object, "/status/phase"))
    }),
    AGE,
];
static SECRET: &[BuiltIn] = &[
    column(
        "Type",
        "string",
        "What the secret is meant for, which says which keys its data must have",
        |object, _| json!(text(object, "/type")),
    ),
    column(
        "Data",
        "string",
        "How many keys the data of the secret has, whatever their size may be",
        |object, _| json!(size(object, "/data")),
    ),
    AGE,
];
static CONFIG_MAP: &[BuiltIn] = &[
    column(
        "Data",
        "string",
        "How many keys the config map has, in its data and its binary data together",
        |object, _| json!(size(object, "/data") + size(object, "/binaryData")),
    ),
    AGE,
];
static SERVICE_ACCOUNT: &[BuiltIn] = &[
    column(
        "Secrets",
        "string",
        "How many secrets the service account names as those that its pods may use",
        |object, _| json!(size(object, "/secrets")),
    ),
    AGE,
];
static LEASE: &[BuiltIn] = &[
    column(
        "Holder",
        "string",
        "Identity of the client that holds the lease at present, empty if it is free",
        |object, _| json!(text(object, "/spec/holderIdentity")),
    ),
    AGE,
];
static WEBHOOKS: &[BuiltIn] = &[
    column(
        "Webhooks",
        "integer",
        "How many webhooks this configuration registers, whatever rules they may have",
        |object, _| json!(size(object, "/webhooks")),
    ),
    AGE,
];
static POLICY: &[BuiltIn] = &[
    column(
        "Validations",
        "integer",
        "How many checks this policy makes of every write that its constraints mean",
        |object, _| json!(size(object, "/spec/validations")),
    ),
    column(
        "ParamKind",
        "string",
        "Version and kind of the objects that configure this policy, if there are any",
        |object, _| {
            let kind = object.pointer("/spec/paramKind").filter(|kind| kind.is_object());
            json!(kind.map_or_else(unset, |kind| {
                format!("{}/{}", text(kind, "/apiVersion"), text(kind, "/kind"))
            }))
        },
    ),
    AGE,
];
static POLICY_BINDING: &[BuiltIn] = &[
    column(
        "PolicyName",
        "string",
        "The policy that is bound; until there is one of that name the binding does nothing",
        |object, _| json!(text(object, "/spec/policyName")),
    ),
    column(
        "ParamRef",
        "string",
        "The objects with which the policy is configured, by their name or by a selector",
        |object, _| json!(params(object)),
    ),
    AGE,
];
static BINDING: &[BuiltIn] = &[
    column(
        "Role",
        "string",
        "Kind and name of the role that is bound to the subjects of this binding",
        |object, _| {
            json!(format!(
                "{}/{}",
                text(object, "/roleRef/kind"),
                text(object, "/roleRef/name")
            ))
        },
    ),
    AGE,
    wide(column(
        "Users",
        "string",
        "Users to which the role is bound",
        |object, _| json!(subjects(object, "User")),
    )),
    wide(column(
        "Groups",
        "string",
        "Groups to which the role is bound",
        |object, _| json!(subjects(object, "Group")),
    )),
    wide(column(
        "ServiceAccounts",
        "string",
        "Service accounts to which the role is bound",
        |object, _| json!(subjects(object, "ServiceAccount")),
    )),
];
static EVENT: &[BuiltIn] = &[
    column(
        "Last Seen",
        "string",
        "How long ago the event was seen last, in its series or on its own",
        |event, now| json!(last_seen(event, now)),
    ),
    column(
        "Type",
        "string",
        "Normal or Warning; further types may be added by later versions of the API",
        |event, _| json!(text(event, "/type")),
    ),
    column(
        "Reason",
        "string",
        "Why the event was made, in one word that a program can compare with others",
        |event, _| json!(text(event, "/reason")),
    ),
    column(
        "Object",
        "string",
        "The object that the event is about, with its kind in lower case before it",
        |event, _| json!(target(event)),
    ),
    wide(column(
        "Subobject",
        "string",
        "The part of the object that the event is about",
        |event, _| json!(text(event, "/involvedObject/fieldPath")),
    )),
    wide(column(
        "Source",
        "string",
        "The component that reports the event, and the host on which it runs",
        |event, _| json!(source(event)),
    )),
    column(
        "Message",
        "string",
        "What happened, in a sentence for people who read the list of events",
        |event, _| json!(text(event, "/message").trim()),
    ),
    wide(column(
        "First Seen",
        "string",
        "How long ago the event was seen for the first time of all",
        |event, now| json!(first_seen(event, now)),
    )),
    wide(column(
        "Count",
        "string",
        "How many times the event was seen since its first time until now",
        |event, _| json!(count(event)),
    )),
    wide(column("Name", "string", NAME, |event, _| {
        json!(text(event, "/metadata/name"))
    })),
];
static SIGNING_REQUEST: &[BuiltIn] = &[
    AGE,
    column("SignerName", "string", "Who is asked to sign", |object, _| {
        json!(text(object, "/spec/signerName"))
    }),
    column("Requestor", "string", "Who asked", |object, _| {
        json!(text(object, "/spec/username"))
    }),
    column(
        "Condition",
        "string",
        "What became of the request",
        |object, _| json!(verdict(object)),
    ),
];
static REVISION: &[BuiltIn] = &[
    column("Controller", "string", "Controller of the object", |object, _| {
        json!(controller(object))
    }),
    column(
        "Revision",
        "string",
        "Revision of the ControllerRevision data",
        |object, _| json!(object["revision"].as_i64().unwrap_or_default()),
    ),
    AGE,
];
static UNTYPED: &[BuiltIn] = &[AGE];
static PLAIN: &[BuiltIn] = &[CREATED_AT];

/// Whether the name is the first column of a kind.
pub(super) fn begins_with_name(resource: &Resource) -> bool {
    resource.kind != "Event" || resource.custom
}

/// Returns the columns of a kind, without the name.
pub(super) fn columns(resource: &Resource) -> &'static [BuiltIn] {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") => NAMESPACE,
        ("", "Secret") => SECRET,
        ("", "ConfigMap") => CONFIG_MAP,
        ("", "ServiceAccount") => SERVICE_ACCOUNT,
        ("" | "events.k8s.io", "Event") => EVENT,
        ("coordination.k8s.io", "Lease") => LEASE,
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => POLICY,
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => POLICY_BINDING,
        ("admissionregistration.k8s.io", _) => WEBHOOKS,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => BINDING,
        (crate::builtin::requests::GROUP, _) => SIGNING_REQUEST,
        ("apps", "ControllerRevision") => REVISION,
        _ if crate::builtin::is_untyped(resource) => UNTYPED,
        _ => PLAIN,
    }
}

/// Returns the owner that controls an object.
fn controller(object: &Value) -> String {
    let owners = object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let owner = owners
        .into_iter()
        .flatten()
        .find(|owner| owner["controller"] == true);
    owner.map_or_else(
        || "<none>".to_owned(),
        |owner| {
            let group = text(owner, "/apiVersion").split_once('/');
            let group = group.map_or_else(String::new, |(group, _)| format!(".{group}"));
            let kind = text(owner, "/kind").to_lowercase();
            format!("{kind}{group}/{}", text(owner, "/name"))
        },
    )
}

/// Returns the verdict on a signing request, and whether its certificate is there.
fn verdict(object: &Value) -> String {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let kinds = conditions.into_iter().flatten();
    let mut words: Vec<&str> = kinds.filter_map(|one| one["type"].as_str()).collect();
    if words.is_empty() {
        words.push("Pending");
    }
    if !text(object, "/status/certificate").is_empty() {
        words.push("Issued");
    }
    words.join(",")
}

fn unset() -> String {
    "<unset>".to_owned()
}

fn params(binding: &Value) -> String {
    let Some(reference) = binding
        .pointer("/spec/paramRef")
        .filter(|found| found.is_object())
    else {
        return unset();
    };
    match (text(reference, "/namespace"), text(reference, "/name")) {
        (_, "") => reference.get("selector").map_or_else(unset, selector),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

/// Prints a selector as its Go type does.
fn selector(selector: &Value) -> String {
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    let labels: Vec<String> = labels
        .map(|(key, value)| format!("{key}: {},", value.as_str().unwrap_or_default()))
        .collect();
    let labels = labels.concat();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    let expressions: Vec<String> = expressions
        .into_iter()
        .flatten()
        .map(|expression| {
            let values = expression.get("values").and_then(Value::as_array);
            let values: Vec<&str> = values.into_iter().flatten().filter_map(Value::as_str).collect();
            let (key, operator) = (text(expression, "/key"), text(expression, "/operator"));
            let values = values.join(" ");
            format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
        })
        .collect();
    let expressions = expressions.concat();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}

fn subjects(binding: &Value, kind: &str) -> String {
    let all = binding
        .get("subjects")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let names = all
        .filter(|subject| text(subject, "/kind") == kind)
        .map(|subject| match kind {
            "ServiceAccount" => format!("{}/{}", text(subject, "/namespace"), text(subject, "/name")),
            _ => text(subject, "/name").to_owned(),
        });
    names.collect::<Vec<_>>().join(", ")
}

/// Reads a member of an event by its core name or by the name that `events.k8s.io` has for it.
fn member<'a>(event: &'a Value, core: &str, view: &str) -> &'a str {
    match text(event, core) {
        "" => text(event, view),
        found => found,
    }
}

fn first_seen(event: &Value, now: Timestamp) -> String {
    let first = member(event, "/firstTimestamp", "/deprecatedFirstTimestamp");
    age(first, now).unwrap_or_else(|| age_at(event, "/eventTime", now))
}

fn last_seen(event: &Value, now: Timestamp) -> String {
    let series = text(event, "/series/lastObservedTime");
    let last = member(event, "/lastTimestamp", "/deprecatedLastTimestamp");
    age(series, now)
        .or_else(|| age(last, now))
        .unwrap_or_else(|| first_seen(event, now))
}

fn count(event: &Value) -> i64 {
    let at = |pointer: &str| {
        event
            .pointer(pointer)
            .and_then(Value::as_i64)
            .filter(|count| *count > 0)
    };
    at("/series/count")
        .or_else(|| at("/count"))
        .or_else(|| at("/deprecatedCount"))
        .unwrap_or(1)
}

fn target(event: &Value) -> String {
    let kind = member(event, "/involvedObject/kind", "/regarding/kind").to_lowercase();
    match member(event, "/involvedObject/name", "/regarding/name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(event: &Value) -> String {
    let component = member(event, "/source/component", "/deprecatedSource/component");
    let host = member(event, "/source/host", "/deprecatedSource/host");
    let (component, host) = if component.is_empty() {
        (
            member(event, "/reportingComponent", "/reportingController"),
            text(event, "/reportingInstance"),
        )
    } else {
        (component, host)
    };
    [component, host]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}
