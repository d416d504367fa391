//! One program that was started here.
//!
//! Decides that it ends with its owner, by its own id, whatever else happens.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::{CommandLine, TestHubError};

/// How much of a log is quoted.
const LAST_LINES: usize = 10;

/// A running program.
#[derive(Debug)]
pub(super) struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program; what it says goes into a file.
    pub(super) fn start(line: &CommandLine, log: PathBuf) -> Result<Self, TestHubError> {
        let name = line.program.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let failed = |source| TestHubError::System {
            what: format!("start {name}"),
            source,
        };
        let out = File::create(&log).map_err(failed)?;
        let errors = out.try_clone().map_err(failed)?;
        let child = Command::new(&line.program)
            .args(&line.arguments)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(errors)
            .spawn()
            .map_err(failed)?;
        Ok(Self { name, child, log })
    }

    /// Tells that the program has ended, if it has.
    pub(super) fn check(&mut self) -> Result<(), TestHubError> {
        match self.child.try_wait() {
            Ok(Some(status)) => Err(TestHubError::Ended {
                program: self.name.clone(),
                status: status.to_string(),
                words: self.last_words(),
            }),
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// Returns the end of what the program said.
    pub(super) fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let start = lines.len().saturating_sub(LAST_LINES);
        lines.get(start..).unwrap_or_default().join("\n")
    }

    #[cfg(test)]
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended by itself cannot be ended again; it is waited for all the same.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(|_| ()).unwrap_or_default();
    }
}
