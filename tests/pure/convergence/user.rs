//! The model user and the model scheduler: their edits at random times, and how a scenario is printed.
//!
//! Steps are printed in the language of the plan scripts where possible.

use serde_json::{Value, json};
use store::{Kind, ObjectKey};

use super::agents::{Agents, Mood};
use super::dice::Dice;
use super::hub::{Hub, is_deleting, text};
use super::spec::{AddonSpec, LABEL, OnFailure};
use crate::kit::approvals::approval;
use crate::kit::settings::set_level;

pub(crate) const GROUP: &str = "addon.open-cluster-management.io";
pub(crate) const ADDON: &str = "hello";
/// The template of version v2.
pub(crate) const NEWER: &str = "hello-two";
const VERSION: &str = "addon.open-cluster-management.io/version";
const LEAVE: &str = "cluster.open-cluster-management.io/api-resource-cleanup";
/// Clusters of the largest world.
pub(crate) const CLUSTERS: usize = 8;

/// How a scheduler groups the clusters of a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Groups {
    One,
    /// The first cluster is the group "canary".
    Canary,
    /// Every cluster is a group; the first is "canary".
    Each,
}

/// What a scenario leaves broken at the end; everything else is repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Well,
    /// Agents that failed last fail permanently.
    Failing,
    /// What was paused last stays paused.
    Paused,
}

/// Something that a user, a scheduler or a cluster does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Join(usize),
    Leave(usize),
    /// Placement, clusters as bits, and how they are grouped.
    Decide(usize, u8, Groups),
    /// The scheduler rewrites its decisions: deletes them now, and decides later.
    Undecide(usize),
    ForgetPlacement(usize),
    Config(usize, u32),
    DropConfig(usize),
    Template(u8, u32),
    /// The template of the newer version.
    Newer(u32),
    /// The version that a user chooses for a cluster: none, v1 or v2.
    Choose(usize, u8),
    /// A GitOps tool begins to apply the add-on of a cluster, with a version.
    TakeOver(usize),
    Label(usize, bool),
    Addon(AddonSpec),
    DropAddon,
    /// A user gives the add-on of a cluster its own configuration, or takes it back.
    Own(usize, bool),
    Make(usize),
    DropInstance(usize),
    OptOut(usize, bool),
    /// What is paused: nothing, the first placement, everything.
    Pause(u8),
    /// What was undone until now is tried again.
    Retry,
    /// Nothing is undone any more, neither what was nor what comes.
    NeverUndo,
    /// Before which groups changes wait for an approval: none, every group of the first placement, every canary.
    Ask(u8),
    /// A user approves of what waits for that, as the waiting clusters say it.
    Approve,
    EditWork(usize),
    DropWork(usize),
    Feel(usize, Mood),
}

pub(crate) fn cluster(n: usize) -> String {
    format!("c{}", n + 1)
}

pub(crate) fn placement(n: usize) -> String {
    format!("p{n}")
}

pub(crate) fn config(n: usize) -> Value {
    json!({"group": GROUP, "resource": "addondeploymentconfigs", "name": format!("config{n}"), "namespace": "default"})
}

/// Returns a step, and whether it is one that a random user would take.
pub(crate) fn random(dice: &mut Dice, clusters: usize, edition: u32) -> Step {
    let n = dice.below(clusters);
    let which = dice.below(2);
    let mask = u8::try_from(dice.below(256)).unwrap_or(0);
    match dice.below(52) {
        0 | 1 => Step::Join(n),
        2 => Step::Leave(n),
        3..=8 => Step::Decide(which, mask, groups(dice)),
        9 | 10 => Step::Undecide(which),
        11 => Step::ForgetPlacement(which),
        12..=18 => Step::Config(which, edition),
        19 => Step::DropConfig(which),
        20..=22 => Step::Template(u8::try_from(dice.below(4)).unwrap_or(0), edition),
        23..=25 => Step::Addon(AddonSpec::any(dice)),
        26 => Step::DropAddon,
        27..=29 => Step::Own(n, dice.happens(60)),
        30 => Step::Make(n),
        31 | 32 => Step::DropInstance(n),
        33 => Step::EditWork(n),
        34 => Step::DropWork(n),
        35 => Step::OptOut(n, dice.happens(60)),
        37 => match dice.pick(&[0, 0, 1, 2, 3]) {
            3 => Step::Retry,
            paused => Step::Pause(paused),
        },
        36 => dice.pick(&[
            Step::Ask(0),
            Step::Ask(1),
            Step::Ask(2),
            Step::Approve,
            Step::Approve,
        ]),
        38..=40 => match dice.pick(&[0, 1, 2, 3, 3]) {
            3 => Step::TakeOver(n),
            version => Step::Choose(n, version),
        },
        41 | 42 => Step::Newer(edition),
        43 | 44 => Step::Label(n, dice.happens(50)),
        _ => Step::Feel(
            n,
            dice.pick(&[
                Mood::Well,
                Mood::Failing,
                Mood::Failing,
                Mood::Unavailable,
                Mood::Offline,
            ]),
        ),
    }
}

