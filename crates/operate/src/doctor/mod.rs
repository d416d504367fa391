//! What is wrong with a hub for Tidegate, and what to do about it.
//!
//! Decides findings out of facts that its caller has collected: each with an id, a severity, what was seen, a fix and a
//! command. Never calls a hub, never changes one. A check that could not be completed is reported as unknown.

pub mod calls;
mod checks;
mod facts;
mod finding;
mod malformed;
mod needed;
mod page;
mod rights;
mod webhooks;

pub use checks::examine;
pub use facts::{
    Answered, BackstopObjects, Confinement, Dates, Election, Fleet, HubFacts, KeySecret, Reading, Served,
    ShownCertificate, Stage, Trust, WebhookLists,
};
pub use finding::{Finding, Report, Severity};
pub use malformed::malformed;
pub use needed::{Controllers, Part, Runs, needed};
pub use page::{Colours, DoctorFinding, DoctorReport, doctor_report, text};
pub use rights::{Judged, Right};
pub use webhooks::{Endpoint, WebhookFault, endpoints, webhook_faults};
