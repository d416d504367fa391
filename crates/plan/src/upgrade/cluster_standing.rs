//! How one cluster stands, and what it would take for its next step.
//!
//! Decides every step that needs no turn: what reports and times change. Whether a cluster may start is `pace`'s. A state never
//! goes back, except that a new try begins again.

use std::time::Duration;

use jiff::Timestamp;

use api::names::annotations::PLACEMENT_ACCESS;
use api::reason::Reason;
use model::engine::end;
use model::upgrade::{OcpVersion, PlacementKey, Target, UpgradeSpec};

use crate::upgrade::judge::{self, Platform};
use crate::upgrade::record::{ActionState, Phase, Record, State};
use crate::upgrade::select::Member;
use crate::upgrade::works::GRACE;
use store::upgrade::marks::Stage;
use store::upgrade::{Applied, Cluster, Work};

/// How long the report of a Job may take beyond the time after which it is stopped.
const REPORT: Duration = Duration::from_mins(1);
/// How long an action after the upgrade may take where its spec does not say.
const AFTER: Duration = Duration::from_mins(30);

/// A cluster with all that is known of it.
#[derive(Debug, Clone)]
pub(crate) struct Case<'a> {
    pub(crate) member: Member<'a>,
    pub(crate) record: Record,
    /// The works of this run and try.
    pub(crate) works: Works<'a>,
    /// Whether another run is asked for: the cluster then ends at the version that it is being upgraded to.
    pub(crate) changing: bool,
}

/// The works of a cluster that are about upgrades.
#[derive(Debug, Clone, Default)]
pub(crate) struct Works<'a> {
    pub(crate) pre: Option<&'a Work>,
    /// The work of the upgrade itself, as long as it only asks whether the cluster is upgradeable.
    pub(crate) probe: Option<&'a Work>,
    pub(crate) platform: Option<&'a Work>,
    pub(crate) operators: Option<&'a Work>,
    pub(crate) post: Option<&'a Work>,
    /// Ours, but of another run or try, or being removed.
    pub(crate) left: Vec<(Stage, &'a Work)>,
    /// One that is not this upgrade's and is in the way of the upgrade itself.
    pub(crate) foreign: Option<(&'a str, &'a Work)>,
    /// One that is not this upgrade's and has the name of one of our actions.
    pub(crate) taken: Option<(&'a str, &'a Work)>,
}

/// What a cluster needs for its next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Want {
    /// Nothing that we could give.
    Nothing,
    /// A turn.
    Turn,
    /// Its upgrade; it has had its turn.
    Upgrade,
    /// Its next hop; it is upgrading already.
    Hop,
    /// This work, without a turn.
    Work(Stage),
}

/// How a cluster stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClusterStanding {
    pub(crate) record: Record,
    pub(crate) want: Want,
    /// Whether it takes a slot.
    pub(crate) slot: bool,
    /// Whether the hub refuses the work that it wants.
    pub(crate) refused: bool,
    /// When time alone changes how it stands.
    pub(crate) until: Option<Timestamp>,
}

impl ClusterStanding {
    fn of(record: Record) -> Self {
        let slot =
            matches!(record.state, State::Initialized | State::Partial) || record.phase == Phase::PreAction;
        Self {
            record,
            want: Want::Nothing,
            slot,
            refused: false,
            until: None,
        }
    }

    fn wanting(self, want: Want) -> Self {
        Self { want, ..self }
    }

    fn until(self, until: Option<Timestamp>) -> Self {
        Self { until, ..self }
    }

    /// The hub rejects the work of the cluster: the status reports that, and a cluster that has not started is held meanwhile.
    pub(crate) fn refused(self, why: &str) -> Self {
        if self.want == Want::Nothing {
            return self;
        }
        let record = match (self.record.state, self.want) {
            (State::NotStarted, Want::Turn) => self.record.at(State::NotStarted, Phase::Held),
            _ => self.record,
        };
        Self {
            record: record.because(Reason::WorkRefused, why),
            refused: true,
            ..self
        }
    }
}

