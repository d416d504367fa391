//! The add-ons that another one depends on (`spec.dependsOn` of its AddOnRollout, `spec.dependencies` of its ClusterManagementAddOn),
//! cluster by cluster.
//!
//! Decides whether they run there with their desired configuration, and the message of a cluster that waits for them. It compares
//! their actual and desired configuration and ignores their rollouts. A cycle is reported, and ends no wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::hold_message::Notice;
use super::references::is_settled;
use super::rolling::Rolling;
use crate::config::effective;
use crate::install::wanted;
use crate::settled::Others;
use api::names::conditions::AVAILABLE;
use model::dependency_circle;
use store::{Instance, Name, Reference, Status, View};

/// How an add-on stands on a cluster where another one needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Ready,
    Absent,
    Coming,
    Leaving,
    Behind,
    Unavailable,
}

impl Standing {
    const fn told(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Absent => "not installed on the cluster",
            Self::Coming => "not installed on the cluster yet",
            Self::Leaving => "being removed from the cluster",
            Self::Behind => "not up to date on the cluster",
            Self::Unavailable => "not available on the cluster",
        }
    }
}

/// An add-on that another one depends on.
struct Prerequisite<'v> {
    name: &'v Name,
    /// Absent where there is no such add-on.
    clusters: Option<BTreeMap<&'v Name, Standing>>,
}

/// The add-ons that another one depends on.
pub(super) struct Prerequisites<'v> {
    each: Vec<Prerequisite<'v>>,
    circle: Option<Vec<Name>>,
    /// Many clusters wait for the same.
    made: BTreeMap<Vec<Option<Standing>>, Option<Arc<Notice>>>,
}

impl<'v> Prerequisites<'v> {
    pub(super) fn of(view: &View<'v>) -> Self {
        let direct = view.depends_on();
        let each = direct.iter().map(|&name| Prerequisite {
            name,
            clusters: view.sibling(name).map(|other| standings(&other)),
        });
        let each = each.collect();
        let of = |name: &str| {
            let named = view.sibling(name).map(|other| other.depends_on());
            named.into_iter().flatten().map(|name| &**name).collect()
        };
        Self {
            each,
            circle: dependency_circle(&view.addon.name, direct.into_iter().map(|name| &**name), of),
            made: BTreeMap::new(),
        }
    }

    /// Returns what a cluster says that waits for one of them.
    pub(super) fn notice(&mut self, cluster: &Name) -> Option<Arc<Notice>> {
        let standing = |one: &Prerequisite<'_>| {
            let known = one.clusters.as_ref()?;
            Some(known.get(cluster).copied().unwrap_or(Standing::Absent))
        };
        let standings: Vec<Option<Standing>> = self.each.iter().map(standing).collect();
        if let Some(made) = self.made.get(&standings) {
            return made.clone();
        }
        let made = self.make(&standings).map(Arc::new);
        self.made.insert(standings, made.clone());
        made
    }

    fn make(&self, standings: &[Option<Standing>]) -> Option<Notice> {
        let each = || self.each.iter().map(|one| one.name).zip(standings);
        let open: Vec<&Name> = each()
            .filter(|(_, standing)| **standing != Some(Standing::Ready))
            .map(|(name, _)| name)
            .collect();
        if open.is_empty() {
            return None;
        }
        if let Some(circle) = &self.circle {
            return Some(Notice::circle(circle));
        }
        let unknown: Vec<&Name> = each()
            .filter(|(_, standing)| standing.is_none())
            .map(|(name, _)| name)
            .collect();
        if !unknown.is_empty() {
            return Some(Notice::no_prerequisite(&unknown));
        }
        let told = each().filter_map(|(name, standing)| {
            let standing = standing.filter(|standing| *standing != Standing::Ready)?;
            Some(format!("{name} ({})", standing.told()))
        });
        Some(Notice::prerequisites(&open, &told.collect::<Vec<_>>().join(", ")))
    }
}

/// Returns how an add-on stands on the clusters that have it or are to get it.
fn standings<'v>(view: &View<'v>) -> BTreeMap<&'v Name, Standing> {
    let wanted = wanted(view, &Others::default());
    let configs = effective(view, &wanted);
    let rolling = Rolling::of(view);
    // What an add-on of another manager should have is not known here.
    let is_ours = view.addon.managed && !view.is_anothers();
    let mut all: BTreeMap<&Name, Standing> = BTreeMap::new();
    let coming: BTreeSet<&Name> = wanted.missing.keys().copied().collect();
    all.extend(coming.into_iter().map(|cluster| (cluster, Standing::Coming)));
    for (stand, effective) in wanted.stands.iter().zip(&configs.instances) {
        let instance = stand.site.instance;
        let home = stand.home.and_then(|home| wanted.placements.get(home));
        let outside = rolling
            .as_ref()
            .filter(|rolling| !rolling.may_reach(&instance.cluster));
        let kept = outside.and_then(|rolling| {
            let home = home.map(|selected| selected.by);
            rolling.kept(view, home, instance, effective)
        });
        let target = kept.as_deref().unwrap_or(&effective.refs);
        let counts_alike = kept.is_some() || effective.layering == instance.layering();
        let has_all = !is_ours || (counts_alike && is_settled(&instance.references, target));
        let standing = if instance.meta.deleting || stand.is_leaving() || view.addon.meta.deleting {
            Standing::Leaving
        } else if !has_all || !instance.references.iter().all(Reference::is_applied) {
            Standing::Behind
        } else if !is_up(instance) {
            Standing::Unavailable
        } else {
            Standing::Ready
        };
        all.insert(&instance.cluster, standing);
    }
    all
}

/// An add-on whose health is not looked at (no condition `Available`) is up when it says that it is ready.
fn is_up(instance: &Instance) -> bool {
    let says = |kind: &str| instance.condition(kind).map(|condition| condition.status);
    says(AVAILABLE).or_else(|| says("Ready")) == Some(Status::True)
}
