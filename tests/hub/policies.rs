//! Policies on the dev hub: a stored policy is enforced at once, its status reports it, and a version that does not compile changes nothing.

use std::time::Duration;

use admission::policy::{Origin, Source};
use api::v1alpha1::AddOnPolicy;
use devhub::{DevHub, TestHub};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tidegate::controllers::{PolicyDocuments, PolicyTells, PolicyWatch};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::hub::bypass::rig::{Rig, address, ask, collection};
use crate::kit::waiting::until;

fn document(name: &str, expression: &str) -> Value {
    json!({
        "apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy", "metadata": {"name": name},
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
    for crd in api::crds() {
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

/// The group that policies had before they had one of their own.
const FORMER: &str = "addon.open-cluster-management.io";

/// Their definition in it.
fn former_definition() -> Value {
    let crds = api::crds().into_iter();
    let mut crd = crds
        .map(|crd| serde_json::to_value(crd).expect("a CRD is JSON"))
        .find(|crd| crd["spec"]["names"]["kind"] == "AddOnPolicy")
        .expect("policies have a definition");
    crd["metadata"]["name"] = json!(format!("addonpolicies.{FORMER}"));
    crd["spec"]["group"] = json!(FORMER);
    crd
}

fn former_policy(name: &str) -> DynamicObject {
    let mut object = document(name, "true");
    object["apiVersion"] = json!(format!("{FORMER}/v1alpha1"));
    serde_json::from_value(object).expect("a policy")
}

/// Returns the message of `Ready` of a policy in the former group once it has a reason.
async fn former_ready(api: &Api<DynamicObject>, name: &str, reason: &str) -> String {
    until(reason, || async {
        let object = api.get(name).await.ok()?;
        let conditions = object.data["status"]["conditions"].as_array()?.clone();
        let mut ready = conditions.into_iter();
        let ready = ready.find(|one| one["type"] == "Ready" && one["reason"] == reason)?;
        Some(ready["message"].as_str()?.to_owned())
    })
    .await
}

#[tokio::test]
async fn a_policy_of_the_former_group_holds_until_its_successor_compiles() {
    let mut builder = DevHub::builder().crd(former_definition());
    for crd in api::crds() {
        builder = builder.crd(serde_json::to_value(crd).expect("a CRD is JSON"));
    }
    let hub = TestHub::of(builder).await.expect("the hub starts");
    let present: Api<AddOnPolicy> = Api::all(hub.client());
    let gvk = GroupVersionKind::gvk(FORMER, "v1alpha1", "AddOnPolicy");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "addonpolicies");
    let former: Api<DynamicObject> = Api::all_with(hub.client(), &resource);
    let params = PostParams::default();
    let both = ["breaks", "moves"];
    for name in both {
        let stored = former.create(&params, &former_policy(name)).await;
        stored.expect("stored");
    }

    let (_folder, documents) = watch::channel(PolicyDocuments::default());
    let policies = PolicyWatch::start(hub.client(), documents, PolicyTells::OnHub).await;
    let set = policies.set();
    assert_eq!(
        set.borrow().names().collect::<Vec<_>>(),
        both,
        "in force when it starts"
    );
    let message = former_ready(&former, "moves", "InForce").await;
    assert!(message.contains("tidegate.io/v1alpha1"), "{message}");

    for (name, expression) in [("moves", "true"), ("breaks", "objct.a == 1")] {
        let stored = present.create(&params, &policy(name, expression)).await;
        stored.expect("stored");
    }
    let message = former_ready(&former, "moves", "Superseded").await;
    assert!(message.contains("can be deleted"), "{message}");
    let broken = until("the broken one", || async {
        let standing = standing(&present, "breaks").await;
        standing.filter(|(reason, _, _)| reason == "FormerInForce")
    });
    assert!(broken.await.1.contains("objct"));
    former_ready(&former, "breaks", "InForce").await;
    assert_eq!(set.borrow().names().collect::<Vec<_>>(), both);

    let deleted = former.delete("moves", &DeleteParams::default()).await;
    deleted.expect("deleted");
    let fixed = Patch::Merge(json!({"spec": document("breaks", "true")["spec"]}));
    let patched = present.patch("breaks", &PatchParams::default(), &fixed).await;
    patched.expect("stored");
    former_ready(&former, "breaks", "Superseded").await;
    assert_eq!(set.borrow().names().collect::<Vec<_>>(), both, "there was no gap");

    let definitions: Api<CustomResourceDefinition> = Api::all(hub.client());
    let name = format!("addonpolicies.{FORMER}");
    let deleted = definitions.delete(&name, &DeleteParams::default()).await;
    deleted.expect("deleted");
    let deleted = present.delete("breaks", &DeleteParams::default()).await;
    deleted.expect("deleted");
    until("the deletion", || async {
        (set.borrow().names().collect::<Vec<_>>() == ["moves"]).then_some(())
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
async fn unlisted_policies_do_not_block_and_policies_of_the_folder_apply() {
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

/// The webhooks as they are shipped, over TLS, in front of the dev hub.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_does_not_compile_is_not_stored() {
    let rig = Rig::start().await;
    rig.close_the_gate().await;
    let (good, broken) = (
        document("p", "object.spec == oldObject.spec"),
        document("p", "object."),
    );
    let (all, one) = (collection(&good, "v1alpha1"), address(&good, "v1alpha1"));
    let patch = |body: Value| {
        let mut patch = ask("PATCH", one.clone(), &body);
        patch.content = "application/merge-patch+json";
        patch
    };
    let said =
        |(status, answer): (u16, Value)| (status, answer["message"].as_str().unwrap_or_default().to_owned());
    let (status, words) = said(rig.send(&ask("POST", all.clone(), &broken)).await);
    assert_eq!(status, 422, "{words}");
    assert!(
        words.contains("spec.validations[0].expression") && words.contains("[policy/compile]"),
        "{words}"
    );
    assert_eq!(rig.send(&ask("POST", all.clone(), &good)).await.0, 201);
    let (status, words) = said(rig.send(&patch(json!({"spec": broken["spec"]}))).await);
    assert_eq!(status, 403, "{words}");
    // Metadata of a policy that was stored while the webhook was unavailable can be changed, its spec repaired, and it can go.
    assert_eq!(
        rig.send_past(&patch(json!({"spec": broken["spec"]}))).await.0,
        200
    );
    assert_eq!(
        rig.send(&patch(json!({"metadata": {"labels": {"team": "edge"}}})))
            .await
            .0,
        200
    );
    assert_eq!(rig.send(&patch(json!({"spec": good["spec"]}))).await.0, 200);
    assert_eq!(
        rig.send_past(&patch(json!({"spec": broken["spec"]}))).await.0,
        200
    );
    assert_eq!(rig.send(&ask("DELETE", one.clone(), &Value::Null)).await.0, 200);
    rig.stop().await;
}
