//! Metrics: what is counted, under which name.
//!
//! Decides names, labels and buckets. A label is a word of a small fixed set or the id of a rule; never the name of an object,
//! a cluster or a user, of which a hub has as many as it likes.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::door::DoorMetrics;
use super::modes::ModeMetrics;
use super::upgrades::UpgradeMetrics;
use super::watches::WatchMetrics;
use super::webhooks::WebhookMetrics;

/// What became of an admission request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum Outcome {
    /// The object may be stored.
    Allowed,
    /// The object is refused.
    Denied,
    /// The decision broke: a bug.
    Broken,
    /// The request was turned away: too many at once, too large, or not a question.
    TurnedAway,
    /// The object was not judged in time: refused, unless it only goes.
    Unjudged,
}

/// What became of a write to the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum Written {
    /// It was taken.
    Done,
    /// Somebody else wrote first; planned again.
    Conflict,
    /// The hub refused it or did not answer; tried again.
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Admission {
    door: &'static str,
    outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Door {
    door: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Finding {
    rule: String,
    action: &'static str,
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
struct Resource {
    resource: &'static str,
}

/// Everything that is counted. Clones count into the same place.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    requests: Family<Admission, Counter>,
    seconds: Family<Door, Histogram, fn() -> Histogram>,
    findings: Family<Finding, Counter>,
    plans: Counter,
    planning: Histogram,
    refused_plans: Counter,
    writes: Family<Write, Counter>,
    leading: Gauge,
    synced: Gauge,
    malformed: Gauge,
    unread: Family<Resource, Gauge>,
    erasing: Family<Resource, Gauge>,
    doubts: Gauge,
    absent_clusters: Gauge,
    removals_held: Gauge,
    clock_skew: Gauge<f64, AtomicU64>,
    clock_trusted: Gauge,
    clock_jumps: Counter,
    policies: Gauge,
    audit_findings: Family<FindingLabels, Gauge>,
    audit_objects: Family<Resource, Gauge>,
    audit_judgements: Counter,
    audit_passes: Histogram,
    door: DoorMetrics,
    modes: ModeMetrics,
    upgrades: UpgradeMetrics,
    watches: WatchMetrics,
    webhooks: WebhookMetrics,
}

/// From 25 µs, about what a small object costs, to a second, when the API server has long given up.
fn admission_buckets() -> Histogram {
    Histogram::new([
        0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
        0.5, 1.0,
    ])
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
            registry: Arc::new(Registry::default()),
            requests: Family::default(),
            seconds: Family::new_with_constructor(admission_buckets),
            findings: Family::default(),
            plans: Counter::default(),
            planning: planning_buckets(),
            refused_plans: Counter::default(),
            writes: Family::default(),
            leading: Gauge::default(),
            synced: Gauge::default(),
            malformed: Gauge::default(),
            unread: Family::default(),
            erasing: Family::default(),
            doubts: Gauge::default(),
            absent_clusters: Gauge::default(),
            removals_held: Gauge::default(),
            clock_skew: Gauge::default(),
            clock_trusted: Gauge::default(),
            clock_jumps: Counter::default(),
            policies: Gauge::default(),
            audit_findings: Family::default(),
            audit_objects: Family::default(),
            audit_judgements: Counter::default(),
            audit_passes: audit_buckets(),
            door: DoorMetrics::default(),
            modes: ModeMetrics::default(),
            upgrades: UpgradeMetrics::default(),
            watches: WatchMetrics::default(),
            webhooks: WebhookMetrics::default(),
        };
        metrics.registry = Arc::new(metrics.register());
        metrics
    }
}

