//! The work that runs before a deletion.
//!
//! Decides nothing about when. Asks for enough feedback to tell a hook that has failed from one that still runs.

use serde_json::{Map, Value, json};

use super::object::text;
use super::recipe::Recipe;
use super::rendered::Rendered;

impl Rendered {
    /// Returns the recipe of the work that runs before a deletion. It does not orphan anything: a job has no use once it has run.
    pub(crate) fn hooks(&self) -> Recipe {
        let objects: Vec<&Value> = self.hook_objects().collect();
        let mut spec = Map::new();
        spec.insert(
            "manifestConfigs".to_owned(),
            objects.iter().map(|object| feedback(object)).collect(),
        );
        spec.insert("workload".to_owned(), json!({"manifests": objects}));
        if let Some(executor) = self.executor() {
            spec.insert("executor".to_owned(), executor.clone());
        }
        Recipe::new(&Value::Object(spec), Vec::new())
    }
}

/// The well-known status of a job says nothing about its failure.
fn feedback(manifest: &Value) -> Value {
    let mut rules = vec![json!({"type": "WellKnownStatus"})];
    let (group, resource) = if text(manifest, "/kind") == "Job" {
        let failed = r#".status.conditions[?(@.type=="Failed")]"#;
        rules.push(json!({"type": "JSONPaths", "jsonPaths": [
            {"name": "JobFailed", "path": format!("{failed}.status")},
            {"name": "JobFailedMessage", "path": format!("{failed}.message")},
        ]}));
        ("batch", "jobs")
    } else {
        ("", "pods")
    };
    json!({
        "resourceIdentifier": {
            "group": group,
            "resource": resource,
            "namespace": text(manifest, "/metadata/namespace"),
            "name": text(manifest, "/metadata/name"),
        },
        "feedbackRules": rules,
    })
}
