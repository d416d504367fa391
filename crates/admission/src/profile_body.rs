//! The input of rules for a `RolloutProfile`: its settings, or all faults of its values, found by the parser of the planners.
//!
//! A part with a wrong type is reported by the schema; the other parts are parsed nevertheless.

use serde_json::Value;

use super::fitting::FittingSpec;
use super::step_budget::Items;
use api::RolloutProfileSpec;
use kubernetes::field::{Path, Violation};
use model::RolloutProfile;

/// The input of rules for a profile.
#[derive(Clone, Debug, Default)]
pub(super) struct ProfileBody {
    /// What it sets; absent where any of it is invalid.
    pub(super) profile: Option<RolloutProfile>,
    /// The faults of its values.
    pub(super) faults: Items<Violation>,
    /// Whether it is the default of the hub.
    pub(super) is_default: bool,
    /// How many windows it has.
    pub(super) windows: usize,
}

impl ProfileBody {
    /// Reads an object. A part with a wrong type is reported by the schema.
    pub(super) fn read(object: &Value) -> Self {
        let fitting = FittingSpec::<RolloutProfileSpec>::read(object);
        let spec = &fitting.spec;
        let name = object.pointer("/metadata/name").and_then(Value::as_str);
        let parsed = RolloutProfile::parse(name.unwrap_or_default(), spec, &Path::root().key("spec"));
        let of_clusters = spec
            .cluster_windows
            .iter()
            .flatten()
            .filter_map(|one| one.windows.as_ref());
        let (profile, faults) = match parsed {
            Ok(profile) => (Some(profile), Vec::new()),
            Err(faults) => (None, faults),
        };
        Self {
            profile,
            faults: faults
                .into_iter()
                .filter(|fault| fitting.has(fault, object))
                .collect(),
            is_default: spec.default.unwrap_or_default(),
            windows: of_clusters.chain(&spec.settings.windows).map(Vec::len).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::step_budget::StepBudget;
    use super::*;
    use serde_json::json;

    #[test]
    fn a_wrong_type_hides_no_other_fault() {
        let spec = json!({"default": "yes", "orderBy": 5, "rolloutStrategy": {"type": "Progressive", "progressive": {
                "maxConcurrency": "110%", "maxFailures": "x", "minSuccessTime": 5, "progressDeadline": "5x"}},
            "windows": [{"cron": 5, "duration": "banana"}], "checks": [1, "B!"],
            "clusterWindows": [{"clusterSelector": 1, "windows": [{"cron": "x", "duration": "1h"}]}]});
        let body = ProfileBody::read(&json!({"metadata": {"name": "slow"}, "spec": spec}));
        let effort = StepBudget::default();
        let found = body.faults.each(&effort).map(|fault| fault.path().to_string());
        let found: Vec<String> = found.collect();
        assert_eq!(
            found,
            [
                "spec.rolloutStrategy.progressive.maxConcurrency",
                "spec.rolloutStrategy.progressive.progressDeadline",
                "spec.rolloutStrategy.progressive.maxFailures",
                "spec.clusterWindows[0].windows[0].cron",
                "spec.windows[0].duration",
            ]
        );
    }
}
