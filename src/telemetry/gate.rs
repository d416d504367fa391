//! What is counted of admission: requests by what became of them, the time to answer, and what rules found.
//!
//! Decides names, labels and buckets. A kind that is not listed here is `other`: the caller chooses the kind, and may choose as
//! many as it likes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::traces::Fact;
use super::words::words;

/// What became of an admission request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
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

words!(Decision {
    Allowed => "allowed",
    Denied => "denied",
    Broken => "broken",
    TurnedAway => "turned_away",
    Unjudged => "unjudged",
});

/// Whether something would be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DryRun {
    /// It would.
    No,
    /// Nothing is stored, whatever the answer is.
    Yes,
    /// The question was not read.
    Unknown,
}

words!(DryRun {
    No => "false",
    Yes => "true",
    Unknown => "unknown",
});

impl From<bool> for DryRun {
    fn from(is_one: bool) -> Self {
        if is_one { Self::Yes } else { Self::No }
    }
}

/// The kinds that have a label of their own: those that our webhooks name, and AddOnPolicy and ManagedCluster, which none of them names.
const KINDS: [&str; 14] = [
    "AddOnDeploymentConfig",
    "AddOnHubConfig",
    "AddOnPolicy",
    "AddOnTemplate",
    "ClusterManagementAddOn",
    "ManagedCluster",
    "ManagedClusterAddOn",
    "ManagedClusterSetBinding",
    "ManagedClustersUpgrade",
    "ManifestWorkReplicaSet",
    "Placement",
    "RolloutCheck",
    "RolloutFreeze",
    "RolloutProfile",
];
const OTHER: &str = "other";
/// So many rules have a count of their own: policies come and go under names that people choose.
const MOST_FINDINGS: usize = 500;
const UNKNOWN: &str = "unknown";

/// About what an admission request asks, in words for labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct About {
    kind: &'static str,
    operation: &'static str,
    dry_run: DryRun,
}

impl About {
    /// The labels of a request that was not read.
    pub const NOTHING: Self = Self {
        kind: UNKNOWN,
        operation: UNKNOWN,
        dry_run: DryRun::Unknown,
    };

    /// Returns the labels of a request: its kind, and what is done in one word.
    pub fn new(kind: &str, operation: &'static str, dry_run: bool) -> Self {
        let known = KINDS.iter().find(|known| **known == kind);
        Self {
            kind: known.copied().unwrap_or(OTHER),
            operation,
            dry_run: dry_run.into(),
        }
    }

    /// Returns the same words for a span.
    pub fn facts(self) -> Vec<(&'static str, Fact)> {
        vec![
            ("tidegate.kind", Fact::Word(self.kind)),
            ("tidegate.operation", Fact::Word(self.operation)),
            ("tidegate.dry_run", Fact::Word(self.dry_run.word())),
        ]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    webhook: &'static str,
    kind: &'static str,
    operation: &'static str,
    dry_run: DryRun,
    decision: Decision,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Webhook {
    webhook: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Finding {
    rule: String,
    action: &'static str,
}

/// From 25 µs, about what a small object costs, to a second, when the API server has long given up.
fn buckets() -> Histogram {
    Histogram::new([
        0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
        0.5, 1.0,
    ])
}

/// What is counted of admission. Clones count into the same place.
#[derive(Clone, Debug)]
pub struct AdmissionMetrics {
    requests: Family<Request, Counter>,
    seconds: Family<Webhook, Histogram, fn() -> Histogram>,
    findings: Family<Finding, Counter>,
    /// How many rules have a count of their own.
    rules: Arc<AtomicUsize>,
}

impl Default for AdmissionMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(buckets),
            findings: Family::default(),
            rules: Arc::default(),
        }
    }
}

impl AdmissionMetrics {
    pub(super) fn register(&self, all: &mut Registry) {
        all.register(
            "admission_requests",
            "Admission requests, by resource and result",
            self.requests.clone(),
        );
        all.register_with_unit(
            "admission_duration",
            "Time from the received request to the response, without TLS",
            Unit::Seconds,
            self.seconds.clone(),
        );
        all.register(
            "findings",
            "Findings of rules and policies, by rule and action",
            self.findings.clone(),
        );
    }

    fn count(&self, webhook: &'static str, about: About, decision: Decision) {
        let About {
            kind,
            operation,
            dry_run,
        } = about;
        let labels = Request {
            webhook,
            kind,
            operation,
            dry_run,
            decision,
        };
        self.requests.get_or_create(&labels).inc();
    }

    /// Counts an answered request.
    pub fn answered(&self, webhook: &'static str, about: About, decision: Decision, took: Duration) {
        self.count(webhook, about, decision);
        self.seconds
            .get_or_create(&Webhook { webhook })
            .observe(took.as_secs_f64());
    }

    /// Counts a request that was turned away before it was decided.
    pub fn turned_away(&self, webhook: &'static str) {
        self.count(webhook, About::NOTHING, Decision::TurnedAway);
    }

    /// Counts what a rule found, and what came of it: `deny`, `warn` or `audit`.
    pub fn finding(&self, rule: &str, action: &'static str) {
        let mut labels = Finding {
            rule: rule.to_owned(),
            action,
        };
        if self.findings.get(&labels).is_none() && self.rules.fetch_add(1, Ordering::Relaxed) >= MOST_FINDINGS
        {
            OTHER.clone_into(&mut labels.rule);
        }
        self.findings.get_or_create(&labels).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;

    #[test]
    fn made_up_kinds_count_as_one_kind() {
        let metrics = AdmissionMetrics::default();
        for number in 0..50 {
            let about = About::new(&format!("Made{number}"), "update", true);
            metrics.answered("validate", about, Decision::Denied, Duration::ZERO);
        }
        for number in 0..MOST_FINDINGS + 50 {
            metrics.finding(&format!("mine/{number}"), "deny");
        }
        let about = About::new("Placement", "delete", false);
        metrics.answered("validate", about, Decision::Allowed, Duration::ZERO);
        metrics.turned_away("mutate");
        let mut all = Registry::default();
        metrics.register(&mut all);
        let mut text = String::new();
        encode(&mut text, &all).expect("text");
        let mut lines: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("admission_requests_total"))
            .collect();
        lines.sort_unstable();
        assert_eq!(
            lines,
            [
                "admission_requests_total{webhook=\"mutate\",kind=\"unknown\",operation=\"unknown\",dry_run=\"unknown\",decision=\"turned_away\"} 1",
                "admission_requests_total{webhook=\"validate\",kind=\"Placement\",operation=\"delete\",dry_run=\"false\",decision=\"allowed\"} 1",
                "admission_requests_total{webhook=\"validate\",kind=\"other\",operation=\"update\",dry_run=\"true\",decision=\"denied\"} 50",
            ]
        );
        assert!(
            text.contains("findings_total{rule=\"other\",action=\"deny\"} 50\n"),
            "{text}"
        );
    }
}
