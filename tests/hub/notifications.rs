//! Notifications on their way to a receiver on loopback, which answers as a test requires.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::routing::any;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use plan::{Notification, NotificationKind};
use serde_json::{Map, Value, json};
use store::{Kind, Name};
use tidegate::controllers::{HttpEndpoint, Notifier, NotifierOptions, Tide, TideOptions};
use tidegate::telemetry::Metrics;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::hub::kstatus::apply;
use crate::kit::hubs;
use crate::kit::manifests::documents;
use crate::kit::stock_on_hub::resource;
use crate::kit::waiting::{eventually_or, until};

/// How a receiver answers.
#[derive(Clone, Debug)]
enum Answer {
    Status(u16),
    Redirect(String),
    Never,
}

#[derive(Debug, Default)]
struct Received {
    requests: Vec<(HeaderMap, Value)>,
    answers: VecDeque<Answer>,
}

/// A receiver; it answers 204 after the answers that it was given.
#[derive(Clone, Debug)]
struct Receiver {
    address: String,
    received: Arc<Mutex<Received>>,
}

impl Receiver {
    async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let received = Arc::new(Mutex::new(Received {
            answers: answers.into_iter().collect(),
            ..Received::default()
        }));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let receiver = Self { address, received };
        let told = receiver.clone();
        let handle = move |headers: HeaderMap, body: Bytes| {
            let told = told.clone();
            async move { told.answer(headers, &body).await }
        };
        let router = Router::new().route("/hook", any(handle));
        tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        receiver
    }

    async fn answer(&self, headers: HeaderMap, body: &[u8]) -> Response<String> {
        let event = serde_json::from_slice(body).expect("JSON");
        let answer = {
            let mut received = self.received();
            received.requests.push((headers, event));
            received.answers.pop_front().unwrap_or(Answer::Status(204))
        };
        let response = Response::builder();
        let response = match answer {
            Answer::Status(status) => response.status(status),
            Answer::Redirect(to) => response
                .status(StatusCode::TEMPORARY_REDIRECT)
                .header(header::LOCATION, to),
            Answer::Never => std::future::pending().await,
        };
        response.body(String::new()).expect("a response")
    }

    fn received(&self) -> std::sync::MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// The events in the order in which they arrived.
    fn events(&self) -> Vec<Value> {
        self.received()
            .requests
            .iter()
            .map(|(_, event)| event.clone())
            .collect()
    }

    /// The types of the events, without their prefix.
    fn types(&self) -> Vec<String> {
        let word = |event: &Value| {
            let text = event["type"].as_str().unwrap_or_default();
            text.trim_start_matches("io.tidegate.").to_owned()
        };
        self.events().iter().map(word).collect()
    }
}

fn options(url: &str) -> NotifierOptions {
    NotifierOptions {
        to: HttpEndpoint {
            url: url.parse().expect("a URL"),
            token_file: None,
            ca_file: None,
        },
        patience: Duration::from_mins(1),
        pause: Duration::from_millis(1),
    }
}

fn notification(id: &str) -> Notification {
    Notification {
        kind: NotificationKind::Stopped,
        subject: "addons/hello/placements/default/all".to_owned(),
        id: id.to_owned(),
        time: "2030-01-01T00:00:00Z".parse().expect("a time"),
        data: Map::from_iter([("addon".to_owned(), json!("hello"))]),
    }
}

/// Sends notifications with these ids; returns how many were sent, failed and dropped when all is done.
async fn sent(options: NotifierOptions, ids: &[&str]) -> [u64; 3] {
    let (metrics, mut tasks) = (Metrics::default(), JoinSet::new());
    let notifier = Notifier::start(options, metrics.clone(), &mut tasks);
    for id in ids {
        notifier.notify(&Name::from("hub"), &notification(id));
    }
    drop(notifier);
    while let Some(ended) = tasks.join_next().await {
        ended.expect("the sender ends");
    }
    let text = metrics.text();
    ["sent", "failed", "dropped"].map(|outcome| {
        let line = format!(
            "tidegate_notifications_total{{type=\"io.tidegate.rollout.stopped\",outcome=\"{outcome}\"}} "
        );
        let count = text.lines().find_map(|found| found.strip_prefix(&line));
        count.map_or(0, |count| count.parse().expect("a number"))
    })
}

