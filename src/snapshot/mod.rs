//! The snapshot room: what the tide knows of the hub, in compact records, and the views and facts taken from it.
//!
//! Never awaits and never decides what should change.
#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm
)]

mod decode;
mod decode_addon;
mod decode_status;
mod decode_work;
mod digest;
mod expect;
mod facts;
mod file;
mod file_registration;
mod grants;
mod index;
mod kind;
mod mourn;
mod names;
mod publish;
mod record;
mod registration;
mod requests;
mod settings;
mod sight;
mod store;
pub mod terms;
mod troubles;
mod view;

pub use digest::{Digest, Digesting, canonical, fill_defaults};
pub use expect::Expected;
pub use facts::{AddonFacts, AddonPlacement, ByTwoNames, CreationTemplate, Facts};
pub use grants::{Grant, GrantContent, Holders, Purpose, rules_digest, token_account, token_role};
pub use kind::{ADDON_GROUP, Address, Kind, Lane, ObjectKey};
pub use names::{Name, Names};
pub use record::{
    AddOn, Applied, Cluster, Condition, Config, ConfigRef, ConfigType, Content, Creation, Decision,
    DefaultConfig, DeploymentConfig, InstallStrategy, Instance, Meta, Owner, Placement, PlacementUse,
    Progression, ProgressionReference, Reference, RolloutKind, Signal, Status, Template, Work, Workload,
};
pub use registration::{
    Identity, KUBE_CLIENT_SIGNER, Permission, Registered, Registration, Subject, agent_groups, agent_user,
    agent_user_prefix, cluster_groups,
};
pub use requests::{Asked, Request, Stage};
pub use settings::{ClusterConfigs, Settings, Vocabulary};
pub use sight::{Absence, Answer, Lookout, Seen, Sight, TypeFault, absence};
pub use store::{Event, Place, Store, Touched};
pub use view::View;
