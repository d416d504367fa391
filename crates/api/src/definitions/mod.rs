//! What Tidegate's fields add to the definitions of Open Cluster Management that a hub has.
//!
//! Decides additions to `v1alpha1` alone: its schema and its columns. What a hub has already is never changed or removed,
//! except what this crate has added and recorded on the definition. The list of versions, `served`, `storage`, the conversion and
//! the names are never changed. Reports which program would remove the additions, and when they must not be made.

mod difference;
mod erasure;
mod hazard;
mod live;
mod page;
mod patch;
mod probe;
mod record;

pub use difference::Difference;
pub use erasure::{Erasure, erasure, extended, has_something_to_lose, is_kept};
pub use hazard::{Conversion, Hazard, HubContext, Operator, OperatorWill, Proof};
pub use live::{Unfit, converter, is_established, other_versions, version_annotation};
pub use page::{
    ConversionEffect, DefinitionDifference, DefinitionPlans, OperatorEffect, PlannedAddition,
    PlannedDefinition, Refusal, applied_text, definition_plans, plan_text, revert_text,
};
pub use patch::{Addition, DefinitionPlan, Presence, Reversal, plan, revert};
pub use probe::{is_answered_by_tidegate, probe};
