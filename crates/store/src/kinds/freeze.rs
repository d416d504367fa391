//! `RolloutFreeze`: a time in which no change starts.
//!
//! Decides that a freeze with an invalid spec stops everything: it was meant to stop something.

use serde_json::Value;

use super::stored::Plain;
use crate::decode::edits::author_of_freeze;
use crate::decode::read::{meta, parse};
use crate::kind::{Kind, ObjectKey, Touched};
use crate::parts::kept::keeps;
use crate::record::FreezeRecord;
use crate::store::Store;
use crate::view::View;
use api::RolloutFreeze;
use kubernetes::field::Path;
use model::Freeze as Parsed;

/// The row of the kind.
pub(crate) struct Freeze;

keeps!(Freeze, FreezeRecord);

impl Plain for Freeze {
    const KIND: Kind = Kind::Freeze;

    fn read(store: &mut Store, object: &Value) -> Result<FreezeRecord, String> {
        let object: RolloutFreeze = parse(object)?;
        let meta = meta(&object.metadata)?;
        let freeze = Parsed::parse(&object.spec, &Path::root().key("spec"));
        Ok(FreezeRecord {
            name: store
                .names
                .share(object.metadata.name.as_deref().unwrap_or_default()),
            freeze: freeze.map_err(|wrong| wrong.first().map(ToString::to_string).unwrap_or_default()),
            set_by: author_of_freeze(&object.metadata, &mut store.names),
            meta,
        })
    }

    fn changed(store: &mut Store, _key: &ObjectKey, _before: Option<&FreezeRecord>, touched: &mut Touched) {
        store.touch_all(touched);
        store.touch_upgrades(touched);
    }
}

impl Store {
    /// Returns every freeze, in order of names.
    pub fn freezes(&self) -> impl Iterator<Item = &FreezeRecord> {
        self.kept.all::<Freeze>().map(|(_, record)| record)
    }
}

impl<'s> View<'s> {
    /// Returns the freezes that may stop changes of the add-on, in force or not, in order of names.
    pub fn freezes(&self) -> impl Iterator<Item = &'s FreezeRecord> + use<'s> {
        let addon = &self.addon.name;
        let all = self.store.kept.all::<Freeze>().map(|(_, record)| record);
        all.filter(move |record| {
            record
                .freeze
                .as_ref()
                .map_or(true, |freeze| freeze.stops_addon(addon))
        })
    }
}
