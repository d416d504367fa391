//! Why a new certificate, authority or secret is not used. Never prints a key.

use std::path::{Path, PathBuf};

use crate::files::read_text;
use crate::server::{CallersError, CertificateError};

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// What the files held when they were read; no key can be told from it.
pub(super) type FileDigest = [u8; 32];

/// Why a new file is not taken.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum LoadError {
    /// The certificate cannot be shown.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    ReadFile { path: PathBuf, source: std::io::Error },
    /// What says who may ask cannot be used.
    #[error("cannot use {}", path.display())]
    Callers { path: PathBuf, source: CallersError },
    /// TLS cannot be set up with it.
    #[error("cannot set up TLS")]
    SetUpTls(#[source] crate::server::StartError),
    /// There is no certificate in a Secret.
    #[error("{place}: {words}")]
    Secret { place: String, words: String },
    /// What a Secret holds cannot be shown.
    #[error("cannot serve with {place}")]
    UseSecret { place: String, source: CertificateError },
}

impl LoadError {
    /// Reads a file.
    pub(super) fn text(path: &Path) -> Result<String, Self> {
        read_text(path, LARGEST).map_err(|source| Self::ReadFile {
            path: path.to_owned(),
            source,
        })
    }

    /// What is wrong with a file about callers.
    pub(super) fn callers(path: &Path, source: CallersError) -> Self {
        Self::Callers {
            path: path.to_owned(),
            source,
        }
    }

    /// Returns a word for metrics.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Certificate(error) => error.reason(),
            Self::ReadFile { .. } | Self::Secret { .. } => "unreadable",
            Self::Callers { .. } => "callers",
            Self::SetUpTls(_) => "tls",
            Self::UseSecret { source, .. } => source.reason(),
        }
    }

    /// What is wrong, with its cause.
    pub(super) fn words(&self) -> String {
        match self {
            Self::UseSecret { place, source } => format!("{place}: {source}"),
            Self::Certificate(_)
            | Self::ReadFile { .. }
            | Self::Callers { .. }
            | Self::SetUpTls(_)
            | Self::Secret { .. } => self.to_string(),
        }
    }
}
