//! How one cluster registers: its `ManagedCluster`, its namespace, what it says about itself. What exists is completed,
//! never reset: labels and spec belong to the users that edit them.

use std::{collections::BTreeMap, error::Error};

use k8s_openapi::jiff::Timestamp;
use kube::api::DynamicObject;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use semver::Version;
use serde_json::{Map, Value, json};
use tracing::warn;

use super::{
    clock::Clock,
    hub::Hub,
    options::FleetOptions,
    vendor::{self, Vendor},
};
use crate::{
    agent::VirtualCluster,
    wire::{Claim, ClusterStatus, Condition, Kind, ManagedCluster, Taint, Truth, annotation, label, taint},
};

/// One simulated cluster, as it is before it registers.
#[derive(Clone, Debug)]
pub(super) struct Spoke {
    pub(super) name: String,
    labels: BTreeMap<String, String>,
    pub(super) nodes: u32,
    version: String,
    id: String,
    /// What is scripted to go wrong there, as its annotation says it; "" when nothing is.
    faults: String,
    /// How it plays OpenShift, if it does.
    vendor: Option<Vendor>,
}

/// Whether a cluster's agents can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Online,
    Offline,
}

/// What a registration has to know besides the cluster.
#[derive(Clone, Debug)]
pub(super) struct Circumstances {
    pub(super) reach: Reach,
    pub(super) taint_offline: bool,
    /// A cluster that had registered and has been deleted since is not put back.
    pub(super) may_create: bool,
    /// The version of a cluster that plays OpenShift.
    pub(super) version: Option<Version>,
    pub(super) clock: Clock,
}

/// What came of a registration.
#[derive(Clone, Debug, Default)]
pub(super) struct Met {
    pub(super) written: bool,
    /// The version that the hub knows now.
    pub(super) version: Option<Version>,
}

impl Spoke {
    /// Returns the clusters of a fleet.
    pub(super) fn all(options: &FleetOptions) -> Vec<Self> {
        let mut dice = StdRng::seed_from_u64(options.seed);
        let names = options.names().into_iter().enumerate();
        names
            .map(|(index, name)| {
                let mut labels = options.labels.labels(index);
                labels.insert(label::CLUSTER_SET.to_owned(), options.cluster_set.clone());
                let vendor = Vendor::of(options, &name, index);
                if let Some(vendor) = &vendor {
                    labels.extend(vendor.labels(vendor.installed()));
                }
                Self {
                    vendor,
                    faults: options.faults.on_cluster(&name),
                    name,
                    labels,
                    nodes: dice.random_range(3..=9),
                    version: format!("v1.{}.{}", dice.random_range(31..=34), dice.random_range(0..=9)),
                    id: format!("{:016x}", dice.random::<u64>()),
                }
            })
            .collect()
    }

    /// Returns the cluster itself, as it is before any work: in this version of OpenShift, or in its own.
    pub(super) fn store(&self, version: Option<&Version>, now: Timestamp) -> VirtualCluster {
        let cluster = VirtualCluster::new(self.nodes);
        match &self.vendor {
            Some(vendor) => vendor.install(cluster, version, (self.nodes, now)),
            None => cluster,
        }
    }

    /// Returns the version that the hub knows of a cluster that plays OpenShift.
    fn remembered(&self, known: &ManagedCluster) -> Option<Version> {
        self.vendor.as_ref()?;
        Version::parse(known.meta.labels.get(label::OPENSHIFT_VERSION)?).ok()
    }

    /// Returns the labels that say which version a cluster has: they follow it, whatever a user has written there.
    fn version_labels(&self, case: &Circumstances) -> BTreeMap<String, String> {
        match (&self.vendor, &case.version) {
            (Some(vendor), Some(version)) => vendor.labels(version),
            (None, _) | (_, None) => BTreeMap::new(),
        }
    }

