//! The measurement, phase after phase.
//!
//! Decides when a phase is over. Every wait has an end; whatever happens, what was started is ended.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::counts::Counter;
use crate::error::BenchError;
use crate::files::Files;
use crate::hub::Hub;
use crate::options::Options;
use crate::picture::{Counted, Picture};
use crate::process::{Process, Usage};
use crate::proxy::Proxy;
use crate::report::{Phase, Report};
use crate::scene;

/// How long nothing must be asked until the process counts as idle.
const QUIET: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);
/// How long the removal of the add-on may take on a hub that was there.
const REMOVAL: Duration = Duration::from_mins(2);

/// Runs a measurement.
pub async fn run(options: &Options) -> Result<Report, BenchError> {
    let folder = tempfile::tempdir().map_err(BenchError::Runtime)?;
    let hub = Hub::open(options).await?;
    let measured = measure(options, &hub, folder.path()).await;
    if !hub.is_own() {
        scene::clear(&hub.client).await;
    }
    hub.close().await;
    measured
}

async fn measure(options: &Options, hub: &Hub, folder: &Path) -> Result<Report, BenchError> {
    let counter = Counter::default();
    let proxy = Proxy::start(hub.client.clone(), counter.clone())
        .await
        .map_err(BenchError::Runtime)?;
    let files = Files::write(folder, &proxy.kubeconfig())?;
    let mut bench = Bench {
        picture: Picture::start(&hub.client),
        command: options.command(&files.kubeconfig, &files.certificate, &files.key),
        kubeconfig: files.kubeconfig,
        process: None,
        counter,
        patience: options.patience(),
        before: Usage::default(),
        phases: Vec::new(),
    };
    let phases = bench.phases(options, hub).await;
    if !hub.is_own() {
        scene::uninstall(&hub.client).await;
        let gone = bench
            .picture
            .counted
            .wait_for(|now| now.addons == 0 && now.works == 0);
        if tokio::time::timeout(REMOVAL, gone).await.is_err() {
            tracing::warn!("the add-on is not gone from every cluster yet");
        }
    }
    if let Some(process) = &mut bench.process {
        process.end();
    }
    phases?;
    Ok(Report {
        clusters: hub.clusters,
        command: bench.command.map(|words| words.join(" ")),
        phases: bench.phases,
    })
}

struct Bench {
    picture: Picture,
    command: Option<Vec<String>>,
    kubeconfig: PathBuf,
    process: Option<Process>,
    counter: Counter,
    patience: Duration,
    before: Usage,
    phases: Vec<Phase>,
}

impl Bench {
    async fn phases(&mut self, options: &Options, hub: &Hub) -> Result<(), BenchError> {
        let (client, all) = (&hub.client, hub.clusters);
        scene::prepare(client).await?;
        self.start("start").await?;
        let begun = Instant::now();
        scene::install(client).await?;
        self.reach("add-ons exist", begun, |now| now.addons >= all)
            .await?;
        self.reach("works exist", begun, |now| now.works >= all).await?;
        self.reach("completed", begun, |now| now.completed >= all).await?;
        self.settle("settled").await?;
        let begun = Instant::now();
        scene::reconfigure(client).await?;
        self.reach("works carry the change", begun, |now| now.changed >= all)
            .await?;
        self.reach("completed again", begun, |now| now.upgraded >= all)
            .await?;
        self.settle("settled again").await?;
        self.idle(options.idle).await?;
        if let Some(process) = &mut self.process {
            process.end();
            self.start("restart to idle").await?;
        }
        Ok(())
    }

    /// Starts the process and waits until it has read what there is.
    async fn start(&mut self, phase: &'static str) -> Result<(), BenchError> {
        let Some(command) = &self.command else {
            return Ok(());
        };
        self.before = Usage::default();
        self.counter.forget_last();
        let begun = Instant::now();
        self.process = Some(Process::start(command, &self.kubeconfig)?);
        self.quiet(phase, begun).await
    }

    async fn settle(&mut self, phase: &'static str) -> Result<(), BenchError> {
        if self.process.is_none() {
            return Ok(());
        }
        self.quiet(phase, Instant::now()).await
    }

    /// Waits until nothing has been asked for some time; what counts is when the last request came.
    async fn quiet(&mut self, phase: &'static str, begun: Instant) -> Result<(), BenchError> {
        let last = loop {
            let last = self.counter.last();
            if let Some(last) = last.filter(|last| last.elapsed() >= QUIET) {
                break last;
            }
            if begun.elapsed() > self.patience {
                return Err(self.late(phase, "it never comes to rest".to_owned()));
            }
            self.usage()?;
            tokio::time::sleep(LOOK).await;
        };
        self.note(phase, last.saturating_duration_since(begun))
    }

    async fn reach(
        &mut self,
        phase: &'static str,
        begun: Instant,
        is_reached: impl Fn(&Counted) -> bool,
    ) -> Result<(), BenchError> {
        while !is_reached(&self.picture.counted.borrow()) {
            if begun.elapsed() > self.patience {
                let seen = self.picture.counted.borrow().to_string();
                return Err(self.late(phase, seen));
            }
            self.usage()?;
            tokio::time::sleep(LOOK).await;
        }
        self.note(phase, begun.elapsed())
    }

    async fn idle(&mut self, seconds: u64) -> Result<(), BenchError> {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        self.note("idle", Duration::from_secs(seconds))
    }

    fn late(&self, phase: &'static str, seen: String) -> BenchError {
        BenchError::Late {
            phase,
            seconds: self.patience.as_secs(),
            seen,
        }
    }

    fn usage(&mut self) -> Result<Usage, BenchError> {
        self.process.as_mut().map_or(Ok(Usage::default()), Process::usage)
    }

    fn note(&mut self, name: &'static str, took: Duration) -> Result<(), BenchError> {
        let usage = self.usage()?;
        self.phases.push(Phase {
            name,
            seconds: took.as_secs_f64(),
            cpu_seconds: (usage.cpu - self.before.cpu).max(0.0),
            peak_kib: usage.peak,
            requests: self.counter.take(),
        });
        self.before = usage;
        Ok(())
    }
}
