//! The plan of an upgrade: what to write, what to tell, what is waited for.
//!
//! Decides nothing of its own: a sequence of questions, each answered in its own file.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use api::cluster::{ManagedClustersUpgradeStatus, UpgradePlan};
use api::reason::Reason;
use kubernetes::field::Path;
use model::Name;
use model::upgrade::UpgradeSpec;

use crate::notification::Notification;
use crate::rollout::Asked;
use crate::types::Action;
use crate::upgrade::approvals::{self, Approvals};
use crate::upgrade::blocked::{Blocked, is_underway};
use crate::upgrade::cluster_standing::{self, Case, ClusterStanding, Works};
use crate::upgrade::cluster_works;
use crate::upgrade::conditions::{self, StatusInput, Whole};
use crate::upgrade::events::{self, Event};
use crate::upgrade::pace::{self, Frozen, Hold, Run, Turns};
use crate::upgrade::preview;
use crate::upgrade::record::Record;
use crate::upgrade::run_memory::Memory;
use crate::upgrade::select;
use crate::upgrade::status::{self, Records};
use crate::upgrade::writes::{self, Write, WriteContext};
use store::upgrade::{Applied, View};

/// What becomes of the finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finalizer {
    /// It is written before the first work is.
    Add,
    /// It goes: no work is left that could be waited for.
    Remove,
}

/// A cluster that could start, and what it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The cluster.
    pub cluster: Name,
    /// What it waits for.
    pub on: Hold,
}

/// What the hub should look like next for one upgrade.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use = "a plan does nothing until it is applied"]
pub struct Plan {
    /// Writes of works. All must have happened before the status is written.
    pub writes: Vec<Write>,
    /// Writes of RolloutApprovals.
    pub approvals: Vec<Action>,
    /// How the stages stand that need an approval; absent where none does.
    pub asked: Option<Asked>,
    /// What becomes of the finalizer.
    pub finalizer: Option<Finalizer>,
    /// The whole status, where it changes.
    pub status: Option<ManagedClustersUpgradeStatus>,
    /// The events.
    pub events: Vec<Event>,
    /// What receivers outside of the hub are sent when the status is written.
    pub notification: Option<Notification>,
    /// What clusters wait for that could start.
    pub waits: Vec<Wait>,
    /// Works that the hub has refused and that are still wanted, by cluster and name, whether or not they are tried now.
    pub postponed: Vec<(Name, String)>,
    /// Which placements of the spec do not exist, in a sentence.
    pub missing_placements: Option<String>,
    /// When to plan again although nothing happened.
    pub recheck_at: Option<Timestamp>,
}

/// One cluster of an upgrade, for the cockpit to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterOutlook {
    /// Its name.
    pub cluster: Name,
    /// How far it is.
    pub record: Record,
    /// What it waits for, if it could start.
    pub waits: Option<Hold>,
    /// Whether it gets its turn with this plan.
    pub starts: bool,
    /// When time alone changes how it stands.
    pub until: Option<Timestamp>,
}

/// Returns what the hub should look like next for an upgrade.
pub fn plan(view: &View<'_>, now: Timestamp) -> Plan {
    seen(view, None, now)
}

/// Returns the same plan, and how each cluster stands, in order of their names; nothing of an upgrade that goes or has no
/// meaning.
pub fn plan_with_outlook(view: &View<'_>, now: Timestamp) -> (Plan, Vec<ClusterOutlook>) {
    let mut clusters = Vec::new();
    let plan = seen(view, Some(&mut clusters), now);
    (plan, clusters)
}

fn seen(view: &View<'_>, outlook: Option<&mut Vec<ClusterOutlook>>, now: Timestamp) -> Plan {
    if view.upgrade.deleting {
        return leaving(view, now);
    }
    match UpgradeSpec::parse(view.upgrade.spec, &Path::root().key("spec")) {
        Ok(spec) => going(view, &spec, outlook, now),
        Err(faults) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            senseless(view, &faults, now)
        }
    }
}

