//! Notifications: what is sent when, and the examples of `docs/guides/notifications.md`.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use plan::{Action, Notification, NotificationKind};
use serde_json::{Value, json};
use store::{Kind, ObjectKey, RollUps, Settings};

use crate::kit::manifests::repository;
use crate::kit::world::World;

const GROUP: &str = "addon.open-cluster-management.io";
const APPROVAL: &str = "hello.default.all.prod";

fn put_content(world: &mut World, message: &str) {
    put_config(world, "base", message);
}

fn put_config(world: &mut World, name: &str, message: &str) {
    let metadata = json!({"name": name, "namespace": "default"});
    let variables = json!([{"name": "MESSAGE", "value": message}]);
    world.put(
        Kind::DeploymentConfig,
        json!({"metadata": metadata, "spec": {"customizedVariables": variables}}),
    );
}

fn put_addon(world: &mut World, config: &str, soak: &str) {
    let spec = json!({
        "supportedConfigs": [
            {"group": GROUP, "resource": "addontemplates", "defaultConfig": {"name": "hello"}},
            {"group": GROUP, "resource": "addondeploymentconfigs", "defaultConfig": {"name": config, "namespace": "default"}}],
        "installStrategy": {"type": "Placements", "placements": [{"name": "all", "namespace": "default",
            "rolloutStrategy": {"type": "ProgressivePerGroup", "progressivePerGroup": {"maxFailures": 0, "minSuccessTime": soak}}}]}});
    world.put(Kind::AddOn, json!({"metadata": {"name": "hello"}, "spec": spec}));
}

/// An add-on on the clusters c1 and c2, each in a decision group of its own. Nothing is planned yet.
fn scene() -> World {
    let mut world = World::new(Settings {
        roll_ups: RollUps::InOwnKind,
        ..Settings::default()
    });
    for cluster in ["c1", "c2"] {
        world.add_cluster(cluster);
    }
    put_content(&mut world, "hello");
    let spec = json!({"addonName": "hello", "agentSpec": {"workload": {"manifests": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"text": "{{MESSAGE}}"}}]}}});
    world.put(
        Kind::Template,
        json!({"metadata": {"name": "hello"}, "spec": spec}),
    );
    put_addon(&mut world, "base", "0s");
    let groups = [
        (Some(("canary", 0)), vec!["c1".to_owned()]),
        (Some(("prod", 1)), vec!["c2".to_owned()]),
    ];
    world.decide_in("all", &groups);
    // The kind is served.
    world.set_rollout("hello", None, "approvalBefore", &json!([]));
    world.store.apply(store::Event::ListEnded {
        kind: Kind::Approval,
        keys: BTreeSet::new(),
    });
    world
}

/// Plans and writes until nothing is left, and returns what is sent.
fn settle(world: &mut World) -> Vec<Notification> {
    let mut sent = Vec::new();
    loop {
        let view = world.store.view("hello").expect("it is there");
        let plan = plan::addon(&view, world.now);
        if plan.actions.is_empty() {
            return sent;
        }
        for action in &plan.actions {
            if let Action::Status { notifications, .. } = action {
                sent.extend(notifications.clone());
            }
        }
        world.apply(&plan);
    }
}

/// Lets the agents of these clusters report, with a failure or without, until nothing changes; returns what is sent.
fn report(world: &mut World, clusters: &[&str], failure: Option<&str>) -> Vec<Notification> {
    let mut sent = settle(world);
    for cluster in clusters {
        world.report(cluster, failure, failure.is_none());
        sent.extend(settle(world));
    }
    world.tick(SignedDuration::from_secs(1));
    sent
}

fn kinds(sent: &[Notification]) -> Vec<NotificationKind> {
    sent.iter().map(|one| one.kind).collect()
}

fn installed() -> World {
    let mut world = scene();
    let sent = report(&mut world, &["c1", "c2"], None);
    assert_eq!(kinds(&sent), [NotificationKind::Completed]);
    world
}

fn decide(world: &mut World, result: &str) {
    let key = ObjectKey::new(Kind::Approval, "", APPROVAL);
    let mut object = world.objects[&key].clone();
    object["spec"]["decision"] = json!({"result": result, "content": object["status"]["content"], "reason": "errors",
        "by": "lead", "at": world.now.to_string()});
    world.put(Kind::Approval, object);
}

/// A change that waits before the group `prod`.
fn waiting() -> (World, Vec<Notification>) {
    let mut world = installed();
    world.set_rollout("hello", None, "approvalBefore", &json!(["prod"]));
    put_content(&mut world, "ahoy");
    let sent = report(&mut world, &["c1"], None);
    (world, sent)
}

