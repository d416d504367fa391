//! What a cluster that plays OpenShift says about itself on the hub: the labels and claims by which its identifier and its
//! version are found, as Open Cluster Management's agents and what is built on them write them.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use semver::Version;

use super::options::FleetOptions;
use crate::{
    agent::VirtualCluster,
    openshift::{OpenShift, Operator, kubernetes_of},
    wire::{Claim, label},
};

/// How a cluster plays OpenShift.
#[derive(Clone, Debug)]
pub(super) struct Vendor {
    /// `spec.clusterID`.
    id: String,
    /// The version in which it was installed.
    installed: Version,
    settings: OpenShift,
}

impl Vendor {
    /// Returns how a cluster of this name and index plays OpenShift, if it does. The same seed gives the same identifier.
    pub(super) fn of(options: &FleetOptions, name: &str, index: usize) -> Option<Self> {
        let settings = options.openshift.as_ref()?;
        let installed = settings.version_of(name)?.clone();
        let index = u64::try_from(index).unwrap_or(u64::MAX);
        let mut dice = StdRng::seed_from_u64(options.seed.rotate_left(32) ^ index);
        let (high, low) = (dice.random::<u64>(), dice.random::<u64>());
        let id = format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            low >> 52,
            low & 0xffff_ffff_ffff,
        );
        Some(Self {
            id,
            installed,
            settings: settings.clone(),
        })
    }

    /// Returns the version in which the cluster was installed.
    pub(super) fn installed(&self) -> &Version {
        &self.installed
    }

    /// Returns the cluster with OpenShift on it, in this version or in its own.
    pub(super) fn install(
        &self,
        cluster: VirtualCluster,
        version: Option<&Version>,
        (workers, now): (u32, Timestamp),
    ) -> VirtualCluster {
        let version = version.unwrap_or(&self.installed);
        let operator = Operator::new(version, workers, self.settings.times, now);
        let spec = self.settings.spec_of(&self.id, version);
        cluster.with_openshift(operator, &spec, self.settings.agent)
    }

    /// Returns the labels that say what the cluster is.
    pub(super) fn labels(&self, version: &Version) -> BTreeMap<String, String> {
        let label = |key: &str, value: String| (key.to_owned(), value);
        BTreeMap::from([
            label(label::VENDOR, "OpenShift".to_owned()),
            label("clusterID", self.id.clone()),
            label(label::OPENSHIFT_VERSION, version.to_string()),
            label("openshiftVersion-major", version.major.to_string()),
            label(
                "openshiftVersion-major-minor",
                format!("{}.{}", version.major, version.minor),
            ),
        ])
    }

    /// Returns the claims that say what the cluster is.
    pub(super) fn claims(&self, version: &Version) -> [Claim; 2] {
        let claim = |name: &str, value: String| Claim {
            name: name.to_owned(),
            value,
        };
        [
            claim("id.openshift.io", self.id.clone()),
            claim("version.openshift.io", version.to_string()),
        ]
    }
}

/// Returns the version of Kubernetes on a cluster with this version of OpenShift.
pub(super) fn kubernetes(version: &Version) -> String {
    kubernetes_of(version)
}
