//! The web page over HTTP: its data equals `rollout status -o json`, and users see and do only what their RBAC allows.
//!
//! `tests/scripts/web/run` tests the page in a browser.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use spokes::{Fleet, FleetOptions};

use crate::addresses::free_address;
use crate::rig::{Dev, PATIENCE, Run, hub_with_rbac, kubectl, repository, run};
use crate::serve::Serve;

/// What a browser may load, and from where.
const POLICY: &str = "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn ask(address: &str, path: &str, lines: &[&str]) -> TcpStream {
    send(address, "GET", path, lines, "")
}

fn send(address: &str, method: &str, path: &str, lines: &[&str], body: &str) -> TcpStream {
    let mut tcp = TcpStream::connect(address).expect("the page is served");
    tcp.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    for line in lines {
        text.extend([line, "\r\n"]);
    }
    if !body.is_empty() {
        let length = format!("content-length: {}\r\n", body.len());
        text.push_str(&length);
    }
    write!(tcp, "{text}\r\n{body}").expect("it is read");
    tcp
}

/// Returns status, head and body of an answer.
pub(crate) fn told(address: &str, path: &str, lines: &[&str]) -> (u16, String, String) {
    answered(ask(address, path, lines))
}

fn answered(mut tcp: TcpStream) -> (u16, String, String) {
    let mut all = String::new();
    tcp.read_to_string(&mut all).expect("an answer");
    let (head, body) = all.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), head.to_lowercase(), body.to_owned())
}

const HOST: &str = "host: 127.0.0.1";

fn parsed(text: &str) -> Value {
    let parsed = serde_json::from_str(text);
    assert!(parsed.is_ok(), "{text}");
    parsed.expect("just seen")
}

/// What changes with every look.
fn still(mut picture: Value) -> Value {
    for field in ["at", "eta", "next"] {
        picture.as_object_mut().expect("a picture").remove(field);
    }
    picture
}

fn cli(kubeconfig: &Path, args: &[&str]) -> Run {
    run(&[args, &["--kubeconfig", &kubeconfig.to_string_lossy()]].concat())
}

fn until<T>(what: &str, mut holds: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = holds() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(150));
    }
}

/// Reads a stream until it says something; returns what it has said.
fn heard(tcp: &mut TcpStream, what: &str) -> String {
    let begun = Instant::now();
    let (mut all, mut part) = (String::new(), vec![0; 65536]);
    while !all.contains(what) {
        assert!(begun.elapsed() < PATIENCE, "never heard {what}: {all}");
        let read = tcp.read(&mut part).expect("the stream goes on");
        assert!(read > 0, "the stream has ended before {what}: {all}");
        all.push_str(&String::from_utf8_lossy(&part[..read]));
    }
    all
}

