//! Garbage collection.
//!
//! Decides which objects go because their owners went, which owners wait for their dependents, and which dependents are set free.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{BoxStream, SelectAll};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, Preconditions, PropagationPolicy};
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::catalogue::{self, Kind};
use super::graph::{Graph, Node};

const RETRY: Duration = Duration::from_millis(500);
/// How long definitions are gathered before it is asked what is served: they come by the dozen, and while that is asked nothing
/// is collected.
const GATHER: Duration = Duration::from_millis(50);
/// How often it is asked what is served if nothing changes.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

type Meta = PartialObjectMeta<DynamicObject>;
type Seen = (String, watcher::Result<watcher::Event<Meta>>);
type Events = SelectAll<BoxStream<'static, Seen>>;

/// Collects garbage in a loop.
pub(super) async fn run(client: Client) {
    let mut collector = Collector::new(client.clone());
    let mut events = Events::new();
    while let Err(error) = collector.refresh(&mut events).await {
        tracing::debug!(%error, "discovery failed");
        tokio::time::sleep(RETRY).await;
    }
    let definitions: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(client);
    let mut definitions = watcher(definitions, watcher::Config::default())
        .default_backoff()
        .boxed();
    // An API server stores a definition, and says that it is established, a moment before discovery tells of it.
    let mut pause = RETRY;
    let mut look = Instant::now() + pause;
    loop {
        tokio::select! {
            Some(change) = definitions.next() => {
                if change.is_ok() {
                    pause = GATHER;
                    look = look.min(Instant::now() + pause);
                }
            }
            () = tokio::time::sleep_until(look) => {
                collector.look(&mut events).await;
                pause = (pause * 2).min(LOOK_AGAIN);
                look = Instant::now() + pause;
            }
            Some((kind, event)) = events.next() => collector.see(&kind, event).await,
            // A point in time and no pause: a busy hub never pauses, and what failed would wait for as long as it is busy.
            () = tokio::time::sleep_until(collector.retry_at), if !collector.again.is_empty() => collector.retry().await,
            else => return,
        }
    }
}

struct Collector {
    client: Client,
    graph: Graph,
    kinds: BTreeMap<String, (Kind, CancellationToken)>,
    /// Objects seen during a new list, per kind; the others are gone.
    listing: BTreeMap<String, BTreeSet<String>>,
    /// Objects whose last attempt failed, or whose owner's end would not be heard of yet.
    again: BTreeSet<String>,
    /// When they are attempted again.
    retry_at: Instant,
}

impl Collector {
    fn new(client: Client) -> Self {
        Self {
            client,
            graph: Graph::default(),
            kinds: BTreeMap::new(),
            listing: BTreeMap::new(),
            again: BTreeSet::new(),
            retry_at: Instant::now(),
        }
    }

    /// Asks what is served; what cannot be told now is asked again later.
    async fn look(&mut self, events: &mut Events) {
        if let Err(error) = self.refresh(events).await {
            tracing::debug!(%error, "discovery failed");
        }
    }

    /// Watches what is new and forgets what is no longer served.
    async fn refresh(&mut self, events: &mut Events) -> Result<(), kube::Error> {
        let served = catalogue::kinds(&self.client).await?;
        let ids: BTreeSet<String> = served.iter().map(Kind::id).collect();
        let gone: Vec<String> = self
            .kinds
            .keys()
            .filter(|id| !ids.contains(*id))
            .cloned()
            .collect();
        for id in gone {
            if let Some((_, stop)) = self.kinds.remove(&id) {
                stop.cancel();
            }
            for uid in self.graph.of_kind(&id) {
                self.graph.remove(&uid);
            }
        }
        for kind in served {
            let id = kind.id();
            if self.kinds.contains_key(&id) {
                continue;
            }
            let api: Api<Meta> = Api::all_with(self.client.clone(), &kind.resource);
            let (stop, name) = (CancellationToken::new(), id.clone());
            let changes = watcher(api, watcher::Config::default())
                .default_backoff()
                .map(move |event| (name.clone(), event))
                .take_until(stop.clone().cancelled_owned());
            events.push(changes.boxed());
            self.kinds.insert(id, (kind, stop));
        }
        Ok(())
    }

