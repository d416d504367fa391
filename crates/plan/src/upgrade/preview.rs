//! What an upgrade would do.
//!
//! Computes the waves of `status.plan`: as many clusters at once as allowed, if all took equally long. Never starts a cluster.

use std::collections::BTreeMap;

use api::cluster::{UpgradePlan, UpgradeWave};
use model::Name;
use model::upgrade::UpgradeSpec;

use crate::upgrade::cluster_standing::{ClusterStanding, Want};
use crate::upgrade::order::natural;
use crate::upgrade::record::Record;

/// Maximum number of clusters that are listed by name.
const MOST_NAMES: usize = 500;

/// Returns the waves of clusters that could start.
pub(crate) fn waves(spec: &UpgradeSpec, stands: &BTreeMap<Name, ClusterStanding>) -> UpgradePlan {
    let strategy = &spec.strategy;
    let own = strategy.at_once.of(stands.len()).max(1);
    let could = |is_own: &dyn Fn(&Record) -> bool| -> Vec<&Name> {
        let is_open = |stand: &ClusterStanding| matches!(stand.want, Want::Turn | Want::Upgrade | Want::Hop);
        let each = stands
            .iter()
            .filter(|(_, stand)| is_open(stand) && is_own(&stand.record));
        natural(each.map(|(name, _)| name))
    };
    let is_rest = |record: &Record| {
        let mut stages = strategy.stages.iter();
        !record.canary && !stages.any(|stage| record.is_of_stage(&stage.name))
    };
    let stages = strategy.stages.iter().map(|stage| {
        let of_stage = |record: &Record| record.is_of_stage(&stage.name);
        let all = stands.values().filter(|stand| of_stage(&stand.record)).count();
        let size = stage.at_once.map_or(own, |limit| limit.of(all).max(1));
        (false, &*stage.name, could(&of_stage), size)
    });
    let groups = std::iter::once((true, "", could(&|record| record.canary), own))
        .chain(stages)
        .chain([(false, "", could(&is_rest), own)]);
    let mut plan = UpgradePlan::default();
    let mut remaining = MOST_NAMES;
    for (canary, stage, names, size) in groups {
        let told = names.get(..remaining.min(names.len())).unwrap_or_default();
        remaining = remaining.saturating_sub(told.len());
        let left = names.len().saturating_sub(told.len());
        plan.truncated = plan
            .truncated
            .saturating_add(i64::try_from(left).unwrap_or(i64::MAX));
        plan.waves.extend(told.chunks(size).map(|wave| UpgradeWave {
            canary,
            stage: stage.to_owned(),
            clusters: wave.iter().map(ToString::to_string).collect(),
        }));
    }
    plan
}
