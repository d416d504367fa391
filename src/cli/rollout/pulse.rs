//! Whether a hub that is followed still answers.
//!
//! Decides how often it is read and when it counts as lost. The watches retry by themselves.

use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::cli::CliError;
use crate::cli::print::note;

/// How often the hub is read.
const EVERY: Duration = Duration::from_secs(2);
/// How long an answer may take.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);
/// How long a command that ends by itself retries.
const GIVES_UP_AFTER: Duration = Duration::from_mins(2);

/// The connection to a hub is lost.
#[derive(Clone, Debug)]
struct Loss {
    since: Instant,
    why: String,
}

/// Follows whether a hub answers.
pub(super) struct Pulse {
    state: watch::Receiver<Option<Loss>>,
    was_lost: bool,
    /// Whether a loss is printed; a page that is drawn in its place shows it by itself.
    prints: bool,
    _task: JoinSet<()>,
}

/// Returns why a request had no answer.
fn cause(error: kube::Error) -> String {
    match error {
        kube::Error::Service(cause) => cause.to_string(),
        other => other.to_string(),
    }
}

impl Pulse {
    /// Begins to read the hub.
    pub(super) fn start(client: Client, prints: bool) -> Self {
        let (sender, state) = watch::channel(None);
        let mut task = JoinSet::new();
        task.spawn(async move {
            while !sender.is_closed() {
                let answer = timeout(ANSWERED_WITHIN, client.apiserver_version()).await;
                let why = match answer {
                    // An answer that is an error is an answer.
                    Ok(Ok(_) | Err(kube::Error::Api(_))) => None,
                    Ok(Err(error)) => Some(cause(error)),
                    Err(_) => Some(format!("no answer within {} s", ANSWERED_WITHIN.as_secs())),
                };
                sender.send_if_modified(|state| match (why, state.as_mut()) {
                    (None, None) => false,
                    (None, Some(_)) => {
                        *state = None;
                        true
                    }
                    (Some(why), known) => {
                        let since = known.map_or_else(Instant::now, |loss: &mut Loss| loss.since);
                        *state = Some(Loss { since, why });
                        true
                    }
                });
                sleep(EVERY).await;
            }
        });
        Self {
            state,
            was_lost: false,
            prints,
            _task: task,
        }
    }

    /// Waits until the connection is lost, is still lost, or is restored; prints a note for the first and the last. Returns the
    /// loss as an error.
    pub(super) async fn changed(&mut self) -> Option<CliError> {
        if self.state.changed().await.is_err() {
            return std::future::pending().await;
        }
        self.state.mark_unchanged();
        let error = self.error();
        match (&error, self.was_lost) {
            (Some(error), false) if self.prints => note(&format!("{}; retrying", error.one_line())),
            (None, true) if self.prints => note("the connection to the hub is restored"),
            (Some(_) | None, true | false) => {}
        }
        self.was_lost = error.is_some();
        error
    }

    /// Returns the loss as an error.
    pub(super) fn error(&self) -> Option<CliError> {
        let loss = self.state.borrow().clone()?;
        Some(CliError::Act {
            act: "reach the hub",
            source: loss.why.into(),
        })
    }

    /// Returns the loss in a line for a page that is drawn in its place.
    pub(super) fn told(&self) -> Option<String> {
        let loss = self.state.borrow().clone()?;
        let seconds = loss.since.elapsed().as_secs();
        Some(format!(
            "connection to the hub lost, retrying ({seconds}s): {}",
            loss.why
        ))
    }

    /// Returns whether the connection has been lost for so long that a command gives up.
    pub(super) fn is_over(&self) -> bool {
        let loss = self.state.borrow();
        loss.as_ref()
            .is_some_and(|loss| loss.since.elapsed() >= GIVES_UP_AFTER)
    }
}