impl Metrics {
    fn register(&self) -> Registry {
        let mut all = Registry::with_prefix("tidegate");
        all.register(
            "admission_requests",
            "Admission requests, by what became of them",
            self.requests.clone(),
        );
        all.register_with_unit(
            "admission_duration",
            "Time from the whole request to its answer, without TLS",
            Unit::Seconds,
            self.seconds.clone(),
        );
        all.register(
            "findings",
            "What rules and policies found, by rule and by what it led to",
            self.findings.clone(),
        );
        all.register("plans", "Plans made of add-ons", self.plans.clone());
        all.register_with_unit(
            "plan_duration",
            "Time to make one plan",
            Unit::Seconds,
            self.planning.clone(),
        );
        all.register(
            "plans_refused",
            "Plans that broke an invariant and were not applied: each is a bug",
            self.refused_plans.clone(),
        );
        all.register(
            "writes",
            "Writes to the hub, by what became of them",
            self.writes.clone(),
        );
        all.register(
            "leading",
            "1 while this replica is the one that writes",
            self.leading.clone(),
        );
        all.register(
            "synced",
            "1 when the whole fleet has been read",
            self.synced.clone(),
        );
        all.register(
            "malformed_objects",
            "Objects on the hub that cannot be read and are left out",
            self.malformed.clone(),
        );
        self.register_doubts(&mut all);
        self.register_audit(&mut all);
        self.door.register(&mut all);
        self.modes.register(&mut all);
        self.upgrades.register(&mut all);
        self.watches.register(&mut all);
        self.webhooks.register(&mut all);
        all
    }

    fn register_doubts(&self, all: &mut Registry) {
        all.register(
            "unread_kinds",
            "1 while the hub does not list or watch a kind that must exist",
            self.unread.clone(),
        );
        all.register(
            "erasing_conversions",
            "1 while writes through another version erase fields that were added to a definition",
            self.erasing.clone(),
        );
        all.register(
            "absences_open",
            "1 while nobody knows whether objects are gone that no list shows: nothing is planned",
            self.doubts.clone(),
        );
        all.register(
            "absent_clusters",
            "Clusters in which add-ons live, that have no ManagedCluster, and that nobody saw go",
            self.absent_clusters.clone(),
        );
        all.register(
            "removals_held",
            "Instances that would go and are held: there is no budget, or nobody believes the reason",
            self.removals_held.clone(),
        );
        all.register_with_unit(
            "clock_skew",
            "How far the clock of this machine is ahead of the hub",
            Unit::Seconds,
            self.clock_skew.clone(),
        );
        all.register(
            "clock_trusted",
            "1 while it is known what time it is; nothing is planned otherwise",
            self.clock_trusted.clone(),
        );
        all.register(
            "clock_jumps",
            "How often the clock of this machine, or that of the hub, has jumped",
            self.clock_jumps.clone(),
        );
    }

    /// Returns what is counted of connections, certificates and threads.
    pub fn door(&self) -> &DoorMetrics {
        &self.door
    }

    /// Returns what is told about who writes, and about what is not written.
    pub fn modes(&self) -> &ModeMetrics {
        &self.modes
    }

    /// Returns what is told about upgrades of clusters.
    pub fn upgrades(&self) -> &UpgradeMetrics {
        &self.upgrades
    }

    /// Returns what is told about the watches.
    pub fn watches(&self) -> &WatchMetrics {
        &self.watches
    }

    /// Returns what is told about the webhook configurations.
    pub fn webhooks(&self) -> &WebhookMetrics {
        &self.webhooks
    }

    fn register_audit(&self, all: &mut Registry) {
        all.register(
            "policies",
            "Policies in force, of the hub and of the folder",
            self.policies.clone(),
        );
        all.register(
            "audit_findings",
            "What is wrong with stored objects, by rule and severity",
            self.audit_findings.clone(),
        );
        all.register(
            "audit_objects",
            "Stored objects that are audited",
            self.audit_objects.clone(),
        );
        all.register(
            "audit_judgements",
            "Judgements of stored objects",
            self.audit_judgements.clone(),
        );
        all.register_with_unit(
            "audit_pass_duration",
            "Time to judge what was due in one turn, reading included",
            Unit::Seconds,
            self.audit_passes.clone(),
        );
    }

