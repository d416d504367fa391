//! What the store remembers of a `ManifestWork` of an add-on.
//!
//! Never keeps its manifests: a digest tells whether they are the right ones.

use crate::meaning::Digest;
use crate::record::{Meta, OwnerReference, Status};
use model::Name;

/// What an agent says about one work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// The condition's status.
    pub status: Status,
    /// Whether it speaks about the present generation of the work.
    pub current: bool,
    /// The condition's message.
    pub message: Name,
}

/// Feedback of one deployment or daemon set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Resource: `deployments` or `daemonsets`.
    pub resource: Name,
    /// Namespace on the cluster.
    pub namespace: Name,
    /// Name on the cluster.
    pub name: Name,
    /// How many replicas are wanted.
    pub desired: Option<i64>,
    /// How many are ready.
    pub ready: Option<i64>,
    /// Whether any feedback came at all.
    pub probed: bool,
}

/// What an agent says about a work of pre-delete hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReport {
    /// Uid of the instance that they run for, "" when the work does not say.
    pub of: Name,
    /// How many hooks there are.
    pub manifests: usize,
    /// How many of them have completed.
    pub completed: usize,
    /// What the first one that failed says, "" when none has.
    pub failure: Name,
}

/// Where the configuration hashes of a work stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashPlace {
    /// In the annotation that other programs read (`CONFIG_HASHES`).
    Usual,
    /// In another one only, or nowhere.
    Elsewhere,
}

/// A `ManifestWork` of an add-on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// Identity and revision.
    pub meta: Meta,
    /// Namespace of the work: the cluster that applies it.
    pub namespace: Name,
    /// Name of the work.
    pub name: Name,
    /// Whether it is applied on a hosting cluster for another one.
    pub hosted: bool,
    /// Whether it carries the label with the add-on's name; without it only its owner tells whose it is.
    pub labelled: bool,
    /// Its owners.
    pub owners: Box<[OwnerReference]>,
    /// Digest of what its spec means.
    pub digest: Digest,
    /// Which objects it carries: the marks of their identities one after the other (`identity.rs`).
    pub holds: Name,
    /// The configuration hashes that it carries, whatever annotation they stand in; "" when there are none.
    pub hashes: Name,
    /// Where they stand.
    pub hashes_in: HashPlace,
    /// The lifecycle mirror of the annotation, "" when it is absent.
    pub mirror: Name,
    /// The version of the add-on that it carries, "" when its label is absent.
    pub version: Name,
    /// Condition `Applied`.
    pub applied: Option<Signal>,
    /// Condition `Available`.
    pub available: Option<Signal>,
    /// First manifest that the agent could not apply, with its message; "" when there is none.
    pub failure: Name,
    /// Feedback of its workloads.
    pub workloads: Box<[Workload]>,
    /// What is said about its hooks, if it is a work of hooks.
    pub hook: Option<Box<HookReport>>,
    /// `metadata.finalizers` while it is being deleted.
    pub finalizers: Box<[Name]>,
}
