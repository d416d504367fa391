//! Follows the policies of the hub, in their group and in the one that the kind had before, and those of a folder; publishes the
//! set of all that compile.
//!
//! Decides when to compile: when a spec or the folder has changed. Never clears anything because a watch is interrupted: what
//! is in force stays.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::Client;
use kube::core::ApiResource;
use kube::runtime::watcher;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{debug, error, info, warn};

use super::status::{apply_status, wanted};
use crate::controllers::runtime::api_watch::{PagedWatch, list_code};
use crate::controllers::runtime::apply_error::root;
use crate::controllers::runtime::definition::{Absent, Definition};
use crate::controllers::runtime::raw::Raw;
use admission::policy::{Origin, PolicySet, Report, Source, is_former};
use api::names::OWN_GROUP;
use api::v1alpha1::{GROUP, VERSION};

/// What a folder holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyDocuments {
    /// Policies and bindings.
    pub sources: Vec<Source>,
    /// Everything else: params may be among it.
    pub objects: Vec<Value>,
}

/// Where the results of loading policies are reported.
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
            present: GroupWatch::new(&client, OWN_GROUP),
            former: GroupWatch::new(&client, GROUP),
            client,
            tells,
            folder,
            set: sender,
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

/// Returns how policies are addressed, in a group of theirs.
pub(super) fn resource(group: &str) -> ApiResource {
    ApiResource {
        group: group.to_owned(),
        version: VERSION.to_owned(),
        api_version: format!("{group}/{VERSION}"),
        kind: "AddOnPolicy".to_owned(),
        plural: "addonpolicies".to_owned(),
    }
}

struct Follower {
    client: Client,
    tells: PolicyTells,
    folder: watch::Receiver<PolicyDocuments>,
    present: GroupWatch,
    /// Read for one release more; a hub that never had the former definition has none.
    former: GroupWatch,
    set: watch::Sender<PolicySet>,
}

/// What the hub shows of one group.
struct GroupWatch {
    api_group: &'static str,
    pages: PagedWatch,
    definition: Definition,
    /// Why the hub shows nothing of it.
    absent: Option<Absent>,
    /// Policies by name.
    known: BTreeMap<String, Value>,
    /// The list that is in progress.
    listing: BTreeMap<String, Value>,
    listed: bool,
    /// Whether the hub has refused to show its policies, and nothing else since.
    is_withheld: bool,
}

impl Follower {
    async fn run(mut self) {
        let mut folder_lives = true;
        loop {
            let due = tokio::select! {
                due = self.present.next() => match due {
                    Some(due) => due,
                    None => return,
                },
                due = self.former.next() => match due {
                    Some(due) => due,
                    None => return,
                },
                changed = self.folder.changed(), if folder_lives => {
                    folder_lives = changed.is_ok();
                    folder_lives
                }
            };
            // Before both are known, a policy of the one might be missed in favour of the other.
            if due && self.present.listed && self.former.listed {
                self.load().await;
            }
        }
    }

    async fn load(&mut self) {
        let (mut sources, objects) = {
            let folder = self.folder.borrow_and_update();
            (folder.sources.clone(), folder.objects.clone())
        };
        let on_hub = self.present.known.values().chain(self.former.known.values());
        sources.extend(on_hub.map(|document| Source {
            origin: Origin::Hub,
            document: document.clone(),
        }));
        let former = sources
            .iter()
            .filter(|source| is_former(&source.document))
            .count();
        if former > 0 {
            warn!(
                policies = former,
                group = GROUP,
                now = OWN_GROUP,
                "policies in a deprecated API group that the next release does not read"
            );
        }
        let loaded = PolicySet::load(&sources, &objects, &self.set.borrow());
        info!(policies = loaded.set.len(), "policies loaded");
        self.set.send_replace(loaded.set);
        for report in &loaded.reports {
            self.tell(report).await;
        }
    }

