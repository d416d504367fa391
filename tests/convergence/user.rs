//! The model user and the model scheduler: what they do, at random times, and how a story of it is written down.
//!
//! Decides which edits are possible. Every step is written in the words of the plan scripts, as far as these have words.

use serde_json::{Value, json};
use tidegate::snapshot::{Kind, ObjectKey};

use super::agents::{Agents, Mood};
use super::dice::Dice;
use super::hub::{Hub, is_deleting, text};

const GROUP: &str = "addon.open-cluster-management.io";
pub(crate) const ADDON: &str = "hello";
const LEAVE: &str = "cluster.open-cluster-management.io/api-resource-cleanup";
/// Clusters of the largest world.
pub(crate) const CLUSTERS: usize = 8;

/// How the changes of a placement travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    All,
    /// So many at once, soak in seconds, deadline in seconds (0: none), how many may fail, canaries first.
    Progressive(u8, u8, u8, u8, bool),
    /// Soak in seconds, deadline in seconds (0: none), how many may fail.
    PerGroup(u8, u8, u8),
}

/// What a ClusterManagementAddOn says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AddonSpec {
    /// The second placement, with a configuration of its own.
    pub(crate) second: bool,
    pub(crate) manual: bool,
    pub(crate) pace: [Pace; 2],
}

/// Something that a user, a scheduler or a cluster does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Join(usize),
    Leave(usize),
    /// Placement, clusters as bits, and whether the first of them is the canary group.
    Decide(usize, u8, bool),
    /// The scheduler writes its decisions anew: deletes them now, and decides later.
    Undecide(usize),
    ForgetPlacement(usize),
    Config(usize, u32),
    DropConfig(usize),
    Template(u8, u32),
    Addon(AddonSpec),
    DropAddon,
    /// A user gives the add-on of a cluster its own configuration, or takes it back.
    Own(usize, bool),
    Make(usize),
    DropInstance(usize),
    OptOut(usize, bool),
    /// Every rollout of the add-on is paused, or goes on.
    Pause(bool),
    EditWork(usize),
    DropWork(usize),
    Feel(usize, Mood),
}

pub(crate) fn cluster(n: usize) -> String {
    format!("c{}", n + 1)
}

fn placement(n: usize) -> String {
    format!("p{n}")
}

fn config(n: usize) -> Value {
    json!({"group": GROUP, "resource": "addondeploymentconfigs", "name": format!("config{n}"), "namespace": "default"})
}

/// Returns a step, and whether it is one that a random user would take.
pub(crate) fn random(dice: &mut Dice, clusters: usize, edition: u32, paces: &[Pace]) -> Step {
    let n = dice.below(clusters);
    let which = dice.below(2);
    let mask = u8::try_from(dice.below(256)).unwrap_or(0);
    match dice.below(43) {
        0 | 1 => Step::Join(n),
        2 => Step::Leave(n),
        3..=8 => Step::Decide(which, mask, dice.happens(40)),
        9 | 10 => Step::Undecide(which),
        11 => Step::ForgetPlacement(which),
        12..=18 => Step::Config(which, edition),
        19 => Step::DropConfig(which),
        20..=22 => Step::Template(u8::try_from(dice.below(4)).unwrap_or(0), edition),
        23..=25 => Step::Addon(addon_spec(dice, paces)),
        26 => Step::DropAddon,
        27..=29 => Step::Own(n, dice.happens(60)),
        30 => Step::Make(n),
        31 | 32 => Step::DropInstance(n),
        33 => Step::EditWork(n),
        34 => Step::DropWork(n),
        35 => Step::OptOut(n, dice.happens(60)),
        36 | 37 => Step::Pause(dice.happens(60)),
        _ => Step::Feel(
            n,
            dice.pick(&[Mood::Well, Mood::Failing, Mood::Unavailable, Mood::Offline]),
        ),
    }
}

pub(crate) fn addon_spec(dice: &mut Dice, paces: &[Pace]) -> AddonSpec {
    AddonSpec {
        second: dice.happens(60),
        manual: dice.happens(10),
        pace: [dice.pick(paces), dice.pick(paces)],
    }
}