    async fn see(&mut self, kind: &str, event: watcher::Result<watcher::Event<Meta>>) {
        match event {
            Ok(watcher::Event::Init) => {
                self.listing.insert(kind.to_owned(), BTreeSet::new());
            }
            Ok(watcher::Event::InitApply(object)) => {
                if let (Some(listing), Some(uid)) = (self.listing.get_mut(kind), object.metadata.uid.clone())
                {
                    listing.insert(uid);
                }
                self.put(kind, &object.metadata).await;
            }
            Ok(watcher::Event::Apply(object)) => self.put(kind, &object.metadata).await,
            Ok(watcher::Event::Delete(object)) => {
                let uid = object.metadata.uid.unwrap_or_default();
                self.gone(&uid).await;
            }
            Ok(watcher::Event::InitDone) => {
                let listed = self.listing.remove(kind).unwrap_or_default();
                let unlisted = self
                    .graph
                    .of_kind(kind)
                    .into_iter()
                    .filter(|uid| !listed.contains(uid));
                for uid in unlisted {
                    self.gone(&uid).await;
                }
            }
            Err(error) => tracing::debug!(%kind, %error, "watch failed"),
        }
    }

    async fn put(&mut self, kind: &str, metadata: &ObjectMeta) {
        let uid = metadata.uid.clone().unwrap_or_default();
        self.graph.put(&uid, Node::of(kind, metadata));
        self.attend(&uid).await;
        // An owner in the foreground may have waited for exactly this change.
        for owner in metadata.owner_references.iter().flatten() {
            self.attend_owner(&owner.uid).await;
        }
    }

    async fn gone(&mut self, uid: &str) {
        let dependents = self.graph.dependents(uid);
        let node = self.graph.remove(uid);
        self.again.remove(uid);
        for dependent in dependents {
            self.attend(&dependent).await;
        }
        for owner in node.into_iter().flat_map(|node| node.owners) {
            self.attend_owner(&owner.uid).await;
        }
    }

    async fn attend_owner(&mut self, uid: &str) {
        let waits = |node: &Node| node.waits_for("foregroundDeletion") || node.waits_for("orphan");
        if self.graph.node(uid).is_some_and(waits) {
            self.attend(uid).await;
        }
    }

    async fn retry(&mut self) {
        for uid in std::mem::take(&mut self.again) {
            self.attend(&uid).await;
        }
    }

    /// Does for one object what is due.
    async fn attend(&mut self, uid: &str) {
        let Some(node) = self.graph.node(uid).cloned() else {
            return;
        };
        let outcome = if node.waits_for("orphan") {
            self.set_free(uid, &node).await
        } else if node.waits_for("foregroundDeletion") {
            self.clear_way(uid, &node).await
        } else if node.deleting {
            Ok(())
        } else {
            self.judge(uid, &node).await
        };
        match outcome {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => {
                tracing::debug!(name = %node.name, %error, "will collect again");
                self.attend_later(uid);
            }
            // An owner that no watch has shown can end before one does.
            Ok(()) if !node.deleting && self.has_unseen_owner(&node) => self.attend_later(uid),
            Ok(()) => {}
        }
    }

    fn attend_later(&mut self, uid: &str) {
        if self.again.is_empty() {
            self.retry_at = Instant::now() + RETRY;
        }
        self.again.insert(uid.to_owned());
    }

    /// Tells whether some owner was not seen yet; its kind may not be watched yet either.
    fn has_unseen_owner(&self, node: &Node) -> bool {
        node.owners
            .iter()
            .any(|owner| self.graph.node(&owner.uid).is_none())
    }

    fn kind_of(&self, owner: &OwnerReference) -> Option<&Kind> {
        let (group, _) = owner
            .api_version
            .split_once('/')
            .unwrap_or(("", &owner.api_version));
        let mut kinds = self.kinds.values().map(|(kind, _)| kind);
        kinds.find(|kind| kind.resource.group == group && kind.resource.kind == owner.kind)
    }

