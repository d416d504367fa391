//! The gate under siege: attacks that hold what they take, while one honest caller asks and a probe looks.
//!
//! Every honest review must be answered, and rightly. The times are printed and never asserted, because machines that run tests
//! are slow; the figures stand in `docs/performance.md`.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::rig::{Rig, get, post, read, review, strict};
use crate::server::state::Decide;
use crate::server::{Limits, Pages, PagesAt};
use admission::{Facts, Request, Rulebook, Verdict, decide};

/// How many connections an attack opens: more than there are places.
const MANY: usize = 520;
/// How long honest callers are watched.
const WATCHED: Duration = Duration::from_secs(2);
/// How many answers of each kind they need at least, however slow the machine is.
const ANSWERED: usize = 10;
/// An honest caller that has not got them by then is kept out.
const KEPT_OUT: Duration = Duration::from_mins(1);
/// One siege at a time: they are not about each other.
static FIELD: Mutex<()> = Mutex::const_new(());
/// Where attackers sit: on the honest caller's own address, as behind one address translation, or elsewhere.
const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 66);

/// What an attacker needs to connect.
#[derive(Clone)]
struct Target {
    address: SocketAddr,
    from: Ipv4Addr,
    h1: TlsConnector,
    h2: TlsConnector,
}

impl Target {
    fn of(rig: &Rig, from: Ipv4Addr) -> Self {
        Self {
            address: rig.gate.address(),
            from,
            h1: rig.connector(&[b"http/1.1"]),
            h2: rig.connector(&[b"h2"]),
        }
    }

    async fn tcp(&self) -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((self.from, 0).into())?;
        socket.connect(self.address).await
    }

    async fn tls(&self, connector: &TlsConnector) -> std::io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from("localhost").expect("a name");
        connector.connect(name, self.tcp().await?).await
    }
}

/// What the honest caller and the probe have seen.
#[derive(Debug)]
struct Latencies {
    reviews: Vec<Duration>,
    probes: Vec<Duration>,
}

impl Latencies {
    fn tell(&mut self, attack: &str) {
        for (what, times) in [("reviews", &mut self.reviews), ("probes", &mut self.probes)] {
            times.sort_unstable();
            let at = |percent: usize| times[(times.len() - 1) * percent / 100];
            println!(
                "{attack}: {} honest {what}: half within {:?}, 99 % within {:?}, all within {:?}",
                times.len(),
                at(50),
                at(99),
                at(100)
            );
        }
    }
}

