//! Certificates from cert-manager, which is simulated here: its issuer, and its CA injector, which uses the annotation of the
//! manifests. No request may fail while certificates are renewed.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::addresses::free_address;
use crate::certificates::{Met, apply, follow_bundle, gate, load, load_hub, scene, webhooks};
use crate::rig::{kubectl, repository};

/// cert-manager's part: what its issuer puts into the Secret of a Certificate, and what its injector writes into configurations
/// that have the annotation `cert-manager.io/inject-ca-from`, by an update of the whole object.
async fn cert_manager(client: kube::Client, authority: Arc<Mutex<tidegate::server::Authority>>) {
    let get = |path: String| {
        let client = client.clone();
        async move {
            let request = http::Request::get(path).body(Vec::new()).expect("a request");
            client.request::<Value>(request).await.ok()
        }
    };
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        for kind in [
            "mutatingwebhookconfigurations/tidegate-mutate",
            "validatingwebhookconfigurations/tidegate-guard",
        ] {
            let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}");
            let Some(mut object) = get(path.clone()).await else {
                continue;
            };
            let from = object.pointer("/metadata/annotations/cert-manager.io~1inject-ca-from");
            assert_eq!(
                from,
                Some(&json!("tidegate/tidegate")),
                "the Certificate of the kit"
            );
            let bundle = STANDARD.encode(authority.lock().expect("no thread panics").ca_pem());
            let webhooks = object["webhooks"].as_array_mut().expect("webhooks");
            if webhooks
                .iter()
                .all(|webhook| webhook["clientConfig"]["caBundle"] == json!(bundle))
            {
                continue;
            }
            for webhook in webhooks {
                webhook["clientConfig"]["caBundle"] = json!(bundle);
            }
            let request = http::Request::put(path).header("content-type", "application/json");
            let request = request.body(object.to_string().into_bytes()).expect("a request");
            // After a conflict, the object as it then is gets the bundle in the next round.
            client.request::<Value>(request).await.ok();
        }
    }
}

/// A pair of this authority as a Secret, as cert-manager's issuer writes it.
fn issued(authority: &tidegate::server::Authority) -> String {
    let issued = authority.issue(["127.0.0.1"]).expect("a certificate");
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tidegate-tls", "namespace": "tidegate"},
        "stringData": {"tls.crt": issued.chain_pem(), "tls.key": issued.key_pem(), "ca.crt": authority.ca_pem()}});
    secret.to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_cert_manager_issues_and_injects_is_shown_and_trusted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = scene(folder.path()).await;
    let authority = tidegate::server::Authority::generate().expect("an authority");
    let bind = free_address();
    let running = tokio::task::block_in_place(|| {
        apply(&kubeconfig, &issued(&authority));
        let gate = gate(&kubeconfig, bind, "secret");
        // The annotation of the kit, and an address for its Service.
        let kit = kubectl(
            &kubeconfig,
            &[
                "kustomize",
                &repository("manifests/deploy/webhooks").to_string_lossy(),
            ],
            "",
        );
        let annotation = "cert-manager.io/inject-ca-from: tidegate/tidegate";
        assert_eq!(kit.stdout.matches(annotation).count(), 2, "{}", kit.stderr);
        let annotated = webhooks(bind).replace(
            "metadata:\n",
            &format!("metadata:\n  annotations:\n    {annotation}\n"),
        );
        apply(&kubeconfig, &annotated);
        gate
    });
    let authority = Arc::new(Mutex::new(authority));
    let manager = tokio::spawn(cert_manager(hub.client(), Arc::clone(&authority)));
    let config = follow_bundle(&hub).await;
    let met = Met::default();
    let mut callers = load(&[bind], &config, &met);
    callers.push(load_hub(&hub, &met));
    for renewals in 1..=3 {
        let begun = Instant::now();
        while met.certificates() < renewals {
            assert!(begun.elapsed() < crate::rig::PATIENCE, "{renewals}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // The lock is released before kubectl runs: a thread of the hub would wait for the lock, and kubectl for the hub.
        let secret = issued(&authority.lock().expect("no thread panics"));
        tokio::task::block_in_place(|| apply(&kubeconfig, &secret));
    }
    callers.iter().for_each(tokio::task::JoinHandle::abort);
    manager.abort();
    assert_eq!(
        *met.failures.lock().expect("no thread panics"),
        Vec::<String>::new()
    );
    drop(running);
    hub.shutdown().await;
}
