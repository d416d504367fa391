//! Policies on the dev hub: one that is stored is in force at once, its status says so, and one that breaks stays as it was.

use std::time::Duration;

use devhub::{DevHub, TestHub};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tidegate::api::v1alpha1::AddOnPolicy;
use tidegate::controllers::{PolicyDocuments, PolicyTells, PolicyWatch};
use tidegate::policy::{Origin, Source};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::testkit::waiting::until;

fn document(name: &str, expression: &str) -> Value {
    json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnPolicy", "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"],
                "resources": ["*"]}]},
            "validations": [{"id": "a", "expression": expression, "fieldPath": "spec"}],
        },
    })
}

fn policy(name: &str, expression: &str) -> AddOnPolicy {
    serde_json::from_value(document(name, expression)).expect("a policy")
}

/// Returns `Ready` of a policy: reason, message of `Compiled`, generation in force.
async fn standing(api: &Api<AddOnPolicy>, name: &str) -> Option<(String, String, Option<i64>)> {
    let status = api.get(name).await.ok()?.status?;
    let of = |kind: &str| status.conditions.iter().find(|one| one.type_ == kind);
    Some((
        of("Ready")?.reason.clone(),
        of("Compiled")?.message.clone(),
        status.active_generation,
    ))
}

#[tokio::test]
async fn policies_are_followed_and_told_how_they_are() {
    let mut builder = DevHub::builder();
    for crd in tidegate::api::crds() {
        builder = builder.crd(serde_json::to_value(crd).expect("a CRD is JSON"));
    }
    let hub = TestHub::of(builder).await.expect("the hub starts");
    let api: Api<AddOnPolicy> = Api::all(hub.client());
    api.create(&PostParams::default(), &policy("first", "true"))
        .await
        .expect("stored");
    let (folder, documents) = watch::channel(PolicyDocuments::default());
    let policies = PolicyWatch::start(hub.client(), documents, PolicyTells::OnHub).await;
    let set = policies.set();
    assert_eq!(
        set.borrow().names().collect::<Vec<_>>(),
        ["first"],
        "in force when it starts"
    );
    let ready = until("ready", || async { standing(&api, "first").await }).await;
    assert_eq!(
        ready,
        ("InForce".to_owned(), "every part compiles".to_owned(), Some(1))
    );

    let broken = Patch::Merge(
        json!({"spec": {"validations": [{"id": "a", "expression": "objct.a == 1", "fieldPath": "spec"}]}}),
    );
    api.patch("first", &PatchParams::default(), &broken)
        .await
        .expect("stored");
    let older = until("a fault", || async {
        standing(&api, "first")
            .await
            .filter(|(reason, _, _)| reason == "OlderInForce")
    })
    .await;
    assert_eq!(older.2, Some(1), "the first generation stays in force");
    assert!(older.1.ends_with("\n | objct.a == 1\n | .....^"), "{}", older.1);
    assert_eq!(set.borrow().len(), 1);

    folder.send_replace(PolicyDocuments {
        sources: vec![Source {
            origin: Origin::File("second.yaml".to_owned()),
            document: document("second", "true"),
        }],
        objects: Vec::new(),
    });
    until("the policy of the folder", || async {
        (set.borrow().len() == 2).then_some(())
    })
    .await;
    api.delete("first", &DeleteParams::default())
        .await
        .expect("deleted");
    until("the deletion", || async {
        (set.borrow().names().collect::<Vec<_>>() == ["second"]).then_some(())
    })
    .await;
    policies.shutdown().await;
    hub.shutdown().await;
}

#[tokio::test]
async fn a_hub_without_policies_is_no_hindrance() {
    let hub = TestHub::of(DevHub::builder()).await.expect("the hub starts");
    let (_folder, documents) = watch::channel(PolicyDocuments::default());
    let started = PolicyWatch::start(hub.client(), documents, PolicyTells::OnHub);
    let policies = tokio::time::timeout(Duration::from_mins(1), started)
        .await
        .expect("it starts");
    assert!(policies.set().borrow().is_empty());
    policies.shutdown().await;
    hub.shutdown().await;
}

/// A server that refuses everything, as a hub does whose role for this program is missing.
async fn refusing() -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let body =
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
        "message": "addonpolicies is forbidden"})
        .to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = format!(
                "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            let mut asked = [0; 4096];
            let _read = stream.read(&mut asked).await.is_ok();
            let _written = stream.write_all(answer.as_bytes()).await.is_ok();
        }
    });
    let uri = format!("http://{address}").parse().expect("an address");
    Client::try_from(kube::Config::new(uri)).expect("a client")
}

#[tokio::test]
async fn a_hub_that_withholds_its_policies_keeps_nobody_waiting_and_those_of_the_folder_hold() {
    let (folder, documents) = watch::channel(PolicyDocuments {
        sources: vec![Source {
            origin: Origin::File("own.yaml".to_owned()),
            document: document("own", "true"),
        }],
        objects: Vec::new(),
    });
    let started = PolicyWatch::start(refusing().await, documents, PolicyTells::OnHub);
    let policies = tokio::time::timeout(Duration::from_mins(1), started)
        .await
        .expect("it starts");
    let set = policies.set();
    assert_eq!(set.borrow().names().collect::<Vec<_>>(), ["own"]);
    folder.send_modify(|all| {
        all.sources.push(Source {
            origin: Origin::File("more.yaml".to_owned()),
            document: document("more", "true"),
        });
    });
    until("the folder is followed", || async {
        (set.borrow().len() == 2).then_some(())
    })
    .await;
    policies.shutdown().await;
}