    fn api(&self, kind: &str, namespace: &str) -> Option<Api<Meta>> {
        let (kind, _) = self.kinds.get(kind)?;
        let client = self.client.clone();
        Some(if kind.namespaced && !namespace.is_empty() {
            Api::namespaced_with(client, namespace, &kind.resource)
        } else {
            Api::all_with(client, &kind.resource)
        })
    }

    /// Deletes an object all of whose owners are gone, and takes gone owners off one that still has another.
    async fn judge(&self, uid: &str, node: &Node) -> Result<(), kube::Error> {
        if matches!(self.verdict(uid, node).await?, Verdict::Keep) {
            return Ok(());
        }
        // What was seen may be late: an owner's end can be heard of before the orphan's release. So what shall go is read again,
        // and goes only as it was read.
        let Some(api) = self.api(&node.kind, &node.namespace) else {
            return Ok(());
        };
        let live = api.get_opt(&node.name).await?;
        let Some(live) = live.filter(|live| live.metadata.uid.as_deref() == Some(uid)) else {
            return Ok(());
        };
        let node = Node::of(&node.kind, &live.metadata);
        match self.verdict(uid, &node).await? {
            Verdict::Keep => Ok(()),
            Verdict::Release(gone) => self.drop_owners(uid, &node, &gone).await,
            Verdict::Delete(policy) => {
                let params = DeleteParams {
                    propagation_policy: Some(policy),
                    preconditions: Some(Preconditions {
                        uid: Some(uid.to_owned()),
                        resource_version: live.metadata.resource_version,
                    }),
                    ..DeleteParams::default()
                };
                api.delete(&node.name, &params).await.map(|_| ())
            }
        }
    }

    /// Decides by the owners what becomes of an object.
    async fn verdict(&self, uid: &str, node: &Node) -> Result<Verdict, kube::Error> {
        if node.owners.is_empty() || node.deleting {
            return Ok(Verdict::Keep);
        }
        let (mut absent, mut present, mut waiting) = (Vec::new(), 0_u32, 0_u32);
        for owner in &node.owners {
            match self.owner_state(node, owner).await? {
                OwnerState::Present => present += 1,
                OwnerState::Waiting => waiting += 1,
                OwnerState::Absent => absent.push(owner.uid.clone()),
            }
        }
        Ok(match (present, waiting) {
            (1.., _) if absent.is_empty() => Verdict::Keep,
            (1.., _) => Verdict::Release(absent),
            (0, 1..) if !self.graph.blockers(uid).is_empty() => {
                Verdict::Delete(PropagationPolicy::Foreground)
            }
            (0, _) => Verdict::Delete(PropagationPolicy::Background),
        })
    }

    async fn owner_state(&self, node: &Node, owner: &OwnerReference) -> Result<OwnerState, kube::Error> {
        if let Some(known) = self.graph.node(&owner.uid)
            && (known.namespace.is_empty() || known.namespace == node.namespace)
        {
            let state = if known.waits_for("foregroundDeletion") {
                OwnerState::Waiting
            } else {
                OwnerState::Present
            };
            return Ok(state);
        }
        // A kind that is not served does not prove that the owner was deleted; neither does an owner in an impossible namespace.
        let Some(kind) = self.kind_of(owner) else {
            return Ok(OwnerState::Present);
        };
        if kind.namespaced && node.namespace.is_empty() {
            return Ok(OwnerState::Present);
        }
        let Some(api) = self.api(&kind.id(), &node.namespace) else {
            return Ok(OwnerState::Present);
        };
        let found = api.get_opt(&owner.name).await?;
        let same = found.is_some_and(|found| found.metadata.uid.as_deref() == Some(&owner.uid));
        Ok(if same {
            OwnerState::Present
        } else {
            OwnerState::Absent
        })
    }

    async fn drop_owners(&self, uid: &str, node: &Node, gone: &[String]) -> Result<(), kube::Error> {
        let kept: Vec<&OwnerReference> = node
            .owners
            .iter()
            .filter(|owner| !gone.contains(&owner.uid))
            .collect();
        self.patch(
            node,
            &json!({ "metadata": { "uid": uid, "ownerReferences": kept } }),
        )
        .await
    }

