//! The input of rules for an `AddOnRollout`: its settings with all faults of their values, found by the parser of the planners.
//!
//! A part with a wrong type is reported by the schema; the other parts are parsed nevertheless.

use serde_json::Value;

use super::fitting::FittingSpec;
use super::step_budget::Items;
use api::AddOnRolloutSpec;
use kubernetes::field::{Path, Violation};
use model::RolloutSettings;

/// The input of rules for the settings of an add-on's rollouts.
#[derive(Clone, Debug, Default)]
pub(super) struct RolloutBody {
    /// The spec.
    pub(super) spec: AddOnRolloutSpec,
    /// Its settings; nothing is set where any of them is invalid.
    pub(super) settings: RolloutSettings,
    /// The faults of its values.
    pub(super) faults: Items<Violation>,
    /// How many windows it has.
    pub(super) windows: usize,
}

impl RolloutBody {
    /// Reads an object. A part with a wrong type is reported by the schema.
    pub(super) fn read(object: &Value) -> Self {
        let fitting = FittingSpec::<AddOnRolloutSpec>::read(object);
        let spec = &fitting.spec;
        let own = spec.placements.iter().map(|placement| &placement.settings);
        let windows = own
            .chain([&spec.settings])
            .filter_map(|level| level.windows.as_ref());
        let windows = windows.map(Vec::len).sum();
        let (settings, faults) = match RolloutSettings::parse(spec, &Path::root().key("spec")) {
            Ok(settings) => (settings, Vec::new()),
            Err(faults) => (RolloutSettings::default(), faults),
        };
        Self {
            settings,
            faults: faults
                .into_iter()
                .filter(|fault| fitting.has(fault, object))
                .collect(),
            windows,
            spec: fitting.spec,
        }
    }
}
