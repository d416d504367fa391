//! The facts that the checker reads: the existing works, those that a plan adds, and the status before and after the plan.
//!
//! It determines the owner of a work and the report of its agent independently of the planner.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use api::cluster::{ManagedClustersUpgradeStatus, UpgradeClusterStatus};
use kubernetes::field::Path;
use model::upgrade::{UpgradeSpec, WindowState};

use plan::upgrade::Plan;
use plan::upgrade::Write;
use store::upgrade::{Applied, Mode, View, Work};

/// What the checker looks at.
pub(super) struct Facts<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) plan: &'a Plan,
    pub(super) spec: UpgradeSpec,
    /// The status as it will be.
    pub(super) after: &'a ManagedClustersUpgradeStatus,
    /// Whether a window is shut.
    pub(super) is_shut: bool,
    pub(super) now: Timestamp,
}

impl<'a> Facts<'a> {
    /// Returns nothing for an invalid spec.
    pub(super) fn of(view: &'a View<'a>, plan: &'a Plan, now: Timestamp) -> Option<Self> {
        let spec = UpgradeSpec::parse(view.upgrade.spec, &Path::root()).ok()?;
        let window = spec.strategy.window.as_ref().map(|window| window.at(now));
        let shared = view.settings.windows_of_all().map(|windows| windows.at(now));
        let window = window.or(shared);
        let is_shut = matches!(window, Some(WindowState::Shut(_)))
            || view.settings.pause_of_all().is_some()
            || view.settings_fault.is_some();
        Some(Self {
            view,
            plan,
            is_shut,
            spec,
            after: plan.status.as_ref().unwrap_or(view.upgrade.status),
            now,
        })
    }

    /// Whether the stage that the status tells of a cluster waits for approval.
    pub(super) fn is_unapproved(&self, cluster: &str) -> bool {
        let mut told = self.after.clusters.iter();
        let Some(told) = told.find(|one| one.name == cluster && !one.canary) else {
            return false;
        };
        let mut stages = self.spec.strategy.stages.iter();
        let needs = stages.any(|stage| stage.approval && *stage.name == *told.stage);
        let mut records = self.view.approvals.values();
        let record = records.find(|record| *record.group == *told.stage);
        let decision = record.and_then(|record| record.decision.as_ref());
        let is_approved = record.is_some_and(|record| !record.approved.is_empty())
            || decision.is_some_and(|decision| decision.result == "Approved");
        needs && !is_approved
    }

    /// Whether a freeze applies to a cluster, or its windows are closed.
    pub(super) fn is_frozen(&self, cluster: &str) -> bool {
        let labels = self.view.clusters.get(cluster).map(|cluster| &cluster.labels);
        let windows = self
            .view
            .settings
            .cluster_windows(|key| labels?.get(key).map(String::as_str));
        let is_shut = windows.is_some_and(|windows| matches!(windows.at(self.now), WindowState::Shut(_)));
        is_shut
            || self.view.freezes.iter().any(|record| match &record.freeze {
                Err(_) => true,
                Ok(freeze) => {
                    let selector = freeze.clusters.as_ref();
                    let is_selected = selector
                        .is_none_or(|selector| labels.is_some_and(|labels| selector.matches_map(labels)));
                    freeze.is_in_force(self.now) && is_selected
                }
            })
    }

