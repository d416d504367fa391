//! A running fleet: starts it, tells it what to do, ends it.

use std::sync::{Arc, PoisonError};

use kube::Client;
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{
    FleetError, FleetOptions,
    agents::{Agents, Command, Shared, Stores},
    clock::Clock,
    counters::{Counters, Tally},
    health::Health,
    hub::Hub,
    placements::Placements,
    registration::Spoke,
    replica_sets::ReplicaSets,
    wishes::Wishes,
};
use crate::{
    agent::ObjectKey,
    fault::{ActiveFaults, Fault, FaultRule},
    wire::Kind,
};

/// Simulated clusters on a hub. Dropping it ends it too, without waiting.
#[derive(Debug)]
pub struct Fleet {
    options: FleetOptions,
    stores: Stores,
    tally: Arc<Tally>,
    commands: [mpsc::UnboundedSender<Command>; 2],
    registered: watch::Receiver<bool>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Fleet {
    /// Starts a fleet on the hub that this client talks to. Returns once the hub has answered; clusters register after
    /// that, see `ready`.
    pub async fn start(client: Client, options: FleetOptions) -> Result<Self, FleetError> {
        options.check()?;
        let hub = Hub::new(client);
        apply_sets(&hub, &options.cluster_set).await?;
        let kinds = [
            Kind::ManagedCluster,
            Kind::Placement,
            Kind::PlacementDecision,
            Kind::ManifestWork,
        ];
        let further = options.replica_sets.then_some(Kind::ManifestWorkReplicaSet);
        for kind in kinds.into_iter().chain(further) {
            let listed = hub.read_any(kind).await;
            listed.map_err(|source| FleetError::ListKind {
                plural: kind.plural(),
                source: Box::new(source),
            })?;
        }
        let (stores, tally, clock) = (Stores::default(), Arc::<Tally>::default(), Clock::start());
        let shared = || Shared {
            hub: hub.clone(),
            clock,
            tally: Arc::clone(&tally),
            stores: Arc::clone(&stores),
        };
        let (told, registered) = watch::channel(false);
        let (to_agents, orders) = mpsc::unbounded_channel();
        let (to_health, health_orders) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let active_faults = ActiveFaults::new(&options.faults);
        let agents = Agents::new(shared(), Spoke::all(&options), active_faults, told)
            .tainting_offline(options.taint_offline);
        let health = Health::new(shared(), options.names(), ActiveFaults::new(&options.faults));
        let placements = Placements::new(shared());
        let wishes = Wishes::new(hub.clone(), &options, [to_agents.clone(), to_health.clone()]);
        let mut tasks = JoinSet::new();
        tasks.spawn(wishes.run(stop.clone()));
        tasks.spawn(agents.run(orders, stop.clone()));
        tasks.spawn(health.run(health_orders, stop.clone()));
        tasks.spawn(placements.run(registered.clone(), stop.clone()));
        if options.replica_sets {
            tasks.spawn(ReplicaSets::new(shared()).run(stop.clone()));
        }
        info!(clusters = options.clusters, "simulated clusters started");
        Ok(Self {
            options,
            stores,
            tally,
            commands: [to_agents, to_health],
            registered,
            stop,
            tasks,
        })
    }

    /// Waits until every cluster has registered.
    pub async fn ready(&self) -> Result<(), FleetError> {
        let mut registered = self.registered.clone();
        registered
            .wait_for(|all| *all)
            .await
            .map(|_all| ())
            .map_err(|_closed| FleetError::Stopped)
    }

    /// Returns the names of the clusters.
    pub fn clusters(&self) -> Vec<String> {
        self.options.names()
    }

    /// Lets this and nothing else go wrong on one cluster, from now on.
    pub fn set_fault(&self, cluster: &str, fault: Fault) -> Result<(), FleetError> {
        let rule = FaultRule::new(cluster, fault);
        self.options.check_fault(&rule)?;
        self.clear_faults(cluster)?;
        self.send(Command::AddFault(rule))
    }

    /// Lets one more thing go wrong.
    pub fn add_fault(&self, rule: FaultRule) -> Result<(), FleetError> {
        self.options.check_fault(&rule)?;
        self.send(Command::AddFault(rule))
    }

    /// Ends everything that goes wrong on one cluster.
    pub fn clear_faults(&self, cluster: &str) -> Result<(), FleetError> {
        self.send(Command::ClearFaults(cluster.to_owned()))
    }

    /// Returns what the fleet has done so far.
    pub fn counters(&self) -> Counters {
        self.tally.read()
    }

    /// Returns the keys of what exists on a cluster.
    pub fn objects(&self, cluster: &str) -> Vec<ObjectKey> {
        let stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores
            .get(cluster)
            .map(|store| store.keys().cloned().collect())
            .unwrap_or_default()
    }

    /// Returns an object of a cluster, with its status.
    pub fn object(&self, cluster: &str, key: &ObjectKey) -> Option<Value> {
        self.stores
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(cluster)?
            .object(key)
    }

    /// Returns the `ClusterVersion` of a cluster that plays OpenShift, with its status as of the last look.
    pub fn cluster_version(&self, cluster: &str) -> Option<Value> {
        self.object(cluster, &crate::agent::cluster_version())
    }

    /// Ends the fleet and waits until it makes no more calls. What it registered stays on the hub.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }

    fn send(&self, command: Command) -> Result<(), FleetError> {
        let [agents, health] = &self.commands;
        // On a hub without add-ons the task that reports on them has ended, and its channel is closed.
        let _heard = health.send(command.clone()).is_ok();
        agents.send(command).map_err(|_closed| FleetError::Stopped)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Creates the sets that every hub has, and the fleet's own.
async fn apply_sets(hub: &Hub, own: &str) -> Result<(), FleetError> {
    let by_label = json!({"selectorType": "ExclusiveClusterSetLabel"});
    let every_cluster = json!({"selectorType": "LabelSelector", "labelSelector": {}});
    let sets = [("default", &by_label), ("global", &every_cluster)];
    let further = (!sets.iter().any(|(name, _)| *name == own)).then_some((own, &by_label));
    for (name, selector) in sets.into_iter().chain(further) {
        let set = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSet",
            "metadata": {"name": name},
            "spec": {"clusterSelector": selector},
        });
        let created = hub.create(Kind::ManagedClusterSet, "", set).await;
        created.map_err(|source| FleetError::CreateSet {
            name: name.to_owned(),
            source: Box::new(source),
        })?;
    }
    Ok(())
}