/// Carries a step out on the hub.
pub(crate) fn act(hub: &mut Hub, agents: &mut Agents, step: &Step) {
    match step {
        Step::Join(n) => join(hub, &cluster(*n)),
        Step::Leave(n) => {
            hub.delete(&ObjectKey::new(Kind::Cluster, "", cluster(*n)), None)
                .ok();
        }
        Step::Decide(which, mask, grouped) => decide(hub, *which, *mask, *grouped),
        Step::Undecide(which) => undecide(hub, *which),
        Step::ForgetPlacement(which) => {
            hub.delete(
                &ObjectKey::new(Kind::Placement, "default", placement(*which)),
                None,
            )
            .ok();
            undecide(hub, *which);
        }
        Step::Config(which, edition) => hub.put(Kind::DeploymentConfig, &config_object(*which, *edition)),
        Step::DropConfig(which) => {
            let key = ObjectKey::new(Kind::DeploymentConfig, "default", format!("config{which}"));
            hub.delete(&key, None).ok();
        }
        Step::Template(variant, edition) => hub.put(Kind::Template, &template(*variant, *edition)),
        Step::Addon(spec) => hub.put(Kind::AddOn, &addon(spec)),
        Step::DropAddon => {
            hub.delete(&ObjectKey::new(Kind::AddOn, "", ADDON), None).ok();
        }
        Step::Own(n, own) => own_config(hub, &cluster(*n), *own),
        Step::Make(n) => {
            let metadata = json!({"name": ADDON, "namespace": cluster(*n)});
            hub.create(Kind::Instance, json!({"metadata": metadata, "spec": {}}))
                .ok();
        }
        Step::DropInstance(n) => {
            hub.delete(&ObjectKey::new(Kind::Instance, cluster(*n), ADDON), None)
                .ok();
        }
        Step::OptOut(n, out) => {
            let addon = if *out { json!(ADDON) } else { Value::Null };
            let key = ObjectKey::new(Kind::Cluster, "", cluster(*n));
            annotate(hub, &key, "tidegate.io/opt-out", &addon);
        }
        Step::Pause(paused) => {
            let everything = if *paused { json!("*") } else { Value::Null };
            annotate(
                hub,
                &ObjectKey::new(Kind::AddOn, "", ADDON),
                "tidegate.io/paused",
                &everything,
            );
        }
        Step::EditWork(n) => edit_works(hub, &cluster(*n)),
        Step::DropWork(n) => {
            for key in works(hub, &cluster(*n)) {
                hub.delete(&key, None).ok();
            }
        }
        Step::Feel(n, mood) => agents.feel(hub, &cluster(*n), *mood),
    }
}

fn annotate(hub: &mut Hub, key: &ObjectKey, name: &str, value: &Value) {
    let patch = json!({"metadata": {"annotations": {(name): value}}});
    hub.patch(key, &patch, super::hub::Part::Main, None).ok();
}

fn join(hub: &mut Hub, name: &str) {
    let key = ObjectKey::new(Kind::Cluster, "", name);
    if hub.get(&key).is_some() || hub.has_namespace(name) {
        return;
    }
    hub.open_namespace(name);
    let metadata = json!({"name": name, "finalizers": [LEAVE]});
    hub.create(
        Kind::Cluster,
        json!({"metadata": metadata, "spec": {"hubAcceptsClient": true}}),
    )
    .ok();
    let condition = json!({"type": "ManagedClusterConditionAvailable", "status": "True", "reason": "Up", "message": "",
        "lastTransitionTime": "2030-01-01T00:00:00Z"});
    hub.put_status(&key, &json!({"conditions": [condition]}));
}

