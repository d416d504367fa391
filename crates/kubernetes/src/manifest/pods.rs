//! Whether the parts of a pod fit together: names of containers, volumes that are mounted, and when it is started again.
//!
//! Decides what every API server refuses, and no taste.

use std::collections::BTreeMap;

use crate::field::{Class, Fault, Path, Violation, nearest, quoted};
use serde_json::Value;

use super::aspect::{Aspect, Effort};

const CONTAINERS: [&str; 2] = ["initContainers", "containers"];

/// Where the pods of a kind are described, and when they may be started again.
struct Workload {
    steps: &'static [&'static str],
    restarts: &'static [&'static str],
}

const ANY: &[&str] = &["Always", "OnFailure", "Never"];

fn workload(manifest: &Value) -> Option<Workload> {
    let text = |name: &str| manifest.get(name).and_then(Value::as_str);
    let (steps, restarts): (&[&str], &[&str]) = match (text("apiVersion")?, text("kind")?) {
        ("v1", "Pod") => (&["spec"], ANY),
        ("v1", "ReplicationController")
        | ("apps/v1", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") => {
            (&["spec", "template", "spec"], &["Always"])
        }
        ("batch/v1", "Job") => (&["spec", "template", "spec"], &["OnFailure", "Never"]),
        ("batch/v1", "CronJob") => (
            &["spec", "jobTemplate", "spec", "template", "spec"],
            &["OnFailure", "Never"],
        ),
        (_, _) => return None,
    };
    Some(Workload { steps, restarts })
}

/// Adds what does not fit together in the pods of a manifest.
pub(super) fn check(manifest: &Value, at: &Path, effort: Effort<'_>, found: &mut Vec<Violation>) {
    let Some(workload) = workload(manifest) else {
        return;
    };
    let mut steps = workload.steps.iter();
    let Some((spec, place)) = steps.try_fold((manifest, at.clone()), |(value, path), step| {
        inside(value, &path, step)
    }) else {
        return;
    };
    let mut tell = |fault: Fault, at: Path| found.push(fault.at(at, Aspect::Pod.rule()));
    restarts(spec, &place, workload.restarts, &mut tell);
    let volumes = volumes(manifest, spec, effort);
    let mut names: BTreeMap<&str, Path> = BTreeMap::new();
    for list in CONTAINERS {
        let items = spec.get(list).and_then(Value::as_array);
        for (index, container) in items.into_iter().flatten().enumerate() {
            if !effort(1) {
                return;
            }
            let place = place.key(list).index(index);
            if let Some(name) = container.get("name").and_then(Value::as_str) {
                let at = place.key("name");
                match names.get(name) {
                    Some(first) => {
                        let fault =
                            Fault::of_text(Class::Duplicate, name, format!("is already listed at {first}"));
                        tell(fault, at);
                    }
                    None => {
                        names.insert(name, at);
                    }
                }
            }
            mounts(container, &place, volumes.as_deref(), effort, &mut tell);
        }
    }
}

fn inside<'a>(value: &'a Value, path: &Path, step: &'static str) -> Option<(&'a Value, Path)> {
    Some((value.get(step)?, path.key(step)))
}

fn restarts(spec: &Value, at: &Path, legal: &[&str], tell: &mut dyn FnMut(Fault, Path)) {
    let policy = spec.get("restartPolicy").and_then(Value::as_str);
    let is_job = !legal.contains(&"Always");
    match policy {
        None if is_job => {
            let detail = format!("must be one of {} in a Job", shown(legal));
            tell(Fault::bare(Class::Required, detail), at.key("restartPolicy"));
        }
        Some(policy) if !legal.contains(&policy) && !policy.contains("{{") => {
            let detail = format!("supported values here: {}", shown(legal));
            tell(
                Fault::of_text(Class::NotSupported, policy, detail),
                at.key("restartPolicy"),
            );
        }
        None | Some(_) => {}
    }
}

fn shown(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(", ")
}