#[test]
fn the_page_of_a_dev_hub_says_what_the_command_line_says_and_follows_a_change() {
    let address = free_address().to_string();
    let dev = Dev::start(&["--clusters", "5", "--ui", &address]);
    let (status, head, html) = told(&address, "/", &[HOST]);
    assert_eq!(status, 200, "{head}");
    for line in [
        POLICY,
        "x-content-type-options: nosniff",
        "cache-control: no-store",
        "x-frame-options: deny",
    ] {
        assert!(head.contains(line), "{line} is missing: {head}");
    }
    assert!(
        !head.contains("set-cookie") && html.contains("<html lang=\"en\""),
        "{head}"
    );
    for file in [
        "/app.js",
        "/actions.js",
        "/fleet.js",
        "/freezes.js",
        "/grid.js",
        "/live.js",
        "/report.js",
        "/words.js",
        "/style.css",
        "/icon.svg",
    ] {
        assert_eq!(told(&address, file, &[HOST]).0, 200, "{file}");
    }
    unauthorized_requests_get_nothing(&address);
    silent_connections_keep_no_request_out(&address);

    until("it is installed, on the page as on the command line", || {
        let cli = cli(
            &dev.kubeconfig,
            &["rollout", "status", "helloworld", "-o", "json"],
        );
        let page = told(&address, "/api/rollouts/helloworld", &[HOST]);
        let (cli, page) = (still(parsed(&cli.stdout)), still(parsed(&page.2)));
        (cli["phase"] == "Done" && cli == page).then_some(())
    });
    let list = parsed(&told(&address, "/api/rollouts", &[HOST]).2);
    let listed = parsed(&cli(&dev.kubeconfig, &["rollout", "list", "-o", "json"]).stdout);
    assert_eq!(list["kind"], listed["kind"]);
    let items = |list: &Value| {
        let items = list["items"].as_array().expect("items").clone();
        items.into_iter().map(still).collect::<Vec<_>>()
    };
    assert_eq!(items(&list), items(&listed));
    assert_eq!(list.get("leftOut"), None);

    let mut stream = ask(&address, "/api/stream/helloworld", &[HOST]);
    let first = heard(&mut stream, "event: rollout");
    assert!(
        first.contains("event: list") && first.contains("text/event-stream"),
        "{first}"
    );

    assert!(cli(&dev.kubeconfig, &["rollout", "pause", "helloworld"]).ok);
    heard(&mut stream, "\"paused\":");

    let why = parsed(&told(&address, "/api/why/cluster1/helloworld", &[HOST]).2);
    assert!(
        why["text"].as_str().is_some_and(|text| text.contains("cluster1")),
        "{why}"
    );
    let history = parsed(&told(&address, "/api/history/helloworld", &[HOST]).2);
    assert_eq!(history["kind"], "RolloutHistory");
    let findings = parsed(&told(&address, "/api/findings", &[HOST]).2);
    assert_eq!(findings["audited"], true);
    assert_eq!(told(&address, "/api/rollouts/missing", &[HOST]).0, 404);
}

/// Connections that send nothing, or half a request, give up their places; a stream keeps its own.
fn silent_connections_keep_no_request_out(address: &str) {
    let mut stream = ask(address, "/api/stream", &[HOST]);
    heard(&mut stream, "event: list");
    let connect = |_| TcpStream::connect(address).expect("the kernel accepts it");
    let mut silent: Vec<TcpStream> = (0..300).map(connect).collect();
    for tcp in silent.iter_mut().step_by(2) {
        let _closed = write!(tcp, "GET / HTTP/1.1\r\n");
    }
    let begun = Instant::now();
    assert_eq!(told(address, "/api/rollouts", &[HOST]).0, 200);
    let took = begun.elapsed();
    assert!(
        took < Duration::from_secs(3),
        "it waited {took:?} for silent connections"
    );
    stream
        .set_read_timeout(Some(Duration::from_millis(200)))
        .expect("a time-out");
    let mut more = vec![0; 65536];
    while let Ok(read) = stream.read(&mut more) {
        assert!(read > 0, "the stream has lost its place");
    }
}

fn unauthorized_requests_get_nothing(address: &str) {
    let rows = [
        vec!["host: evil.example"],
        vec!["host: 127.0.0.1.evil.example"],
        vec![],
        vec![HOST, "origin: https://evil.example"],
        vec![HOST, "sec-fetch-site: cross-site"],
    ];
    for lines in rows {
        let (status, head, body) = told(address, "/api/rollouts", &lines);
        // The HTTP library rejects a request without a host, or the page does.
        assert!([400, 403].contains(&status), "{lines:?}: {head}");
        assert!(
            !body.contains("helloworld") && !head.contains("access-control"),
            "{head}{body}"
        );
    }
    let mut tcp = TcpStream::connect(address).expect("the page is served");
    write!(
        tcp,
        "DELETE /api/rollouts HTTP/1.1\r\n{HOST}\r\nconnection: close\r\n\r\n"
    )
    .expect("it is read");
    let mut all = String::new();
    tcp.read_to_string(&mut all).expect("an answer");
    assert!(all.starts_with("HTTP/1.1 405"), "{all}");
    for path in ["act/pause/helloworld", "freeze/x", "unfreeze/x"] {
        let path = format!("/api/{path}");
        assert_eq!(told(address, &path, &[HOST]).0, 405, "{path}");
        let foreign = [HOST, "origin: https://evil.example", ACTION[2], ACTION[3]];
        let form = [HOST, ACTION[1], "content-type: text/plain"];
        for lines in [&foreign[..], &form] {
            let (status, _, body) = answered(send(address, "POST", &path, lines, "{}"));
            assert_eq!(status, 403, "{path} {lines:?}: {body}");
        }
    }
}

