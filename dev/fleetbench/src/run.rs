//! The measurement, phase after phase.
//!
//! Decides when a phase is over. Every wait has an end; whatever happens, what was started is ended.

use std::path::Path;
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::bare::Bare;
use crate::counts::Counter;
use crate::error::BenchError;
use crate::files::Files;
use crate::hub::Hub;
use crate::options::Options;
use crate::picture::{Counted, Picture};
use crate::process::{self, Process, Usage};
use crate::proxy::Proxy;
use crate::report::{Phase, Report};
use crate::scene;
use crate::share::Share;

/// How long nothing must be asked until the process counts as idle.
const QUIET: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);
/// Up to how many works a bare writer is measured.
const MOST_BARE: usize = 20_000;
/// How long the removal of the add-on may take on a hub that was there.
const REMOVAL: Duration = Duration::from_mins(2);

/// Runs a measurement.
pub async fn run(options: &Options) -> Result<Report, BenchError> {
    let folder = tempfile::tempdir().map_err(BenchError::Runtime)?;
    let hub = Hub::open(options).await?;
    let measured = measure(options, &hub, folder.path()).await;
    if !hub.is_own() {
        scene::clear(&hub.client, options.add_ons.into()).await;
    }
    hub.close().await;
    measured
}

async fn measure(options: &Options, hub: &Hub, folder: &Path) -> Result<Report, BenchError> {
    let counter = Counter::default();
    let addons = usize::from(options.add_ons);
    let mut managers = Vec::new();
    for share in 0..usize::from(options.shares) {
        let of = usize::from(options.shares);
        let part = (of > 1).then_some(Share { number: share, of });
        let proxy = Proxy::start_for(hub.client.clone(), counter.clone(), part);
        let proxy = proxy.await.map_err(BenchError::Runtime)?;
        let folder = folder.join(share.to_string());
        std::fs::create_dir(&folder).map_err(BenchError::Runtime)?;
        let files = Files::write(&folder, &proxy.kubeconfig())?;
        managers.push(Manager {
            command: options.command(&files.kubeconfig, &files.certificate, &files.key),
            files,
            proxy,
            process: None,
        });
    }
    let mut bench = Bench {
        picture: Picture::start(&hub.client),
        managers,
        counter,
        patience: options.patience(),
        before: Usage::default(),
        first_write: None,
        own_peak: 0,
        phases: Vec::new(),
    };
    let phases = bench.phases(options, hub).await;
    if !hub.is_own() {
        scene::uninstall(&hub.client, addons).await;
        let gone = bench
            .picture
            .counted
            .wait_for(|now| now.addons == 0 && now.works == 0);
        if tokio::time::timeout(REMOVAL, gone).await.is_err() {
            tracing::warn!("the add-ons are not gone from every cluster yet");
        }
    }
    bench.end();
    phases?;
    let command = bench.managers.first().and_then(|manager| manager.command.clone());
    Ok(Report {
        clusters: hub.clusters,
        addons,
        shares: options.shares.into(),
        command: command.map(|words| words.join(" ")),
        first_write: bench.first_write,
        own_peak_kib: bench.own_peak,
        phases: bench.phases,
    })
}

/// A process to measure, and how it reaches the hub.
struct Manager {
    command: Option<Vec<String>>,
    files: Files,
    proxy: Proxy,
    process: Option<Process>,
}

struct Bench {
    picture: Picture,
    managers: Vec<Manager>,
    counter: Counter,
    patience: Duration,
    before: Usage,
    first_write: Option<Duration>,
    /// In KiB, before the bare writer, which holds all that it writes.
    own_peak: u64,
    phases: Vec<Phase>,
}

