//! What was collected of a hub.
//!
//! Holds values, and whether each could be read at all. Decides nothing.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::calls::Account;
use super::rights::{Judged, Right};
use kubernetes::field::Listing;

/// The result of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reading<T> {
    /// It was not asked: the check does not concern this hub, or this moment.
    #[default]
    NotAsked,
    /// It was read.
    Seen(T),
    /// It could not be read, for this reason.
    Refused(String),
}

/// When the hub is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// While the program should be at work.
    #[default]
    Running,
    /// Before it starts: that no gate answers and no replica leads yet is no fault.
    BeforeStart,
}

/// Which kinds a hub serves: resources (plural) by `group/version`; the core group has no group.
pub type Served = BTreeMap<String, BTreeSet<String>>;

/// The time, here and on the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dates {
    /// What the hub says.
    pub hub: Timestamp,
    /// What this machine says, at the middle of the question.
    pub here: Timestamp,
}

/// The Lease by which replicas elect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Election {
    /// `namespace/name`.
    pub place: String,
    /// The Lease, if there is one.
    pub lease: Option<Value>,
    /// Whether the user has named it, so that replicas are known to elect by it.
    pub named: bool,
    /// Whether it was written while it was looked at: clocks prove nothing, and this does.
    pub renewed: bool,
}

/// All webhook configurations of a hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebhookLists {
    /// Those that may change objects.
    pub mutating: Vec<Value>,
    /// Those that may refuse them.
    pub validating: Vec<Value>,
}

/// The certificate that answers at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownCertificate {
    /// From where it was read: an address, or a file.
    pub from: String,
    /// Since when it holds.
    pub not_before: Timestamp,
    /// Until when it holds.
    pub not_after: Timestamp,
    /// Whether the API server could accept it.
    pub trust: Trust,
}

/// Whether a client that trusts the authorities of the webhook configurations accepts a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It does, for this name.
    Yes(String),
    /// It does not, for this reason.
    No(String),
    /// It cannot be told: there is no authority to judge by.
    Unknown,
}

/// What came back for an object that was created with dryRun=All.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// It would have been stored.
    Stored,
    /// It was refused: the HTTP status and the words.
    Refused(u16, String),
}

/// The objects on the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fleet {
    /// How much of a list the findings name.
    pub listing: Listing,
    /// `ManagedCluster`s.
    pub clusters: Reading<Vec<Value>>,
    /// `Placement`s.
    pub placements: Reading<Vec<Value>>,
    /// `PlacementDecision`s.
    pub decisions: Reading<Vec<Value>>,
    /// `ClusterManagementAddOn`s.
    pub addons: Reading<Vec<Value>>,
    /// `AddOnRollout`s, which have the conditions of add-ons where OCM's definitions keep none.
    pub rollouts: Reading<Vec<Value>>,
    /// `ManagedClustersUpgrade`s.
    pub upgrades: Reading<Vec<Value>>,
    /// `ManagedClusterAddOn`s.
    pub instances: Reading<Vec<Value>>,
    /// `ManifestWork`s of add-ons, without their specs.
    pub works: Reading<Vec<Value>>,
    /// `AddOnPolicy` objects.
    pub policies: Reading<Vec<Value>>,
    /// Objects that cannot be read: each with the reason, and the command that shows it.
    pub malformed: Reading<Vec<(String, String)>>,
}

/// How far the shipped accounts are confined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// The namespace of the accounts.
    pub namespace: String,
    /// Rights that an account has and has no need of, of those that are reserved for the account of the certificates.
    pub excess: Vec<(Account, Right)>,
    /// Whether the webhook and the controllers are installed as one process.
    pub is_one_process: bool,
    /// Whether roles let the controllers create tokens outside of namespaces of clusters.
    pub is_bound_everywhere: bool,
    /// The policy that confines them to namespaces of clusters, if there is one.
    pub policy: Option<Value>,
    /// The binding of that policy, if there is one.
    pub policy_binding: Option<Value>,
}

/// The Secret of the keys of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySecret {
    /// `namespace/name`.
    pub place: String,
    /// How many keys it has, or what is wrong with one; absent where there is no such Secret.
    pub keys: Option<Result<usize, String>>,
}

/// The policies that the API server evaluates itself, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackstopObjects {
    /// ValidatingAdmissionPolicies.
    pub policies: BTreeMap<String, Value>,
    /// ValidatingAdmissionPolicyBindings.
    pub bindings: BTreeMap<String, Value>,
}

/// All facts of a hub.
#[derive(Clone, Debug, Default)]
pub struct HubFacts {
    /// When it is looked at.
    pub stage: Stage,
    /// Major and minor version, and the whole name of the version.
    pub kubernetes: Reading<(String, String, String)>,
    /// The time.
    pub dates: Reading<Dates>,
    /// Which kinds are served.
    pub served: Reading<Served>,
    /// Definitions by name; those that are not there are absent.
    pub definitions: Reading<BTreeMap<String, Value>>,
    /// Whether objects of a kind can be read in a version that is converted; by `resource.version`, the error if not.
    pub converted: BTreeMap<String, Reading<()>>,
    /// `ClusterManager`s of OCM's operator.
    pub managers: Reading<Vec<Value>>,
    /// The Lease of OCM's add-on manager.
    pub stock: Reading<Election>,
    /// The Lease by which Tidegate's replicas elect.
    pub election: Reading<Election>,
    /// The webhook configurations.
    pub webhooks: Reading<WebhookLists>,
    /// The backstop, where webhooks are registered.
    pub backstop: Reading<BackstopObjects>,
    /// The certificates of the gate, by where they were looked for.
    pub certificates: BTreeMap<String, Reading<ShownCertificate>>,
    /// What the question through the API server came back with.
    pub answer: Reading<Answered>,
    /// What a sound object came back with.
    pub passage: Reading<Answered>,
    /// Who the rights are those of.
    pub account: String,
    /// The rights that are needed, and whether they are given.
    pub rights: Reading<Vec<Judged>>,
    /// How far the shipped accounts are confined.
    pub confinement: Reading<Confinement>,
    /// The keys of records, where Tidegate is installed with its accounts.
    pub record_keys: Reading<KeySecret>,
    /// The objects on the hub.
    pub fleet: Fleet,
}
