//! What `why` reports as ready, and what it reports otherwise.
//!
//! One add-on on one cluster, ready in every respect, then with one problem after another.

use insight::cockpit::Line;
use insight::offline::Hub;
use insight::why::{Answer, kept, text, why, why_cluster, why_from};
use jiff::Timestamp;
use kubernetes::field::Listing;
use serde_json::{Value, json};
use store::{DiscoveryLabels, Kind, Settings};

const ADDON: &str = "addon.open-cluster-management.io/v1alpha1";
const CLUSTER: &str = "cluster.open-cluster-management.io";

fn condition(kind: &str, status: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "Said", "message": "a message", "observedGeneration": 1,
        "lastTransitionTime": "2029-01-01T00:00:00Z"})
}

/// The objects of a hub on which another manager has deployed `hello` on `c1`.
#[derive(Clone)]
struct Scene {
    addon: Value,
    cluster: Option<Value>,
    instance: Option<Value>,
    work: Option<Value>,
    more: Vec<Value>,
}

fn scene(strategy: &Value) -> Scene {
    Scene {
        addon: json!({"apiVersion": ADDON, "kind": "ClusterManagementAddOn",
            "metadata": {"name": "hello", "uid": "a", "resourceVersion": "1", "generation": 1},
            "spec": {"supportedConfigs": [], "installStrategy": strategy}}),
        cluster: Some(
            json!({"apiVersion": format!("{CLUSTER}/v1"), "kind": "ManagedCluster",
            "metadata": {"name": "c1", "uid": "c", "resourceVersion": "1", "labels": {"env": "prod"}},
            "spec": {"hubAcceptsClient": true},
            "status": {"conditions": [condition("ManagedClusterConditionAvailable", "True")]}}),
        ),
        instance: Some(json!({"apiVersion": ADDON, "kind": "ManagedClusterAddOn",
            "metadata": {"name": "hello", "namespace": "c1", "uid": "i", "resourceVersion": "1", "generation": 1,
                "ownerReferences": [{"apiVersion": ADDON, "kind": "ClusterManagementAddOn", "name": "hello", "uid": "a",
                    "controller": true, "blockOwnerDeletion": true}]},
            "spec": {},
            "status": {"conditions": [condition("ManifestApplied", "True"), condition("Available", "True")]}})),
        work: Some(
            json!({"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
            "metadata": {"name": "addon-hello-deploy-0", "namespace": "c1", "uid": "w", "resourceVersion": "1",
                "generation": 1, "labels": {"open-cluster-management.io/addon-name": "hello"}},
            "spec": {"workload": {"manifests": []}},
            "status": {"conditions": [condition("Applied", "True"), condition("Available", "True")]}}),
        ),
        more: Vec::new(),
    }
}

fn manual() -> Scene {
    scene(&json!({"type": "Manual"}))
}

/// The same, of an add-on that manages itself: no controller sums up its conditions.
fn of_its_own() -> Scene {
    let mut scene = manual();
    scene.addon["metadata"]["annotations"] = json!({"addon.open-cluster-management.io/lifecycle": "self"});
    scene
}

impl Scene {
    fn hub(&self) -> (Hub, Settings, Timestamp) {
        let mut hub = Hub::default();
        let parts = [&self.cluster, &self.instance, &self.work];
        let objects = parts.into_iter().flatten().chain(&self.more).chain([&self.addon]);
        for object in objects {
            assert!(hub.put(object.clone()).is_some(), "{object}");
        }
        for kind in Kind::ALL {
            hub.complete(kind);
        }
        let settings = Settings {
            discovery_labels: DiscoveryLabels::Off,
            ..Settings::default()
        };
        let now: Timestamp = "2030-01-01T00:00:00Z".parse().expect("a literal time");
        (hub, settings, now)
    }

    fn ask(&self, cluster: Option<&str>) -> Answer {
        let (hub, settings, now) = self.hub();
        let store = hub.store(settings.clone());
        let answer =
            why(&hub, settings, "hello", cluster, now).expect("the add-on and the cluster are there");
        let mut less = Hub::default();
        for (key, object) in hub.objects() {
            if let Some(object) = kept(key.kind, object) {
                less.put(object);
            }
        }
        let of_less = why_from(&less, &store, "hello", cluster, now).expect("the same objects");
        assert_eq!(
            format!("{of_less:#?}"),
            format!("{answer:#?}"),
            "what is kept is enough"
        );
        answer
    }

