//! Policies of users, as they are written every day: about fields, labels, lists, patterns, params and variables.
//!
//! Decides their mix. Every question of a load satisfies all of them, so that the built-in rules alone refuse.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::BenchError;

const GROUP: &str = "addon.open-cluster-management.io";

/// What the policies demand, in turn.
const EXPRESSIONS: [&str; 5] = [
    "object.spec.?installNamespace.orValue('agents').matches('^[a-z0-9-]{1,63}$')",
    "object.spec.?configs.orValue([]).all(c, c.resource != 'secrets' && c.?namespace.orValue('') in params.namespaces)",
    "object.metadata.?labels.orValue({}).all(key, key.matches('^[a-z-]+$'))",
    "variables.names.all(n, n.size() < params.most) && variables.names.size() <= 10",
    "oldObject == null || object.spec == oldObject.spec || request.operation == 'UPDATE'",
];

/// Writes this many policies into a folder of their own; returns the folder.
pub(super) fn write(folder: &Path, count: u16) -> Result<PathBuf, BenchError> {
    let folder = folder.join("policies");
    let failed = |source| BenchError::File {
        path: folder.clone(),
        source,
    };
    std::fs::create_dir_all(&folder).map_err(failed)?;
    for (number, expression) in (0..count).zip(EXPRESSIONS.iter().cycle()) {
        let file = folder.join(format!("demand-{number:04}.json"));
        std::fs::write(file, policy(number, expression).to_string()).map_err(failed)?;
    }
    Ok(folder)
}

fn policy(number: u16, expression: &str) -> Value {
    let resources = json!([
        "addondeploymentconfigs",
        "clustermanagementaddons",
        "managedclusteraddons"
    ]);
    json!({
        "apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy",
        "metadata": {"name": format!("demand-{number:04}")},
        "spec": {
            "matchConstraints": {"resourceRules": [{"apiGroups": [GROUP], "apiVersions": ["*"],
                "operations": ["CREATE", "UPDATE"], "resources": resources}]},
            "params": {"namespaces": ["default", crate::scene::ADDON], "most": 64},
            "variables": [{"name": "names", "expression": "object.spec.?configs.orValue([]).map(c, c.name)"}],
            "validations": [{"id": "demand", "expression": expression, "message": "is not met", "fieldPath": "spec"}],
        },
    })
}