pub(crate) fn groups(dice: &mut Dice) -> Groups {
    dice.pick(&[Groups::One, Groups::One, Groups::Canary, Groups::Each])
}

/// Carries a step out on the hub.
pub(crate) fn act(hub: &mut Hub, agents: &mut Agents, step: &Step) {
    match step {
        Step::Decide(which, mask, groups) => decide(hub, *which, *mask, *groups),
        Step::Undecide(which) => undecide(hub, *which),
        Step::ForgetPlacement(which) => {
            remove(hub, Kind::Placement, "default", &placement(*which));
            undecide(hub, *which);
        }
        Step::Config(which, edition) => hub.put(Kind::DeploymentConfig, &config_object(*which, *edition)),
        Step::DropConfig(which) => {
            remove(hub, Kind::DeploymentConfig, "default", &format!("config{which}"));
        }
        Step::Template(variant, edition) => hub.put(Kind::Template, &template(*variant, *edition)),
        Step::Newer(edition) => hub.put(Kind::Template, &newer(*edition)),
        Step::Addon(spec) => {
            hub.put(Kind::AddOn, &spec.object());
            let mode = match spec.on_failure {
                OnFailure::Undo => json!("Undo"),
                OnFailure::Stop => Value::Null,
            };
            set(hub, None, "onFailure", &mode);
        }
        Step::Retry => {
            let at = json!(hub.now);
            set(hub, None, "retriedAt", &at);
        }
        Step::NeverUndo => {
            set(hub, None, "onFailure", &Value::Null);
            set(hub, None, "retriedAt", &json!("2040-01-01T00:00:00Z"));
        }
        Step::DropAddon => remove(hub, Kind::AddOn, "", ADDON),
        Step::Pause(paused) => {
            let pause = |is_it: bool| if is_it { json!({}) } else { Value::Null };
            set(hub, None, "pause", &pause(*paused == 2));
            set(hub, Some("default/p0"), "pause", &pause(*paused == 1));
        }
        Step::Ask(asked) => {
            let ask = |is_it: bool, group: &str| if is_it { json!([group]) } else { Value::Null };
            set(hub, None, "approvalBefore", &ask(*asked == 2, "canary"));
            set(hub, Some("default/p0"), "approvalBefore", &ask(*asked == 1, "*"));
        }
        Step::Approve => {
            let now = hub.now.to_string();
            for (placement, group, content) in asked(hub) {
                hub.put(
                    Kind::Approval,
                    &approval(ADDON, &placement, &group, &[&content], &now),
                );
            }
        }
        Step::Join(n) | Step::Leave(n) | Step::OptOut(n, _) | Step::Label(n, _) | Step::Feel(n, _) => {
            act_on_cluster(hub, agents, &cluster(*n), step);
        }
        Step::Own(n, _) | Step::Make(n) | Step::DropInstance(n) | Step::Choose(n, _) | Step::TakeOver(n) => {
            act_on_instance(hub, &cluster(*n), step);
        }
        Step::EditWork(n) => edit_works(hub, &cluster(*n)),
        Step::DropWork(n) => {
            for key in works(hub, &cluster(*n)) {
                hub.delete(&key, None).ok();
            }
        }
    }
}

