//! OCM's add-on manager on the same hub, as far as it writes about template add-ons: which add-ons it manages, the form of its works, its
//! references and conditions.
//!
//! Written from its observed writes, not from its code. It acts at once: no rollout, no failure, no certificate.

use std::collections::BTreeMap;

use api::hash::{ConfigKey, SpecHash, render_config_spec_hash};
use serde_json::{Value, json};
use store::{Kind, ObjectKey};

use super::world::World;

const GROUP: &str = "addon.open-cluster-management.io";
const LIFECYCLE: &str = "addon.open-cluster-management.io/lifecycle";
const CONFIG_HASHES: &str = "open-cluster-management.io/config-spec-hash";
const NAMESPACE: &str = "open-cluster-management-agent-addon";

/// Lets the neighbour act once on everything; returns how many objects it has written.
pub(crate) fn act(world: &mut World) -> usize {
    let addons: Vec<Value> = of_kind(world, Kind::AddOn);
    addons.iter().map(|addon| act_on(world, addon)).sum()
}

fn act_on(world: &mut World, addon: &Value) -> usize {
    let mut written = 0;
    if is_mine(addon) {
        for cluster in selected(world, addon) {
            written += install(world, addon, &cluster);
        }
    }
    written += write_defaults(world, addon);
    for instance in instances(world, addon) {
        if is_mine(addon) {
            written += assign(world, addon, &instance);
        }
        // Its manager for template add-ons asks for the type alone, never for the annotation.
        if lists_templates(addon) {
            written += deploy(world, addon, &instance);
        }
        if is_mine(addon) {
            written += progress(world, &instance);
        }
    }
    written
}

/// Absent or exactly its own name; any other value, empty included, is another manager's.
pub(crate) fn is_mine(addon: &Value) -> bool {
    let value = addon["metadata"]["annotations"].get(LIFECYCLE);
    value.is_none_or(|value| value == "addon-manager")
}

fn lists_templates(addon: &Value) -> bool {
    supported(addon)
        .iter()
        .any(|one| one["resource"] == "addontemplates")
}