    async fn patch(&self, node: &Node, patch: &serde_json::Value) -> Result<(), kube::Error> {
        let Some(api) = self.api(&node.kind, &node.namespace) else {
            return Ok(());
        };
        api.patch(&node.name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .map(|_| ())
    }

    /// Deletes the dependents of an owner that waits for them, and lets it go when none blocks it any more.
    async fn clear_way(&self, uid: &str, node: &Node) -> Result<(), kube::Error> {
        for dependent in self.graph.dependents(uid) {
            let Some(other) = self.graph.node(&dependent).filter(|other| !other.deleting) else {
                continue;
            };
            let outcome = self.judge(&dependent, other).await;
            if !matches!(&outcome, Err(kube::Error::Api(status)) if status.code == 404) {
                outcome?;
            }
        }
        if self.graph.blockers(uid).is_empty() {
            self.take_finalizer(uid, node, "foregroundDeletion").await
        } else {
            Ok(())
        }
    }

    /// Takes an owner that shall leave orphans off its dependents, and lets it go.
    async fn set_free(&self, uid: &str, node: &Node) -> Result<(), kube::Error> {
        for dependent in self.graph.dependents(uid) {
            let Some(other) = self.graph.node(&dependent) else {
                continue;
            };
            let outcome = self.drop_owners(&dependent, other, &[uid.to_owned()]).await;
            if !matches!(&outcome, Err(kube::Error::Api(status)) if status.code == 404) {
                outcome?;
            }
        }
        self.take_finalizer(uid, node, "orphan").await
    }

    async fn take_finalizer(&self, uid: &str, node: &Node, finalizer: &str) -> Result<(), kube::Error> {
        let kept: Vec<&String> = node.finalizers.iter().filter(|held| *held != finalizer).collect();
        self.patch(node, &json!({ "metadata": { "uid": uid, "finalizers": kept } }))
            .await
    }
}

/// What becomes of an object.
enum Verdict {
    /// Nothing.
    Keep,
    /// It loses these owners.
    Release(Vec<String>),
    /// It goes.
    Delete(PropagationPolicy),
}

enum OwnerState {
    /// It exists, or it is unknown whether it does.
    Present,
    /// It exists and waits for its dependents to go.
    Waiting,
    /// It does not exist.
    Absent,
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::PostParams;

    use super::*;
    use crate::DevHub;

    fn map(name: &str, owner: Option<&ConfigMap>) -> ConfigMap {
        let owned_by = |owner: &ConfigMap| OwnerReference {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            name: owner.metadata.name.clone().unwrap_or_default(),
            uid: owner.metadata.uid.clone().unwrap_or_default(),
            ..OwnerReference::default()
        };
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            owner_references: owner.map(|owner| vec![owned_by(owner)]),
            ..ObjectMeta::default()
        };
        ConfigMap {
            metadata,
            ..ConfigMap::default()
        }
    }

    /// The list of the owner's kind may come after that of its dependents, and the kind may be new; what ends in between is never
    /// heard of.
    #[tokio::test]
    async fn an_owner_that_ends_before_its_kind_was_listed_takes_its_dependents_with_it() {
        let hub = DevHub::builder()
            .without_controllers()
            .start()
            .await
            .expect("a hub");
        let maps: Api<ConfigMap> = Api::namespaced(hub.client(), "default");
        let params = PostParams::default();
        for is_new_kind in [false, true] {
            let owner = maps.create(&params, &map("owner", None)).await.expect("created");
            let dependent = maps.create(&params, &map("dependent", Some(&owner))).await;
            let dependent = dependent.expect("created");
            let mut collector = Collector::new(hub.client());
            if !is_new_kind {
                collector.refresh(&mut Events::new()).await.expect("discovery");
            }
            collector.put("configmaps.", &dependent.metadata).await;
            assert!(maps.get_opt("dependent").await.expect("read").is_some());
            let gone = maps.delete("owner", &DeleteParams::background()).await;
            gone.expect("deleted");
            collector.refresh(&mut Events::new()).await.expect("discovery");
            collector.retry().await;
            assert!(
                maps.get_opt("dependent").await.expect("read").is_none(),
                "new: {is_new_kind}"
            );
        }
        hub.shutdown().await;
    }
}
