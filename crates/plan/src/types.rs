//! The types of a plan: writes with their preconditions, and what the plan waits for. The planner returns them; the controllers apply
//! them.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::change_event::Note;
use super::notification::Notification;
use super::registration::CertificateDecision;
use api::reason::Reason;
use model::Approval;
use store::{ConfigRef, ConfigType, Meta, Name, ObjectKey};

/// The next writes for one add-on, and what it is waiting for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "a plan does nothing until it is applied"]
pub struct Plan {
    /// Writes; those of one namespace in the order in which they must happen.
    pub actions: Vec<Action>,
    /// What the rest waits for.
    pub waits: Vec<Wait>,
    /// Objects that the hub has rejected and that are still needed, although this plan need not write them: the hub's messages are
    /// kept.
    pub postponed: Vec<ObjectKey>,
    /// When to plan again although no event occurs.
    pub recheck_at: Option<Timestamp>,
}

impl Plan {
    /// Returns the objects that it writes, or would if the hub took them.
    pub fn objects(&self) -> BTreeSet<&ObjectKey> {
        self.actions
            .iter()
            .map(Action::object)
            .chain(&self.postponed)
            .collect()
    }
}

/// The revision that a write was planned from; a write on another revision must fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// `metadata.uid`
    pub uid: Name,
    /// `metadata.resourceVersion`
    pub version: Name,
}

impl From<&Meta> for Revision {
    fn from(meta: &Meta) -> Self {
        Self {
            uid: meta.uid.clone(),
            version: meta.version.clone(),
        }
    }
}

/// What a write sends: a JSON value as its shortest text. A plan for a fleet holds one for each write until it is its turn, and
/// as a tree of maps each would take about ten times as much memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload(Box<str>);

impl Payload {
    /// Returns the payload of an object with one more member, of which only the text is known. A tree of it would take as long to
    /// make as the rest of a plan.
    pub(crate) fn with_member(object: &Value, name: &str, text: &str) -> Self {
        let object = object.to_string();
        let begun = object.strip_suffix('}').unwrap_or(&object);
        let comma = if begun.ends_with('{') { "" } else { "," };
        Self(format!("{begun}{comma}\"{name}\":{text}}}").into_boxed_str())
    }

    /// Returns the merge patch of a status.
    pub(crate) fn of_status(status: Map<String, Value>) -> Self {
        Value::Object(Map::from_iter([("status".to_owned(), Value::Object(status))])).into()
    }

    /// Returns its text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns the value, made again.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).expect("a payload is made from a value")
    }
}

impl From<Value> for Payload {
    fn from(value: Value) -> Self {
        Self(value.to_string().into_boxed_str())
    }
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// One write, with the precondition under which it is right and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Create an object.
    Create {
        /// Which object.
        object: ObjectKey,
        /// The whole object.
        body: Payload,
        /// The reason.
        why: &'static str,
    },
    /// Replace the fields that we own; a JSON merge patch leaves those of others alone.
    Replace {
        /// Which object.
        object: ObjectKey,
        /// The revision it was planned from.
        before: Revision,
        /// The merge patch.
        patch: Payload,
        /// The reason.
        why: &'static str,
    },
    /// Write parts of the status.
    Status {
        /// Which object.
        object: ObjectKey,
        /// The revision it was planned from.
        before: Revision,
        /// The merge patch, under the key `status`.
        patch: Payload,
        /// The events, when the state changes.
        notes: Vec<Note>,
        /// What receivers outside of the hub are sent.
        notifications: Vec<Notification>,
    },
    /// Delete an object.
    Delete {
        /// Which object.
        object: ObjectKey,
        /// The revision it was planned from.
        before: Revision,
        /// The reason.
        why: &'static str,
    },
    /// Answer a certificate signing request.
    Certify {
        /// Which request.
        object: ObjectKey,
        /// The revision it was planned from.
        before: Revision,
        /// The answer.
        answer: CertificateDecision,
    },
}

impl Action {
    /// Returns the object that the action writes.
    pub fn object(&self) -> &ObjectKey {
        match self {
            Self::Create { object, .. }
            | Self::Replace { object, .. }
            | Self::Status { object, .. }
            | Self::Delete { object, .. }
            | Self::Certify { object, .. } => object,
        }
    }
}

