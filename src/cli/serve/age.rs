//! How old a hub is.
//!
//! Decides only what an operator must know of it: a hub without match conditions asks the gate too much, and stops when the gate does.

use kube::Client;
use tracing::warn;

/// The first minor version whose webhooks have match conditions without a feature gate.
const MATCH_CONDITIONS: u32 = 28;

/// Tells in the log that a hub drops a part of the webhook configurations. One that does not tell its version counts as new.
pub(super) async fn tell_of_old_hub(client: &Client) {
    let Ok(version) = client.apiserver_version().await else {
        return;
    };
    if is_old(&version.major, &version.minor) {
        warn!(
            kubernetes = version.git_version,
            "this hub drops match conditions of webhooks: register what `tidegate reference webhooks --without-conditions` prints"
        );
    }
}

fn is_old(major: &str, minor: &str) -> bool {
    let minor = minor.trim_end_matches(|one: char| !one.is_ascii_digit());
    major == "1" && minor.parse::<u32>().is_ok_and(|minor| minor < MATCH_CONDITIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hubs_before_match_conditions_are_old_and_unknown_ones_are_not() {
        for (major, minor, old) in [
            ("1", "20", true),
            ("1", "27+", true),
            ("1", "28", false),
            ("1", "36+", false),
            ("2", "0", false),
            ("", "", false),
            ("1", "x", false),
        ] {
            assert_eq!(is_old(major, minor), old, "{major}.{minor}");
        }
    }
}