    /// The list of everything on the cluster shows the same as the query of the add-on.
    fn is_listed_as(&self, answer: &Answer) {
        let (hub, settings, now) = self.hub();
        let listed = why_cluster(&hub, settings, "c1", now).map(|listed| listed.items);
        let chain = answer.chains.first().expect("a chain");
        for one in listed.into_iter().flatten() {
            assert_eq!(one.well, answer.is_well(), "{one:#?} {answer:#?}");
            assert_eq!(one.cluster.since, chain.since, "{one:#?}");
            assert!(one.cluster.message.contains(&chain.detail), "{one:#?} {chain:#?}");
        }
    }

    /// The cause, which must be the same for a query of one cluster and of all.
    fn cause(&self) -> &'static str {
        let (one, all) = (self.ask(Some("c1")), self.ask(None));
        assert_eq!(one.is_ready(), all.is_ready(), "{one:#?} {all:#?}");
        assert_eq!(all.ready, usize::from(all.is_ready()), "{all:#?}");
        assert_eq!(all.clusters, 1, "{all:#?}");
        self.is_listed_as(&one);
        let cause = one.chains.first().expect("a chain").cause;
        assert_eq!(all.chains.first().and_then(|chain| chain.cause), cause);
        cause.unwrap_or("ready")
    }

    /// Sets the status of a condition; none takes it away.
    fn say(mut self, what: fn(&mut Self) -> &mut Option<Value>, kind: &str, status: Option<&str>) -> Self {
        let object = what(&mut self).as_mut().expect("it is there");
        let list = object["status"]["conditions"].as_array_mut().expect("a list");
        list.retain(|one| one["type"] != kind);
        list.extend(status.map(|status| condition(kind, status)));
        self
    }
}

fn instance(scene: &mut Scene) -> &mut Option<Value> {
    &mut scene.instance
}

fn work(scene: &mut Scene) -> &mut Option<Value> {
    &mut scene.work
}

fn cluster(scene: &mut Scene) -> &mut Option<Value> {
    &mut scene.cluster
}

fn deleting(object: &mut Value) {
    object["metadata"]["deletionTimestamp"] = json!("2029-12-31T23:59:00Z");
    object["metadata"]["finalizers"] = json!(["example.com/stays"]);
}

#[test]
fn what_is_ready_in_every_respect_is_ready() {
    assert_eq!(manual().cause(), "ready", "{:#?}", manual().ask(None));
    assert_eq!(of_its_own().cause(), "ready");
}

#[test]
fn an_add_on_that_is_not_deployed_is_not_ready() {
    let mut bare = manual();
    bare.instance.as_mut().expect("it is there")["status"] = json!({});
    bare.work = None;
    assert_eq!(bare.cause(), "why/not-deployed");
    let answer = bare.ask(Some("c1"));
    assert!(
        text(&answer, true, Listing::Short).starts_with("hello on c1: NOT READY"),
        "{}",
        text(&answer, true, Listing::Short)
    );
    let waits = manual().say(instance, "ManifestApplied", None);
    assert_eq!(waits.cause(), "why/not-deployed");
    let mut unwritten = manual();
    unwritten.work = None;
    assert_eq!(unwritten.cause(), "why/agent-waits");
    bare.addon = of_its_own().addon;
    assert_eq!(
        bare.cause(),
        "why/agent-waits",
        "no condition reports it as available"
    );
}

