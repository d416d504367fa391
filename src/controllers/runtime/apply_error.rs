//! Why a write did not happen.
//!
//! Decides which answers of a hub count as a conflict, what is worth a warning, and what time alone will not fix. Never writes.

use std::error::Error;
use std::time::Duration;

use kube::core::Status;
use tracing::{debug, warn};

use super::backoff::Failure;
use crate::controllers::sign::SignError;
use store::{ObjectKey, Owner};

/// From which pause on a write that fails again and again is worth a warning, whatever the reason.
pub(super) const STUBBORN: Duration = Duration::from_secs(1);

/// Why a write did not happen.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApplyError {
    /// Another client wrote first (409).
    #[error("{object} was changed on the hub (conflict)")]
    Conflict {
        /// The object.
        object: ObjectKey,
    },
    /// An object that no watch shows stands where one should be created.
    #[error("{object} exists on the hub, but the watch does not return it; check the label of its add-on")]
    Hidden {
        /// The object.
        object: ObjectKey,
    },
    /// The write was accepted and changed nothing: the hub keeps the object in another form than we planned it.
    #[error("writing {object} changes nothing, although it differs from the plan")]
    NoChange {
        /// The object.
        object: ObjectKey,
    },
    /// A certificate could not be signed.
    #[error("cannot sign {object}")]
    Sign {
        /// The request.
        object: ObjectKey,
        /// Why.
        #[source]
        source: Box<SignError>,
    },
    /// The hub refused the write or could not be reached.
    #[error("cannot {verb} {object}")]
    Write {
        /// What was tried.
        verb: &'static str,
        /// The object.
        object: ObjectKey,
        /// The answer.
        #[source]
        source: Box<kube::Error>,
    },
}

impl ApplyError {
    /// Returns the object that was not written.
    pub(super) fn object(&self) -> &ObjectKey {
        match self {
            Self::Conflict { object }
            | Self::Hidden { object }
            | Self::NoChange { object }
            | Self::Sign { object, .. }
            | Self::Write { object, .. } => object,
        }
    }

    /// Returns how long the object should be left alone.
    pub(super) fn failure(&self) -> Failure {
        match self {
            Self::Conflict { .. } => Failure::Conflict,
            Self::Hidden { .. } | Self::NoChange { .. } | Self::Sign { .. } | Self::Write { .. } => {
                Failure::Other
            }
        }
    }

    /// Returns what the hub said if it may say so again until a user changes something on it: the conditions should tell.
    pub(super) fn refusal(&self) -> Option<String> {
        match self {
            Self::Conflict { .. } | Self::NoChange { .. } => None,
            Self::Hidden { .. } => Some(self.to_string()),
            Self::Sign { source, .. } => match root(&**source).to_string() {
                cause if cause == source.to_string() => Some(cause),
                cause => Some(format!("{source}: {cause}")),
            },
            Self::Write { .. } => self.answer().map(|status| status.message.clone()),
        }
    }

    /// Returns whether time alone will not help. A namespace may still come, and a watch may still show an object.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Sign { .. }) || self.answer().is_some_and(|status| status.code != 404)
    }

    /// Logs the failure; one that a fresh plan may fix at once is logged at a lower level.
    pub(super) fn tell(&self, owner: &Owner, pause: Duration) {
        match self {
            Self::Conflict { object } | Self::Hidden { object } if pause < STUBBORN => {
                debug!(%owner, %object, ?pause, "planning again after a conflict");
            }
            Self::Conflict { .. } | Self::Hidden { .. } | Self::NoChange { .. } => {
                warn!(%owner, error = %self, ?pause, "will retry");
            }
            Self::Sign { source, .. } => {
                warn!(%owner, error = %self, cause = %source, ?pause, "will retry");
            }
            Self::Write { source, .. } => {
                warn!(%owner, error = %self, cause = %root(&**source), ?pause, "will retry");
            }
        }
    }

    /// Returns the answer of a hub that has understood the write and does not want it.
    fn answer(&self) -> Option<&Status> {
        let Self::Write { source, .. } = self else {
            return None;
        };
        match &**source {
            kube::Error::Api(status) if matches!(status.code, 400 | 403 | 404 | 413 | 422) => Some(status),
            _ => None,
        }
    }
}

/// Names what a hub has answered to a write.
pub(super) fn failed(verb: &'static str, object: &ObjectKey, error: kube::Error) -> ApplyError {
    match &error {
        kube::Error::Api(status) if status.code == 409 && verb == "create" => ApplyError::Hidden {
            object: object.clone(),
        },
        kube::Error::Api(status) if status.code == 409 => ApplyError::Conflict {
            object: object.clone(),
        },
        kube::Error::Api(status) if status.code == 404 && verb != "create" => ApplyError::Conflict {
            object: object.clone(),
        },
        _ => ApplyError::Write {
            verb,
            object: object.clone(),
            source: Box::new(error),
        },
    }
}

/// Returns the innermost cause of an error: the error itself when it has none.
pub(in crate::controllers) fn root<'e>(error: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_the_hub_is_reported_in_its_own_words() {
        let status = kube::core::Status::failure("namespaces \"x\" not found", "NotFound");
        let error = kube::Error::Api(Box::new(status));
        assert_eq!(root(&error).to_string(), "namespaces \"x\" not found: NotFound");
    }
}