/// Clusters that exist only: a scheduler knows no others.
fn decide(hub: &mut Hub, which: usize, mask: u8, grouped: bool) {
    let exists = |n: &usize| {
        let key = ObjectKey::new(Kind::Cluster, "", cluster(*n));
        hub.get(&key).is_some_and(|found| !is_deleting(found))
    };
    let wanted = (0..CLUSTERS).filter(|n| mask & (1 << n) != 0);
    let clusters: Vec<String> = wanted.filter(exists).map(cluster).collect();
    let name = placement(which);
    let spec = json!({"metadata": {"name": name, "namespace": "default"}, "spec": {}});
    hub.put(Kind::Placement, &spec);
    let (canary, rest) = clusters.split_at(usize::from(grouped).min(clusters.len()));
    let groups = [("canary", canary), ("", rest)];
    let groups = groups.iter().filter(|(name, _)| grouped || name.is_empty());
    for (index, (group, clusters)) in groups.enumerate() {
        write_decision(hub, &name, (index, group), clusters);
    }
    if !grouped {
        hub.delete(
            &ObjectKey::new(Kind::Decision, "default", format!("{name}-decision-2")),
            None,
        )
        .ok();
    }
    let counted = json!({"numberOfSelectedClusters": clusters.len()});
    hub.put_status(&ObjectKey::new(Kind::Placement, "default", name), &counted);
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
    for number in 1..=2 {
        let name = format!("{}-decision-{number}", placement(which));
        hub.delete(&ObjectKey::new(Kind::Decision, "default", name), None)
            .ok();
    }
}

/// The edition stands in the text, so that what a work carries can be traced to one edit.
fn config_object(which: usize, edition: u32) -> Value {
    let variables = json!([{"name": "MESSAGE", "value": format!("config{which}-{edition}")}]);
    json!({"metadata": {"name": format!("config{which}"), "namespace": "default"}, "spec": {"customizedVariables": variables}})
}

