//! The self-signed certificate on a hub: what is written, by which account, and how damage is repaired.
//!
//! `binary::certificates` tests requests in the meantime; the crate `certificates` tests the steps.

use std::time::Duration;

use devhub::TestHub;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use kubernetes::certificates::{
    AUTHORITIES, CERTIFICATE, Data, Holding, KEY, Lives, NEXT_CERTIFICATE, Trusting, trusting,
};
use serde_json::{Value, json};
use tidegate::controllers::{CertificateKeeper, CertificateOptions, Tide, TideOptions};

use crate::kit::hubs;
use crate::kit::manifests::documents;
use crate::kit::waiting::{at_rest, eventually};

const NAME: &str = "tidegate.tidegate.svc";
const CONFIGURATIONS: [(&str, &str); 2] = [
    ("MutatingWebhookConfiguration", "tidegate-mutate"),
    ("ValidatingWebhookConfiguration", "tidegate-guard"),
];

/// A hub with what the installation brings: the namespace, the empty Secret, and both configurations.
async fn hub() -> TestHub {
    let hub = hubs::hub().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tidegate"}});
    hubs::load(&hub, [namespace]).await;
    let mut objects = documents("manifests/deploy/components/self-managed/secret.yaml");
    objects.extend(documents("manifests/deploy/webhooks/base/webhooks.yaml"));
    hubs::load(&hub, objects).await;
    hub
}

fn options(life: Duration) -> CertificateOptions {
    CertificateOptions {
        namespace: "tidegate".to_owned(),
        secret: "tidegate-tls".to_owned(),
        name: NAME.to_owned(),
        lives: Lives::of(life),
    }
}

async fn leader(client: &Client, life: Duration) -> (Tide, CertificateKeeper) {
    let tide = hubs::tide(client.clone(), TideOptions::default()).await;
    let keeper = CertificateKeeper::start(client, &tide, options(life));
    (tide, keeper)
}

const LONG: Duration = Duration::from_hours(24);

fn secrets(client: &Client) -> Api<Secret> {
    Api::namespaced(client.clone(), "tidegate")
}

async fn secret(client: &Client) -> Option<Secret> {
    secrets(client).get_opt("tidegate-tls").await.ok().flatten()
}

async fn data(client: &Client) -> Data {
    let data = secret(client)
        .await
        .and_then(|secret| secret.data)
        .unwrap_or_default();
    data.into_iter().map(|(key, bytes)| (key, bytes.0)).collect()
}

fn configurations(client: &Client, kind: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
    Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
}

async fn configuration(client: &Client, (kind, name): (&str, &str)) -> Value {
    json!(configurations(client, kind).get(name).await.expect("it is there"))
}