    /// Counts an answered admission request.
    pub fn admission(&self, door: &'static str, outcome: Outcome, took: Duration) {
        self.requests.get_or_create(&Admission { door, outcome }).inc();
        self.seconds
            .get_or_create(&Door { door })
            .observe(took.as_secs_f64());
    }

    /// Counts a request that was never decided.
    pub fn turned_away(&self, door: &'static str) {
        let labels = Admission {
            door,
            outcome: Outcome::TurnedAway,
        };
        self.requests.get_or_create(&labels).inc();
    }

    /// Counts what a rule found; the action is `deny`, `warn` or `audit`.
    pub fn finding(&self, rule: &str, action: &'static str) {
        let labels = Finding {
            rule: rule.to_owned(),
            action,
        };
        self.findings.get_or_create(&labels).inc();
    }

    /// Counts a plan.
    pub fn planned(&self, took: Duration) {
        self.plans.inc();
        self.planning.observe(took.as_secs_f64());
    }

    /// Counts a plan that broke an invariant.
    pub fn refused_plan(&self) {
        self.refused_plans.inc();
    }

    /// Counts a write to a resource (plural).
    pub fn wrote(&self, resource: &'static str, outcome: Written) {
        self.writes.get_or_create(&Write { resource, outcome }).inc();
    }

    /// Notes whether this replica writes.
    pub fn leads(&self, leading: bool) {
        self.leading.set(leading.into());
    }

    /// Notes whether the fleet has been read, and how many of its objects cannot be.
    pub fn read(&self, synced: bool, malformed: usize) {
        self.synced.set(synced.into());
        self.malformed.set(i64::try_from(malformed).unwrap_or(i64::MAX));
    }

    /// Says whether the hub's conversion erases fields of a resource.
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

    /// Notes whether nobody knows what the absence of objects means.
    pub fn doubts(&self, open: bool) {
        self.doubts.set(open.into());
    }

    /// Notes how many clusters are absent that nobody saw go, and how many instances are not taken away although they would go.
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
        // A rule that nobody breaks any more has no line.
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
        self.watches.measure(tokio::time::Instant::now());
        let mut text = String::new();
        // Writing into a string cannot fail; half a page would be told by its missing end mark.
        let _complete = encode(&mut text, &self.registry).is_ok();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_told_by_rule_and_door() {
        let metrics = Metrics::default();
        let clone = metrics.clone();
        clone.admission("validate", Outcome::Denied, Duration::from_micros(30));
        clone.turned_away("mutate");
        clone.finding("rollout/min-success-time", "deny");
        clone.wrote("manifestworks", Written::Done);
        clone.read(true, 3);
        clone.audited([("addontemplates", 2)], [("config/not-found", "medium", 7)]);
        clone.audited([("addontemplates", 1)], [("template/unclosed", "high", 1)]);
        clone.audit_pass(5, Duration::from_millis(2));
        let text = metrics.text();
        for line in [
            "tidegate_admission_requests_total{door=\"validate\",outcome=\"Denied\"} 1",
            "tidegate_admission_requests_total{door=\"mutate\",outcome=\"TurnedAway\"} 1",
            "tidegate_admission_duration_seconds_bucket{le=\"0.00005\",door=\"validate\"} 1",
            "tidegate_findings_total{rule=\"rollout/min-success-time\",action=\"deny\"} 1",
            "tidegate_writes_total{resource=\"manifestworks\",outcome=\"Done\"} 1",
            "tidegate_malformed_objects 3",
            "tidegate_audit_findings{rule=\"template/unclosed\",severity=\"high\"} 1",
            "tidegate_audit_objects{resource=\"addontemplates\"} 1",
            "tidegate_audit_judgements_total 5",
            "# EOF",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(!text.contains("config/not-found"), "what is repaired is gone");
    }
}