fn going(
    view: &View<'_>,
    spec: &UpgradeSpec,
    outlook: Option<&mut Vec<ClusterOutlook>>,
    now: Timestamp,
) -> Plan {
    let memory = Memory::of(view, spec);
    let is_same_run = memory.run == view.upgrade.status.run;
    let passed = is_same_run && view.upgrade.status.canaries_passed;
    let members = select::members(view, spec, &memory);
    let mut works: BTreeMap<Name, Works<'_>> = BTreeMap::new();
    let mut stands: BTreeMap<Name, ClusterStanding> = BTreeMap::new();
    for (name, member) in members {
        let mut record = memory.records.get(&name).cloned().unwrap_or_default();
        // A cluster that has left the hub stays in its stage.
        if member.cluster.is_some() {
            member.stage.unwrap_or_default().clone_into(&mut record.stage);
        }
        record.canary = spec.strategy.canary.is_some() && (record.canary || (member.first && !passed));
        if record.canary {
            record.stage.clear();
        }
        let found = cluster_works::works(view, &memory, &name);
        let case = Case {
            member,
            record,
            works: found.clone(),
            changing: memory.changing,
        };
        let mut stand = cluster_standing::stand(case, spec, now);
        if let Some(refusal) = view.refused.get(&name) {
            stand = stand.refused(&refusal.why);
        }
        works.insert(name.clone(), found);
        stands.insert(name, stand);
    }
    let approvals = Approvals::of(view, spec);
    let run = Run {
        spec,
        memory: &memory,
        passed,
        undecided: view.undecided,
        frozen: &Frozen::of(view, stands.keys(), now),
        approvals: &approvals,
        checks: &view.checks,
        settings: view.settings,
        fault: view.settings_fault.as_ref(),
    };
    let turns = pace::turns(run, &stands, now);
    if let Some(outlook) = outlook {
        outlook.extend(stands.iter().map(|(name, stand)| outlook_of(name, stand, &turns)));
    }
    let records: Records<'_> = stands.iter().map(|(name, stand)| (name, &stand.record)).collect();
    let context = WriteContext {
        view,
        spec,
        memory: &memory,
        all_done: status::all_done(&records) && !view.undecided,
    };
    let writes = writes::writes(context, &stands, &works, &turns);
    let blocked = Blocked::of(view, spec, &records, &turns, now);
    let status = status(context, &stands, &works, &turns, blocked.as_ref(), now);
    let before = view.upgrade.status;
    let changed = Some(&status) != Some(before);
    let asked = approvals.asked(&turns);
    let events = events::events(&memory.records, before, &records, &status);
    Plan {
        approvals: if view.upgrade.held {
            approvals::objects(view, asked.as_ref(), now)
        } else {
            Vec::new()
        },
        asked,
        notification: events::notification(&view.upgrade, &events, &status, now),
        events,
        waits: waits(&turns),
        postponed: postponed(view, &stands),
        recheck_at: stands
            .values()
            .filter_map(|stand| stand.until)
            .chain(turns.until)
            .chain(blocked.as_ref().and_then(Blocked::until))
            .min(),
        missing_placements: blocked.and_then(Blocked::missing_placements),
        finalizer: (!view.upgrade.held).then_some(Finalizer::Add),
        status: changed.then_some(status),
        writes,
    }
}

fn outlook_of(cluster: &Name, stand: &ClusterStanding, turns: &Turns) -> ClusterOutlook {
    ClusterOutlook {
        cluster: cluster.clone(),
        record: stand.record.clone(),
        waits: turns.waits.get(cluster).cloned(),
        starts: turns.start.contains(cluster),
        until: stand.until,
    }
}

fn postponed(view: &View<'_>, stands: &BTreeMap<Name, ClusterStanding>) -> Vec<(Name, String)> {
    let each = view.refused.iter();
    each.filter(|(name, _)| stands.get(*name).is_some_and(|stand| stand.refused))
        .map(|(name, refusal)| (name.clone(), refusal.work.clone()))
        .collect()
}

fn waits(turns: &Turns) -> Vec<Wait> {
    let each = turns.waits.iter();
    each.map(|(cluster, on)| Wait {
        cluster: cluster.clone(),
        on: on.clone(),
    })
    .collect()
}

fn status(
    context: WriteContext<'_>,
    stands: &BTreeMap<Name, ClusterStanding>,
    works: &BTreeMap<Name, Works<'_>>,
    turns: &Turns,
    blocked: Option<&Blocked>,
    now: Timestamp,
) -> ManagedClustersUpgradeStatus {
    let upgrade = &context.view.upgrade;
    let records: Records<'_> = stands.iter().map(|(name, stand)| (name, &stand.record)).collect();
    let is_applied = |works: &Works<'_>| {
        let each = [works.pre, works.platform, works.operators];
        each.into_iter()
            .flatten()
            .any(|work| work.applied == Applied::Yes)
    };
    let phase = blocked_phase(blocked, &records, turns).unwrap_or_else(|| phase(&records, turns));
    let said = StatusInput {
        whole: Whole {
            phase,
            closed: turns.closed.as_ref(),
            stage: turns.stage.as_ref(),
            refusal: context.view.unwritten.as_deref(),
            blocked,
        },
        applied: context.memory.applied || works.values().any(is_applied),
        generation: upgrade.generation,
        before: &upgrade.status.conditions,
    };
    let mut status = ManagedClustersUpgradeStatus {
        observed_generation: Some(upgrade.generation),
        phase: phase.to_string(),
        conditions: conditions::conditions(&records, said, now),
        run: context.memory.run.clone(),
        retried: context.memory.retried.clone(),
        canaries_passed: context.spec.strategy.canary.is_some() && turns.gate_is_open,
        plan: context
            .spec
            .preview
            .then(|| preview::waves(context.spec, stands))
            .filter(|plan| *plan != UpgradePlan::default()),
        ..ManagedClustersUpgradeStatus::default()
    };
    status::tell_counts(&mut status, context.spec, &records);
    status.stages = status::stages(context.spec, &records, turns.stage.as_ref());
    status::tell_clusters(&mut status, &records);
    status
}

