//! The report of tests as JUnit XML.
//!
//! Decides what counts as a case: those of the files, and besides every validation that no case has seen both hold and break, every
//! mistake that no case notices, and what does not compile. Never decides what is as expected.

use super::run::{Gaps, TestReport};
use crate::report::{TestCase, TestEnd, TestSuite, junit_of_tests};

pub(super) fn render(report: &TestReport, gaps: Gaps) -> String {
    let mut suites: Vec<TestSuite> = Vec::new();
    for case in &report.cases {
        let one = TestCase {
            name: case.name.clone(),
            end: if case.faults.is_empty() {
                TestEnd::Passed
            } else {
                TestEnd::Failed("unexpected", case.faults.clone())
            },
        };
        match suites.last_mut() {
            Some(suite) if suite.name == case.suite => suite.cases.push(one),
            Some(_) | None => suites.push(TestSuite {
                name: case.suite.clone(),
                cases: vec![one],
            }),
        }
    }
    let gap = |kind: &'static str, name: String| {
        let words = vec![name.clone()];
        let end = match gaps {
            Gaps::Fail => TestEnd::Failed(kind, words),
            Gaps::Told => TestEnd::Told(words),
        };
        TestCase { name, end }
    };
    let uncovered = report.uncovered.iter();
    let uncovered = uncovered.map(|(rule, word)| gap("uncovered", format!("no case causes {rule} {word}")));
    let survivors = report.mutation.iter().flat_map(|mutation| &mutation.survivors);
    let survivors = survivors.map(|survivor| gap("unnoticed", format!("no case detects {survivor}")));
    let broken = report.broken.iter().map(|words| TestCase {
        name: "the policies compile".to_owned(),
        end: TestEnd::Broken(words.lines().map(ToOwned::to_owned).collect()),
    });
    for (name, cases) in [
        ("compilation", broken.collect::<Vec<_>>()),
        ("coverage", uncovered.collect()),
        ("mistakes", survivors.collect()),
    ] {
        if !cases.is_empty() {
            let name = name.to_owned();
            suites.push(TestSuite { name, cases });
        }
    }
    junit_of_tests("tidegate policy test", &suites)
}
