//! Pods inside manifests, and how something is added to them.
//!
//! Decides which manifests run pods that are decorated. What an author wrote is never doubled: a name that is taken is
//! either kept or replaced, as the caller asks.

use serde_json::{Map, Value, json};

use crate::render::object::text;
use crate::size_budget::SizeBudget;

/// A JSON object.
pub(super) type Object = Map<String, Value>;

/// What happens to an environment variable that a container has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnvPrecedence {
    /// The author of the template knew better.
    Stays,
    /// The configuration knows better.
    Gives,
}

/// Returns the plural name of a workload that is decorated.
pub(in crate::render) fn workload_resource(manifest: &Value) -> Option<&'static str> {
    match (text(manifest, "/apiVersion"), text(manifest, "/kind")) {
        ("apps/v1", "Deployment") => Some("deployments"),
        ("apps/v1", "DaemonSet") => Some("daemonsets"),
        ("apps/v1", "StatefulSet") => Some("statefulsets"),
        _ => None,
    }
}

/// Returns the spec of the pods that a manifest runs.
pub(super) fn pod_spec(manifest: &mut Value) -> Option<&mut Object> {
    let pointer = match text(manifest, "/kind") {
        "Pod" => "/spec",
        _ => "/spec/template/spec",
    };
    manifest.pointer_mut(pointer)?.as_object_mut()
}

/// Returns the containers of a pod in the list with this name.
pub(super) fn containers<'p>(pod: &'p mut Object, list: &str) -> impl Iterator<Item = &'p mut Object> {
    let found = pod.get_mut(list).and_then(Value::as_array_mut);
    found.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Gives a container an environment variable.
pub(super) fn set_env(
    container: &mut Object,
    name: &str,
    value: &str,
    taken: EnvPrecedence,
    budget: &SizeBudget,
) {
    let Some(env) = list(container, "env") else { return };
    if !budget.take(name.len().saturating_add(value.len())) {
        return;
    }
    let entry = json!({"name": name, "value": value});
    match (env.iter_mut().find(|one| text(one, "/name") == name), taken) {
        (Some(_), EnvPrecedence::Stays) => {}
        (Some(known), EnvPrecedence::Gives) => *known = entry,
        (None, EnvPrecedence::Stays | EnvPrecedence::Gives) => env.push(entry),
    }
}

/// Gives a pod a volume and every container a mount of it. A volume of that name stays what it is, and so does whatever a
/// container has mounted at that path.
pub(super) fn mount(pod: &mut Object, volume: &Value, path: &str, budget: &SizeBudget) {
    let name = text(volume, "/name");
    if let Some(volumes) = list(pod, "volumes")
        && !volumes.iter().any(|known| text(known, "/name") == name)
    {
        volumes.push(volume.clone());
    }
    for container in containers(pod, "containers") {
        if budget.take(name.len().saturating_add(path.len()))
            && let Some(mounts) = list(container, "volumeMounts")
            && !mounts
                .iter()
                .any(|known| text(known, "/mountPath").trim_end_matches('/') == path)
        {
            mounts.push(json!({"name": name, "mountPath": path}));
        }
    }
}

/// Returns a list that something is going to be added to; it is made when it is absent.
fn list<'o>(object: &'o mut Object, key: &str) -> Option<&'o mut Vec<Value>> {
    let slot = object.entry(key).or_insert(Value::Null);
    if slot.is_null() {
        *slot = json!([]);
    }
    slot.as_array_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: &Value) -> Object {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_variable_that_is_taken_stays_or_gives_way() {
        let container = || object(&json!({"env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]}));
        let with = |name: &str, taken: EnvPrecedence| {
            let mut container = container();
            set_env(&mut container, name, "1", taken, &SizeBudget::default());
            container["env"].clone()
        };
        assert_eq!(with("A", EnvPrecedence::Stays), container()["env"]);
        assert_eq!(
            with("A", EnvPrecedence::Gives),
            json!([{"name": "A", "value": "1"}])
        );
        let both = json!([{"name": "A", "valueFrom": {"fieldRef": {}}}, {"name": "B", "value": "1"}]);
        assert_eq!(with("B", EnvPrecedence::Stays), both);
        let mut odd = object(&json!({"env": "text"}));
        set_env(&mut odd, "A", "1", EnvPrecedence::Gives, &SizeBudget::default());
        assert_eq!(
            odd["env"], "text",
            "what is no list is left to the cluster's API server"
        );
    }

    #[test]
    fn nothing_is_mounted_twice() {
        let volume = json!({"name": "v", "secret": {"secretName": "s"}});
        let mut pod = object(&json!({"containers": [{"name": "a"},
            {"name": "b", "volumeMounts": [{"name": "own", "mountPath": "/at/"}]}], "initContainers": [{"name": "i"}]}));
        mount(&mut pod, &volume, "/at", &SizeBudget::default());
        mount(&mut pod, &volume, "/at", &SizeBudget::default());
        let expected = json!({"volumes": [volume], "initContainers": [{"name": "i"}], "containers": [
            {"name": "a", "volumeMounts": [{"name": "v", "mountPath": "/at"}]},
            {"name": "b", "volumeMounts": [{"name": "own", "mountPath": "/at/"}]}]});
        assert_eq!(Value::Object(pod), expected);
    }
}