fn act_on_cluster(hub: &mut Hub, agents: &mut Agents, name: &str, step: &Step) {
    let mark = |hub: &mut Hub, field: &str, key: &str, value: Value| {
        let of = ObjectKey::new(Kind::Cluster, "", name);
        let patch = json!({"metadata": {(field): {(key): value}}});
        hub.patch(&of, &patch, super::hub::Part::Main, None).ok();
    };
    match step {
        Step::Join(_) => join(hub, name),
        Step::Leave(_) => remove(hub, Kind::Cluster, "", name),
        Step::OptOut(_, out) => {
            let addon = if *out { json!(ADDON) } else { Value::Null };
            mark(hub, "annotations", "tidegate.io/opt-out", addon);
        }
        Step::Label(_, on) => {
            let value = if *on { json!("prod") } else { Value::Null };
            mark(hub, "labels", LABEL, value);
        }
        Step::Feel(_, mood) => {
            agents.feel(hub, name, *mood);
            hear(hub, name, *mood != Mood::Offline);
        }
        _ => {}
    }
}

fn act_on_instance(hub: &mut Hub, cluster: &str, step: &Step) {
    match step {
        Step::Own(_, own) => {
            let configs = if *own { json!([config(1)]) } else { json!([]) };
            edit(
                hub,
                Kind::Instance,
                cluster,
                &json!({"spec": {"configs": configs}}),
            );
        }
        Step::Make(_) => {
            let metadata = json!({"name": ADDON, "namespace": cluster});
            hub.create(Kind::Instance, json!({"metadata": metadata, "spec": {}}))
                .ok();
        }
        Step::DropInstance(_) => remove(hub, Kind::Instance, cluster, ADDON),
        Step::Choose(_, version) => {
            let patch = json!({"spec": {"desiredVersion": chosen(*version)}});
            edit(hub, Kind::Instance, cluster, &patch);
        }
        Step::TakeOver(_) => edit(hub, Kind::Instance, cluster, &taken_over()),
        _ => {}
    }
}

fn remove(hub: &mut Hub, kind: Kind, namespace: &str, name: &str) {
    hub.delete(&ObjectKey::new(kind, namespace, name), None).ok();
}

/// Patches the add-on, or its instance on a cluster.
fn edit(hub: &mut Hub, kind: Kind, namespace: &str, patch: &Value) {
    let key = ObjectKey::new(kind, namespace, ADDON);
    hub.patch(&key, patch, super::hub::Part::Main, None).ok();
}

/// Sets a field of the AddOnRollout, or removes it.
fn set(hub: &mut Hub, place: Option<&str>, field: &str, value: &Value) {
    let key = ObjectKey::new(Kind::Rollout, "", ADDON);
    let known = hub.get(&key).map(|object| Value::clone(object));
    let mut object = known.unwrap_or_else(|| json!({"metadata": {"name": ADDON}, "spec": {"addon": ADDON}}));
    set_level(&mut object["spec"], place, field, value);
    hub.put(Kind::Rollout, &object);
}

/// Whether the hub hears of a cluster.
fn hear(hub: &mut Hub, name: &str, heard: bool) {
    let key = ObjectKey::new(Kind::Cluster, "", name);
    if hub.get(&key).is_none() {
        return;
    }
    let (status, reason) = if heard {
        ("True", "Up")
    } else {
        ("Unknown", "Silent")
    };
    let condition = json!({"type": "ManagedClusterConditionAvailable", "status": status, "reason": reason, "message": "",
        "lastTransitionTime": "2030-01-01T00:00:00Z"});
    hub.put_status(&key, &json!({"conditions": [condition]}));
}

fn join(hub: &mut Hub, name: &str) {
    let key = ObjectKey::new(Kind::Cluster, "", name);
    if hub.get(&key).is_some() || hub.has_namespace(name) {
        return;
    }
    hub.open_namespace(name);
    let metadata = json!({"name": name, "finalizers": [LEAVE], "labels": {(LABEL): "prod"}});
    hub.create(
        Kind::Cluster,
        json!({"metadata": metadata, "spec": {"hubAcceptsClient": true}}),
    )
    .ok();
    hear(hub, name, true);
}

