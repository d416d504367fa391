//! Which stages of an upgrade wait for approval (`stages[].approval`, or `approvalBefore` of a profile), and their RolloutApprovals.
//!
//! Decides what an approval is about: what is asked of each cluster. The canary clusters and the clusters of no stage need none.

use std::collections::BTreeMap;

use jiff::Timestamp;

use api::{ApprovalDecision, RolloutApprovalSpec, upgrade_approval_name};
use model::Name;
use model::upgrade::{Stage, UpgradeSpec};
use store::ApprovalRecord;
use store::upgrade::View;

use crate::approval_objects::{Wanted, writes};
use crate::rollout::{Asked, AskedGroup, for_reason};
use crate::types::Action;
use crate::upgrade::pace::{Hold, Turns};
use crate::upgrade::run_memory::asked;

/// The length of a content hash.
const DIGITS: usize = 32;

/// What stages of an upgrade wait for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Approvals<'a> {
    /// The hash of what is asked of each cluster.
    content: Name,
    /// The stages that need an approval, in their order, each with its RolloutApproval.
    stages: Vec<(&'a Name, Option<&'a ApprovalRecord>)>,
}

impl<'a> Approvals<'a> {
    /// Returns the stages of an upgrade that need an approval.
    pub(crate) fn of(view: &View<'a>, spec: &'a UpgradeSpec) -> Self {
        let upgrade = upgrade_of(view);
        let needs = |(index, stage): &(usize, &Stage)| {
            let shared = view.settings.approves_stage(*index, &stage.name);
            stage.approval || shared
        };
        let stages = spec.strategy.stages.iter().enumerate().filter(needs);
        let content: String = asked(&view.upgrade).chars().take(DIGITS).collect();
        Self {
            stages: stages
                .map(|(_, stage)| {
                    let name = Name::from(upgrade_approval_name(&upgrade, &stage.name));
                    (&stage.name, view.approvals.get(&name).copied())
                })
                .collect(),
            content: Name::from(content),
        }
    }

    fn needs(&self, stage: &str) -> bool {
        self.stages.iter().any(|(name, _)| ***name == *stage)
    }

    fn record(&self, stage: &str) -> Option<&'a ApprovalRecord> {
        let mut stages = self.stages.iter();
        stages.find(|(name, _)| ***name == *stage)?.1
    }

    /// Returns whether the clusters of a stage may start.
    pub(crate) fn allows(&self, stage: &str) -> bool {
        let record = self.record(stage);
        !self.needs(stage) || record.is_some_and(|record| record.approves(&self.content))
    }

    /// Returns what the clusters of a stage wait for that may not start.
    pub(crate) fn hold(&self, stage: &Name) -> Hold {
        match self
            .record(stage)
            .and_then(|record| record.rejects(&self.content))
        {
            Some(decision) => Hold::Rejected(stage.clone(), who(decision)),
            None => Hold::Approval(stage.clone()),
        }
    }

    /// Returns how the stages stand that need an approval; absent where none does.
    pub(crate) fn asked(&self, turns: &Turns) -> Option<Asked> {
        let mut waiting: BTreeMap<&Name, usize> = BTreeMap::new();
        for hold in turns.waits.values() {
            if let Hold::Approval(stage) | Hold::Rejected(stage, _) = hold {
                let count = waiting.entry(stage).or_default();
                *count = count.saturating_add(1);
            }
        }
        let groups = self
            .stages
            .iter()
            .enumerate()
            .map(|(position, (stage, record))| AskedGroup {
                position,
                name: (*stage).clone(),
                approved: self.allows(stage),
                rejected: record.is_some_and(|record| record.rejects(&self.content).is_some()),
                waiting: waiting.get(*stage).copied().unwrap_or_default(),
                later: 0,
            });
        (!self.stages.is_empty()).then(|| Asked {
            hash: self.content.clone(),
            groups: groups.collect(),
        })
    }
}

/// Returns the writes that make the RolloutApprovals of an upgrade what they should be. The hub deletes none with it: an object of a
/// namespace cannot own one of the cluster.
pub(crate) fn objects(view: &View<'_>, asked: Option<&Asked>, now: Timestamp) -> Vec<Action> {
    if !view.shows_approvals {
        return Vec::new();
    }
    let target = view.upgrade.spec.cluster_version.as_ref();
    let version = target
        .map(|target| target.version.as_str())
        .filter(|text| !text.is_empty());
    let changes = version.map(|version| format!("cluster version: -> {version}"));
    let groups = asked
        .into_iter()
        .flat_map(|asked| asked.groups.iter().map(|group| (&asked.hash, group)));
    let wanted: Vec<Wanted<'_>> = groups
        .map(|(hash, group)| Wanted {
            spec: RolloutApprovalSpec {
                upgrade: upgrade_of(view),
                group: group.name.to_string(),
                ..RolloutApprovalSpec::default()
            },
            hash,
            group,
            changes: changes.iter().cloned().collect(),
        })
        .collect();
    writes(&view.approvals, &wanted, None, now)
}

fn upgrade_of(view: &View<'_>) -> String {
    format!("{}/{}", view.upgrade.namespace, view.upgrade.name)
}

fn who(decision: &ApprovalDecision) -> String {
    format!("{}{}", decision.by, for_reason(&decision.reason))
}
