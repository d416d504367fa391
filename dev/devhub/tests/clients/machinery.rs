//! What controllers use besides objects: events, leases, tokens.

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{Event as CoreEvent, ServiceAccount};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ListParams, ObjectMeta, PostParams};
use kube::runtime::events::{self, EventType, Recorder, Reporter};
use kube::{Api, Resource as _, ResourceExt as _};
use serde_json::json;

use crate::Scene;

#[tokio::test]
async fn a_recorder_counts_what_repeats_and_both_groups_show_it() {
    let scene = Scene::start().await;
    let widget = scene.create("w", "red").await;
    let reporter = Reporter {
        controller: "probe".to_owned(),
        instance: Some("probe-1".to_owned()),
    };
    let recorder = Recorder::new(scene.client.clone(), reporter);
    let note = |reason: &str| events::Event {
        type_: EventType::Warning,
        reason: reason.to_owned(),
        note: Some("it is red".to_owned()),
        action: "Painting".to_owned(),
        secondary: None,
    };
    for reason in ["Red", "Red", "Blue", "Red"] {
        recorder
            .publish(&note(reason), &widget.object_ref(&()))
            .await
            .expect("published");
    }
    let uid = widget.uid().unwrap_or_default();
    let newer: Api<Event> = Api::default_namespaced(scene.client.clone());
    let selected = ListParams::default().fields(&format!("regarding.uid={uid}"));
    let mut shown: Vec<(Option<String>, Option<i32>)> = newer
        .list(&selected)
        .await
        .expect("a list")
        .into_iter()
        .map(|event| (event.reason, event.series.map(|series| series.count)))
        .collect();
    shown.sort();
    assert_eq!(
        shown,
        [(Some("Blue".to_owned()), None), (Some("Red".to_owned()), Some(3))]
    );
    let older: Api<CoreEvent> = Api::default_namespaced(scene.client.clone());
    let selected = ListParams::default().fields(&format!("involvedObject.uid={uid},reason=Red,type=Warning"));
    let shown = older.list(&selected).await.expect("a list").items;
    assert_eq!(shown.len(), 1);
    let event = &shown[0];
    assert_eq!(event.involved_object.kind.as_deref(), Some("Widget"));
    assert_eq!(event.message.as_deref(), Some("it is red"));
    assert_eq!(event.reporting_component.as_deref(), Some("probe"));
    let none = ListParams::default().fields("involvedObject.name=other");
    assert!(older.list(&none).await.expect("a list").items.is_empty());
}

/// A candidate for leadership, as client libraries are: it reads, and replaces what it has read.
struct Candidate {
    leases: Api<Lease>,
    name: String,
}

impl Candidate {
    /// Tries once to get or to keep the lease; tells whether it leads now.
    async fn tries(&self, now: Timestamp) -> bool {
        let Some(mut lease) = self.leases.get_opt("leader").await.expect("an answer") else {
            let metadata = ObjectMeta {
                name: Some("leader".to_owned()),
                ..ObjectMeta::default()
            };
            let lease = Lease {
                metadata,
                spec: Some(self.claims(now, 0)),
            };
            return self.leases.create(&PostParams::default(), &lease).await.is_ok();
        };
        let spec = lease.spec.take().unwrap_or_default();
        let holder = spec.holder_identity.clone().unwrap_or_default();
        let renewed = spec.renew_time.clone().map(|time| time.0);
        let expired = renewed.is_none_or(|renewed| now.duration_since(renewed).as_secs() >= 15);
        if holder != self.name && !holder.is_empty() && !expired {
            return false;
        }
        let changes = i32::from(holder != self.name) + spec.lease_transitions.unwrap_or_default();
        lease.spec = Some(LeaseSpec {
            acquire_time: if holder == self.name {
                spec.acquire_time
            } else {
                Some(MicroTime(now))
            },
            ..self.claims(now, changes)
        });
        match self
            .leases
            .replace("leader", &PostParams::default(), &lease)
            .await
        {
            Ok(_) => true,
            Err(kube::Error::Api(status)) => {
                assert_eq!(status.code, 409, "{}", status.message);
                false
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn claims(&self, now: Timestamp, changes: i32) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(self.name.clone()),
            lease_duration_seconds: Some(15),
            acquire_time: Some(MicroTime(now)),
            renew_time: Some(MicroTime(now)),
            lease_transitions: Some(changes),
            ..LeaseSpec::default()
        }
    }
}

#[tokio::test]
async fn one_of_many_candidates_leads_and_the_next_one_takes_over() {
    let scene = Scene::start().await;
    let leases: Api<Lease> = Api::default_namespaced(scene.client.clone());
    let candidates: Vec<Candidate> = (0..20)
        .map(|n| Candidate {
            leases: leases.clone(),
            name: format!("c{n}"),
        })
        .collect();
    let start: Timestamp = "2026-01-01T00:00:00.123456Z".parse().expect("a time");
    let mut holders: Vec<Option<String>> = Vec::new();
    // At first, then while the lease is fresh, then twice when its holder has been silent for too long.
    for (after, changes) in [(0, 0), (10, 0), (60, 1), (120, 2)] {
        let now = start + jiff::SignedDuration::from_secs(after);
        let silent = holders.last().cloned().flatten().filter(|_| after >= 60);
        let awake = candidates
            .iter()
            .filter(|candidate| Some(&candidate.name) != silent.as_ref());
        let tried = futures::future::join_all(awake.map(|candidate| candidate.tries(now))).await;
        assert_eq!(
            tried.iter().filter(|leads| **leads).count(),
            1,
            "after {after} s: {tried:?}"
        );
        let spec = leases
            .get("leader")
            .await
            .expect("a lease")
            .spec
            .unwrap_or_default();
        assert_eq!(spec.lease_transitions, Some(changes));
        assert_eq!(
            spec.renew_time.map(|time| time.0),
            Some(now),
            "microseconds are kept"
        );
        holders.push(spec.holder_identity);
    }
    assert_eq!(holders[0], holders[1], "who leads goes on leading");
}

#[tokio::test]
async fn a_service_account_gets_a_token_and_is_known_by_it() {
    let scene = Scene::start().await;
    let accounts: Api<ServiceAccount> = Api::default_namespaced(scene.client.clone());
    let mut account = ServiceAccount::default();
    account.metadata.name = Some("robot".to_owned());
    accounts
        .create(&PostParams::default(), &account)
        .await
        .expect("created");
    // A real hub asks what the robot may do.
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "robot"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "robot"}]});
    scene.hub.preload(&binding).await.expect("a binding");
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(900),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let params = PostParams::default();
    let answer = accounts.create_token_request("robot", &params, &request).await;
    let token = answer
        .expect("a token")
        .status
        .expect("a status")
        .token
        .expect("a token");
    let mut config = scene.hub.config();
    config.auth_info = kube::config::AuthInfo::default();
    config.auth_info.token = Some(token.into());
    let robot = kube::Client::try_from(config).expect("a client");
    let mut widget = crate::widget("by-robot", "red");
    widget.metadata.generate_name = None;
    let widgets: Api<crate::Widget> = Api::default_namespaced(robot);
    widgets
        .create(&PostParams::default(), &widget)
        .await
        .expect("the robot may write");
}