#[tokio::test]
async fn an_event_is_posted_as_structured_json_and_once_for_each_id() {
    let receiver = Receiver::start([]).await;
    assert_eq!(sent(options(&receiver.url()), &["a", "b", "a"]).await, [2, 0, 0]);
    let received = receiver.received();
    let (headers, event) = &received.requests[0];
    assert_eq!(
        headers[header::CONTENT_TYPE],
        "application/cloudevents+json; charset=utf-8"
    );
    assert!(!headers.contains_key(header::AUTHORIZATION));
    assert_eq!(
        *event,
        json!({"specversion": "1.0", "type": "io.tidegate.rollout.stopped", "source": "/hubs/hub",
            "subject": "addons/hello/placements/default/all", "id": "a", "time": "2030-01-01T00:00:00Z",
            "datacontenttype": "application/json", "data": {"addon": "hello"}})
    );
}

#[tokio::test]
async fn a_receiver_that_is_unavailable_gets_the_same_event_again() {
    for status in [500, 503, 429, 408] {
        let receiver = Receiver::start([Answer::Status(status), Answer::Status(status)]).await;
        assert_eq!(
            sent(options(&receiver.url()), &["a"]).await,
            [1, 0, 0],
            "{status}"
        );
        let ids: Vec<Value> = receiver
            .events()
            .iter()
            .map(|event| event["id"].clone())
            .collect();
        assert_eq!(ids, ["a", "a", "a"], "{status}");
    }
}

#[tokio::test]
async fn a_receiver_that_does_not_answer_gets_the_event_again() {
    let receiver = Receiver::start([Answer::Never]).await;
    let options = NotifierOptions {
        patience: Duration::from_millis(500),
        ..options(&receiver.url())
    };
    assert_eq!(sent(options, &["a"]).await, [1, 0, 0]);
    assert_eq!(receiver.events().len(), 2);
}

#[tokio::test]
async fn after_five_tries_the_next_event_is_sent() {
    let receiver = Receiver::start(vec![Answer::Status(500); 5]).await;
    assert_eq!(sent(options(&receiver.url()), &["a", "b"]).await, [1, 1, 0]);
    assert_eq!(receiver.events().len(), 6);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    assert_eq!(
        sent(options(&format!("http://{address}/")), &["a"]).await,
        [0, 1, 0]
    );
}

#[tokio::test]
async fn an_event_that_is_rejected_is_not_sent_again_and_a_redirect_is_not_followed() {
    let other = Receiver::start([]).await;
    for answer in [
        Answer::Status(400),
        Answer::Status(404),
        Answer::Redirect(other.url()),
    ] {
        let receiver = Receiver::start([answer.clone()]).await;
        assert_eq!(
            sent(options(&receiver.url()), &["a"]).await,
            [0, 1, 0],
            "{answer:?}"
        );
        assert_eq!(receiver.events().len(), 1, "{answer:?}");
    }
    assert_eq!(other.events().len(), 0);
}

/// On one thread the sender does not run before the caller waits for something.
#[tokio::test]
async fn events_for_which_the_queue_is_full_are_dropped_and_counted() {
    let receiver = Receiver::start([]).await;
    let ids: Vec<String> = (0..260).map(|number| number.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(sent(options(&receiver.url()), &ids).await, [256, 0, 4]);
    assert_eq!(receiver.events().len(), 256);
}

#[tokio::test]
async fn the_token_is_read_for_each_event() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    let receiver = Receiver::start([]).await;
    let mut options = options(&receiver.url());
    options.to.token_file = Some(file.clone());
    assert_eq!(sent(options.clone(), &["a"]).await, [0, 1, 0], "there is no file");
    for token in ["first", "second"] {
        std::fs::write(&file, format!("{token}\n")).expect("writable");
        assert_eq!(sent(options.clone(), &[token]).await, [1, 0, 0]);
    }
    let received = receiver.received();
    let tokens: Vec<&[u8]> = received
        .requests
        .iter()
        .map(|(headers, _)| headers[header::AUTHORIZATION].as_bytes())
        .collect();
    assert_eq!(tokens, [&b"Bearer first"[..], b"Bearer second"]);
}

const CLUSTERS: usize = 3;

