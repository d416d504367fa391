//! Empty values that say nothing: those that Go's types write, or leave away, where nothing is asked for.
//!
//! Decides where an empty value and an absent one mean the same. A place counts only if the Go type of its field cannot tell the
//! two apart (no pointer, no `nullable`): then no API server can either, whichever client writes the object. Everywhere else an
//! empty value is a word of its own: `emptyDir: {}`, `namespaceSelector: {}` and `replicas: 0` are never touched, and neither is
//! anything below a map whose keys users choose. An item is never taken out of a list.

use serde_json::Value;

/// The fields of an object that are known to say nothing when they are empty.
struct Shape {
    /// Fields whose empty value equals their absence.
    empty: &'static [&'static str],
    /// Fields with a shape of their own; that of a list is the shape of its items.
    inside: &'static [(&'static str, &'static Self)],
}

/// A reference to an object, as works make it.
static IDENTIFIER: Shape = Shape {
    empty: &["group", "namespace"],
    inside: &[],
};
static FEEDBACK_RULE: Shape = Shape {
    empty: &["jsonPaths"],
    inside: &[],
};
static MANIFEST_CONFIG: Shape = Shape {
    empty: &["feedbackRules", "conditionRules"],
    inside: &[
        ("resourceIdentifier", &IDENTIFIER),
        ("feedbackRules", &FEEDBACK_RULE),
    ],
};

/// `apps/v1`: the kinds that OCM's manager reads into Go's types and writes from them.
static WORKLOAD: Shape = Shape {
    empty: &["status"],
    inside: &[("spec", &WORKLOAD_SPEC), ("status", &COUNTS)],
};
/// Counts of a workload; those that Go's types always write.
static COUNTS: Shape = Shape {
    empty: &[
        "replicas",
        "availableReplicas",
        "currentNumberScheduled",
        "desiredNumberScheduled",
        "numberMisscheduled",
        "numberReady",
    ],
    inside: &[],
};
static WORKLOAD_SPEC: Shape = Shape {
    empty: &[
        "strategy",
        "updateStrategy",
        "minReadySeconds",
        "paused",
        "serviceName",
        "podManagementPolicy",
        "volumeClaimTemplates",
    ],
    inside: &[("template", &POD_TEMPLATE), ("volumeClaimTemplates", &CLAIM)],
};
static CLAIM: Shape = Shape {
    empty: &["status"],
    inside: &[("metadata", &METADATA), ("spec", &CLAIM_SPEC)],
};
static CLAIM_SPEC: Shape = Shape {
    empty: &["resources", "accessModes"],
    inside: &[("resources", &RESOURCES)],
};
static POD_TEMPLATE: Shape = Shape {
    empty: &["metadata"],
    inside: &[("metadata", &METADATA), ("spec", &POD)],
};
static METADATA: Shape = Shape {
    empty: &["labels", "annotations", "name", "namespace", "finalizers"],
    inside: &[],
};
static POD: Shape = Shape {
    empty: &[
        "volumes",
        "initContainers",
        "restartPolicy",
        "dnsPolicy",
        "nodeSelector",
        "serviceAccountName",
        "serviceAccount",
        "nodeName",
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "imagePullSecrets",
        "hostname",
        "subdomain",
        "schedulerName",
        "tolerations",
        "hostAliases",
        "priorityClassName",
        "readinessGates",
        "topologySpreadConstraints",
    ],
    inside: &[
        ("containers", &CONTAINER),
        ("initContainers", &CONTAINER),
        ("volumes", &VOLUME),
        ("tolerations", &TOLERATION),
    ],
};
static TOLERATION: Shape = Shape {
    empty: &["key", "operator", "value", "effect"],
    inside: &[],
};
static VOLUME: Shape = Shape {
    empty: &[],
    inside: &[
        ("configMap", &FILES),
        ("secret", &FILES),
        ("emptyDir", &EMPTY_DIR),
        ("persistentVolumeClaim", &MOUNT),
    ],
};
static FILES: Shape = Shape {
    empty: &["items"],
    inside: &[],
};
static EMPTY_DIR: Shape = Shape {
    empty: &["medium"],
    inside: &[],
};
static CONTAINER: Shape = Shape {
    empty: &[
        "command",
        "args",
        "workingDir",
        "ports",
        "envFrom",
        "env",
        "resources",
        "volumeMounts",
        "volumeDevices",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "imagePullPolicy",
        "stdin",
        "stdinOnce",
        "tty",
    ],
    inside: &[
        ("env", &VARIABLE),
        ("envFrom", &VARIABLES),
        ("ports", &PORT),
        ("resources", &RESOURCES),
        ("volumeMounts", &MOUNT),
        ("livenessProbe", &PROBE),
        ("readinessProbe", &PROBE),
        ("startupProbe", &PROBE),
    ],
};
static VARIABLE: Shape = Shape {
    empty: &["value"],
    inside: &[],
};
static VARIABLES: Shape = Shape {
    empty: &["prefix"],
    inside: &[],
};
static PORT: Shape = Shape {
    empty: &["name", "hostPort", "protocol", "hostIP"],
    inside: &[],
};
static RESOURCES: Shape = Shape {
    empty: &["limits", "requests", "claims"],
    inside: &[],
};
static MOUNT: Shape = Shape {
    empty: &["readOnly", "subPath", "subPathExpr"],
    inside: &[],
};
static PROBE: Shape = Shape {
    empty: &[
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ],
    inside: &[("httpGet", &REQUEST)],
};
static REQUEST: Shape = Shape {
    empty: &["path", "host", "scheme", "httpHeaders"],
    inside: &[],
};

/// Takes the empty values out of a manifest that say nothing. Kinds that are not read into Go's types stay as they are.
pub(super) fn plain_manifest(manifest: &mut Value) {
    let text = |field: &str| manifest.get(field).and_then(Value::as_str);
    let is_typed = text("apiVersion") == Some("apps/v1")
        && matches!(text("kind"), Some("Deployment" | "DaemonSet" | "StatefulSet"));
    if is_typed {
        strip(manifest, &WORKLOAD);
    }
}

/// The same for an entry of `manifestConfigs`.
pub(super) fn plain_config(entry: &mut Value) {
    strip(entry, &MANIFEST_CONFIG);
}

/// The same for an orphaning rule.
pub(super) fn plain_rule(rule: &mut Value) {
    strip(rule, &IDENTIFIER);
}

fn strip(value: &mut Value, shape: &Shape) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, shape)),
        Value::Object(fields) => {
            for (name, shape) in shape.inside {
                if let Some(field) = fields.get_mut(*name) {
                    strip(field, shape);
                }
            }
            for name in shape.empty {
                if fields.get(*name).is_some_and(is_empty) {
                    fields.remove(*name);
                }
            }
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
