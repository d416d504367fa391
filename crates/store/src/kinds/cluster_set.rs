//! `ManagedClusterSet`: which clusters are in it.
//!
//! Decides nothing: every upgrade may select from it.

use serde_json::Value;

use super::plain::Plain;
use crate::decode::read::{meta, parse};
use crate::kind::{Kind, ObjectKey, Touched};
use crate::parts::kept::keeps;
use crate::record::Meta;
use crate::store::Store;
use api::cluster::ManagedClusterSet;
use kubernetes::field::Path;
use model::{Selector, parse_selector};

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