/// Returns how a cluster stands.
pub(crate) fn stand(case: Case<'_>, spec: &UpgradeSpec, now: Timestamp) -> ClusterStanding {
    if case.record.has_ended() {
        return ClusterStanding::of(late(case, spec));
    }
    let has_begun = case.record.state != State::NotStarted
        || case.works.platform.is_some()
        || case.works.operators.is_some();
    if case.member.cluster.is_none_or(|cluster| cluster.deleting) {
        return ClusterStanding::of(fail(
            case.record,
            Reason::ClusterRemoved,
            "the cluster has left the hub",
            now,
        ));
    }
    match case.record.state {
        State::Complete => after(case.record, case.works.post, spec, now),
        State::Failed => ClusterStanding::of(case.record),
        State::NotStarted | State::Initialized | State::Partial => {
            if has_begun {
                flight(case, spec, now)
            } else {
                waiting(case, spec, now)
            }
        }
    }
}

fn fail(record: Record, reason: Reason, message: &str, now: Timestamp) -> Record {
    let finished = record.finished.or(Some(now));
    Record {
        finished,
        percent: None,
        ..record.at(State::Failed, Phase::Done).because(reason, message)
    }
}

/// A cluster that reaches the version after the timeout is reported; it counts as failed until a user retries it.
fn late(case: Case<'_>, spec: &UpgradeSpec) -> Record {
    let has_arrived = |work: &Work| judge::platform(work) == Platform::Done && next(work, spec).is_none();
    let is_late =
        case.record.reason == Some(Reason::UpgradeTimeout) && case.works.platform.is_some_and(has_arrived);
    if is_late {
        return case.record.because(
            Reason::UpgradeTimeout,
            "the upgrade was completed after clusterUpgradeTimeout had passed",
        );
    }
    case.record
}

/// What a cluster is upgraded to when it has the version that its work asks for; nothing after the last one.
pub(crate) fn next(work: &Work, spec: &UpgradeSpec) -> Option<Target> {
    spec.target.as_ref()?.after(&work.target.0)
}

fn passed(since: Timestamp, length: Duration, now: Timestamp) -> (bool, Option<Timestamp>) {
    let end = end(since, length);
    (end.is_some_and(|end| now >= end), end)
}

/// A cluster whose upgrade has started.
fn flight(case: Case<'_>, spec: &UpgradeSpec, now: Timestamp) -> ClusterStanding {
    let first = case.works.platform.or(case.works.operators);
    let mut record = case.record;
    // A work that asked first is older than the upgrade.
    let begin = |work: &Work| {
        if spec.strategy.upgradeable {
            now
        } else {
            work.created
        }
    };
    record.started = record.started.or_else(|| first.map(begin));
    record.pre = case.works.pre.map_or(record.pre, judge::action);
    if record.state == State::NotStarted {
        record = record.at(State::Initialized, Phase::Platform);
    }
    let is_there =
        record.phase == Phase::Operators || case.works.operators.is_some() || spec.target.is_none();
    if is_there {
        return operators(record, &case.works, spec, now);
    }
    if let Some(work) = case.works.platform
        && record.hop != work.target.0
        && spec
            .target
            .as_ref()
            .is_some_and(|target| !target.hops().is_empty())
    {
        // Each hop has its own clock.
        record.hop_started = if record.hop.is_empty() {
            record.started
        } else {
            Some(now)
        };
        record.hop.clone_from(&work.target.0);
    }
    let since = record.hop_started.or(record.started).unwrap_or(now);
    let (is_late, until) = passed(since, spec.strategy.platform, now);
    let Some(work) = case.works.platform else {
        if let Some((_, taker)) = case.works.foreign {
            return ClusterStanding::of(fail(record, Reason::Conflict, &taken_by(taker), now));
        }
        if is_late {
            return ClusterStanding::of(fail(
                record,
                Reason::NotApplied,
                "the cluster did not apply the upgrade within clusterUpgradeTimeout",
                now,
            ));
        }
        return ClusterStanding::of(record)
            .wanting(Want::Work(Stage::Platform))
            .until(until);
    };
    match judge::platform(work) {
        Platform::Done => {
            let goes_on = next(work, spec).filter(|_| !case.changing);
            arrived(record, &case.works, work, goes_on.as_ref(), spec, now)
        }
        _ if is_late && work.applied == Applied::Never => ClusterStanding::of(fail(
            record,
            Reason::NotApplied,
            "the cluster did not apply the upgrade within clusterUpgradeTimeout",
            now,
        )),
        found if is_late => {
            let message = exceeded(found);
            ClusterStanding::of(fail(record, Reason::UpgradeTimeout, &message, now))
        }
        Platform::Underway { percent, message } => {
            let record = record
                .at(State::Partial, Phase::Platform)
                .because(Reason::Upgrading, message);
            ClusterStanding::of(Record { percent, ..record }).until(until)
        }
        Platform::Failing(message) => {
            let state = record.state;
            let record = record
                .at(state, Phase::Platform)
                .because(Reason::Failing, message);
            let percent = None;
            ClusterStanding::of(Record { percent, ..record }).until(until)
        }
        Platform::Silent(message) => {
            let state = record.state;
            let record = record.at(state, Phase::Platform);
            let record = if message.is_empty() {
                record
            } else {
                record.because(Reason::NotAccepted, message)
            };
            ClusterStanding::of(unapplied(record, Stage::Platform, work)).until(until)
        }
    }
}