fn supported(addon: &Value) -> &[Value] {
    addon["spec"]["supportedConfigs"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

fn of_kind(world: &World, kind: Kind) -> Vec<Value> {
    let all = world.objects.iter().filter(|(key, _)| key.kind == kind);
    all.map(|(_, object)| object.clone()).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn instances(world: &World, addon: &Value) -> Vec<ObjectKey> {
    let name = text(&addon["metadata"]["name"]);
    let keys = world.objects.keys();
    keys.filter(|key| key.kind == Kind::Instance && *key.name == *name)
        .cloned()
        .collect()
}

fn placements(addon: &Value) -> Vec<Value> {
    let listed = addon.pointer("/spec/installStrategy/placements");
    listed.and_then(Value::as_array).cloned().unwrap_or_default()
}

fn selected(world: &World, addon: &Value) -> Vec<String> {
    let names: Vec<String> = placements(addon).iter().map(|one| text(&one["name"])).collect();
    let label = "cluster.open-cluster-management.io/placement";
    let decisions = of_kind(world, Kind::Decision);
    let decisions = decisions
        .iter()
        .filter(|one| names.contains(&text(&one["metadata"]["labels"][label])));
    decisions
        .flat_map(|one| one["status"]["decisions"].as_array().cloned().unwrap_or_default())
        .map(|one| text(&one["clusterName"]))
        .collect()
}

fn owner(kind: &str, object: &Value) -> Value {
    json!([{"apiVersion": format!("{GROUP}/v1beta1"), "kind": kind, "name": object["metadata"]["name"],
        "uid": object["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}])
}

fn install(world: &mut World, addon: &Value, cluster: &str) -> usize {
    let name = text(&addon["metadata"]["name"]);
    if world
        .objects
        .contains_key(&ObjectKey::new(Kind::Instance, cluster, &*name))
    {
        return 0;
    }
    world.put(
        Kind::Instance,
        json!({"metadata": {"name": name, "namespace": cluster,
            "ownerReferences": owner("ClusterManagementAddOn", addon)}, "spec": {}}),
    );
    1
}

/// The defaults of all clusters, then those of the first placement; the reserved name means none.
fn wanted(addon: &Value) -> Vec<Value> {
    let defaults = supported(addon).iter().filter_map(|one| {
        let config = one.get("defaultConfig")?;
        Some(json!({"group": one["group"], "resource": one["resource"],
            "namespace": config["namespace"], "name": config["name"]}))
    });
    let mut wanted: Vec<Value> = defaults.collect();
    let own = placements(addon).first().map(|one| one["configs"].clone());
    for config in own.as_ref().and_then(Value::as_array).into_iter().flatten() {
        wanted.retain(|one| one["resource"] != config["resource"]);
        wanted.push(config.clone());
    }
    wanted.sort_by_key(|one| (text(&one["group"]), text(&one["resource"])));
    wanted
}

fn config(world: &World, of: &Value) -> Option<(Value, String)> {
    let (kind, namespace) = match of["resource"].as_str() {
        Some("addontemplates") => (Kind::Template, String::new()),
        Some("addondeploymentconfigs") => (Kind::DeploymentConfig, text(&of["namespace"])),
        _ => return None,
    };
    let object = world
        .objects
        .get(&ObjectKey::new(kind, &*namespace, &*text(&of["name"])))?;
    Some((object.clone(), SpecHash::of(object).to_string()))
}

fn referent(of: &Value, hash: &str) -> Value {
    let mut referent = json!({"name": of["name"], "specHash": hash});
    if of["namespace"].is_string() {
        referent["namespace"] = of["namespace"].clone();
    }
    referent
}

/// Defaults stand in the status of every add-on, whatever manages it.
fn write_defaults(world: &mut World, addon: &Value) -> usize {
    let key = World::key(Kind::AddOn, addon);
    let listed = supported(addon).iter().filter_map(|one| {
        let config = one.get("defaultConfig")?;
        let of = json!({"resource": one["resource"], "namespace": config["namespace"], "name": config["name"]});
        let (_, hash) = self::config(world, &of)?;
        Some(json!({"group": one["group"], "resource": one["resource"], "desiredConfig": referent(&of, &hash)}))
    });
    let listed: Vec<Value> = listed.collect();
    if listed.is_empty() && addon["status"].get("defaultconfigReferences").is_none() {
        return 0;
    }
    write_status(world, &key, &json!({"defaultconfigReferences": listed}))
}

fn assign(world: &mut World, addon: &Value, key: &ObjectKey) -> usize {
    let stored = world.objects[key].clone();
    let known = stored["status"]["configReferences"].as_array().cloned();
    let references = wanted(addon).into_iter().filter_map(|of| {
        let (_, hash) = config(world, &of)?;
        let before = known
            .iter()
            .flatten()
            .find(|one| one["resource"] == of["resource"] && one["desiredConfig"]["name"] == of["name"]);
        let mut reference = json!({"group": of["group"], "resource": of["resource"], "name": of["name"],
            "desiredConfig": referent(&of, &hash), "lastObservedGeneration": 0});
        if of["namespace"].is_string() {
            reference["namespace"] = of["namespace"].clone();
        }
        for field in ["lastAppliedConfig", "lastObservedGeneration"] {
            if let Some(value) = before.and_then(|one| one.get(field)) {
                reference[field] = value.clone();
            }
        }
        Some(reference)
    });
    let references: Vec<Value> = references.collect();
    let mut written = 0;
    // Mirrors of the hash are another program's: a list that differs in them alone is the same.
    let is_same = |known: &[Value]| {
        known.len() == references.len()
            && known.iter().zip(&references).all(|(one, other)| {
                one["desiredConfig"] == other["desiredConfig"] && one["resource"] == other["resource"]
            })
    };
    if !known.as_deref().is_some_and(is_same) {
        written += write_status(world, key, &json!({"configReferences": references}));
    }
    written
        + write_condition(
            world,
            key,
            ("Configured", "True", "ConfigurationsConfigured"),
            "Configurations configured",
        )
}

/// Writes the work of an instance whose status names a template with a hash.
fn deploy(world: &mut World, addon: &Value, key: &ObjectKey) -> usize {
    let instance = world.objects[key].clone();
    let references = instance["status"]["configReferences"].as_array().cloned();
    let references = references.unwrap_or_default();
    let of = references.iter().find(|one| one["resource"] == "addontemplates");
    let Some((template, _)) = of.and_then(|of| config(world, of)) else {
        return 0;
    };
    let spec = work_spec(&template, addon, &key.namespace);
    let name = format!("addon-{}-deploy-0", &*key.name);
    let place = ObjectKey::new(Kind::Work, &*key.namespace, &*name);
    let mut written = 0;
    let stored = world.objects.get(&place);
    let hashes = hashes(&references);
    // It overwrites everything else with its own content.
    let is_same = stored.is_some_and(|work| {
        work["spec"] == spec && work["metadata"]["annotations"][CONFIG_HASHES] == json!(hashes)
    });
    if !is_same {
        let metadata = json!({"name": name, "namespace": &*key.namespace,
            "labels": {"open-cluster-management.io/addon-name": &*key.name},
            "annotations": {(CONFIG_HASHES): hashes},
            "ownerReferences": owner("ManagedClusterAddOn", &instance)});
        world.put(Kind::Work, json!({"metadata": metadata, "spec": spec}));
        written += 1;
    }
    let conditions = [
        (
            "RegistrationApplied",
            "True",
            "NilRegistration",
            "Registration of the addon agent is configured".to_owned(),
        ),
        (
            "ManifestApplied",
            "True",
            "AddonManifestApplied",
            "manifests of addon are applied successfully".to_owned(),
        ),
        (
            "Available",
            "True",
            "ProbeAvailable",
            format!("{} add-on is available.", &*key.name),
        ),
    ];
    for (kind, status, reason, message) in conditions {
        written += write_condition(world, key, (kind, status, reason), &message);
    }
    written
}

fn hashes(references: &[Value]) -> String {
    let each = references.iter().map(|one| {
        let key = ConfigKey {
            resource: text(&one["resource"]),
            group: text(&one["group"]),
            namespace: text(&one["desiredConfig"]["namespace"]),
            name: text(&one["desiredConfig"]["name"]),
        };
        (key, text(&one["desiredConfig"]["specHash"]))
    });
    render_config_spec_hash(&each.collect::<BTreeMap<_, _>>())
}

/// Its agents have confirmed the work, so the configuration counts as applied.
fn progress(world: &mut World, key: &ObjectKey) -> usize {
    let works = world.works(&key.namespace);
    let is_ready = |key: &ObjectKey| {
        let work = &world.objects[key];
        let conditions = work["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let generation = &work["metadata"]["generation"];
        !conditions.is_empty()
            && conditions
                .iter()
                .all(|one| one["observedGeneration"] == *generation)
    };
    if works.is_empty() || !works.iter().all(is_ready) {
        let told = ("Progressing", "True", "Progressing");
        return write_condition(world, key, told, "progressing... work is not ready");
    }
    let mut references = world.objects[key]["status"]["configReferences"].clone();
    for one in references.as_array_mut().into_iter().flatten() {
        one["lastAppliedConfig"] = one["desiredConfig"].clone();
    }
    let told = ("Progressing", "False", "Completed");
    write_status(world, key, &json!({"configReferences": references}))
        + write_condition(world, key, told, "completed with no errors.")
}

fn write_status(world: &mut World, key: &ObjectKey, patch: &Value) -> usize {
    let mut merged = world.objects[key].clone();
    json_patch::merge(&mut merged, &json!({"status": patch}));
    if merged["status"] == world.objects[key]["status"] {
        return 0;
    }
    world.put_status(key, patch);
    1
}

/// Conditions have no generation; one that has is written again.
fn write_condition(
    world: &mut World,
    key: &ObjectKey,
    (kind, status, reason): (&str, &str, &str),
    message: &str,
) -> usize {
    let known = world.objects[key]["status"]["conditions"].as_array().cloned();
    let mut conditions = known.unwrap_or_default();
    let at = conditions.iter().position(|one| one["type"] == kind);
    let before = at.map(|at| conditions[at].clone()).unwrap_or_default();
    let since = if before["status"] == status {
        before["lastTransitionTime"].clone()
    } else {
        json!(world.now.to_string())
    };
    let new = json!({"type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": since});
    if before == new {
        return 0;
    }
    match at {
        Some(at) => conditions[at] = new,
        None => conditions.push(new),
    }
    write_status(world, key, &json!({"conditions": conditions}))
}

/// The spec of its work: the largest manifests first, Deployments and DaemonSets as Go's types write them.
fn work_spec(template: &Value, addon: &Value, cluster: &str) -> Value {
    let agent = &template["spec"]["agentSpec"];
    let filled = agent["workload"]["manifests"]
        .to_string()
        .replace("{{CLUSTER_NAME}}", cluster)
        .replace("{{INSTALL_NAMESPACE}}", NAMESPACE);
    let mut manifests: Vec<Value> = serde_json::from_str(&filled).expect("manifests are a list");
    let registered = template["spec"]["registration"]
        .as_array()
        .is_some_and(|all| !all.is_empty());
    let name = text(&addon["metadata"]["name"]);
    let mut configs = Vec::new();
    for manifest in &mut manifests {
        let (kind, resource) = match manifest["kind"].as_str() {
            Some("Deployment") => ("strategy", "deployments"),
            Some("DaemonSet") => ("updateStrategy", "daemonsets"),
            _ => continue,
        };
        decorate(manifest, &name, cluster, registered);
        as_typed(manifest, kind);
        configs.push(
            json!({"resourceIdentifier": {"group": "apps", "resource": resource,
            "namespace": manifest["metadata"]["namespace"], "name": manifest["metadata"]["name"]},
            "feedbackRules": [{"type": "WellKnownStatus"}], "feedbackScrapeType": "Poll"}),
        );
    }
    manifests.sort_by_key(|one| std::cmp::Reverse(one.to_string().len()));
    json!({"workload": {"manifests": manifests}, "manifestConfigs": configs})
}

/// Environment and kubeconfig of every container.
fn decorate(manifest: &mut Value, addon: &str, cluster: &str, registered: bool) {
    let pod = &mut manifest["spec"]["template"]["spec"];
    let mut environment = vec![("CLUSTER_NAME", cluster), ("INSTALL_NAMESPACE", NAMESPACE)];
    if registered {
        environment.insert(0, ("HUB_KUBECONFIG", "/managed/hub-kubeconfig/kubeconfig"));
        let volume =
            json!({"name": "hub-kubeconfig", "secret": {"secretName": format!("{addon}-hub-kubeconfig")}});
        push(&mut pod["volumes"], volume);
    }
    for container in pod["containers"].as_array_mut().expect("containers") {
        for (name, value) in &environment {
            push(&mut container["env"], json!({"name": name, "value": value}));
        }
        if registered {
            let mount = json!({"name": "hub-kubeconfig", "mountPath": "/managed/hub-kubeconfig"});
            push(&mut container["volumeMounts"], mount);
        }
    }
}

fn push(list: &mut Value, item: Value) {
    if list.is_null() {
        *list = json!([]);
    }
    list.as_array_mut().expect("a list").push(item);
}

/// What Go's types write beside what they have read; nulls do not reach the hub's store.
fn as_typed(manifest: &mut Value, strategy: &str) {
    let spec = &mut manifest["spec"];
    if spec[strategy].is_null() {
        spec[strategy] = json!({});
    }
    for container in spec["template"]["spec"]["containers"]
        .as_array_mut()
        .expect("containers")
    {
        if container["resources"].is_null() {
            container["resources"] = json!({});
        }
        for variable in container["env"].as_array_mut().into_iter().flatten() {
            if variable["value"] == "" {
                variable.as_object_mut().expect("a variable").remove("value");
            }
        }
    }
    manifest["status"] = if strategy == "strategy" {
        json!({})
    } else {
        json!({"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0})
    };
}
