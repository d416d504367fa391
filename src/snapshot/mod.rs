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
mod decode_rollout;
mod decode_status;
mod decode_work;
mod digest;
mod expect;
mod facts;
mod farewell;
mod file;
mod file_registration;
mod grants;
mod identity;
mod index;
mod kind;
mod mourn;
mod names;
mod pairs;
mod publish;
mod record;
mod record_rollout;
mod record_work;
mod reference;
mod registration;
mod requests;
mod settings;
mod sight;
mod store;
pub mod terms;
mod troubles;
mod versions;
mod view;

pub use content::{DeploymentConfig, NodePlacement, Template};
pub use copied::{copied_digest, copied_record};
pub use digest::{Digest, Digesting, canonical, fill_defaults};
pub use expect::Expected;
pub use facts::{AddonFacts, AddonPlacement, ByTwoNames, CreationTemplate, Facts, VersionFacts};
pub use farewell::{FailedHook, Farewell, HookTimeout, TimeoutPolicy};
pub use grants::{Grant, GrantContent, Holders, Purpose, rules_digest, token_account, token_role};
pub use identity::{Identity, Mark, marks};
pub use kind::{ADDON_GROUP, Address, Kind, Lane, ObjectKey};
pub use names::{Name, Names};
pub use pairs::Pairs;
pub use record::{
    AddOn, Applied, Cluster, Condition, Config, ConfigRef, ConfigType, Content, Creation, Decision,
    DefaultConfig, HookReport, InstallStrategy, Instance, Lifecycle, Meta, Owner, Placement, PlacementUse,
    Reference, Signal, Status, Work, Workload,
};
pub use record_rollout::{Paused, Progression, ProgressionReference};
pub use registration::{
    AgentIdentity, KUBE_CLIENT_SIGNER, Permission, Registered, Registration, Subject, agent_groups,
    agent_user, agent_user_prefix, cluster_groups,
};
pub use requests::{Asked, Request, Stage};
pub use settings::{ClusterConfigs, DiscoveryLabels, EmptyLifecycle, Settings, Vocabulary};
pub use sight::{Absence, Answer, Lookout, Seen, Sight, TypeFault, absence};
pub use store::{Event, Place, Store, Touched};
pub use versions::{MOST_VERSIONS, Oddity, Offer, Versions};
pub use view::View;
