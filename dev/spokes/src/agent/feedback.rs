//! Status feedback: values of an object that a work asks to see on the hub.

use kubernetes::json_path::JsonPath;
use serde_json::Value;

use crate::wire::{Condition, FeedbackRule, FeedbackValue, FieldValue, ManifestConfig, Truth};

/// The longest JSON text that is reported.
const RAW_LIMIT: usize = 1024;

type WellKnown = &'static [(&'static str, &'static str)];

const DEPLOYMENT: WellKnown = &[
    ("ReadyReplicas", ".status.readyReplicas"),
    ("Replicas", ".status.replicas"),
    ("AvailableReplicas", ".status.availableReplicas"),
];
const DAEMON_SET: WellKnown = &[
    ("NumberReady", ".status.numberReady"),
    ("DesiredNumberScheduled", ".status.desiredNumberScheduled"),
    ("NumberAvailable", ".status.numberAvailable"),
];
const JOB: WellKnown = &[
    (
        "JobComplete",
        r#".status.conditions[?(@.type=="Complete")].status"#,
    ),
    ("JobSucceeded", ".status.succeeded"),
];
const POD: WellKnown = &[
    ("PodReady", r#".status.conditions[?(@.type=="Ready")].status"#),
    ("PodPhase", ".status.phase"),
];

/// Returns the values that the configuration asks for, and the condition that says how that went.
pub(super) fn read(object: &Value, config: Option<&ManifestConfig>) -> (Vec<FeedbackValue>, Condition) {
    let rules = config
        .map(|config| config.feedback_rules.as_slice())
        .unwrap_or_default();
    let condition = |truth, reason, message| Condition::new("StatusFeedbackSynced", truth, reason, message);
    if rules.is_empty() {
        return (
            Vec::new(),
            condition(Truth::True, "NoStatusFeedbackSynced", String::new()),
        );
    }
    let mut values: Vec<FeedbackValue> = Vec::new();
    let mut faults = Vec::new();
    for outcome in rules.iter().flat_map(|rule| by_rule(object, rule)) {
        match outcome {
            // The status is a list keyed by name: of two rules for one name the first wins.
            Ok(Some(value)) if values.iter().any(|known| known.name == value.name) => {}
            Ok(Some(value)) => values.push(value),
            Ok(None) => {}
            Err(fault) => faults.push(fault),
        }
    }
    let condition = if faults.is_empty() {
        condition(Truth::True, "StatusFeedbackSynced", String::new())
    } else {
        let message = format!("Sync status feedback failed with error {}", faults.join(", "));
        condition(Truth::False, "StatusFeedbackSyncFailed", message)
    };
    (values, condition)
}

fn by_rule(object: &Value, rule: &FeedbackRule) -> Vec<Result<Option<FeedbackValue>, String>> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    match rule.kind.as_str() {
        "WellKnownStatus" => {
            if let Some(paths) = well_known(api_version, kind) {
                paths
                    .iter()
                    .map(|(name, path)| by_path(object, name, path))
                    .collect()
            } else {
                let fault = format!(
                    "cannot find the wellknown statuses for resource with gvk {api_version}, Kind={kind}"
                );
                vec![Err(fault)]
            }
        }
        "JSONPaths" => {
            let version = api_version.rsplit('/').next().unwrap_or_default();
            let paths = rule.json_paths.iter().map(|path| {
                if path.version.is_empty() || path.version == version {
                    by_path(object, &path.name, &path.path)
                } else {
                    Err(format!(
                        "version set in the path {} is not matched for the related resource",
                        path.name
                    ))
                }
            });
            paths.collect()
        }
        other => vec![Err(format!("there is no feedback rule type \"{other}\""))],
    }
}

fn well_known(api_version: &str, kind: &str) -> Option<WellKnown> {
    match (api_version, kind) {
        ("apps/v1", "Deployment") => Some(DEPLOYMENT),
        ("apps/v1", "DaemonSet") => Some(DAEMON_SET),
        ("batch/v1", "Job") => Some(JOB),
        ("v1", "Pod") => Some(POD),
        _ => None,
    }
}

fn by_path(object: &Value, name: &str, path: &str) -> Result<Option<FeedbackValue>, String> {
    let parsed = JsonPath::parse(path)
        .map_err(|fault| format!("failed to parse json path {path} of {name} with error: {fault}"))?;
    let found = parsed
        .find(object)
        .map_err(|fault| format!("failed to find value for {name} with error: {fault}"))?;
    let field_value = match found.as_slice() {
        [] | [Value::Null] => return Ok(None),
        [Value::String(text)] => FieldValue::String { string: text.clone() },
        [Value::Bool(boolean)] => FieldValue::Boolean { boolean: *boolean },
        [Value::Number(number)] if number.is_i64() => FieldValue::Integer {
            integer: number.as_i64().unwrap_or_default(),
        },
        [one] => raw(name, (*one).to_string())?,
        many => raw(
            name,
            Value::Array(many.iter().copied().cloned().collect()).to_string(),
        )?,
    };
    Ok(Some(FeedbackValue {
        name: name.to_owned(),
        field_value,
    }))
}

fn raw(name: &str, json_raw: String) -> Result<FieldValue, String> {
    if json_raw.len() > RAW_LIMIT {
        return Err(format!(
            "the length of returned json raw string for name {name} is larger than the maximum length {RAW_LIMIT}"
        ));
    }
    Ok(FieldValue::JsonRaw { json_raw })
}