impl Action {
    /// Returns the revision that the action was planned from; a creation has none.
    pub fn before_mut(&mut self) -> Option<&mut Revision> {
        match self {
            Self::Create { .. } => None,
            Self::Replace { before, .. }
            | Self::Status { before, .. }
            | Self::Delete { before, .. }
            | Self::Certify { before, .. } => Some(before),
        }
    }
}

/// Something that holds a part of the plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait {
    /// The cluster, absent when the whole add-on is concerned.
    pub cluster: Option<Name>,
    /// What is waited for.
    pub on: WaitOn,
}

/// Why a rollout holds a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// The whole sentence.
    pub message: Name,
    /// The reason of the condition `Configured`.
    pub reason: Reason,
    /// What it is about.
    pub about: TurnSubject,
}

/// What a rollout that holds a cluster waits for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TurnSubject {
    /// The add-on as a whole.
    AddOn,
    /// The rollout over a placement.
    Placement(Name, Name),
    /// The approval that is missing.
    Approval(Approval),
    /// The first of the add-ons that have to run before.
    Dependency(Name),
    /// A configuration whose content is no longer on the hub.
    Config(ConfigRef),
}

/// What can hold a part of a plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitOn {
    /// A placement of the install strategy does not exist.
    Placement(Name, Name),
    /// A placement exists, but has no complete PlacementDecision yet.
    Decision(Name, Name),
    /// A cluster has no `ManagedCluster`.
    Cluster,
    /// A cluster that is being deleted gets nothing new.
    ClusterDeletion,
    /// An instance is being deleted and will be created again.
    Deletion,
    /// A configuration has no usable object.
    Config(ConfigRef, String),
    /// A version that no template offers.
    Version(String),
    /// A template that offers no version although it has the label.
    Template(String),
    /// A type of configuration that the add-on does not support.
    UnsupportedType(ConfigType),
    /// The rollout: a free slot, the end of a pause, or a valid strategy.
    Rollout(Turn),
    /// An install strategy that this version does not support.
    InstallStrategy(Name),
    /// An invalid label selector.
    LabelSelector(Name),
    /// The install strategy follows labels, but has no selector.
    NoLabelSelector,
    /// A cluster that the hub has not accepted.
    Acceptance,
    /// A selected cluster that has opted out.
    OptedOut,
    /// Nothing selects the cluster, and the add-on is kept: this field manager applies it.
    Adopted(Name),
    /// Nothing selects the cluster any more; the add-on is removed at this time.
    Grace(Timestamp),
    /// The limit of removals per minute is reached: the limit, and when the next removal is allowed.
    RemovalBudget(usize, Timestamp),
    /// A reason for a removal that cannot be read again: which object, and what the hub answers.
    Reason(ObjectKey, Name),
    /// A placement of the strategy that does not exist or has no complete PlacementDecision: it may select the cluster.
    MaySelect(Name, Name),
    /// Absences that are not confirmed: how many, and of how many clusters with add-ons.
    Absences(usize, usize),
    /// The assigned content has been edited and is no longer on the hub.
    Content(ConfigRef),
    /// The agent on the cluster.
    Agent(String),
    /// The works cannot be rendered; the agent has nothing to do.
    Rendering(String),
    /// The pre-delete hooks of an instance that is being deleted.
    Hook(String),
    /// The hub refuses to create the instance: its message.
    Creation(Name),
    /// The name of the add-on is too long for the label by which clusters tell that they have it.
    Label,
}

impl WaitOn {
    /// Returns whether an instance would go and is held.
    pub fn is_held_removal(&self) -> bool {
        matches!(
            self,
            Self::RemovalBudget(..) | Self::Reason(..) | Self::MaySelect(..) | Self::Absences(..)
        )
    }
}

impl Wait {
    /// Returns a wait of the whole add-on.
    pub fn addon(on: WaitOn) -> Self {
        Self { cluster: None, on }
    }

    /// Returns a wait of one cluster.
    pub fn cluster(cluster: &Name, on: WaitOn) -> Self {
        Self {
            cluster: Some(cluster.clone()),
            on,
        }
    }
}

