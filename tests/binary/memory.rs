//! The memory of the program for its inputs: every endpoint of the webhook, every reader of files, and the controllers.
//!
//! Measured as the peak of resident memory of the real binary. The limit in the manifests is 512 MiB.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde::de::IgnoredAny;
use serde_json::json;
use tidegate::server::Authority;

use crate::certificates::trust;
use crate::rig::{defined_hub, tidegate};
use crate::search::amount;
use crate::serve::{Serve, page, until};

const ADDON: &str = "addon.open-cluster-management.io";
/// A value whose tree takes about 90 times the memory of its text.
const DENSE: &str = r#"{"a":0}"#;

/// A number of `/proc/ID/status`, in kB; 0 once the process has ended.
pub(crate) fn status(id: u32, name: &str) -> usize {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Begins to count the peak from what is resident now, which it returns.
fn begin(id: u32) -> usize {
    std::fs::write(format!("/proc/{id}/clear_refs"), "5").expect("a process of our own");
    status(id, "VmRSS:")
}

fn list(items: usize, item: &str) -> String {
    format!("[{}]", vec![item; items].join(","))
}

/// Lists that are each small enough, with so many bytes in all.
pub(crate) fn lists(bytes: usize) -> String {
    let one = list(9_000, DENSE);
    list(bytes / one.len(), &one)
}

fn cluster_addon(spec: &str) -> String {
    format!(
        r#"{{"apiVersion":"{ADDON}/v1alpha1","kind":"ManagedClusterAddOn","metadata":{{"name":"x","namespace":"c"}},"spec":{spec}}}"#
    )
}

pub(crate) fn template(manifests: &str) -> String {
    format!(
        r#"{{"apiVersion":"{ADDON}/v1alpha1","kind":"AddOnTemplate","metadata":{{"name":"x"}},"spec":{{"addonName":"x","agentSpec":{{"workload":{{"manifests":{manifests}}}}}}}}}"#
    )
}

fn conversion(objects: &str) -> String {
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"u","desiredAPIVersion":"{ADDON}/v1beta1","objects":{objects}}}}}"#
    )
}

fn review(operation: &str, object: &str, old: &str) -> String {
    let kind = format!(r#"{{"group":"{ADDON}","version":"v1alpha1","kind":"AddOnTemplate"}}"#);
    let resource = format!(r#"{{"group":"{ADDON}","version":"v1alpha1","resource":"addontemplates"}}"#);
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","operation":"{operation}","kind":{kind},"resource":{resource},"name":"x","userInfo":{{"username":"a"}},"object":{object},"oldObject":{old}}}}}"#
    )
}

/// A template with about so many values, which a manifest with many small maps has.
fn dense_template(values: usize) -> String {
    let manifest = |index: usize| {
        let maps = list(2_000, DENSE);
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a{index}","namespace":"b"}},"x":{maps}}}"#
        )
    };
    let manifests: Vec<String> = (0..values / 4_008).map(manifest).collect();
    template(&format!("[{}]", manifests.join(",")))
}

fn post(address: SocketAddr, config: &Arc<ClientConfig>, path: &str, body: &str) -> String {
    let tcp = TcpStream::connect(address).expect("it listens");
    let client = ClientConnection::new(Arc::clone(config), ServerName::from(address.ip())).expect("a client");
    let mut tls = StreamOwned::new(client, tcp);
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: gate\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    tls.write_all(head.as_bytes()).expect("sent");
    tls.write_all(body.as_bytes()).expect("sent");
    let mut all = Vec::new();
    // Some servers end a connection without a farewell of TLS.
    let _ended = tls.read_to_end(&mut all);
    String::from_utf8(all).expect("text")
}

/// What is sent, how often at once, and how much more memory the webhook may take meanwhile, in MiB.
struct Sent {
    what: &'static str,
    path: &'static str,
    body: String,
    at_once: usize,
    most: usize,
    /// What the response says.
    says: &'static str,
}

