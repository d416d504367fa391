//! Schema fragments that a derive cannot say: loose numbers, conditions, selectors, embedded objects.
//!
//! Fragments accept exactly what Open Cluster Management's accept, mistakes included: a stricter pattern would refuse
//! objects that are stored on hubs today. The gate's rules say what is better.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Numbers or percentages of a rollout.
const INT_OR_PERCENT: &str = "^((100|[0-9]{1,2})%|[0-9]+)$";
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// Qualified names: condition types, taint keys, topology keys.
pub(crate) const QUALIFIED_NAME: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
/// Names of objects that are DNS subdomains.
pub(crate) const DNS_SUBDOMAIN: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$";
/// Names of namespaces.
pub(crate) const DNS_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// Names of certificate signers.
pub(crate) const SIGNER_NAME: &str = r"^([a-z0-9][a-z0-9-]*[a-z0-9]\.)+[a-z]+\/[a-z0-9-\.]+$";
/// Deadlines of a rollout. The alternation is not anchored as a whole, so `5sxyz` passes as well.
pub(crate) const PROGRESS_DEADLINE: &str = "^(([0-9])+[h|m|s])|None$";

/// A count or a percentage without default.
pub(crate) fn int_or_percent(_: &mut SchemaGenerator) -> Schema {
    int_or_string(INT_OR_PERCENT)
}

/// A count or a percentage, zero when absent.
pub(crate) fn int_or_percent_zero(_: &mut SchemaGenerator) -> Schema {
    let mut schema = int_or_string(INT_OR_PERCENT);
    schema.insert("default".to_owned(), 0.into());
    schema
}

/// Clusters of one decision group: a positive count or percentage, all of them when absent.
pub(crate) fn clusters_per_group(_: &mut SchemaGenerator) -> Schema {
    let mut schema = int_or_string("^((100|[1-9][0-9]{0,1})%|[1-9][0-9]*)$");
    schema.insert("default".to_owned(), "100%".into());
    schema
}

/// A map from resource names to quantities.
pub(crate) fn quantities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": int_or_string(QUANTITY) })
}

/// How many works of a ManifestWorkReplicaSet are in each state.
pub(crate) fn work_counts(_: &mut SchemaGenerator) -> Schema {
    let count = json_schema!({ "type": "integer", "description": "Number of ManifestWorks in this state." });
    json_schema!({ "type": "object", "properties": {
        "applied": count, "available": count, "degraded": count, "desiredTotal": count, "progressing": count,
        "total": count, "updated": count,
    }})
}

/// The works of a ManifestWorkReplicaSet, placement by placement.
pub(crate) fn work_summaries(generator: &mut SchemaGenerator) -> Schema {
    let mut summary = work_counts(generator);
    summary.insert(
        "description".to_owned(),
        "How many ManifestWorks are in each state.".into(),
    );
    json_schema!({ "type": "array", "items": { "type": "object", "description": "One placement.", "properties": {
        "availableDecisionGroups": { "type": "string", "description": "The decision groups that have the template." },
        "name": { "type": "string", "description": "Name of the placement." },
        "summary": summary,
    }}})
}

/// Conditions, one per type.
pub(crate) fn conditions(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = loose_conditions(generator);
    schema.insert("x-kubernetes-list-type".to_owned(), "map".into());
    schema.insert("x-kubernetes-list-map-keys".to_owned(), vec!["type"].into());
    schema
}

/// Conditions without a list key: some kinds of the cluster group never declared one.
pub(crate) fn loose_conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "description": "One aspect of the current state.",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {
                    "description": "When the status last changed from one value to another.",
                    "type": "string",
                    "format": "date-time",
                },
                "message": {
                    "description": "Message for users; may be empty.",
                    "type": "string",
                    "maxLength": 32768,
                },
                "observedGeneration": {
                    "description": "The metadata.generation that this condition describes.",
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                },
                "reason": {
                    "description": "Reason for the last transition, one CamelCase word.",
                    "type": "string",
                    "maxLength": 1024,
                    "minLength": 1,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "status": {
                    "description": "True, False or Unknown.",
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                },
                "type": {
                    "description": "Type of the condition, in CamelCase.",
                    "type": "string",
                    "maxLength": 316,
                    "pattern": QUALIFIED_NAME,
                },
            },
        },
    })
}

/// A label selector, replaced as a whole by server-side apply.
pub(crate) fn label_selector(_: &mut SchemaGenerator) -> Schema {
    let mut expressions = match_expressions();
    expressions.insert("x-kubernetes-list-type".to_owned(), "atomic".into());
    json_schema!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchExpressions": expressions,
            "matchLabels": {
                "description": "Labels that must have exactly these values.",
                "type": "object",
                "additionalProperties": { "type": "string" },
            },
        },
    })
}

/// Requirements on the claims of a cluster.
pub(crate) fn claim_expressions(_: &mut SchemaGenerator) -> Schema {
    match_expressions()
}

/// Tolerations of a pod.
pub(crate) fn tolerations(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "description": "A taint that is tolerated.",
            "type": "object",
            "properties": {
                "effect": { "description": "Effect of the taint; every effect when empty.", "type": "string" },
                "key": { "description": "Key of the taint; every key when empty.", "type": "string" },
                "operator": { "description": "Exists or Equal; Equal when empty.", "type": "string" },
                "tolerationSeconds": {
                    "description": "For how long the taint is tolerated; indefinitely when absent.",
                    "type": "integer",
                    "format": "int64",
                },
                "value": { "description": "Value of the taint for the operator Equal.", "type": "string" },
            },
        },
    })
}

/// An object with any members: the schema describes none.
pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// What a policy may ask about the fleet.
pub(crate) fn facts(_: &mut SchemaGenerator) -> Schema {
    words(&["addon", "cluster", "configs", "placements", "peers", "now"])
}

/// What happens when a policy is broken.
pub(crate) fn validation_actions(_: &mut SchemaGenerator) -> Schema {
    words(&["Deny", "Warn", "Audit"])
}

/// Operations of requests.
pub(crate) fn operations(_: &mut SchemaGenerator) -> Schema {
    words(&["CREATE", "UPDATE", "DELETE", "CONNECT", "*"])
}

/// The stable name of a part of a policy: it is in a rule id.
pub(crate) fn part_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": 63, "pattern": "^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$" })
}

/// A set of fixed words.
fn words(words: &[&str]) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "type": "string", "enum": words },
        "x-kubernetes-list-type": "set",
    })
}

/// Whole Kubernetes objects of any kind.
pub(crate) fn embedded_objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "description": "A whole Kubernetes object.",
            "type": "object",
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
        },
    })
}

fn match_expressions() -> Schema {
    json_schema!({
        "description": "Requirements; all must be met.",
        "type": "array",
        "items": {
            "type": "object",
            "required": ["key", "operator"],
            "properties": {
                "key": { "description": "The label key.", "type": "string" },
                "operator": { "description": "In, NotIn, Exists or DoesNotExist.", "type": "string" },
                "values": {
                    "description": "The values for In and NotIn; empty for the other operators.",
                    "type": "array",
                    "items": { "type": "string" },
                    "x-kubernetes-list-type": "atomic",
                },
            },
        },
    })
}

/// The two types themselves are added with the other finishing touches in `crds`.
fn int_or_string(pattern: &str) -> Schema {
    json_schema!({
        "pattern": pattern,
        "x-kubernetes-int-or-string": true,
    })
}
