//! Who is let in: callers with a certificate, callers that know the path, and no other caller.
//!
//! Never asks what an answer means.

use std::collections::BTreeSet;
use std::sync::Arc;

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::rig::{Rig, quick, review};
use crate::server::{Authority, Callers, ClientAuthority, PathSecrets};
use admission::{Rulebook, decide};

async fn admitting(callers: Callers) -> Rig {
    Rig::admitting(quick(), callers, decide, Rulebook::default(), None).await
}

fn trusting(authority: &Authority, names: &[&str]) -> Callers {
    Callers {
        authority: Some(ClientAuthority::from_pem(authority.ca_pem()).expect("an authority")),
        names: names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>(),
        secrets: None,
    }
}

/// Issues a certificate to a caller.
fn caller(authority: &Authority, name: &str) -> (String, String) {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    authority.sign_pem(params).expect("a certificate")
}

/// Returns the status line of the answer to a review, if there is one.
async fn asked_as(rig: &Rig, who: Option<&(String, String)>) -> Option<String> {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(rig.authority.ca_pem().as_bytes()).expect("a certificate");
    roots.add(ca).expect("an authority");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots);
    let config = match who {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let chain = CertificateDer::from_pem_slice(chain.as_bytes()).expect("a certificate");
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
            builder.with_client_auth_cert(vec![chain], key).expect("a pair")
        }
    };
    let tcp = TcpStream::connect(rig.gate.address()).await.ok()?;
    let name = ServerName::try_from("localhost").expect("a name");
    let mut stream = TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await
        .ok()?;
    let body = review(&json!({}));
    let head = format!(
        "POST /validate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(&body).await.ok()?;
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.ok()?;
    Some(String::from_utf8_lossy(&line).into_owned())
}

#[tokio::test]
async fn without_a_certificate_of_the_authority_there_is_no_http() {
    let hub = Authority::generate().expect("an authority");
    let rig = admitting(trusting(&hub, &[])).await;
    let api_server = caller(&hub, "kube-apiserver");
    let other = Authority::generate().expect("an authority");
    let unknown = caller(&other, "kube-apiserver");
    assert_eq!(
        asked_as(&rig, Some(&api_server)).await.as_deref(),
        Some("HTTP/1.1 200")
    );
    assert_eq!(asked_as(&rig, None).await, None);
    assert_eq!(asked_as(&rig, Some(&unknown)).await, None);
    let server = hub.issue(["kube-apiserver"]).expect("a certificate");
    let server = (server.chain_pem().to_owned(), server.key_pem().to_owned());
    assert_eq!(asked_as(&rig, Some(&server)).await, None, "it is not for callers");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_hung_up_on() {
    let hub = Authority::generate().expect("an authority");
    let rig = admitting(trusting(&hub, &["kube-apiserver"])).await;
    let [right, wrong] = ["kube-apiserver", "pod"].map(|name| caller(&hub, name));
    assert_eq!(
        asked_as(&rig, Some(&right)).await.as_deref(),
        Some("HTTP/1.1 200")
    );
    assert_eq!(asked_as(&rig, Some(&wrong)).await, None);
    let line = "tidegate_connections_closed_total{reason=\"wrong_name\"} 1";
    assert!(rig.metrics.text().contains(line), "{}", rig.metrics.text());
}

#[tokio::test]
async fn another_authority_counts_from_the_next_handshake_on() {
    let (first, second) = (Authority::generate(), Authority::generate());
    let (first, second) = (first.expect("an authority"), second.expect("an authority"));
    let rig = admitting(trusting(&first, &[])).await;
    let [old, new] = [&first, &second].map(|hub| caller(hub, "hub"));
    assert!(asked_as(&rig, Some(&old)).await.is_some());
    let authority = ClientAuthority::from_pem(second.ca_pem()).expect("an authority");
    rig.gate.swap_authority(&authority).expect("TLS");
    assert!(asked_as(&rig, Some(&new)).await.is_some());
    assert!(asked_as(&rig, Some(&old)).await.is_none());
}

#[tokio::test]
async fn who_does_not_know_the_path_finds_nothing() {
    let (old, new) = ("o".repeat(32), "n".repeat(32));
    let secrets = |text: &str| PathSecrets::parse(text).expect("secrets");
    let rig = admitting(Callers {
        secrets: Some(secrets(&format!("{old}\n{new}"))),
        ..Callers::default()
    })
    .await;
    let ask = |path: String| rig.post(Box::leak(path.into_boxed_str()), review(&json!({})));
    for webhook in ["/validate", "/mutate"] {
        assert_eq!(ask(format!("{webhook}/{old}")).await.0, 200);
        assert_eq!(ask(format!("{webhook}/{new}")).await.0, 200);
        for wrong in [
            webhook.to_owned(),
            format!("{webhook}/"),
            format!("{webhook}/{}", "x".repeat(32)),
            format!("{webhook}/{old}x"),
            format!("{webhook}/{old}/"),
            format!("{webhook}?{old}"),
        ] {
            assert_eq!(ask(wrong.clone()).await.0, 404, "{wrong}");
        }
    }
    rig.gate.swap_secrets(secrets(&new));
    assert_eq!(ask(format!("/validate/{old}")).await.0, 404);
    assert_eq!(ask(format!("/validate/{new}")).await.0, 200);
}

#[tokio::test]
async fn without_a_secret_no_path_has_one() {
    let rig = admitting(Callers::default()).await;
    assert_eq!(rig.post("/validate/anything", review(&json!({}))).await.0, 404);
}
