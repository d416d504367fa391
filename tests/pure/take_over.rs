//! Taking over a hub from OCM's add-on manager, and running next to it: works are not written without need, and nothing at rest.
//!
//! `kit/stock.rs` simulates OCM's manager.

use insight::forecast::{Fate, TakeOver, take_over, take_over_plan, take_over_text};
use insight::offline::Hub;
use jiff::Timestamp;
use kubernetes::field::Listing;
use plan::Action;
use serde_json::{Value, json};
use store::{DiscoveryLabels, Kind, Managing, ObjectKey, Settings};

use crate::kit::manifests::repository;
use crate::kit::stock;
use crate::kit::world::World;

const GROUP: &str = "addon.open-cluster-management.io";
const LIFECYCLE: &str = "addon.open-cluster-management.io/lifecycle";

fn settings(managing: Managing) -> Settings {
    Settings {
        discovery_labels: DiscoveryLabels::Off,
        managing,
        ..Settings::default()
    }
}

fn named(kind: &str, api: &str, name: &str, body: &Value) -> Value {
    let mut object =
        json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "agents"}});
    json_patch::merge(&mut object, body);
    object
}

fn workload(kind: &str, container: &Value) -> Value {
    let pod = json!({"serviceAccountName": "agent", "containers": [container],
        "volumes": [{"name": "scratch", "emptyDir": {}}, {"name": "settings", "configMap": {"name": "settings"}}]});
    named(
        kind,
        "apps/v1",
        &format!("agent-{}", kind.to_lowercase()),
        &json!({"spec": {"selector": {"matchLabels": {"app": kind}},
            "template": {"metadata": {"labels": {"app": kind}}, "spec": pod}}}),
    )
}

/// Everything that templates usually bring.
fn manifests() -> Vec<Value> {
    let container = json!({"name": "main", "image": "quay.example/agent:1", "args": ["--cluster={{CLUSTER_NAME}}"],
        "env": [{"name": "LEVEL", "value": "info"}, {"name": "EMPTY", "value": ""}],
        "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8000}, "initialDelaySeconds": 2}});
    // OCM does not decorate StatefulSets. One that brings everything itself is the same to both.
    let mut own = container.clone();
    own["env"] = json!([
        {"name": "HUB_KUBECONFIG", "value": "/managed/hub-kubeconfig/kubeconfig"},
        {"name": "CLUSTER_NAME", "value": "{{CLUSTER_NAME}}"},
        {"name": "INSTALL_NAMESPACE", "value": "{{INSTALL_NAMESPACE}}"}]);
    own["volumeMounts"] = json!([{"name": "hub-kubeconfig", "mountPath": "/managed/hub-kubeconfig"}]);
    let mut set = workload("StatefulSet", &own);
    set["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "hub-kubeconfig", "secret": {"secretName": "hello-hub-kubeconfig"}}]);
    let rbac = "rbac.authorization.k8s.io";
    vec![
        named("ServiceAccount", "v1", "agent", &json!({})),
        named(
            "ConfigMap",
            "v1",
            "settings",
            &json!({"data": {"cluster": "{{CLUSTER_NAME}}", "empty": ""}}),
        ),
        workload("Deployment", &container),
        workload("DaemonSet", &container),
        set,
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.com"}, "spec": {"group": "example.com", "scope": "Cluster",
                "names": {"kind": "Thing", "plural": "things"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {}}}}}]}}),
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": "agent"},
            "rules": [{"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get", "list"]}]}),
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": "agent"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "agent"},
            "subjects": [{"kind": "ServiceAccount", "name": "agent", "namespace": "agents"}]}),
    ]
}

fn put_template(world: &mut World, addon: &str, manifests: &[Value]) {
    world.put(
        Kind::Template,
        json!({"metadata": {"name": format!("{addon}-v1")}, "spec": {"addonName": addon,
            "agentSpec": {"workload": {"manifests": manifests}}, "registration": [{"type": "KubeClient"}]}}),
    );
}

/// Who has an add-on, and whether its template stands among the types that it supports.
fn put_addon(world: &mut World, addon: &str, lifecycle: Option<&str>, lists_template: bool) {
    let template = json!({"group": GROUP, "resource": "addontemplates", "name": format!("{addon}-v1")});
    let mut placement = json!({"name": "all", "namespace": "default"});
    let mut supported = json!([]);
    if lists_template {
        supported = json!([{"group": GROUP, "resource": "addontemplates", "defaultConfig": {"name": format!("{addon}-v1")}}]);
    } else {
        placement["configs"] = json!([template]);
    }
    let mut metadata = json!({"name": addon});
    if let Some(value) = lifecycle {
        metadata["annotations"] = json!({(LIFECYCLE): value});
    }
    world.put(
        Kind::AddOn,
        json!({"metadata": metadata, "spec": {"supportedConfigs": supported,
            "installStrategy": {"type": "Placements", "placements": [placement]}}}),
    );
}

