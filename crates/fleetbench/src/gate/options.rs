//! What is measured, in the words of the command line.
//!
//! Decides defaults, and the command line of the measured process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;

use super::report::GateReport;
use crate::files::Files;
use crate::options::Options;

/// Ask a gate at a fixed rate and measure how long it takes.
///
/// Starts a hub with simulated clusters and one add-on, `tidegate serve` beside it, and asks both of its doors over TLS 1.3 on
/// connections that stay open. The time of an answer counts from the moment when the question was due, whether or not a
/// connection was free: a gate that falls behind is not spared.
#[derive(Clone, Debug, Parser)]
#[command(name = "gateload", version, max_term_width = 100)]
pub struct GateLoad {
    /// Questions a second; may be given several times.
    #[arg(long, value_name = "N", default_values_t = [1000, 5000], value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rate: Vec<u32>,
    /// Seconds that each rate is kept.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub seconds: u32,
    /// Connections.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub connections: u16,
    /// How many clusters the fleet has.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub clusters: usize,
    /// How many policies of users the gate decides by.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub policies: u16,
    /// The program to measure; `tidegate` from beside this program when absent.
    #[arg(long, value_name = "PROGRAM")]
    pub program: Option<PathBuf>,
    /// How many seconds the fleet may take to come to rest.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub timeout: u64,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

impl GateLoad {
    /// Returns the report as it was asked for.
    pub fn render(&self, report: &GateReport) -> String {
        if self.json { report.json() } else { report.table() }
    }

    /// Returns how long the fleet may take.
    pub(super) fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    /// Returns the hub that the gate guards.
    pub(super) fn fleet(&self) -> Options {
        let mut fleet = Options::dev(self.clusters, Path::new("tidegate"));
        fleet.program.clone_from(&self.program);
        fleet
    }

    /// Returns the words of the command to measure.
    pub(super) fn command(
        &self,
        files: &Files,
        policies: &Path,
        [gate, metrics]: [SocketAddr; 2],
    ) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut words = vec![
            text(&self.fleet().program()),
            "serve".to_owned(),
            "--linger=0".to_owned(),
        ];
        words.extend([format!("--bind={gate}"), format!("--metrics={metrics}")]);
        words.extend([
            format!("--kubeconfig={}", text(&files.kubeconfig)),
            format!("--certificate={}", text(&files.certificate)),
            format!("--key={}", text(&files.key)),
        ]);
        words.push(format!("--policies={}", text(policies)));
        words
    }
}
