//! The way back of a placement: what was last known to be good as a whole, and whether its clusters go there now.
//!
//! Decides for how long a note stands that content was undone: while the specs want that very content, and no annotation asks for
//! it to be tried again. What is wanted counts by its objects and hashes; a hash that is not known at the moment is no other
//! content. Never decides that something is undone (`addon_status`), and never writes.

use std::sync::Arc;

use super::desired::Effective;
use super::effective::inherited;
use super::layers::{self, Entry};
use super::versioned::{Basis, Completed};
use model::{ConfigRollout, OnFailure};
use store::{
    AddOn, ConfigRef, Layering, PinnedConfig, PinnedContent, PlacementUse, Progression, Undone, View, terms,
};

/// Where the clusters of a placement can go back to.
#[derive(Debug)]
pub(crate) struct WayBack {
    /// The note that they do, where it stands.
    pub undone: Option<Undone>,
    /// What they go back to.
    pub good: Arc<Effective>,
    pub(super) entries: Vec<Entry>,
}

/// Returns the way back of a placement whose rollouts may be undone, as far as one is noted.
pub(super) fn way(basis: Basis<'_, '_>, by: &PlacementUse, shared: &Effective) -> Option<WayBack> {
    let view = basis.view;
    // Where changes go by another rollout, failures keep its slots: the way back would wait behind them.
    if view.settings().is_ocm() || is_governed(view.addon, by) {
        return None;
    }
    let progression = progression(view.addon, by)?;
    let undone = progression
        .undone()
        .filter(|undone| stands(view, by, undone, shared));
    if undone.is_none() && view.rollout().on_failure(&by.namespace, &by.name) == OnFailure::Stop {
        return None;
    }
    let known = progression.known_good()?;
    let entries = layers::known_good(known.configs);
    let noted = |config: &ConfigRef| basis.declared.for_placement(view.addon, by, config);
    let mut good = inherited(view, Completed::from(entries.clone()), basis.declared, noted);
    good.layer(known.layering == Layering::Merge);
    Some(WayBack {
        undone,
        good: Arc::new(good),
        entries,
    })
}

/// Whether changes of a type that the placement inherits go by `spec.configuration.rolloutStrategy`.
pub(crate) fn is_governed(addon: &AddOn, by: &PlacementUse) -> bool {
    let mut types = addon.configuration.iter().map(|config| &config.of);
    addon.configuration_rollout != Ok(ConfigRollout::UpdateAll)
        && types.any(|of| {
            let hides = |config: &ConfigRef| *config.name == *terms::NO_DEFAULT || !layers::merges(addon, of);
            !by.configs.iter().any(|config| config.of == *of && hides(config))
        })
}

fn progression<'v>(addon: &'v AddOn, by: &PlacementUse) -> Option<&'v Progression> {
    let mut noted = addon.progressions.iter().flatten();
    noted.find(|one| one.namespace == by.namespace && one.name == by.name)
}

fn stands(view: &View<'_>, by: &PlacementUse, undone: &Undone, shared: &Effective) -> bool {
    let retried = view.rollout().retried_at(&by.namespace, &by.name);
    if retried.is_some_and(|at| undone.since < at) {
        return false;
    }
    let failed = &undone.failed;
    failed.layering == shared.layering
        && failed.configs.len() == shared.refs.len()
        && failed.configs.iter().zip(&shared.refs).all(|(failed, desired)| {
            failed.config == desired.config && (failed.hash == desired.hash || desired.hash.is_empty())
        })
}

impl Effective {
    /// Returns the whole of it with its hashes; nothing where any of it cannot be used.
    pub(crate) fn pinned(&self) -> Option<PinnedContent> {
        let each = self.refs.iter().map(|desired| {
            let is_sound = desired.fault.is_none() && !desired.hash.is_empty();
            is_sound.then(|| PinnedConfig {
                config: desired.config.clone(),
                hash: desired.hash.clone(),
            })
        });
        let configs = each.collect::<Option<_>>()?;
        Some(PinnedContent {
            configs,
            layering: self.layering,
        })
    }
}