/// A hub on which OCM's manager has deployed an add-on to so many clusters, and is at rest.
fn of_stock(clusters: usize, manifests: &[Value]) -> World {
    let mut world = World::new(settings(Managing::All));
    let names: Vec<String> = (0..clusters).map(|number| format!("c{number}")).collect();
    for name in &names {
        world.add_cluster(name);
    }
    world.decide("all", &names);
    put_template(&mut world, "hello", manifests);
    put_addon(&mut world, "hello", None, true);
    rest_of_stock(&mut world, &names);
    world
}

fn rest_of_stock(world: &mut World, clusters: &[String]) {
    for _ in 0..4 {
        stock::act(world);
        for cluster in clusters {
            world.report(cluster, None, true);
        }
    }
    assert_eq!(stock::act(world), 0, "the neighbour is at rest");
}

fn hub(world: &World) -> Hub {
    let mut hub = Hub::default();
    for (key, object) in &world.objects {
        let mut object = object.clone();
        object["apiVersion"] = json!(key.kind.api_version());
        object["kind"] = json!(key.kind.address().kind);
        hub.put(object);
    }
    hub
}

fn forecast(world: &World) -> Vec<TakeOver> {
    let now: Timestamp = world.now;
    take_over(&hub(world), settings(Managing::All), now)
}

fn writes_a_work(action: &Action) -> bool {
    action.object().kind == Kind::Work
}

/// Lets Tidegate plan and write until nothing is left; returns how many works it wrote.
fn works_written(world: &mut World, addon: &str) -> usize {
    let mut written = 0;
    for _ in 0..6 {
        let plan = world.plan(addon);
        written += plan.actions.iter().filter(|action| writes_a_work(action)).count();
        world.apply(&plan);
    }
    assert!(world.is_settled(addon));
    written
}

#[test]
fn taking_over_two_hundred_clusters_moves_none_of_them() {
    let mut world = of_stock(200, &manifests());
    let before: Vec<Value> = (0..200)
        .map(|number| world.objects[&work(number)]["metadata"]["generation"].clone())
        .collect();
    let told = forecast(&world);
    assert!(
        told[0].changed.is_empty(),
        "{}",
        take_over_text(&told, Listing::Short)
    );
    assert!(take_over_text(&told, Listing::Short).ends_with("0 works would be written\n"));
    assert_eq!(works_written(&mut world, "hello"), 0);
    let after: Vec<Value> = (0..200)
        .map(|number| world.objects[&work(number)]["metadata"]["generation"].clone())
        .collect();
    assert_eq!(before, after);
    let instance = &world.objects[&ObjectKey::new(Kind::Instance, "c7", "hello")];
    let progressing = instance["status"]["conditions"].as_array().expect("conditions");
    let progressing = progressing.iter().find(|one| one["type"] == "Progressing");
    assert_eq!(
        progressing.expect("told")["status"],
        "False",
        "no cluster is updated"
    );
}

fn work(number: usize) -> ObjectKey {
    ObjectKey::new(Kind::Work, format!("c{number}"), "addon-hello-deploy-0")
}

#[test]
fn what_really_changes_is_written_in_full_and_once() {
    let mut world = of_stock(3, &manifests());
    assert_eq!(works_written(&mut world, "hello"), 0);
    let mut edited = manifests();
    edited[1]["data"]["cluster"] = json!("{{CLUSTER_NAME}}!");
    put_template(&mut world, "hello", &edited);
    assert_eq!(works_written(&mut world, "hello"), 3);
    let stored = &world.objects[&work(1)];
    let manifests = stored["spec"]["workload"]["manifests"]
        .as_array()
        .expect("manifests");
    assert_eq!(manifests[1]["data"]["cluster"], "c1!", "in the template's order");
    assert!(manifests[2].get("status").is_none(), "in our own form");
}

