//! Watches in, plans out to the hub.
//!
//! Decides nothing about add-ons; `plan` does. `runtime` drives owners of any kind, `addon` says what is to be done for add-ons, and
//! `election` keeps the Lease of the replica that may write. `auditor` reports what is wrong with stored objects.

mod addon;
mod auditor;
mod certificate;
mod checks;
mod config_watch;
mod election;
mod existence;
mod gate_certificate;
mod http_endpoint;
mod lens;
mod notifier;
mod policies;
mod record_keys;
mod runtime;
mod sign;
mod tide;
mod upgrade;
mod webhook_watch;

pub use auditor::{AuditOptions, AuditPace, Auditor, Reports, Sightings, WatchTap, tap};
pub use checks::CheckEndpoint;
pub use election::{ElectionOptions, Pace, StockLease, identity};
pub use existence::{ask, is_allowed};
pub use gate_certificate::{CertificateKeeper, CertificateOptions, SecretFollower, SecretState};
pub use http_endpoint::{HttpEndpoint, HttpUrl};
pub use lens::{Lens, Look};
pub use notifier::{Notifier, NotifierOptions};
pub use policies::{PolicyDocuments, PolicyTells, PolicyWatch};
pub use record_keys::{KeyFollower, KeySecret, KeyState, SharedKeys, own_keys, secret_keys};
pub use runtime::event_budget::EventBudget;
pub use runtime::event_recorder::EventRecorder;
pub use runtime::pages::{one, pages};
pub use runtime::raw::resource;
pub use runtime::viewers::Viewer;
pub use tide::{Part, Progress, StartError, Tide, TideOptions};
pub use webhook_watch::watch_webhooks;