impl Bench {
    async fn phases(&mut self, options: &Options, hub: &Hub) -> Result<(), BenchError> {
        let (client, addons) = (&hub.client, usize::from(options.add_ons));
        let all = hub.clusters.saturating_mul(addons);
        scene::prepare(client, addons).await?;
        self.start("start").await?;
        let begun = Instant::now();
        scene::install(client, addons).await?;
        self.reach("add-ons exist", begun, |now| now.addons >= all)
            .await?;
        self.reach("works exist", begun, |now| now.works >= all).await?;
        self.reach("completed", begun, |now| now.completed >= all).await?;
        self.settle("settled").await?;
        self.counter.forget_firsts();
        let begun = Instant::now();
        scene::reconfigure(client).await?;
        self.reach("works carry the change", begun, |now| now.changed >= all)
            .await?;
        let first = self.counter.first_write("manifestworks");
        self.first_write = first.map(|first| first.saturating_duration_since(begun));
        self.reach("completed again", begun, |now| now.upgraded >= all)
            .await?;
        self.settle("settled again").await?;
        self.idle(options.idle).await?;
        self.own_peak = process::own_peak();
        if !self.is_measured() {
            return Ok(());
        }
        self.end();
        self.start("restart to idle").await?;
        if hub.is_own() && self.managers.len() == 1 && all <= MOST_BARE {
            self.end();
            self.bare().await?;
        }
        Ok(())
    }

    /// Returns whether a process of ours manages the add-ons.
    fn is_measured(&self) -> bool {
        self.managers.iter().any(|manager| manager.process.is_some())
    }

    /// Ends the processes.
    fn end(&mut self) {
        for manager in &mut self.managers {
            if let Some(process) = &mut manager.process {
                process.end();
            }
            manager.process = None;
        }
    }

    /// Changes all works by a writer that does nothing else, through the same proxy, while the agents answer.
    async fn bare(&mut self) -> Result<(), BenchError> {
        let Some(manager) = self.managers.first() else {
            return Ok(());
        };
        let refused = |error: &dyn std::fmt::Display| BenchError::Hub(error.to_string());
        let read = Kubeconfig::from_yaml(&manager.proxy.kubeconfig()).map_err(|error| refused(&error))?;
        let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
        let client = Client::try_from(config.map_err(|error| refused(&error))?);
        let client = client.map_err(|error| refused(&error))?;
        for (phase, assigns) in [("a bare writer", false), ("bare, with statuses", true)] {
            let works = Bare::read(&client, assigns).await?;
            self.counter.take();
            self.before = Usage::default();
            let begun = Instant::now();
            works.write(&client).await?;
            let took = begun.elapsed();
            self.note(phase, took)?;
            // The agents answer meanwhile.
            tokio::time::sleep(took + QUIET).await;
        }
        Ok(())
    }

    /// Starts the process and waits until it has read what there is.
    async fn start(&mut self, phase: &'static str) -> Result<(), BenchError> {
        self.before = Usage::default();
        self.counter.forget_last();
        let begun = Instant::now();
        for manager in &mut self.managers {
            let Some(command) = &manager.command else {
                return Ok(());
            };
            manager.process = Some(Process::start(command, &manager.files.kubeconfig)?);
        }
        self.quiet(phase, begun).await
    }

    async fn settle(&mut self, phase: &'static str) -> Result<(), BenchError> {
        if !self.is_measured() {
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
        let mut sum = Usage::default();
        for process in self
            .managers
            .iter_mut()
            .filter_map(|manager| manager.process.as_mut())
        {
            let usage = process.usage()?;
            sum.cpu += usage.cpu;
            sum.peak = sum.peak.max(usage.peak);
            sum.private = sum.private.max(usage.private);
        }
        Ok(sum)
    }

    fn note(&mut self, name: &'static str, took: Duration) -> Result<(), BenchError> {
        let usage = self.usage()?;
        self.phases.push(Phase {
            name,
            seconds: took.as_secs_f64(),
            cpu_seconds: (usage.cpu - self.before.cpu).max(0.0),
            peak_kib: usage.peak,
            private_kib: usage.private,
            requests: self.counter.take(),
        });
        self.before = usage;
        Ok(())
    }
}