#[test]
fn a_change_that_waits_is_sent_once_and_its_completion_once() {
    let (mut world, sent) = waiting();
    assert_eq!(kinds(&sent), [NotificationKind::ApprovalNeeded]);
    world.report("c1", None, true);
    assert_eq!(kinds(&settle(&mut world)), []);
    decide(&mut world, "Approved");
    let sent = report(&mut world, &["c2"], None);
    assert_eq!(kinds(&sent), [NotificationKind::Completed]);
    assert_eq!(sent[0].data["clusters"]["done"], 2);
    // A cluster that joins gets the same content.
    world.add_cluster("c3");
    let clusters = ["c1", "c2", "c3"].map(str::to_owned);
    world.decide("all", &clusters);
    assert_eq!(kinds(&report(&mut world, &["c3"], None)), []);
    // The way back to earlier content is another rollout.
    put_content(&mut world, "hello");
    let back = report(&mut world, &["c1", "c2", "c3"], None);
    assert_eq!(kinds(&back), [NotificationKind::Completed]);
    assert_ne!(back[0].id, sent[0].id);
}

#[test]
fn a_rejection_stops_the_rollout_and_other_content_waits_again() {
    let (mut world, first) = waiting();
    decide(&mut world, "Rejected");
    let sent = settle(&mut world);
    assert_eq!(kinds(&sent), [NotificationKind::Stopped]);
    assert_eq!(sent[0].data["reason"], "ApprovalRejected");
    let message = "lead has rejected the change for decision group prod of placement default/all (errors)";
    assert_eq!(sent[0].data["message"], message);
    put_content(&mut world, "bonjour");
    let sent = report(&mut world, &["c1"], None);
    assert_eq!(kinds(&sent), [NotificationKind::ApprovalNeeded]);
    assert_ne!(sent[0].id, first[0].id);
    assert_ne!(sent[0].data["content"], first[0].data["content"]);
}

#[test]
fn failures_stop_a_rollout_and_a_retry_that_fails_is_another_event() {
    let mut world = installed();
    put_addon(&mut world, "base", "5m");
    put_content(&mut world, "broken");
    let sent = report(&mut world, &["c1"], Some("quota exceeded"));
    assert_eq!(kinds(&sent), [NotificationKind::Stopped]);
    assert_eq!(sent[0].data["reason"], "TooManyFailures");
    assert_eq!(sent[0].subject, "addons/hello/placements/default/all");
    // The cluster recovers and fails again: the same event, which is sent once.
    report(&mut world, &["c1"], None);
    let again = report(&mut world, &["c1"], Some("quota exceeded"));
    assert_eq!(again.iter().map(|one| &one.id).collect::<Vec<_>>(), [&sent[0].id]);
    let now = world.now.to_string();
    world.set_rollout("hello", None, "retriedAt", &json!(now));
    world.tick(SignedDuration::from_secs(1));
    report(&mut world, &["c1"], None);
    let retried = report(&mut world, &["c1"], Some("quota exceeded"));
    assert_eq!(kinds(&retried), [NotificationKind::Stopped]);
    assert_ne!(retried[0].id, sent[0].id);
    put_content(&mut world, "broken again");
    let other = report(&mut world, &["c1"], Some("quota exceeded"));
    assert_eq!(kinds(&other), [NotificationKind::Stopped]);
    assert_ne!(other[0].id, sent[0].id);
}

#[test]
fn an_undo_is_sent_once_and_nothing_else_with_it() {
    let mut world = scene();
    world.set_rollout("hello", None, "onFailure", &json!("Undo"));
    report(&mut world, &["c1", "c2"], None);
    put_config(&mut world, "second", "broken");
    put_addon(&mut world, "second", "0s");
    let sent = report(&mut world, &["c1"], Some("quota exceeded"));
    assert_eq!(kinds(&sent), [NotificationKind::Undone]);
    assert_eq!(sent[0].data["reason"], "TooManyFailures");
    let message = sent[0].data["message"].as_str().expect("a message");
    assert!(message.ends_with("Clusters: c1 (failed)"), "{message}");
    let rest = report(&mut world, &["c1", "c2"], None);
    assert_eq!(kinds(&rest), []);
}

#[test]
fn an_event_has_no_content_of_a_configuration_and_a_bounded_message() {
    let mut world = installed();
    put_content(&mut world, "s3cret");
    let cause = "x".repeat(100_000);
    let sent = report(&mut world, &["c1"], Some(&cause));
    let text = sent[0].cloud_event("hub").to_string();
    assert!(!text.contains("s3cret") && text.len() < 4096, "{text}");
}

fn page() -> String {
    std::fs::read_to_string(repository("docs/guides/notifications.md")).expect("the page")
}

/// The blocks of a page in a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let opening = format!("\n```{language}\n");
    let each = page.split(&opening).skip(1);
    each.map(|rest| rest.split("\n```").next().unwrap_or_default().to_owned())
        .collect()
}

