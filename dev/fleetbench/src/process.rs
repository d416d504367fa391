//! The process that is measured: started, looked at through `/proc`, asked to end, and killed only if it does not.
//!
//! Never touches a process that it did not start.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::BenchError;

/// Ticks of a second in `/proc/<pid>/stat`; a constant of Linux' interface to programs.
const TICKS: f64 = 100.0;
/// How long the process may take to end.
const FAREWELL: Duration = Duration::from_secs(15);

/// A process of ours; killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    command: Vec<String>,
}

/// What a process has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Seconds of processor time.
    pub(crate) cpu: f64,
    /// Most memory that was resident at a time, in KiB (`VmHWM`).
    pub(crate) peak: u64,
    /// Resident memory of its own, without pages of files such as the program, in KiB (`RssAnon`).
    pub(crate) private: u64,
}

impl Process {
    /// Starts a command line with the kubeconfig in its environment.
    pub(crate) fn start(command: &[String], kubeconfig: &Path) -> Result<Self, BenchError> {
        let failed = |reason: String| BenchError::Process {
            command: command.join(" "),
            reason,
        };
        let (program, args) = command
            .split_first()
            .ok_or_else(|| failed("it is empty".to_owned()))?;
        let child = Command::new(program)
            .args(args)
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            child,
            command: command.to_vec(),
        })
    }

    /// Returns what the process has used; an error when it has ended.
    pub(crate) fn usage(&mut self) -> Result<Usage, BenchError> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Err(BenchError::Process {
                command: self.command.join(" "),
                reason: format!("it has ended: {status}"),
            });
        }
        let folder = format!("/proc/{}", self.child.id());
        let read = |file: &str| std::fs::read_to_string(format!("{folder}/{file}")).unwrap_or_default();
        let status = read("status");
        Ok(Usage {
            cpu: cpu(&read("stat")),
            peak: kib(&status, "VmHWM:"),
            private: kib(&status, "RssAnon:"),
        })
    }

    /// Asks the process to end, and waits.
    pub(crate) fn end(&mut self) {
        let asked = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status();
        let begun = Instant::now();
        while asked.is_ok() && begun.elapsed() < FAREWELL {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.child.kill().unwrap_or_default();
        self.child.wait().map(|_| ()).unwrap_or_default();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.child.kill().unwrap_or_default();
            self.child.wait().map(|_| ()).unwrap_or_default();
        }
    }
}

/// User and system time: the 14th and 15th field. The second one is a name that may hold anything, in parentheses.
fn cpu(stat: &str) -> f64 {
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = rest.split_whitespace().skip(11).take(2);
    ticks.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS
}

/// Returns the most resident memory of this process so far, in KiB.
pub(crate) fn own_peak() -> u64 {
    kib(
        &std::fs::read_to_string("/proc/self/status").unwrap_or_default(),
        "VmHWM:",
    )
}

fn kib(status: &str, field: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_proc_are_read() {
        let stat = "42 (a ) b) S 1 42 42 0 -1 4194560 900 0 0 0 150 50 0 0 20 0 8 0 1 1 1";
        assert!((cpu(stat) - 2.0).abs() < f64::EPSILON, "{}", cpu(stat));
        assert_eq!(kib("Name:\tx\nVmHWM:\t   1234 kB\n", "VmHWM:"), 1234);
    }

    #[test]
    fn a_process_that_ends_by_itself_is_reported() {
        let mut ended = Process::start(&["true".to_owned()], Path::new("x")).expect("it starts");
        let begun = Instant::now();
        while ended.usage().is_ok() {
            assert!(begun.elapsed() < FAREWELL, "it never ends");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
