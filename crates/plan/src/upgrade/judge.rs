//! What the report of a work says: whether a cluster is in progress, whether a Job has succeeded, whether an action has.
//!
//! Decides by each manifest, never by the sum that an agent makes of them: there "Available" means that objects exist. What a report
//! says of another version or of an older generation is not about us.

use crate::upgrade::record::ActionState;
use crate::upgrade::works::WITHOUT_POOLS;
use store::upgrade::Runs;
use store::upgrade::{Applied, Manifest, Work};

/// What a cluster reports about its upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Platform {
    /// Nothing about this version, and perhaps a word why.
    Silent(String),
    /// It is in progress.
    Underway {
        /// How much is done in percent.
        percent: Option<i64>,
        /// What it says.
        message: String,
    },
    /// It reports that it cannot go on, and why.
    Failing(String),
    /// It is there.
    Done,
}

/// Returns what a cluster reports about the version that its work asks for.
pub(crate) fn platform(work: &Work) -> Platform {
    let Some(told) = work
        .manifests
        .iter()
        .find(|told| told.feedback.contains_key("state"))
    else {
        return Platform::Silent(String::new());
    };
    if work.applied != Applied::Yes {
        return Platform::Silent(String::new());
    }
    let value = |name: &str| told.feedback.get(name).map(String::as_str).unwrap_or_default();
    let (version, image) = (work.target.0.as_str(), work.target.1.as_str());
    // Right after the work was applied the newest entry of the history is still that of the old version, which is complete.
    let is_ours = if version.is_empty() {
        !image.is_empty() && value("image") == image
    } else {
        value("version") == version
    };
    let message = value("progressMessage");
    let is_failing = value("failing") == "True";
    match (is_ours, value("state")) {
        (true, "Completed") => Platform::Done,
        (true, "Partial") if is_failing => Platform::Failing(failing(value("failingMessage"), message)),
        (true, "Partial") => Platform::Underway {
            percent: percent(message),
            message: message.to_owned(),
        },
        (_, _) if value("invalid") == "True" => Platform::Silent(value("invalidMessage").to_owned()),
        (_, _) if value("releaseAccepted") == "False" => {
            let why = Some(value("releaseMessage")).filter(|why| !why.is_empty());
            Platform::Silent(format!(
                "the cluster has not accepted the release: {}",
                why.unwrap_or(message)
            ))
        }
        // The version before is not healthy: the operator does not begin with another one.
        (_, _) if is_failing => Platform::Failing(failing(value("failingMessage"), message)),
        (_, _) => Platform::Silent(String::new()),
    }
}

/// Returns how many of the worker pools that a work observes are updated, and how many it observes.
pub(crate) fn worker_pools(work: &Work) -> (usize, usize) {
    let is_updated = |told: &&Manifest| {
        told.feedback
            .get("poolUpdated")
            .is_some_and(|value| value == "True")
    };
    let updated = work.manifests.iter().filter(is_updated).count();
    (updated, work.count.saturating_sub(WITHOUT_POOLS))
}

/// Returns whether a cluster has reported its ClusterVersion.
pub(crate) fn has_reported(work: &Work) -> bool {
    let has_state = |told: &Manifest| told.feedback.contains_key("state");
    work.applied == Applied::Yes && work.manifests.iter().any(has_state)
}

/// Returns why a cluster accepts no other minor version.
pub(crate) fn not_upgradeable(work: &Work) -> Option<String> {
    let value = |name: &str| work.manifests.iter().find_map(|told| told.feedback.get(name));
    value("upgradeable").filter(|value| *value == "False")?;
    let message = value("upgradeableMessage").filter(|message| !message.is_empty());
    Some(message.map_or_else(
        || "the ClusterVersion reports Upgradeable=False".to_owned(),
        |message| format!("the ClusterVersion reports Upgradeable=False: {message}"),
    ))
}

/// Works of earlier releases do not report the message of `Failing`; `Progressing` repeats it behind the version.
fn failing(message: &str, progress: &str) -> String {
    if !message.is_empty() {
        return message.to_owned();
    }
    let rest = progress.strip_prefix("Unable to apply ");
    let cause = rest
        .and_then(|rest| rest.split_once(": "))
        .map(|(_, cause)| cause);
    match cause.unwrap_or(progress) {
        "" => "the ClusterVersion reports no cause".to_owned(),
        cause => cause.to_owned(),
    }
}

/// Reads `Working towards 4.12.0: 106 of 830 done (12% complete)`.
fn percent(message: &str) -> Option<i64> {
    let (before, _) = message.split_once("% complete")?;
    let digits = before.rsplit(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|percent| (0..=100).contains(percent))
}

