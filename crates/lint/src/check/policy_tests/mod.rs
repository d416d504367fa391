//! Tests of policies: cases, what they cover, and mistakes that no case notices.
//!
//! `suite` is the form of a file, `case` runs one case, `expect` compares, `run` does all files and counts, `junit` is its report for CI
//! systems, `mutation` looks for mistakes that no case notices, `form` is the request about an object. Files are read by the caller.

mod case;
mod expect;
mod form;
mod junit;
mod mutation;
mod run;
mod suite;

use std::path::{Path, PathBuf};

use admission::policy::{Loaded, PolicySet, Report, Source};
use insight::offline::Hub;
use serde_json::Value;
use store::{Facts, Kind};

pub use form::ObjectForm;
pub use mutation::Mutation;
pub use run::{
    CaseResult, Gaps, PolicyTestReport, ReportedCase, ReportedMutation, TestReport, UncoveredValidation,
    named_files, run_tests,
};

/// Reads the files of tests.
pub trait TestFiles {
    /// Why a file cannot be used.
    type Error: From<TestFileError>;

    /// Returns the files below files and folders, sorted.
    fn below(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Self::Error>;

    /// Returns the documents of a file.
    fn documents(&self, path: &Path) -> Result<Vec<Value>, Self::Error>;

    /// Returns the policies below files and folders, and what is beside them.
    fn policies(&self, paths: &[PathBuf]) -> Result<PolicyFiles, Self::Error>;
}

/// A file that is read and cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// Policies of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyFiles {
    /// The policies and bindings.
    pub sources: Vec<Source>,
    /// Everything else: params may be among it.
    pub objects: Vec<Value>,
}

impl PolicyFiles {
    /// Compiles the policies.
    pub fn load(&self) -> Loaded {
        PolicySet::load(&self.sources, &self.objects, &PolicySet::default())
    }
}

/// Returns what is wrong with policies, with carets; nothing when all compile.
pub fn policy_faults(reports: &[Report]) -> Option<String> {
    let faults = reports
        .iter()
        .flat_map(|report| report.faults.iter().map(move |fault| (report, fault)));
    let lines: Vec<String> = faults
        .map(|(report, fault)| {
            let policy = format!("{}: {} \"{}\"", report.origin, report.kind, report.name);
            format!("{}: {fault}\n", kubernetes::field::one_line(&policy))
        })
        .collect();
    (!lines.is_empty()).then(|| lines.concat())
}

/// Whether the objects are the whole hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What is not among them does not exist.
    Whole,
    /// It is unknown whether what is not among them exists.
    Part,
}

/// Returns the facts of a hub that holds these objects.
pub fn facts(objects: &[Value], extent: Extent) -> Facts {
    let mut hub = Hub::default();
    for object in objects {
        hub.put_file(object.clone());
    }
    match extent {
        Extent::Whole => Kind::ALL.into_iter().for_each(|kind| hub.complete(kind)),
        Extent::Part => {}
    }
    hub.knowledge().known
}