/// What the page sends with an action.
const ACTION: [&str; 4] = [
    HOST,
    "origin: http://127.0.0.1",
    "tidegate-action: 1",
    "content-type: application/json",
];

/// Does an action as a user; returns the status and the message.
fn act(address: &str, what: &str, bearer: &str, body: &Value) -> (u16, Value) {
    let lines = [&ACTION[..], &[bearer]].concat();
    let (status, _, body) = answered(send(
        address,
        "POST",
        &format!("/api/act/{what}"),
        &lines,
        &body.to_string(),
    ));
    (status, parsed(&body))
}

const CLUSTERS: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn with_authentication_users_see_what_their_rbac_allows() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, admin) = hub_with_rbac(folder.path()).await;
    let options = FleetOptions {
        clusters: CLUSTERS,
        ..FleetOptions::default()
    };
    let fleet = Fleet::start(hub.client(), options)
        .await
        .expect("the clusters start");
    tokio::task::block_in_place(|| {
        let flags = ["--ui", "127.0.0.1:0"];
        let server = as_installed(&admin);
        let mut program = Serve::half("controllers", &server, &flags);
        let address = program
            .url
            .split_once("ui=http://")
            .expect("the address of the page is printed")
            .1;
        let address = address.split('/').next().expect("an address").to_owned();
        looks(&address, &admin);
        let mut stream = ask(&address, "/api/stream", &[HOST, &bearer(&admin, "reader")]);
        heard(&mut stream, "event: list");
        program.end();
        let mut rest = Vec::new();
        let ended = stream.read_to_end(&mut rest);
        assert!(ended.is_ok(), "the stream ends with the program: {ended:?}");
    });
    fleet.shutdown().await;
    hub.shutdown().await;
}

fn done(admin: &Path, args: &[&str], stdin: &str) -> String {
    let done = kubectl(admin, args, stdin);
    assert!(done.ok, "{args:?}: {}", done.stderr);
    done.stdout.trim().to_owned()
}

/// Gives the account of the controllers the rights that it is installed with, and those of the page; returns its kubeconfig.
fn as_installed(admin: &Path) -> PathBuf {
    done(admin, &["create", "namespace", "tidegate"], "");
    for file in [
        "controllers",
        "registration",
        "registration-everywhere-policy",
        "registration-everywhere-binding",
        "web-page",
    ] {
        let file = repository(&format!("manifests/rbac/{file}.yaml"));
        done(admin, &["apply", "-f", &file.to_string_lossy()], "");
    }
    let token = done(
        admin,
        &["create", "token", "tidegate-controllers", "-n", "tidegate"],
        "",
    );
    let own = admin.with_extension("controllers");
    let words = ["config", "view", "--minify", "--raw", "-o", "json"];
    let mut config = parsed(&done(admin, &words, ""));
    config["users"][0]["user"] = json!({"token": token});
    std::fs::write(&own, config.to_string()).expect("writable");
    own
}

fn bearer(admin: &Path, name: &str) -> String {
    format!(
        "authorization: Bearer {}",
        done(admin, &["create", "token", name], "")
    )
}

