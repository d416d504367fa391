//! What an upgrade would do.
//!
//! Computes the waves of `status.plan`: as many clusters at once as allowed, if all took equally long. Never starts a cluster.

use std::collections::BTreeMap;

use api::cluster::{UpgradePlan, UpgradeWave};
use model::Name;
use model::upgrade::UpgradeSpec;

use crate::upgrade::cluster_standing::{ClusterStanding, Want};
use crate::upgrade::order::natural;

/// Maximum number of clusters that are listed by name.
const MOST_NAMES: usize = 500;

/// Returns the waves of clusters that could start.
pub(crate) fn waves(spec: &UpgradeSpec, stands: &BTreeMap<Name, ClusterStanding>) -> UpgradePlan {
    let size = spec.strategy.at_once.of(stands.len()).max(1);
    let could = |canary: bool| -> Vec<&Name> {
        let each = stands.iter().filter(|(_, stand)| {
            stand.record.canary == canary && matches!(stand.want, Want::Turn | Want::Upgrade)
        });
        natural(each.map(|(name, _)| name))
    };
    let mut plan = UpgradePlan::default();
    let mut remaining = MOST_NAMES;
    for canary in [true, false] {
        let names = could(canary);
        let told = names.get(..remaining.min(names.len())).unwrap_or_default();
        remaining = remaining.saturating_sub(told.len());
        let left = names.len().saturating_sub(told.len());
        plan.truncated = plan
            .truncated
            .saturating_add(i64::try_from(left).unwrap_or(i64::MAX));
        plan.waves.extend(told.chunks(size).map(|wave| UpgradeWave {
            canary,
            clusters: wave.iter().map(ToString::to_string).collect(),
        }));
    }
    plan
}