/// Returns how the Job stands that approves install plans.
pub(crate) fn approver(work: &Work) -> ActionState {
    let told = work.manifests.iter().find(|told| told.runs == Some(Runs::Job));
    let Some(told) = told.filter(|_| work.applied == Applied::Yes) else {
        return ActionState::Progressing;
    };
    // A pod that failed is tried again; only the Job's own word ends it.
    match ended(told, Runs::Job) {
        Some(true) => ActionState::Available,
        Some(false) => ActionState::Degraded,
        None if is_positive(told, "succeeded") => ActionState::Available,
        None => ActionState::Applied,
    }
}

fn is_positive(told: &Manifest, name: &str) -> bool {
    let number = told.feedback.get(name).and_then(|text| text.parse::<i64>().ok());
    number.is_some_and(|number| number > 0)
}

/// Whether something that runs to an end has ended, and well.
fn ended(told: &Manifest, runs: Runs) -> Option<bool> {
    let is = |name: &str, value: &str| told.feedback.get(name).is_some_and(|found| found == value);
    let condition = |name: &str| told.conditions.get(name).copied();
    let (good, bad) = match runs {
        Runs::Job => (is("jobComplete", "True"), is("jobFailed", "True")),
        Runs::Pod => (is("podPhase", "Succeeded"), is("podPhase", "Failed")),
    };
    if bad || condition("Degraded") == Some(true) {
        return Some(false);
    }
    // "Complete" alone is said of what has failed as well.
    let has_ended = condition("Complete") == Some(true) && condition("Degraded") == Some(false);
    (good || has_ended).then_some(true)
}

/// Returns what became of an action.
pub(crate) fn action(work: &Work) -> ActionState {
    if work
        .manifests
        .iter()
        .any(|told| of_manifest(told) == ActionState::Degraded)
    {
        return ActionState::Degraded;
    }
    if work.applied != Applied::Yes {
        return ActionState::Progressing;
    }
    let is_done = work.manifests.len() >= work.count
        && work
            .manifests
            .iter()
            .all(|told| of_manifest(told) == ActionState::Available);
    if is_done {
        ActionState::Available
    } else {
        ActionState::Applied
    }
}

