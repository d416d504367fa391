//! The files that a measured process is given: a kubeconfig, and a certificate to serve with.
//!
//! Decides their names. They lie in a folder that goes away with the measurement.

use std::path::{Path, PathBuf};

use crate::error::BenchError;

/// Where the files are.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Files {
    /// Writes them; the certificate is its own authority, for 127.0.0.1.
    pub(crate) fn write(folder: &Path, kubeconfig: &str) -> Result<Self, BenchError> {
        let issued = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])
            .map_err(|error| BenchError::Hub(error.to_string()))?;
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            match std::fs::write(&path, text) {
                Ok(()) => Ok(path),
                Err(source) => Err(BenchError::File { path, source }),
            }
        };
        Ok(Self {
            kubeconfig: write("kubeconfig", kubeconfig)?,
            certificate: write("tls.crt", &issued.cert.pem())?,
            key: write("tls.key", &issued.signing_key.serialize_pem())?,
        })
    }
}
