//! The user's wish to end the program.
//!
//! Knows SIGINT and SIGTERM; never ends anything itself.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for SIGINT or SIGTERM.
#[derive(Debug)]
pub struct End {
    interrupt: Signal,
    terminate: Signal,
}

/// Begins to listen, so that a signal during start-up is not lost. Must be called inside of a tokio runtime.
pub fn end_requested() -> io::Result<End> {
    Ok(End {
        interrupt: signal(SignalKind::interrupt())?,
        terminate: signal(SignalKind::terminate())?,
    })
}

impl End {
    /// Returns when the user wishes the end.
    pub async fn requested(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
