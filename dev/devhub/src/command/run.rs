//! The life of the `devhub` program: read, start, tell, wait, end.
//!
//! Decides the exit status. Never does what a hub does.

use std::ffi::OsString;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use clap::Parser;

use super::Args;
use super::args::Wishes;
use super::definitions::{self, Definition};
use crate::builder::StartError;
use crate::instance::DevHub;
use crate::program::{self, FolderError};

/// Why the program ended early.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{}", list(.0))]
    Asked(Vec<String>),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("cannot start {0}")]
    Start(&'static str, #[source] std::io::Error),
    #[error(transparent)]
    Hub(#[from] StartError),
    #[error("cannot print")]
    Print(#[source] std::io::Error),
}

impl Failure {
    fn exit_status(&self) -> u8 {
        match self {
            Self::Asked(_) | Self::Folder(_) | Self::Start(..) | Self::Hub(_) => 2,
            Self::Print(_) => 1,
        }
    }
}

fn list(faults: &[String]) -> String {
    match faults {
        [one] => one.clone(),
        many => format!("{} faults:\n  {}", many.len(), many.join("\n  ")),
    }
}

/// Runs the program with its command line, the name of the program first.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = match Args::try_parse_from(words) {
        Ok(args) => args,
        Err(refused) => {
            // Nothing to fall back to when even the terminal is gone.
            refused.print().unwrap_or_default();
            return if refused.use_stderr() {
                ExitCode::from(2)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    log();
    match start(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tell(&failure);
            ExitCode::from(failure.exit_status())
        }
    }
}

fn log() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("DEVHUB_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
}

/// Writes a failure with all its causes.
fn tell(failure: &Failure) {
    let mut text = format!("devhub: {failure}");
    let mut cause = std::error::Error::source(failure);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    writeln!(std::io::stderr().lock(), "{text}").unwrap_or_default();
}

fn start(args: &Args) -> Result<(), Failure> {
    let mut faults = Vec::new();
    let wishes = args.wishes(&mut faults);
    let definitions = definitions::read(&args.crds, &mut faults);
    if !faults.is_empty() {
        return Err(Failure::Asked(faults));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|source| Failure::Start("the runtime", source))?;
    runtime.block_on(serve(args, wishes, &definitions))
}

async fn serve(args: &Args, wishes: Wishes, definitions: &[Definition]) -> Result<(), Failure> {
    let mut end = program::end_requested().map_err(|source| Failure::Start("the signal listener", source))?;
    let folder = program::prepare(&args.dir)?.claim()?;
    let mut builder = DevHub::builder()
        .bind(SocketAddr::from((Ipv4Addr::LOCALHOST, args.port)))
        .authz(wishes.authz)
        .controllers(wishes.controllers)
        .faults(wishes.faults)
        .event_ttl(wishes.event_ttl);
    if let Some(dir) = &args.data_dir {
        builder = builder.data_dir(dir);
    }
    for definition in definitions {
        builder = builder.crd(definition.object.clone());
    }
    let hub = tokio::select! {
        hub = builder.start() => hub.map_err(|error| explained(error, definitions))?,
        () = end.requested() => return Ok(()),
    };
    folder.write_private("kubeconfig", &hub.kubeconfig())?;
    folder.write_private("hub-ca.crt", hub.ca_pem())?;
    let line = program::ready_line(&folder.kubeconfig(), &hub.url());
    let told = {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}").and_then(|()| out.flush())
    };
    if told.is_ok() {
        end.requested().await;
    }
    hub.shutdown().await;
    told.map_err(Failure::Print)
}

/// Says in which files the definitions stand that a hub refused.
fn explained(error: StartError, definitions: &[Definition]) -> Failure {
    let told = |error: &StartError| match error {
        StartError::Preload { name, .. } => definitions
            .iter()
            .find(|definition| definition.name() == name)
            .map_or_else(
                || error.to_string(),
                |definition| format!("{}: {error}", definition.file.display()),
            ),
        other => other.to_string(),
    };
    match &error {
        StartError::Preload { .. } => Failure::Asked(vec![told(&error)]),
        StartError::Several(all) => Failure::Asked(all.iter().map(told).collect()),
        StartError::NotLoopback(_)
        | StartError::Listen { .. }
        | StartError::Certificates(_)
        | StartError::Data(_)
        | StartError::Keys(_) => Failure::Hub(error),
    }
}