#[test]
fn a_work_that_says_something_else_is_never_left_alone() {
    let mut world = of_stock(2, &manifests());
    let mut stored = world.objects[&work(1)].clone();
    let image = stored["spec"]["workload"]["manifests"]
        .as_array_mut()
        .expect("manifests")
        .iter_mut()
        .find(|one| one["kind"] == "Deployment")
        .expect("the deployment");
    image["spec"]["template"]["spec"]["containers"][0]["image"] = json!("quay.example/agent:0");
    world.put(Kind::Work, stored);
    let told = forecast(&world);
    let changed: Vec<&Fate> = told[0].changed.values().collect();
    let [Fate::Written(differences)] = changed.as_slice() else {
        panic!("{}", take_over_text(&told, Listing::Short));
    };
    // A work that is written gets our own annotation as well.
    let paths: Vec<&str> = differences.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "metadata.annotations.configSpecHash",
            "Deployment agents/agent-deployment: spec.template.spec.containers[main].image"
        ]
    );
    assert_eq!(works_written(&mut world, "hello"), 1);
}

#[test]
fn hashes_in_another_place_or_of_other_content_are_put_right() {
    let key = "open-cluster-management.io/config-spec-hash";
    for annotations in [
        json!({(key): null}),
        json!({(key): "{}"}),
        json!({"configSpecHash": "{}"}),
    ] {
        let mut world = of_stock(1, &manifests());
        let mut stored = world.objects[&work(0)].clone();
        json_patch::merge(&mut stored["metadata"]["annotations"], &annotations);
        world.put(Kind::Work, stored);
        assert_eq!(works_written(&mut world, "hello"), 1, "{annotations}");
    }
}

#[test]
fn a_takeover_is_previewed() {
    let mut plain = manifests();
    plain[4] = workload(
        "StatefulSet",
        &json!({"name": "main", "image": "quay.example/agent:1"}),
    );
    let world = of_stock(3, &plain);
    let told = forecast(&world);
    let text = take_over_text(&told, Listing::Short);
    assert!(
        text.starts_with("hello: 3 of 3 works would be written\n"),
        "{text}"
    );
    let path =
        "3 works  StatefulSet agents/agent-statefulset: spec.template.spec.containers[main].env: absent -> ";
    assert!(text.contains(path), "{text}");
    let json = serde_json::to_value(take_over_plan(&told)).expect("JSON");
    assert_eq!(json["worksWritten"], 3);
    assert_eq!(json["addons"][0]["changed"][0]["fate"], "written");

    let mut unknown = manifests();
    unknown[1]["data"]["odd"] = json!("{{UNDEFINED}}");
    let world = of_stock(2, &unknown);
    let told = forecast(&world);
    assert!(told[0].changed.is_empty());
    assert_eq!(
        told[0].unrendered.len(),
        2,
        "{}",
        take_over_text(&told, Listing::Short)
    );
    assert!(take_over_text(&told, Listing::Short).contains("unknown variable \"UNDEFINED\""));
}

/// Tolerations without a node selector, and a StatefulSet, which OCM's manager does not decorate.
fn hub_with_differences() -> World {
    let mut all = manifests();
    all[4] = workload(
        "StatefulSet",
        &json!({"name": "main", "image": "quay.example/store:1"}),
    );
    let mut world = World::new(settings(Managing::All));
    let names: Vec<String> = (0..12).map(|number| format!("c{number}")).collect();
    for name in &names {
        world.add_cluster(name);
    }
    world.decide("all", &names);
    let tolerations = json!([{"key": "edge", "operator": "Exists"}]);
    world.put(
        Kind::DeploymentConfig,
        json!({"metadata": {"name": "edge", "namespace": "default"},
            "spec": {"nodePlacement": {"tolerations": tolerations}, "agentInstallNamespace": ""}}),
    );
    put_template(&mut world, "hello", &all);
    put_addon(&mut world, "hello", None, true);
    let mut addon = world.objects[&ObjectKey::new(Kind::AddOn, "", "hello")].clone();
    let supported = addon["spec"]["supportedConfigs"].as_array_mut().expect("a list");
    supported.push(json!({"group": GROUP, "resource": "addondeploymentconfigs",
        "defaultConfig": {"name": "edge", "namespace": "default"}}));
    world.put(Kind::AddOn, addon);
    rest_of_stock(&mut world, &names);
    world
}