fn sent() -> Vec<Sent> {
    let row = |what, path, body, at_once, most, says| Sent {
        what,
        path,
        body,
        at_once,
        most,
        says,
    };
    let (convert, validate, mutate) = ("/convert", "/validate", "/mutate");
    let maps = |count| {
        conversion(&format!(
            "[{}]",
            cluster_addon(&format!(r#"{{"x":{}}}"#, list(count, DENSE)))
        ))
    };
    let addon = json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "ManagedClusterAddOn",
        "metadata": {"name": "x", "namespace": "c", "annotations": {"a": "b".repeat(880)}},
        "spec": {"installNamespace": "x", "configs": [{"group": "g", "resource": "r", "name": "n", "namespace": "q"}]},
        "status": {"registrations": [{"signerName": "a/b", "subject": {"user": "u"}}]}});
    let whole = conversion(&list(30_000, &addon.to_string()));
    let (done, crowded) = (r#""status":"Success""#, "100000 values");
    vec![
        row("maps, 3 MB", convert, maps(375_000), 1, 30, done),
        row("maps, 3 MB", convert, maps(375_000), 4, 80, done),
        row("maps, 30 MB", convert, maps(3_750_000), 1, 120, done),
        row("an object at the bound", convert, maps(49_990), 2, 160, done),
        row(
            "numbers, 30 MB",
            convert,
            conversion(&list(15_000_000, "0")),
            1,
            120,
            done,
        ),
        row("a list of 30,000 objects, 36 MB", convert, whole, 2, 240, done),
        row(
            "lists of 9,000, 6.5 MB",
            validate,
            review("CREATE", &template(&lists(6_500_000)), "null"),
            1,
            40,
            crowded,
        ),
        row(
            "lists of 9,000, 6.5 MB",
            mutate,
            review("CREATE", &template(&lists(6_500_000)), "null"),
            4,
            80,
            crowded,
        ),
        row(
            "a template of 2.8 MB",
            validate,
            review("CREATE", &dense_template(700_000), "null"),
            1,
            30,
            crowded,
        ),
        row(
            "a template of 1.3 MB that is stored so",
            validate,
            review("UPDATE", &template("[]"), &dense_template(330_000)),
            1,
            30,
            r#""uid":"u""#,
        ),
        row(
            "a template at the bound, its old state too",
            validate,
            review("UPDATE", &dense_template(99_900), &dense_template(95_000)),
            4,
            300,
            r#""uid":"u""#,
        ),
        row(
            "a template at the bound",
            mutate,
            review("CREATE", &dense_template(99_900), "null"),
            4,
            300,
            r#""uid":"u""#,
        ),
    ]
}

/// Texts whose trees take many times their memory, in every part of an object that is new, stored or to be converted: a few of all.
fn drawn() -> Vec<Sent> {
    let parts = [
        ("", r#","spec":@"#),
        ("", r#","status":@"#),
        ("", r#","x":@"#),
        (r#","managedFields":@"#, ""),
        (r#","annotations":@"#, ""),
        (r#","labels":{"a":@}"#, ""),
        (r#","ownerReferences":@"#, ""),
    ];
    let mut all = Vec::new();
    for (metadata, rest) in parts {
        for form in [DENSE, r#"{"":{}}"#, "[[]]", "[0]", r#""""#, "0"] {
            let content = list(2_000_000 / (9_000 * (form.len() + 1)), &list(9_000, form));
            let object = format!(
                r#"{{"apiVersion":"{ADDON}/v1alpha1","kind":"AddOnTemplate","metadata":{{"name":"x"{metadata}}}{rest}}}"#
            );
            let object = object.replace('@', &content);
            let row = |path, body| Sent {
                what: "a text of small values",
                path,
                body,
                at_once: 1,
                most: 60,
                says: r#""uid":"u""#,
            };
            all.push(row("/validate", review("CREATE", &object, "null")));
            all.push(row("/mutate", review("UPDATE", &template("[]"), &object)));
            all.push(row("/convert", conversion(&list(1, &object))));
        }
    }
    let tried: usize = amount(7, 1_000);
    let step = (all.len() / tried).max(1);
    all.into_iter().step_by(step).collect()
}

#[expect(clippy::print_stdout, reason = "the figures are what a reader wants to see")]
fn sends(id: u32, address: SocketAddr, config: &Arc<ClientConfig>, rows: Vec<Sent>) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows {
        let before = begin(id);
        let answers: Vec<String> = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..row.at_once)
                .map(|_| scope.spawn(|| post(address, config, row.path, &row.body)))
                .collect();
            callers
                .into_iter()
                .map(|caller| caller.join().expect("an answer"))
                .collect()
        });
        let (peak, after) = (status(id, "VmHWM:"), status(id, "VmRSS:"));
        let more = peak.saturating_sub(before) / 1024;
        let line = format!(
            "{} {}, {} bytes, {} at once: {} + {more} MiB, then {} MiB",
            row.path,
            row.what,
            row.body.len(),
            row.at_once,
            before / 1024,
            after / 1024
        );
        println!("{line}");
        // A request that exceeds the memory limit, or takes too long on a busy machine, gets 429 or 504.
        let is_later = |answer: &str| {
            row.path != "/convert" && [":429,", ":504,"].iter().any(|code| answer.contains(code))
        };
        let is_answer = |answer: &&String| answer.contains(row.says) || is_later(answer);
        let answered = answers.iter().filter(is_answer).count();
        if answered != row.at_once {
            let short: Vec<String> = answers
                .iter()
                .map(|answer| answer.chars().take(600).collect())
                .collect();
            faults.push(format!("{line}: {short:?}"));
        }
        if more > row.most || peak > 512 << 10 {
            faults.push(format!("{line}: more than {} MiB", row.most));
        }
    }
    faults
}

/// Writes a certificate of this machine and its key into a folder; returns the authority and both files.
fn certificate(folder: &Path) -> (Authority, String, String) {
    let authority = Authority::generate().expect("an authority");
    let issued = authority.issue(["127.0.0.1"]).expect("a certificate");
    let (chain, key) = (folder.join("tls.crt"), folder.join("tls.key"));
    issued.write(&chain, &key).expect("writable");
    let [chain, key] = [chain, key].map(|file| file.to_string_lossy().into_owned());
    (authority, chain, key)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_takes_more_memory_than_the_webhook_has() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    let (authority, chain, key) = certificate(folder.path());
    let config = trust(authority.ca_pem().as_bytes());
    tokio::task::block_in_place(|| {
        let words = ["--bind", "127.0.0.1:0", "--certificate", &chain, "--key", &key];
        let webhook = Serve::half("gate", &kubeconfig, &words);
        let address = webhook
            .url
            .split_whitespace()
            .next()
            .and_then(|word| word.strip_prefix("gate=https://"));
        let address = address.expect("an address").parse().expect("an address");
        let rows = sent().into_iter().chain(drawn()).collect();
        let faults = sends(webhook.id(), address, &config, rows);
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    });
    hub.shutdown().await;
}

/// Waits for the end of a process; returns the peak of its memory in MiB.
fn peak(child: &mut Child) -> usize {
    let mut peak = 0;
    while child.try_wait().expect("it can be waited for").is_none() {
        peak = peak.max(status(child.id(), "VmHWM:"));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    peak / 1024
}

#[test]
fn no_file_takes_many_times_its_size() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("writable");
    put("maps.json", &template(&lists(6_000_000)));
    put(
        "one.json",
        &cluster_addon(&format!(r#"{{"x":{}}}"#, list(750_000, DENSE))),
    );
    let dump = json!({"kind": "TidegateSnapshot", "format": 1, "takenAt": "2026-01-02T00:00:00Z", "objects": ["@"], "complete": []});
    put(
        "hub.json",
        &dump.to_string().replace("\"@\"", &template(&lists(6_000_000))),
    );
    let policy = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy", "metadata": {"name": "p"}, "spec": "@"});
    put(
        "policy.json",
        &policy.to_string().replace("\"@\"", &lists(6_000_000)),
    );
    put("ok.yaml", &cluster_addon("{}"));
    let test = json!({"kind": "PolicyTest", "policies": ["policy.json"], "cases": []});
    put("p.test.yaml", &test.to_string());
    let mut faults = Vec::new();
    for args in [
        &["check", "maps.json"][..],
        &["check", "one.json"],
        &["check", "ok.yaml", "--facts", "hub.json"],
        &["check", "ok.yaml", "--policies", "policy.json"],
        &["plan", "hub.json"],
        &["policy", "lint", "policy.json"],
        &["policy", "test", "p.test.yaml"],
        &["policy", "bench", "policy.json", "--object", "ok.yaml"],
    ] {
        let mut command = tidegate();
        command.args(args).current_dir(folder.path()).stdin(Stdio::null());
        let out = std::fs::File::create(folder.path().join("out")).expect("writable");
        command.stdout(out.try_clone().expect("a file")).stderr(out);
        let peak = peak(&mut command.spawn().expect("the binary starts"));
        println!("{args:?}: {peak} MiB");
        let told = read(&folder.path().join("out"));
        if peak > 300 {
            faults.push(format!("{args:?}: {peak} MiB"));
        }
        if !told.contains("values") {
            faults.push(format!(
                "{args:?}: {}",
                told.chars().take(500).collect::<String>()
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A dump of many small objects, whose trees take about ten times the memory of their text, is in memory once.
#[test]
fn a_plan_keeps_one_tree_of_each_object_of_its_dump() {
    const CLUSTERS: usize = 4_000;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let meta = |namespace: &str, name: &str| json!({"name": name, "namespace": namespace, "uid": format!("{namespace}/{name}"), "resourceVersion": "1"});
    let labels: serde_json::Map<String, serde_json::Value> =
        (0..40).map(|n| (format!("label-{n}"), json!("value"))).collect();
    let cluster = |n: usize| {
        let mut metadata = meta("", &format!("c{n}"));
        metadata["labels"] = labels.clone().into();
        json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": metadata,
            "spec": {"hubAcceptsClient": true}})
    };
    let instance = |n: usize| json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "ManagedClusterAddOn", "metadata": meta(&format!("c{n}"), "hello"), "spec": {}});
    let addon = json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "ClusterManagementAddOn", "metadata": meta("", "hello"),
        "spec": {"installStrategy": {"type": "Manual"}}});
    let objects = (0..CLUSTERS).flat_map(|n| [cluster(n), instance(n)]);
    let objects: Vec<serde_json::Value> = objects.chain([addon]).collect();
    let dump = json!({"kind": "TidegateSnapshot", "format": 1, "takenAt": "2026-01-02T00:00:00Z", "complete": [], "objects": objects});
    let text = dump.to_string();
    std::fs::write(folder.path().join("hub.json"), &text).expect("writable");
    let mut command = tidegate();
    command.args(["plan", "hub.json"]).current_dir(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut plan = command.spawn().expect("the binary starts");
    let peak = peak(&mut plan);
    assert!(plan.wait().expect("it has ended").success());
    let times = (peak << 20) / text.len();
    println!("plan of {} bytes: {peak} MiB, {times} times as much", text.len());
    assert!(times < 55, "{peak} MiB for {} bytes", text.len());
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_objects_stop_neither_the_controllers_nor_a_starting_webhook() {
    // Each is near the bound of values and 40 MB as a tree.
    const LARGE: usize = 24;
    const READABLE: usize = 2;
    const BEYOND_THE_BOUND: usize = 2;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (hub, kubeconfig) = defined_hub(folder.path()).await;
    let client = hub.client();
    for index in 0..LARGE + BEYOND_THE_BOUND {
        let values = if index < LARGE { 90_000 } else { 300_000 };
        let object = dense_template(values).replacen(r#""name":"x""#, &format!(r#""name":"x{index}""#), 1);
        let path = format!("/apis/{ADDON}/v1alpha1/addontemplates");
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request.body(object.into_bytes()).expect("a request");
        client.request::<IgnoredAny>(request).await.expect("it is stored");
    }
    let (_, chain, key) = certificate(folder.path());
    tokio::task::block_in_place(|| {
        let gate = [
            "--bind",
            "127.0.0.1:0",
            "--certificate",
            &chain,
            "--key",
            &key,
            "--metrics",
            "127.0.0.1:0",
        ];
        for (half, words) in [
            ("controllers", &["--metrics", "127.0.0.1:0"][..]),
            ("gate", &gate),
        ] {
            let program = Serve::half(half, &kubeconfig, words);
            let pages = ["metrics=http://", "health=http://"];
            let is_page = |word: &'_ str| {
                pages
                    .iter()
                    .find_map(|page| word.strip_prefix(*page).map(str::to_owned))
            };
            let address = program.url.split_whitespace().find_map(is_page);
            let address = address.expect("an address");
            let unread = LARGE - READABLE + BEYOND_THE_BOUND;
            let line = format!("tidegate_unreadable_objects{{resource=\"addontemplates\"}} {unread}");
            until("objects beyond the limit are counted", || {
                page(&address, "/metrics").is_some_and(|(_, text)| text.contains(&line))
            });
            until("the audit has judged them", || {
                let text = page(&address, "/metrics")
                    .map(|(_, text)| text)
                    .unwrap_or_default();
                let judged = text
                    .lines()
                    .find_map(|line| line.strip_prefix("tidegate_audit_judgements_total "));
                let judged = judged.and_then(|judged| judged.parse().ok());
                half == "gate" || judged.is_some_and(|judged: usize| judged >= LARGE + BEYOND_THE_BOUND)
            });
            let peak = status(program.id(), "VmHWM:") / 1024;
            println!("{half}: {LARGE} objects of 90,000 values: {peak} MiB");
            // The manifests give 512 MiB; the audit of the controllers has one more object as a tree.
            assert!(peak < 400, "{half}: {peak} MiB");
        }
    });
    hub.shutdown().await;
}
