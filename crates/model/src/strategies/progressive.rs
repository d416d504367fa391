//! The mandatory groups one after another, then the other clusters within a limit.

use super::{Rest, Strategy};
use crate::limit::Limit;
use crate::rollout::{RawBlock, RawGroup};
use crate::scalar::Scalar;
use api::v1alpha1 as wire;

pub(super) struct Progressive;

impl Strategy for Progressive {
    fn name(&self) -> &'static str {
        "Progressive"
    }

    fn block(&self) -> &'static str {
        "progressive"
    }

    fn settings<'a>(&self, of: &'a wire::RolloutStrategy) -> Option<RawBlock<'a>> {
        let block = of.progressive.as_ref()?;
        Some(RawBlock {
            groups: block
                .mandatory_decision_groups
                .iter()
                .map(RawGroup::from)
                .collect(),
            max_concurrency: block.max_concurrency.as_ref().map(Scalar::from),
            max_failures: block.max_failures.as_ref().map(Scalar::from),
            min_success_time: block.min_success_time.as_ref().map(Scalar::from),
            progress_deadline: block.progress_deadline.as_ref().map(Scalar::from),
        })
    }

    fn rest(&self, limit: Option<Limit>, per_group: Option<Limit>) -> Rest {
        // Zero is read as "nothing given".
        let given = |limit: Option<Limit>| limit.filter(|limit| *limit != Limit::All);
        Rest::Within(given(limit).or_else(|| given(per_group)).unwrap_or(Limit::All))
    }

    fn has_limit(&self) -> bool {
        true
    }
}
