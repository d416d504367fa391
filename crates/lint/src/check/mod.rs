//! What the gate would say about files.
//!
//! Decides which documents are judged, what is known when they are, and where in the file each finding stands. Whether an
//! object is right is asked of `admission::decide`, as the webhook asks it. Reads no file: texts come in, a report goes out.

mod gather;
mod ignores;
mod judge;
mod kinds;
mod leftovers;
mod lint;
mod metadata;
mod policies;
mod policy_tests;
mod run;
mod works;

pub use judge::{Judgement, judge};
pub use lint::{Lint, lint};
pub use policy_tests::{
    CaseResult, Extent, Gaps, Mutation, ObjectForm, PolicyFiles, PolicyTestReport, ReportedCase,
    ReportedMutation, TestFileError, TestFiles, TestReport, UncoveredValidation, facts, named_files,
    policy_faults, run_tests,
};
pub use run::{Background, Base, File, MissingFacts, Outcome, Threshold, check, outcome};
