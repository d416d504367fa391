//! What may be asked of `tidegate policy`.
//!
//! Decides only how words become values.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::Output;
use crate::cli::format::{DocumentFormat, FormatParser};
use kubernetes::json_path::Template;

/// Test, lint, benchmark and export policies.
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
    /// Run the cases of PolicyTest files. Exit status: 0 all as expected, 1 differences, 2 invalid input, 3 a policy does not
    /// compile.
    Test(TestArgs),
    /// Create a policy from a template, with a test. Never overwrites a file.
    New(NewArgs),
    /// Report errors and probable mistakes in policies. Exit status: 0 no findings, 1 findings, 2 invalid input, 3 a policy
    /// does not compile.
    Lint(LintArgs),
    /// Measure the evaluation time of policies for one object.
    Bench(BenchArgs),
    /// Convert policies to ValidatingAdmissionPolicies (YAML). Exit status: 0 all converted, 1 some cannot be converted, 2
    /// invalid input, 3 a policy does not compile.
    Export(ExportArgs),
}

/// Which tests to run.
#[derive(Args, Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct TestArgs {
    /// PolicyTest files, or folders to search for them.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Accept validations without a case that they accept or a case that they reject and, with `--mutate`, mistakes that no case detects.
    #[arg(long)]
    pub allow_uncovered: bool,
    /// Mutation test: run the cases with small mistakes in the policies, and report the mistakes that no case detects.
    #[arg(long)]
    pub mutate: bool,
    /// Output format of the report, or `jsonpath=TEMPLATE` as in kubectl.
    #[arg(long, short, value_name = "FORMAT", default_value = "text", value_parser = FormatParser::<TestOutput>::new())]
    pub output: TestOutput,
    /// Run the cases again whenever one of their files changes, until interrupted.
    #[arg(long)]
    pub watch: bool,
}

/// Format of a test report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TestOutput {
    /// One line per case, and the differences.
    Text,
    /// One JSON object.
    Json,
    /// The same as YAML.
    Yaml,
    /// JUnit XML for CI systems: a suite per file, a test case per case.
    Junit,
    /// What a template selects from the document.
    #[value(skip)]
    JsonPath(&'static Template),
}

impl DocumentFormat for TestOutput {
    fn json_path(template: &'static Template) -> Self {
        Self::JsonPath(template)
    }
}

/// What to lint.
#[derive(Args, Clone, Debug)]
pub struct LintArgs {
    /// Files or folders of policies.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Report: table, json, yaml, sarif, junit or github; `=FILE` writes the report to that file. Or `jsonpath=TEMPLATE` as in
    /// kubectl. Repeatable.
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FORMAT[=FILE]",
        default_value = "table"
    )]
    pub outputs: Vec<Output>,
}

/// What to create.
#[derive(Args, Clone, Debug)]
pub struct NewArgs {
    /// Name of the policy; the files are NAME.yaml and NAME.test.yaml.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Output folder; created if it does not exist.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// Kind of the objects that the policy validates, such as ManagedClusterAddOn.
    #[arg(long, value_name = "KIND", default_value = "ManagedClusterAddOn")]
    pub kind: String,
}

/// What to measure.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// Files or folders of policies.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Object (YAML) to evaluate the policies for.
    #[arg(long, value_name = "FILE")]
    pub object: PathBuf,
    /// Objects of the hub (YAML file or folder) for policies that look up other objects.
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
    /// Export as objects of admissionregistration.k8s.io/v1; required, and the only format.
    #[arg(long, required = true)]
    pub native: bool,
}
