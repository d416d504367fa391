//! The file with which clients find the hub.
//!
//! Decides what stands in a kubeconfig and that nobody else may read it.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::Credentials;

/// Returns a kubeconfig with everything embedded. It is JSON, which every YAML reader takes.
pub(crate) fn kubeconfig(url: &str, ca_pem: &str, admin: &Credentials, token: &str) -> String {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "devhub",
        "clusters": [{ "name": "devhub", "cluster": {
            "server": url, "certificate-authority-data": STANDARD.encode(ca_pem),
        } }],
        "users": [{ "name": "admin", "user": {
            "client-certificate-data": STANDARD.encode(&admin.certificate),
            "client-key-data": STANDARD.encode(&admin.key),
            "token": token,
        } }],
        "contexts": [{ "name": "devhub", "context": { "cluster": "devhub", "user": "admin", "namespace": "default" } }],
    });
    serde_saphyr::to_string(&config).unwrap_or_else(|_| config.to_string())
}

/// Writes a file that only its owner can read, whatever stood there before.
pub(crate) fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
}
