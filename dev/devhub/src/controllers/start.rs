//! Starting and stopping of the controllers.
//!
//! Decides which of them run.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use kube::Client;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Controller, accounts, events, garbage, namespaces, policies, roles};

/// Running controllers.
#[derive(Debug)]
pub(crate) struct Controllers {
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// What the controllers need to know.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Which of them run.
    pub(crate) which: BTreeSet<Controller>,
    /// How long an event lives.
    pub(crate) event_ttl: Duration,
    /// Certificate of the API server's authority.
    pub(crate) ca_pem: String,
}

impl Controllers {
    /// Starts what is wanted, on any API server.
    pub(crate) fn start(client: &Client, plan: &Plan) -> Self {
        let controllers = Self {
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        for which in &plan.which {
            let client = client.clone();
            match which {
                Controller::Garbage => controllers.spawn(garbage::run(client)),
                Controller::Namespaces => controllers.spawn(namespaces::run(client)),
                Controller::Accounts => controllers.spawn(accounts::run(client, plan.ca_pem.clone())),
                Controller::Events => controllers.spawn(events::run(client, plan.event_ttl)),
                Controller::Roles => controllers.spawn(roles::run(client)),
                Controller::Policies => controllers.spawn(policies::run(client)),
            }
        }
        controllers.tasks.close();
        controllers
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks
            .spawn(self.stop.clone().run_until_cancelled_owned(work));
    }

    /// Stops all controllers and waits for them.
    pub(crate) async fn shutdown(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}
