//! Why a subcommand ended early, and with which exit status.
//!
//! Decides only how a failure reads; never retries.

use std::path::{Path, PathBuf};

use kubernetes::field::one_line;
use store::Kind;

/// A subcommand could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The asked-for folder cannot be used.
    #[error("cannot write into folder \"{}\"", dir.display())]
    PrepareFolder {
        /// The folder.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file or folder cannot be read.
    #[error("cannot read \"{}\"", path.display())]
    ReadFile {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write file \"{}\"", path.display())]
    WriteFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A document cannot be understood.
    #[error("cannot read \"{}\": {reason}", path.display())]
    ReadDocument {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A policy does not compile.
    #[error("a policy does not compile: {reason}")]
    CompilePolicy {
        /// Where it stands and what is wrong.
        reason: String,
    },
    /// A flag's value makes no sense.
    #[error("invalid value for --{flag}: {reason}")]
    ReadFlag {
        /// The flag, without dashes.
        flag: &'static str,
        /// What would be right.
        reason: String,
    },
    /// The request cannot be fulfilled; the cause is a complete sentence.
    #[error("{0}")]
    Refused(Cause),
    /// Something could not be done that everything else needs.
    #[error("cannot {act}")]
    Act {
        /// What: "read the hub", …
        act: &'static str,
        /// Why.
        source: Cause,
    },
    /// A part could not be started.
    #[error("cannot start {part}")]
    Start {
        /// Which part: "the hub", "the gate", …
        part: &'static str,
        /// Why.
        source: Cause,
    },
    /// A part failed after it had started.
    #[error("{part} failed")]
    Serve {
        /// Which part.
        part: &'static str,
        /// Why.
        source: Cause,
    },
    /// Several things are wrong, none of which hides another.
    #[error("{} errors: {}", .0.len(), .0.iter().map(Self::one_line).collect::<Vec<_>>().join("; "))]
    Several(Vec<Self>),
    /// Standard output is closed.
    #[error("cannot print")]
    Print(#[source] std::io::Error),
}

/// Why something failed, of any type.
pub(super) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// For `map_err`: what failed is named, and why is the error.
impl CliError {
    pub(super) fn acting<E: Into<Cause>>(act: &'static str) -> impl Fn(E) -> Self {
        move |source| Self::Act {
            act,
            source: source.into(),
        }
    }

    pub(super) fn starting<E: Into<Cause>>(part: &'static str) -> impl Fn(E) -> Self {
        move |source| Self::Start {
            part,
            source: source.into(),
        }
    }

    pub(super) fn serving<E: Into<Cause>>(part: &'static str) -> impl Fn(E) -> Self {
        move |source| Self::Serve {
            part,
            source: source.into(),
        }
    }

    pub(super) fn reading(path: &Path) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::ReadFile {
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn writing(path: &Path) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::WriteFile {
            path: path.to_owned(),
            source,
        }
    }
}

impl CliError {
    /// Returns the exit status: 2 when it could not start as asked, 1 when it failed later.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::PrepareFolder { .. }
            | Self::ReadFile { .. }
            | Self::ReadDocument { .. }
            | Self::WriteFile { .. }
            | Self::ReadFlag { .. }
            | Self::Refused(_)
            | Self::Act { .. }
            | Self::Start { .. } => 2,
            Self::CompilePolicy { .. } => 3,
            Self::Several(all) => all.iter().map(Self::exit_status).max().unwrap_or(2),
            Self::Serve { .. } | Self::Print(_) => 1,
        }
    }

    /// Returns what two readings have come to, or everything that is wrong with either.
    pub fn both<A, B>(one: Result<A, Self>, other: Result<B, Self>) -> Result<(A, B), Self> {
        match (one, other) {
            (Ok(one), Ok(other)) => Ok((one, other)),
            (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
            (Err(one), Err(other)) => {
                let all = [one, other].into_iter().flat_map(|error| match error {
                    Self::Several(all) => all,
                    error => vec![error],
                });
                Err(Self::Several(all.collect()))
            }
        }
    }

    /// Returns the failure and all its causes on one line, each once.
    pub fn one_line(&self) -> String {
        let mut line = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let text = told(error);
            if !line.contains(&text) {
                line.push_str(": ");
                line.push_str(&text);
            }
            cause = error.source();
        }
        one_line(&line)
    }
}

