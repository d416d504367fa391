//! Policies of a gate that runs: those of `--policies`, those of the hub, and the rulebook that they end up in.
//!
//! Decides when the folder is read again. A folder that cannot be read, or a policy in it that does not compile, is reported before
//! anything starts; later it is logged, and what is in force stays.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::warn;

use super::CliError;
use super::policy::read_folder;
use crate::controllers::{PolicyDocuments, PolicyTells, PolicyWatch};
use crate::telemetry::Metrics;
use admission::policy::{PolicySet, lint_scope};
use admission::{POLICY_RESOURCES, Rulebook};

/// How often the folder is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What follows policies.
#[derive(Debug)]
pub(super) struct Policies {
    watch: PolicyWatch,
    tasks: JoinSet<()>,
}

/// The folder of `--policies`, read and found good.
#[derive(Debug)]
pub(super) struct Opened {
    folder: Option<PathBuf>,
    documents: PolicyDocuments,
}

/// Returns the policies of the folder, read once.
pub(super) fn compiled(folder: Option<&Path>) -> Result<PolicySet, CliError> {
    Ok(folder.map(read_whole).transpose()?.unwrap_or_default().1)
}

/// Reads the folder.
pub(super) fn open(folder: Option<&Path>) -> Result<Opened, CliError> {
    Ok(Opened {
        documents: folder.map(read_whole).transpose()?.unwrap_or_default().0,
        folder: folder.map(Path::to_owned),
    })
}

/// Starts to follow policies; returns when those that exist are in the rulebook.
pub(super) async fn start(
    client: Client,
    tells: PolicyTells,
    opened: Opened,
    rulebook: Rulebook,
    metrics: Metrics,
) -> (Policies, Arc<ArcSwap<Rulebook>>) {
    let (sender, receiver) = watch::channel(opened.documents);
    let watch = PolicyWatch::start(client, receiver, tells).await;
    let mut set = watch.set();
    let rulebook = Arc::new(ArcSwap::from_pointee(Rulebook {
        policies: set.borrow_and_update().clone(),
        ..rulebook
    }));
    metrics.holds_policies(rulebook.load().policies.len());
    warn_of_scope(&rulebook.load().policies);
    let mut tasks = JoinSet::new();
    tasks.spawn(publish(set, Arc::clone(&rulebook), metrics));
    if let Some(folder) = opened.folder {
        tasks.spawn(follow(folder, sender));
    }
    (Policies { watch, tasks }, rulebook)
}

impl Policies {
    /// Ends it; the rulebook stays as it is.
    pub(super) async fn shutdown(mut self) {
        self.tasks.shutdown().await;
        self.watch.shutdown().await;
    }
}

fn read(folder: &Path) -> Result<PolicyDocuments, CliError> {
    let read = read_folder(folder)?;
    Ok(PolicyDocuments {
        sources: read.sources,
        objects: read.objects,
    })
}

/// At the start there is no good version that could stay in force.
fn read_whole(folder: &Path) -> Result<(PolicyDocuments, PolicySet), CliError> {
    let documents = read(folder)?;
    let loaded = PolicySet::load(&documents.sources, &documents.objects, &PolicySet::default());
    let mut faults = loaded
        .reports
        .iter()
        .flat_map(|report| report.faults.iter().map(move |fault| (report, fault)));
    match faults.next() {
        None => {
            drop(faults);
            Ok((documents, loaded.set))
        }
        Some((report, fault)) => Err(CliError::CompilePolicy {
            reason: format!(
                "{}: {} \"{}\": {}",
                report.origin,
                report.kind,
                report.name,
                fault.one_line()
            ),
        }),
    }
}

async fn publish(mut set: watch::Receiver<PolicySet>, rulebook: Arc<ArcSwap<Rulebook>>, metrics: Metrics) {
    while set.changed().await.is_ok() {
        let policies = set.borrow_and_update().clone();
        metrics.holds_policies(policies.len());
        warn_of_scope(&policies);
        rulebook.rcu(|old| Rulebook {
            policies: policies.clone(),
            ..Rulebook::clone(old)
        });
    }
}

/// Warns of policies about resources that the webhook is not called for.
fn warn_of_scope(policies: &PolicySet) {
    for note in lint_scope(policies, &POLICY_RESOURCES) {
        let (policy, origin) = (&note.policy, &note.origin);
        warn!(%policy, %origin, fault = %note.fault.one_line(), "policy is never evaluated for a resource");
    }
}

async fn follow(folder: PathBuf, sender: watch::Sender<PolicyDocuments>) {
    let mut told = String::new();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        match read(&folder) {
            Ok(documents) => {
                told.clear();
                sender.send_if_modified(|known| {
                    let changed = *known != documents;
                    if changed {
                        *known = documents;
                    }
                    changed
                });
            }
            Err(error) => {
                let line = error.one_line();
                if line != told {
                    warn!(
                        error = line,
                        "cannot reload policies; the active policies remain in use"
                    );
                    told = line;
                }
            }
        }
    }
}