#[test]
fn no_condition_that_says_something_else_than_ready_is_passed_over() {
    let written = [
        ("ManifestApplied", "True"),
        ("HostingManifestApplied", "True"),
        ("HostingClusterValidity", "True"),
        ("RegistrationApplied", "True"),
        ("Available", "True"),
        ("Degraded", "False"),
    ];
    // The controllers write these themselves if they manage the add-on, whatever the current value is.
    let summed_up = [
        ("Progressing", "False"),
        ("Configured", "True"),
        ("Stalled", "False"),
        ("Reconciling", "False"),
        ("Ready", "True"),
    ];
    for (kind, good) in written.into_iter().chain(summed_up) {
        for status in ["True", "False", "Unknown", "Perhaps"] {
            let managed = manual().say(instance, kind, Some(status)).cause();
            let own = of_its_own().say(instance, kind, Some(status)).cause();
            let is_summed_up = summed_up.iter().any(|(other, _)| *other == kind);
            assert_eq!(
                managed == "ready",
                status == good || is_summed_up,
                "{kind} {status}: {managed}"
            );
            assert_eq!(own == "ready", status == good, "{kind} {status}: {own}");
        }
    }
}

#[test]
fn nothing_that_a_cluster_without_a_voice_has_said_is_believed() {
    let available = "ManagedClusterConditionAvailable";
    let mut gone = manual();
    gone.cluster = None;
    let mut leaving = manual();
    deleting(leaving.cluster.as_mut().expect("it is there"));
    let mut refused = manual();
    refused.cluster.as_mut().expect("it is there")["spec"]["hubAcceptsClient"] = json!(false);
    let rows = [
        (gone, "why/cluster-missing"),
        (leaving, "why/cluster-leaving"),
        (refused, "why/cluster-not-accepted"),
        (
            manual().say(cluster, available, Some("False")),
            "why/cluster-unreachable",
        ),
        (
            manual().say(cluster, available, Some("Unknown")),
            "why/cluster-unreachable",
        ),
        (manual().say(cluster, available, None), "why/cluster-unreachable"),
    ];
    for (scene, cause) in rows {
        assert_eq!(scene.cause(), cause);
        let own = Scene {
            addon: of_its_own().addon,
            ..scene
        };
        assert_eq!(own.cause(), cause);
    }
}

#[test]
fn a_work_that_does_not_say_all_of_it_is_not_ready() {
    let mut old = manual();
    old.work.as_mut().expect("it is there")["metadata"]["generation"] = json!(2);
    let mut going = manual();
    deleting(going.work.as_mut().expect("it is there"));
    let rows = [
        (manual().say(work, "Applied", None), "why/agent-silent"),
        (
            manual().say(work, "Applied", Some("False")),
            "why/work-not-applied",
        ),
        (
            manual().say(work, "Applied", Some("Unknown")),
            "why/work-not-applied",
        ),
        (manual().say(work, "Available", None), "why/agent-silent"),
        (
            manual().say(work, "Available", Some("False")),
            "why/resources-unavailable",
        ),
        (
            manual().say(work, "Available", Some("Unknown")),
            "why/resources-unavailable",
        ),
        (old, "why/agent-silent"),
        (going, "why/work-missing"),
    ];
    for (scene, cause) in rows {
        assert_eq!(scene.cause(), cause);
        let own = Scene {
            addon: of_its_own().addon,
            ..scene
        };
        assert_eq!(own.cause(), cause);
    }
}

#[test]
fn what_is_going_away_is_not_ready() {
    for scene in [manual(), of_its_own()] {
        let mut instance = scene.clone();
        deleting(instance.instance.as_mut().expect("it is there"));
        assert_eq!(instance.cause(), "why/deleting");
        let mut addon = scene;
        deleting(&mut addon.addon);
        assert_eq!(addon.cause(), "why/addon-deleting");
    }
}

fn placement(decided: &[&str]) -> Vec<Value> {
    let labels = json!({format!("{CLUSTER}/placement"): "all"});
    let decisions: Vec<Value> = decided
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    vec![
        json!({"apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "Placement", "spec": {},
            "metadata": {"name": "all", "namespace": "default"}, "status": {"numberOfSelectedClusters": decided.len()}}),
        json!({"apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "PlacementDecision",
            "metadata": {"name": "all-1", "namespace": "default", "labels": labels},
            "status": {"decisions": decisions}}),
    ]
}

fn by_label(value: &str) -> Value {
    json!({"type": "ClusterLabelSelector", "labelSelector": {"matchLabels": {"env": value}}})
}

