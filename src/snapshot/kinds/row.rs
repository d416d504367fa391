//! What the program knows of a kind: how it is addressed on the API, what it is needed for, which objects of it count, and what
//! the store does with one.
//!
//! Decides the order in which an object is read and filed. Knows no kind by name.

use serde_json::Value;

use crate::snapshot::kind::ObjectKey;
use crate::snapshot::record::Meta;
use crate::snapshot::store::{Store, Touched};

/// How a kind is addressed on the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The API group.
    pub group: &'static str,
    /// The version that the tide speaks.
    pub version: &'static str,
    /// The kind, as manifests spell it.
    pub kind: &'static str,
    /// The resource (plural), as URLs spell it.
    pub resource: &'static str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
}

/// What a kind is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::snapshot) enum Need {
    /// There is no hub without it.
    Always,
    /// Where the hub serves it.
    WhereServed,
    /// The registration of agents.
    ForRegistration,
    /// The roles that agents may have.
    ForRights,
    /// What policies ask about namespaces.
    ForPolicies,
}

/// A label that an object must have to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::snapshot) enum Label {
    /// With any value.
    Has(&'static str),
    /// With this value.
    Is(&'static str, &'static str),
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Has(label) => f.write_str(label),
            Self::Is(label, value) => write!(f, "{label}={value}"),
        }
    }
}

/// A kind that the store keeps.
pub(in crate::snapshot) trait Stored {
    /// What is kept of an object.
    type Record;
    const ADDRESS: Address;
    const NEED: Need;
    /// The labels that an object must have to count; none where all do.
    const SELECTOR: &'static [Label] = &[];
    /// The word that tells the kind from all others, also where two of them are one on the API.
    const WORD: &'static str = Self::ADDRESS.kind;

    /// Reads an object; the error is the reason for which it is skipped.
    fn decode(store: &mut Store, key: &ObjectKey, object: &Value) -> Result<Self::Record, String>;
    /// Identity and revision of what was read.
    fn revision(record: &Self::Record) -> Option<&Meta>;
    /// Puts a record into its place and its indexes, and notes whose plan that touches.
    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched);
    /// Identity and revision of what is filed.
    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta>;
    /// Everything that is filed.
    fn keys(store: &Store) -> Vec<ObjectKey>;
    /// Takes a record out of its place and its indexes, and notes whose plan that touches.
    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched);
}

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::snapshot) enum Outcome {
    /// It was filed.
    Filed,
    /// What is known is newer.
    Older,
}

type Apply = fn(&mut Store, &ObjectKey, &Value, &mut Touched) -> Result<Outcome, String>;
type Find = for<'s> fn(&'s Store, &ObjectKey) -> Option<&'s Meta>;

/// A kind as a value.
pub(in crate::snapshot) struct Row {
    pub(in crate::snapshot) address: Address,
    pub(in crate::snapshot) need: Need,
    pub(in crate::snapshot) selector: &'static [Label],
    pub(in crate::snapshot) word: &'static str,
    pub(in crate::snapshot) apply: Apply,
    pub(in crate::snapshot) meta: Find,
    pub(in crate::snapshot) keys: fn(&Store) -> Vec<ObjectKey>,
    pub(in crate::snapshot) unfile: fn(&mut Store, &ObjectKey, &mut Touched),
}

impl Row {
    /// Returns the row of a kind.
    pub(super) const fn of<S: Stored>() -> Self {
        Self {
            address: S::ADDRESS,
            need: S::NEED,
            selector: S::SELECTOR,
            word: S::WORD,
            apply: apply::<S>,
            meta: S::meta,
            keys: S::keys,
            unfile: S::unfile,
        }
    }
}

fn apply<S: Stored>(
    store: &mut Store,
    key: &ObjectKey,
    object: &Value,
    touched: &mut Touched,
) -> Result<Outcome, String> {
    let record = S::decode(store, key, object)?;
    if S::revision(&record).is_some_and(|new| is_older(S::meta(store, key), new)) {
        return Ok(Outcome::Older);
    }
    S::file(store, key, record, touched);
    Ok(Outcome::Filed)
}

/// A relist may bring an older state than the watch has shown already.
fn is_older(known: Option<&Meta>, new: &Meta) -> bool {
    known.is_some_and(|old| {
        let (old_version, new_version) = (old.version.parse::<u64>(), new.version.parse::<u64>());
        old.uid == new.uid && matches!((old_version, new_version), (Ok(old), Ok(new)) if new < old)
    })
}

/// The address of a kind whose objects live in no namespace.
pub(super) const fn cluster_scoped(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    resource: &'static str,
) -> Address {
    Address {
        group,
        version,
        kind,
        resource,
        namespaced: false,
    }
}

/// The address of a kind whose objects live in namespaces.
pub(super) const fn namespaced(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    resource: &'static str,
) -> Address {
    Address {
        namespaced: true,
        ..cluster_scoped(group, version, kind, resource)
    }
}
