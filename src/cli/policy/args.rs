//! What may be asked of `tidegate policy`.
//!
//! Decides only how words become values.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::Output;

/// Test, look over, measure and export policies.
///
/// A policy is an AddOnPolicy, or a ValidatingAdmissionPolicy or MutatingAdmissionPolicy of Kubernetes with its bindings.
#[derive(Args, Clone, Debug)]
pub struct PolicyArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PolicyCommand,
}

/// The subcommands of `tidegate policy`.
#[derive(Clone, Debug, Subcommand)]
pub enum PolicyCommand {
    /// Run the cases of PolicyTest files. Exit status: 0 all as expected, 1 not, 2 bad input, 3 a policy does not compile.
    Test(TestArgs),
    /// Begin a policy: a file that compiles, and its test beside it. Never overwrites anything.
    New(NewArgs),
    /// Report errors and probable mistakes in policies. Exit status: 0 nothing, 1 something, 2 bad input, 3 does not compile.
    Lint(LintArgs),
    /// Measure how long policies take on one object.
    Bench(BenchArgs),
    /// Convert policies to ValidatingAdmissionPolicies (YAML). Exit status: 0 all, 1 some have no such form, 2 bad input, 3
    /// does not
    /// compile.
    Export(ExportArgs),
}

/// Which tests to run.
#[derive(Args, Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct TestArgs {
    /// PolicyTest files, or folders that are searched for them.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Accept validations that no case has seen both hold and break, and mistakes that no case notices.
    #[arg(long)]
    pub allow_uncovered: bool,
    /// Mutation test: run the cases with small mistakes in the policies, and report the mistakes that no case notices.
    #[arg(long)]
    pub mutate: bool,
    /// Output format of the report.
    #[arg(long, short, value_enum, value_name = "FORM", default_value_t = TestOutput::Text)]
    pub output: TestOutput,
    /// Run the cases again whenever one of their files changes, until interrupted.
    #[arg(long)]
    pub watch: bool,
}

/// Form of a test report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TestOutput {
    /// One line per case, and the differences.
    Text,
    /// One JSON object.
    Json,
    /// JUnit XML for CI systems: a suite per file, a test case per case.
    Junit,
}

/// What to look over.
#[derive(Args, Clone, Debug)]
pub struct LintArgs {
    /// Files or folders of policies.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Report: table, json, sarif, junit or github; `=FILE` writes it there. Repeatable.
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FORMAT[=FILE]",
        default_value = "table"
    )]
    pub outputs: Vec<Output>,
}

/// What to begin.
#[derive(Args, Clone, Debug)]
pub struct NewArgs {
    /// Name of the policy; its files are NAME.yaml and NAME.test.yaml.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The folder that they are written into; it is made if it is not there.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Kind of the objects that the policy is about, such as ManagedClusterAddOn.
    #[arg(long, value_name = "KIND", default_value = "ManagedClusterAddOn")]
    pub kind: String,
}

/// What to measure.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// Files or folders of policies.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The object (YAML) to evaluate the policies for.
    #[arg(long, value_name = "FILE")]
    pub object: PathBuf,
    /// Objects of the hub (YAML file or folder) that policies may look up.
    #[arg(long, value_name = "PATH")]
    pub facts: Option<PathBuf>,
    /// Number of evaluations.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub rounds: u32,
}

/// What to export.
#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// Files or folders of policies.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// As objects of admissionregistration.k8s.io/v1, which is the only form there is.
    #[arg(long, required = true)]
    pub native: bool,
}
