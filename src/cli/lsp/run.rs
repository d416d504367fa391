//! `tidegate lsp` from its flags to its exit status.
//!
//! Decides when everything is judged: once the editor has been silent for a moment. Questions are answered at once.

use std::io::BufReader;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use lsp::Workspace;

use super::args::LspArgs;
use super::server::{Due, Phase, Server, refuse};
use super::wire::{self, Frame};
use crate::cli::settings::SettingsReading;
use crate::cli::{CliError, live, rulebook};
use check::Background;
use offline::Hub;

/// So long nothing is said before everything is judged: shorter than a pause in typing.
const SILENCE: Duration = Duration::from_millis(120);
/// So many messages may wait; the editor waits with the next.
const WAITING: usize = 64;

pub(in crate::cli) fn run(args: &LspArgs) -> Result<ExitCode, CliError> {
    let facts = args.facts.as_deref().map(live::dump).transpose();
    // A dump has the settings of the hub's controllers.
    let words = facts.as_ref().ok().and_then(Option::as_ref);
    let settings = words.map_or(SettingsReading::NotRead, |dump| {
        SettingsReading::Published(dump.controllers.clone())
    });
    let rights = args.rights.beside(&settings).unwrap_or_default();
    let (rulebook, facts) = CliError::both(rulebook::read(&args.gate, &rights), facts)?;
    let mut server = Server::new(Workspace::new(Background {
        hub: facts.map_or_else(Hub::default, |dump| dump.hub),
        rulebook,
        ..Background::default()
    }));
    let frames = listen();
    loop {
        let next = if server.due > Due::Nothing {
            match frames.recv_timeout(SILENCE) {
                Err(RecvTimeoutError::Timeout) => {
                    server.publish(Timestamp::now())?;
                    continue;
                }
                next => next.ok(),
            }
        } else {
            frames.recv().ok()
        };
        match next {
            Some(Frame::Message(message)) => server.take(message)?,
            Some(Frame::Nonsense(why)) => refuse(&why)?,
            Some(Frame::End) | None => return ended(server.phase),
        }
        if server.phase == Phase::Over {
            return ended(Phase::Over);
        }
    }
}

/// An editor that is gone without a word is told as a fault; the protocol wants it so.
fn ended(phase: Phase) -> Result<ExitCode, CliError> {
    match phase {
        Phase::Closes | Phase::Over => Ok(ExitCode::SUCCESS),
        Phase::Begins | Phase::Serves => Err(CliError::Serve {
            part: "the conversation with the editor",
            source: "it has closed the pipe without asking for shutdown".into(),
        }),
    }
}

/// Reads messages beside the answers, for as long as there are any.
fn listen() -> Receiver<Frame> {
    let (frames, heard) = mpsc::sync_channel(WAITING);
    thread::spawn(move || {
        let mut input = BufReader::new(std::io::stdin());
        loop {
            // A pipe that cannot be read any more has come to its end.
            let frame = wire::read(&mut input).unwrap_or(Frame::End);
            let is_end = matches!(frame, Frame::End);
            if frames.send(frame).is_err() || is_end {
                return;
            }
        }
    });
    heard
}