/// For `map_err`: reading objects of a kind has failed.
pub(super) fn reading_kind(kind: Kind) -> impl Fn(kube::Error) -> CliError {
    move |error| match missing_crd(kind, &error) {
        Some(text) => CliError::Refused(text.into()),
        None => CliError::acting("read the hub")(error),
    }
}

/// Returns that the hub has no CRD of a kind, and how to install it, if this is why the hub answered with an error.
pub(super) fn missing_crd(kind: Kind, error: &kube::Error) -> Option<String> {
    let kube::Error::Api(status) = error else {
        return None;
    };
    // Of a missing object, the reason is `NotFound`.
    (status.code == 404 && !status.is_not_found()).then(|| not_served(kind))
}

/// Returns that the hub does not serve a kind, and how to install its CRD.
pub(super) fn not_served(kind: Kind) -> String {
    let address = kind.address();
    let name = format!("{}.{}", address.resource, address.group);
    let is_ours = api::crds()
        .iter()
        .any(|crd| crd.metadata.name.as_ref() == Some(&name) && api::is_ours(crd));
    let fix = if is_ours {
        "run: tidegate crds | kubectl apply -f -"
    } else {
        "install Open Cluster Management on the hub, for example with `clusteradm init`"
    };
    format!(
        "the hub does not serve {}: the CRD {name} is missing; {fix}",
        address.kind
    )
}

/// An answer of the hub in the hub's words: the wrapper around it repeats them, with the whole answer in debug form.
fn told(error: &(dyn std::error::Error + 'static)) -> String {
    match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => status.to_string(),
        // The message of a wrapper error adds nothing.
        Some(kube::Error::Service(cause)) => cause.to_string(),
        Some(_) | None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_the_hub_is_reported_once_in_its_own_words() {
        let status = kube::core::Status::failure("the webhook denied the request", "Invalid");
        let error = CliError::Start {
            part: "the demo add-on",
            source: Box::new(kube::Error::Api(Box::new(status))),
        };
        assert_eq!(
            error.one_line(),
            "cannot start the demo add-on: the webhook denied the request: Invalid"
        );
    }

    #[test]
    fn a_missing_crd_is_named_with_the_command_that_installs_it() {
        let mut status = kube::core::Status::failure("404 page not found", "Failed to parse error data");
        status.code = 404;
        let error = || kube::Error::Api(Box::new(status.clone()));
        assert_eq!(
            reading_kind(Kind::Freeze)(error()).one_line(),
            "the hub does not serve RolloutFreeze: the CRD rolloutfreezes.tidegate.io is missing; run: tidegate crds | kubectl apply -f -"
        );
        let theirs = missing_crd(Kind::AddOn, &error()).expect("it is missing");
        assert!(theirs.ends_with("with `clusteradm init`"), "{theirs}");
        status.reason = "NotFound".to_owned();
        assert_eq!(
            missing_crd(Kind::Freeze, &kube::Error::Api(Box::new(status))),
            None
        );
    }

    #[test]
    fn what_is_wrong_in_several_places_is_reported_at_once() {
        let wrong = |what: &str| -> Result<(), CliError> { Err(CliError::Refused(what.to_owned().into())) };
        let two = CliError::both(wrong("no key"), wrong("no hub")).map(|_| ());
        let all = CliError::both(CliError::both(two, Ok(())), wrong("no rules")).expect_err("three faults");
        assert_eq!(all.one_line(), "3 errors: no key; no hub; no rules");
        assert_eq!(all.exit_status(), 2);
        let one = CliError::both(wrong("no key"), Ok(())).expect_err("a fault");
        assert_eq!(one.one_line(), "no key");
    }

    #[test]
    fn causes_stand_on_one_line_and_only_once() {
        let inner = std::io::Error::other("address in use");
        let error = CliError::Start {
            part: "the hub",
            source: Box::new(inner),
        };
        assert_eq!(error.one_line(), "cannot start the hub: address in use");
        assert_eq!(error.exit_status(), 2);
    }
}
