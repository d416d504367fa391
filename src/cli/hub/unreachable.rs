//! A hub that does not answer, told with its address, where that was read, the cause, and what to look at.
//!
//! Decides only words. Never tries again.

use std::error::Error;

use kubernetes::field::one_line;

/// A hub that does not answer.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(in crate::cli) struct Unreachable {
    text: String,
}

/// What to look at, by what the cause says; the first that fits counts.
const CURES: &[(&[&str], &str)] = &[
    (
        &["Connection refused", "connection refused"],
        "check the address, and whether the hub is running",
    ),
    (
        &[
            "failed to lookup address",
            "dns error",
            "Name or service not known",
        ],
        "the host name cannot be resolved",
    ),
    (
        &["UnknownIssuer", "BadSignature", "invalid peer certificate"],
        "the kubeconfig does not trust the certificate of the hub; if the hub was created again, use its new kubeconfig",
    ),
    (
        &[
            "timed out",
            "deadline has elapsed",
            "No route to host",
            "Network is unreachable",
        ],
        "no route to the host: check the network, VPN and proxy",
    ),
];

impl Unreachable {
    /// Returns it with the last of its causes: those before say where in a library it went wrong.
    pub(in crate::cli) fn new(url: &str, origin: &str, error: &(dyn Error + 'static)) -> Self {
        let mut root = error;
        while let Some(cause) = root.source() {
            root = cause;
        }
        let cause = root.to_string();
        let is_ours =
            (url.contains("127.0.0.1") || url.contains("localhost")) && origin.contains(".tidegate");
        let cure = CURES
            .iter()
            .find(|(signs, _)| signs.iter().any(|sign| cause.contains(sign)))
            .map_or("", |(_, cure)| if is_ours { DEV } else { cure });
        let hint = if cure.is_empty() {
            String::new()
        } else {
            format!("; hint: {cure}")
        };
        let url = url.trim_end_matches('/');
        Self {
            text: one_line(&format!(
                "the hub at {url} does not respond: {cause} ({origin}){hint}"
            )),
        }
    }
}

const DEV: &str = "this was a hub of `tidegate dev`: check whether it is still running";

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn told(url: &str, origin: &str, cause: &str, expected: &Expect) {
        let error = std::io::Error::other(cause.to_owned());
        expected.assert_eq(&Unreachable::new(url, origin, &error).to_string());
    }

    #[test]
    fn a_hub_that_does_not_answer_is_reported_with_address_origin_and_cure() {
        told(
            "https://10.0.0.1:6443/",
            "context \"prod\" of \"/home/me/hub\"",
            "Connection refused (os error 111)",
            &expect![[
                r#"the hub at https://10.0.0.1:6443 does not respond: Connection refused (os error 111) (context "prod" of "/home/me/hub"); hint: check the address, and whether the hub is running"#
            ]],
        );
        told(
            "https://127.0.0.1:40000/",
            "context \"dev\" of \".tidegate/kubeconfig\"",
            "Connection refused (os error 111)",
            &expect![[
                r#"the hub at https://127.0.0.1:40000 does not respond: Connection refused (os error 111) (context "dev" of ".tidegate/kubeconfig"); hint: this was a hub of `tidegate dev`: check whether it is still running"#
            ]],
        );
        told(
            "https://h/",
            "the service account of this pod",
            "something new",
            &expect![
                "the hub at https://h does not respond: something new (the service account of this pod)"
            ],
        );
    }
}
