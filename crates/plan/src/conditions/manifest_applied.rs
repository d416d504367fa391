//! Whether the manifests of an instance are applied.
//!
//! Decides `ManifestApplied` of add-ons that the controllers deploy, and why the hub rejects their works.

use super::Wish;
use crate::work::{Body, Rendering};
use api::reason::Reason;
use store::{Instance, Signal, Status, View};

/// Condition that the deploying program reports.
pub(crate) const MANIFEST_APPLIED: &str = "ManifestApplied";
/// The same for a hosting cluster.
pub(crate) const HOSTING_MANIFEST_APPLIED: &str = "HostingManifestApplied";

/// Returns what should stand in `ManifestApplied`; `None` leaves what stands there.
pub(crate) fn manifests(rendering: &Rendering<'_>) -> Option<Wish<'static>> {
    let wish =
        |status, reason, message: &'static str| Some(Wish::new(MANIFEST_APPLIED, status, reason, message));
    match rendering {
        Rendering::NotOurs | Rendering::Waiting(_) => None,
        Rendering::Refused(error) => {
            let message = format!("failed to get manifest from agent interface: {error}");
            Some(Wish::new(
                MANIFEST_APPLIED,
                Status::False,
                Reason::ManifestWorkApplyFailed,
                message,
            ))
        }
        Rendering::Bodies(bodies) if bodies.is_empty() => wish(
            Status::True,
            Reason::AddonManifestApplied,
            "no manifest need to apply",
        ),
        Rendering::Bodies(bodies) => {
            let signals = bodies.iter().filter_map(applied);
            match signals.min_by_key(|signal| signal.status != Status::False) {
                None => None,
                Some(signal) if signal.status == Status::True => wish(
                    Status::True,
                    Reason::AddonManifestApplied,
                    "manifests of addon are applied successfully",
                ),
                Some(_) => wish(
                    Status::False,
                    Reason::AddonManifestAppliedFailed,
                    "failed to apply the manifests of addon",
                ),
            }
        }
    }
}

/// Returns what is in `ManifestApplied` while the hub refuses a work.
pub(crate) fn refused(
    view: &View<'_>,
    instance: &Instance,
    rendering: &Rendering<'_>,
) -> Option<Wish<'static>> {
    let Rendering::Bodies(bodies) = rendering else {
        return None;
    };
    if !view.is_troubled() {
        return None;
    }
    let why = bodies.iter().find_map(|body| view.trouble(&body.key(instance)))?;
    let message = format!("failed to apply manifestWork: {why}");
    Some(Wish::new(
        MANIFEST_APPLIED,
        Status::False,
        Reason::ManifestWorkApplyFailed,
        message,
    ))
}

fn applied<'v>(body: &Body<'v>) -> Option<&'v Signal> {
    body.work?.applied.as_ref().filter(|signal| signal.current)
}