fn yaml(page: &str) -> Vec<Value> {
    let each = blocks(page, "yaml").into_iter();
    each.flat_map(|block| {
        let documents = block.split("\n---\n").map(str::to_owned).collect::<Vec<_>>();
        documents.into_iter()
    })
    .map(|document| serde_saphyr::from_str(&document).expect("YAML"))
    .collect()
}

#[test]
fn the_event_of_the_page_is_the_one_that_is_sent() {
    let (_, sent) = waiting();
    let example = blocks(&page(), "json").remove(0);
    let example: Value = serde_json::from_str(&example).expect("JSON");
    let event = sent[0].cloud_event("5f7b3c1e-8c1d-4b57-9a55-0d2f6f0c9a11");
    assert_eq!(
        example,
        event,
        "{}",
        serde_json::to_string_pretty(&event).expect("JSON")
    );
}

#[test]
fn the_page_lists_every_type_and_no_other() {
    let page = page();
    let listed: BTreeSet<&str> = page
        .split('`')
        .filter(|word| word.starts_with("io.tidegate.") && !word.contains(' '))
        .collect();
    let types = NotificationKind::ALL.map(NotificationKind::event_type);
    assert_eq!(listed, BTreeSet::from(types));
}

#[test]
fn argo_events_receives_and_filters_what_is_sent() {
    let objects = yaml(&page());
    let of = |kind: &str| {
        let found = objects.iter().find(|object| object["kind"] == kind);
        found.expect(kind)
    };
    let (source, sensor) = (of("EventSource"), of("Sensor"));
    assert_eq!(source["apiVersion"], "argoproj.io/v1alpha1");
    let webhooks = source["spec"]["webhook"].as_object().expect("webhooks");
    let (name, webhook) = webhooks.iter().next().expect("one");
    assert_eq!(webhook["method"], "POST");
    let dependency = &sensor["spec"]["dependencies"][0];
    assert_eq!(dependency["eventSourceName"], source["metadata"]["name"]);
    assert_eq!(dependency["eventName"], json!(name));
    // The webhook puts the request into `body`.
    let (_, sent) = waiting();
    let event = json!({"body": sent[0].cloud_event("hub")});
    let filter = &dependency["filters"]["data"][0];
    let path = filter["path"].as_str().expect("a path").replace('.', "/");
    let types: Vec<&str> = NotificationKind::ALL.map(NotificationKind::event_type).to_vec();
    let values: Vec<&str> = filter["value"]
        .as_array()
        .expect("values")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(values.iter().all(|value| types.contains(value)), "{values:?}");
    assert!(
        values.contains(
            &event
                .pointer(&format!("/{path}"))
                .and_then(Value::as_str)
                .expect("a type")
        )
    );
    let trigger = &sensor["spec"]["triggers"][0]["template"]["http"];
    for parameter in trigger["payload"].as_array().expect("a payload") {
        assert_eq!(parameter["src"]["dependencyName"], dependency["name"]);
        let key = parameter["src"]["dataKey"]
            .as_str()
            .expect("a key")
            .replace('.', "/");
        assert!(event.pointer(&format!("/{key}")).is_some(), "{key}");
    }
    let url = format!(
        "http://{}-eventsource-svc",
        source["metadata"]["name"].as_str().expect("a name")
    );
    let endpoint = webhook["endpoint"].as_str().expect("a path");
    let port = webhook["port"].as_str().expect("a port");
    let page = page();
    let flag = page
        .lines()
        .find(|line| line.contains("--notify-url="))
        .expect("the flag");
    assert!(
        flag.contains(&url) && flag.contains(&format!(":{port}{endpoint}")),
        "{flag}"
    );
}

#[test]
fn alertmanager_routes_the_alert_of_a_waiting_approval_to_a_webhook() {
    let config = yaml(&page())
        .into_iter()
        .find(|object| object["receivers"].is_array());
    let config = config.expect("the configuration");
    let route = &config["route"]["routes"][0];
    assert_eq!(route["matchers"], json!(["alertname=\"TidegateApprovalNeeded\""]));
    let rules = std::fs::read_to_string(repository("manifests/monitoring/rules.yaml")).expect("rules");
    assert!(rules.contains("- alert: TidegateApprovalNeeded\n"));
    let receivers = config["receivers"].as_array().expect("receivers");
    for receiver in [&route["receiver"], &config["route"]["receiver"]] {
        assert!(receivers.iter().any(|one| one["name"] == *receiver), "{receiver}");
    }
    let webhook = receivers.iter().find(|one| one["name"] == route["receiver"]);
    let webhook = &webhook.expect("the receiver")["webhook_configs"][0];
    assert!(webhook["url"].as_str().expect("a URL").starts_with("https://"));
    assert_eq!(webhook["send_resolved"], true);
}
