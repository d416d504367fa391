//! Embedded or real.
//!
//! Decides from the environment variable `KUBEBUILDER_ASSETS` alone, and tells everything that its folder lacks at once.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::builder::StartError;

/// The variable that names the folder with the programs of a real API server.
pub(super) const VARIABLE: &str = "KUBEBUILDER_ASSETS";

/// A hub for tests did not start.
#[derive(Debug, thiserror::Error)]
pub enum TestHubError {
    /// The folder lacks programs.
    #[error(
        "{VARIABLE} is \"{}\", but {}; `setup-envtest use -p path` fetches both, and without the variable tests run on the embedded hub",
        dir.display(),
        missing.join(" and ")
    )]
    Missing {
        /// The folder.
        dir: PathBuf,
        /// What is wrong, a text for each program.
        missing: Vec<String>,
    },
    /// Something was wished for that only an embedded hub can do.
    #[error("{VARIABLE} asks for a real API server, but only an embedded hub has {}", .0.join(" and "))]
    OnlyEmbedded(Vec<&'static str>),
    /// The embedded hub did not start.
    #[error(transparent)]
    Embedded(#[from] StartError),
    /// The system refused something.
    #[error("cannot {what}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A program ended before the API server was ready.
    #[error("{program} ended early ({status}); its last words:\n{words}")]
    Ended {
        /// Which one.
        program: String,
        /// Its exit status.
        status: String,
        /// The end of its log.
        words: String,
    },
    /// The API server was not ready in time.
    #[error("kube-apiserver was not ready within {seconds} s ({cause}); its last words:\n{words}")]
    NotReady {
        /// How long it was waited for.
        seconds: u64,
        /// What the last question met.
        cause: String,
        /// The end of its log.
        words: String,
    },
    /// Certificates could not be made.
    #[error("cannot make certificates: {0}")]
    Certificates(String),
    /// A request of the set-up failed.
    #[error("cannot prepare the hub: {0}")]
    Request(#[from] kube::Error),
    /// A definition, or the kind of an object, was not served in time.
    #[error("\"{0}\" was not served in time")]
    NotServed(String),
}

/// The programs of a real API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assets {
    /// The store.
    pub etcd: PathBuf,
    /// The API server.
    pub apiserver: PathBuf,
}

/// On what a suite runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// On an embedded hub.
    Embedded,
    /// On a real API server.
    Real(Assets),
}

impl Choice {
    /// Decides from the value of the variable.
    pub fn from_value(value: Option<&OsStr>) -> Result<Self, TestHubError> {
        let Some(dir) = value.filter(|value| !value.is_empty()).map(Path::new) else {
            return Ok(Self::Embedded);
        };
        let assets = Assets {
            etcd: dir.join("etcd"),
            apiserver: dir.join("kube-apiserver"),
        };
        let missing: Vec<String> = [&assets.etcd, &assets.apiserver]
            .into_iter()
            .filter_map(|program| fault(program))
            .collect();
        if missing.is_empty() {
            Ok(Self::Real(assets))
        } else {
            let dir = dir.to_owned();
            Err(TestHubError::Missing { dir, missing })
        }
    }
}

fn fault(program: &Path) -> Option<String> {
    let name = program.file_name().unwrap_or_default().display();
    match std::fs::metadata(program) {
        Err(_) => Some(format!("there is no {name} in it")),
        Ok(found) if !found.is_file() || found.permissions().mode() & 0o111 == 0 => {
            Some(format!("{name} in it is no program"))
        }
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_variable_the_hub_is_embedded() {
        assert_eq!(Choice::from_value(None).ok(), Some(Choice::Embedded));
        assert_eq!(
            Choice::from_value(Some(OsStr::new(""))).ok(),
            Some(Choice::Embedded)
        );
    }

    #[test]
    fn missing_programs_in_a_folder_are_reported_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let told = |expected: &[&str]| {
            let error =
                Choice::from_value(Some(folder.path().as_os_str())).expect_err("programs are missing");
            let said = error.to_string();
            for text in expected {
                assert!(said.contains(text), "{text}: {said}");
            }
        };
        told(&[
            "there is no etcd in it and there is no kube-apiserver in it",
            "setup-envtest",
            VARIABLE,
        ]);
        std::fs::write(folder.path().join("etcd"), "").expect("writable");
        told(&["etcd in it is no program and there is no kube-apiserver in it"]);
        for name in ["etcd", "kube-apiserver"] {
            let path = folder.path().join(name);
            std::fs::write(&path, "").expect("writable");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("ours");
        }
        let choice = Choice::from_value(Some(folder.path().as_os_str())).expect("both are there");
        let apiserver = folder.path().join("kube-apiserver");
        assert!(matches!(choice, Choice::Real(assets) if assets.apiserver == apiserver));
    }
}