fn template(variant: u8, edition: u32) -> Value {
    let data = match variant {
        0 | 1 => json!({"message": "{{MESSAGE}}", "template": format!("template-{edition}")}),
        2 => json!({"message": "{{MESSAGE}}", "cluster": "{{CLUSTER_NAME}}"}),
        _ => json!({"template": format!("template-{edition}"), "unknown": "{{NOBODY_KNOWS}}"}),
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
    json!({"metadata": {"name": ADDON}, "spec": spec})
}

fn strategy(pace: Pace) -> Value {
    let seconds = |field: &str, of: u8| (of > 0).then(|| (field.to_owned(), json!(format!("{of}s"))));
    let block = |soak: u8, deadline: u8, failures: u8, more: Value| {
        let mut block = more;
        if let Some(fields) = block.as_object_mut() {
            fields.extend(seconds("minSuccessTime", soak));
            fields.extend(seconds("progressDeadline", deadline));
            fields.insert("maxFailures".to_owned(), json!(failures));
        }
        block
    };
    match pace {
        Pace::All => json!({"type": "All"}),
        Pace::Progressive(at_once, soak, deadline, failures, canary) => {
            let groups = if canary {
                json!([{"groupName": "canary"}])
            } else {
                json!([])
            };
            let more = json!({"maxConcurrency": at_once, "mandatoryDecisionGroups": groups});
            json!({"type": "Progressive", "progressive": block(soak, deadline, failures, more)})
        }
        Pace::PerGroup(soak, deadline, failures) => {
            json!({"type": "ProgressivePerGroup", "progressivePerGroup": block(soak, deadline, failures, json!({}))})
        }
    }
}

fn addon(spec: &AddonSpec) -> Value {
    let mut placements =
        vec![json!({"name": "p0", "namespace": "default", "rolloutStrategy": strategy(spec.pace[0])})];
    if spec.second {
        placements.push(
            json!({"name": "p1", "namespace": "default", "configs": [config(1)],
            "rolloutStrategy": strategy(spec.pace[1])}),
        );
    }
    let install = if spec.manual {
        json!({"type": "Manual"})
    } else {
        json!({"type": "Placements", "placements": placements})
    };
    let defaults = json!([
        {"group": GROUP, "resource": "addontemplates", "defaultConfig": {"name": ADDON}},
        {"group": GROUP, "resource": "addondeploymentconfigs", "defaultConfig": {"name": "config0", "namespace": "default"}}]);
    json!({"metadata": {"name": ADDON}, "spec": {"supportedConfigs": defaults, "installStrategy": install}})
}

fn own_config(hub: &mut Hub, cluster: &str, own: bool) {
    let key = ObjectKey::new(Kind::Instance, cluster, ADDON);
    let configs = if own { json!([config(1)]) } else { json!([]) };
    let patch = json!({"spec": {"configs": configs}});
    hub.patch(&key, &patch, super::hub::Part::Main, None).ok();
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
/// and everything is decided.
pub(crate) fn closing(steps: &[Step], clusters: usize) -> Vec<Step> {
    let last = |is: &dyn Fn(&Step) -> Option<Step>| steps.iter().rev().find_map(is);
    let mut closing: Vec<Step> = (0..clusters).map(|n| Step::Feel(n, Mood::Well)).collect();
    closing.push(Step::Pause(false));
    for which in 0..2 {
        let decided = last(&|step| match step {
            Step::Decide(of, ..) if *of == which => Some(step.clone()),
            _ => None,
        });
        closing.push(decided.unwrap_or(Step::Decide(which, 0, false)));
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
    if steps.iter().rev().find_map(renders) == Some(false) {
        closing.push(Step::Template(0, 1));
    }
    closing
}

/// Writes a step in the words of the plan scripts; what they have no word for becomes a comment.
pub(crate) fn lines(step: &Step) -> Vec<String> {
    let given = |kind: &str, mut object: Value| {
        object["kind"] = json!(kind);
        vec!["given".to_owned(), format!("  {object}")]
    };
    match step {
        Step::Join(n) => vec![format!("cluster add {}", cluster(*n))],
        Step::Leave(n) => vec![format!("cluster leave {}", cluster(*n))],
        Step::Decide(which, mask, grouped) => {
            let names: Vec<String> = (0..CLUSTERS)
                .filter(|n| mask & (1 << n) != 0)
                .map(cluster)
                .collect();
            let names = if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(" ")
            };
            let mut lines = vec![format!("placement {} {names}", placement(*which))];
            lines.extend(grouped.then(|| "# the first of them is the decision group \"canary\"".to_owned()));
            lines
        }
        Step::Undecide(which) => vec![format!("placement {} undecided", placement(*which))],
        Step::ForgetPlacement(which) => vec![format!("placement {} deleted", placement(*which))],
        Step::Config(which, edition) => vec![format!(
            "config set config{which} MESSAGE=config{which}-{edition}"
        )],
        Step::DropConfig(which) => vec![format!("delete AddOnDeploymentConfig default/config{which}")],
        Step::Template(variant, edition) => given("AddOnTemplate", template(*variant, *edition)),
        Step::Addon(spec) => given("ClusterManagementAddOn", addon(spec)),
        Step::DropAddon => vec![format!("delete ClusterManagementAddOn {ADDON}")],
        Step::Own(n, own) => {
            let configs = if *own { json!([config(1)]) } else { json!([]) };
            let metadata = json!({"name": ADDON, "namespace": cluster(*n)});
            given(
                "ManagedClusterAddOn",
                json!({"metadata": metadata, "spec": {"configs": configs}}),
            )
        }
        Step::Make(n) => {
            let metadata = json!({"name": ADDON, "namespace": cluster(*n)});
            given("ManagedClusterAddOn", json!({"metadata": metadata, "spec": {}}))
        }
        Step::DropInstance(n) => vec![format!("delete ManagedClusterAddOn {}/{ADDON}", cluster(*n))],
        Step::OptOut(n, out) => vec![format!(
            "# annotation tidegate.io/opt-out of {}: {out}",
            cluster(*n)
        )],
        Step::Pause(paused) => vec![format!("# annotation tidegate.io/paused of the add-on: {paused}")],
        Step::EditWork(n) => vec![format!("work edited {}", cluster(*n))],
        Step::DropWork(n) => vec![format!("work deleting {}", cluster(*n))],
        Step::Feel(n, mood) => vec![match mood {
            Mood::Well => format!("work applied {}", cluster(*n)),
            Mood::Failing => format!("work failed {} \"quota exceeded\"", cluster(*n)),
            Mood::Unavailable => format!("work unavailable {}", cluster(*n)),
            Mood::Offline => format!("# the agent of {} goes offline", cluster(*n)),
        }],
    }
}

/// Returns the text that the works of a configuration's edition carry.
pub(crate) fn message_of(config: &Value) -> &str {
    text(config, "/spec/customizedVariables/0/value")
}