    /// The work of a stage on a cluster, when it is ours and stays.
    pub(super) fn work(&self, cluster: &str, stage: &str) -> Option<&'a Work> {
        let all = self.view.works.get(cluster)?;
        let mut ours = all
            .values()
            .filter(|work| work.owner == self.view.upgrade.uid && !work.deleting);
        ours.find(|work| work.stage.is_some_and(|found| found.word() == stage))
    }

    /// The works that the plan creates: cluster, stage, name. One that only asks its cluster is a "probe", and upgrades it when an
    /// update has it write.
    pub(super) fn created(&self) -> Vec<(&'a str, &'static str, &'a str)> {
        let each = self.plan.writes.iter().filter_map(|write| match write {
            Write::Create {
                cluster,
                stage,
                name,
                body,
            } => {
                let strategy = body.pointer("/spec/manifestConfigs/0/updateStrategy/type");
                let is_probe = stage.word() == "platform" && strategy.is_some_and(|one| one == "ReadOnly");
                Some((
                    &**cluster,
                    if is_probe { "probe" } else { stage.word() },
                    name.as_str(),
                ))
            }
            Write::Update {
                cluster,
                name,
                mode: Mode::Apply,
                ..
            } if self
                .work(cluster, "platform")
                .is_some_and(|work| work.mode == Mode::ReadOnly) =>
            {
                Some((&**cluster, "platform", name.as_str()))
            }
            Write::Update { .. } | Write::Delete { .. } => None,
        });
        each.collect()
    }

    /// The status of a cluster.
    pub(super) fn told(&self, cluster: &str) -> Option<&'a UpgradeClusterStatus> {
        entry(self.after, cluster)
    }

    /// The clusters that the status reports in a state.
    pub(super) fn in_state(&self, state: &str) -> BTreeSet<&'a str> {
        let each = self.after.clusters.iter().filter(|told| told.state == state);
        let mut all: BTreeSet<&str> = each.map(|told| told.name.as_str()).collect();
        if let Some(settled) = &self.after.settled {
            match state {
                "Complete" => all.extend(settled.complete.iter().map(String::as_str)),
                "Failed" => all.extend(settled.failed.iter().map(String::as_str)),
                _ => {}
            }
        }
        all
    }

    /// The clusters that the upgrade selects.
    pub(super) fn selected(&self) -> BTreeSet<&'a str> {
        let view = self.view;
        let mut all = BTreeSet::new();
        for place in &self.spec.placements {
            all.extend(
                view.placements
                    .get(place)
                    .into_iter()
                    .flatten()
                    .map(|name| &**name),
            );
        }
        if let Some(selector) = &self.spec.selector {
            let sets = selector.sets();
            for (_, members) in view
                .sets
                .iter()
                .filter(|(set, _)| sets.is_empty() || sets.contains(*set))
            {
                let labels = |name: &str| view.clusters.get(name).map(|cluster| &cluster.labels);
                let chosen = members
                    .iter()
                    .filter(|name| labels(name).is_some_and(|labels| selector.matches(name, labels)));
                all.extend(chosen.map(|name| &**name));
            }
        }
        all.retain(|name| view.clusters.get(*name).is_some_and(|cluster| !cluster.deleting));
        all
    }

    /// Whether this plan belongs to the run that the status was about.
    pub(super) fn is_same_run(&self) -> bool {
        self.after.run == self.view.upgrade.status.run
    }
}

/// The status of a cluster.
pub(super) fn entry<'a>(
    status: &'a ManagedClustersUpgradeStatus,
    cluster: &str,
) -> Option<&'a UpgradeClusterStatus> {
    status.clusters.iter().find(|told| told.name == cluster)
}

/// Whether an agent says that everything in a work has done what it is for.
pub(super) fn has_succeeded(work: &Work) -> bool {
    let is = |map: &BTreeMap<String, String>, name: &str, value: &str| {
        map.get(name).is_some_and(|found| found == value)
    };
    work.applied == Applied::Yes
        && work.manifests.len() >= work.count
        && work.manifests.iter().all(|told| {
            let said = |name: &str| told.conditions.get(name).copied();
            if told.runs.is_none() {
                return said("Degraded") != Some(true)
                    && said("Complete").or_else(|| said("Available")) == Some(true);
            }
            let good =
                is(&told.feedback, "jobComplete", "True") || is(&told.feedback, "podPhase", "Succeeded");
            good || said("Complete") == Some(true) && said("Degraded") == Some(false)
        })
}

/// Whether a cluster says that it has the version that its work asks for.
pub(super) fn has_arrived(work: &Work) -> bool {
    let (version, image) = &work.target;
    work.applied == Applied::Yes
        && work.manifests.iter().any(|told| {
            let said = |name: &str| told.feedback.get(name).map(String::as_str).unwrap_or_default();
            let is_ours = if version.is_empty() {
                said("image") == image
            } else {
                said("version") == version
            };
            is_ours && said("state") == "Completed"
        })
}