/// Clusters that exist only: a scheduler knows no others.
fn decide(hub: &mut Hub, which: usize, mask: u8, groups: Groups) {
    let exists = |n: &usize| {
        let key = ObjectKey::new(Kind::Cluster, "", cluster(*n));
        hub.get(&key).is_some_and(|found| !is_deleting(found))
    };
    let wanted = (0..CLUSTERS).filter(|n| mask & (1 << n) != 0);
    let clusters: Vec<String> = wanted.filter(exists).map(cluster).collect();
    let name = placement(which);
    let spec = json!({"metadata": {"name": name, "namespace": "default"}, "spec": {}});
    hub.put(Kind::Placement, &spec);
    let (canary, rest) = clusters.split_at(usize::from(groups != Groups::One).min(clusters.len()));
    let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
    if groups != Groups::One {
        grouped.push(("canary".to_owned(), canary.to_vec()));
    }
    match groups {
        Groups::One | Groups::Canary => grouped.push((String::new(), rest.to_vec())),
        Groups::Each => grouped.extend(rest.iter().map(|one| (format!("of-{one}"), vec![one.clone()]))),
    }
    for number in grouped.len()..=CLUSTERS {
        hub.delete(&decision(&name, number), None).ok();
    }
    for (index, (group, clusters)) in grouped.iter().enumerate() {
        write_decision(hub, &name, (index, group), clusters);
    }
    let counted = json!({"numberOfSelectedClusters": clusters.len()});
    hub.put_status(&ObjectKey::new(Kind::Placement, "default", name), &counted);
}

fn decision(placement: &str, index: usize) -> ObjectKey {
    ObjectKey::new(
        Kind::Decision,
        "default",
        format!("{placement}-decision-{}", index + 1),
    )
}

fn write_decision(hub: &mut Hub, placement: &str, group: (usize, &str), clusters: &[String]) {
    let labels = json!({"cluster.open-cluster-management.io/placement": placement,
        "cluster.open-cluster-management.io/decision-group-index": group.0.to_string(),
        "cluster.open-cluster-management.io/decision-group-name": group.1});
    let name = format!("{placement}-decision-{}", group.0 + 1);
    let metadata = json!({"name": name, "namespace": "default", "labels": labels});
    hub.put(Kind::Decision, &json!({"metadata": metadata}));
    let each: Vec<Value> = clusters
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    hub.put_status(
        &ObjectKey::new(Kind::Decision, "default", name),
        &json!({"decisions": each}),
    );
}

fn undecide(hub: &mut Hub, which: usize) {
    for index in 0..=CLUSTERS {
        hub.delete(&decision(&placement(which), index), None).ok();
    }
}

/// The text contains the edition, so that the content of a work can be traced to one edit.
fn config_object(which: usize, edition: u32) -> Value {
    let variables = json!([{"name": "MESSAGE", "value": format!("config{which}-{edition}")}]);
    json!({"metadata": {"name": format!("config{which}"), "namespace": "default"}, "spec": {"customizedVariables": variables}})
}

pub(crate) fn template(variant: u8, edition: u32) -> Value {
    let data = match variant {
        0 | 1 => json!({"message": "{{MESSAGE}}", "template": format!("template-{edition}")}),
        2 => json!({"message": "{{MESSAGE}}", "cluster": "{{CLUSTER_NAME}}"}),
        _ => json!({"template": format!("template-{edition}"), "unknown": "{{NOT_SET}}"}),
    };
    let first = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "agent", "namespace": "x"}, "data": data});
    let second = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "agent", "namespace": "x"},
        "spec": {"replicas": 1}});
    let manifests = if variant == 1 {
        json!([first, second])
    } else {
        json!([first])
    };
    let spec = json!({"addonName": ADDON, "agentSpec": {"workload": {"manifests": manifests}}});
    let labels = json!({VERSION: "v1"});
    json!({"metadata": {"name": ADDON, "labels": labels}, "spec": spec})
}

pub(crate) fn newer(edition: u32) -> Value {
    let mut template = template(0, edition);
    template["metadata"] = json!({"name": NEWER, "labels": {VERSION: "v2"}});
    template
}

