//! What accounts of a cluster may do, as the cluster roles and bindings of works say it. Roles that works have not written are
//! not known, but for `cluster-admin`.

use serde_json::Value;

use super::{ObjectKey, store::VirtualCluster};

const GROUP: &str = "rbac.authorization.k8s.io";
/// Roles with this label are the work agent's as well.
const OF_AGENT: &str = "open-cluster-management.io/aggregate-to-work";
/// The account of the work agent: its namespace and its name.
const AGENT: (&str, &str) = ("open-cluster-management-agent", "klusterlet-work-sa");

/// Returns whether a service account, given by its namespace and its name, may do this everywhere on the cluster.
pub(super) fn may(cluster: &VirtualCluster, account: (&str, &str), what: (&str, &str)) -> bool {
    let mut bindings = cluster.of_resource(GROUP, "clusterrolebindings");
    bindings.any(|binding| binds(&binding, account) && allows(&binding, cluster, what))
}

/// Returns whether the work agent may change the `ClusterVersion`, or what an API server says when it tries.
pub(super) fn agent_may_upgrade(cluster: &VirtualCluster) -> Result<(), String> {
    let what = ("clusterversions", "patch");
    let aggregated = |role: &Value| {
        let labels = role.pointer("/metadata/labels");
        labels
            .and_then(|labels| labels.get(OF_AGENT))
            .is_some_and(|label| label == "true")
            && has_rule(role, what)
    };
    let mut roles = cluster.of_resource(GROUP, "clusterroles");
    if roles.any(|role| aggregated(&role)) || may(cluster, AGENT, what) {
        return Ok(());
    }
    let (namespace, name) = AGENT;
    Err(format!(
        "clusterversions.config.openshift.io \"version\" is forbidden: User \"system:serviceaccount:{namespace}:{name}\" cannot \
         patch resource \"clusterversions\" in API group \"config.openshift.io\" at the cluster scope"
    ))
}

fn binds(binding: &Value, (namespace, name): (&str, &str)) -> bool {
    let subjects = binding.get("subjects").and_then(Value::as_array);
    let is = |subject: &Value, key: &str, wanted: &str| subject.get(key).is_some_and(|value| value == wanted);
    subjects.is_some_and(|subjects| {
        subjects.iter().any(|subject| {
            is(subject, "kind", "ServiceAccount")
                && is(subject, "name", name)
                && is(subject, "namespace", namespace)
        })
    })
}

/// Returns whether the role of a binding lets this be done.
fn allows(binding: &Value, cluster: &VirtualCluster, what: (&str, &str)) -> bool {
    let Some(name) = binding.pointer("/roleRef/name").and_then(Value::as_str) else {
        return false;
    };
    let key = ObjectKey {
        group: GROUP.to_owned(),
        resource: "clusterroles".to_owned(),
        namespace: String::new(),
        name: name.to_owned(),
    };
    name == "cluster-admin" || cluster.object(&key).is_some_and(|role| has_rule(&role, what))
}

fn has_rule(role: &Value, (resource, verb): (&str, &str)) -> bool {
    let has = |rule: &Value, list: &str, wanted: &str| {
        let list = rule.get(list).and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|entry| entry == wanted || entry == "*"))
    };
    let rules = role.get("rules").and_then(Value::as_array);
    rules.is_some_and(|rules| {
        rules
            .iter()
            .any(|rule| has(rule, "resources", resource) && has(rule, "verbs", verb))
    })
}
