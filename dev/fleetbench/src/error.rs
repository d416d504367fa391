//! Why a measurement did not come to its end.

use std::path::PathBuf;

/// Why a measurement did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// No runtime.
    #[error("cannot start")]
    Runtime(#[source] std::io::Error),
    /// No hub was named.
    #[error("no hub: give --dev, --kubeconfig or KUBECONFIG")]
    NoHub,
    /// The hub did not start or does not answer.
    #[error("cannot use the hub: {0}")]
    Hub(String),
    /// A file of the run.
    #[error("cannot write {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The process that is measured.
    #[error("cannot run \"{command}\": {reason}")]
    Process {
        /// Its command line.
        command: String,
        /// What went wrong.
        reason: String,
    },
    /// An object could not be written.
    #[error("cannot write {object}")]
    Write {
        /// Kind and name.
        object: String,
        /// The hub's answer.
        #[source]
        source: Box<kube::Error>,
    },
    /// A phase was not reached in time.
    #[error("\"{phase}\" was not reached within {seconds} s: {seen}")]
    Late {
        /// The phase.
        phase: &'static str,
        /// The patience.
        seconds: u64,
        /// How far it came.
        seen: String,
    },
}

impl BenchError {
    /// Returns the error with its causes, in one line.
    pub fn whole(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(next) = cause {
            text = format!("{text}: {next}");
            cause = next.source();
        }
        text
    }
}
