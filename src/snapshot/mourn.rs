//! What the store keeps of what is gone, for as long as something is left of it: add-ons without their object.
//!
//! Decides when nothing is left. Never keeps more than what somebody on the hub still refers to.

use std::sync::Arc;

use super::names::Name;
use super::record::{AddOn, InstallStrategy, Lifecycle, Meta};
use super::record_rollout::Paused;
use super::store::{Store, Touched};
use crate::model::ConfigRollout;

impl Store {
    /// Keeps an add-on whose object is gone while grants of its name remain: somebody has to see to their end.
    pub(super) fn mourn(&mut self, touched: &Touched) {
        for name in touched {
            let remains = self.grants.contains_key(name);
            if self.addons.contains_key(name) || !remains {
                self.gone.remove(name);
            } else if !self.gone.contains_key(name) {
                self.gone.insert(name.clone(), gone(name));
            }
        }
    }
}

/// An add-on of which only the name is known.
fn gone(name: &Name) -> AddOn {
    let nobody = Name::from("");
    AddOn {
        meta: Meta {
            uid: nobody.clone(),
            version: nobody.clone(),
            generation: 0,
            deleting: true,
        },
        name: name.clone(),
        managed: true,
        lifecycle: Lifecycle::Managed,
        supported: Vec::new(),
        configuration: Vec::new(),
        configuration_rollout: Ok(ConfigRollout::UpdateAll),
        paused: Paused::default(),
        strategy: InstallStrategy::Manual,
        placements: Vec::new(),
        defaults: Vec::new(),
        progressions: None,
        conditions: Vec::new(),
        supported_versions: Vec::new(),
        default_version: nobody,
        facts: Arc::default(),
    }
}