/// Whether a good pair is shown, nothing waits, and the API server trusts it.
async fn is_kept(client: &Client) -> bool {
    let data = data(client).await;
    let holding = Holding::read(&data);
    let now = jiff::Timestamp::now();
    let is_good = holding.shown.is_ok_and(|pair| pair.flaw(NAME, now).is_none());
    for place in CONFIGURATIONS {
        let object = configuration(client, place).await;
        if trusting(&object, NAME, &data.get(AUTHORITIES).cloned().unwrap_or_default()) != Trusting::These {
            return false;
        }
    }
    is_good && !data.contains_key(NEXT_CERTIFICATE)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_field_is_written_and_other_appliers_see_no_difference() {
    let hub = hub().await;
    let client = hub.client();
    let (tide, keeper) = leader(&client, LONG).await;
    eventually("a certificate", || is_kept(&client)).await;
    let ours = documents("manifests/deploy/webhooks/base/webhooks.yaml");
    for (at, place) in CONFIGURATIONS.into_iter().enumerate() {
        let before = configuration(&client, place).await;
        let owner = before["metadata"]["managedFields"]
            .as_array()
            .into_iter()
            .flatten();
        let owner: Vec<&Value> = owner
            .filter(|entry| entry["manager"] == "tidegate-certificates")
            .collect();
        assert_eq!(owner.len(), 1, "{before:#}");
        assert_eq!(owner[0]["operation"], "Apply");
        for (key, owned) in owner[0]["fieldsV1"]["f:webhooks"].as_object().expect("webhooks") {
            let expected = json!({".": {}, "f:name": {}, "f:clientConfig": {"f:caBundle": {}}});
            assert_eq!(owned, &expected, "{key}");
        }
        // A field manager that applies the manifest, as Flux does, meets no conflict and takes nothing away.
        let api = configurations(&client, place.0);
        for _ in 0..2 {
            let applied = api
                .patch(place.1, &PatchParams::apply("flux"), &Patch::Apply(&ours[at]))
                .await;
            let applied = json!(applied.expect("no conflict"));
            for (webhook, known) in applied["webhooks"]
                .as_array()
                .expect("webhooks")
                .iter()
                .zip(before["webhooks"].as_array().expect("webhooks"))
            {
                assert_eq!(webhook["clientConfig"], known["clientConfig"]);
            }
        }
    }
    // The Secret of the installation has no data: applied again, it takes nothing away.
    let empty = &documents("manifests/deploy/components/self-managed/secret.yaml")[0];
    let params = PatchParams::apply("flux").force();
    let applied = secrets(&client)
        .patch("tidegate-tls", &params, &Patch::Apply(empty))
        .await;
    assert!(
        applied
            .expect("applied")
            .data
            .is_some_and(|data| data.contains_key(KEY))
    );
    keeper.shutdown().await;
    tide.shutdown().await;
    hub.shutdown().await;
}

/// One who empties the field of a configuration finds it filled again.
async fn emptied_is_filled_again(client: &Client) {
    let (kind, name) = CONFIGURATIONS[0];
    let remove = json!([{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]);
    let remove: json_patch::Patch = serde_json::from_value(remove).expect("a patch");
    let api = configurations(client, kind);
    let patched = api
        .patch(name, &PatchParams::default(), &Patch::Json::<()>(remove))
        .await;
    patched.expect("it is emptied");
    eventually("filled again", || is_kept(client)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_certificate_is_reissued_and_its_ca_is_published() {
    let hub = hub().await;
    let client = hub.client();
    let (tide, keeper) = leader(&client, LONG).await;
    eventually("a certificate", || is_kept(&client)).await;
    let damage = |changes: Value| {
        let api = secrets(&client);
        async move {
            let patch = Patch::Merge(json!({"data": changes}));
            let changed = api.patch("tidegate-tls", &PatchParams::default(), &patch).await;
            changed.expect("it is changed");
        }
    };
    for (what, changes) in [
        ("no key", json!({KEY: null})),
        ("garbage", json!({CERTIFICATE: "Z2FyYmFnZQ=="})),
    ] {
        let old = data(&client).await;
        damage(changes).await;
        eventually(what, || async {
            is_kept(&client).await && data(&client).await.get(CERTIFICATE) != old.get(CERTIFICATE)
        })
        .await;
    }
    // The CA that clients trust is lost: it is restored from the webhook configurations.
    damage(json!({AUTHORITIES: null})).await;
    eventually("the authority is back", || async {
        let holding = Holding::read(&data(&client).await);
        holding
            .shown
            .is_ok_and(|pair| pair.flaw(NAME, jiff::Timestamp::now()).is_none())
    })
    .await;
    // First what is due is done: the authorities that are read then are the ones that stay.
    let revision = || async {
        secret(&client)
            .await
            .and_then(|secret| secret.metadata.resource_version)
    };
    at_rest(Duration::from_secs(4), revision).await;
    // The Secret is deleted: authorities that the API server trusted stay trusted, for replicas that still show what was lost.
    let old = data(&client).await[AUTHORITIES].clone();
    secrets(&client)
        .delete("tidegate-tls", &kube::api::DeleteParams::default())
        .await
        .expect("it is deleted");
    eventually("issued again", || is_kept(&client)).await;
    let now = data(&client).await[AUTHORITIES].clone();
    let now = String::from_utf8(now).expect("PEM");
    for known in String::from_utf8(old)
        .expect("PEM")
        .split_inclusive("END CERTIFICATE-----\n")
    {
        assert!(now.contains(known), "{known} is not in {now}");
    }
    emptied_is_filled_again(&client).await;
    keeper.shutdown().await;
    tide.shutdown().await;
    hub.shutdown().await;
}

/// Deleted and registered again is how doctor's own cure goes: no other client has overwritten the bundle of the new object, so
/// it is written at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_recreated_configuration_gets_the_ca_at_once_every_time() {
    let hub = hub().await;
    let client = hub.client();
    let (tide, keeper) = leader(&client, LONG).await;
    eventually("a certificate", || is_kept(&client)).await;
    // Ten writes of which each doubled the pause before the next would take hours.
    for _ in 0..10 {
        for (kind, name) in CONFIGURATIONS {
            let api = configurations(&client, kind);
            api.delete(name, &kube::api::DeleteParams::default())
                .await
                .expect("it goes");
        }
        hubs::load(&hub, documents("manifests/deploy/webhooks/base/webhooks.yaml")).await;
        eventually("the API server trusts it", || is_kept(&client)).await;
    }
    keeper.shutdown().await;
    tide.shutdown().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_leaders_at_once_come_to_rest_with_one_certificate() {
    let hub = hub().await;
    let client = hub.client();
    let (one, first) = leader(&client, LONG).await;
    let (two, second) = leader(&client, LONG).await;
    eventually("a certificate", || is_kept(&client)).await;
    let revision = || async {
        let secret = secret(&client).await.expect("the Secret");
        secret.metadata.resource_version.expect("a revision")
    };
    at_rest(Duration::from_secs(4), revision).await;
    assert!(is_kept(&client).await);
    for (tide, keeper) in [(one, first), (two, second)] {
        keeper.shutdown().await;
        tide.shutdown().await;
    }
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn later_configurations_and_their_other_webhooks_get_the_ca_too() {
    let hub = hubs::hub().await;
    let client = hub.client();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tidegate"}});
    hubs::load(&hub, [namespace]).await;
    let (tide, keeper) = leader(&client, LONG).await;
    // No webhook asks the gate yet, and there is no Secret: where the rights allow it, it is made.
    eventually("a certificate", || async {
        let data = data(&client).await;
        Holding::read(&data).shown.is_ok()
    })
    .await;
    hubs::load(&hub, documents("manifests/deploy/webhooks/base/webhooks.yaml")).await;
    eventually("both trust it", || is_kept(&client)).await;
    // A configuration that is deleted and created again.
    let (kind, name) = CONFIGURATIONS[1];
    let api = configurations(&client, kind);
    api.delete(name, &kube::api::DeleteParams::default())
        .await
        .expect("it is deleted");
    let ours = documents("manifests/deploy/webhooks/base/webhooks.yaml");
    let again: DynamicObject = serde_json::from_value(ours[1].clone()).expect("an object");
    api.create(&PostParams::default(), &again)
        .await
        .expect("it is made");
    eventually("it trusts it again", || is_kept(&client)).await;
    keeper.shutdown().await;
    tide.shutdown().await;
    hub.shutdown().await;
}