    /// Brings the hub to know this cluster as it is. What the hub knew of a cluster that it sees for the first time counts more.
    pub(super) async fn apply(&self, hub: &Hub, mut case: Circumstances) -> kube::Result<Met> {
        let Some((cluster, created)) = self.apply_cluster(hub, &mut case).await? else {
            return Ok(Met::default());
        };
        if cluster.meta.terminating {
            return Ok(Met::default());
        }
        let mut written = created;
        if case.may_create {
            written |= hub.create(Kind::Namespace, "", self.namespace()).await?.is_some();
        }
        let status = self.status(&cluster.status, &case);
        if status != cluster.status {
            hub.patch_status(Kind::ManagedCluster, &cluster.meta, json!(status))
                .await?;
            written = true;
        }
        Ok(Met {
            written,
            version: case.version,
        })
    }

    /// Brings the object to exist with accepted spec, missing labels and the right taint; returns it, and whether
    /// anything was written.
    async fn apply_cluster(
        &self,
        hub: &Hub,
        case: &mut Circumstances,
    ) -> kube::Result<Option<(ManagedCluster, bool)>> {
        let kind = Kind::ManagedCluster;
        if case.may_create
            && let Some(created) = hub.create(kind, "", self.object(case)).await?
        {
            return Ok(read(created).map(|cluster| (cluster, true)));
        }
        let found = hub.read(kind, "", &self.name).await?;
        let Some(known) = found.and_then(read) else {
            return Ok(None);
        };
        if case.may_create {
            case.version = self.remembered(&known).or_else(|| case.version.take());
        }
        let patch = self.completion(&known, case);
        if patch.is_empty() || known.meta.terminating {
            return Ok(Some((known, false)));
        }
        let patched = hub.patch(kind, &known.meta, Value::Object(patch)).await?;
        Ok(patched.and_then(read).map(|cluster| (cluster, true)))
    }

    fn object(&self, case: &Circumstances) -> Value {
        let taints = wanted_taints(&[], case);
        let mut spec = json!({"hubAcceptsClient": true, "leaseDurationSeconds": 60});
        if let (Some(fields), false) = (spec.as_object_mut(), taints.is_empty()) {
            fields.insert("taints".to_owned(), json!(taints));
        }
        let mut labels = self.labels.clone();
        labels.extend(self.version_labels(case));
        let mut metadata = json!({"name": self.name, "labels": labels});
        if let (Some(fields), false) = (metadata.as_object_mut(), self.faults.is_empty()) {
            fields.insert(
                "annotations".to_owned(),
                json!({(annotation::FAULTS): self.faults}),
            );
        }
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": metadata,
            "spec": spec,
        })
    }

    fn completion(&self, known: &ManagedCluster, case: &Circumstances) -> Map<String, Value> {
        let mut patch = Map::new();
        let lacking = self
            .labels
            .iter()
            .filter(|(key, _)| case.may_create && !known.meta.labels.contains_key(*key));
        let follow = self.version_labels(case);
        let moved = follow
            .iter()
            .filter(|(key, value)| known.meta.labels.get(*key) != Some(*value));
        let labels: BTreeMap<_, _> = lacking.chain(moved).collect();
        let mut metadata = Map::new();
        if !labels.is_empty() {
            metadata.insert("labels".to_owned(), json!(labels));
        }
        if case.may_create
            && !self.faults.is_empty()
            && !known.meta.annotations.contains_key(annotation::FAULTS)
        {
            let faults = json!({(annotation::FAULTS): self.faults});
            metadata.insert("annotations".to_owned(), faults);
        }
        let mut spec = Map::new();
        if case.may_create && !known.spec.hub_accepts_client {
            spec.insert("hubAcceptsClient".to_owned(), json!(true));
        }
        let taints = wanted_taints(&known.spec.taints, case);
        if taints != known.spec.taints {
            spec.insert("taints".to_owned(), json!(taints));
            // Taints are a plain list: written as a whole, it must not undo what another client has just written.
            metadata.insert("resourceVersion".to_owned(), json!(known.meta.resource_version));
        }
        for (key, part) in [("metadata", metadata), ("spec", spec)] {
            if !part.is_empty() {
                patch.insert(key.to_owned(), Value::Object(part));
            }
        }
        patch
    }

    fn namespace(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.name, "labels": {(label::CLUSTER_NAME): self.name}},
        })
    }

    fn status(&self, old: &ClusterStatus, case: &Circumstances) -> ClusterStatus {
        let kubernetes = case
            .version
            .as_ref()
            .map_or_else(|| self.version.clone(), vendor::kubernetes);
        let resources = |cpu: u32, memory: u32| {
            BTreeMap::from([
                ("cpu".to_owned(), json!(cpu.to_string())),
                ("memory".to_owned(), json!(format!("{memory}Gi"))),
            ])
        };
        ClusterStatus {
            conditions: conditions(old, case),
            cluster_claims: self.claims(&kubernetes, case),
            version: BTreeMap::from([("kubernetes".to_owned(), kubernetes)]),
            capacity: resources(self.nodes * 4, self.nodes * 16),
            allocatable: resources(self.nodes * 4 - 1, self.nodes * 15),
        }
    }

    fn claims(&self, kubernetes: &str, case: &Circumstances) -> Vec<Claim> {
        let text = |label: &str| {
            self.labels
                .get(label)
                .map_or("unknown", String::as_str)
                .to_owned()
        };
        let claim = |name: &str, value: String| Claim {
            name: name.to_owned(),
            value,
        };
        let mut claims = vec![
            claim("id.k8s.io", self.id.clone()),
            claim("kubeversion.open-cluster-management.io", kubernetes.to_owned()),
            claim("product.open-cluster-management.io", text(label::VENDOR)),
            claim("region.open-cluster-management.io", text("region")),
        ];
        if let (Some(vendor), Some(version)) = (&self.vendor, &case.version) {
            claims.extend(vendor.claims(version));
        }
        claims
    }
}

