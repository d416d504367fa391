//! All cases of all files, and what they cover.
//!
//! Decides what counts as covered: every validation of the policies was seen to hold and to break.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use api::output::OutputDocument;
use schemars::JsonSchema;
use serde::Serialize;

use super::case;
use super::junit;
use super::mutation::Mutation;
use super::suite::{Suite, wrong};
use super::{TestFiles, policy_faults};
use admission::Rulebook;
use admission::policy::Saw;
use kubernetes::field::one_line;

/// What became of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseResult {
    /// File of the case.
    pub suite: String,
    /// Its name.
    pub name: String,
    /// What was not as expected.
    pub faults: Vec<String>,
}

/// What became of all cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestReport {
    /// The cases, in the order of files.
    pub cases: Vec<CaseResult>,
    /// Validations that were not seen both to hold and to break: rule, and what was missing.
    pub uncovered: Vec<(String, &'static str)>,
    /// Policies that do not compile.
    pub broken: Option<String>,
    /// How many validations the policies have.
    pub rules: usize,
    /// What became of mistakes in the policies, if that was asked.
    pub mutation: Option<Mutation>,
}

/// The report for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PolicyTestReport<'a> {
    /// The cases.
    pub cases: Vec<ReportedCase<'a>>,
    /// Validations that no case covers completely.
    pub uncovered: Vec<UncoveredValidation<'a>>,
    /// Number of validations.
    pub validations: usize,
    /// Changed policies, with `--mutate`; otherwise null.
    pub mutation: Option<ReportedMutation<'a>>,
    /// Why the policies do not compile, or null.
    pub broken: Option<&'a str>,
    /// Whether all cases passed.
    pub passed: bool,
}

impl OutputDocument for PolicyTestReport<'_> {
    const KIND: &'static str = "PolicyTestReport";
}

/// A case.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportedCase<'a> {
    /// File of the case.
    pub suite: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Whether it passed.
    pub passed: bool,
    /// What was not as expected.
    pub faults: &'a [String],
}

/// A validation that no case covers completely.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UncoveredValidation<'a> {
    /// The rule.
    pub rule: &'a str,
    /// What no case causes.
    pub never: &'static str,
}

/// Policies with a small mistake each, against the cases.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportedMutation<'a> {
    /// Number of mistakes.
    pub tried: usize,
    /// Mistakes that no case detects.
    pub survivors: &'a [String],
}

/// Whether gaps of the cases are failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// They are.
    Fail,
    /// They are reported, and nothing more.
    Told,
}

