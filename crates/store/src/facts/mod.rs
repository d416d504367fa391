//! What admission may ask about the fleet: an immutable picture, cheap to share and to replace in parts.
//!
//! Never decides whether an object is right: a fact may be missing or late, and every rule says what it does then.

mod addon;
mod cluster;
mod confirmed;
mod fleet;
mod objects;
mod peers;
mod sharded_map;

pub use addon::{AddonFacts, AddonPlacement, CreationTemplate, VersionFacts};
pub use cluster::ClusterFacts;
pub use confirmed::{Completeness, Confirmed, LiveFact, Word};
pub use fleet::{ByTwoNames, Facts, ProfileFacts};
pub use objects::{
    ConfigFacts, ConfigPresence, GroupFacts, NAMESPACE_NAME, NamespaceFacts, PlacementFacts, Rights,
    UserRight, config_key,
};
pub use peers::{PeerFacts, PeerInstance};
pub use sharded_map::ShardedMap;

pub(super) use peers::Peer;
