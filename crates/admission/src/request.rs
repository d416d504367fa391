//! One question of the API server, borrowed from the bytes it came in.
//!
//! Decides which requests pass unseen, whatever they carry. Never parses an object before it must.

use jiff::Timestamp;
use schema::Stop;
use serde_json::value::RawValue;

use super::known_fields::HubDefinitions;

/// Which of the two webhooks asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Webhook {
    /// Before the schema of the CRD is checked; may add what is absent.
    Mutate,
    /// After it, on the final object; changes nothing.
    Validate,
}

/// What a request does to its object.
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

/// What of metadata its owners write, and policies may read. Everything else of it the API server keeps itself.
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

    /// Tells whether it says who keeps the object, and what goes with it.
    pub(super) const fn is_of_keepers(self) -> bool {
        match self {
            Self::Finalizers | Self::OwnerReferences => true,
            Self::Labels | Self::Annotations => false,
        }
    }

    /// Returns where it stands, as expressions write it.
    pub(super) fn path(self) -> String {
        format!("metadata.{}", self.name())
    }

    /// Returns where it stands, as a JSON pointer.
    pub(super) fn pointer(self) -> String {
        format!("/metadata/{}", self.name())
    }
}

/// One question: may this be stored?
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Which webhook asks.
    pub webhook: Webhook,
    /// What is done.
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
    /// The object as it is stored.
    pub old: Option<&'a RawValue>,
    /// Whether nothing will be stored. The answer is the same.
    pub dry_run: bool,
    /// What only policies look at.
    pub circumstances: RequestContext<'a>,
}

/// Who asks, and when. Built-in rules never look at it: for the same object and the same facts every user gets the same answer,
/// as long as `stop` does not end the rules early.
///
/// One of them, `permission/author`, has the hub asked what the user of the request may do. It names the question only; the
/// answer comes back among the facts, so that for such objects two users may get two answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestContext<'a> {
    /// Id of the request.
    pub uid: &'a str,
    /// The user of the request, as the API server tells it; absent where there is no request, as in an audit.
    pub user: Option<&'a RawValue>,
    /// Options of the operation.
    pub options: Option<&'a RawValue>,
    /// The time of the request.
    pub now: Option<Timestamp>,
    /// By which exceptions end where there is no request that has a time, as in an audit.
    pub date: Option<Timestamp>,
    /// What becomes of a policy that asks for a fact which is not known.
    pub unknown: UnknownFacts,
    /// Whose definition says which fields are known.
    pub fields: FieldsKnownBy<'a>,
    /// Ends the decision before it is done: for a deadline that another thread watches. What was not looked at is then
    /// refused, or told, as its failure policy wants it.
    pub stop: &'a Stop,
}

/// What becomes of a policy that asks for a fact which is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownFacts {
    /// Its failure policy decides: the gate must answer.
    #[default]
    Fail,
    /// It is told as undecided: an audit has no request, and a check of files only a part of the hub.
    SetAside,
}

/// Whose definition says which fields of an object are known, and which are dropped when it is stored.
#[derive(Clone, Copy, Debug, Default)]
pub enum FieldsKnownBy<'a> {
    /// That of this program: there is no hub to ask.
    #[default]
    OurDefinition,
    /// The hub's, which has dropped the others already: an API server does so before it calls a webhook. What is left is stored,
    /// whether this program knows it or not.
    TheHub,
    /// Those that were read from the hub, for an object that has not been sent. Other kinds use our definition.
    Definitions(&'a HubDefinitions),
}

impl Request<'_> {
    /// Tells whether the gate lets the request pass without a look, so that it never locks a client out.
    ///
    /// A status belongs to the controller that observes. Deletions are seen by rules of deletion,
    /// which warn, and by policies that name them.
    pub fn passes_unseen(&self) -> bool {
        let changes = match self.operation {
            Operation::Create | Operation::Update | Operation::Delete => true,
            Operation::Connect => false,
        };
        !changes || !self.subresource.is_empty()
    }
}
