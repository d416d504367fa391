//! The web page of a webhook pod: over TLS with the webhook's certificate, and compressed for clients that accept gzip.
//!
//! `web` tests who sees what.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde_json::Value;
use tidegate::server::Authority;

use crate::certificates::trust;
use crate::rig::{PATIENCE, hub_with_rbac, kubectl, tidegate};
use crate::serve::serving;

type Tls = StreamOwned<ClientConnection, TcpStream>;

fn connected(address: SocketAddr, config: &Arc<ClientConfig>) -> Tls {
    let tcp = TcpStream::connect(address).expect("the page is served");
    tcp.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let name = ServerName::from(address.ip());
    let client = ClientConnection::new(Arc::clone(config), name).expect("a client");
    StreamOwned::new(client, tcp)
}

fn ask(tls: &mut Tls, path: &str, lines: &[&str]) {
    let lines: String = lines.iter().flat_map(|line| [*line, "\r\n"]).collect();
    let text = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n{lines}\r\n");
    tls.write_all(text.as_bytes()).expect("it is read");
}

/// Returns the head of an answer, and its body as it came.
fn told(address: SocketAddr, config: &Arc<ClientConfig>, path: &str, lines: &[&str]) -> (String, Vec<u8>) {
    let mut tls = connected(address, config);
    ask(&mut tls, path, lines);
    let mut all = Vec::new();
    tls.read_to_end(&mut all).expect("an answer");
    let end = all
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .expect("a head");
    let body = all.split_off(end + 4);
    (String::from_utf8_lossy(&all).to_lowercase(), body)
}

fn unpacked(body: &[u8]) -> String {
    let mut text = String::new();
    let read = flate2::read::GzDecoder::new(body).read_to_string(&mut text);
    read.expect("gzip");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_webhook_uses_its_certificate_and_supports_gzip() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, admin) = hub_with_rbac(folder.path()).await;
    tokio::task::block_in_place(|| beside_a_gate(folder.path(), &admin));
    hub.shutdown().await;
}

fn beside_a_gate(folder: &Path, admin: &Path) {
    let authority = Authority::generate().expect("an authority");
    let (chain, key) = (folder.join("tls.crt"), folder.join("tls.key"));
    let issued = authority.issue(["127.0.0.1"]).expect("a certificate");
    issued.write(&chain, &key).expect("writable");
    let mut command = tidegate();
    command.args([
        "serve",
        "--bind",
        "127.0.0.1:0",
        "--ui",
        "127.0.0.1:0",
        "--kubeconfig",
    ]);
    command
        .arg(admin)
        .arg("--certificate")
        .arg(&chain)
        .arg("--key")
        .arg(&key);
    let (mut program, ready) = serving(&mut command);
    let address = ready
        .split_once("ui=https://")
        .and_then(|(_, rest)| rest.split('/').next());
    let address: SocketAddr = address
        .and_then(|text| text.parse().ok())
        .expect("the address of the page is printed");

    let config = trust(authority.ca_pem().as_bytes());
    the_files_are_the_same(address, &config);
    who_has_no_token_or_another_authority_gets_nothing(address, &config);
    what_is_of_the_hub_arrives(address, &config, admin);
    program.kill().ok();
    program.wait().ok();
}

fn the_files_are_the_same(address: SocketAddr, config: &Arc<ClientConfig>) {
    let (head, plain) = told(address, config, "/app.js", &[]);
    assert!(
        head.starts_with("http/1.1 200") && !head.contains("content-encoding"),
        "{head}"
    );
    let (head, packed) = told(address, config, "/app.js", &["accept-encoding: br, gzip;q=0.8"]);
    for line in [
        "content-encoding: gzip",
        "vary: accept-encoding",
        "content-security-policy: ",
    ] {
        assert!(head.contains(line), "{line}: {head}");
    }
    assert!(
        packed.len() * 2 < plain.len(),
        "{} of {}",
        packed.len(),
        plain.len()
    );
    assert_eq!(unpacked(&packed), String::from_utf8_lossy(&plain));
    let (head, refused) = told(address, config, "/app.js", &["accept-encoding: gzip;q=0"]);
    assert!(!head.contains("content-encoding") && refused == plain, "{head}");
}

fn who_has_no_token_or_another_authority_gets_nothing(address: SocketAddr, config: &Arc<ClientConfig>) {
    let (head, _) = told(address, config, "/api/rollouts", &["accept-encoding: gzip"]);
    assert!(head.starts_with("http/1.1 401"), "{head}");
    let other = Authority::generate().expect("an authority");
    let mut untrusted = connected(address, &trust(other.ca_pem().as_bytes()));
    assert!(
        untrusted.write_all(b"GET / HTTP/1.1\r\n\r\n").is_err(),
        "another authority"
    );
    let mut clear = TcpStream::connect(address).expect("the page is served");
    clear.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    clear
        .write_all(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        .expect("it is read");
    let mut said = Vec::new();
    clear.read_to_end(&mut said).ok();
    assert!(!said.starts_with(b"HTTP"), "in the clear");
}

fn what_is_of_the_hub_arrives(address: SocketAddr, config: &Arc<ClientConfig>, admin: &Path) {
    for args in [
        &["create", "serviceaccount", "reader"][..],
        &[
            "create",
            "clusterrolebinding",
            "reader",
            "--clusterrole=cluster-admin",
            "--serviceaccount=default:reader",
        ],
        &["apply", "-f", "manifests/examples/"],
    ] {
        let done = kubectl(admin, args, "");
        assert!(done.ok, "{args:?}: {}", done.stderr);
    }
    let token = kubectl(admin, &["create", "token", "reader"], "");
    let bearer = format!("authorization: Bearer {}", token.stdout.trim());
    let begun = std::time::Instant::now();
    let list = loop {
        let (head, body) = told(
            address,
            config,
            "/api/rollouts",
            &[&bearer, "accept-encoding: gzip"],
        );
        assert!(head.starts_with("http/1.1 200"), "{head}");
        let text = if head.contains("content-encoding") {
            unpacked(&body)
        } else {
            String::from_utf8_lossy(&body).into_owned()
        };
        if text.contains("helloworld") {
            break text;
        }
        assert!(begun.elapsed() < PATIENCE, "it never comes: {text}");
        std::thread::sleep(std::time::Duration::from_millis(200));
    };
    assert!(serde_json::from_str::<Value>(&list).is_ok(), "{list}");
    // Events are not compressed, also for a client that accepts gzip, and come at once.
    let mut stream = connected(address, config);
    ask(&mut stream, "/api/stream", &[&bearer, "accept-encoding: gzip"]);
    let (mut said, mut part) = (String::new(), vec![0; 65_536]);
    while !said.contains("event: list") {
        let read = stream.read(&mut part).expect("the stream goes on");
        assert!(read > 0, "it has ended: {said}");
        said.push_str(&String::from_utf8_lossy(&part[..read]));
    }
    assert!(!said.to_lowercase().contains("content-encoding"), "{said}");
}