/// Creates users who may read nothing, everything, and a single cluster, and one who may also pause.
fn people(admin: &Path) {
    for name in ["unprivileged", "reader", "tenant", "operator"] {
        done(admin, &["create", "serviceaccount", name], "");
    }
    let who = |name: &str| format!("--serviceaccount=default:{name}");
    let group = "addon.open-cluster-management.io";
    let role = |name: &str, resources: &[&str]| {
        let of = resources.iter().map(|resource| format!("--resource={resource}"));
        let of: Vec<String> = of.collect();
        let mut args = vec!["create", "clusterrole", name, "--verb=get,list,watch"];
        args.extend(of.iter().map(String::as_str));
        done(admin, &args, "");
    };
    let (addons, instances) = (
        format!("clustermanagementaddons.{group}"),
        format!("managedclusteraddons.{group}"),
    );
    role("everything", &["*.*"]);
    role("addons", &[&addons]);
    role("instances", &[&instances]);
    let bind = |name: &str, role: &str, account: &str| {
        let role = format!("--clusterrole={role}");
        done(
            admin,
            &["create", "clusterrolebinding", name, &role, &who(account)],
            "",
        );
    };
    bind("reader", "everything", "reader");
    bind("tenant", "addons", "tenant");
    bind("operator-reads", "everything", "operator");
    let steering = [
        "create",
        "clusterrole",
        "steering",
        "--verb=create,patch",
        "--resource=addonrollouts.tidegate.io",
    ];
    done(admin, &steering, "");
    bind("operator-steers", "steering", "operator");
    let within = [
        "create",
        "rolebinding",
        "tenant",
        "-n",
        "cluster2",
        "--clusterrole=instances",
    ];
    done(admin, &[&within[..], &[&who("tenant")]].concat(), "");
    done(admin, &["apply", "-f", "manifests/examples/"], "");
}

/// Who has no token that the hub knows sees nothing, and who may see everything does.
fn looks(address: &str, admin: &Path) {
    people(admin);
    for lines in [
        vec![HOST],
        vec![HOST, "authorization: Bearer invalid-token"],
        vec![HOST, "cookie: token=x"],
    ] {
        let (status, head, body) = told(address, "/api/rollouts", &lines);
        assert_eq!(status, 401, "{head}");
        assert!(
            head.contains("www-authenticate: bearer") && !body.contains("helloworld"),
            "{head}{body}"
        );
    }
    assert_eq!(
        told(address, "/", &[HOST]).0,
        200,
        "the page itself holds nothing of the hub"
    );

    let reader = bearer(admin, "reader");
    let rollout = until("the reader sees all clusters", || {
        let (status, _, body) = told(address, "/api/rollouts/helloworld", &[HOST, &reader]);
        let picture = parsed(&body);
        (status == 200 && picture["counts"]["total"] == CLUSTERS && picture["phase"] == "Done")
            .then_some(picture)
    });
    assert_eq!(rollout["clusters"].as_array().map(Vec::len), Some(CLUSTERS));
    let why = told(address, "/api/why/cluster1/helloworld", &[HOST, &reader]);
    assert_eq!(why.0, 200, "{}", why.2);
    sees_nothing(address, admin);
    sees_one_cluster(address, admin);
    acts(address, admin, &reader);
    other_origins_do_nothing(address, admin);
}

fn stored(admin: &Path, field: &str) -> String {
    let path = format!("-o=jsonpath={{{field}}}");
    done(
        admin,
        &["get", "addonrollouts", "helloworld", "--ignore-not-found", &path],
        "",
    )
}

