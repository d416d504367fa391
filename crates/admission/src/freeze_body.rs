//! The input of rules for a `RolloutFreeze`: all faults of its values, found by the parser of the planners.
//!
//! A part with a wrong type is reported by the schema; the other parts are parsed nevertheless.

use serde_json::Value;

use super::fitting::fitting_spec;
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
        let spec: RolloutFreezeSpec = fitting_spec(object);
        let parsed = model::Freeze::parse(&spec, &Path::root().key("spec"));
        Self {
            faults: parsed.err().into_iter().flatten().collect(),
            addons: spec.add_ons.into_iter().flatten().collect(),
        }
    }
}