/// The names of the volumes of a pod; nothing when one of them is known only on a cluster.
fn volumes<'a>(manifest: &'a Value, spec: &'a Value, effort: Effort<'_>) -> Option<Vec<&'a str>> {
    let volumes = spec.get("volumes").and_then(Value::as_array);
    let own = volumes.into_iter().flatten().map(|volume| volume.get("name"));
    let claims = manifest
        .pointer("/spec/volumeClaimTemplates")
        .and_then(Value::as_array);
    let claims = claims
        .into_iter()
        .flatten()
        .map(|claim| claim.pointer("/metadata/name"));
    let mut names = Vec::new();
    for name in own.chain(claims) {
        let name = name.and_then(Value::as_str).unwrap_or_default();
        if !effort(1) || name.contains("{{") {
            return None;
        }
        names.push(name);
    }
    Some(names)
}

fn mounts(
    container: &Value,
    at: &Path,
    volumes: Option<&[&str]>,
    effort: Effort<'_>,
    tell: &mut dyn FnMut(Fault, Path),
) {
    let Some(volumes) = volumes else { return };
    let mounts = container.get("volumeMounts").and_then(Value::as_array);
    for (index, mount) in mounts.into_iter().flatten().enumerate() {
        // Each is looked for among all volumes.
        if !effort(volumes.len().saturating_add(1)) {
            return;
        }
        let Some(name) = mount.get("name").and_then(Value::as_str) else {
            continue;
        };
        if volumes.contains(&name) || name.contains("{{") {
            continue;
        }
        let near = nearest(name, volumes.iter().copied());
        let hint = near.map(|near| format!("did you mean \"{near}\"?"));
        let fault = Fault::of_text(Class::NotFound, name, "the pod has no volume of this name").hint_if(hint);
        tell(fault, at.key("volumeMounts").index(index).key("name"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(kind: &str, spec: &Value) -> Vec<String> {
        let version = if kind == "Job" { "batch/v1" } else { "apps/v1" };
        let manifest = json!({"apiVersion": version, "kind": kind, "spec": {"template": {"spec": spec},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}]}});
        let mut found = Vec::new();
        check(&manifest, &Path::root(), &|_| true, &mut found);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn volumes_are_there_and_names_stand_once() {
        let spec = json!({"volumes": [{"name": "config"}],
            "initContainers": [{"name": "a", "volumeMounts": [{"name": "data", "mountPath": "/d"}]}],
            "containers": [{"name": "a", "volumeMounts": [{"name": "confg", "mountPath": "/c"}]}]});
        assert_eq!(
            told("StatefulSet", &spec),
            [
                "spec.template.spec.containers[0].name: Duplicate value: \"a\": is already listed at spec.template.spec.initContainers[0].name [manifest/pod]",
                "spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"confg\": the pod has no volume of this name; hint: did you mean \"config\"? [manifest/pod]",
            ]
        );
        let spec = json!({"volumes": [{"name": "{{X}}"}],
            "containers": [{"name": "a", "volumeMounts": [{"name": "confg", "mountPath": "/c"}]}]});
        assert_eq!(told("Deployment", &spec), Vec::<String>::new());
    }

    #[test]
    fn each_kind_starts_its_pods_again_in_its_own_way() {
        assert_eq!(
            told("Deployment", &json!({"restartPolicy": "Always"})),
            Vec::<String>::new()
        );
        assert_eq!(told("Deployment", &json!({})), Vec::<String>::new());
        assert_eq!(
            told("Job", &json!({"restartPolicy": "Never"})),
            Vec::<String>::new()
        );
        assert_eq!(
            told("Deployment", &json!({"restartPolicy": "Never"})),
            [
                "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values here: \"Always\" [manifest/pod]"
            ]
        );
        assert_eq!(
            told("Job", &json!({})),
            [
                "spec.template.spec.restartPolicy: Required value: must be one of \"OnFailure\", \"Never\" in a Job [manifest/pod]"
            ]
        );
    }
}