/// An action is written with the token of the user: what the hub does not allow the user is not done, although the account of the
/// controllers may write it.
fn acts(address: &str, admin: &Path, reader: &str) {
    let lunch = json!({"reason": "lunch"});
    for (what, body) in [
        ("pause", json!({"reason": "lunch", "dryRun": true})),
        ("pause", lunch.clone()),
    ] {
        let (status, told) = act(address, &format!("{what}/helloworld"), reader, &body);
        let why = told["error"].as_str().unwrap_or_default();
        assert!(
            status == 403
                && why.starts_with("the hub does not allow system:serviceaccount:default:reader to ")
                && why.contains("addonrollouts in API group tidegate.io"),
            "{status} {told}"
        );
    }
    assert_eq!(stored(admin, ".spec.pause"), "");

    let operator = bearer(admin, "operator");
    let dry = act(
        address,
        "pause/helloworld",
        &operator,
        &json!({"reason": "lunch", "dryRun": true}),
    );
    let text = "helloworld: paused (dry run)\n  would set spec.pause={\"reason\":\"lunch\"}\n  no cluster is waiting now; the next change \
                waits until the rollout is resumed";
    assert_eq!(dry, (200, json!({"dryRun": true, "text": text})));
    assert_eq!(stored(admin, ".spec.pause"), "");
    let (status, told) = act(address, "pause/helloworld", &operator, &lunch);
    assert_eq!(status, 200, "{told}");
    assert_eq!(stored(admin, ".spec.pause.reason"), "lunch");
    let managers = stored(admin, ".metadata.managedFields[*].manager");
    assert!(
        managers.split(' ').any(|manager| manager == "tidegate-web-pause"),
        "{managers}"
    );
    let (status, told) = act(address, "pause/helloworld", &operator, &lunch);
    assert_eq!(
        (status, &told["error"]),
        (
            409,
            &json!("cannot pause helloworld: all placements are paused already")
        )
    );
    let (status, told) = act(address, "resume/helloworld", &operator, &json!({}));
    assert_eq!(status, 200, "{told}");
    assert_eq!(stored(admin, ".spec.pause"), "");
    assert_eq!(
        act(address, "delete/helloworld", &operator, &json!({})).0,
        400,
        "there is no such action"
    );
    assert_eq!(act(address, "pause/missing", &operator, &json!({})).0, 404);
}

