//! The stored state of the current run, and the progress of each cluster. It is in the status of the upgrade.
//!
//! Decides when a changed spec is a run of its own, and who is tried again. Never looks at a clock.

use std::collections::BTreeMap;

use api::hash::SpecHash;
use jiff::Timestamp;
use model::Name;
use model::upgrade::UpgradeSpec;
use serde_json::{Value, json};

use crate::upgrade::record::{ActionState, Phase, Record, State};
use store::upgrade::marks::Stage;
use store::upgrade::{Mode, Upgrade, View, Work};

/// What is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The run that goes on.
    pub(crate) run: String,
    /// Whether another run is asked for, and waits for those who are in progress in this one.
    pub(crate) changing: bool,
    /// The last word of the annotation for another try that was obeyed.
    pub(crate) retried: String,
    /// The clusters that are remembered.
    pub(crate) records: BTreeMap<Name, Record>,
    /// Whether anything was applied in this run.
    pub(crate) applied: bool,
}

impl Memory {
    /// Returns what is remembered of an upgrade.
    pub(crate) fn of(view: &View<'_>, spec: &UpgradeSpec) -> Self {
        let status = view.upgrade.status;
        let asked = run_of(&asked(&view.upgrade));
        let mut memory = Self {
            run: status.run.clone(),
            changing: false,
            retried: status.retried.clone(),
            records: records(view, spec),
            applied: status
                .conditions
                .iter()
                .any(|one| one.type_ == "Applied" && one.status == "True"),
        };
        if memory.run != asked {
            if !memory.run.is_empty() && memory.is_underway(view) {
                memory.changing = true;
            } else {
                return Self {
                    run: asked,
                    changing: false,
                    retried: view.upgrade.retry.to_owned(),
                    records: BTreeMap::new(),
                    applied: false,
                };
            }
        }
        memory.retry(view.upgrade.retry);
        memory
    }

    /// Returns the mark of works that are written for a cluster now.
    pub(crate) fn mark(&self, cluster: &Name) -> String {
        let tried = self.records.get(cluster).map_or(0, |record| record.tried);
        format!("{}-{}", self.run, tried.saturating_add(1))
    }

    /// Returns whether a work of this run and attempt only asks its cluster whether it is upgradeable.
    pub(crate) fn is_probe(&self, cluster: &Name, work: &Work) -> bool {
        let state = self
            .records
            .get(cluster)
            .map_or(State::NotStarted, |record| record.state);
        state == State::NotStarted && work.stage == Some(Stage::Platform) && work.mode == Mode::ReadOnly
    }

    fn is_underway(&self, view: &View<'_>) -> bool {
        let goes_on = |record: &Record| match record.state {
            State::NotStarted | State::Failed => false,
            State::Initialized | State::Partial => true,
            State::Complete => record.phase == Phase::PostAction,
        };
        if self.records.values().any(goes_on) {
            return true;
        }
        view.works.iter().any(|(cluster, works)| {
            let has_ended = self.records.get(cluster).is_some_and(Record::has_ended);
            !has_ended
                && works.values().any(|work| {
                    let is_flight = matches!(work.stage, Some(Stage::Platform | Stage::Operators));
                    is_flight
                        && work.owner == view.upgrade.uid
                        && !work.deleting
                        && work.run == self.mark(cluster)
                        && !self.is_probe(cluster, work)
                })
        })
    }

    fn retry(&mut self, word: &str) {
        if word.is_empty() || word == self.retried {
            return;
        }
        word.clone_into(&mut self.retried);
        for record in self.records.values_mut() {
            if record.state == State::Failed {
                *record = Record {
                    tried: record.tried.saturating_add(1),
                    ..Record::default()
                };
            }
        }
    }
}

/// Returns the hash of what is asked of each cluster. How it is rolled out may change while it does; this may not.
pub(crate) fn asked(upgrade: &Upgrade<'_>) -> String {
    let spec = upgrade.spec;
    let mut operators = spec.ocp_operators.clone();
    if let Some(operators) = &mut operators {
        operators.approver_image.clear();
    }
    let action = |action: &Option<api::cluster::UpgradeAction>| {
        let work = action.as_ref().and_then(|action| action.manifest_work.as_ref());
        serde_json::to_value(work).unwrap_or(Value::Null)
    };
    let hash = SpecHash::of(&json!({"spec": {
        "clusterVersion": spec.cluster_version,
        "ocpOperators": operators,
        "before": action(&spec.pre_upgrade_action),
        "after": action(&spec.post_upgrade_action),
    }}));
    hash.to_string()
}

/// The mark of a run: the first digits are enough to tell one run of an upgrade from the next.
fn run_of(asked: &str) -> String {
    asked.chars().take(10).collect()
}

fn records(view: &View<'_>, spec: &UpgradeSpec) -> BTreeMap<Name, Record> {
    let status = view.upgrade.status;
    let of = |has: bool| {
        if has {
            ActionState::Available
        } else {
            ActionState::None
        }
    };
    let complete = Record {
        pre: of(spec.before.is_some()),
        post: of(spec.after.is_some()),
        ..Record::default().at(State::Complete, Phase::Done)
    };
    // When they began is not remembered; that they did is.
    let failed = Record {
        started: Some(Timestamp::UNIX_EPOCH),
        pre: of(spec.before.is_some()),
        ..Record::default().at(State::Failed, Phase::Done)
    };
    let settled = status.settled.iter();
    let settled = settled.flat_map(|settled| {
        let complete = settled
            .complete
            .iter()
            .map(|name| (Name::from(name.as_str()), complete.clone()));
        let failed = settled
            .failed
            .iter()
            .map(|name| (Name::from(name.as_str()), failed.clone()));
        complete.chain(failed)
    });
    let told = status.clusters.iter();
    settled
        .chain(told.map(|told| (Name::from(told.name.as_str()), Record::of(told))))
        .collect()
}