/// Returns the files and folders that the tests of these paths read, as far as they can be told.
pub fn named_files<F: TestFiles>(files: &F, paths: &[PathBuf]) -> Vec<PathBuf> {
    let found = files.below(paths).unwrap_or_default();
    let suites = found.iter().filter_map(|file| {
        let suite = Suite::read(files, file).ok().flatten()?;
        Some(suite.reads(file))
    });
    suites.flatten().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Runs the cases of all PolicyTest files below these paths; with `mutate` also against every mutant of the policies.
pub fn run_tests<F: TestFiles>(files: &F, paths: &[PathBuf], mutate: bool) -> Result<TestReport, F::Error> {
    let mut report = TestReport {
        mutation: mutate.then(Mutation::default),
        ..TestReport::default()
    };
    let mut seen: BTreeMap<String, BTreeSet<Saw>> = BTreeMap::new();
    let mut suites = 0_usize;
    for file in files.below(paths)? {
        let Some(suite) = Suite::read(files, &file)? else {
            continue;
        };
        suites += 1;
        let folder = files.policies(&suite.policies(&file))?;
        let loaded = folder.load();
        if let Some(words) = policy_faults(&loaded.reports) {
            report.broken.get_or_insert_default().push_str(&words);
            continue;
        }
        for rule in loaded.set.rules() {
            seen.entry(rule).or_default();
        }
        let rulebook = Rulebook {
            policies: loaded.set,
            ..Rulebook::default()
        };
        for case in &suite.cases {
            let (faults, trial) = case::run(files, case, &suite.given, &file, &rulebook)?;
            for one in trial.seen {
                seen.entry(one.rule).or_default().insert(one.saw);
            }
            report.cases.push(CaseResult {
                suite: file.display().to_string(),
                name: case.name.clone(),
                faults,
            });
        }
        if let Some(mutation) = &mut report.mutation {
            mutation.look(files, &suite, &file, &folder)?;
        }
    }
    if let (0, Some(first)) = (suites, paths.first()) {
        return Err(wrong(first, "contains no PolicyTest".to_owned()).into());
    }
    report.rules = seen.len();
    for (rule, saw) in seen {
        for (wanted, word) in [(Saw::True, "to hold"), (Saw::False, "to break")] {
            if !saw.contains(&wanted) {
                report.uncovered.push((rule.clone(), word));
            }
        }
    }
    Ok(report)
}

impl TestReport {
    /// Tells whether everything was as expected and is covered.
    pub fn passed(&self) -> bool {
        self.broken.is_none()
            && self.uncovered.is_empty()
            && self
                .mutation
                .as_ref()
                .is_none_or(|mutation| mutation.survivors.is_empty())
            && self.cases.iter().all(|case| case.faults.is_empty())
    }

    /// Returns the report for CI systems.
    pub fn junit(&self, gaps: Gaps) -> String {
        junit::render(self, gaps)
    }

    /// Returns whether a case failed, or a gap counts as a failure.
    pub fn has_failures(&self, gaps: Gaps) -> bool {
        let survivors = self
            .mutation
            .as_ref()
            .map_or(0, |mutation| mutation.survivors.len());
        let has_gaps = !self.uncovered.is_empty() || survivors > 0;
        self.cases.iter().any(|case| !case.faults.is_empty()) || (has_gaps && gaps == Gaps::Fail)
    }

    /// Returns the report for people.
    pub fn text(&self) -> String {
        let mut text = self.broken.clone().unwrap_or_default();
        let mut put = |line: String| {
            text.push_str(&one_line(&line));
            text.push('\n');
        };
        for case in &self.cases {
            let mark = if case.faults.is_empty() { "ok  " } else { "FAIL" };
            put(format!("{mark} {}: {}", case.suite, case.name));
            for fault in &case.faults {
                put(format!("       {fault}"));
            }
        }
        for (rule, word) in &self.uncovered {
            put(format!("no case causes {rule} {word}"));
        }
        for survivor in self.mutation.iter().flat_map(|mutation| &mutation.survivors) {
            put(format!("no case detects {survivor}"));
        }
        let failed = self.cases.iter().filter(|case| !case.faults.is_empty()).count();
        let uncovered: BTreeSet<&str> = self.uncovered.iter().map(|(rule, _)| rule.as_str()).collect();
        writeln!(
            text,
            "{} cases, {failed} failed; {} of {} validations covered",
            self.cases.len(),
            self.rules - uncovered.len(),
            self.rules,
        )
        .expect("writing to a string cannot fail");
        if let Some(mutation) = &self.mutation {
            let noticed = mutation.tried - mutation.survivors.len();
            let told = match mutation.tried {
                0 => {
                    "no mistake was tried: the expressions have no operator, number, key or pattern to change"
                        .to_owned()
                }
                tried => format!("{noticed} of {tried} mistakes detected"),
            };
            writeln!(text, "{told}").expect("writing to a string cannot fail");
        }
        text
    }

    /// Returns the report for programs.
    pub fn document(&self) -> PolicyTestReport<'_> {
        let cases = self.cases.iter().map(|case| ReportedCase {
            suite: &case.suite,
            name: &case.name,
            passed: case.faults.is_empty(),
            faults: &case.faults,
        });
        let uncovered = self
            .uncovered
            .iter()
            .map(|(rule, never)| UncoveredValidation { rule, never });
        PolicyTestReport {
            cases: cases.collect(),
            uncovered: uncovered.collect(),
            validations: self.rules,
            mutation: self.mutation.as_ref().map(|mutation| ReportedMutation {
                tried: mutation.tried,
                survivors: &mutation.survivors,
            }),
            broken: self.broken.as_deref(),
            passed: self.passed(),
        }
    }
}
