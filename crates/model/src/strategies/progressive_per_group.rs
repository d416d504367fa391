//! The mandatory groups one after another, then every other group one after another.

use super::{Rest, Strategy};
use crate::limit::Limit;
use crate::rollout::{RawBlock, RawGroup};
use crate::scalar::Scalar;
use api::v1alpha1 as wire;

pub(super) struct ProgressivePerGroup;

impl Strategy for ProgressivePerGroup {
    fn name(&self) -> &'static str {
        "ProgressivePerGroup"
    }

    fn block(&self) -> &'static str {
        "progressivePerGroup"
    }

    fn settings<'a>(&self, of: &'a wire::RolloutStrategy) -> Option<RawBlock<'a>> {
        let block = of.progressive_per_group.as_ref()?;
        Some(RawBlock {
            groups: block
                .mandatory_decision_groups
                .iter()
                .map(RawGroup::from)
                .collect(),
            max_failures: block.max_failures.as_ref().map(Scalar::from),
            min_success_time: block.min_success_time.as_ref().map(Scalar::from),
            progress_deadline: block.progress_deadline.as_ref().map(Scalar::from),
            ..RawBlock::default()
        })
    }

    fn rest(&self, _: Option<Limit>, _: Option<Limit>) -> Rest {
        Rest::GroupByGroup
    }
}