/// What a browser sends from another site, or what is not sent by the page, is refused even with a token.
fn other_origins_do_nothing(address: &str, admin: &Path) {
    let operator = bearer(admin, "operator");
    let own = "origin: http://127.0.0.1";
    let (mark, json) = ("tidegate-action: 1", "content-type: application/json");
    for lines in [
        vec![HOST, "origin: https://evil.example", mark, json],
        vec![HOST, "origin: null", mark, json],
        vec![HOST, own, "sec-fetch-site: cross-site", mark, json],
        vec![HOST, own, "sec-fetch-site: same-site", mark, json],
        vec![HOST, mark, json],
        vec![HOST, own, json],
        vec![HOST, own, mark, "content-type: text/plain"],
        vec!["host: evil.example", "origin: http://evil.example", mark, json],
    ] {
        let lines = [&lines[..], &[&operator]].concat();
        let (status, head, body) = answered(send(address, "POST", "/api/act/pause/helloworld", &lines, "{}"));
        assert_eq!(status, 403, "{lines:?}: {body}");
        assert!(!head.contains("access-control"), "{head}");
    }
    let preflight = [
        HOST,
        "origin: https://evil.example",
        "access-control-request-method: POST",
        "access-control-request-headers: tidegate-action",
    ];
    let (status, head, _) = answered(send(
        address,
        "OPTIONS",
        "/api/act/pause/helloworld",
        &preflight,
        "",
    ));
    assert!(status == 403 && !head.contains("access-control"), "{head}");
    assert_eq!(stored(admin, ".spec.pause"), "");
    let long = [&ACTION[..], &[&operator]].concat();
    let body = format!(r#"{{"reason": "{}"}}"#, "x".repeat(9_000));
    let (status, ..) = answered(send(address, "POST", "/api/act/pause/helloworld", &long, &body));
    assert_eq!(status, 400, "the body is too long");
}

fn sees_nothing(address: &str, admin: &Path) {
    let unprivileged = bearer(admin, "unprivileged");
    let (status, _, body) = told(address, "/api/rollouts", &[HOST, &unprivileged]);
    let list = parsed(&body);
    assert_eq!(
        (status, &list["items"], &list["leftOut"]["rollouts"]),
        (200, &json!([]), &json!(1))
    );
    for path in [
        "/api/rollouts/helloworld",
        "/api/why/cluster1/helloworld",
        "/api/history/helloworld",
    ] {
        let (status, _, body) = told(address, path, &[HOST, &unprivileged]);
        assert!(status == 404 && !body.contains("cluster1 "), "{path}: {body}");
    }
    for path in [
        "/api/clusters/cluster1",
        "/api/changes/helloworld",
        "/api/settings/helloworld",
    ] {
        assert_eq!(told(address, path, &[HOST, &unprivileged]).0, 404, "{path}");
    }
    let fleet = parsed(&told(address, "/api/fleet", &[HOST, &unprivileged]).2);
    assert_eq!(fleet, json!({"rollouts": [], "clusters": []}));
    let findings = parsed(&told(address, "/api/findings", &[HOST, &unprivileged]).2);
    assert_eq!(findings["items"], json!([]));
}

fn sees_one_cluster(address: &str, admin: &Path) {
    let tenant = bearer(admin, "tenant");
    let picture = parsed(&told(address, "/api/rollouts/helloworld", &[HOST, &tenant]).2);
    let names: Vec<&Value> = picture["clusters"]
        .as_array()
        .expect("clusters")
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(
        (names, &picture["leftOut"]["clusters"]),
        (vec![&json!("cluster2")], &json!(CLUSTERS - 1))
    );
    assert_eq!(
        told(address, "/api/why/cluster1/helloworld", &[HOST, &tenant]).0,
        404
    );
    let fleet = parsed(&told(address, "/api/fleet", &[HOST, &tenant]).2);
    assert_eq!(
        fleet["clusters"],
        json!([{"name": "cluster2", "attention": false, "cells": ["Done"]}])
    );
    assert_eq!(told(address, "/api/clusters/cluster1", &[HOST, &tenant]).0, 404);
    assert_eq!(told(address, "/api/clusters/cluster2", &[HOST, &tenant]).0, 200);
    // Settings and changed fields are read as the tenant, too.
    let settings = parsed(&told(address, "/api/settings/helloworld", &[HOST, &tenant]).2);
    assert_eq!(
        (
            &settings["settings"],
            settings["missing"].as_array().map(Vec::len)
        ),
        (&Value::Null, Some(5))
    );
    let (status, _, body) = told(address, "/api/changes/helloworld", &[HOST, &tenant]);
    assert!(status == 502 && body.contains("forbidden"), "{status} {body}");
    // The reasons are read as the tenant, who may not read the whole hub.
    let (status, _, body) = told(address, "/api/why/cluster2/helloworld", &[HOST, &tenant]);
    assert!(status == 502 && body.contains("forbidden"), "{status} {body}");
}

#[test]
fn tokens_are_not_taken_in_the_clear_from_elsewhere() {
    let ended = run(&["serve", "--only", "controllers", "--ui", "0.0.0.0:0"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("without TLS"), "{}", ended.stderr);
    let ended = run(&["serve", "--only", "gate", "--ui", "127.0.0.1:0"]);
    assert!(
        ended.code == Some(2) && ended.stderr.contains("--ui"),
        "{}",
        ended.stderr
    );
    let ended = run(&["dev", "--ui", "0.0.0.0:8090"]);
    assert!(
        ended.code == Some(2) && ended.stderr.contains("loopback"),
        "{}",
        ended.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: tests/scripts/web/run looks for it first"]
async fn a_browser_shows_what_the_hub_has() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (_hub, admin) = hub_with_rbac(folder.path()).await;
    let mut look = std::process::Command::new(repository("tests/scripts/web/look"));
    look.arg(env!("CARGO_BIN_EXE_tidegate")).arg(admin);
    look.args(std::env::var_os("PICTURES").filter(|folder| !folder.is_empty()));
    let looked = tokio::task::block_in_place(|| look.status());
    assert!(looked.expect("the script starts").success());
}
