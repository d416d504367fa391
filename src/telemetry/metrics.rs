//! Metrics: what is counted, under which name.
//!
//! Decides names, labels and buckets. A label is a word of a small fixed set or the id of a rule; never the name of an object,
//! a cluster or a user, of which a hub has as many as it likes. One file makes an exception, and has a limit (`fleet.rs`). Names
//! that Prometheus and Kubernetes have for every program stand without our prefix.

use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::api_calls::ApiMetrics;
use super::connections::ConnectionMetrics;
use super::fleet::FleetMetrics;
use super::gate::AdmissionMetrics;
use super::modes::ModeMetrics;
use super::notifications::NotificationMetrics;
use super::process::Process;
use super::queue::QueueMetrics;
use super::staleness::StalenessMetrics;
use super::traces::TraceMetrics;
use super::upgrades::UpgradeMetrics;
use super::watches::{WatchMetrics, WebhookMetrics};
use super::words::words;

/// What became of a write to the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Written {
    /// It was taken.
    Done,
    /// Another client wrote first (409); planned again.
    Conflict,
    /// The hub refused it or did not answer; tried again.
    Failed,
}

words!(Written {
    Done => "done",
    Conflict => "conflict",
    Failed => "failed",
});

/// Which program this is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Build {
    version: &'static str,
    commit: &'static str,
    dev: &'static str,
}

