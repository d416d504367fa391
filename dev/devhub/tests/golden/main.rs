//! Replays recorded conversations with a real Kubernetes API server and compares every answer.
//!
//! The data and its format are in `tests/data/golden`. Steps that are known to differ stand with their reason in
//! `known-differences.tsv`; a listed step that has become equal fails as well, so the list can only shrink.
//!
//! `GOLDEN=watch-01,crud` runs the scenarios whose names start so. `GOLDEN_UPDATE_KNOWN=1` prints rows for the list.
//! `DEVHUB_GOLDEN_URL`, `DEVHUB_GOLDEN_TOKEN` and `DEVHUB_GOLDEN_CA` (a file) aim at a running API server instead.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a test reads files and clocks, and may panic"
)]
#![expect(clippy::panic, reason = "data that cannot be read is a failed test")]

mod ages;
mod answer;
mod compare;
mod hook;
mod known;
mod masks;
mod prepare;
mod replay;
mod report;
mod scenario;
mod symbols;
mod target;
mod verdict;
mod wire;

use futures::StreamExt;

use known::{Known, VERSION_ORDER};
use replay::StepResult;
use report::{Outcome, Report, print};
use scenario::Scenario;
use target::Target;

#[test]
fn answers_as_recorded() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let report = runtime.block_on(replay_all());
    assert!(report.unexpected == 0, "\n{}", report.text);
}

async fn replay_all() -> Report {
    let wanted = std::env::var("GOLDEN").unwrap_or_default();
    let is_wanted =
        |name: &str| wanted.is_empty() || wanted.split(',').any(|prefix| name.starts_with(prefix));
    let known = Known::read();
    let scenarios = scenario::all();
    let mut total = Report::default();
    check_rows(&known, &scenarios, &mut total);
    let replayed = scenarios
        .iter()
        .filter(|scenario| is_wanted(&scenario.header.name));
    let target = Target::from_env();
    let mut running = futures::stream::iter(replayed)
        .map(async |scenario| (scenario, target.replay(scenario).await))
        .buffered(target.width());
    while let Some((scenario, results)) = running.next().await {
        let report = judge(scenario, results, &known);
        print(&report.line(&scenario.header.name));
        total.merge(report);
    }
    print(&format!("\n{}", total.totals()));
    if std::env::var_os("GOLDEN_UPDATE_KNOWN").is_some() {
        print(&total.candidates.join("\n"));
    }
    total
}

/// A row for a step that does not exist would never be noticed otherwise.
fn check_rows(known: &Known, scenarios: &[Scenario], total: &mut Report) {
    for (name, step) in known.entries() {
        let found = scenarios.iter().find(|scenario| scenario.header.name == name);
        let exists = found
            .is_some_and(|scenario| step == VERSION_ORDER || scenario.steps.iter().any(|it| it.id == step));
        if !exists {
            total.count(Outcome::Unexpected);
            total.tell(
                &format!("{name} {step} is listed as a known difference, but no such step is replayed"),
                &[],
            );
        }
    }
}

fn judge(scenario: &Scenario, results: Vec<StepResult>, known: &Known) -> Report {
    let name = &scenario.header.name;
    let mut report = Report::default();
    for StepResult {
        id,
        title,
        differences,
    } in results
    {
        let reason = known.reason(name, &id);
        let outcome = match (differences, reason) {
            (None, None) => Outcome::Sent,
            (Some(differences), Some(reason)) if !differences.is_empty() => Outcome::Known(reason.to_owned()),
            (Some(differences), None) if differences.is_empty() => Outcome::Equal,
            (Some(differences), None) => {
                report
                    .candidates
                    .push(format!("{name}\t{id}\t{}", differences[0].path));
                report.tell(&title, &differences);
                Outcome::Unexpected
            }
            (Some(_) | None, Some(reason)) => {
                report.tell(
                    &format!("{title}\n      is equal now; take it off the list (\"{reason}\")"),
                    &[],
                );
                Outcome::Unexpected
            }
        };
        report.count(outcome);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::{Known, StepResult, check_rows, judge, report::Report, scenario};
    use crate::compare::Difference;

    /// Judges the first step of `crud-cr-01`, recorded as "1", listed or not; returns the counts of
    /// equal, known and unexpected steps.
    fn counts(reason: Option<&str>, found: &str) -> (usize, usize, usize) {
        let scenarios = scenario::all();
        let scenario = scenarios.first().expect("a scenario");
        let step = &scenario.steps.first().expect("a step").id;
        let row = |reason: &str| format!("{}\t{step}\t{reason}\n", scenario.header.name);
        let known = Known::parse(&reason.map(row).unwrap_or_default());
        let difference = Difference {
            path: "body".to_owned(),
            expected: "1".to_owned(),
            found: found.to_owned(),
        };
        let differences = Some(if found == "1" {
            Vec::new()
        } else {
            vec![difference]
        });
        let result = StepResult {
            id: step.clone(),
            title: step.clone(),
            differences,
        };
        let report = judge(scenario, vec![result], &known);
        (report.equal, report.known_count(), report.unexpected)
    }

    #[test]
    fn a_difference_must_be_listed_and_a_listed_step_must_differ() {
        assert_eq!(counts(None, "1"), (1, 0, 0));
        assert_eq!(counts(Some("why"), "2"), (0, 1, 0));
        assert_eq!(counts(None, "2"), (0, 0, 1));
        assert_eq!(counts(Some("why"), "1"), (0, 0, 1));
    }

    #[test]
    fn a_row_for_a_step_that_does_not_exist_fails() {
        let mut report = Report::default();
        check_rows(
            &Known::parse("nowhere-01\tnowhere-01-001\twhy\ncrud-cr-01\tnope\twhy\n"),
            &scenario::all(),
            &mut report,
        );
        assert_eq!(report.unexpected, 2);
    }

    #[test]
    fn reads_every_file_of_the_index() {
        let scenarios = scenario::all();
        assert_eq!(scenarios.len(), 66);
        let steps: usize = scenarios.iter().map(|scenario| scenario.steps.len()).sum();
        assert_eq!(steps, 1724);
    }
}
