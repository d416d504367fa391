//! Follows the policies of the hub and those of a folder; publishes the set of all that compile.
//!
//! Decides when to compile: when a spec or the folder has changed. Never clears anything because a watch is interrupted: what
//! is in force stays.

use std::collections::BTreeMap;

use futures::StreamExt;
use jiff::Timestamp;
use kube::core::ApiResource;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{debug, error, info, warn};

use super::apply::apply_status;
use super::status::wanted;
use crate::api::v1alpha1::{GROUP, VERSION};
use crate::controllers::runtime::error_root::root;
use crate::controllers::runtime::raw::Raw;
use crate::policy::{Origin, PolicySet, Report, Source};

/// What a folder holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyDocuments {
    /// Policies and bindings.
    pub sources: Vec<Source>,
    /// Everything else: params may be among it.
    pub objects: Vec<Value>,
}

/// Where it is told what became of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyTells {
    /// In the log, and in the status of each policy of the hub.
    OnHub,
    /// In the log only: nothing is written.
    InLog,
}

/// A running watch of policies.
#[derive(Debug)]
pub struct PolicyWatch {
    set: watch::Receiver<PolicySet>,
    task: JoinSet<()>,
}

impl PolicyWatch {
    /// Starts the watch; returns when the policies that are on the hub are in force, or when it refuses to show them.
    pub async fn start(client: Client, folder: watch::Receiver<PolicyDocuments>, tells: PolicyTells) -> Self {
        let (sender, mut set) = watch::channel(PolicySet::default());
        let follower = Follower {
            client,
            tells,
            folder,
            known: BTreeMap::new(),
            set: sender,
            listed: false,
            is_withheld: false,
        };
        let mut task = JoinSet::new();
        task.spawn(follower.run());
        // The sender only goes away with the task, which never ends by itself.
        let _ended = set.changed().await.is_err();
        Self { set, task }
    }

    /// Returns the policies that are in force; they are replaced as a whole.
    pub fn set(&self) -> watch::Receiver<PolicySet> {
        self.set.clone()
    }

    /// Ends the watch.
    pub async fn shutdown(mut self) {
        self.task.shutdown().await;
    }
}

/// Returns how policies are addressed.
pub(super) fn resource() -> ApiResource {
    ApiResource {
        group: GROUP.to_owned(),
        version: VERSION.to_owned(),
        api_version: format!("{GROUP}/{VERSION}"),
        kind: "AddOnPolicy".to_owned(),
        plural: "addonpolicies".to_owned(),
    }
}

struct Follower {
    client: Client,
    tells: PolicyTells,
    folder: watch::Receiver<PolicyDocuments>,
    /// Policies on the hub by name.
    known: BTreeMap<String, Value>,
    set: watch::Sender<PolicySet>,
    listed: bool,
    /// Whether the hub has refused to show its policies, and nothing else since.
    is_withheld: bool,
}

impl Follower {
    async fn run(mut self) {
        let api: Api<Raw> = Api::all_with(self.client.clone(), &resource());
        let mut stream = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
        let mut listing = BTreeMap::new();
        let mut folder_lives = true;
        loop {
            let due = tokio::select! {
                next = stream.next() => match next {
                    Some(Ok(event)) => self.take(event, &mut listing),
                    Some(Err(error)) => self.interrupted(&error),
                    None => return,
                },
                changed = self.folder.changed(), if folder_lives => {
                    folder_lives = changed.is_ok();
                    folder_lives && self.listed
                }
            };
            if due {
                self.load().await;
            }
        }
    }

