//! What was converted for watchers a moment ago.
//!
//! Decides how much of it is kept. Only watchers ask here: a get or a list is answered with what the webhook says now.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

/// Objects that are kept.
const MOST: usize = 512;

/// Converted objects by resource version, the newest of them.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    objects: BTreeMap<u64, Arc<Value>>,
}

impl Recent {
    /// Tells whether an object is there.
    pub(crate) fn holds(&self, version: u64) -> bool {
        self.objects.contains_key(&version)
    }

    /// Returns an object.
    pub(crate) fn find(&self, version: u64) -> Option<Arc<Value>> {
        self.objects.get(&version).cloned()
    }

    /// Notes objects and forgets the oldest.
    pub(crate) fn note(&mut self, objects: &BTreeMap<u64, Arc<Value>>) {
        for (version, object) in objects {
            self.objects.insert(*version, Arc::clone(object));
        }
        while self.objects.len() > MOST {
            self.objects.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept() {
        let mut recent = Recent::default();
        let objects = (0..600).map(|version| (version, Arc::new(Value::Null))).collect();
        recent.note(&objects);
        assert!(!recent.holds(87) && recent.holds(88) && recent.find(599).is_some());
    }
}
