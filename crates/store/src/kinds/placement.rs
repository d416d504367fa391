//! `Placement`: how many clusters it selects, and how large its decision groups are.
//!
//! Decides nothing; the clusters themselves stand in its decisions.

use serde_json::Value;

use super::plain::Plain;
use crate::decode::read::{meta, parse};
use crate::decode::rollout::group_size;
use crate::kind::{Kind, ObjectKey, Touched};
use crate::parts::kept::keeps;
use crate::record;
use crate::store::Store;
use api::cluster;

/// The row of the kind.
pub(crate) struct Placement;

keeps!(Placement, record::Placement);

impl Plain for Placement {
    const KIND: Kind = Kind::Placement;

    fn read(_store: &mut Store, object: &Value) -> Result<record::Placement, String> {
        let object: cluster::Placement = parse(object)?;
        let status = object.status.as_ref();
        let selected = status.and_then(|status| status.number_of_selected_clusters);
        Ok(record::Placement {
            meta: meta(&object.metadata)?,
            selected: selected.map(i64::from),
            per_group: group_size(&object.spec),
        })
    }

    fn changed(
        store: &mut Store,
        key: &ObjectKey,
        _before: Option<&record::Placement>,
        touched: &mut Touched,
    ) {
        let place = key.place();
        store.published.decisions_changed(&place);
        touched.extend(store.indexes.by_placement.of(&place).cloned());
    }
}
