//! The work of an action before or after an upgrade: the user's manifests, and what tells whether they have done what they are for.
//!
//! Decides which conditions are asked for. "Available" means to an agent that an object is there, and "Degraded" is never said unless a rule
//! says so: without these a backup that has just been created would count as one that was made.

use serde_json::{Map, Value};

use api::work::{
    ConditionRule, FeedbackRule, JsonPath, ManifestConfig, ManifestWorkSpec, ResourceIdentifier,
};

use super::mark::WorkMark;
use store::upgrade::Runs;
use store::upgrade::marks::Stage;

/// Returns the work of an action on a cluster.
pub fn action(mark: &WorkMark<'_>, stage: Stage, cluster: &str, wanted: &ManifestWorkSpec) -> Value {
    let mut spec = wanted.clone();
    let manifests = wanted
        .workload
        .as_ref()
        .map_or(&[][..], |workload| &workload.manifests);
    for manifest in manifests {
        let Some(runs) = runs_of(manifest) else {
            continue;
        };
        let identifier = identifier(runs, manifest);
        let mut configs = spec.manifest_configs.iter_mut();
        if let Some(config) = configs.find(|config| config.resource_identifier == identifier) {
            complete(config, runs);
            continue;
        }
        let mut config = ManifestConfig {
            resource_identifier: identifier,
            ..ManifestConfig::default()
        };
        complete(&mut config, runs);
        spec.manifest_configs.push(config);
    }
    let spec = serde_json::to_value(&spec).unwrap_or_else(|_error| Value::Object(Map::new()));
    mark.work(stage, cluster, &spec)
}

fn runs_of(manifest: &Value) -> Option<Runs> {
    let text = |key: &str| manifest.get(key).and_then(Value::as_str).unwrap_or_default();
    Runs::named(text("apiVersion"), text("kind"))
}

fn identifier(runs: Runs, manifest: &Value) -> ResourceIdentifier {
    let text = |place: &str| {
        let text = manifest.pointer(place).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let (group, resource) = match runs {
        Runs::Job => ("batch", "jobs"),
        Runs::Pod => ("", "pods"),
    };
    ResourceIdentifier {
        group: group.to_owned(),
        resource: resource.to_owned(),
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name"),
    }
}

/// The agent's own rule says "Complete" of whatever has ended, well or badly; only "Degraded" tells which.
fn rules(runs: Runs) -> [ConditionRule; 3] {
    let (ended, failed) = match runs {
        Runs::Job => (
            "has(object.status) && has(object.status.conditions) && object.status.conditions.exists(c, \
             (c.type == 'Complete' || c.type == 'Failed') && c.status == 'True')",
            "has(object.status) && has(object.status.conditions) && object.status.conditions.exists(c, \
             c.type == 'Failed' && c.status == 'True')",
        ),
        Runs::Pod => (
            "has(object.status) && has(object.status.phase) && object.status.phase in ['Succeeded', 'Failed']",
            "has(object.status) && has(object.status.phase) && object.status.phase == 'Failed'",
        ),
    };
    let cel = |condition: &str, expression: String| ConditionRule {
        type_: "CEL".to_owned(),
        condition: condition.to_owned(),
        cel_expressions: vec![expression],
        ..ConditionRule::default()
    };
    let well_known = ConditionRule {
        type_: "WellKnownConditions".to_owned(),
        condition: "Complete".to_owned(),
        ..ConditionRule::default()
    };
    [
        well_known,
        cel("Progressing", format!("!({ended})")),
        cel("Degraded", failed.to_owned()),
    ]
}

/// For agents that know no rules of conditions.
fn paths(runs: Runs) -> Vec<(&'static str, &'static str)> {
    match runs {
        Runs::Job => vec![
            (
                "jobComplete",
                ".status.conditions[?(@.type==\"Complete\")].status",
            ),
            ("jobFailed", ".status.conditions[?(@.type==\"Failed\")].status"),
        ],
        Runs::Pod => vec![("podPhase", ".status.phase")],
    }
}

/// Adds what a user has not said; what a user has said stays.
fn complete(config: &mut ManifestConfig, runs: Runs) {
    for rule in rules(runs) {
        let mut rules = config.condition_rules.iter();
        if !rules.any(|given| given.condition == rule.condition) {
            config.condition_rules.push(rule);
        }
    }
    let given = |name: &str| {
        let mut rules = config.feedback_rules.iter();
        rules.any(|rule| rule.json_paths.iter().any(|path| path.name == name))
    };
    let lacking = paths(runs).into_iter().filter(|(name, _)| !given(name));
    let lacking: Vec<JsonPath> = lacking
        .map(|(name, path)| JsonPath {
            name: name.to_owned(),
            path: path.to_owned(),
            ..JsonPath::default()
        })
        .collect();
    if lacking.is_empty() {
        return;
    }
    let mut rules = config.feedback_rules.iter_mut();
    match rules.find(|rule| rule.type_ == "JSONPaths") {
        Some(rule) => rule.json_paths.extend(lacking),
        None => config.feedback_rules.push(FeedbackRule {
            type_: "JSONPaths".to_owned(),
            json_paths: lacking,
        }),
    }
}
