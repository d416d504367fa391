//! What admission may ask about the fleet: an immutable picture, cheap to share and to replace in parts.
//!
//! Never decides whether an object is right: a fact may be missing or late, and every rule says what it does then.

mod addon;
mod cluster;
mod completeness;
mod config;
mod confirmed;
mod fleet;
mod namespace;
mod peers;
mod placement;
mod rights;
mod sharded_map;

pub use addon::{AddonFacts, AddonPlacement, CreationTemplate, VersionFacts};
pub use cluster::ClusterFacts;
pub use completeness::Completeness;
pub use config::{ConfigFacts, ConfigPresence, config_key};
pub use confirmed::{Confirmed, LiveFact, Word};
pub use fleet::{ByTwoNames, Facts};
pub use namespace::{NAMESPACE_NAME, NamespaceFacts};
pub use peers::{PeerFacts, PeerInstance};
pub use placement::{GroupFacts, PlacementFacts};
pub use rights::{Rights, UserRight};
pub use sharded_map::ShardedMap;

pub(super) use peers::Peer;