/// What the hub keeps when a tool applies an add-on with a version.
pub(crate) fn taken_over() -> Value {
    let fields = json!({"f:spec": {"f:desiredVersion": {}}});
    let entry = json!({"manager": "kustomize-controller", "operation": "Apply", "fieldsV1": fields});
    json!({"metadata": {"managedFields": [entry]}, "spec": {"desiredVersion": chosen(1)}})
}

/// Returns whether a tool applies an add-on.
pub(crate) fn is_taken_over(instance: &Value) -> bool {
    instance.pointer("/metadata/managedFields").is_some()
}

pub(crate) fn chosen(version: u8) -> Value {
    [Value::Null, json!("v1"), json!("v2")][usize::from(version)].clone()
}

/// The entries that would approve of everything that waits for that.
fn asked(hub: &Hub) -> std::collections::BTreeSet<(String, String, String)> {
    let mut entries = std::collections::BTreeSet::new();
    for (_, instance) in hub.of_kind(Kind::Instance) {
        for condition in instance["status"]["conditions"].as_array().into_iter().flatten() {
            let message = text(condition, "/message");
            let word = |before: &str, after: &str| {
                let (_, rest) = message.split_once(before)?;
                Some(rest.split(after).next()?.to_owned())
            };
            let entry = word(" of placement ", " ")
                .zip(word("decision group ", " "))
                .zip(word("(content ", ")"));
            let entry = entry.map(|((placement, group), content)| (placement, group, content));
            entries.extend(entry.filter(|_| text(condition, "/reason") == "WaitingForApproval"));
        }
    }
    entries
}

fn works(hub: &Hub, cluster: &str) -> Vec<ObjectKey> {
    let here = hub
        .of_kind(Kind::Work)
        .filter(|(key, _)| &*key.namespace == cluster);
    here.map(|(key, _)| key.clone()).collect()
}

fn edit_works(hub: &mut Hub, cluster: &str) {
    for key in works(hub, cluster) {
        let patch =
            json!({"metadata": {"labels": {"foreign": "kept"}}, "spec": {"workload": {"manifests": []}}});
        hub.patch(&key, &patch, super::hub::Part::Main, None).ok();
    }
}

/// What the last steps must leave behind, so that the end does not depend on the way: everything that is referred to exists,
/// and everything is decided. What a story leaves broken stays so where its `ending` says so.
pub(crate) fn closing(steps: &[Step], clusters: usize, ending: Ending) -> Vec<Step> {
    let last = |is: &dyn Fn(&Step) -> Option<Step>| steps.iter().rev().find_map(is);
    let fails = |n: usize| {
        let felt = last(&|step| matches!(step, Step::Feel(of, _) if *of == n).then(|| step.clone()));
        felt == Some(Step::Feel(n, Mood::Failing))
    };
    let stays = |n: usize| ending == Ending::Failing && fails(n);
    let mut closing: Vec<Step> = (0..clusters)
        .filter(|n| !stays(*n))
        .map(|n| Step::Feel(n, Mood::Well))
        .collect();
    if ending != Ending::Paused {
        closing.extend([Step::Pause(0), Step::Ask(0)]);
    }
    // What was undone before depends on the history.
    if ending != Ending::Failing {
        closing.push(Step::NeverUndo);
    }
    for which in 0..2 {
        let decided = last(&|step| match step {
            Step::Decide(of, ..) if *of == which => Some(step.clone()),
            _ => None,
        });
        closing.push(decided.unwrap_or(Step::Decide(which, 0, Groups::One)));
        let configured = last(&|step| match step {
            Step::Config(of, _) if *of == which => Some(step.clone()),
            _ => None,
        });
        closing.push(configured.unwrap_or(Step::Config(which, 0)));
    }
    // Works stay as they were while nothing can be rendered.
    let renders = |step: &Step| match step {
        Step::Template(variant, _) => Some(*variant < 3),
        _ => None,
    };
    if steps.iter().rev().find_map(renders) != Some(true) {
        closing.push(Step::Template(0, 1));
    }
    if !steps.iter().any(|step| matches!(step, Step::Newer(_))) {
        closing.push(Step::Newer(1));
    }
    closing
}

/// Returns the text that the works of a configuration's edition carry.
pub(crate) fn message_of(config: &Value) -> &str {
    text(config, "/spec/customizedVariables/0/value")
}
