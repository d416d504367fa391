//! The input of rules for a `RolloutProfile`: its settings, or all faults of its values, found by the parser of the planners.
//!
//! A part with a wrong type is reported by the schema; the other parts are parsed nevertheless.

use serde_json::Value;

use super::fitting::fitting_spec;
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
        let spec: RolloutProfileSpec = fitting_spec(object);
        let name = object.pointer("/metadata/name").and_then(Value::as_str);
        let parsed = RolloutProfile::parse(name.unwrap_or_default(), &spec, &Path::root().key("spec"));
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
            faults: faults.into_iter().collect(),
            is_default: spec.default.unwrap_or_default(),
            windows: of_clusters.chain(&spec.settings.windows).map(Vec::len).sum(),
        }
    }
}