    async fn tell(&mut self, report: &Report) {
        for fault in &report.faults {
            let (policy, origin) = (&report.name, &report.origin);
            warn!(%policy, %origin, fault = %fault.one_line(), "policy does not compile");
        }
        let object = match report.origin {
            Origin::Hub if self.tells == PolicyTells::OnHub => {
                let group = if report.is_former {
                    &self.former
                } else {
                    &self.present
                };
                group.known.get(&report.name)
            }
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
            // Another client was faster: another replica, which says the same, or a user, whose change the watch will show.
            Err(kube::Error::Api(answer)) if answer.code == 409 => {
                debug!(policy = report.name, "another manager writes the status");
            }
            Err(error) => {
                warn!(policy = report.name, error = %root(&error), "cannot write the status of a policy");
            }
        }
    }
}

impl GroupWatch {
    fn new(client: &Client, group: &'static str) -> Self {
        let pages = PagedWatch::new(client, resource(group), None, || {});
        Self {
            api_group: group,
            definition: Definition::new(
                pages.client(),
                Some(format!("{}.{group}", resource(group).plural)),
            ),
            pages,
            absent: None,
            known: BTreeMap::new(),
            listing: BTreeMap::new(),
            listed: false,
            is_withheld: false,
        }
    }

    /// Waits for what the hub shows next; tells whether the policies must be compiled again. `None` when nothing more can come.
    /// May be dropped and begun again.
    async fn next(&mut self) -> Option<bool> {
        // The stream's own pauses between lists do not grow: each attempt begins with an event.
        if self.absent.is_some() {
            self.definition.is_worth_a_try(self.absent).await;
            self.absent = None;
        }
        match self.pages.next().await? {
            Ok(event) => {
                if matches!(event, watcher::Event::InitDone) {
                    self.definition.is_served();
                }
                Some(self.take(event))
            }
            Err(error) => {
                self.absent = Absent::of(&error);
                Some(self.interrupted(&error))
            }
        }
    }

    /// Takes an event in; tells whether the policies must be compiled again.
    fn take(&mut self, event: watcher::Event<Raw>) -> bool {
        match event {
            watcher::Event::Init => {
                self.listing.clear();
                false
            }
            watcher::Event::InitApply(raw) => {
                let object = raw.object();
                self.listing.insert(name(&object), object);
                false
            }
            watcher::Event::InitDone => {
                let new = std::mem::take(&mut self.listing);
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
                    info!(
                        policies = self.known.len(),
                        "policies on the hub are available again"
                    );
                }
                !same
            }
            watcher::Event::Apply(raw) => {
                let object = raw.object();
                let before = self.known.insert(name(&object), object.clone());
                // A new status is our own, and asks for nothing.
                self.listed && before.is_none_or(|before| !says_the_same(&before, &object))
            }
            watcher::Event::Delete(raw) => {
                self.known.remove(&name(&raw.object()));
                self.listed
            }
        }
    }

    /// A hub that does not serve policies has none, and one that does not show them is no reason to wait: those of the
    /// folder are in force meanwhile. Otherwise what is known stays, but for policies of the former group:
    /// its definition goes for good.
    fn interrupted(&mut self, error: &watcher::Error) -> bool {
        let answer = list_code(error);
        match answer {
            Some(404) if self.api_group == GROUP && !self.known.is_empty() => {
                info!(
                    group = GROUP,
                    "the CRD of policies in the deprecated API group was deleted, with its policies"
                );
                self.known.clear();
                return true;
            }
            Some(404) => debug!("the hub does not serve policies"),
            // Asked again indefinitely, told once: the stream goes on by itself.
            Some(403) if self.is_withheld => {}
            Some(403) => {
                let policies = self.known.len();
                let answer = root(error);
                error!(%answer, policies, "cannot list policies on the hub; only policies from the folder and already loaded policies are active");
            }
            _ => {
                warn!(error = %root(error), "watch of policies interrupted");
                return false;
            }
        }
        self.is_withheld = answer == Some(403);
        !std::mem::replace(&mut self.listed, true)
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
