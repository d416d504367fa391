//! The input of rules for a `RolloutFreeze`: all faults of its values, found by the parser of the planners.
//!
//! A part with a wrong type is reported by the schema; the other parts are parsed nevertheless.

use serde_json::Value;

use super::fitting::FittingSpec;
use super::step_budget::Items;
use api::RolloutFreezeSpec;
use kubernetes::field::{Path, Violation};

/// The input of rules for a freeze.
#[derive(Clone, Debug, Default)]
pub(super) struct FreezeBody {
    /// The faults of its values.
    pub(super) faults: Items<Violation>,
    /// `addOns`
    pub(super) addons: Items<String>,
}

impl FreezeBody {
    /// Reads an object. A part with a wrong type is reported by the schema.
    pub(super) fn read(object: &Value) -> Self {
        let fitting = FittingSpec::<RolloutFreezeSpec>::read(object);
        let parsed = model::Freeze::parse(&fitting.spec, &Path::root().key("spec"));
        let faults = parsed.err().into_iter().flatten();
        Self {
            faults: faults.filter(|fault| fitting.has(fault, object)).collect(),
            addons: fitting.spec.add_ons.into_iter().flatten().collect(),
        }
    }
}