/// Sends requests as an API server does: over one connection that is opened again when it has been closed, and now and then over a new one.
async fn honest(rig: &Rig, pages: SocketAddr) -> Latencies {
    let until = Instant::now() + WATCHED;
    let reviews = async {
        let mut times = Vec::new();
        let mut sender = None;
        while times.len() < ANSWERED || Instant::now() < until {
            let begun = Instant::now();
            let (status, body) = ask(rig, &mut sender).await;
            times.push(begun.elapsed());
            let answer: Value = serde_json::from_str(&body).expect("JSON");
            assert_eq!(
                (status, &answer["response"]["allowed"]),
                (200, &json!(true)),
                "{body}"
            );
            if times.len() % 10 == 0 {
                sender = None;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        times
    };
    let probes = async {
        let mut times = Vec::new();
        while times.len() < ANSWERED || Instant::now() < until {
            let begun = Instant::now();
            let tcp = TcpStream::connect(pages).await.expect("a connection");
            let (mut sender, connection) = http1::handshake(TokioIo::new(tcp)).await.expect("HTTP/1.1");
            tokio::spawn(connection);
            let (status, text) = read(sender.send_request(get("/readyz")).await.expect("a response")).await;
            assert_eq!((status, text.as_str()), (200, "ok\n"));
            times.push(begun.elapsed());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        times
    };
    let (reviews, probes) = tokio::join!(reviews, probes);
    Latencies { reviews, probes }
}

type Sender = http2::SendRequest<Full<Bytes>>;

async fn ask(rig: &Rig, kept: &mut Option<Sender>) -> (u16, String) {
    // A client of Go's asks again when a connection was closed before it was used.
    for _ in 0..3 {
        let sender = match kept.take() {
            Some(sender) if !sender.is_closed() => sender,
            Some(_) | None => connected(rig.tls(&[b"h2"]).await).await.expect("h2"),
        };
        let sender = kept.insert(sender);
        if let Ok(response) = sender.send_request(over_h2("/validate", "fine")).await {
            return read(response).await;
        }
        *kept = None;
    }
    panic!("three connections were closed before they were used");
}

async fn connected(tls: TlsStream<TcpStream>) -> hyper::Result<Sender> {
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(hyper_util::rt::TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(5))
        .keep_alive_while_idle(true)
        .handshake(TokioIo::new(tls))
        .await?;
    tokio::spawn(connection);
    Ok(sender)
}

fn over_h2(path: &str, namespace: &str) -> http::Request<Full<Bytes>> {
    let mut request = post(path, review(&json!({"installNamespace": namespace})));
    *request.uri_mut() = format!("https://localhost{path}").parse().expect("a URI");
    request.headers_mut().remove("host");
    request
}

/// Lets `attack` run on its own threads, from both places, while honest callers ask.
async fn siege<F>(name: &str, count: usize, limits: Limits, attack: impl Fn(Target, Arc<AtomicBool>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    siege_of(name, count, limits, decide, attack).await;
}

async fn siege_of<F>(
    name: &str,
    count: usize,
    limits: Limits,
    decide: Decide,
    attack: impl Fn(Target, Arc<AtomicBool>) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let _alone = FIELD.lock().await;
    let rig = Rig::deciding(limits, decide).await;
    let at = PagesAt {
        health: Some((Ipv4Addr::LOCALHOST, 0).into()),
        metrics: None,
    };
    let pages = Pages::start(at, &rig.health, &rig.metrics).expect("the pages are served");
    let health = pages.at().health.expect("an address");
    for from in [ELSEWHERE, HERE] {
        let over = Arc::new(AtomicBool::new(false));
        let attackers = apart(
            attack(Target::of(&rig, from), Arc::clone(&over)),
            Arc::clone(&over),
        );
        stands(&rig, count).await;
        let seen = tokio::time::timeout(KEPT_OUT, honest(&rig, health)).await;
        over.store(true, Ordering::SeqCst);
        attackers.join().expect("attackers that ended");
        let attack = format!("{name}, from {from}");
        seen.unwrap_or_else(|_| panic!("{attack}: keeps honest callers out"))
            .tell(&attack);
    }
    rig.gate.shutdown().await;
}

/// Runs an attack on a thread of its own, as from another machine, until it is over.
fn apart(attack: impl Future<Output = ()> + Send + 'static, over: Arc<AtomicBool>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let ended = async {
                while !over.load(Ordering::SeqCst) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            tokio::select! {
                () = attack => {}
                () = ended => {}
            }
        });
    })
}

