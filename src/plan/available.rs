//! Whether the agent of a template add-on is available, from the feedback of its workloads.
//!
//! Decides `Available` and `ManifestApplied` of add-ons that the tide deploys. Silent where another program speaks: a
//! cluster that is not reachable, an add-on that somebody else deploys.

use super::conditions::Wish;
use super::judge::MANIFEST_APPLIED;
use super::rollout::Member;
use super::work::{Body, Rendering};
use crate::snapshot::{Instance, Signal, Status, View, Workload};

/// Condition that tells whether the agent works.
pub(super) const AVAILABLE: &str = "Available";

/// Reason of a `ManifestApplied` that says that nothing could be rendered.
pub(super) const RENDERING_FAILED: &str = "ManifestWorkApplyFailed";

/// Returns what should stand in `ManifestApplied`; `None` leaves what stands there.
pub(super) fn manifests(rendering: &Rendering<'_>) -> Option<Wish<'static>> {
    let wish =
        |status, reason, message: &'static str| Some(Wish::new(MANIFEST_APPLIED, status, reason, message));
    match rendering {
        Rendering::NotOurs | Rendering::Waiting(_) => None,
        Rendering::Refused(error) => {
            let message = format!("failed to get manifest from agent interface: {error}");
            Some(Wish::new(
                MANIFEST_APPLIED,
                Status::False,
                RENDERING_FAILED,
                message,
            ))
        }
        Rendering::Bodies(bodies) if bodies.is_empty() => {
            wish(Status::True, "AddonManifestApplied", "no manifest need to apply")
        }
        Rendering::Bodies(bodies) => {
            let signals = bodies.iter().filter_map(applied);
            match signals.min_by_key(|signal| signal.status != Status::False) {
                None => None,
                Some(signal) if signal.status == Status::True => wish(
                    Status::True,
                    "AddonManifestApplied",
                    "manifests of addon are applied successfully",
                ),
                Some(_) => wish(
                    Status::False,
                    "AddonManifestAppliedFailed",
                    "failed to apply the manifests of addon",
                ),
            }
        }
    }
}

/// Returns what stands in `ManifestApplied` while the hub refuses a work.
pub(super) fn refused(
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
        RENDERING_FAILED,
        message,
    ))
}

fn applied<'v>(body: &Body<'v>) -> Option<&'v Signal> {
    body.work?.applied.as_ref().filter(|signal| signal.current)
}

/// Returns what should stand in `Available`; `None` leaves what stands there.
pub(super) fn available<'v>(
    view: &View<'v>,
    member: &Member<'v>,
    rendering: &Rendering<'v>,
) -> Option<Wish<'v>> {
    let bodies = match rendering {
        Rendering::NotOurs | Rendering::Waiting(_) | Rendering::Refused(_) => return None,
        Rendering::Bodies(bodies) => bodies,
    };
    let cluster = view.cluster(&member.instance.cluster)?;
    if cluster.available == Some(Status::Unknown) {
        return None;
    }
    Some(probe(&member.instance.addon, bodies))
}

fn probe<'v>(addon: &str, bodies: &[Body<'v>]) -> Wish<'v> {
    let wish = |status, reason, message: &'v str| Wish::new(AVAILABLE, status, reason, message);
    let mut workloads = Vec::new();
    for body in bodies {
        let Some(work) = body.work else {
            return wish(Status::Unknown, "WorkNotFound", "Addon manifestWork is not found");
        };
        match &work.available {
            None => {
                return wish(
                    Status::Unknown,
                    "WorkNotApplied",
                    "Addon manifestWork is not applied yet",
                );
            }
            Some(signal) if signal.status == Status::False => {
                return wish(Status::False, "WorkNotApplied", &signal.message);
            }
            Some(_) => workloads.extend(&work.workloads),
        }
    }
    if workloads.is_empty() {
        return wish(Status::True, "WorkApplied", "Addon manifestWork is applied");
    }
    if workloads.iter().all(|workload| !workload.probed) {
        return wish(Status::Unknown, "NoProbeResult", "Probe results are not returned");
    }
    match workloads
        .into_iter()
        .filter(|workload| workload.probed)
        .find_map(fault)
    {
        Some(fault) => {
            let message = format!("Probe addon unavailable with err {fault}");
            Wish::new(AVAILABLE, Status::False, "ProbeUnavailable", message)
        }
        None => Wish::new(
            AVAILABLE,
            Status::True,
            "ProbeAvailable",
            format!("{addon} add-on is available."),
        ),
    }
}

/// A deployment needs one ready replica, a daemon set all of them; none wanted is always enough.
fn fault(workload: &Workload) -> Option<String> {
    let Some(desired) = workload.desired else {
        return Some("desiredNumberReplicas is not probed".to_owned());
    };
    if desired == 0 {
        return None;
    }
    let Some(ready) = workload.ready else {
        return Some("readyReplica is not probed".to_owned());
    };
    let enough = if &*workload.resource == "daemonsets" {
        ready == desired
    } else {
        ready >= 1
    };
    (!enough).then(|| {
        let Workload {
            resource,
            namespace,
            name,
            ..
        } = workload;
        format!(
            "desiredNumberReplicas is {desired} but readyReplica is {ready} for {resource} {namespace}/{name}"
        )
    })
}
