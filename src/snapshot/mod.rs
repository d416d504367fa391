//! The snapshot room: what the tide knows of the hub, in compact records, and the views and facts taken from it.
//!
//! Never awaits and never decides what should change.
#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm
)]

mod copied;
mod decode;
mod decode_addon;
mod decode_hook;
mod decode_status;
mod decode_work;
mod digest;
mod expect;
mod facts;
mod farewell;
mod file;
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
mod view;

pub use copied::{copied_digest, copied_record};
pub use digest::{Digest, Digesting, canonical, fill_defaults};
pub use expect::Expected;
pub use facts::{AddonFacts, AddonPlacement, ByTwoNames, CreationTemplate, Facts};
pub use farewell::{FailedHook, Farewell, HookTimeout, TimeoutPolicy};
pub use kind::{ADDON_GROUP, Address, Kind, ObjectKey};
pub use names::{Name, Names};
pub use pairs::Pairs;
pub use record::{
    AddOn, Applied, Cluster, Condition, Config, ConfigRef, ConfigType, Content, Creation, Decision,
    DefaultConfig, DeploymentConfig, HookReport, InstallStrategy, Instance, Lifecycle, Meta, Owner,
    Placement, PlacementUse, Progression, ProgressionReference, Reference, RolloutKind, Signal, Status,
    Template, Work, Workload,
};
pub use settings::{ClusterConfigs, DiscoveryLabels, EmptyLifecycle, Settings, Vocabulary};
pub use sight::{Absence, Answer, Lookout, Seen, Sight, TypeFault, absence};
pub use store::{Event, Place, Store, Touched};
pub use view::View;
