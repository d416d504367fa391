//! The input of rules for a `RolloutFreeze`: all faults of its values, found by the parser of the planners.
//!
//! A part with a wrong type is reported by the schema; the other parts are parsed nevertheless.

use serde_json::{Map, Value};

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
        let written = object
            .get("spec")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        let fits = |part: &str, value: &Value| {
            let alone = Value::Object(Map::from_iter([(part.to_owned(), value.clone())]));
            serde_json::from_value::<RolloutFreezeSpec>(alone).is_ok()
        };
        let kept = written.filter(|(part, value)| fits(part, value));
        let kept = kept.map(|(part, value)| (part.clone(), value.clone())).collect();
        let spec: RolloutFreezeSpec = serde_json::from_value(Value::Object(kept)).unwrap_or_default();
        let parsed = model::Freeze::parse(&spec, &Path::root().key("spec"));
        Self {
            faults: parsed.err().into_iter().flatten().collect(),
            addons: spec.add_ons.into_iter().flatten().collect(),
        }
    }
}
