//! Where rollouts are read from: a hub, or a dump of one.
//!
//! Decides what is read. Never writes.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::{Api, Client};
use serde_json::Value;

use super::args::{AskArgs, RolloutHubArgs};
use crate::cli::print::complain;
use crate::cli::{CliError, connect, live};
use cockpit::{Picture, Rollouts, Stopwatch, Target, TargetKind, Unknown, addon, find, upgrade};
use field::Shown;
use snapshot::{Kind, Settings, Store};

/// How long names may take that only complete a command line.
const NAMES_WITHIN: Duration = Duration::from_secs(2);

/// A hub as it was at one time.
pub(in crate::cli) struct Source {
    pub(in crate::cli) store: Store,
    pub(in crate::cli) hub: offline::Hub,
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
            .filter_map(|target| picture(&self.store, target, &Stopwatch::default(), self.now))
            .collect()
    }

    /// Returns the picture of the rollout that a name means.
    pub(super) fn picture(&self, name: &str) -> Result<Picture, CliError> {
        let target = meant(&self.store, name)?;
        picture(&self.store, &target, &Stopwatch::default(), self.now).ok_or_else(|| gone(&target))
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

/// Returns the picture of a rollout.
pub(in crate::cli) fn picture(
    store: &Store,
    target: &Target,
    watch: &Stopwatch,
    now: Timestamp,
) -> Option<Picture> {
    match target.kind {
        TargetKind::ClusterManagementAddOn => addon(store, &target.name, watch, now),
        TargetKind::ManagedClustersUpgrade => upgrade(store, target, now),
    }
}

/// When time alone changes a picture: the end of the first soak or deadline.
pub(super) fn wake(picture: &Picture) -> Option<Timestamp> {
    let ends = picture.clusters.iter().filter_map(|cluster| cluster.until);
    let next = picture.next.iter().map(|next| next.at);
    ends.chain(next).filter(|at| *at > picture.at).min()
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

/// Returns the settings of the controllers of a hub; prints the notes to standard error.
pub(in crate::cli) fn settings_with_notes(
    args: &RolloutHubArgs,
    now: Timestamp,
) -> Result<Settings, CliError> {
    let (settings, notes) = settings(args, now)?;
    for note in notes {
        complain(&Shown::line(&format!("tidegate: {note}")));
    }
    Ok(settings)
}

/// Returns the resource of a rollout.
pub(in crate::cli) fn api(client: &Client, target: &Target) -> Api<DynamicObject> {
    let kind = match target.kind {
        TargetKind::ClusterManagementAddOn => Kind::AddOn,
        TargetKind::ManagedClustersUpgrade => Kind::Upgrade,
    };
    let resource = resource(kind);
    if target.namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), &target.namespace, &resource)
    }
}

fn resource(kind: Kind) -> ApiResource {
    let address = kind.address();
    let gvk = GroupVersionKind::gvk(address.group, address.version, address.kind);
    ApiResource::from_gvk_with_plural(&gvk, address.resource)
}

/// Returns the object of a rollout as the hub has it now.
pub(in crate::cli) async fn raw(client: &Client, target: &Target) -> Result<Value, CliError> {
    let object = api(client, target).get(&target.name).await.map_err(unread)?;
    serde_json::to_value(object).map_err(unread)
}

/// Returns the events of a hub about a rollout, and about what it has on clusters.
pub(in crate::cli) async fn events(client: &Client, target: &Target) -> Result<Vec<Value>, CliError> {
    let gvk = GroupVersionKind::gvk("", "v1", "Event");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "events");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let params = ListParams::default()
        .fields(&format!("involvedObject.name={}", target.name))
        .limit(500);
    let found = match api.list(&params).await {
        Ok(found) => found.items,
        // Where the user may not read events, or the hub keeps none, the history is without them.
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => Vec::new(),
        Err(error) => return Err(unread(error)),
    };
    let kinds = match target.kind {
        TargetKind::ClusterManagementAddOn => ["ClusterManagementAddOn", "ManagedClusterAddOn"],
        TargetKind::ManagedClustersUpgrade => ["ManagedClustersUpgrade", "ManagedClustersUpgrade"],
    };
    let values = found
        .into_iter()
        .filter_map(|event| serde_json::to_value(event).ok());
    Ok(values
        .filter(|event| {
            let kind = event.pointer("/involvedObject/kind").and_then(Value::as_str);
            kind.is_some_and(|kind| kinds.contains(&kind))
        })
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
}

/// Returns names on a hub, for a shell that completes a line; none where the hub does not answer at once.
pub(in crate::cli) fn names_on_hub(named: Named, kubeconfig: Option<&Path>) -> Vec<String> {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let kubeconfig = kubeconfig.map(Path::to_owned);
    let kinds: &[Kind] = match named {
        Named::Rollouts => &[Kind::AddOn, Kind::Upgrade],
        Named::Addons => &[Kind::AddOn],
        Named::Clusters => &[Kind::Cluster],
    };
    let ask = async {
        let client = connect::client(connect::config_of(kubeconfig.as_deref()).await?)?;
        let mut names = Vec::new();
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
                    Some(namespace) => Target::upgrade(namespace, name).told(),
                    None => name,
                }
            }));
        }
        Ok::<_, CliError>(names)
    };
    let found = runtime.block_on(async { tokio::time::timeout(NAMES_WITHIN, ask).await });
    found.ok().and_then(Result::ok).unwrap_or_default()
}

pub(super) fn unread(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CliError {
    CliError::Act {
        act: "read the hub",
        source: source.into(),
    }
}