/// The message of an upgrade that took too long, with the problem that the cluster reports.
fn exceeded(found: Platform) -> String {
    let message = "the upgrade exceeded clusterUpgradeTimeout";
    match found {
        Platform::Failing(why) => format!("{message}; Failing: {why}"),
        Platform::Silent(why) if !why.is_empty() => format!("{message}; {why}"),
        Platform::Silent(_) | Platform::Underway { .. } | Platform::Done => message.to_owned(),
    }
}

/// A cluster that has the version that its work asks for: it waits for its worker pools, then for its next hop.
fn arrived(
    record: Record,
    works: &Works<'_>,
    work: &Work,
    hop: Option<&Target>,
    spec: &UpgradeSpec,
    now: Timestamp,
) -> ClusterStanding {
    let (updated, pools) = judge::worker_pools(work);
    // The pools were updated before, and the cluster has waited since for its next version: their time begins again.
    let has_waited = matches!(record.reason, None | Some(Reason::NotUpgradeable));
    let hop_started = if has_waited && updated < pools {
        Some(now)
    } else {
        record.hop_started
    };
    let record = Record {
        hop_started,
        ..record
    };
    let since = record.hop_started.or(record.started).unwrap_or(now);
    let (is_late, until) = passed(since, spec.strategy.platform, now);
    if updated < pools && is_late {
        let message = "the worker pools exceeded clusterUpgradeTimeout";
        return ClusterStanding::of(fail(record, Reason::UpgradeTimeout, message, now));
    }
    if updated < pools {
        let message = format!("{updated} of {pools} worker pools are updated");
        let record = record
            .at(State::Partial, Phase::Platform)
            .because(Reason::WorkerPoolsUpdating, message);
        return ClusterStanding::of(Record {
            percent: None,
            ..record
        })
        .until(until);
    }
    let Some(hop) = hop else {
        return operators(record, works, spec, now);
    };
    let record = record.at(State::Partial, Phase::Platform);
    let record = Record {
        percent: None,
        ..record
    };
    match not_upgradeable(work, hop) {
        Some(message) => ClusterStanding::of(record.because(Reason::NotUpgradeable, message)),
        None => ClusterStanding::of(record).wanting(Want::Hop),
    }
}

/// Why a cluster does not accept the next minor version; a patch of the same minor version is not affected.
fn not_upgradeable(work: &Work, to: &Target) -> Option<String> {
    let from = OcpVersion::parse(&work.target.0).ok()?;
    let to = to.version().filter(|to| to.minor() != from.minor())?;
    let why = judge::not_upgradeable(work)?;
    Some(format!("the upgrade to {to} does not start: {why}"))
}

