//! What the works of an add-on on a cluster say.
//!
//! Decides where the chain stops below a ManifestWork: at a manifest that was refused, at a workload that is not ready, or
//! at an agent that says nothing.

use serde_json::Value;

use super::answer::{Cause, Link};
use super::causes;
use super::command::{describe, get, quoted};
use crate::offline::Hub;
use store::{Kind, ObjectKey, Signal, Status, Work, Workload};

/// The most manifests of a work that are shown.
const MOST_MANIFESTS: usize = 5;
/// What OCM's work agent reports for every object that does not exist.
const NOT_THERE: &str = "Resource is not available";

/// Adds what the works say; returns the first cause among them.
pub(super) fn follow<'w>(
    hub: &Hub,
    works: impl Iterator<Item = &'w Work>,
    links: &mut Vec<Link>,
) -> Option<Cause> {
    let mut first = None;
    for work in works.filter(|work| work.hook.is_none()) {
        let mut cause = one(work);
        let mut link = Link::new(name(work), signals(work));
        let below = cause
            .as_ref()
            .map_or_else(Vec::new, |cause| troubles(hub, work, cause));
        let stops = cause.is_some() && first.is_none();
        link.stops = stops && below.is_empty();
        links.push(link);
        let named = below
            .iter()
            .position(|trouble| trouble.is_named)
            .unwrap_or_default();
        if let Some((cause, trouble)) = cause.as_mut().zip(below.get(named)) {
            add_reason(cause, trouble);
        }
        for (position, Trouble { mut link, .. }) in below.into_iter().enumerate() {
            link.stops = stops && position == named;
            links.push(link);
        }
        first = first.or(cause);
    }
    first
}

fn one(work: &Work) -> Option<Cause> {
    let look = get("manifestwork", &work.namespace, &work.name);
    let because = |doc, detail: String| Some(Cause::new(doc, detail).typing(look.clone()));
    if work.meta.deleting {
        return because(causes::WORK_MISSING, "the work is being deleted".to_owned());
    }
    let applied = work.applied.as_ref().filter(|signal| signal.current);
    match applied.map(|signal| signal.status) {
        None => {
            return because(
                causes::NOT_REPORTED,
                "the agent has not reported on the current generation of the work".to_owned(),
            );
        }
        Some(Status::True) => {}
        Some(Status::False | Status::Unknown) => {
            let message = applied.map_or("", |signal| &*signal.message);
            let detail = if work.failure.is_empty() {
                message
            } else {
                &*work.failure
            };
            return because(causes::APPLY_FAILED, detail.to_owned());
        }
    }
    if let Some(workload) = work.workloads.iter().find(|workload| is_short(workload)) {
        let name = workload_name(workload);
        let resource = workload.resource.strip_suffix('s').unwrap_or(&workload.resource);
        let look = describe(resource, &workload.namespace, &workload.name);
        return Some(
            Cause::new(causes::WORKLOAD, format!("{name} is not ready")).typing(format!(
                "{look}   # with the kubeconfig of cluster {}",
                quoted(&work.namespace)
            )),
        );
    }
    let available = work.available.as_ref().filter(|signal| signal.current);
    match available {
        Some(Signal {
            status: Status::False | Status::Unknown,
            message,
            ..
        }) => because(causes::UNAVAILABLE, message.to_string()),
        None => because(
            causes::NOT_REPORTED,
            "the agent has not reported whether the resources of the work are available".to_owned(),
        ),
        Some(_) => None,
    }
}

/// Adds to a cause what the manifest that it is about reports. The failure of an application already contains its message.
fn add_reason(cause: &mut Cause, trouble: &Trouble) {
    if !trouble.is_named || trouble.reason.is_empty() {
        return;
    }
    if cause.doc == causes::WORKLOAD {
        cause.detail.extend([": ", &trouble.reason]);
    } else if cause.doc == causes::UNAVAILABLE {
        cause
            .detail
            .extend([": ", &trouble.link.object, ": ", &trouble.reason]);
    }
}

fn is_short(workload: &Workload) -> bool {
    matches!((workload.desired, workload.ready), (Some(desired), ready) if ready.unwrap_or_default() < desired)
}

fn workload_name(workload: &Workload) -> String {
    let Workload {
        resource,
        namespace,
        name,
        ..
    } = workload;
    format!(
        "{} {namespace}/{name}",
        resource.strip_suffix('s').unwrap_or(resource)
    )
}

fn name(work: &Work) -> String {
    format!("ManifestWork {}/{}", work.namespace, work.name)
}

fn signals(work: &Work) -> String {
    let said = |name: &str, signal: Option<&Signal>| match signal {
        None => format!("{name} not reported"),
        Some(signal) if !signal.current => {
            format!("{name} {} (of an older generation)", signal.status.as_str())
        }
        Some(signal) => format!("{name} {}", signal.status.as_str()),
    };
    format!(
        "generation {}, {}, {}",
        work.meta.generation,
        said("Applied", work.applied.as_ref()),
        said("Available", work.available.as_ref())
    )
}