fn of_manifest(told: &Manifest) -> ActionState {
    let condition = |name: &str| told.conditions.get(name).copied();
    let outcome = match told.runs {
        Some(runs) => ended(told, runs),
        // A rule of the user's own says when it is done; without one, being there is enough.
        None => match (condition("Degraded"), condition("Complete")) {
            (Some(true), _) => Some(false),
            (_, Some(done)) => done.then_some(true),
            (_, None) => condition("Available").filter(|available| *available),
        },
    };
    match outcome {
        Some(true) => ActionState::Available,
        Some(false) => ActionState::Degraded,
        None => ActionState::Applied,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use store::upgrade::Mode;

    fn told(runs: Option<Runs>, conditions: &[(&str, bool)], feedback: &[(&str, &str)]) -> Manifest {
        let text = |text: &str| text.to_owned();
        Manifest {
            runs,
            conditions: conditions
                .iter()
                .map(|(name, holds)| (text(name), *holds))
                .collect(),
            feedback: feedback
                .iter()
                .map(|(name, value)| (text(name), text(value)))
                .collect(),
        }
    }

    fn work(applied: Applied, target: (&str, &str), manifests: Vec<Manifest>) -> Work {
        Work {
            uid: "u".into(),
            version: "1".into(),
            owner: String::new(),
            owned_by: String::new(),
            stage: None,
            run: String::new(),
            created: Timestamp::UNIX_EPOCH,
            deleting: false,
            applied,
            failure: String::new(),
            mode: Mode::Apply,
            target: (target.0.to_owned(), target.1.to_owned()),
            count: manifests.len(),
            manifests,
        }
    }

    /// How far the work is applied, what it asks for, what is reported, and what that says.
    type Row<'a> = (Applied, (&'a str, &'a str), &'a [(&'a str, &'a str)], Platform);

    #[test]
    fn only_a_report_about_our_version_and_our_generation_counts() {
        let done = &[("version", "4.12.0"), ("state", "Completed")];
        let old = &[("version", "4.11.9"), ("state", "Completed")];
        let image = &[("image", "q@sha256:a"), ("state", "Completed")];
        let quiet = Platform::Silent(String::new());
        let rows: [Row<'_>; 6] = [
            (Applied::Yes, ("4.12.0", ""), done, Platform::Done),
            (Applied::Yes, ("4.12.0", ""), old, quiet.clone()),
            (Applied::Not, ("4.12.0", ""), done, quiet.clone()),
            (Applied::Yes, ("", "q@sha256:a"), image, Platform::Done),
            (Applied::Yes, ("", "q@sha256:b"), image, quiet.clone()),
            (Applied::Yes, ("4.12.0", ""), &[], quiet),
        ];
        for (applied, target, feedback, expected) in rows {
            let found = platform(&work(applied, target, vec![told(None, &[], feedback)]));
            assert_eq!(found, expected, "{target:?} {feedback:?}");
        }
    }

    #[test]
    fn progress_is_read_and_a_release_that_is_not_accepted_is_reported() {
        let message = "Working towards 4.12.0: 106 of 830 done (12% complete), waiting on etcd";
        let feedback = [
            ("version", "4.12.0"),
            ("state", "Partial"),
            ("progressMessage", message),
        ];
        let found = platform(&work(
            Applied::Yes,
            ("4.12.0", ""),
            vec![told(None, &[], &feedback)],
        ));
        let expected = Platform::Underway {
            percent: Some(12),
            message: message.to_owned(),
        };
        assert_eq!(found, expected);
        let refused = [
            ("version", "4.11.9"),
            ("state", "Completed"),
            ("releaseAccepted", "False"),
        ];
        let found = platform(&work(
            Applied::Yes,
            ("4.12.0", ""),
            vec![told(None, &[], &refused)],
        ));
        assert!(matches!(found, Platform::Silent(text) if text.contains("has not accepted")));
    }

    type Feedback<'a> = &'a [(&'a str, &'a str)];

    #[test]
    fn a_cluster_version_that_is_failing_reports_its_cause() {
        let partial = [("version", "4.12.0"), ("state", "Partial"), ("failing", "True")];
        let old = [("version", "4.11.9"), ("state", "Completed"), ("failing", "True")];
        let progress = ("progressMessage", "Unable to apply 4.12.0: etcd quorum lost");
        let message = ("failingMessage", "etcd quorum lost");
        let rows: [(Feedback<'_>, Feedback<'_>, &str); 5] = [
            (&partial, &[message], "etcd quorum lost"),
            (&partial, &[progress], "etcd quorum lost"),
            (&partial, &[("progressMessage", "stuck")], "stuck"),
            (&partial, &[], "the ClusterVersion reports no cause"),
            (&old, &[message], "etcd quorum lost"),
        ];
        for (state, more, expected) in rows {
            let feedback: Vec<(&str, &str)> = state.iter().chain(more).copied().collect();
            let found = platform(&work(
                Applied::Yes,
                ("4.12.0", ""),
                vec![told(None, &[], &feedback)],
            ));
            assert_eq!(found, Platform::Failing(expected.to_owned()), "{feedback:?}");
        }
    }

    #[test]
    fn what_runs_to_an_end_is_judged_by_how_it_ended() {
        let job = Some(Runs::Job);
        let rows: [(Manifest, ActionState); 9] = [
            (told(job, &[("Available", true)], &[]), ActionState::Applied),
            (
                told(job, &[("Complete", true), ("Degraded", false)], &[]),
                ActionState::Available,
            ),
            (
                told(job, &[("Complete", true), ("Degraded", true)], &[]),
                ActionState::Degraded,
            ),
            (told(job, &[("Complete", true)], &[]), ActionState::Applied),
            (told(job, &[], &[("failed", "3")]), ActionState::Applied),
            (told(job, &[], &[("jobFailed", "True")]), ActionState::Degraded),
            (told(job, &[], &[("jobComplete", "True")]), ActionState::Available),
            (
                told(Some(Runs::Pod), &[], &[("podPhase", "Failed")]),
                ActionState::Degraded,
            ),
            (told(None, &[("Available", true)], &[]), ActionState::Available),
        ];
        for (manifest, expected) in rows {
            let shown = format!("{manifest:?}");
            assert_eq!(
                action(&work(Applied::Yes, ("", ""), vec![manifest])),
                expected,
                "{shown}"
            );
        }
    }

    #[test]
    fn an_action_has_succeeded_when_each_of_its_manifests_has() {
        let there = || told(None, &[("Available", true)], &[]);
        let runs = || told(Some(Runs::Job), &[], &[]);
        let failed = told(Some(Runs::Job), &[], &[("jobFailed", "True")]);
        let of = |manifests: Vec<Manifest>| action(&work(Applied::Yes, ("", ""), manifests));
        assert_eq!(of(vec![there(), runs()]), ActionState::Applied);
        assert_eq!(of(vec![there(), failed]), ActionState::Degraded);
        let mut half = work(Applied::Yes, ("", ""), vec![there()]);
        half.count = 2;
        assert_eq!(action(&half), ActionState::Applied, "one is not reported yet");
        assert_eq!(
            action(&work(Applied::Never, ("", ""), vec![])),
            ActionState::Progressing
        );
    }

    #[test]
    fn a_pod_that_fails_does_not_fail_the_approver() {
        let approved = |feedback: &[(&str, &str)]| {
            approver(&work(
                Applied::Yes,
                ("", ""),
                vec![told(Some(Runs::Job), &[], feedback)],
            ))
        };
        assert_eq!(
            approved(&[("failed", "2"), ("active", "1")]),
            ActionState::Applied
        );
        assert_eq!(approved(&[("succeeded", "1")]), ActionState::Available);
        assert_eq!(
            approved(&[("failed", "6"), ("jobFailed", "True")]),
            ActionState::Degraded
        );
    }
}
