//! What a neighbour is like: its add-on, the generation of its framework, its types of configuration.
//!
//! Decides whom it takes for the manager of its add-on.

use serde_json::Value;

/// Which releases of addon-framework a neighbour was made with, as far as they differ in what they write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// 0.7 and 0.8: an absent lifecycle annotation means that the add-on manages itself.
    Old,
    /// 0.10 to 1.3: whatever stands there, another program manages it; exactly `self` is turned into an empty value.
    New,
}

/// A type of configuration that the add-on supports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigKind {
    /// Its API group.
    pub group: String,
    /// The version that is read.
    pub version: String,
    /// Its kind.
    pub kind: String,
    /// Its plural.
    pub resource: String,
}

impl ConfigKind {
    /// Returns the type of an AddOnDeploymentConfig.
    pub fn deployment_config() -> Self {
        let [group, version, kind, resource] = [
            "addon.open-cluster-management.io",
            "v1alpha1",
            "AddOnDeploymentConfig",
            "addondeploymentconfigs",
        ]
        .map(str::to_owned);
        Self {
            group,
            version,
            kind,
            resource,
        }
    }
}

/// The program of one third-party add-on.
#[derive(Clone, Debug)]
pub struct Framework {
    /// The add-on that it has.
    pub addon: String,
    /// What it was made with.
    pub generation: Generation,
    /// The types that it supports, and whose hashes it fills in.
    pub types: Vec<ConfigKind>,
    /// Whether it finds the health out itself (`Customized`), or leaves it to the agents' Leases.
    pub is_customized: bool,
    /// Whether it waits for `Configured` before it deploys.
    pub waits_for_configured: bool,
    /// The hash of an object's configuration, as all programs on a hub compute it.
    pub hash: fn(&Value) -> String,
}

impl Framework {
    /// Returns a program that supports AddOnDeploymentConfigs and finds health out itself.
    pub fn new(addon: &str, generation: Generation, hash: fn(&Value) -> String) -> Self {
        Self {
            addon: addon.to_owned(),
            generation,
            types: vec![ConfigKind::deployment_config()],
            is_customized: true,
            waits_for_configured: false,
            hash,
        }
    }

    /// Returns whether the program takes the manager's part for its own, by the lifecycle annotation of the add-on. No neighbour here
    /// plays that part.
    pub fn manages_itself(&self, lifecycle: Option<&str>) -> bool {
        match (self.generation, lifecycle) {
            (Generation::Old, None) | (_, Some("self")) => true,
            (Generation::New, None) | (_, Some(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_generations_keep_values_of_other_clients() {
        let of = |generation| Framework::new("hello", generation, |_| String::new());
        let rows = [
            (None, true, false),
            (Some("self"), true, true),
            (Some("addon-manager"), false, false),
            (Some("tidegate"), false, false),
            (Some(""), false, false),
        ];
        for (lifecycle, old, new) in rows {
            assert_eq!(
                of(Generation::Old).manages_itself(lifecycle),
                old,
                "{lifecycle:?}"
            );
            assert_eq!(
                of(Generation::New).manages_itself(lifecycle),
                new,
                "{lifecycle:?}"
            );
        }
    }
}