/// A manifest that something is said about.
struct Trouble {
    link: Link,
    /// Whether the cause is about it, so that the chain stops there and not at what only suffers from it.
    is_named: bool,
    /// What the agent reports about it, apart from its replicas.
    reason: String,
}

/// The manifests of a work that something is said about: refused, not there, or short of replicas. The first that the cause is about is
/// always among them.
fn troubles(hub: &Hub, work: &Work, cause: &Cause) -> Vec<Trouble> {
    let key = ObjectKey::new(Kind::Work, work.namespace.clone(), work.name.clone());
    let manifests = hub
        .object(&key)
        .and_then(|object| object.pointer("/status/resourceStatus/manifests"))
        .and_then(Value::as_array);
    let short = work.workloads.iter().find(|workload| is_short(workload));
    let mut found: Vec<Trouble> = manifests
        .into_iter()
        .flatten()
        .filter_map(|manifest| trouble(manifest, cause, short))
        .collect();
    let named = found.iter().position(|trouble| trouble.is_named);
    if let Some(named) = named.filter(|named| *named >= MOST_MANIFESTS) {
        found.swap(named, MOST_MANIFESTS - 1);
    }
    found.truncate(MOST_MANIFESTS);
    found
}

/// Tells whether a cause is about a manifest of which an agent says that.
fn is_about(cause: &Cause, failing: Option<&str>, is_short: bool) -> bool {
    if cause.doc == causes::WORKLOAD {
        is_short
    } else if cause.doc == causes::APPLY_FAILED {
        failing == Some("Applied")
    } else {
        failing == Some("Available")
    }
}

fn trouble(manifest: &Value, cause: &Cause, missing: Option<&Workload>) -> Option<Trouble> {
    let meta = |name: &str| {
        manifest
            .pointer(&format!("/resourceMeta/{name}"))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let conditions = manifest.get("conditions").and_then(Value::as_array);
    let failing = conditions.into_iter().flatten().find(|condition| {
        let text = |name: &str| condition.get(name).and_then(Value::as_str);
        matches!(text("type"), Some("Applied" | "Available")) && text("status") == Some("False")
    });
    let values = manifest
        .pointer("/statusFeedback/values")
        .and_then(Value::as_array);
    let number = |names: [&str; 2]| {
        let found = values.into_iter().flatten().find(|value| {
            value
                .get("name")
                .and_then(Value::as_str)
                .is_some_and(|name| names.contains(&name))
        });
        found
            .and_then(|value| value.pointer("/fieldValue/integer"))
            .and_then(Value::as_i64)
    };
    let wanted = number(["Replicas", "DesiredNumberScheduled"]);
    let ready = number(["ReadyReplicas", "NumberReady"]).unwrap_or_default();
    let short = wanted.filter(|wanted| ready < *wanted);
    let of_failing = |name: &str| failing?.get(name).and_then(Value::as_str);
    let message = of_failing("message").unwrap_or_default();
    let mut said: Vec<String> = short
        .map(|wanted| format!("{ready}/{wanted} ready"))
        .into_iter()
        .collect();
    said.extend(of_failing("type").map(|kind| format!("{kind} False: {message}")));
    if said.is_empty() {
        return None;
    }
    let texts: Vec<String> = values.into_iter().flatten().filter_map(feedback_text).collect();
    let own =
        Some(message).filter(|message| !(message.is_empty() || short.is_some() && *message == NOT_THERE));
    let reasons: Vec<&str> = own.into_iter().chain(texts.iter().map(String::as_str)).collect();
    let reason = reasons.join(", ");
    said.extend(texts);
    let (kind, namespace, name) = (meta("kind"), meta("namespace"), meta("name"));
    let kind = if kind.is_empty() { meta("resource") } else { kind };
    let object = if namespace.is_empty() {
        format!("{kind} {name}")
    } else {
        format!("{kind} {namespace}/{name}")
    };
    let is_short = missing.is_some_and(|workload| {
        (meta("resource"), namespace, name) == (&*workload.resource, &*workload.namespace, &*workload.name)
    });
    Some(Trouble {
        link: Link::new(object, said.join(", ")),
        is_named: is_about(cause, of_failing("type"), is_short),
        reason,
    })
}

/// Returns a text that a feedback rule of the template has read, such as the reason of a condition.
fn feedback_text(value: &Value) -> Option<String> {
    let text = value.pointer("/fieldValue/string")?.as_str()?;
    let name = value.get("name")?.as_str()?;
    (!text.is_empty()).then(|| format!("{name} {text}"))
}
