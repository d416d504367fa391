//! Measures a hub: how soon it serves, what it weighs, how fast it writes and tells.
//!
//! `cargo run --release -p devhub --example figures [MEASURE…]`. Every measure runs in a process of its own, so that none pays for
//! another one's memory. Where other work takes the processors, the time that this process itself got tells more than the clock: it is
//! told as well, client and hub together.

#![expect(clippy::disallowed_methods, reason = "a example reads files and clocks")]
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use std::error::Error;
use std::process::Command;
use std::time::{Duration, Instant};

use devhub::{Builder, DevHub};
use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

const PARTS: &str = "/apis/figures.example.io/v1/namespaces/default/parts";
/// Writers at a time.
const WRITERS: usize = 8;
/// Objects that a measure of writing creates.
const WRITES: usize = 20_000;
const WATCHERS: usize = 50;
/// Changes that every watcher is told.
const CHANGES: usize = 4_000;
/// Objects that are held at once.
const HELD: usize = 100_000;

const MEASURES: [&str; 7] = [
    "start",
    "idle",
    "creates-in-process",
    "creates-over-tls",
    "applies-in-process",
    "deliveries-over-tls",
    "held",
];

fn main() -> Outcome {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if let [measure] = asked.as_slice() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        return runtime.block_on(measure_one(measure));
    }
    let wanted: Vec<&str> = if asked.is_empty() {
        MEASURES.to_vec()
    } else {
        asked.iter().map(String::as_str).collect()
    };
    for measure in wanted {
        let status = Command::new(std::env::current_exe()?).arg(measure).status()?;
        if !status.success() {
            return Err(format!("{measure} failed").into());
        }
    }
    Ok(())
}

async fn measure_one(measure: &str) -> Outcome {
    match measure {
        "start" => start().await,
        "idle" => idle().await,
        "creates-in-process" => creates(false).await,
        "creates-over-tls" => creates(true).await,
        "applies-in-process" => applies().await,
        "deliveries-over-tls" => deliveries().await,
        "held" => held().await,
        other => Err(format!("{other} is none of {}", MEASURES.join(", ")).into()),
    }
}

/// A kind with defaults, bounds, a rule, a keyed list and a status.
fn definition() -> Value {
    let port = json!({"type": "object", "required": ["port"], "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}}});
    let spec = json!({
        "type": "object", "required": ["size"], "x-kubernetes-validations": [{"rule": "self.size <= 100", "message": "too large"}],
        "properties": {
            "size": {"type": "integer", "minimum": 0}, "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
            "note": {"type": "string", "maxLength": 4000},
            "ports": {"type": "array", "items": port, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]},
        },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "parts.figures.example.io"},
        "spec": {"group": "figures.example.io", "scope": "Namespaced", "names": {"plural": "parts", "kind": "Part"}, "versions": [{
            "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
        }]},
    })
}

/// An object; with `note` letters of ballast.
fn part(n: usize, note: usize) -> Vec<u8> {
    json!({
        "apiVersion": "figures.example.io/v1", "kind": "Part", "metadata": {"name": format!("part-{n}"), "labels": {"app": "figures"}},
        "spec": {"size": n % 100, "note": "x".repeat(note), "ports": [{"port": 80}, {"port": 443}]},
    })
    .to_string()
    .into_bytes()
}

fn builder() -> Builder {
    DevHub::builder().crd(definition()).without_controllers()
}

async fn write(client: &Client, method: &str, path: &str, form: &str, body: Vec<u8>) -> Outcome {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", form);
    let answer = client.send(request.body(Body::from(body))?).await?;
    let status = answer.status();
    let bytes = answer.into_body().collect_bytes().await?;
    if status.is_success() {
        Ok(())
    } else {
        Err(format!("{status}: {}", String::from_utf8_lossy(&bytes)).into())
    }
}

/// Creates objects with several writers; tells how many there were in a second, and the slowest hundredth.
async fn create_all(
    client: &Client,
    count: usize,
    note: usize,
) -> Result<(f64, Duration), Box<dyn Error + Send + Sync>> {
    let begun = Instant::now();
    let each = count / WRITERS;
    let writers = (0..WRITERS).map(|writer| {
        let client = client.clone();
        tokio::spawn(async move {
            let mut took = Vec::with_capacity(each);
            for n in 0..each {
                let at = Instant::now();
                write(
                    &client,
                    "POST",
                    PARTS,
                    "application/json",
                    part(writer * each + n, note),
                )
                .await?;
                took.push(at.elapsed());
            }
            Ok::<_, Box<dyn Error + Send + Sync>>(took)
        })
    });
    let mut took = Vec::with_capacity(count);
    for writer in writers.collect::<Vec<_>>() {
        took.extend(writer.await??);
    }
    let rate = per_second(took.len(), begun.elapsed());
    took.sort_unstable();
    let slow = took.get(took.len() * 99 / 100).copied().unwrap_or_default();
    Ok((rate, slow))
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn per_second(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

/// Returns the memory of this process in megabytes.
fn resident() -> Result<u64, Box<dyn Error + Send + Sync>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line
        .and_then(|line| line.split_whitespace().nth(1))
        .unwrap_or_default();
    Ok(kilobytes.parse::<u64>()? / 1024)
}

/// Returns how long the processors worked for this process.
fn worked() -> Result<Duration, Box<dyn Error + Send + Sync>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // Behind the name of the program, which may hold anything: the 12th and 13th member, in hundredths of a second.
    let members = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Result<Vec<u64>, _> = members.skip(11).take(2).map(str::parse).collect();
    Ok(Duration::from_millis(ticks?.iter().sum::<u64>() * 10))
}

