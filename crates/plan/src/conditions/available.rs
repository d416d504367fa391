//! Whether the agent of a template add-on is available, from the feedback of its workloads.
//!
//! Sets `Available` of add-ons that the controllers deploy, and of all add-ons whose cluster is not reachable. The condition of an
//! add-on that another program deploys on a reachable cluster is left to that program: the agent or its prober reports that the agent
//! is available again.

use super::Wish;
use crate::render::Probe;
use crate::rollout::Member;
use crate::work::{Body, Rendering};
use api::reason::Reason;
use store::{Cluster, Instance, Status, Work, Workload};

/// Condition that tells whether the agent works.
pub(crate) const AVAILABLE: &str = "Available";

/// Returns what should stand in `Available`; `None` leaves what stands there.
pub(crate) fn available<'v>(member: &Member<'v>, rendering: &Rendering<'v>) -> Option<Wish<'v>> {
    let bodies = match rendering {
        Rendering::NotOurs | Rendering::Waiting(_) | Rendering::Refused(_) => return None,
        Rendering::Bodies(bodies) => bodies,
    };
    if member.cluster?.available == Some(Status::Unknown) {
        return None;
    }
    Some(probe(member.instance, bodies))
}

/// What is known to be down outweighs what is not known, whatever work it is in.
fn probe<'v>(instance: &Instance, bodies: &[Body<'v>]) -> Wish<'v> {
    let wish = |status, reason, message: &'v str| Wish::new(AVAILABLE, status, reason, message);
    let signals = bodies.iter().filter_map(|body| body.work?.available.as_ref());
    let mut down = signals.filter(|signal| signal.status == Status::False);
    if let Some(signal) = down.next() {
        return wish(Status::False, Reason::WorkNotApplied, &signal.message);
    }
    if bodies.iter().any(|body| body.work.is_none()) {
        return wish(
            Status::Unknown,
            Reason::WorkNotFound,
            "Addon manifestWork is not found",
        );
    }
    let is_silent = |work: &Work| work.available.is_none();
    if bodies.iter().filter_map(|body| body.work).any(is_silent) {
        return wish(
            Status::Unknown,
            Reason::WorkNotApplied,
            "Addon manifestWork is not applied yet",
        );
    }
    let feedback: Vec<Feedback<'_>> = bodies
        .iter()
        .flat_map(|body| feedback(body, &instance.cluster))
        .collect();
    judged(&instance.addon, &feedback)
}

/// A workload that should be running, with what its agent says about it.
struct Feedback<'b> {
    probe: &'b Probe,
    cluster: &'b str,
    workload: Option<&'b Workload>,
}

fn feedback<'b>(body: &'b Body<'_>, cluster: &'b str) -> impl Iterator<Item = Feedback<'b>> {
    let told = body.work.map(|work| &*work.workloads).unwrap_or_default();
    body.recipe.probes.iter().map(move |probe| {
        let (namespace, name) = probe.place(cluster);
        let is_it = |workload: &&Workload| {
            *workload.resource == *probe.resource
                && *workload.namespace == *namespace
                && *workload.name == *name
        };
        Feedback {
            probe,
            cluster,
            workload: told.iter().find(is_it).filter(|workload| workload.probed),
        }
    })
}

