//! The kubeconfig of clients of the hub.

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
