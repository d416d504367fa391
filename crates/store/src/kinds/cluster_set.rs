//! `ManagedClusterSet` and `ManagedClusterSetBinding`: which clusters are in a set, and from which sets the upgrades of a namespace may
//! select.
//!
//! Decides nothing: every upgrade may select from them.

use super::stored::Plain;
use crate::decode::read::{meta, parse};
use crate::kind::{Kind, ObjectKey, Touched};
use crate::parts::kept::keeps;
use crate::record::Meta;
use crate::store::Store;
use api::cluster::{ManagedClusterSet, ManagedClusterSetBinding};
use kubernetes::field::Path;
use model::{Name, Selector, parse_selector};
use serde_json::Value;

/// The row of the kind.
pub(crate) struct ClusterSet;

/// What is kept of a set.
#[derive(Debug, PartialEq)]
pub(crate) struct ClusterSetRecord {
    /// Identity and revision.
    pub(crate) meta: Meta,
    /// Which clusters are in it.
    pub(crate) members: Members,
}

/// How a set finds its clusters.
#[derive(Debug, PartialEq)]
pub(crate) enum Members {
    /// By the label with which a cluster names its set.
    Label,
    /// By a selector.
    Selector(Selector),
    /// By a selector that cannot be read: no cluster is in it.
    Unreadable,
}

keeps!(ClusterSet, ClusterSetRecord);

impl Plain for ClusterSet {
    const KIND: Kind = Kind::ClusterSet;

    fn read(_store: &mut Store, object: &Value) -> Result<ClusterSetRecord, String> {
        let object: ManagedClusterSet = parse(object)?;
        let selector = object.spec.cluster_selector.unwrap_or_default();
        let members = match selector.selector_type.as_str() {
            "LabelSelector" => {
                let labels = selector.label_selector.unwrap_or_default();
                let read = parse_selector(&labels, &Path::root());
                read.map_or(Members::Unreadable, Members::Selector)
            }
            _ => Members::Label,
        };
        Ok(ClusterSetRecord {
            meta: meta(&object.metadata)?,
            members,
        })
    }

    fn changed(
        store: &mut Store,
        _key: &ObjectKey,
        _before: Option<&ClusterSetRecord>,
        touched: &mut Touched,
    ) {
        store.touch_upgrades(touched);
    }
}

/// The row of the kind.
pub(crate) struct SetBinding;

/// What is kept of a binding.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SetBindingRecord {
    /// Identity and revision.
    pub(crate) meta: Meta,
    /// The set.
    pub(crate) set: Name,
}

keeps!(SetBinding, SetBindingRecord);

impl Plain for SetBinding {
    const KIND: Kind = Kind::SetBinding;

    fn read(store: &mut Store, object: &Value) -> Result<SetBindingRecord, String> {
        let object: ManagedClusterSetBinding = parse(object)?;
        Ok(SetBindingRecord {
            meta: meta(&object.metadata)?,
            set: store.names.share(&object.spec.cluster_set),
        })
    }

    fn changed(
        store: &mut Store,
        _key: &ObjectKey,
        _before: Option<&SetBindingRecord>,
        touched: &mut Touched,
    ) {
        store.touch_upgrades(touched);
    }
}
