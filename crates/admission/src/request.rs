//! One admission request, borrowed from its body, and which requests are admitted without a check. Objects are parsed only when needed.

use jiff::Timestamp;
use schema::Stop;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::known_fields::HubDefinitions;

/// The webhook of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Webhook {
    /// Before the schema of the CRD is checked; it can add absent fields.
    Mutate,
    /// After the schema is checked, with the final object; it changes nothing.
    Validate,
}

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Creates it.
    Create,
    /// Changes it.
    Update,
    /// Deletes it.
    Delete,
    /// Opens a connection to it.
    Connect,
}

/// The parts of metadata that users write and policies can read. The API server manages the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetadataPart {
    Labels,
    Annotations,
    Finalizers,
    OwnerReferences,
}

impl MetadataPart {
    /// Every part.
    pub(super) const EVERY: [Self; 4] = [
        Self::Labels,
        Self::Annotations,
        Self::Finalizers,
        Self::OwnerReferences,
    ];

    /// Returns its name in JSON.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::Annotations => "annotations",
            Self::Finalizers => "finalizers",
            Self::OwnerReferences => "ownerReferences",
        }
    }

    /// Returns whether it is finalizers or owner references.
    pub(super) const fn is_of_keepers(self) -> bool {
        match self {
            Self::Finalizers | Self::OwnerReferences => true,
            Self::Labels | Self::Annotations => false,
        }
    }

    /// Returns its path in expressions.
    pub(super) fn path(self) -> String {
        format!("metadata.{}", self.name())
    }

    /// Returns its JSON pointer.
    pub(super) fn pointer(self) -> String {
        format!("/metadata/{}", self.name())
    }
}

/// An admission request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The webhook.
    pub webhook: Webhook,
    /// The operation.
    pub operation: Operation,
    /// API group of the resource.
    pub group: &'a str,
    /// API version of the objects.
    pub version: &'a str,
    /// Plural name of the resource.
    pub resource: &'a str,
    /// Kind of the object.
    pub kind: &'a str,
    /// Subresource; empty for the object itself.
    pub subresource: &'a str,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Name; empty while the API server has not generated it.
    pub name: &'a str,
    /// The object as it would be stored.
    pub object: Option<&'a RawValue>,
    /// The stored object.
    pub old: Option<&'a RawValue>,
    /// Whether it is a dry run. The response is the same.
    pub dry_run: bool,
    /// Data that only policies read.
    pub circumstances: RequestContext<'a>,
}

/// The user, the time and other context of a request. Built-in rules do not read it: for the same object and the same facts every user gets
/// the same result, unless `stop` ends the rules early.
///
/// The rules `permission/author` and `upgrade/placement-access` need the permissions of the user. They return the permissions to check, and
/// read the results from the facts, so two users may get different results. Clean-up by Kubernetes is admitted without a check.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestContext<'a> {
    /// Id of the request.
    pub uid: &'a str,
    /// The user of the request, from the API server; absent without a request, as in an audit.
    pub user: Option<&'a RawValue>,
    /// Options of the operation.
    pub options: Option<&'a RawValue>,
    /// The time of the request.
    pub now: Option<Timestamp>,
    /// The time for the end of exceptions without a request, as in an audit.
    pub date: Option<Timestamp>,
    /// What happens to a policy that reads an unknown fact.
    pub unknown: UnknownFacts,
    /// The CRDs that define the known fields.
    pub fields: FieldsKnownBy<'a>,
    /// Stops the decision early, for a deadline in another thread. Rules that did not finish then refuse or warn, and policies follow their
    /// failure policy.
    pub stop: &'a Stop,
}

/// What happens to a policy that reads an unknown fact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownFacts {
    /// Its failure policy applies, because the gate must decide.
    #[default]
    Fail,
    /// The finding is undecided: an audit has no request, and a check of files has only a part of the hub.
    SetAside,
}

/// The CRDs that define which fields of an object are known, and which are dropped when it is stored.
#[derive(Clone, Copy, Debug, Default)]
pub enum FieldsKnownBy<'a> {
    /// Those of this program, because there is no hub.
    #[default]
    OurDefinition,
    /// Those of the hub, which has already dropped unknown fields, because an API server does so before it calls a webhook. All other
    /// fields are stored, even if this program does not recognise them.
    TheHub,
    /// Those that were read from the hub, for an object that has not been sent. Other kinds use the CRDs of this program.
    Definitions(&'a HubDefinitions),
}

/// The users that clean up for Kubernetes: the garbage collector and the namespace controller, each with the account of its own or with
/// that of the controller manager. A rejected clean-up is repeated without end, and a namespace stays in phase `Terminating`.
pub(super) const CLEANERS: [&str; 3] = [
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:namespace-controller",
];

/// The part of `userInfo` that the decision reads.
#[derive(Deserialize)]
pub(super) struct User {
    /// The name of the user; empty if the API server sent none.
    #[serde(default)]
    pub(super) username: String,
}

impl RequestContext<'_> {
    /// Returns the user of the request; `None` without one, or if it cannot be read.
    pub(super) fn read_user(&self) -> Option<User> {
        serde_json::from_str(self.user?.get()).ok()
    }
}

impl Request<'_> {
    /// Returns whether it is sent by one of the [`CLEANERS`]. Match conditions exclude these requests, but a hub before Kubernetes 1.28
    /// drops the conditions.
    pub(super) fn is_clean_up(&self) -> bool {
        let user = self.circumstances.read_user();
        user.is_some_and(|user| CLEANERS.contains(&user.username.as_str()))
    }

    /// Returns whether the gate admits the request without a check.
    ///
    /// A status belongs to its controller. Deletions are checked by rules for deletions, and by policies that match them.
    pub fn passes_unseen(&self) -> bool {
        let changes = match self.operation {
            Operation::Create | Operation::Update | Operation::Delete => true,
            Operation::Connect => false,
        };
        !changes || !self.subresource.is_empty()
    }
}
