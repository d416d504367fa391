//! All clusters at once.

use super::{Rest, Strategy};
use crate::limit::{Limit, Tolerance};
use crate::rollout::RawBlock;
use crate::scalar::Scalar;
use api::v1alpha1 as wire;

pub(super) struct All;

impl Strategy for All {
    fn name(&self) -> &'static str {
        "All"
    }

    fn block(&self) -> &'static str {
        "all"
    }

    fn settings<'a>(&self, of: &'a wire::RolloutStrategy) -> Option<RawBlock<'a>> {
        let block = of.all.as_ref()?;
        Some(RawBlock {
            max_failures: block.max_failures.as_ref().map(Scalar::from),
            min_success_time: block.min_success_time.as_ref().map(Scalar::from),
            progress_deadline: block.progress_deadline.as_ref().map(Scalar::from),
            ..RawBlock::default()
        })
    }

    fn rest(&self, _: Option<Limit>, _: Option<Limit>) -> Rest {
        Rest::Within(Limit::All)
    }

    fn has_mandatory_groups(&self) -> bool {
        false
    }

    /// Zero is what the API server fills in where the user gives no number; here that never stopped a rollout.
    fn stops_after(&self, max_failures: Tolerance) -> Option<Tolerance> {
        (max_failures.of(100) > 0).then_some(max_failures)
    }
}
