//! The memos of the last plans of the manager under test.
//!
//! Every plan is made with its memo and without, and the two must be equal. A crash drops all memos.

use std::collections::BTreeMap;

use jiff::Timestamp;
use plan::{self, Memo, Plan};
use store::{Name, View};

/// A memo for each add-on.
#[derive(Debug, Default)]
pub(crate) struct Memos(BTreeMap<Name, Memo>);

impl Memos {
    /// Returns a plan, and the last change that it has seen.
    pub(crate) fn plan(&mut self, view: &View<'_>, now: Timestamp) -> Result<(Plan, Option<u64>), String> {
        let memo = self.0.entry(view.addon.name.clone()).or_default();
        let plan = plan::addon_with(view, now, memo);
        if plan != plan::addon(view, now) {
            let unseen = memo.unseen();
            return Err(format!(
                "memo: the plan differs from the one that looks at {unseen} more instances"
            ));
        }
        Ok((plan, memo.change()))
    }
}