    /// Takes an event in; tells whether the policies must be compiled again.
    fn take(&mut self, event: watcher::Event<Raw>, listing: &mut BTreeMap<String, Value>) -> bool {
        match event {
            watcher::Event::Init => {
                listing.clear();
                false
            }
            watcher::Event::InitApply(raw) => {
                listing.insert(name(&raw.object), raw.object);
                false
            }
            watcher::Event::InitDone => {
                let new = std::mem::take(listing);
                let same = self.listed
                    && self.known.len() == new.len()
                    && self
                        .known
                        .iter()
                        .zip(&new)
                        .all(|(a, b)| a.0 == b.0 && says_the_same(a.1, b.1));
                self.known = new;
                self.listed = true;
                if std::mem::take(&mut self.is_withheld) {
                    info!(policies = self.known.len(), "the hub shows its policies again");
                }
                !same
            }
            watcher::Event::Apply(raw) => {
                let before = self.known.insert(name(&raw.object), raw.object.clone());
                // A new status is our own, and asks for nothing.
                self.listed && before.is_none_or(|before| !says_the_same(&before, &raw.object))
            }
            watcher::Event::Delete(raw) => {
                self.known.remove(&name(&raw.object));
                self.listed
            }
        }
    }

    /// A hub that does not serve policies has none, and one that does not show them is no reason to wait: those of the
    /// folder are in force meanwhile. Otherwise what is known stays.
    fn interrupted(&mut self, error: &watcher::Error) -> bool {
        let answer = match error {
            watcher::Error::InitialListFailed(kube::Error::Api(status)) => status.code,
            watcher::Error::InitialListFailed(_)
            | watcher::Error::WatchStartFailed(_)
            | watcher::Error::WatchError(_)
            | watcher::Error::WatchFailed(_)
            | watcher::Error::NoResourceVersion => 0,
        };
        match answer {
            404 => debug!("the hub does not serve policies"),
            // Asked again for ever, told once: the stream goes on by itself.
            403 if self.is_withheld => {}
            403 => {
                let policies = self.known.len();
                let answer = root(error);
                error!(%answer, policies, "the hub withholds its policies; only those of the folder and those known are in force");
            }
            _ => {
                warn!(error = %root(error), "watch of policies interrupted");
                return false;
            }
        }
        self.is_withheld = answer == 403;
        !std::mem::replace(&mut self.listed, true)
    }

    async fn load(&mut self) {
        let (mut sources, objects) = {
            let folder = self.folder.borrow_and_update();
            (folder.sources.clone(), folder.objects.clone())
        };
        sources.extend(self.known.values().map(|document| Source {
            origin: Origin::Hub,
            document: document.clone(),
        }));
        let loaded = PolicySet::load(&sources, &objects, &self.set.borrow());
        info!(policies = loaded.set.len(), "policies loaded");
        self.set.send_replace(loaded.set);
        for report in &loaded.reports {
            self.tell(report).await;
        }
    }

    async fn tell(&self, report: &Report) {
        for fault in &report.faults {
            let (policy, origin) = (&report.name, &report.origin);
            warn!(%policy, %origin, fault = %fault.one_line(), "policy does not compile");
        }
        let object = match report.origin {
            Origin::Hub if self.tells == PolicyTells::OnHub => self.known.get(&report.name),
            Origin::Hub | Origin::File(_) => None,
        };
        let Some(object) = object else {
            return;
        };
        let Some(status) = wanted(object, report, Timestamp::now()) else {
            return;
        };
        match apply_status(&self.client, object, status).await {
            Ok(()) => {}
            // Somebody was faster: another replica, which says the same, or a user, whose change the watch will show.
            Err(kube::Error::Api(answer)) if answer.code == 409 => {
                debug!(policy = report.name, "status is not ours to write");
            }
            Err(error) => {
                warn!(policy = report.name, error = %root(&error), "cannot write the status of a policy");
            }
        }
    }
}

fn name(object: &Value) -> String {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

fn says_the_same(a: &Value, b: &Value) -> bool {
    a.get("spec") == b.get("spec")
        && a.pointer("/metadata/uid") == b.pointer("/metadata/uid")
        && a.pointer("/metadata/generation") == b.pointer("/metadata/generation")
}