#[test]
fn an_add_on_that_is_nowhere_says_why() {
    let by_placement = json!({"type": "Placements", "placements": [{"namespace": "default", "name": "all"}]});
    let rows = [
        (
            manual(),
            vec![],
            "the install strategy is Manual, and no ManagedClusterAddOn was created",
        ),
        (
            of_its_own(),
            vec![],
            "the add-on manages itself, and no cluster has its ManagedClusterAddOn",
        ),
        (
            scene(&json!({"type": "Placements", "placements": []})),
            vec![],
            "spec.installStrategy has no placement",
        ),
        (
            scene(&by_placement),
            placement(&[]),
            "placement default/all selects none of 1 ManagedClusters",
        ),
        (
            scene(&by_label("test")),
            vec![],
            "the label selector of the install strategy matches none of 1 ManagedClusters",
        ),
    ];
    for (mut scene, more, says) in rows {
        (scene.instance, scene.work, scene.more) = (None, None, more);
        let answer = scene.ask(None);
        assert!(!answer.is_ready() && answer.clusters == 0, "{answer:#?}");
        let text = text(&answer, false, Listing::Short);
        assert!(
            text.starts_with("hello: 0 of 0 clusters ready\n\nthe add-on: "),
            "{text}"
        );
        assert!(
            text.contains(says) && text.contains("code: why/no-clusters-selected"),
            "{text}"
        );
        assert_eq!(scene.ask(Some("c1")).chains[0].cause, Some("why/not-selected"));
    }
}

#[test]
fn a_selected_cluster_without_an_instance_is_counted_whatever_selects_it() {
    let by_placement = json!({"type": "Placements", "placements": [{"namespace": "default", "name": "all"}]});
    for (mut scene, more) in [
        (scene(&by_placement), placement(&["c1"])),
        (scene(&by_label("prod")), vec![]),
    ] {
        (scene.instance, scene.work, scene.more) = (None, None, more);
        assert_eq!(scene.cause(), "why/work-missing");
    }
}

/// What only the controllers know is in no other object, and the current state of the hub counts.
#[test]
fn a_stalled_add_on_is_reported_for_an_up_to_date_cluster() {
    let rows = [
        ("ClockUnknown", Some("why/clock-unknown")),
        ("ReadFailed", Some("why/read-failed")),
        // Nothing is held any more, the selector is there again, and no cluster has failed: the controllers are behind.
        ("RemovalHeld", None),
        ("RemovalUnconfirmed", None),
        ("ClustersAbsent", None),
        ("PlacementNotFound", None),
        ("LabelSelectorMissing", None),
        ("ClustersStalled", None),
    ];
    for (reason, expected) in rows {
        let mut scene = manual();
        let mut stalled = condition("Stalled", "True");
        stalled["reason"] = json!(reason);
        scene.addon["status"] = json!({"conditions": [stalled]});
        for asked in [None, Some("c1")] {
            let answer = scene.ask(asked);
            let told: Vec<&str> = answer.groups.iter().map(|group| group.cause.id).collect();
            assert_eq!(
                told,
                expected.into_iter().collect::<Vec<_>>(),
                "{reason} {asked:?}"
            );
            assert_eq!(answer.is_well(), expected.is_none(), "{reason} {asked:?}");
            assert_eq!(answer.ready, 1, "{reason}");
        }
        let said = text(&scene.ask(Some("c1")), true, Listing::Short);
        assert_eq!(
            said.contains("but the add-on is stalled"),
            expected.is_some(),
            "{said}"
        );
    }
}

