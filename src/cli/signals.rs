//! The user's wish to end the program.
//!
//! Handles SIGINT, SIGTERM, and SIGHUP, which a terminal sends when it closes: each ends the program in order. Never ends anything itself.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::CliError;

/// Waits for any of them.
#[derive(Debug)]
pub(super) struct End {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// Begins to listen, so that a signal during start-up is not lost. Must be called inside of a tokio runtime.
pub(super) fn end_requested() -> Result<End, CliError> {
    let listen = |kind| signal(kind).map_err(CliError::starting("the signal listener"));
    Ok(End {
        interrupt: listen(SignalKind::interrupt())?,
        terminate: listen(SignalKind::terminate())?,
        hangup: listen(SignalKind::hangup())?,
    })
}

impl End {
    /// Returns when the user wishes the end.
    pub(super) async fn requested(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
