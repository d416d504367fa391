//! Simulated clusters for a hub, over the ordinary API only: they register, a scheduler gives them to placements, and
//! a work agent per cluster applies its `ManifestWorks` to a store that exists in memory only. Faults can be scripted.
//! Nothing here knows the add-on controllers or the dev hub: any hub with the right CRDs will do.

#![expect(
    clippy::disallowed_methods,
    clippy::wildcard_enum_match_arm,
    reason = "simulated clusters have a clock, files and tasks; what they decide is in modules that deny this"
)]

pub mod agent;
pub mod fault;
mod fleet;
pub mod neighbour;
mod openshift;
mod pattern;
mod replicas;
pub mod schedule;
pub mod wire;

pub use fault::{Fault, FaultRule, FaultTextError, Faults, JobFault, Jobs, UpgradeFault};
pub use fleet::{Counters, Fleet, FleetError, FleetOptions, LabelPattern};
pub use openshift::{AgentRights, ApproverTime, OpenShift, OpenShiftTextError, Times};
pub use pattern::Pattern;

/// Annotation on a `ManagedCluster` that a fleet simulates: what goes wrong there, one fault a line and without the name of the cluster.
/// The fleet follows it while it runs.
pub const FAULTS_ANNOTATION: &str = "simulated-cluster/faults";
