//! The requests for the webhook's certificate: by the account that renews it and the account that serves it.

use std::time::Duration;

use devhub::TestHub;
use kube::Client;
use serde_json::json;
use tidegate::controllers::{CertificateKeeper, CertificateOptions, SecretFollower, SecretState};
use tidegate::telemetry::Metrics;

use super::stories::{ADDON, Admin};
use crate::kit::hubs;
use crate::kit::manifests::documents;
use crate::kit::waiting::{eventually, eventually_or};

/// A certificate is made, its authority told to the API server in webhooks and in a definition that the gate converts, and the
/// certificate is read by the gate.
pub(crate) async fn of_a_certificate(hub: &TestHub, gate: Client, certificates: Client) {
    let admin = Admin(hub.client());
    let mut objects = documents("manifests/deploy/components/self-managed/secret.yaml");
    objects.extend(documents("manifests/deploy/webhooks/base/webhooks.yaml"));
    hubs::load(hub, objects).await;
    let definition =
        format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clustermanagementaddons.{ADDON}");
    let service = json!({"namespace": "tidegate", "name": "tidegate", "path": "/convert", "port": 443});
    let conversion = json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
        "clientConfig": {"service": service}}});
    admin
        .merge(&definition, json!({"spec": {"conversion": conversion}}))
        .await;
    let keeper = CertificateKeeper::alone(&certificates, options(), Metrics::default())
        .await
        .expect("the hub answers");
    let follower = SecretFollower::start(gate, "tidegate", "tidegate-tls");
    eventually("the gate has a certificate", || async {
        matches!(&*follower.sight().borrow(), SecretState::Holds { key, .. } if !key.is_empty())
    })
    .await;
    let configuration =
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/tidegate-guard";
    for (path, field) in [
        (configuration, "/webhooks/0/clientConfig/caBundle"),
        (&definition, "/spec/conversion/webhook/clientConfig/caBundle"),
    ] {
        eventually(path, || async {
            let found = admin.get(path).await.unwrap_or_default();
            found.pointer(field).is_some()
        })
        .await;
    }
    assert_eq!(*keeper.trouble().borrow(), None);
    keeper.shutdown().await;
}

fn options() -> CertificateOptions {
    CertificateOptions {
        namespace: "tidegate".to_owned(),
        secret: "tidegate-tls".to_owned(),
        name: "tidegate.tidegate.svc".to_owned(),
        lives: ::kubernetes::certificates::Lives::of(Duration::from_hours(24)),
    }
}

/// A keeper that runs as an account without the rights publishes what it lacks, for its probe.
pub(crate) async fn without_rights(client: Client, expected: &str) {
    let keeper = CertificateKeeper::alone(&client, options(), Metrics::default())
        .await
        .expect("the hub answers");
    let trouble = keeper.trouble();
    let words = || trouble.borrow().clone().unwrap_or_default();
    eventually_or(expected, async || words(), async || words().contains(expected)).await;
    keeper.shutdown().await;
}
