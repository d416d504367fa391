//! What becomes of an instance that is there.
//!
//! Decides who stays and who goes, never when: the time of grace is counted in `membership`. What a human made, and what
//! another field manager applies, goes only with its cluster.

use super::wanted::InstanceFate;
use store::{InstallStrategy, Site, View};

/// What becomes of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It stays.
    Stays,
    /// It goes at once, for this reason.
    Goes(&'static str),
    /// Nothing selects its cluster any more: it goes unless that changes.
    Parting,
}

/// Returns what becomes of an instance.
pub(super) fn fate(view: &View<'_>, stand: &InstanceFate<'_>) -> Fate {
    let Site {
        instance, cluster, ..
    } = stand.site;
    if cluster.is_some_and(|cluster| cluster.meta.deleting) {
        return Fate::Goes("the cluster is being deleted");
    }
    if !instance.is_given() || !follows(&view.addon.strategy) {
        return Fate::Stays;
    }
    if cluster.is_some_and(|cluster| cluster.opts_out_of(&view.addon.name)) {
        return Fate::Goes("the cluster has opted out");
    }
    if stand.is_wanted() {
        return Fate::Stays;
    }
    Fate::Parting
}

/// Returns whether a strategy gives and takes on its own. One that is not understood does neither.
pub(super) fn follows(strategy: &InstallStrategy) -> bool {
    match strategy {
        InstallStrategy::Placements | InstallStrategy::Labels(_) => true,
        InstallStrategy::Manual | InstallStrategy::BadLabels(_) | InstallStrategy::Other(_) => false,
    }
}