/// Returns a share of the time worked since `before`.
fn each(before: Duration, count: usize) -> Result<Duration, Box<dyn Error + Send + Sync>> {
    Ok(worked()?.saturating_sub(before) / u32::try_from(count)?)
}

async fn start() -> Outcome {
    let mut took = Vec::new();
    for _ in 0..5 {
        let begun = Instant::now();
        let hub = DevHub::builder().crd(definition()).start().await?;
        let client = Client::try_from(hub.config())?;
        let first = begun.elapsed();
        write(&client, "POST", PARTS, "application/json", part(0, 10)).await?;
        took.push((first, begun.elapsed()));
        hub.shutdown().await;
    }
    took.sort_unstable();
    let (ready, answered) = took.get(took.len() / 2).copied().unwrap_or_default();
    println!("start: serves after {ready:.1?}, first object over TLS after {answered:.1?}");
    Ok(())
}

async fn idle() -> Outcome {
    let hub = DevHub::builder().crd(definition()).start().await?;
    // Controllers list and watch everything once.
    tokio::time::sleep(Duration::from_secs(2)).await;
    println!("idle: {} MB resident", resident()?);
    hub.shutdown().await;
    Ok(())
}

async fn creates(over_tls: bool) -> Outcome {
    let hub = builder().start().await?;
    let client = if over_tls {
        Client::try_from(hub.config())?
    } else {
        hub.client()
    };
    create_all(&client, 800, 600)
        .await
        .map_err(|error| format!("warming up: {error}"))?;
    let gone = format!("{PARTS}?propagationPolicy=Background");
    write(&client, "DELETE", &gone, "application/json", b"{}".to_vec()).await?;
    let before = worked()?;
    let (rate, slow) = create_all(&client, WRITES, 600).await?;
    let each = each(before, WRITES)?;
    let way = if over_tls { "over TLS" } else { "in process" };
    println!(
        "creates {way}: {rate:.0} a second with {WRITERS} writers, 99 of 100 within {slow:.1?}; {each:.1?} of work each"
    );
    hub.shutdown().await;
    Ok(())
}

async fn applies() -> Outcome {
    let hub = builder().start().await?;
    let client = hub.client();
    let (begun, before) = (Instant::now(), worked()?);
    let count = WRITES / 4;
    for n in 0..count {
        let path = format!("{PARTS}/part-{}?fieldManager=m{}&force=true", n % 100, n % 3);
        write(
            &client,
            "PATCH",
            &path,
            "application/apply-patch+yaml",
            part(n % 100, n % 50),
        )
        .await?;
    }
    let (rate, each) = (per_second(count, begun.elapsed()), each(before, count)?);
    println!(
        "applies in process: {rate:.0} a second by one writer, three managers of each object; {each:.1?} of work each"
    );
    hub.shutdown().await;
    Ok(())
}

async fn deliveries() -> Outcome {
    let hub = builder().history(CHANGES * 2).start().await?;
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        // Each has a connection of its own.
        let client = Client::try_from(hub.config())?;
        let request = http::Request::get(format!("{PARTS}?watch=true")).body(Body::empty())?;
        let answer = client.send(request).await?;
        watchers.push(tokio::spawn(async move {
            let mut frames = answer.into_body().into_data_stream();
            let mut seen = 0;
            while seen < CHANGES {
                let Some(frame) = frames.next().await.transpose()? else {
                    return Err("the watch ended".into());
                };
                seen += frame.split(|byte| *byte == b'\n').count() - 1;
            }
            drop(client);
            Ok::<_, Box<dyn Error + Send + Sync>>(())
        }));
    }
    let client = hub.client();
    let (begun, before) = (Instant::now(), worked()?);
    create_all(&client, CHANGES, 600).await?;
    let written = begun.elapsed();
    for watcher in watchers {
        watcher.await??;
    }
    let rate = per_second(CHANGES * WATCHERS, begun.elapsed());
    let each = each(before, CHANGES * WATCHERS)?;
    println!(
        "deliveries over TLS: {rate:.0} a second to {WATCHERS} watchers ({CHANGES} changes written in {written:.1?}); {each:.1?} of work \
         each, writes included"
    );
    hub.shutdown().await;
    Ok(())
}

async fn held() -> Outcome {
    let hub = builder().start().await?;
    let before = resident()?;
    let client = hub.client();
    let (rate, _) = create_all(&client, HELD, 1_450).await?;
    let after = resident()?;
    let body = client
        .request_text(http::Request::get(format!("{PARTS}/part-7")).body(Vec::new())?)
        .await?;
    println!(
        "held: {HELD} objects of {} B: {after} MB resident, {before} MB without them ({rate:.0} creates a second)",
        body.len()
    );
    hub.shutdown().await;
    Ok(())
}