fn conditions(old: &ClusterStatus, case: &Circumstances) -> Vec<Condition> {
    let mut conditions = old.conditions.clone();
    let available = match case.reach {
        Reach::Online => (
            "ManagedClusterConditionAvailable",
            Truth::True,
            "ManagedClusterAvailable",
            "Managed cluster is available",
        ),
        Reach::Offline => (
            "ManagedClusterConditionAvailable",
            Truth::Unknown,
            "ManagedClusterLeaseUpdateStopped",
            "Registration agent stopped updating its lease.",
        ),
    };
    for (kind, truth, reason, message) in [
        (
            "HubAcceptedManagedCluster",
            Truth::True,
            "HubClusterAdminAccepted",
            "Accepted by hub cluster admin",
        ),
        (
            "ManagedClusterJoined",
            Truth::True,
            "ManagedClusterJoined",
            "Managed cluster joined",
        ),
        available,
    ] {
        Condition::new(kind, truth, reason, message).merge_into(&mut conditions, case.clock.now());
    }
    conditions
}

/// A cluster that cannot be read is left alone, and no error: trying again would not help.
fn read(object: DynamicObject) -> Option<ManagedCluster> {
    let read = ManagedCluster::decode(object);
    read.map_err(|error| warn!(%error, source = ?error.source(), "leaving a cluster as it is"))
        .ok()
}

fn wanted_taints(known: &[Taint], case: &Circumstances) -> Vec<Taint> {
    let mut taints: Vec<_> = known.to_vec();
    match (case.reach, case.taint_offline) {
        (_, false) => {}
        (Reach::Online, true) => taints.retain(|known| known.key != taint::UNREACHABLE),
        (Reach::Offline, true) if known.iter().any(|known| known.key == taint::UNREACHABLE) => {}
        (Reach::Offline, true) => taints.push(Taint {
            key: taint::UNREACHABLE.to_owned(),
            value: String::new(),
            effect: "NoSelect".to_owned(),
            time_added: Timestamp::from_second(case.clock.now().as_second()).ok(),
        }),
    }
    taints
}
