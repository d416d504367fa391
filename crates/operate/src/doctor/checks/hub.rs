//! Checks the version and the clock of the API server.
//!
//! Decides from which version on a hub is right. Never knows a kind.

use admission::CONDITIONS_SINCE_MINOR;
use jiff::SignedDuration;
use kubernetes::server_version::minor_version;

use crate::doctor::facts::{Dates, Reading};
use crate::doctor::finding::Finding;
use crate::versions::OLDEST_MINOR;

const KUBERNETES: &str = "kubernetes/version";
const CLOCK: &str = "kubernetes/clock";

/// The `Date` of an answer has whole seconds, and a question takes time: less than this is no difference.
const SAME: SignedDuration = SignedDuration::from_secs(3);
/// A difference up to this does no harm: certificates are usually valid from an hour ago, and plans use the hub's time.
const NEAR: SignedDuration = SignedDuration::from_secs(60);

/// Returns whether a hub of this version keeps match conditions; one without a known version counts as new.
pub(crate) fn keeps_conditions(version: &Reading<(String, String, String)>) -> bool {
    minor(version).is_none_or(|minor| minor >= CONDITIONS_SINCE_MINOR)
}

/// Returns the minor version of a hub of Kubernetes 1, where it is known.
pub(super) fn minor(version: &Reading<(String, String, String)>) -> Option<u32> {
    match version {
        Reading::Seen((major, minor, _)) => minor_version(major, minor),
        Reading::NotAsked | Reading::Refused(_) => None,
    }
}

pub(super) fn kubernetes(version: &Reading<(String, String, String)>) -> Option<Finding> {
    let whole = match version {
        Reading::NotAsked => return None,
        Reading::Refused(why) => {
            return Some(Finding::unknown(
                KUBERNETES,
                format!("the version of the hub cannot be read: {why}"),
            ));
        }
        Reading::Seen((_, _, whole)) => whole,
    };
    let Some(found) = minor(version) else {
        let seen = format!("unknown version: Kubernetes {whole}");
        return Some(Finding::unknown(KUBERNETES, seen).fix("see docs/kubernetes-versions.md"));
    };
    if found < OLDEST_MINOR {
        let seen = format!("Kubernetes {whole} is older than 1.{OLDEST_MINOR}, the oldest supported version");
        return Some(
            Finding::warning(KUBERNETES, seen)
                .fix("upgrade the hub; docs/kubernetes-versions.md lists what is missing until then"),
        );
    }
    Some(Finding::ok(KUBERNETES, format!("Kubernetes {whole}")))
}

pub(super) fn clock(dates: &Reading<Dates>) -> Option<Finding> {
    let dates = match dates {
        Reading::NotAsked => return None,
        Reading::Refused(why) => {
            return Some(Finding::unknown(
                CLOCK,
                format!("the time of the hub cannot be read: {why}"),
            ));
        }
        Reading::Seen(dates) => dates,
    };
    let difference = dates.here.duration_since(dates.hub);
    let size = difference.abs();
    if size <= SAME {
        return Some(Finding::ok(CLOCK, "this machine and the hub have the same time"));
    }
    let side = if difference.is_negative() {
        "behind"
    } else {
        "ahead of"
    };
    let seen = format!("the clock of this machine is {size:#} {side} the hub");
    let fix = "synchronize both clocks (NTP); plans use the hub's time, certificates and logs the time of this machine";
    let finding = if size <= NEAR {
        Finding::warning(CLOCK, seen)
    } else {
        Finding::error(CLOCK, seen)
    };
    Some(finding.fix(fix).command("timedatectl status"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;
    use jiff::Timestamp;

    fn version(major: &str, minor: &str) -> Reading<(String, String, String)> {
        Reading::Seen((major.to_owned(), minor.to_owned(), format!("v{major}.{minor}")))
    }

    #[test]
    fn old_and_unknown_hubs_are_reported() {
        let rows = [
            (version("1", "36"), Severity::Ok, true),
            (version("1", "30+"), Severity::Ok, true),
            (version("1", "28"), Severity::Ok, true),
            (version("1", "27+"), Severity::Warning, false),
            (version("1", "x"), Severity::Unknown, true),
            (version("2", "0"), Severity::Unknown, true),
            (Reading::Refused("no".to_owned()), Severity::Unknown, true),
        ];
        for (version, severity, keeps) in rows {
            let found = kubernetes(&version).expect("something is said");
            assert_eq!(found.severity, severity, "{version:?}");
            assert_eq!(keeps_conditions(&version), keeps, "{version:?}");
        }
        assert_eq!(kubernetes(&Reading::NotAsked), None);
    }

    #[test]
    fn clocks_that_differ_are_reported_with_the_side() {
        let hub = Timestamp::from_second(1_900_000_000).expect("a time");
        let rows = [
            (0, Severity::Ok, "the same time"),
            (-3, Severity::Ok, "the same time"),
            (20, Severity::Warning, "20s ahead of the hub"),
            (-120, Severity::Error, "2m behind the hub"),
        ];
        for (seconds, severity, words) in rows {
            let here = hub + SignedDuration::from_secs(seconds);
            let found = clock(&Reading::Seen(Dates { hub, here })).expect("something is said");
            assert_eq!(found.severity, severity, "{seconds}: {}", found.seen);
            assert!(found.seen.contains(words), "{seconds}: {}", found.seen);
        }
        let refused = clock(&Reading::Refused("no".to_owned())).expect("something is said");
        assert_eq!(refused.severity, Severity::Unknown);
    }
}