/// A cluster that has the version.
fn operators(record: Record, works: &Works<'_>, spec: &UpgradeSpec, now: Timestamp) -> ClusterStanding {
    let record = Record {
        percent: None,
        ..record.at(State::Partial, Phase::Operators)
    };
    if spec.operators.is_none() {
        return complete(record, works.post, spec, now);
    }
    let Some(work) = works.operators else {
        if let Some((_, taker)) = works.foreign {
            return ClusterStanding::of(fail(record, Reason::Conflict, &taken_by(taker), now));
        }
        return ClusterStanding::of(record).wanting(Want::Work(Stage::Operators));
    };
    let most = spec
        .strategy
        .operators
        .saturating_add(GRACE)
        .saturating_add(REPORT);
    let (is_late, until) = passed(work.created, most, now);
    match judge::approver(work) {
        ActionState::Available => complete(record, works.post, spec, now),
        ActionState::Degraded => ClusterStanding::of(fail(
            record,
            Reason::OperatorsFailed,
            "the operators could not be approved",
            now,
        )),
        ActionState::None | ActionState::Progressing | ActionState::Applied if is_late => {
            ClusterStanding::of(fail(
                record,
                Reason::OperatorsTimeout,
                "the operators exceeded operatorsUpgradeTimeout",
                now,
            ))
        }
        ActionState::None | ActionState::Progressing | ActionState::Applied => {
            ClusterStanding::of(unapplied(record, Stage::Operators, work)).until(until)
        }
    }
}

/// What the agent could not apply, it tries again; what keeps it from that may need an administrator.
fn unapplied(record: Record, stage: Stage, work: &Work) -> Record {
    if work.failure.is_empty() {
        return record;
    }
    let what = match stage {
        Stage::Pre => "pre-upgrade",
        Stage::Platform => "upgrade",
        Stage::Operators => "operator",
        Stage::Post => "post-upgrade",
    };
    record.because(
        Reason::WorkNotApplied,
        format!("the {what} work is not applied: {}", work.failure),
    )
}

fn complete(record: Record, post: Option<&Work>, spec: &UpgradeSpec, now: Timestamp) -> ClusterStanding {
    let finished = record.finished.or(Some(now));
    let record = Record {
        finished,
        ..record.at(State::Complete, Phase::PostAction)
    };
    after(record, post, spec, now)
}

/// A cluster that is complete, and has an action to run.
fn after(record: Record, post: Option<&Work>, spec: &UpgradeSpec, now: Timestamp) -> ClusterStanding {
    let Some(action) = &spec.after else {
        return ClusterStanding::of(record.at(State::Complete, Phase::Done));
    };
    let since = post.map(|work| work.created).or(record.finished).unwrap_or(now);
    let (is_late, until) = passed(since, action.timeout().unwrap_or(AFTER), now);
    let state = post.map_or(ActionState::Progressing, judge::action);
    let record = Record {
        post: state,
        ..record.at(State::Complete, Phase::PostAction)
    };
    match state {
        ActionState::Available => ClusterStanding::of(record.at(State::Complete, Phase::Done)),
        ActionState::Degraded => ClusterStanding::of(fail(
            record,
            Reason::PostActionFailed,
            "the action after the upgrade has failed",
            now,
        )),
        ActionState::None | ActionState::Progressing | ActionState::Applied if is_late => {
            let record = Record {
                post: ActionState::Degraded,
                ..record
            };
            ClusterStanding::of(fail(
                record,
                Reason::PostActionFailed,
                "the action after the upgrade exceeded its timeout",
                now,
            ))
        }
        ActionState::None | ActionState::Progressing | ActionState::Applied => {
            let Some(work) = post else {
                return ClusterStanding::of(record)
                    .wanting(Want::Work(Stage::Post))
                    .until(until);
            };
            ClusterStanding::of(unapplied(record, Stage::Post, work)).until(until)
        }
    }
}

