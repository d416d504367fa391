//! The figures of a load, as a table and as JSON.
//!
//! Decides only how they are shown.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

/// What one rate gave.
#[derive(Clone, Debug)]
pub struct Load {
    /// Questions a second that were due.
    pub rate: u32,
    /// Answers.
    pub answers: usize,
    /// Answers that were not as they have to be.
    pub wrong: u64,
    /// Questions without an answer.
    pub lost: u64,
    /// What was wrong or lost first.
    pub first_trouble: Option<String>,
    /// From due to answered: half, 90 %, 99 %, 99.9 % and all of the answers, as the caller sees it.
    pub times: [Duration; 5],
    /// The gate's own time, without TLS and reading, as bounds of its histogram in nanoseconds: half and 99 %.
    pub own: [Option<u64>; 2],
    /// Processor time of the gate for one question, in microseconds; TLS and HTTP included.
    pub cpu_micros: f64,
    /// Most resident memory of the process so far, in KiB.
    pub peak_kib: u64,
}

/// A whole measurement.
#[derive(Clone, Debug)]
pub struct GateReport {
    /// How many clusters there were.
    pub clusters: usize,
    /// The command line that was measured.
    pub command: String,
    /// How many connections.
    pub connections: u16,
    /// The rates in their order.
    pub loads: Vec<Load>,
}

impl GateReport {
    /// Returns the report as text for people.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{} clusters, {} connections, measured: {}\n\n",
            self.clusters, self.connections, self.command
        );
        text.push_str("due/s  answers wrong lost |  p50 us  p90 us  p99 us p99.9 us   max us | own p50 < us  p99 < us | CPU us each  peak MiB\n");
        for load in &self.loads {
            let [half, most, nearly, almost, all] = load.times.map(|time| time.as_micros());
            let [own_half, own_nearly] = load.own.map(micros);
            // Writing into a string cannot fail.
            let _written = writeln!(
                text,
                "{:>5} {:>8} {:>5} {:>4} | {half:>7} {most:>7} {nearly:>7} {almost:>8} {all:>8} | {own_half:>12} {own_nearly:>9} | {:>11.0} {:>9}",
                load.rate, load.answers, load.wrong, load.lost, load.cpu_micros, load.peak_kib / 1024
            )
            .is_ok();
        }
        for load in &self.loads {
            if let Some(reason) = &load.first_trouble {
                let _written = writeln!(text, "{}/s: first trouble: {reason}", load.rate).is_ok();
            }
        }
        text
    }

    /// Returns the report as JSON for programs.
    pub fn json(&self) -> String {
        let loads: Vec<Value> = self
            .loads
            .iter()
            .map(|load| {
                let [half, most, nearly, almost, all] = load.times.map(|time| time.as_secs_f64() * 1e6);
                json!({"rate": load.rate, "answers": load.answers, "wrong": load.wrong, "lost": load.lost,
                "firstTrouble": load.first_trouble,
                "micros": {"p50": half, "p90": most, "p99": nearly, "p999": almost, "max": all},
                "ownNanosBelow": {"p50": load.own[0], "p99": load.own[1]},
                "cpuMicros": load.cpu_micros, "peakKib": load.peak_kib})
            })
            .collect();
        let value = json!({"clusters": self.clusters, "command": self.command, "connections": self.connections, "loads": loads});
        format!("{value:#}\n")
    }
}

fn micros(nanos: Option<u64>) -> String {
    nanos.map_or_else(|| "-".to_owned(), |nanos| (nanos / 1000).to_string())
}
