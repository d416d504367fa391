//! The auditor: judges what is stored already, and reports it where reports are served.
//!
//! `watch_tap` hears what the watches show, `judge_loop` decides what to judge and when, `fetch` reads objects again, `standing_reports` knows which
//! reports stand and which should, `report_watch` follows the kinds of reports, `apply` writes them, `compliance_events` tells of objects that have
//! begun or ceased to be at fault. What is wrong with an object is
//! decided by the package `audit`.

mod apply;
mod compliance_events;
mod fetch;
mod judge_loop;
mod report_watch;
mod standing_reports;
mod start;
mod watch_tap;

pub use start::{AuditOptions, AuditPace, Auditor, Reports};
pub use watch_tap::{Sightings, WatchTap, tap};
