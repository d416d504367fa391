//! The process itself: time of the processors, memory, descriptors, threads and its start,
//! under the names that every Prometheus client has.
//!
//! Decides names. Read at every scrape, from what Linux tells in `/proc`; what cannot be read has no line.
//! Never reads a file of a user.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use rustix::time::{ClockId, clock_gettime};

use super::logs::lines_left_out;

/// The process, since it began to count.
#[derive(Debug)]
pub(super) struct Process {
    started: f64,
}

impl Process {
    /// Notes that the process begins.
    pub(super) fn begins() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            started: since.unwrap_or_default().as_secs_f64(),
        }
    }
}

/// What the kernel tells of the process.
#[derive(Debug, Default, PartialEq, Eq)]
struct Status {
    resident: Option<i64>,
    reserved: Option<i64>,
    threads: Option<i64>,
}

impl Status {
    /// Reads lines such as `VmRSS: 12345 kB`.
    fn parse(text: &str) -> Self {
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<i64>().ok()
        };
        let bytes = |name: &str| number(name).map(|kilobytes| kilobytes.saturating_mul(1024));
        Self {
            resident: bytes("VmRSS:"),
            reserved: bytes("VmSize:"),
            threads: number("Threads:"),
        }
    }
}

/// Returns how many descriptors may be open, from lines such as `Max open files  1024  4096  files`.
fn most_descriptors(limits: &str) -> Option<i64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns how many descriptors are open, without the one that is needed to look.
fn open_descriptors() -> Option<i64> {
    let open = std::fs::read_dir("/proc/self/fd").ok()?.count();
    i64::try_from(open.saturating_sub(1)).ok()
}

fn told(path: &'static str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Returns the seconds that processors have worked for this process.
fn worked() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    #[expect(
        clippy::cast_precision_loss,
        reason = "seconds of a process fit for millions of years"
    )]
    let (seconds, rest) = (time.tv_sec as f64, time.tv_nsec as f64);
    seconds + rest / 1e9
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut tell = |name: &str, help: &str, unit: Option<&Unit>, value: Option<&dyn EncodeMetric>| {
            let Some(value) = value else { return Ok(()) };
            let metric = encoder.encode_descriptor(name, help, unit, value.metric_type())?;
            value.encode(metric)
        };
        let seconds = Some(&Unit::Seconds);
        let worked = ConstCounter::new(worked());
        let help = "CPU time of the process";
        tell("process_cpu", help, seconds, Some(&worked))?;
        let left_out = ConstCounter::new(lines_left_out());
        let help = "Log lines that were dropped because earlier ones could not be written";
        tell("tidegate_log_lines_left_out", help, None, Some(&left_out))?;
        let started = ConstGauge::new(self.started);
        tell(
            "process_start_time",
            "Start time of the process, in seconds since 1970",
            seconds,
            Some(&started),
        )?;
        let status = Status::parse(&told("/proc/self/status"));
        let numbers = [
            (
                "process_resident_memory",
                "Resident memory",
                Some(&Unit::Bytes),
                status.resident,
            ),
            (
                "process_virtual_memory",
                "Virtual memory",
                Some(&Unit::Bytes),
                status.reserved,
            ),
            ("process_threads", "Threads", None, status.threads),
            (
                "process_open_fds",
                "Open file descriptors",
                None,
                open_descriptors(),
            ),
            (
                "process_max_fds",
                "Maximum number of open file descriptors",
                None,
                most_descriptors(&told("/proc/self/limits")),
            ),
        ];
        for (name, help, unit, number) in numbers {
            let number = number.map(ConstGauge::new);
            tell(
                name,
                help,
                unit,
                number.as_ref().map(|number| number as &dyn EncodeMetric),
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    #[test]
    fn the_kernels_words_are_read() {
        let status = Status::parse("Name:\tx\nVmSize:\t  200 kB\nVmRSS:\t  100 kB\nThreads:\t7\n");
        let expected = Status {
            resident: Some(102_400),
            reserved: Some(204_800),
            threads: Some(7),
        };
        assert_eq!(status, expected);
        assert_eq!(Status::parse("VmRSS: many"), Status::default());
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 4096  files\n";
        assert_eq!(most_descriptors(limits), Some(1024));
        assert_eq!(
            most_descriptors("Max open files  unlimited  unlimited  files"),
            None
        );
    }

    #[test]
    fn the_process_tells_of_itself_under_the_usual_names() {
        let mut all = Registry::default();
        all.register_collector(Box::new(Process::begins()));
        let mut text = String::new();
        encode(&mut text, &all).expect("text");
        for name in [
            "process_cpu_seconds_total",
            "process_start_time_seconds",
            "process_resident_memory_bytes",
            "process_virtual_memory_bytes",
            "process_threads",
            "process_open_fds",
            "process_max_fds",
        ] {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(&format!("{name} ")));
            let value: f64 = line.and_then(|value| value.parse().ok()).unwrap_or_default();
            assert!(value > 0.0, "{name} in\n{text}");
        }
    }
}