fn taken_by(work: &Work) -> String {
    match (work.owned_by.as_str(), work.owner.is_empty()) {
        ("", _) | (_, true) => "a ManifestWork of that name exists and belongs to no upgrade".to_owned(),
        (owner, false) => format!("the upgrade {owner} manages the cluster"),
    }
}

fn held(record: Record, reason: Reason, message: impl Into<String>) -> ClusterStanding {
    ClusterStanding::of(record.at(State::NotStarted, Phase::Held).because(reason, message))
}

/// A cluster whose upgrade has not started.
fn waiting(case: Case<'_>, spec: &UpgradeSpec, now: Timestamp) -> ClusterStanding {
    let works = &case.works;
    if !works.left.is_empty() {
        return held(
            case.record,
            Reason::Withdrawing,
            "the ManifestWorks of an earlier run or attempt are being deleted",
        );
    }
    if let Some((_, taker)) = works
        .foreign
        .or_else(|| works.taken.filter(|_| works.pre.is_none()))
    {
        return held(case.record, Reason::Conflict, taken_by(taker));
    }
    if let (Some(work), Some(action)) = (works.pre, &spec.before) {
        return before(case.record, work, action.timeout(), now);
    }
    let (probe, record) = (works.probe, case.record.clone());
    let standing = checked(case, spec, now);
    match probe.filter(|_| standing.want == Want::Turn) {
        Some(probe) => probed(standing, record, probe, spec, now),
        None => standing,
    }
}

/// Whether a cluster is asked first if it is upgradeable.
pub(crate) fn needs_probe(spec: &UpgradeSpec, cluster: &Cluster) -> bool {
    let Some(target) = spec.target.as_ref().filter(|_| spec.strategy.upgradeable) else {
        return false;
    };
    let has = OcpVersion::parse(&cluster.version).ok();
    let first = target.first(has.as_ref());
    let is_patch = has
        .zip(first.version())
        .is_some_and(|(has, to)| has.minor() == to.minor());
    !is_patch
}

/// A cluster that was asked whether it is upgradeable. While it is not, it uses no slot, and then needs a new turn.
fn probed(
    standing: ClusterStanding,
    before: Record,
    probe: &Work,
    spec: &UpgradeSpec,
    now: Timestamp,
) -> ClusterStanding {
    if let Some(why) = judge::not_upgradeable(probe) {
        let message = format!("the upgrade to {} does not start: {why}", probe.target.0);
        return held(standing.record, Reason::NotUpgradeable, message);
    }
    let was_held = before.phase == Phase::Held && before.reason == Some(Reason::NotUpgradeable);
    if judge::has_reported(probe) {
        if was_held {
            return standing;
        }
        return ClusterStanding::of(standing.record.at(State::NotStarted, Phase::PreAction))
            .wanting(Want::Upgrade);
    }
    if was_held {
        return ClusterStanding::of(before);
    }
    let (is_late, until) = passed(probe.created, spec.strategy.platform, now);
    if is_late {
        let message = "the cluster did not report its ClusterVersion within clusterUpgradeTimeout";
        return ClusterStanding::of(fail(standing.record, Reason::NotApplied, message, now));
    }
    let record = standing.record.at(State::NotStarted, Phase::PreAction);
    ClusterStanding::of(unapplied(record, Stage::Platform, probe)).until(until)
}

