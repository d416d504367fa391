//! Starting and stopping of the controllers.
//!
//! Decides which of them run.

use kube::Client;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{accounts, garbage, namespaces, policies};

/// Which controllers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switches {
    /// Garbage collection and deletion of namespaces.
    pub(crate) basic: bool,
    /// Default service accounts and root certificates.
    pub(crate) accounts: bool,
}

/// Running controllers.
#[derive(Debug)]
pub(crate) struct Controllers {
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Controllers {
    /// Starts what is switched on.
    pub(crate) fn start(client: &Client, switches: Switches, ca_pem: &str) -> Self {
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        if switches.basic {
            tasks.spawn(
                stop.clone()
                    .run_until_cancelled_owned(garbage::run(client.clone())),
            );
            tasks.spawn(
                stop.clone()
                    .run_until_cancelled_owned(namespaces::run(client.clone())),
            );
            tasks.spawn(
                stop.clone()
                    .run_until_cancelled_owned(policies::run(client.clone())),
            );
        }
        if switches.accounts {
            let accounts = accounts::run(client.clone(), ca_pem.to_owned());
            tasks.spawn(stop.clone().run_until_cancelled_owned(accounts));
        }
        tasks.close();
        Self { stop, tasks }
    }

    /// Stops all controllers and waits for them.
    pub(crate) async fn shutdown(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}
