//! RolloutCheck: what must hold outside of the hub while a change is rolled out.
//!
//! Holds its wire shape only; `model` parses it. Who may write the status of an external check may report. The group is our own.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lenient::{absent_is_default, null_is_default};

/// What is checked. Exactly one of the two is set.
#[serde_with::apply(Option => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "tidegate.io",
    version = "v1alpha1",
    kind = "RolloutCheck",
    plural = "rolloutchecks",
    shortname = "roc",
    status = "RolloutCheckStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "RolloutCheck has the last result of a check, for which changes wait whose settings name it.",
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".spec.prometheus.endpoint"),
    printcolumn(name = "Result", type_ = "string", json_path = ".status.result"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message"),
    printcolumn(name = "Expires", type_ = "string", json_path = ".status.expiresAt"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(default, rename_all = "camelCase", remote = "Self")]
pub struct RolloutCheckSpec {
    /// Another program or a user reports the result in the status.
    pub external: Option<ExternalCheck>,

    /// The controllers query a Prometheus server, and write the status.
    pub prometheus: Option<PrometheusCheck>,
}

absent_is_default!(RolloutCheckSpec);

/// A check whose result is reported by another program or a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalCheck {}

/// A check of values in a Prometheus server.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
    Vec => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["endpoint", "expression", "queries"]))]
pub struct PrometheusCheck {
    /// Name of an endpoint in the configuration of the controllers (--check-endpoint).
    #[schemars(length(min = 1, max = 63))]
    pub endpoint: String,

    /// Instant queries. Each must return exactly one value.
    #[schemars(length(min = 1, max = 5), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub queries: Vec<CheckQuery>,

    /// CEL expression that is true if the check passes. Its variables are the names of the queries, of type double.
    #[schemars(length(min = 1, max = 2048))]
    pub expression: String,

    /// Time between two evaluations, 10s to 1h; 60s if absent.
    pub interval: Option<String>,

    /// Timeout of each query, less than the interval; 10s if absent.
    pub timeout: Option<String>,

    /// How many evaluations in a row must be false before the result is Failed; 1 if absent.
    #[schemars(range(min = 1, max = 100))]
    pub failure_limit: Option<i64>,
}

/// An instant query.
#[serde_with::apply(String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "query"]))]
pub struct CheckQuery {
    /// Name of the value in the expression.
    #[schemars(regex(pattern = "^[a-z_][a-z0-9_]{0,62}$"))]
    pub name: String,

    /// PromQL that returns a scalar, or a vector with one sample.
    #[schemars(length(min = 1, max = 4096))]
    pub query: String,
}

/// The last result. Who may write it (rolloutchecks/status) may report.
#[serde_with::apply(
    Option => #[serde(skip_serializing_if = "Option::is_none")],
    String => #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")],
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend(
    "required" = ["expiresAt", "reportedAt", "result"],
    "x-kubernetes-validations" = [{
        "message": "must be after reportedAt, and at most 30 days later",
        "fieldPath": ".expiresAt",
        "rule": "self.expiresAt > self.reportedAt && self.expiresAt - self.reportedAt <= duration('720h')"
    }]
))]
pub struct RolloutCheckStatus {
    /// Passed: changes may go on. Failed: counts as a failed cluster of the change. Unknown: changes wait.
    #[schemars(extend("enum" = ["Passed", "Failed", "Unknown"]))]
    pub result: String,

    /// Why, in one sentence.
    #[schemars(length(max = 1024))]
    pub message: String,

    /// When the result was found. A result counts for what was updated before this time.
    #[schemars(extend("format" = "date-time"))]
    pub reported_at: String,

    /// Until when the result counts; later it is Unknown. At most 30 days after reportedAt.
    #[schemars(extend("format" = "date-time"))]
    pub expires_at: String,

    /// The generation of this object that was evaluated. The controllers write it.
    pub observed_generation: Option<i64>,

    /// How many evaluations in a row were false. The controllers write it.
    pub failures: Option<i64>,

    /// The values of the queries by name. The controllers write them.
    pub values: Option<BTreeMap<String, String>>,
}
