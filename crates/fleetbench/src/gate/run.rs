//! The measurement: a hub, a gate beside it, one rate after the other.
//!
//! Decides when the gate counts as at rest, and what a rate is warmed up with. Whatever happens, what was started is ended.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use super::caller::{Caller, Line};
use super::histogram::Histogram;
use super::options::GateLoad;
use super::pace::{Answers, keep};
use super::policies;
use super::questions::{Question, questions};
use super::report::{GateReport, Load};
use crate::counts::Counter;
use crate::error::BenchError;
use crate::files::Files;
use crate::hub::Hub;
use crate::picture::Picture;
use crate::process::Process;
use crate::proxy::Proxy;
use crate::scene;

const LOOK: Duration = Duration::from_millis(20);
/// How long the tide must have asked nothing before the load begins.
const QUIET: Duration = Duration::from_secs(2);

/// Runs a measurement.
pub async fn load(options: &GateLoad) -> Result<GateReport, BenchError> {
    let folder = tempfile::tempdir().map_err(BenchError::Runtime)?;
    let hub = Hub::open(&options.fleet()).await?;
    let measured = measure(options, &hub, folder.path()).await;
    hub.close().await;
    measured
}

async fn measure(options: &GateLoad, hub: &Hub, folder: &Path) -> Result<GateReport, BenchError> {
    let counter = Counter::default();
    let proxy = Proxy::start(hub.client.clone(), counter.clone())
        .await
        .map_err(BenchError::Runtime)?;
    let files = Files::write(folder, &proxy.kubeconfig())?;
    let [gate, metrics] = free_addresses()?;
    let policies = policies::write(folder, options.policies)?;
    let command = options.command(&files, &policies, [gate, metrics]);
    let picture = Picture::start(&hub.client);
    scene::prepare(&hub.client).await?;
    scene::install(&hub.client).await?;
    let mut process = Process::start(&command, &files.kubeconfig)?;
    let certificate = std::fs::read_to_string(&files.certificate).map_err(BenchError::Runtime)?;
    let line = Line::to(gate, &certificate)?;
    let rest = Rest {
        picture: &picture,
        counter: &counter,
        clusters: hub.clusters,
        patience: options.patience(),
    };
    rest.come(&mut process, &line).await?;
    let mut bench = Bench {
        process: &mut process,
        metrics,
        questions: questions().into(),
        callers: (0..options.connections).map(|_| line.caller()).collect(),
    };
    let mut loads = Vec::new();
    for rate in &options.rate {
        loads.push(bench.rate(*rate, options.seconds).await?);
    }
    process.end();
    Ok(GateReport {
        clusters: hub.clusters,
        command: command.join(" "),
        connections: options.connections,
        loads,
    })
}

/// Two addresses that no program serves on.
fn free_addresses() -> Result<[SocketAddr; 2], BenchError> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(BenchError::Runtime);
    let (one, two) = (bind()?, bind()?);
    let address = |listener: &TcpListener| listener.local_addr().map_err(BenchError::Runtime);
    Ok([address(&one)?, address(&two)?])
}

/// What has to be over before the load begins.
struct Rest<'a> {
    picture: &'a Picture,
    counter: &'a Counter,
    clusters: usize,
    patience: Duration,
}

impl Rest<'_> {
    async fn come(&self, process: &mut Process, line: &Line) -> Result<(), BenchError> {
        let begun = Instant::now();
        let mut caller = line.caller();
        while !(caller.is_ready().await && self.is_here()) {
            if begun.elapsed() > self.patience {
                return Err(BenchError::Late {
                    phase: "the gate is ready and the fleet at rest",
                    seconds: self.patience.as_secs(),
                    seen: self.picture.counted.borrow().to_string(),
                });
            }
            process.usage()?;
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    fn is_here(&self) -> bool {
        let quiet = self.counter.last().is_some_and(|last| last.elapsed() >= QUIET);
        quiet && self.picture.counted.borrow().completed >= self.clusters
    }
}

struct Bench<'a> {
    process: &'a mut Process,
    metrics: SocketAddr,
    questions: std::sync::Arc<[Question]>,
    callers: Vec<Caller>,
}

impl Bench<'_> {
    /// Keeps one rate; a second of it goes before, and is not counted.
    async fn rate(&mut self, rate: u32, seconds: u32) -> Result<Load, BenchError> {
        self.keep(rate, u64::from(rate)).await;
        let (before, own_before) = (self.process.usage()?, Histogram::read(self.metrics).await?);
        let answers = self
            .keep(rate, u64::from(rate).saturating_mul(u64::from(seconds)))
            .await;
        let (after, own) = (self.process.usage()?, Histogram::read(self.metrics).await?);
        let own = own.since(&own_before);
        let asked = u32::try_from(answers.times.len()).unwrap_or(u32::MAX);
        Ok(Load {
            rate,
            answers: answers.times.len(),
            wrong: answers.wrong,
            lost: answers.lost,
            times: [500, 900, 990, 999, 1000].map(|share| answers.within(share)),
            first_trouble: answers.first_trouble,
            own: [own.within(500), own.within(990)],
            cpu_micros: (after.cpu - before.cpu).max(0.0) * 1e6 / f64::from(asked.max(1)),
            peak_kib: after.peak,
        })
    }

    async fn keep(&mut self, rate: u32, count: u64) -> Answers {
        let callers = std::mem::take(&mut self.callers);
        let (callers, answers) = keep(callers, &self.questions, (rate, count)).await;
        self.callers = callers;
        answers
    }
}
