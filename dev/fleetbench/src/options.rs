//! What is measured, in the words of the command line.
//!
//! Decides defaults and how the command line of the measured process is put together.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;

use crate::report::Report;

/// Roll out template add-ons to a whole fleet and measure the process that manages them.
///
/// Phases: all add-ons exist, all works exist, all completed, all works carry a changed configuration, all completed, idle,
/// restart. The process talks to the hub through a counting proxy.
#[derive(Clone, Debug, Parser)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
#[command(name = "fleetbench", version, max_term_width = 100)]
pub struct Options {
    /// Start a hub in this process, with simulated clusters.
    #[arg(long)]
    pub dev: bool,
    /// Kubeconfig of an existing hub (default: $KUBECONFIG).
    #[arg(long, value_name = "FILE", conflicts_with = "dev")]
    pub kubeconfig: Option<PathBuf>,
    /// Simulate clusters on an existing hub. Without this flag its own clusters are used.
    #[arg(long, conflicts_with = "dev")]
    pub simulate: bool,
    /// Number of clusters.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub clusters: usize,
    /// Number of add-ons on each cluster.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub add_ons: u16,
    /// Number of controllers that share the add-ons: each is a process that sees every Nth add-on.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=16))]
    pub shares: u16,
    /// Command line of the process to measure; `{kubeconfig}`, `{certificate}` and `{key}` are replaced. `none`: it runs elsewhere.
    ///
    /// Default: `tidegate serve` from the folder of this program.
    #[arg(long, value_name = "COMMAND")]
    pub manager: Option<String>,
    /// The program that prints the CRDs for a hub of our own (`<program> crds`). Default: `tidegate` from the folder of this program.
    #[arg(long, value_name = "PROGRAM")]
    pub program: Option<PathBuf>,
    /// Seconds to observe the idle process.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub idle: u64,
    /// Timeout of a phase in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub timeout: u64,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

impl Options {
    /// Returns the measurement of this many clusters on a hub of our own, with the given build of the program.
    pub fn dev(clusters: usize, program: &Path) -> Self {
        Self {
            dev: true,
            kubeconfig: None,
            simulate: false,
            clusters,
            add_ons: 1,
            shares: 1,
            manager: None,
            program: Some(program.to_owned()),
            idle: 3,
            timeout: 120,
            json: false,
        }
    }

    /// Returns the report as it was asked for.
    pub fn render(&self, report: &Report) -> String {
        if self.json { report.json() } else { report.table() }
    }

    /// Returns how long a phase may take.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    /// Returns the hub's kubeconfig, if one was named.
    pub(crate) fn named_hub(&self) -> Option<PathBuf> {
        let from_environment = || std::env::var_os("KUBECONFIG").map(PathBuf::from);
        self.kubeconfig.clone().or_else(from_environment)
    }

    /// Returns the program whose definitions a hub of our own serves.
    pub(crate) fn program(&self) -> PathBuf {
        self.program.clone().unwrap_or_else(|| {
            let here = std::env::current_exe().unwrap_or_default();
            here.with_file_name("tidegate")
        })
    }

    /// Returns the words of the command to measure, or `None` when it runs elsewhere.
    pub(crate) fn command(&self, kubeconfig: &Path, certificate: &Path, key: &Path) -> Option<Vec<String>> {
        let fill = |word: &str| {
            word.replace("{kubeconfig}", &kubeconfig.to_string_lossy())
                .replace("{certificate}", &certificate.to_string_lossy())
                .replace("{key}", &key.to_string_lossy())
        };
        match self.manager.as_deref() {
            Some("none") => None,
            Some(command) => Some(command.split_whitespace().map(fill).collect()),
            None => {
                let rest = if self.shares > 1 {
                    "serve --only controllers --kubeconfig {kubeconfig}"
                } else {
                    "serve --bind 127.0.0.1:0 --linger 0 --kubeconfig {kubeconfig} --certificate {certificate} --key {key}"
                };
                let program = self.program().to_string_lossy().into_owned();
                Some(
                    std::iter::once(program)
                        .chain(rest.split_whitespace().map(fill))
                        .collect(),
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_gets_its_files() {
        let mut options = Options::dev(1, Path::new("/bin/x"));
        let command = |options: &Options| options.command(Path::new("k"), Path::new("c"), Path::new("y"));
        let own = command(&options).expect("a command");
        assert_eq!(own.first().map(String::as_str), Some("/bin/x"));
        assert!(
            own.join(" ").ends_with("--kubeconfig k --certificate c --key y"),
            "{own:?}"
        );
        options.manager = Some("other --config={kubeconfig}".to_owned());
        assert_eq!(command(&options).expect("a command"), ["other", "--config=k"]);
        options.manager = Some("none".to_owned());
        assert_eq!(command(&options), None);
    }
}
