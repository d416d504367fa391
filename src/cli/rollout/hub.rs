//! Where rollouts are read from: a hub, or a dump of one.
//!
//! Decides what is read. Never writes.

use std::time::Duration;

use jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::{Api, Client};
use serde_json::Value;

use super::args::{AskArgs, RolloutHubArgs};
use crate::cli::error::{missing_crd, reading_kind};
use crate::cli::print::note as say_note;
use crate::cli::{CliError, HubArgs, connect, live};
use crate::controllers::resource;
use insight::cockpit::{Picture, Rollouts, Stopwatch, Target, Unknown, find};
use store::{Kind, Settings, Store};

/// How long names may take that only complete a command line.
const NAMES_WITHIN: Duration = Duration::from_secs(2);

/// A hub as it was at one time.
pub(in crate::cli) struct Source {
    pub(in crate::cli) store: Store,
    pub(in crate::cli) hub: insight::offline::Hub,
    pub(in crate::cli) now: Timestamp,
}

impl Source {
    /// Reads what is asked about.
    pub(super) fn read(ask: &AskArgs) -> Result<Self, CliError> {
        let RolloutHubArgs { place, behaviour } = &ask.hub;
        let reading = live::dump_or_seen(ask.facts.as_deref(), place, behaviour)?;
        let controllers = behaviour.of(&reading.settings)?;
        let now = reading.now;
        // A dump has no Leases.
        let stock = controllers.stock_lease.0.as_ref().filter(|_| ask.facts.is_none());
        let settings = Settings {
            fence: live::fence(place, stock, now)?,
            ..controllers.settings()
        };
        let (store, hub) = (reading.hub.store(settings), reading.hub);
        Ok(Self { store, hub, now })
    }

    /// Reads a hub for what does not depend on the settings of its controllers.
    pub(super) fn without_settings(ask: &AskArgs) -> Result<Self, CliError> {
        let (hub, now) = match &ask.facts {
            Some(path) => {
                let dump = live::dump(path)?;
                (dump.hub, dump.taken_at)
            }
            None => (live::read(&ask.hub.place)?, Timestamp::now()),
        };
        let store = hub.store(Settings::default());
        Ok(Self { store, hub, now })
    }

    /// Returns the pictures of all rollouts.
    pub(super) fn pictures(&self) -> Vec<Picture> {
        let all = Rollouts::of(&self.store).0;
        all.iter()
            .filter_map(|target| Picture::of(&self.store, target, &Stopwatch::default(), self.now))
            .collect()
    }

    /// Returns the picture of the rollout that a name means.
    pub(super) fn picture(&self, name: &str) -> Result<Picture, CliError> {
        let target = meant(&self.store, name)?;
        let picture = Picture::of(&self.store, &target, &Stopwatch::default(), self.now);
        let mut picture = picture.ok_or_else(|| gone(&target))?;
        insight::why::explain_agents(&mut picture, &self.hub, &self.store, self.now);
        Ok(picture)
    }
}

/// Returns the rollout that a name means.
pub(super) fn meant(store: &Store, name: &str) -> Result<Target, CliError> {
    find(&Rollouts::of(store), name).map_err(|unknown| CliError::Refused(Box::new(unknown)))
}

pub(super) fn gone(target: &Target) -> CliError {
    CliError::Refused(Box::new(Unknown::NoSuch {
        name: target.told(),
        near: String::new(),
    }))
}

/// Returns the settings of the controllers of a hub, and notes for the user.
pub(in crate::cli) fn settings(
    args: &RolloutHubArgs,
    now: Timestamp,
) -> Result<(Settings, Vec<String>), CliError> {
    let (controllers, notes) = live::behaviour(&args.place, &args.behaviour)?;
    let settings = Settings {
        fence: live::fence(&args.place, controllers.stock_lease.0.as_ref(), now)?,
        ..controllers.settings()
    };
    Ok((settings, notes))
}

/// The same beside other tasks, for a command that watches.
pub(super) async fn settings_to_watch(hub: &RolloutHubArgs) -> Result<Settings, CliError> {
    let hub = hub.clone();
    let read = tokio::task::spawn_blocking(move || settings_with_notes(&hub, Timestamp::now()));
    read.await.map_err(CliError::acting("read the hub"))?
}

/// Fails if the hub does not serve a kind that every plan needs: a watch of such a hub shows nothing.
pub(super) async fn require_crds(client: &Client) -> Result<(), CliError> {
    for kind in Kind::ALL.into_iter().filter(|kind| kind.must_exist()) {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(kind));
        let found = api.list(&ListParams::default().limit(1)).await;
        if let Some(text) = found.err().and_then(|error| missing_crd(kind, &error)) {
            return Err(CliError::Refused(text.into()));
        }
    }
    Ok(())
}

