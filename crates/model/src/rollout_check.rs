//! A check of a rollout, and what its last result means for a change.
//!
//! Decides which values of a RolloutCheck have a meaning, and whether a result says that a change may go on. A result that cannot be
//! read, has expired or is older than what it should judge is never a pass. What waits for it is decided by the engine.

use std::fmt;
use std::time::Duration;

use api::{RolloutCheckSpec, RolloutCheckStatus};
use jiff::{SignedDuration, Timestamp};
use kubernetes::duration::GoDuration;
use kubernetes::field::{Class, Fault, Path, Violation};

use crate::names::Name;
use crate::rule;

/// A result counts for at most so long.
const LONGEST: SignedDuration = SignedDuration::from_hours(30 * 24);
/// So far ahead of the hub's may the clock of a reporter be.
const AHEAD: SignedDuration = SignedDuration::from_mins(1);
const INTERVAL: Duration = Duration::from_mins(1);
const INTERVALS: [Duration; 2] = [Duration::from_secs(10), Duration::from_hours(1)];
const TIMEOUT: Duration = Duration::from_secs(10);

/// How the result of a check is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutCheck {
    /// Another program or a user reports it.
    External,
    /// The controllers query a Prometheus server.
    Prometheus(PrometheusCheck),
}

/// A check of values in a Prometheus server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrometheusCheck {
    /// The name of the endpoint in the configuration of the controllers.
    pub endpoint: String,
    /// Name and text of each query.
    pub queries: Vec<(String, String)>,
    /// The CEL expression that is true if the check passes.
    pub expression: String,
    /// Time between two evaluations.
    pub interval: Duration,
    /// Timeout of each query.
    pub timeout: Duration,
    /// How many evaluations in a row must be false before the result is `Failed`.
    pub failure_limit: i64,
}

impl RolloutCheck {
    /// Reads the spec that stands at `path`. The expression is compiled where it is evaluated.
    ///
    /// # Errors
    ///
    /// Returns everything that is wrong with it: not exactly one type is set, or a time is none.
    pub fn parse(raw: &RolloutCheckSpec, path: &Path) -> Result<Self, Vec<Violation>> {
        let raw = match (&raw.external, &raw.prometheus) {
            (Some(_), None) => return Ok(Self::External),
            (None, Some(raw)) => raw,
            (Some(_), Some(_)) | (None, None) => {
                let fault = Fault::bare(Class::Invalid, "must have exactly one of external and prometheus");
                return Err(vec![fault.at(path.clone(), rule::CHECK_TYPE)]);
            }
        };
        let path = path.key("prometheus");
        let mut wrong = Vec::new();
        let mut time =
            |key: &'static str, text: Option<&str>, default, fits: &dyn Fn(Duration) -> bool, right| {
                let Some(text) = text else { return default };
                let length = GoDuration::parse(text).ok().and_then(GoDuration::length);
                length.filter(|length| fits(*length)).unwrap_or_else(|| {
                    wrong.push(
                        Fault::of_text(Class::Invalid, text, right).at(path.key(key), rule::CHECK_TIMES),
                    );
                    default
                })
            };
        let [least, most] = INTERVALS;
        let in_range = |length| (least..=most).contains(&length);
        let right = "must be a duration from 10s to 1h, such as \"60s\"";
        let interval = time("interval", raw.interval.as_deref(), INTERVAL, &in_range, right);
        let is_shorter = |length: Duration| !length.is_zero() && length < interval;
        let right = "must be a duration above 0s and below interval, such as \"5s\"";
        // The default of an interval of ten seconds must be shorter, too.
        let timeout = TIMEOUT.min(interval / 2);
        let timeout = time("timeout", raw.timeout.as_deref(), timeout, &is_shorter, right);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let queries = raw.queries.iter();
        Ok(Self::Prometheus(PrometheusCheck {
            endpoint: raw.endpoint.clone(),
            queries: queries.map(|one| (one.name.clone(), one.query.clone())).collect(),
            expression: raw.expression.clone(),
            interval,
            timeout,
            failure_limit: raw.failure_limit.unwrap_or(1).max(1),
        }))
    }
}

/// A check that a change waits for, with its last result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The name of the RolloutCheck.
    pub name: Name,
    /// Its last result, or why there is none.
    pub result: Result<CheckResult, CheckDoubt>,
}

/// The last result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    outcome: CheckVerdict,
    reported: Timestamp,
    expires: Timestamp,
}