impl std::fmt::Display for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(cluster) = &self.cluster {
            write!(f, "{cluster}: ")?;
        }
        match &self.on {
            WaitOn::Placement(namespace, name) => write!(f, "placement {namespace}/{name} does not exist"),
            WaitOn::Decision(namespace, name) => write!(
                f,
                "placement {namespace}/{name} has no complete PlacementDecision yet"
            ),
            WaitOn::Cluster => write!(f, "the ManagedCluster does not exist"),
            WaitOn::ClusterDeletion => write!(f, "the ManagedCluster is being deleted"),
            WaitOn::Deletion => write!(f, "the add-on is still being deleted"),
            WaitOn::Config(config, why) => write!(f, "configuration {} {why}", config.told()),
            WaitOn::Version(why) | WaitOn::Template(why) => f.write_str(why),
            WaitOn::UnsupportedType(of) => {
                write!(f, "the add-on does not support configurations of type {of}")
            }
            WaitOn::Rollout(turn) => f.write_str(&turn.message),
            WaitOn::InstallStrategy(kind) => {
                write!(f, "install strategy {kind} is not supported by this version")
            }
            WaitOn::LabelSelector(why) => {
                write!(
                    f,
                    "the label selector is invalid, so nothing is installed or removed: {why}"
                )
            }
            WaitOn::NoLabelSelector => write!(f, "there is no label selector, so no cluster is selected"),
            WaitOn::Acceptance => write!(f, "the hub has not accepted the cluster"),
            WaitOn::OptedOut => write!(f, "the cluster has opted out"),
            WaitOn::Adopted(manager) => f.write_str(&adopted(manager)),
            WaitOn::Grace(due) => {
                write!(
                    f,
                    "nothing selects the cluster any more; the add-on is removed at {due}"
                )
            }
            WaitOn::RemovalBudget(limit, more_at) => f.write_str(&over_budget(*limit, *more_at)),
            WaitOn::Reason(object, why) => f.write_str(&unread(object, why)),
            WaitOn::MaySelect(namespace, name) => f.write_str(&unknown(namespace, name)),
            WaitOn::Absences(absent, all) => write!(
                f,
                "the ManagedCluster does not exist, but its deletion was not observed (as for {absent} of {all} clusters with add-ons); \
                 the add-on is kept"
            ),
            WaitOn::Content(config) => {
                write!(
                    f,
                    "the assigned content of {} is no longer on the hub; the works are not changed",
                    config.told()
                )
            }
            WaitOn::Agent(why) => write!(f, "waiting for the agent: {why}"),
            WaitOn::Rendering(why) => write!(f, "the works cannot be rendered: {why}"),
            WaitOn::Hook(why) => write!(f, "waiting for the pre-delete hooks: {why}"),
            WaitOn::Creation(why) => write!(
                f,
                "the hub rejects the creation of the ManagedClusterAddOn: {why}"
            ),
            WaitOn::Label => write!(
                f,
                "the name of the add-on is too long for the label on its clusters"
            ),
        }
    }
}

fn over_budget(limit: usize, more_at: Timestamp) -> String {
    format!("the removal is delayed: at most {limit} instances are removed per minute, the next at {more_at}")
}

/// Argo CD does not prune an object that has an owner, so removing it from Git may not be enough.
fn adopted(manager: &str) -> String {
    format!(
        "nothing selects the cluster, and the add-on is kept because {manager} applies it; to remove the add-on, delete it from the source \
         that {manager} applies, and delete the ManagedClusterAddOn if it still exists"
    )
}

fn unread(object: &ObjectKey, why: &str) -> String {
    format!("the add-on is kept although nothing selects the cluster: cannot read {object} again: {why}")
}

fn unknown(namespace: &str, name: &str) -> String {
    format!(
        "nothing selects the cluster any more, but the clusters of placement {namespace}/{name} are not known; the add-on is kept"
    )
}

/// Returns the earlier of two moments, where there are any.
pub(super) fn earliest(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_payload_says_what_it_was_made_from() {
        for value in [
            json!({"status": {"a": [1, -2, 1.5, null, "\u{1F600}\"\\"], "b": {}}}),
            json!(null),
            json!({"spec": {"n": u64::MAX, "m": i64::MIN}}),
        ] {
            assert_eq!(Payload::from(value.clone()).value(), value);
        }
    }
}