/// Returns the settings of the controllers of a hub; prints the notes to standard error.
pub(in crate::cli) fn settings_with_notes(
    args: &RolloutHubArgs,
    now: Timestamp,
) -> Result<Settings, CliError> {
    let (settings, notes) = settings(args, now)?;
    for note in notes {
        say_note(&note);
    }
    Ok(settings)
}

/// Returns the resource of a rollout.
pub(in crate::cli) fn api(client: &Client, target: &Target) -> Api<DynamicObject> {
    let resource = resource(target.object_kind());
    if target.namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), &target.namespace, &resource)
    }
}

/// Returns the object of a rollout as the hub has it now.
pub(in crate::cli) async fn raw(client: &Client, target: &Target) -> Result<Value, CliError> {
    let object = api(client, target)
        .get(&target.name)
        .await
        .map_err(reading_kind(target.object_kind()))?;
    serde_json::to_value(object).map_err(CliError::acting("read the hub"))
}

/// Returns the AddOnRollout of an add-on as the hub has it now; `null` where there is none.
pub(super) async fn stored_settings(client: &Client, target: &Target) -> Result<Value, CliError> {
    if target.object_kind() != Kind::AddOn {
        return Ok(Value::Null);
    }
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(Kind::Rollout));
    let found = api
        .get_opt(&target.name)
        .await
        .map_err(reading_kind(Kind::Rollout))?;
    serde_json::to_value(found).map_err(CliError::acting("read the hub"))
}

/// The events of a hub about a rollout, by who can have written them.
#[derive(Debug, Default)]
pub(in crate::cli) struct Events {
    /// About the rollout itself, in a namespace in which no agent of a cluster writes.
    pub(in crate::cli) own: Vec<Value>,
    /// In namespaces of clusters. The agents of these clusters can write events there in the name of any component.
    pub(in crate::cli) of_clusters: Vec<Value>,
}

/// The most events of one list.
const MOST_EVENTS: u32 = 500;

/// Returns the events of a hub about a rollout, and about what it has on clusters.
pub(in crate::cli) async fn events(client: &Client, target: &Target) -> Result<Events, CliError> {
    let kind = target.object_kind();
    // Events about objects without a namespace are in this one.
    let home = match target.namespace.as_str() {
        "" => "default",
        namespace => namespace,
    };
    let clusters: Api<DynamicObject> = Api::all_with(client.clone(), &resource(Kind::Cluster));
    // Where the user may not read clusters, the namespace can be one of a cluster.
    let is_of_a_cluster = match clusters.get_opt(home).await {
        Ok(found) => found.is_some(),
        // Without the definition there are no clusters, and the answer is no Status.
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => status.code == 403,
        Err(error) => return Err(CliError::acting("read the hub")(error)),
    };
    // A list of its own: a flood of events in other namespaces leaves none of these out.
    let own = listed(client, Some(home), kind, target).await?;
    let mut events = Events::default();
    if is_of_a_cluster {
        events.of_clusters = own;
    } else {
        events.own = own;
    }
    if kind == Kind::AddOn {
        let instances = listed(client, None, Kind::Instance, target).await?;
        events.of_clusters.extend(instances);
    }
    Ok(events)
}

async fn listed(
    client: &Client,
    namespace: Option<&str>,
    kind: Kind,
    target: &Target,
) -> Result<Vec<Value>, CliError> {
    let gvk = GroupVersionKind::gvk("", "v1", "Event");
    let events = ApiResource::from_gvk_with_plural(&gvk, "events");
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &events),
        None => Api::all_with(client.clone(), &events),
    };
    let of = kind.address().kind;
    let name = &target.name;
    let params = ListParams::default()
        .fields(&format!("involvedObject.kind={of},involvedObject.name={name}"))
        .limit(MOST_EVENTS);
    let found = match api.list(&params).await {
        Ok(found) => found.items,
        // Where the user may not read events, or the hub keeps none, the history is without them.
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => Vec::new(),
        Err(error) => return Err(CliError::acting("read the hub")(error)),
    };
    Ok(found
        .into_iter()
        .filter_map(|event| serde_json::to_value(event).ok())
        .collect())
}

