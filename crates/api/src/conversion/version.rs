//! The two versions, and the kinds that have them.
//!
//! Decides nothing.

use serde_json::Value;

use crate::v1alpha1::GROUP;

/// A version of the group of add-ons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// What hubs store.
    V1alpha1,
    /// What clients of current Open Cluster Management speak.
    V1beta1,
}

/// Whether a hub's definitions of `v1beta1` have Tidegate's own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extensions {
    /// They have not: such a field is kept in an annotation. Open Cluster Management's definitions.
    Kept,
    /// They have, in the same place as `v1alpha1`: `tidegate dev`'s definitions.
    Served,
}

/// The kinds that have both versions, with their resources.
pub const KINDS: [(&str, &str); 4] = [
    ("AddOnDeploymentConfig", "addondeploymentconfigs"),
    ("AddOnTemplate", "addontemplates"),
    ("ClusterManagementAddOn", "clustermanagementaddons"),
    ("ManagedClusterAddOn", "managedclusteraddons"),
];

impl Version {
    /// Both.
    pub const EVERY: [Self; 2] = [Self::V1alpha1, Self::V1beta1];

    /// Returns its name, as `v1beta1`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1alpha1 => "v1alpha1",
            Self::V1beta1 => "v1beta1",
        }
    }

    /// Returns `group/version`, as manifests spell it.
    pub fn api_version(self) -> String {
        format!("{GROUP}/{}", self.name())
    }

    /// Returns the other one.
    pub(super) const fn other(self) -> Self {
        match self {
            Self::V1alpha1 => Self::V1beta1,
            Self::V1beta1 => Self::V1alpha1,
        }
    }

    /// Reads `group/version`.
    pub fn parse(api_version: &str) -> Option<Self> {
        let name = api_version.strip_prefix(GROUP)?.strip_prefix('/')?;
        [Self::V1alpha1, Self::V1beta1]
            .into_iter()
            .find(|one| one.name() == name)
    }

    /// Returns the version of an object of a kind that has both.
    pub fn of(object: &Value) -> Option<Self> {
        let kind = object.get("kind")?.as_str()?;
        let version = Self::parse(object.get("apiVersion")?.as_str()?)?;
        KINDS.iter().any(|(known, _)| *known == kind).then_some(version)
    }

    /// The annotation of an object of the other version for what only this one can hold.
    pub const fn kept_in(self) -> &'static str {
        match self {
            Self::V1alpha1 => "tidegate.io/v1alpha1-only",
            Self::V1beta1 => "tidegate.io/v1beta1-only",
        }
    }
}