#[test]
fn the_page_shows_what_is_printed() {
    let page = std::fs::read_to_string(repository("docs/ocm/take-over.md")).expect("the page");
    let hubs = [of_stock(12, &manifests()), hub_with_differences()];
    let printed = hubs.map(|world| take_over_text(&forecast(&world), Listing::Short));
    let lacking = printed.iter().filter(|text| !page.contains(text.as_str()));
    let lacking: Vec<&str> = lacking.map(String::as_str).collect();
    assert!(lacking.is_empty(), "the page lacks:\n{}", lacking.join("\n"));
}

#[test]
fn the_same_content_in_several_works_stays_there() {
    let mut world = of_stock(1, &manifests());
    let mut first = world.objects[&work(0)].clone();
    let all = first["spec"]["workload"]["manifests"]
        .as_array()
        .cloned()
        .expect("manifests");
    let (workloads, others): (Vec<Value>, Vec<Value>) =
        all.into_iter().partition(|one| one["apiVersion"] == "apps/v1");
    let mut second = first.clone();
    first["spec"]["workload"]["manifests"] = json!(workloads);
    second["spec"]["workload"]["manifests"] = json!(others);
    second["spec"]
        .as_object_mut()
        .expect("a spec")
        .remove("manifestConfigs");
    second["metadata"]["name"] = json!("addon-hello-deploy-1");
    world.put(Kind::Work, first);
    world.put(Kind::Work, second);
    assert_eq!(works_written(&mut world, "hello"), 0);
}

#[test]
fn a_work_between_the_two_limits_is_never_split() {
    let big = |name: &str| {
        named(
            "ConfigMap",
            "v1",
            name,
            &json!({"data": {"filler": "x".repeat(150 * 1024)}}),
        )
    };
    let all = [big("a"), big("b"), big("c")];
    let mut world = of_stock(1, &all);
    assert_eq!(world.works("c0").len(), 1);
    assert_eq!(works_written(&mut world, "hello"), 0);
    assert_eq!(world.works("c0").len(), 1);
}

/// Lets both act in turn; returns how many writes there were in the last rounds.
fn writes_at_rest(world: &mut World, addons: &[&str], clusters: &[String], stock_writes: bool) -> usize {
    let mut last = 0;
    for round in 0..16 {
        let mut written = 0;
        if stock_writes {
            written += stock::act(world);
        }
        for addon in addons {
            let plan = world.plan(addon);
            written += plan.actions.len();
            world.apply(&plan);
        }
        for cluster in clusters.iter().filter(|_| round < 8) {
            world.report(cluster, None, true);
        }
        if round >= 12 {
            last += written;
        }
    }
    last
}

#[test]
fn one_at_a_time_no_manager_writes_at_rest() {
    let mut world = of_stock(3, &manifests());
    let clusters: Vec<String> = (0..3).map(|number| format!("c{number}")).collect();
    // The neighbour stands by: without the Lease it writes nothing.
    assert_eq!(writes_at_rest(&mut world, &["hello"], &clusters, false), 0);
}

/// Two add-ons of which one is given to Tidegate.
fn shared(lists_template: bool, managing: Managing) -> (World, Vec<String>) {
    let mut world = World::new(settings(managing));
    let clusters: Vec<String> = (0..2).map(|number| format!("c{number}")).collect();
    for name in &clusters {
        world.add_cluster(name);
    }
    world.decide("all", &clusters);
    for (addon, lifecycle) in [("hello", Some("tidegate")), ("other", None)] {
        put_template(&mut world, addon, &manifests());
        put_addon(&mut world, addon, lifecycle, addon == "other" || lists_template);
    }
    (world, clusters)
}

#[test]
fn add_on_by_add_on_no_manager_writes_at_rest() {
    let (mut world, clusters) = shared(false, Managing::Marked);
    assert_eq!(
        writes_at_rest(&mut world, &["hello", "other"], &clusters, true),
        0
    );
    let owner = &world.objects[&ObjectKey::new(Kind::Instance, "c0", "hello")]["metadata"];
    assert_eq!(
        owner["name"], "hello",
        "Tidegate has installed what is given to it"
    );
    assert_eq!(world.works("c0").len(), 2, "each has deployed its own");
}

#[test]
fn what_the_pages_warn_of_is_written_indefinitely() {
    // The template is listed, so that the neighbour's manager for template add-ons acts all the same.
    let (mut world, clusters) = shared(true, Managing::Marked);
    assert!(writes_at_rest(&mut world, &["hello", "other"], &clusters, true) > 0);
    // No annotation says whose add-on it is.
    let (mut world, clusters) = shared(true, Managing::All);
    assert!(writes_at_rest(&mut world, &["hello", "other"], &clusters, true) > 0);
}