/// What a check says about a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    /// It may go on.
    Passed,
    /// It has failed, with this message.
    Failed(Name),
    /// It is not known.
    Unknown(CheckDoubt),
}

/// Why it is not known what a check says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckDoubt {
    /// There is no RolloutCheck with this name.
    Missing,
    /// Its spec is invalid: the first fault.
    Invalid(Name),
    /// It has no result.
    NoResult,
    /// Its result has times that cannot be read, or that cannot be.
    BadTimes,
    /// Its result is about an earlier spec.
    OtherSpec,
    /// Its result is Unknown, with this message.
    Reported(Name),
    /// Its result has expired.
    Expired,
    /// Its result is older than what it should judge.
    Early,
}

impl fmt::Display for CheckDoubt {
    /// Writes what does not change with every report: thousands of statuses contain it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "does not exist",
            Self::Invalid(_) => "is invalid",
            Self::NoResult => "has no result",
            Self::BadTimes => "has a result with invalid times",
            Self::OtherSpec => "has a result for an earlier spec",
            Self::Reported(_) => "has the result Unknown",
            Self::Expired => "has a result that has expired",
            Self::Early => "has no result since the earlier clusters were updated",
        })
    }
}

impl CheckResult {
    /// Reads the status of a check. Times count in whole seconds, as those of clusters do.
    ///
    /// # Errors
    ///
    /// Returns why there is no result.
    pub fn parse(raw: &RolloutCheckStatus) -> Result<Self, CheckDoubt> {
        let message = Name::from(raw.message.as_str());
        let outcome = match raw.result.as_str() {
            "Passed" => CheckVerdict::Passed,
            "Failed" => CheckVerdict::Failed(message),
            "" => return Err(CheckDoubt::NoResult),
            _ => CheckVerdict::Unknown(CheckDoubt::Reported(message)),
        };
        let time = |text: &str| {
            let time: Timestamp = text.parse().ok()?;
            Timestamp::from_second(time.as_second()).ok()
        };
        let times = time(&raw.reported_at).zip(time(&raw.expires_at));
        let (reported, expires) = times
            .filter(|(reported, expires)| expires.duration_since(*reported) <= LONGEST)
            .ok_or(CheckDoubt::BadTimes)?;
        Ok(Self {
            outcome,
            reported,
            expires,
        })
    }
}

impl CheckResult {
    /// Returns when it was reported, in whole seconds.
    pub fn reported(&self) -> Timestamp {
        self.reported
    }
}

impl Check {
    /// Returns what it says about what was reached at `since`; about anything if absent.
    pub fn verdict(&self, since: Option<Timestamp>, now: Timestamp) -> CheckVerdict {
        let doubt = match &self.result {
            Err(doubt) => doubt.clone(),
            Ok(result) if result.reported.duration_since(now) > AHEAD => CheckDoubt::BadTimes,
            Ok(result) if result.expires <= now => CheckDoubt::Expired,
            // What is recorded of a second may have been at its end.
            Ok(result) if since.is_some_and(|since| result.reported <= since) => CheckDoubt::Early,
            Ok(result) => return result.outcome.clone(),
        };
        CheckVerdict::Unknown(doubt)
    }