/// Half of the answers are no answer: silence about one workload may be the failure itself.
fn judged<'v>(addon: &str, feedback: &[Feedback<'_>]) -> Wish<'v> {
    if feedback.is_empty() {
        return Wish::new(
            AVAILABLE,
            Status::True,
            Reason::WorkApplied,
            "Addon manifestWork is applied",
        );
    }
    let mut known = feedback.iter().filter_map(|one| one.workload);
    if let Some(fault) = known.find_map(fault) {
        let message = format!("Probe addon unavailable with err {fault}");
        return Wish::new(AVAILABLE, Status::False, Reason::ProbeUnavailable, message);
    }
    let mut silent = feedback.iter().filter(|one| one.workload.is_none());
    let count = silent.clone().count();
    match silent.next() {
        None => {
            let message = format!("{addon} add-on is available.");
            Wish::new(AVAILABLE, Status::True, Reason::ProbeAvailable, message)
        }
        Some(_) if count == feedback.len() => Wish::new(
            AVAILABLE,
            Status::Unknown,
            Reason::NoProbeResult,
            "Probe results are not returned",
        ),
        Some(first) => {
            let (namespace, name) = first.probe.place(first.cluster);
            let resource = first.probe.resource;
            let message = format!("Probe results are not returned for {resource} {namespace}/{name}");
            Wish::new(AVAILABLE, Status::Unknown, Reason::NoProbeResult, message)
        }
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

/// Returns what should stand in `Available` while the cluster cannot be reached.
pub(crate) fn unreachable(cluster: Option<&Cluster>) -> Option<Wish<'_>> {
    let (reason, message) = cluster?.unknown.as_ref()?;
    Some(
        Wish::new(
            AVAILABLE,
            Status::Unknown,
            Reason::ManagedClusterUnknown,
            &**message,
        )
        .quoting(reason),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::merge;

    fn workload(resource: &str, desired: Option<i64>, ready: Option<i64>) -> Workload {
        Workload {
            resource: resource.into(),
            namespace: "n".into(),
            name: "x".into(),
            desired,
            ready,
            probed: desired.is_some() || ready.is_some(),
        }
    }

    /// Judges workloads of which `None` has told nothing.
    fn told(workloads: &[Option<Workload>]) -> String {
        let probes: Vec<Probe> = (0..workloads.len())
            .map(|index| Probe::new("deployments", "n", &format!("x{index}")))
            .collect();
        let feedback: Vec<Feedback<'_>> = probes
            .iter()
            .zip(workloads)
            .map(|(probe, workload)| Feedback {
                probe,
                cluster: "c1",
                workload: workload.as_ref(),
            })
            .collect();
        let now = jiff::Timestamp::UNIX_EPOCH;
        let merged = merge(&[], &[judged("hello", &feedback)], None, now).into_owned();
        let condition = &merged[0];
        format!(
            "{} {}: {}",
            condition.status.as_str(),
            condition.reason,
            condition.message
        )
    }

    #[test]
    fn the_words_are_those_that_users_of_the_hub_know() {
        let deployment = |desired, ready| Some(workload("deployments", desired, ready));
        let daemons = |desired, ready| Some(workload("daemonsets", desired, ready));
        let down = "False ProbeUnavailable: Probe addon unavailable with err";
        let rows = [
            (
                vec![],
                "True WorkApplied: Addon manifestWork is applied".to_owned(),
            ),
            (
                vec![deployment(Some(3), Some(1))],
                "True ProbeAvailable: hello add-on is available.".to_owned(),
            ),
            (
                vec![deployment(Some(0), None)],
                "True ProbeAvailable: hello add-on is available.".to_owned(),
            ),
            (
                vec![daemons(Some(2), Some(2))],
                "True ProbeAvailable: hello add-on is available.".to_owned(),
            ),
            (
                vec![deployment(Some(1), None)],
                format!("{down} readyReplica is not probed"),
            ),
            (
                vec![deployment(None, Some(1))],
                format!("{down} desiredNumberReplicas is not probed"),
            ),
            (
                vec![deployment(Some(1), Some(0))],
                format!("{down} desiredNumberReplicas is 1 but readyReplica is 0 for deployments n/x"),
            ),
            (
                vec![deployment(Some(1), Some(1)), daemons(Some(3), Some(2))],
                format!("{down} desiredNumberReplicas is 3 but readyReplica is 2 for daemonsets n/x"),
            ),
            (
                vec![None, None],
                "Unknown NoProbeResult: Probe results are not returned".to_owned(),
            ),
            (
                vec![deployment(Some(1), Some(1)), None],
                "Unknown NoProbeResult: Probe results are not returned for deployments n/x1".to_owned(),
            ),
            (
                vec![None, deployment(Some(1), Some(0))],
                format!("{down} desiredNumberReplicas is 1 but readyReplica is 0 for deployments n/x"),
            ),
        ];
        for (workloads, expected) in rows {
            assert_eq!(told(&workloads), expected);
        }
    }
}
