//! The input of rules for a `RolloutCheck`: all faults of its values, found by the parser of the planners.
//!
//! A part with a wrong type is reported by the schema; the other parts are parsed nevertheless.

use serde_json::Value;

use super::fitting::fitting_spec;
use super::step_budget::Items;
use api::{PrometheusCheck, RolloutCheckSpec};
use kubernetes::field::{Path, Violation};
use model::RolloutCheck;

/// The input of rules for a check.
#[derive(Clone, Debug, Default)]
pub(super) struct CheckBody {
    /// The faults of its values.
    pub(super) faults: Items<Violation>,
    /// `prometheus`
    pub(super) prometheus: Option<PrometheusCheck>,
}

impl CheckBody {
    /// Reads an object. A part with a wrong type is reported by the schema.
    pub(super) fn read(object: &Value) -> Self {
        let spec: RolloutCheckSpec = fitting_spec(object);
        let parsed = RolloutCheck::parse(&spec, &Path::root().key("spec"));
        Self {
            faults: parsed.err().into_iter().flatten().collect(),
            prometheus: spec.prometheus,
        }
    }
}