    /// Returns when time alone changes that.
    pub fn changes_at(&self, now: Timestamp) -> Option<Timestamp> {
        let result = self.result.as_ref().ok()?;
        let counts = result.reported.checked_sub(AHEAD).ok()?;
        [counts, result.expires].into_iter().filter(|at| *at > now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(spec: Value) -> Result<RolloutCheck, Vec<String>> {
        let raw: RolloutCheckSpec = serde_json::from_value(spec).map_err(|error| vec![error.to_string()])?;
        let read = RolloutCheck::parse(&raw, &Path::root().key("spec"));
        read.map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
    }

    fn at(text: &str) -> Timestamp {
        format!("2026-01-01T{text}Z").parse().expect("a time")
    }

    fn check(result: &str, reported: &str, expires: &str) -> Check {
        let status = RolloutCheckStatus {
            result: result.to_owned(),
            message: "why".to_owned(),
            reported_at: format!("2026-01-01T{reported}Z"),
            expires_at: format!("2026-01-01T{expires}Z"),
            ..RolloutCheckStatus::default()
        };
        Check {
            name: "a".into(),
            result: CheckResult::parse(&status),
        }
    }

    #[test]
    fn exactly_one_type_is_set() {
        assert_eq!(read(json!({"external": {}})), Ok(RolloutCheck::External));
        let wrong = "spec: Invalid value: must have exactly one of external and prometheus [check/type]";
        for both in [
            json!({}),
            json!({"external": {}, "prometheus": {"endpoint": "main"}}),
        ] {
            assert_eq!(read(both), Err(vec![wrong.to_owned()]));
        }
    }

    #[test]
    fn times_have_defaults_and_bounds() {
        let times = |interval: Option<&str>, timeout: Option<&str>| {
            read(json!({"prometheus": {"endpoint": "main", "interval": interval, "timeout": timeout}}))
        };
        let found = |interval: Option<&str>, timeout: Option<&str>| match times(interval, timeout) {
            Ok(RolloutCheck::Prometheus(found)) => (found.interval.as_secs(), found.timeout.as_secs()),
            other => panic!("{other:?}"),
        };
        assert_eq!(found(None, None), (60, 10));
        assert_eq!(found(Some("10s"), None), (10, 5));
        assert_eq!(found(Some("1h"), Some("59m")), (3600, 3540));
        let wrong = times(Some("9s"), Some("60s")).expect_err("two faults");
        assert_eq!(
            wrong,
            [
                "spec.prometheus.interval: Invalid value: \"9s\": must be a duration from 10s to 1h, such as \"60s\" [check/times]",
                "spec.prometheus.timeout: Invalid value: \"60s\": must be a duration above 0s and below interval, such as \"5s\" [check/times]",
            ]
        );
        for bad in ["61m", "soon", "-10s", "0"] {
            assert!(times(Some(bad), None).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_result_counts_after_what_it_judges_and_until_it_expires() {
        use CheckDoubt::{BadTimes, Early, Expired};
        let unknown = CheckVerdict::Unknown;
        let passed = check("Passed", "10:00:00", "11:00:00");
        for (now, since, expected) in [
            ("10:30:00", None, CheckVerdict::Passed),
            ("10:30:00", Some("09:59:59"), CheckVerdict::Passed),
            ("10:30:00", Some("10:00:00"), unknown(Early)),
            ("10:59:59", None, CheckVerdict::Passed),
            ("11:00:00", None, unknown(Expired)),
            ("09:59:00", None, CheckVerdict::Passed),
            ("09:58:59", None, unknown(BadTimes)),
        ] {
            let found = passed.verdict(since.map(at), at(now));
            assert_eq!(found, expected, "{now} {since:?}");
        }
        let failed = check("Failed", "10:00:00", "11:00:00");
        assert_eq!(
            failed.verdict(None, at("10:30:00")),
            CheckVerdict::Failed("why".into())
        );
        assert_eq!(
            failed.verdict(Some(at("10:00:00")), at("10:30:00")),
            unknown(Early)
        );
        assert_eq!(failed.verdict(None, at("11:00:00")), unknown(Expired));
    }

    #[test]
    fn what_cannot_be_read_is_never_a_pass() {
        let doubt = |check: &Check| check.verdict(None, at("10:00:01"));
        let unknown = CheckVerdict::Unknown;
        assert_eq!(
            doubt(&check("", "10:00:00", "11:00:00")),
            unknown(CheckDoubt::NoResult)
        );
        assert_eq!(
            doubt(&check("Passed", "", "11:00:00")),
            unknown(CheckDoubt::BadTimes)
        );
        assert_eq!(
            doubt(&check("Passed", "10:00:00", "later")),
            unknown(CheckDoubt::BadTimes)
        );
        for other in ["Unknown", "passed", "Success"] {
            let reported = unknown(CheckDoubt::Reported("why".into()));
            assert_eq!(doubt(&check(other, "10:00:00", "11:00:00")), reported, "{other}");
        }
        let status = RolloutCheckStatus {
            result: "Passed".to_owned(),
            reported_at: "2026-01-01T10:00:00Z".to_owned(),
            expires_at: "2026-01-31T10:00:01Z".to_owned(),
            ..RolloutCheckStatus::default()
        };
        assert_eq!(
            CheckResult::parse(&status),
            Err(CheckDoubt::BadTimes),
            "more than 30 days"
        );
    }

    #[test]
    fn time_alone_changes_a_result_when_it_expires() {
        let passed = check("Passed", "10:00:00.9", "11:00:00.9");
        assert_eq!(passed.changes_at(at("10:00:01")), Some(at("11:00:00")));
        assert_eq!(passed.changes_at(at("11:00:00")), None);
        assert_eq!(passed.changes_at(at("09:00:00")), Some(at("09:59:00")));
    }
}
