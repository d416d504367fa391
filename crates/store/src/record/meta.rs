//! Identity, owners and conditions, which every object has; what others own of an instance; what an `AddOnRollout` says.
//!
//! Decides nothing.

use super::sparse::{SparseNumber, SparseTime};
use jiff::Timestamp;
use model::{Name, RolloutSettings};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Identity and revision of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// `metadata.uid`
    pub uid: Name,
    /// `metadata.resourceVersion`
    pub version: Name,
    /// `metadata.generation`
    pub generation: i64,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
}

/// The last edit of a part of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The field manager.
    pub manager: Name,
    /// When.
    pub at: Timestamp,
}

/// Who set a pause or a freeze, and when; the user or the field manager is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetBy {
    /// The user, if the webhook recorded it.
    pub user: Option<Name>,
    /// The field manager, if the hub records it.
    pub manager: Option<Name>,
    /// When: the time of the user, if the webhook recorded it.
    pub at: Timestamp,
}

/// Who set a pause of an AddOnRollout or RolloutProfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseAuthor {
    /// Namespace and name of the placement; absent for all placements.
    pub place: Option<(String, String)>,
    /// Who set it, and when.
    pub set_by: SetBy,
}

/// Status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// `True`
    True,
    /// `False`
    False,
    /// `Unknown`, and every other text that stands there.
    Unknown,
}

impl Status {
    /// Returns the text that the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// What a condition says: thousands of instances say the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConditionText {
    /// `type`
    pub kind: Name,
    /// `status`
    pub status: Status,
    /// `reason`
    pub reason: Name,
    /// `message`
    pub message: Name,
}

/// A condition as it is in a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// What it says.
    pub said: Arc<ConditionText>,
    since: SparseTime,
    generation: SparseNumber,
}

impl Condition {
    /// Returns a condition that says this since a time, about a generation.
    pub fn new(said: Arc<ConditionText>, since: Option<Timestamp>, generation: Option<i64>) -> Self {
        Self {
            said,
            since: since.into(),
            generation: generation.into(),
        }
    }

    /// Returns `lastTransitionTime`.
    pub fn since(&self) -> Option<Timestamp> {
        self.since.get()
    }

    /// Returns `observedGeneration`.
    pub fn generation(&self) -> Option<i64> {
        self.generation.get()
    }
}

impl std::ops::Deref for Condition {
    type Target = ConditionText;

    fn deref(&self) -> &ConditionText {
        &self.said
    }
}

/// An owner reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnerReference {
    /// `apiVersion`
    pub api_version: Name,
    /// `kind`
    pub kind: Name,
    /// `name`
    pub name: Name,
    /// `uid`
    pub uid: Name,
    /// `controller`
    pub controller: Option<bool>,
    /// `blockOwnerDeletion`
    pub block: Option<bool>,
}

/// What others own of an instance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claims {
    /// The field manager that applies the object, or the tool whose mark it carries; "" when there is neither.
    pub adopter: Name,
    /// Whether another field manager owns `spec.desiredVersion`.
    pub version: bool,
    /// Whether the field managers that apply the object leave `spec.installNamespace` out, and no other manager has set it: the
    /// stored value is the default of the definition. Not known, and so `false`, where nothing applies the object.
    pub omits_namespace: bool,
    /// The annotations that plans might write and that another field manager owns, sorted.
    pub annotations: Box<[Name]>,
}

impl Claims {
    /// Returns whether another manager wants the object to be there: then it is not ours to remove, whatever our marks say.
    pub fn is_adopted(&self) -> bool {
        !self.adopter.is_empty()
    }

    /// Returns whether another field manager owns an annotation.
    pub fn has(&self, annotation: &str) -> bool {
        self.annotations.iter().any(|key| **key == *annotation)
    }
}

/// An `AddOnRollout`: the settings and the roll-up of the add-on of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollUp {
    /// Identity and revision.
    pub meta: Meta,
    /// `spec.addon`
    pub addon: Name,
    /// The profile that it names, also where its settings are invalid.
    pub profile: Option<Name>,
    /// The default profile by which its changes went, as its status has it.
    pub default_profile: Option<Name>,
    /// Who set its pauses.
    pub pauses: Vec<PauseAuthor>,
    /// The settings of its rollouts, or what is wrong with them.
    pub settings: Result<Arc<RolloutSettings>, Name>,
    /// Whether it was created because one with settings was deleted.
    pub replaces_settings: bool,
    /// `metadata.ownerReferences`
    pub owners: Vec<OwnerReference>,
    /// `status.conditions`
    pub conditions: Vec<Condition>,
    /// The status without its conditions, as it stands.
    pub status: Map<String, Value>,
}
