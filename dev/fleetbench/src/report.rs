//! What was measured, as a table and as JSON.
//!
//! Decides only how figures are shown, and what counts as the price of an installation.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::counts::{Call, Counts};

/// One phase.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Its name.
    pub name: &'static str,
    /// Seconds since the user's write that began it.
    pub seconds: f64,
    /// Processor seconds of all measured processes during it.
    pub cpu_seconds: f64,
    /// Most resident memory so far of the largest measured process, in KiB.
    pub peak_kib: u64,
    /// Resident memory of that process at the end of the phase without pages of files, in KiB.
    pub private_kib: u64,
    /// Requests of the measured process during it.
    pub requests: Counts,
}

/// A whole measurement.
#[derive(Clone, Debug)]
pub struct Report {
    /// How many clusters there were.
    pub clusters: usize,
    /// How many add-ons each cluster got.
    pub addons: usize,
    /// How many processes shared the add-ons.
    pub shares: usize,
    /// The command line that was measured, absent when the process ran elsewhere.
    pub command: Option<String>,
    /// How long after the change of the configuration the first write of a work was sent.
    pub first_write: Option<Duration>,
    /// Most resident memory of this process, in KiB: with `--dev`, the hub and all simulated agents.
    pub own_peak_kib: u64,
    /// The phases in their order.
    pub phases: Vec<Phase>,
}

/// Phases that belong to the installation.
const INSTALL: [&str; 4] = ["add-ons exist", "works exist", "completed", "settled"];
/// Phases that belong to the change of the configuration.
const CHANGE: [&str; 3] = ["works carry the change", "completed again", "settled again"];

impl Report {
    /// Returns a phase by its name.
    pub fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// Returns the requests of the installation, from the user's write until nothing more was asked.
    pub fn install_requests(&self) -> Counts {
        self.sum(&INSTALL)
    }

    /// Returns the requests that the change of the configuration cost.
    pub fn change_requests(&self) -> Counts {
        self.sum(&CHANGE)
    }

    fn sum(&self, names: &[&str]) -> Counts {
        let phases = self.phases.iter().filter(|phase| names.contains(&phase.name));
        let mut sum = Counts::new();
        for (call, count) in phases.flat_map(|phase| &phase.requests) {
            let known = sum.entry(call.clone()).or_default();
            *known = known.saturating_add(*count);
        }
        sum
    }

    /// Returns the report as text for people.
    pub fn table(&self) -> String {
        let mut text = format!("{} clusters, add-ons on each: {}", self.clusters, self.addons);
        if let Some(command) = &self.command {
            text.push_str(", measured: ");
            text.push_str(command);
        }
        text.push_str("\n\nphase                     seconds  CPU s  peak MiB  private MiB  requests\n");
        for phase in &self.phases {
            let requests: u64 = phase.requests.values().sum();
            let (peak, private) = (phase.peak_kib / 1024, phase.private_kib / 1024);
            // Writing into a string cannot fail.
            let _written = writeln!(
                text,
                "{:<24} {:>8.2} {:>6.2} {:>9} {:>12} {:>9}",
                phase.name, phase.seconds, phase.cpu_seconds, peak, private, requests
            )
            .is_ok();
        }
        if let Some(first) = self.first_write {
            let millis = first.as_millis();
            let _written = writeln!(text, "\nfirst write of a work after the change: {millis} ms").is_ok();
        }
        let own = self.own_peak_kib / 1024;
        let _written = writeln!(
            text,
            "peak memory of this process (with its hub and agents): {own} MiB"
        )
        .is_ok();
        for (title, counts) in [
            ("installation", self.install_requests()),
            ("change", self.change_requests()),
        ] {
            text.push_str(&self.counted(title, &counts));
        }
        text
    }

    fn counted(&self, title: &str, counts: &Counts) -> String {
        let mut text = format!(
            "\nrequests of the {title}: {:.2} for each add-on of a cluster\n",
            self.each(counts)
        );
        for (Call { verb, resource }, count) in counts {
            let _written = writeln!(text, "  {count:>8}  {verb} {resource}").is_ok();
        }
        text
    }

    /// Returns how many of these requests come to one add-on of a cluster.
    pub fn each(&self, counts: &Counts) -> f64 {
        let all = u32::try_from(counts.values().sum::<u64>()).unwrap_or(u32::MAX);
        let places = self.clusters.saturating_mul(self.addons).max(1);
        f64::from(all) / f64::from(u32::try_from(places).unwrap_or(u32::MAX))
    }

    /// Returns the report as JSON for programs.
    pub fn json(&self) -> String {
        let phases: Vec<Value> = self
            .phases
            .iter()
            .map(|phase| {
                json!({"name": phase.name, "seconds": phase.seconds, "cpuSeconds": phase.cpu_seconds,
                    "peakKiB": phase.peak_kib, "privateKiB": phase.private_kib, "requests": named(&phase.requests)})
            })
            .collect();
        let (install, change) = (self.install_requests(), self.change_requests());
        let report = json!({
            "clusters": self.clusters, "addOns": self.addons, "shares": self.shares, "ownPeakKiB": self.own_peak_kib,
            "firstWriteMilliseconds": self.first_write.map(|first| first.as_secs_f64() * 1000.0), "command": self.command, "phases": phases,
            "install": {"requests": named(&install), "requestsPerAddOn": self.each(&install)},
            "change": {"requests": named(&change), "requestsPerAddOn": self.each(&change)},
        });
        format!("{report:#}\n")
    }
}

fn named(counts: &Counts) -> Value {
    let each = counts
        .iter()
        .map(|(call, count)| (format!("{} {}", call.verb, call.resource), json!(count)));
    Value::Object(each.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_is_summed_up_over_its_phases() {
        let call = Call {
            verb: "patch",
            resource: "things/status".to_owned(),
        };
        let phase = |name| Phase {
            name,
            seconds: 1.0,
            cpu_seconds: 0.5,
            peak_kib: 2048,
            private_kib: 1024,
            requests: Counts::from([(call.clone(), 3)]),
        };
        let report = Report {
            clusters: 2,
            addons: 2,
            shares: 1,
            command: None,
            first_write: None,
            own_peak_kib: 4096,
            phases: vec![
                phase("start"),
                phase("works exist"),
                phase("settled"),
                phase("idle"),
            ],
        };
        assert_eq!(report.install_requests().get(&call), Some(&6));
        assert!((report.each(&report.install_requests()) - 1.5).abs() < f64::EPSILON);
        assert!(
            report.table().contains("patch things/status"),
            "{}",
            report.table()
        );
        assert!(
            report.json().contains("\"requestsPerAddOn\": 1.5"),
            "{}",
            report.json()
        );
    }
}
