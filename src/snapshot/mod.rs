//! The snapshot room: what the tide knows of the hub, in compact records, and the views and facts taken from it.
//!
//! Never awaits and never decides what should change.
#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm
)]

mod content;
mod copied;
mod decode;
mod decode_addon;
mod decode_content;
mod decode_hook;
mod decode_status;
mod decode_work;
mod digest;
mod expect;
mod facts;
mod farewell;
mod file;
mod identity;
mod index;
mod kind;
mod mourn;
mod names;
mod pairs;
mod publish;
mod record;
mod record_work;
mod settings;
mod sight;
mod store;
pub mod terms;
mod versions;
mod view;

pub use content::{DeploymentConfig, NodePlacement, Template};
pub use copied::{copied_digest, copied_record};
pub use digest::{Digest, Digesting, canonical, fill_defaults};
pub use expect::Expected;
pub use facts::{AddonFacts, AddonPlacement, ByTwoNames, CreationTemplate, Facts, VersionFacts};
pub use farewell::{FailedHook, Farewell, HookTimeout, TimeoutPolicy};
pub use identity::{Identity, Mark, marks};
pub use kind::{ADDON_GROUP, Address, Kind, ObjectKey};
pub use names::{Name, Names};
pub use pairs::Pairs;
pub use record::{
    AddOn, Applied, Cluster, Condition, Config, ConfigRef, ConfigType, Content, Creation, Decision,
    DefaultConfig, HookReport, InstallStrategy, Instance, Lifecycle, Meta, Owner, Placement, PlacementUse,
    Progression, ProgressionReference, Reference, RolloutKind, Signal, Status, Work, Workload,
};
pub use settings::{ClusterConfigs, DiscoveryLabels, EmptyLifecycle, Settings, Vocabulary};
pub use sight::{Absence, Answer, Lookout, Seen, Sight, TypeFault, absence};
pub use store::{Event, Place, Store, Touched};
pub use versions::{MOST_VERSIONS, Oddity, Offer, Versions};
pub use view::View;
