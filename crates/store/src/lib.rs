//! What the controllers know of a hub, in compact records, and the views and facts taken from it. Never
//! awaits and never decides what should change.

mod changes;
mod content;
mod copied;
mod decode;
mod events;
mod facts;
mod facts_builder;
mod foreign_configs;
mod identity;
mod kind;
mod kinds;
mod meaning;

mod names;
mod parts;
mod record;
mod registration;
mod rejected_writes;
mod removal;
pub mod set_by;
mod settings;
mod store;
pub mod terms;
mod tombstones;
pub mod upgrade;
mod versions;
mod view;

pub use content::{DeploymentConfig, NodePlacement, Template};
pub use copied::*;
pub use decode::claims::trim_owners;
pub use decode::edits::{freeze_set_by, has_owners, kept_editors};
pub use events::Event;
pub use facts::*;
pub use identity::{Identity, IdentityHash, marks};
pub use kind::{ADDON_GROUP, Address, Kind, ObjectKey, Owner, Place, Read, Sent, Touched, Write, WriteQueue};
pub use meaning::*;
pub use model::{Name, order};
pub use names::{LabelMap, Names};
pub use parts::{
    Absence, Arrived, ConfigLookup, ConfigState, ConfigWatchList, Expected, Headway, ObservedConfig,
    RemovalBudget, Standing, Tally, TypeFault, absence,
};
pub use record::*;
pub use registration::*;
pub use removal::{Absences, FailedHook, Farewell, HookTimeout, Pace, TimeoutPolicy, Unreadable};
pub use settings::*;
pub use store::Store;
pub use versions::{MOST_VERSIONS, Oddity, Offer, Versions};
pub use view::{Scope, Site, View};