#[test]
fn a_chain_stops_at_the_workload_that_the_cause_names_and_not_at_what_suffers_from_it() {
    let of = |kind: &str, group: &str, resource: &str, namespace: &str, name: &str| json!({"kind": kind, "group": group, "resource": resource, "version": "v1", "namespace": namespace, "name": name});
    let number =
        |name: &str, value: i64| json!({"name": name, "fieldValue": {"type": "Integer", "integer": value}});
    let unavailable = json!([condition("Applied", "True"), condition("Available", "False")]);
    let mut manifests = vec![
        json!({"resourceMeta": of("Namespace", "", "namespaces", "", "agents"), "conditions": unavailable}),
    ];
    // More than are shown, all before the one that counts.
    for position in 0..9 {
        let name = format!("settings-{position}");
        manifests.push(json!({"resourceMeta": of("ConfigMap", "", "configmaps", "agents", &name), "conditions": unavailable}));
    }
    manifests.push(
        json!({"resourceMeta": of("Deployment", "apps", "deployments", "agents", "agent"),
        "conditions": [condition("Applied", "True")],
        "statusFeedback": {"values": [number("Replicas", 2), number("ReadyReplicas", 0)]}}),
    );
    let scene = reporting(&json!(manifests));
    let answer = scene.ask(Some("c1"));
    let chain = answer.chains.first().expect("a chain");
    assert_eq!(chain.cause, Some("why/workload-not-ready"), "{chain:#?}");
    let stops: Vec<&str> = chain
        .links
        .iter()
        .filter(|link| link.stops)
        .map(|link| link.object.as_str())
        .collect();
    assert_eq!(
        stops,
        ["Deployment agents/agent"],
        "{}",
        text(&answer, true, Listing::Short)
    );
    assert!(chain.detail.contains("agents/agent"), "{}", chain.detail);
}

/// A scene in which the agent reports these manifests, and that the work is not available.
fn reporting(manifests: &Value) -> Scene {
    let mut scene = manual().say(work, "Available", Some("False"));
    let work = scene.work.as_mut().expect("it is there");
    work["status"]["resourceStatus"] = json!({"manifests": manifests});
    scene
}

#[test]
fn a_cause_contains_what_the_manifest_reports() {
    let manifest = |kind: &str, said: &str, values: Value| {
        let mut available = condition("Available", "False");
        available["message"] = json!(said);
        json!({"resourceMeta": {"kind": kind, "group": "apps", "resource": format!("{}s", kind.to_lowercase()), "version": "v1",
            "namespace": "agents", "name": "agent"}, "conditions": [condition("Applied", "True"), available],
            "statusFeedback": {"values": values}})
    };
    let replicas = json!({"name": "Replicas", "fieldValue": {"type": "Integer", "integer": 2}});
    let reason = json!({"name": "reason", "fieldValue": {"type": "String", "string": "ImagePullBackOff"}});
    let back_off = "ImagePullBackOff: image not found";
    let silent = "Resource is not available";
    let rows = [
        (
            manifest("Deployment", back_off, json!([replicas])),
            "deployment agents/agent is not ready: ImagePullBackOff: image not found",
        ),
        (
            manifest("Deployment", silent, json!([replicas, reason])),
            "deployment agents/agent is not ready: reason ImagePullBackOff",
        ),
        (
            manifest("Deployment", silent, json!([replicas])),
            "deployment agents/agent is not ready",
        ),
        (
            manifest("StatefulSet", back_off, json!([])),
            "a message: StatefulSet agents/agent: ImagePullBackOff: image not found",
        ),
        (
            manifest("StatefulSet", silent, json!([])),
            "a message: StatefulSet agents/agent: Resource is not available",
        ),
    ];
    for (manifest, expected) in rows {
        let answer = reporting(&json!([manifest])).ask(Some("c1"));
        assert_eq!(answer.chains[0].detail, expected, "{answer:#?}");
    }
}

#[test]
fn an_add_on_that_a_cluster_opts_out_of_is_named_for_the_cluster() {
    let mut scene = manual();
    (scene.instance, scene.work) = (None, None);
    let cluster = scene.cluster.as_mut().expect("it is there");
    cluster["metadata"]["annotations"] = json!({"tidegate.io/opt-out": "hello, other"});
    let (hub, settings, now) = scene.hub();
    let listed = why_cluster(&hub, settings, "c1", now).expect("a cluster of the hub");
    assert_eq!(listed.opted_out, ["hello"]);
    let text: Vec<String> = listed.lines(200, now).iter().map(Line::text).collect();
    assert_eq!(
        text,
        [
            "c1: no add-on and no cluster upgrade",
            "c1 opts out of hello: annotation tidegate.io/opt-out of the ManagedCluster",
        ]
    );
}
