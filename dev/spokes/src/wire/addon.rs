//! `ManagedClusterAddOn`, as far as the agents of a cluster look at it.

use serde::Deserialize;

use super::{Condition, Record};

/// An add-on on a cluster.
pub type ManagedClusterAddOn = Record<AddOnSpec, AddOnStatus>;

/// `spec` of a `ManagedClusterAddOn`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct AddOnSpec {}

/// `status` of a `ManagedClusterAddOn`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AddOnStatus {
    /// What is said about it, by whomever.
    pub conditions: Vec<Condition>,
    /// How its health is found out.
    pub health_check: HealthCheck,
    /// The configurations that it has.
    pub config_references: Vec<ConfigType>,
    /// The types of configuration that it supports.
    pub supported_configs: Vec<ConfigType>,
}

/// `status.healthCheck` of a `ManagedClusterAddOn`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HealthCheck {
    /// `Lease` or `Customized`; empty where the add-on's manager has not said it.
    pub mode: String,
}

/// The type of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ConfigType {
    /// Its plural.
    pub resource: String,
}