/// Content with this name, of which the manifest has that name.
async fn commit(client: &Client, template: &str, manifest: &str) {
    let mut content = documents("manifests/gitops/example/content.yaml").remove(0);
    content["metadata"]["name"] = json!(template);
    content["spec"]["agentSpec"]["workload"]["manifests"][1]["metadata"]["name"] = json!(manifest);
    let mut addon = documents("manifests/gitops/example/addon.yaml").remove(0);
    addon["spec"]["supportedConfigs"][0]["defaultConfig"]["name"] = json!(template);
    apply(client, &content).await;
    apply(client, &addon).await;
}

async fn tide(client: &Client, receiver: &Receiver) -> Tide {
    let mut tide = TideOptions {
        notifier: Some(options(&receiver.url())),
        ..TideOptions::default()
    };
    tide.settings.roll_ups = store::RollUps::InOwnKind;
    hubs::tide(client.clone(), tide).await
}

async fn until_sent(receiver: &Receiver, types: &[&str]) {
    eventually_or(
        "the events are sent",
        || async { receiver.events() },
        || async { receiver.types() == types },
    )
    .await;
}

/// Everything that waits for an approval, and the content.
async fn waiting(client: &Client) -> Option<(String, Value)> {
    let approvals: Api<DynamicObject> = Api::all_with(client.clone(), &resource(Kind::Approval));
    let all = approvals
        .list(&ListParams::default())
        .await
        .expect("a list")
        .items;
    all.into_iter().find_map(|one| {
        let status = &one.data["status"];
        (status["state"] == "Waiting").then(|| {
            (
                one.metadata.name.clone().unwrap_or_default(),
                status["content"].clone(),
            )
        })
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn each_event_of_a_hub_is_sent_once_also_after_a_restart() {
    let receiver = Receiver::start([Answer::Status(503)]).await;
    let hub = hubs::hub().await;
    let client = hub.client();
    let fault = "cluster*=apply-failure,manifest=broken:quota-exceeded";
    let fleet = hubs::fleet(client.clone(), CLUSTERS, &[fault]).await;
    fleet.ready().await.expect("the clusters have joined");
    let set = documents("manifests/examples/02-cluster-set.yaml")
        .into_iter()
        .take(1);
    let own = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tidegate"}});
    hubs::load(&hub, set.chain([own])).await;
    let running = tide(&client, &receiver).await;
    for file in ["clusters.yaml", "rollout.yaml"] {
        for object in &documents(&format!("manifests/gitops/example/{file}")) {
            apply(&client, object).await;
        }
    }
    commit(&client, "greeting-v1", "greeting").await;
    // The receiver is unavailable at first: the first event is sent again.
    let first = ["rollout.completed", "rollout.completed"];
    let sent_is = async |more: &[&str]| until_sent(&receiver, &[&first, more].concat()).await;
    sent_is(&[]).await;
    commit(&client, "greeting-v2", "broken").await;
    sent_is(&["rollout.undone"]).await;
    running.shutdown().await;

    let running = tide(&client, &receiver).await;
    let rollout = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnRollout", "metadata": {"name": "greeting"},
        "spec": {"onFailure": "Undo", "approvalBefore": ["*"]}});
    apply(&client, &rollout).await;
    commit(&client, "greeting-v3", "other").await;
    let (name, _) = until("a change waits", || waiting(&client)).await;
    sent_is(&["rollout.undone", "rollout.approval-needed"]).await;
    running.shutdown().await;

    let running = tide(&client, &receiver).await;
    let (_, content) = until("it still waits", || waiting(&client)).await;
    let decision = json!({"spec": {"decision": {"result": "Approved", "content": content, "by": "lead", "at": "2026-01-01T00:00:00Z"}}});
    let approvals: Api<DynamicObject> = Api::all_with(client.clone(), &resource(Kind::Approval));
    let patched = approvals
        .patch(&name, &PatchParams::default(), &Patch::Merge(&decision))
        .await;
    patched.expect("it is approved");
    sent_is(&["rollout.undone", "rollout.approval-needed", "rollout.completed"]).await;
    running.shutdown().await;

    let events = receiver.events();
    let system: Api<Namespace> = Api::all(client.clone());
    let uid = system
        .get("kube-system")
        .await
        .expect("it is there")
        .metadata
        .uid
        .expect("a uid");
    for event in &events {
        assert_eq!(event["source"], format!("/hubs/{uid}"));
        assert_eq!(event["subject"], "addons/greeting/placements/greeting/all");
    }
    fleet.shutdown().await;
    hub.shutdown().await;
}