/// The word for an upgrade that does not go on; nothing while clusters are in progress all the same, or have failed.
fn blocked_phase(blocked: Option<&Blocked>, records: &Records<'_>, turns: &Turns) -> Option<Reason> {
    match blocked? {
        Blocked::Clusters(_) => Some(Reason::Halted),
        Blocked::Placement { until, .. } => {
            let goes_on = !turns.start.is_empty() || records.values().any(|record| is_underway(record));
            let word = until.map_or(Reason::Halted, |_| Reason::Waiting);
            (!goes_on && phase(records, turns) != Reason::Failed).then_some(word)
        }
    }
}

/// Nothing goes on until a user approves the open stage or checks pass, or after a user has rejected it.
fn idle_phase(records: &Records<'_>, turns: &Turns) -> Option<Reason> {
    let is_idle = turns.start.is_empty() && !records.values().any(|record| is_underway(record));
    let hold = turns.stage.as_ref().filter(|_| is_idle)?;
    let phases = [
        (matches!(hold, Hold::Rejected(..)), Reason::Halted),
        (matches!(hold, Hold::Approval(_)), Reason::WaitingForApproval),
        (matches!(hold, Hold::Check(..)), Reason::Waiting),
    ];
    phases
        .into_iter()
        .find(|(is_it, _)| *is_it)
        .map(|(_, phase)| phase)
}

/// The whole upgrade in one word.
fn phase(records: &Records<'_>, turns: &Turns) -> Reason {
    let has_ended = records.values().all(|record: &&Record| record.has_ended());
    match (records.is_empty(), has_ended, &turns.closed) {
        (true, _, _) => Reason::Pending,
        (false, true, _) if !status::all_done(records) => Reason::Failed,
        // Who is absent from a placement may be wanted, and is not there.
        (false, _, Some(Hold::Undecided))
        | (false, false, Some(Hold::Changing | Hold::Frozen(_) | Hold::Window | Hold::ClusterWindow)) => {
            Reason::Waiting
        }
        (false, true, _) => Reason::Complete,
        (false, false, Some(Hold::Preview)) => Reason::Preview,
        (false, false, Some(Hold::Paused | Hold::PausedByProfile(_))) => Reason::Paused,
        (false, false, Some(Hold::CanaryFailed | Hold::Failures(_) | Hold::NoCanary | Hold::Settings(_))) => {
            Reason::Halted
        }
        (false, false, None) if let Some(idle) = idle_phase(records, turns) => idle,
        (
            false,
            false,
            Some(
                Hold::Canary
                | Hold::Stage(_)
                | Hold::Soak(_)
                | Hold::Approval(_)
                | Hold::Rejected(..)
                | Hold::Check(..)
                | Hold::Slot,
            )
            | None,
        ) => {
            if turns.gate_is_open {
                Reason::Upgrading
            } else {
                Reason::Canary
            }
        }
    }
}

/// An upgrade that goes: its works go first. A cluster that cannot be reached is not waited for; what runs on a cluster runs on.
fn leaving(view: &View<'_>, now: Timestamp) -> Plan {
    let all = view.works.iter();
    let writes = all
        .flat_map(|(cluster, works)| writes::ours(view, cluster, works))
        .collect();
    let waits_for = |cluster: &Name| {
        let found = view.clusters.get(cluster);
        found.is_some_and(|cluster| cluster.available && !cluster.deleting)
    };
    let left: BTreeSet<&Name> = view
        .works
        .iter()
        .filter(|(cluster, works)| {
            let mut ours = works.values().filter(|work| work.owner == view.upgrade.uid);
            ours.any(|work| !work.deleting || waits_for(cluster))
        })
        .map(|(cluster, _)| cluster)
        .collect();
    Plan {
        writes,
        approvals: approvals::objects(view, None, now),
        finalizer: (view.upgrade.held && left.is_empty()).then_some(Finalizer::Remove),
        ..Plan::default()
    }
}

/// An upgrade with an invalid spec: the status reports that, and nothing is changed.
fn senseless(view: &View<'_>, faults: &[String], now: Timestamp) -> Plan {
    let generation = view.upgrade.generation;
    let mut status = view.upgrade.status.clone();
    status.observed_generation = Some(generation);
    let message = faults.first().map(String::as_str).unwrap_or_default();
    status.conditions = conditions::misunderstood(&status.conditions, message, generation, now);
    halt(view, status)
}

fn halt(view: &View<'_>, mut status: ManagedClustersUpgradeStatus) -> Plan {
    Reason::Halted.as_str().clone_into(&mut status.phase);
    let changed = status != *view.upgrade.status;
    Plan {
        status: changed.then_some(status),
        ..Plan::default()
    }
}
