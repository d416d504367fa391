//! Labels and annotations of the works of an upgrade, and those that users set on an upgrade.

use api::hash::SpecHash;
use serde_json::json;

/// Label of a work: the uid of the upgrade that it belongs to.
pub const UID: &str = "cluster.open-cluster-management.io/mcu-uid";
/// Label of a work: its stage, `pre`, `platform`, `operators` or `post`.
pub const STAGE: &str = "cluster.open-cluster-management.io/mcu-stage";
/// Annotation of a work: namespace and name of its upgrade.
pub const OWNER: &str = "cluster.open-cluster-management.io/mcu";
/// Annotation of a work: the run of the upgrade and the attempt at the cluster in which it was written.
pub const RUN: &str = "cluster.open-cluster-management.io/mcu-run";
/// Annotation of an upgrade: each new value retries the failed clusters once.
pub const RETRY: &str = api::names::annotations::UPGRADE_RETRY;
/// Finalizer of an upgrade: kept until its works are deleted.
pub const FINALIZER: &str = "cluster.open-cluster-management.io/mcu-works";

/// What a work is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The action before the upgrade.
    Pre,
    /// The cluster itself.
    Platform,
    /// Its operators.
    Operators,
    /// The action after the upgrade.
    Post,
}

impl Stage {
    /// All of them, in the order of an upgrade.
    pub const ALL: [Self; 4] = [Self::Pre, Self::Platform, Self::Operators, Self::Post];

    /// Returns the value of the label [`STAGE`].
    pub fn word(self) -> &'static str {
        match self {
            Self::Pre => "pre",
            Self::Platform => "platform",
            Self::Operators => "operators",
            Self::Post => "post",
        }
    }

    /// Returns the stage of such a word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.word() == word)
    }

    /// Returns the name of the work on a cluster. The works of the upgrade itself have the same name for every upgrade: the
    /// upgrade that creates one has the cluster. Those of actions are named after their upgrade.
    pub fn work(self, cluster: &str, upgrade: &str) -> String {
        match self {
            Self::Pre => format!("{}-pre-upgrade", shortened(upgrade)),
            Self::Platform => format!("{cluster}-cluster-upgrade"),
            Self::Operators => format!("{cluster}-operators-upgrade"),
            Self::Post => format!("{}-post-upgrade", shortened(upgrade)),
        }
    }
}

/// The agent puts a hash before the name of a work, and the whole is the name of an object.
const LONGEST: usize = 63;
const KEPT: usize = 50;

fn shortened(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let kept: String = name.chars().take(KEPT).collect();
    let kept = kept.trim_end_matches(['-', '.']);
    let hash = SpecHash::of(&json!({"spec": {"name": name}})).to_string();
    let hash: String = hash.chars().take(8).collect();
    format!("{kept}-{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_are_named_after_the_cluster_or_the_upgrade() {
        assert_eq!(Stage::Platform.work("spoke1", "mcu"), "spoke1-cluster-upgrade");
        assert_eq!(Stage::Operators.work("spoke1", "mcu"), "spoke1-operators-upgrade");
        assert_eq!(Stage::Pre.work("spoke1", "mcu"), "mcu-pre-upgrade");
        assert_eq!(Stage::Post.work("spoke1", "mcu"), "mcu-post-upgrade");
    }

    #[test]
    fn long_names_stay_apart() {
        let (one, other) = ("a".repeat(200), format!("{}b", "a".repeat(199)));
        let (one, other) = (Stage::Pre.work("c", &one), Stage::Pre.work("c", &other));
        assert_ne!(one, other);
        assert!(one.len() < 80, "{one}");
    }
}