/// The build names its commit with the variable `TIDEGATE_COMMIT`.
const BUILD: Build = Build {
    version: env!("CARGO_PKG_VERSION"),
    commit: match option_env!("TIDEGATE_COMMIT") {
        Some(commit) => commit,
        None => "unknown",
    },
    dev: if cfg!(feature = "dev") { "true" } else { "false" },
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Leadership {
    change: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Write {
    resource: &'static str,
    outcome: Written,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FindingLabels {
    rule: String,
    severity: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CheckResultLabel {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Resource {
    resource: &'static str,
}

/// Everything that is counted. Clones count into the same place.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Metrics with names of our own, and metrics with names that every program has.
    registries: Arc<[Registry; 2]>,
    plans: Counter,
    planning: Histogram,
    writes: Family<Write, Counter>,
    leading: Gauge,
    leadership: Family<Leadership, Counter>,
    synced: Gauge,
    malformed: Gauge,
    unread: Family<Resource, Gauge>,
    erasing: Family<Resource, Gauge>,
    doubts: Gauge,
    unreadable: Family<Resource, Gauge>,
    absent_clusters: Gauge,
    removals_held: Gauge,
    clock_skew: Gauge<f64, AtomicU64>,
    clock_trusted: Gauge,
    clock_jumps: Counter,
    policies: Gauge,
    check_evaluations: Family<CheckResultLabel, Counter>,
    audit_findings: Family<FindingLabels, Gauge>,
    audit_objects: Family<Resource, Gauge>,
    audit_judgements: Counter,
    audit_passes: Histogram,
    admission: AdmissionMetrics,
    api: ApiMetrics,
    connections: ConnectionMetrics,
    fleet: FleetMetrics,
    modes: ModeMetrics,
    pub(super) notifications: NotificationMetrics,
    queue: QueueMetrics,
    upgrades: UpgradeMetrics,
    watches: WatchMetrics,
    staleness: StalenessMetrics,
    webhooks: WebhookMetrics,
    traces: TraceMetrics,
}

/// From 100 µs, one small add-on, to ten seconds, a fleet that is too large.
fn planning_buckets() -> Histogram {
    Histogram::new([0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0])
}

/// From a millisecond, one object that has changed, to minutes, a fleet that is read again page by page.
fn audit_buckets() -> Histogram {
    Histogram::new([0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 120.0])
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registries: Arc::default(),
            plans: Counter::default(),
            planning: planning_buckets(),
            writes: Family::default(),
            leading: Gauge::default(),
            leadership: Family::default(),
            synced: Gauge::default(),
            malformed: Gauge::default(),
            unread: Family::default(),
            erasing: Family::default(),
            doubts: Gauge::default(),
            unreadable: Family::default(),
            absent_clusters: Gauge::default(),
            removals_held: Gauge::default(),
            clock_skew: Gauge::default(),
            clock_trusted: Gauge::default(),
            clock_jumps: Counter::default(),
            policies: Gauge::default(),
            check_evaluations: Family::default(),
            audit_findings: Family::default(),
            audit_objects: Family::default(),
            audit_judgements: Counter::default(),
            audit_passes: audit_buckets(),
            admission: AdmissionMetrics::default(),
            api: ApiMetrics::default(),
            connections: ConnectionMetrics::default(),
            fleet: FleetMetrics::default(),
            modes: ModeMetrics::default(),
            notifications: NotificationMetrics::default(),
            queue: QueueMetrics::default(),
            upgrades: UpgradeMetrics::default(),
            watches: WatchMetrics::default(),
            staleness: StalenessMetrics::default(),
            webhooks: WebhookMetrics::default(),
            traces: TraceMetrics::default(),
        };
        metrics.registries = Arc::new(metrics.register());
        metrics
    }
}

impl Metrics {
    fn register(&self) -> [Registry; 2] {
        let (mut own, mut plain) = (Registry::with_prefix("tidegate"), Registry::default());
        own.register(
            "build",
            "Version and commit of the program, and whether it includes the hub of `tidegate dev`",
            Info::new(BUILD),
        );
        plain.register_collector(Box::new(Process::begins()));
        self.admission.register(&mut own);
        self.register_writes(&mut own);
        self.register_doubts(&mut own);
        self.register_audit(&mut own);
        self.api.register(&mut own);
        self.connections.register(&mut own);
        self.fleet.register(&mut own);
        self.modes.register(&mut own);
        self.notifications.register(&mut own);
        self.queue.register(&mut plain, &mut own);
        self.upgrades.register(&mut own);
        self.watches.register(&mut own);
        self.staleness.register(&mut own);
        self.webhooks.register(&mut own);
        self.traces.register(&mut own);
        [own, plain]
    }

    fn register_writes(&self, all: &mut Registry) {
        all.register("plans", "Plans that were made for add-ons", self.plans.clone());
        all.register_with_unit(
            "plan_duration",
            "Time to make one plan",
            Unit::Seconds,
            self.planning.clone(),
        );
        all.register("writes", "Writes to the hub, by result", self.writes.clone());
        all.register(
            "rollout_check_evaluations",
            "Evaluations of RolloutChecks of the type prometheus, by result",
            self.check_evaluations.clone(),
        );
        all.register(
            "leading",
            "1 while this replica is the leader",
            self.leading.clone(),
        );
        all.register(
            "leadership_changes",
            "Number of times that this replica became or ceased to be the leader",
            self.leadership.clone(),
        );
        all.register(
            "synced",
            "1 after the initial lists are complete",
            self.synced.clone(),
        );
        all.register(
            "malformed_objects",
            "Objects on the hub that cannot be decoded and are skipped",
            self.malformed.clone(),
        );
    }

    fn register_doubts(&self, all: &mut Registry) {
        all.register(
            "unread_kinds",
            "1 while the hub does not list or watch a required kind",
            self.unread.clone(),
        );
        all.register(
            "erasing_conversions",
            "1 while writes through another API version erase fields that were added to a CRD",
            self.erasing.clone(),
        );
        all.register(
            "absences_open",
            "1 while objects that are missing from lists are read by name, or a list is incomplete; nothing is reconciled",
            self.doubts.clone(),
        );
        all.register(
            "unreadable_objects",
            "Objects that the controllers cannot read by name; dependent objects are not reconciled",
            self.unreadable.clone(),
        );
        all.register(
            "absent_clusters",
            "Clusters with add-ons and without a ManagedCluster whose deletion was not observed",
            self.absent_clusters.clone(),
        );
        all.register(
            "removals_held",
            "Instances whose removal is blocked: the removal budget is used up, or the reason is not confirmed",
            self.removals_held.clone(),
        );
        all.register_with_unit(
            "clock_skew",
            "How far the local clock is ahead of the clock of the hub",
            Unit::Seconds,
            self.clock_skew.clone(),
        );
        all.register(
            "clock_trusted",
            "1 while the local clock is consistent with the clock of the hub; otherwise nothing is reconciled",
            self.clock_trusted.clone(),
        );
        all.register(
            "clock_jumps",
            "Number of jumps of the local clock or of the clock of the hub",
            self.clock_jumps.clone(),
        );
    }

    /// Returns what is counted of admission.
    pub fn admission(&self) -> &AdmissionMetrics {
        &self.admission
    }

    /// Counts an evaluation of a RolloutCheck with this result.
    pub fn check_evaluated(&self, result: &'static str) {
        self.check_evaluations
            .get_or_create(&CheckResultLabel { result })
            .inc();
    }

    /// Returns what is counted of requests to the hub.
    pub fn api(&self) -> &ApiMetrics {
        &self.api
    }

    /// Returns what is counted of connections, certificates and threads.
    pub fn connections(&self) -> &ConnectionMetrics {
        &self.connections
    }

    /// Returns the metrics of the fleet, by add-on.
    pub fn fleet(&self) -> &FleetMetrics {
        &self.fleet
    }

    /// Returns the metrics of the leader, and of pending writes.
    pub fn modes(&self) -> &ModeMetrics {
        &self.modes
    }

    /// Returns what is counted of the queue of owners.
    pub fn queue(&self) -> &QueueMetrics {
        &self.queue
    }

    /// Returns the metrics of cluster upgrades.
    pub fn upgrades(&self) -> &UpgradeMetrics {
        &self.upgrades
    }

    /// Returns what is counted of the watches.
    pub fn watches(&self) -> &WatchMetrics {
        &self.watches
    }

    /// Returns the metrics of the age of the facts.
    pub fn staleness(&self) -> &StalenessMetrics {
        &self.staleness
    }

    /// Returns the metrics of the webhook configurations.
    pub fn webhooks(&self) -> &WebhookMetrics {
        &self.webhooks
    }

    /// Returns what is counted of spans, and where they are made.
    pub fn traces(&self) -> &TraceMetrics {
        &self.traces
    }

    fn register_audit(&self, all: &mut Registry) {
        all.register(
            "policies",
            "Active policies, from the hub and from the folder",
            self.policies.clone(),
        );
        all.register(
            "audit_findings",
            "Findings about stored objects, by rule and severity",
            self.audit_findings.clone(),
        );
        all.register(
            "audit_objects",
            "Stored objects that are audited",
            self.audit_objects.clone(),
        );
        all.register(
            "audit_judgements",
            "Validations of stored objects",
            self.audit_judgements.clone(),
        );
        all.register_with_unit(
            "audit_pass_duration",
            "Duration of one audit pass, including reads",
            Unit::Seconds,
            self.audit_passes.clone(),
        );
    }

    /// Counts a plan.
    pub fn planned(&self, took: Duration) {
        self.plans.inc();
        self.planning.observe(took.as_secs_f64());
    }

    /// Counts a write to a resource (plural).
    pub fn wrote(&self, resource: &'static str, outcome: Written) {
        self.writes.get_or_create(&Write { resource, outcome }).inc();
    }

    /// Notes whether this replica writes.
    pub fn leads(&self, leading: bool) {
        let change = match (self.leading.set(leading.into()), leading) {
            (0, true) => "gained",
            (1, false) => "lost",
            _ => return,
        };
        self.leadership.get_or_create(&Leadership { change }).inc();
    }

    /// Notes whether the fleet has been read, and how many of its objects cannot be.
    pub fn read(&self, synced: bool, malformed: usize) {
        self.synced.set(synced.into());
        self.malformed.set(i64::try_from(malformed).unwrap_or(i64::MAX));
    }

    /// Sets whether the hub's conversion erases fields of a resource.
    pub fn erases(&self, resource: &'static str, erases: bool) {
        self.erasing
            .get_or_create(&Resource { resource })
            .set(i64::from(erases));
    }

    /// Notes whether a kind that must exist is read.
    pub fn reads(&self, resource: &'static str, is_read: bool) {
        self.unread
            .get_or_create(&Resource { resource })
            .set((!is_read).into());
    }

    /// Notes whether it is open what the absence of objects means.
    pub fn doubts(&self, open: bool) {
        self.doubts.set(open.into());
    }

    /// Notes the resource of every object that cannot be read by name.
    pub fn unreadable(&self, resources: impl Iterator<Item = &'static str>) {
        let mut counts: BTreeMap<&'static str, i64> = BTreeMap::new();
        for resource in resources {
            let count = counts.entry(resource).or_default();
            *count = count.saturating_add(1);
        }
        self.unreadable.clear();
        for (resource, count) in counts {
            self.unreadable.get_or_create(&Resource { resource }).set(count);
        }
    }

    /// Notes how many absent clusters were not seen to go, and how many instances are not taken away although they would go.
    pub fn holds(&self, absent: usize, removals: usize) {
        self.absent_clusters
            .set(i64::try_from(absent).unwrap_or(i64::MAX));
        self.removals_held
            .set(i64::try_from(removals).unwrap_or(i64::MAX));
    }

    /// Notes how far the own clock is ahead of the hub, and whether it is known what time it is.
    pub fn clock(&self, skew: f64, trusted: bool) {
        self.clock_skew.set(skew);
        self.clock_trusted.set(trusted.into());
    }

    /// Returns what time it is on the hub when the own clock shows this one, as far as is known.
    pub fn on_hub(&self, here: Timestamp) -> Timestamp {
        let ahead = SignedDuration::try_from_secs_f64(self.clock_skew.get()).unwrap_or_default();
        here.checked_sub(ahead).unwrap_or(here)
    }

    /// Counts a clock that has jumped.
    pub fn clock_jumped(&self) {
        self.clock_jumps.inc();
    }

    /// Notes how many policies are in force.
    pub fn holds_policies(&self, policies: usize) {
        self.policies.set(i64::try_from(policies).unwrap_or(i64::MAX));
    }

    /// Counts judgements of stored objects that were made together.
    pub fn audit_pass(&self, judged: usize, took: Duration) {
        self.audit_judgements.inc_by(judged as u64);
        self.audit_passes.observe(took.as_secs_f64());
    }

    /// Notes what is wrong with the stored objects: rule, severity and count of all findings that there are.
    pub fn audited<'f>(
        &self,
        objects: impl IntoIterator<Item = (&'static str, usize)>,
        findings: impl IntoIterator<Item = (&'f str, &'static str, i64)>,
    ) {
        for (resource, count) in objects {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.audit_objects
                .get_or_create(&Resource { resource })
                .set(count);
        }
        // A rule that no object breaks any more has no line.
        self.audit_findings.clear();
        for (rule, severity, count) in findings {
            let rule = rule.to_owned();
            self.audit_findings
                .get_or_create(&FindingLabels { rule, severity })
                .set(count);
        }
    }

    /// Returns everything in the `OpenMetrics` text format.
    pub fn text(&self) -> String {
        self.staleness.measure(tokio::time::Instant::now());
        let mut text = String::new();
        // Writing into a string cannot fail; half a page would be told by its missing end mark.
        let _complete = self
            .registries
            .iter()
            .try_for_each(|registry| encode_registry(&mut text, registry))
            .and_then(|()| encode_eof(&mut text))
            .is_ok();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{About, Decision};

    #[test]
    fn what_was_counted_is_reported_by_rule_and_webhook() {
        let metrics = Metrics::default();
        let clone = metrics.clone();
        let admission = clone.admission();
        let about = About::new("AddOnTemplate", "update", false);
        admission.answered("validate", about, Decision::Denied, Duration::from_micros(30));
        admission.turned_away("mutate");
        admission.finding("rollout/min-success-time", "deny");
        clone.wrote("manifestworks", Written::Done);
        clone.read(true, 3);
        clone.audited([("addontemplates", 2)], [("config/not-found", "medium", 7)]);
        clone.audited([("addontemplates", 1)], [("template/unclosed", "high", 1)]);
        clone.audit_pass(5, Duration::from_millis(2));
        let text = metrics.text();
        for line in [
            "tidegate_admission_requests_total{webhook=\"validate\",kind=\"AddOnTemplate\",operation=\"update\",dry_run=\"false\",decision=\"denied\"} 1",
            "tidegate_build_info{version=\"0.2.0\",commit=\"unknown\",dev=\"true\"} 1",
            "tidegate_admission_duration_seconds_bucket{le=\"0.00005\",webhook=\"validate\"} 1",
            "tidegate_findings_total{rule=\"rollout/min-success-time\",action=\"deny\"} 1",
            "tidegate_writes_total{resource=\"manifestworks\",outcome=\"done\"} 1",
            "tidegate_malformed_objects 3",
            "tidegate_audit_findings{rule=\"template/unclosed\",severity=\"high\"} 1",
            "tidegate_audit_objects{resource=\"addontemplates\"} 1",
            "tidegate_audit_judgements_total 5",
            "# EOF",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(
            !text.contains("config/not-found"),
            "a resolved finding is removed"
        );
    }
}