/// What a shell completes names of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Named {
    /// Add-ons and upgrades of clusters.
    Rollouts,
    /// Add-ons alone.
    Addons,
    /// Clusters.
    Clusters,
    /// Freezes of rollouts.
    Freezes,
    /// Namespaces of upgrades.
    Namespaces,
    /// Contexts of the kubeconfig.
    Contexts,
    /// What `explain` explains: rules, causes, reasons.
    Topics,
}

/// Returns names on a hub, for a shell that completes a line; none where the hub does not answer at once.
pub(in crate::cli) fn names_on_hub(named: Named, hub: &HubArgs) -> Vec<String> {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let kinds: &[Kind] = match named {
        Named::Rollouts => &[Kind::AddOn, Kind::Upgrade],
        Named::Addons => &[Kind::AddOn],
        Named::Clusters => &[Kind::Cluster],
        Named::Freezes => &[Kind::Freeze],
        Named::Namespaces => &[Kind::Upgrade],
        Named::Contexts | Named::Topics => &[],
    };
    let ask = async {
        let client = connect::client(connect::config_of(hub).await?)?;
        let mut names = std::collections::BTreeSet::new();
        for kind in kinds {
            let params = ListParams::default().limit(500);
            let Ok(found) = Api::<DynamicObject>::all_with(client.clone(), &resource(*kind))
                .list(&params)
                .await
            else {
                continue;
            };
            names.extend(found.items.into_iter().map(|object| {
                let name = object.metadata.name.unwrap_or_default();
                match object.metadata.namespace {
                    Some(namespace) if named == Named::Namespaces => namespace,
                    Some(namespace) => Target::upgrade(namespace, name).told(),
                    None => name,
                }
            }));
        }
        Ok::<_, CliError>(names.into_iter().collect())
    };
    let found = runtime.block_on(async { tokio::time::timeout(NAMES_WITHIN, ask).await });
    found.ok().and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use insight::cockpit::RolloutHistory;
    use k8s_openapi::api::core::v1::{Event, Namespace};
    use kube::api::PostParams;
    use serde_json::json;

    /// An event in the name of the controllers.
    fn told(namespace: &str, kind: &str, about: &str, name: &str) -> Event {
        let event = json!({
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": kind, "name": "hello", "namespace": about},
            "reason": "Ready", "message": name, "type": "Normal", "eventTime": "2026-11-27T10:00:00.000000Z",
            "reportingComponent": "tidegate.io/controllers", "reportingInstance": "x", "action": "Rollout",
        });
        serde_json::from_value(event).expect("an event")
    }

    fn messages(events: &[Value]) -> Vec<&str> {
        events
            .iter()
            .filter_map(|event| event["message"].as_str())
            .collect()
    }

    /// The agent of a cluster may write events in the namespace of its cluster, with any reporting controller.
    #[tokio::test]
    async fn what_a_cluster_can_have_written_is_not_among_the_events_of_the_controllers() {
        let hub = devhub::DevHub::builder().start().await.expect("the hub starts");
        let client = hub.client();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let cluster = serde_json::from_value(json!({"metadata": {"name": "cluster1"}})).expect("a namespace");
        namespaces
            .create(&PostParams::default(), &cluster)
            .await
            .expect("stored");
        for (namespace, kind, about, name) in [
            ("default", "ClusterManagementAddOn", "", "genuine"),
            ("cluster1", "ManagedClusterAddOn", "cluster1", "of-a-cluster"),
            ("cluster1", "ClusterManagementAddOn", "cluster1", "forged"),
        ] {
            let events: Api<Event> = Api::namespaced(client.clone(), namespace);
            let event = told(namespace, kind, about, name);
            events
                .create(&PostParams::default(), &event)
                .await
                .expect("stored");
        }
        let addon = Target::addon("hello");
        let found = events(&client, &addon).await.expect("they can be read");
        assert_eq!(messages(&found.own), ["genuine"]);
        assert_eq!(messages(&found.of_clusters), ["of-a-cluster"]);
        let history = RolloutHistory::of(&addon, &json!({}), &found.own, &found.of_clusters);
        let written = api::output::document(&history).expect("JSON");
        assert_eq!(written["events"][0]["message"], "genuine");
        assert_eq!(written["clusterEvents"][0]["message"], "of-a-cluster");
        hub.shutdown().await;
    }

    #[tokio::test]
    async fn a_hub_without_a_required_crd_is_not_watched() {
        let hub = devhub::DevHub::builder().start().await.expect("the hub starts");
        let error = require_crds(&hub.client())
            .await
            .expect_err("it has no CRD of OCM");
        let name = "managedclusters.cluster.open-cluster-management.io";
        assert!(error.one_line().contains(name), "{}", error.one_line());
        hub.shutdown().await;
    }
}