/// Waits until an attack of so many connections stands, before honest callers are watched: the shock of its beginning passes.
async fn stands(rig: &Rig, count: usize) {
    let open = || {
        let text = rig.metrics.text();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("tidegate_connections "));
        line.and_then(|open| open.parse::<usize>().ok())
            .unwrap_or_default()
    };
    let full = count.min(strict().connections) * 9 / 10;
    for _ in 0..300 {
        if open() >= full {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    println!("{} connections are open", open());
}

/// Keeps so many attackers busy until it is over; an attacker whose connection ends begins again.
async fn keep<F>(count: usize, over: Arc<AtomicBool>, one: impl Fn() -> F + Clone + Send + 'static)
where
    F: Future<Output = std::io::Result<()>> + Send + 'static,
{
    let mut all = JoinSet::new();
    for _ in 0..count {
        let (one, over) = (one.clone(), Arc::clone(&over));
        all.spawn(async move {
            while !over.load(Ordering::SeqCst) {
                let _ended = one().await;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        });
    }
    while all.join_next().await.is_some() {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_h2_connections_that_ping_block_no_other_caller() {
    siege("520 idle h2 connections", MANY, strict(), |target, over| {
        keep(MANY, over, move || {
            let target = target.clone();
            async move {
                let tls = target.tls(&target.h2).await?;
                let mut sender = connected(tls).await.map_err(std::io::Error::other)?;
                // A whole review: as honest as an idle connection can look.
                let asked = sender.send_request(over_h2("/validate", "fine")).await;
                let _answer = read(asked.map_err(std::io::Error::other)?).await;
                while !sender.is_closed() {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                Ok(())
            }
        })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_keep_alive_connections_block_no_other_caller() {
    siege("520 idle h1 connections", MANY, strict(), |target, over| {
        keep(MANY, over, move || {
            let target = target.clone();
            async move {
                let mut stream = target.tls(&target.h1).await?;
                stream
                    .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
                    .await?;
                let mut rest = Vec::new();
                stream.read_to_end(&mut rest).await.map(|_| ())
            }
        })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_that_come_again_block_no_other_caller() {
    siege(
        "520 silent connections, opened again",
        MANY,
        strict(),
        |target, over| {
            keep(MANY, over, move || {
                let target = target.clone();
                async move {
                    let mut tcp = target.tcp().await?;
                    let mut byte = [0];
                    tcp.read(&mut byte).await.map(|_| ())
                }
            })
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_are_announced_and_do_not_come_hold_nothing() {
    siege("100 slow bodies of 1 MiB", 100, strict(), |target, over| {
        keep(100, over, move || {
            let target = target.clone();
            async move {
                let mut stream = target.tls(&target.h1).await?;
                let head = "POST /validate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1048576\r\n\r\n{";
                stream.write_all(head.as_bytes()).await?;
                let mut rest = Vec::new();
                stream.read_to_end(&mut rest).await.map(|_| ())
            }
        })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_do_not_read_block_no_other_caller() {
    siege("200 slow readers", 200, strict(), |target, over| {
        keep(200, over, move || {
            let target = target.clone();
            async move {
                let mut stream = target.tls(&target.h1).await?;
                let body = String::from_utf8(review(&json!({"installNamespace": "Not_A_Name"}))).expect("text");
                let asked = format!(
                    "POST /validate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                // Sends requests, slowly enough not to be a flood, and never reads.
                loop {
                    stream.write_all(asked.as_bytes()).await?;
                    stream.flush().await?;
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
            }
        })
    })
    .await;
}

/// Spends what a hostile review of the largest size may spend; others are decided as always.
fn heavy(request: &Request<'_>, facts: &Facts, rulebook: &Rulebook) -> Verdict {
    if request
        .object
        .is_some_and(|object| object.get().len() > (64 << 10))
    {
        let mut spent = 0_u64;
        while !request.circumstances.stop.is_stopped() {
            spent = spent.wrapping_mul(31).wrapping_add(7);
        }
        assert_ne!(spent, 1);
    }
    decide(request, facts, rulebook)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn big_decisions_hold_up_no_small_one() {
    siege_of("8 reviews that cost 1.2 s each, all the time", 8, strict(), heavy, |target, over| {
        keep(8, over, move || {
            let target = target.clone();
            async move {
                let mut stream = target.tls(&target.h1).await?;
                let body = review(&json!({"configs": [{"name": "x".repeat(100 << 10)}]}));
                let head = format!(
                    "POST /validate HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all(head.as_bytes()).await?;
                stream.write_all(&body).await?;
                let mut rest = Vec::new();
                stream.read_to_end(&mut rest).await?;
                assert!(rest.starts_with(b"HTTP/1.1 200"), "judged or refused, never waved through");
                Ok(())
            }
        })
    })
    .await;
}