/// A cluster that has the work of the action before the upgrade.
fn before(record: Record, work: &Work, timeout: Option<Duration>, now: Timestamp) -> ClusterStanding {
    let pre = judge::action(work);
    // The action was told of before: what holds a cluster that never had a turn says nothing of one.
    let lost_its_turn = record.phase == Phase::Held && record.pre != ActionState::None;
    let record = Record { pre, ..record };
    let (is_late, until) = timeout.map_or((false, None), |length| passed(work.created, length, now));
    match pre {
        // Its turn was given to another when the action failed: it asks for a new one.
        ActionState::Available if lost_its_turn => {
            ClusterStanding::of(record.at(State::NotStarted, Phase::Queued)).wanting(Want::Turn)
        }
        ActionState::Available => {
            ClusterStanding::of(record.at(State::NotStarted, Phase::PreAction)).wanting(Want::Upgrade)
        }
        _ if is_late => {
            let record = Record {
                pre: ActionState::Degraded,
                ..record
            };
            ClusterStanding::of(fail(
                record,
                Reason::PreActionFailed,
                "the action before the upgrade exceeded its timeout",
                now,
            ))
        }
        ActionState::Degraded => held(
            record,
            Reason::PreActionDegraded,
            "the action before the upgrade has failed",
        )
        .until(until),
        ActionState::None | ActionState::Progressing | ActionState::Applied if lost_its_turn => held(
            record,
            Reason::PreActionDegraded,
            "the action before the upgrade has failed",
        )
        .until(until),
        ActionState::None | ActionState::Progressing | ActionState::Applied => {
            let record = record.at(State::NotStarted, Phase::PreAction);
            ClusterStanding::of(unapplied(record, Stage::Pre, work)).until(until)
        }
    }
}

fn unproven(placement: &PlacementKey) -> String {
    let PlacementKey { namespace, name } = placement;
    format!(
        "no valid record shows that the author of the upgrade may use placement {namespace}/{name}; as a user who may \
         get the placement, set the annotation {PLACEMENT_ACCESS} of the upgrade to \"renew\""
    )
}

/// A cluster that has no work: whether it could have a turn.
fn checked(case: Case<'_>, spec: &UpgradeSpec, now: Timestamp) -> ClusterStanding {
    let record = Record {
        pre: ActionState::None,
        post: ActionState::None,
        ..case.record
    };
    let Some(cluster) = case.member.cluster else {
        return ClusterStanding::of(record);
    };
    if let Some(placement) = case.member.unproven {
        return held(record, Reason::PlacementAccessUnproven, unproven(placement));
    }
    if !cluster.available {
        return held(record, Reason::ClusterUnavailable, "the cluster is not available");
    }
    let queued = ClusterStanding::of(record.clone().at(State::NotStarted, Phase::Queued)).wanting(Want::Turn);
    let Some(target) = &spec.target else {
        return queued;
    };
    if cluster.id.is_empty() {
        return held(
            record,
            Reason::ClusterIDUnknown,
            "the cluster has neither the label clusterID nor the claim id.openshift.io",
        );
    }
    let known = OcpVersion::parse(&cluster.version).ok();
    let first = target.first(known.as_ref());
    let Some(((has, wanted), first)) = known.zip(target.version()).zip(first.version()) else {
        return queued;
    };
    if has == *wanted && spec.operators.is_none() && record.tried == 0 {
        let message = format!("the cluster already runs {has}");
        let record = record
            .at(State::Complete, Phase::Done)
            .because(Reason::AlreadyAtVersion, message);
        return ClusterStanding::of(Record {
            finished: Some(now),
            ..record
        });
    }
    if has > *wanted {
        let message = format!("the cluster runs {has}; it cannot be downgraded to {wanted}");
        return held(record, Reason::PrecheckFailed, message);
    }
    match first.minors_above(&has) {
        Some(2..) => {
            let message = format!("the cluster runs {has}; an upgrade to {first} would skip a minor version");
            held(record, Reason::PrecheckFailed, message)
        }
        Some(_) | None => queued,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upgrade_that_took_too_long_names_what_the_cluster_reports() {
        let rows = [
            (
                Platform::Failing("etcd is degraded".to_owned()),
                "; Failing: etcd is degraded",
            ),
            (Platform::Silent("not accepted".to_owned()), "; not accepted"),
            (Platform::Silent(String::new()), ""),
            (Platform::Done, ""),
        ];
        for (found, end) in rows {
            let message = format!("the upgrade exceeded clusterUpgradeTimeout{end}");
            assert_eq!(exceeded(found), message);
        }
    }
}
