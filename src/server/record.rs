//! The metrics and the span of an answered review, and the log line of a denied one.
//!
//! A line has the user, the operation, the path and the rules that denied. Never a part of the object, and never the message of a rule:
//! messages quote values.

use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeSet;
use tokio::time::Instant;
use tracing::info;

use super::denial_log;
use crate::telemetry::{About, Decision, Fact, Metrics, Open};
use admission::wire::Unjudged;
use admission::{Operation, Request, Verdict, Webhook};

/// The word for a webhook in metrics and logs.
pub(super) const fn label(webhook: Webhook) -> &'static str {
    match webhook {
        Webhook::Mutate => "mutate",
        Webhook::Validate => "validate",
    }
}

const fn done(operation: Operation) -> &'static str {
    match operation {
        Operation::Create => "create",
        Operation::Update => "update",
        Operation::Delete => "delete",
        Operation::Connect => "connect",
    }
}

/// Returns the labels of a question.
pub(super) fn about(request: &Request<'_>) -> About {
    About::new(request.kind, done(request.operation), request.dry_run)
}

/// The user and the object of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Subject {
    user: String,
    kind: String,
    namespace: String,
    name: String,
    operation: &'static str,
    dry_run: bool,
}

#[derive(Deserialize)]
struct User<'a> {
    #[serde(borrow, default)]
    username: Cow<'a, str>,
}

impl Subject {
    /// Returns who asks for what in a request.
    pub(super) fn of(request: &Request<'_>) -> Self {
        let user = request.circumstances.user;
        let user: Option<User<'_>> = user.and_then(|user| serde_json::from_str(user.get()).ok());
        Self {
            user: user
                .map(|user| user.username.chars().take(LONGEST_USER).collect())
                .unwrap_or_default(),
            kind: request.kind.to_owned(),
            namespace: request.namespace.to_owned(),
            name: request.name.to_owned(),
            operation: done(request.operation),
            dry_run: request.dry_run,
        }
    }

    fn log(&self, uid: &str, webhook: Webhook, rules: &str) {
        let Self {
            user,
            kind,
            namespace,
            name,
            operation,
            dry_run,
        } = self;
        let webhook = label(webhook);
        denial_log::note(webhook, user, rules, || {
            info!(
                target: denial_log::TARGET, user, operation, kind, namespace, name, dry_run, webhook, rules, uid, "request denied"
            );
        });
    }

    /// Logs the rejection of a request that was not validated.
    pub(super) fn log_unjudged(&self, uid: &str, webhook: Webhook, why: Unjudged) {
        let rules = match why {
            Unjudged::Crowded => "none: too many objects at once",
            Unjudged::TooSlow => "none: not checked in time",
        };
        self.log(uid, webhook, rules);
    }
}

/// Logs the rejection of a request whose body was not read: its user and object are not known.
pub(super) fn log_unread(webhook: Webhook, why: &'static str) {
    let webhook = label(webhook);
    denial_log::note(webhook, "", why, || {
        info!(target: denial_log::TARGET, webhook, rules = why, "request denied");
    });
}

/// Where one request is counted.
#[derive(Clone, Copy)]
pub(super) struct RequestRecord<'a> {
    pub(super) webhook: Webhook,
    pub(super) begun: Instant,
    pub(super) metrics: &'a Metrics,
    /// The span of the request, where it is kept.
    pub(super) open: Option<Open>,
}

/// So many rules are named in a span.
const MOST_RULES: usize = 8;
/// Maximum number of characters of a user name that are logged: certificates may contain any.
const LONGEST_USER: usize = 256;

impl RequestRecord<'_> {
    /// Both webhooks see every object that is stored: what rules find is counted once, where it is final. What the first webhook denies
    /// never comes to the second.
    pub(super) fn verdict(&self, about: About, verdict: &Verdict) {
        let decision = if verdict.allowed() {
            Decision::Allowed
        } else {
            Decision::Denied
        };
        self.count(about, decision, || refusing(verdict));
        if self.webhook == Webhook::Mutate && verdict.allowed() {
            return;
        }
        let counts = self.metrics.admission();
        for violation in verdict.violations() {
            counts.finding(violation.rule(), "deny");
        }
        for warning in verdict.warnings() {
            counts.finding(warning.violation().rule(), "warn");
        }
        for violation in verdict.audited() {
            counts.finding(violation.rule(), "audit");
        }
    }

    /// Logs a rejection.
    pub(super) fn denied(&self, uid: &str, subject: &Subject, verdict: &Verdict) {
        let rules: Vec<&str> = refusing(verdict).into_iter().collect();
        subject.log(uid, self.webhook, &rules.join(","));
    }

    pub(super) fn unjudged(&self, about: About) {
        self.count(about, Decision::Unjudged, BTreeSet::new);
    }

    pub(super) fn broken(&self, about: About) {
        self.count(about, Decision::Broken, BTreeSet::new);
    }

    fn count<'v>(&self, about: About, decision: Decision, rules: impl FnOnce() -> BTreeSet<&'v str>) {
        self.metrics
            .admission()
            .answered(label(self.webhook), about, decision, self.begun.elapsed());
        let (Some(open), Some(tracer)) = (self.open, self.metrics.traces().tracer()) else {
            return;
        };
        let mut facts = about.facts();
        facts.push(("tidegate.decision", Fact::Word(decision.word())));
        let rules: Vec<&str> = rules().into_iter().take(MOST_RULES).collect();
        if !rules.is_empty() {
            facts.push(("tidegate.rules", Fact::Text(rules.join(","))));
        }
        tracer.served(open, label(self.webhook), facts);
    }
}

/// The rules that refuse.
fn refusing(verdict: &Verdict) -> BTreeSet<&str> {
    let mut rules = BTreeSet::new();
    for violation in verdict.violations() {
        rules.insert(violation.rule());
    }
    rules
}
