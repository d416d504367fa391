//! Which clusters get the add-on: the union of its placements, or what its label selector matches.
//!
//! A placement that is missing or undecided never holds the others, and never removes what it once gave. A cluster
//! that is being deleted or has opted out counts as not selected.

use std::collections::{BTreeMap, BTreeSet};

use super::create::mark;
use crate::settled::Others;
use model::Selector;
use store::{Cluster, ConfigRef, InstallStrategy, Instance, Name, PlacementUse, Site, View, order, terms};

/// What is known about the clusters of a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecisionState {
    /// A scheduler has decided it, perhaps for no cluster at all.
    Decided,
    /// The placement does not exist.
    NoPlacement,
    /// The placement exists, but is not decided.
    NoDecision,
}

/// One placement of the add-on with the clusters that it selects.
#[derive(Debug)]
pub(crate) struct Selected<'v> {
    /// The entry of the install strategy.
    pub by: &'v PlacementUse,
    /// Its clusters, without those that get nothing, as far as the plan looks at them; sorted.
    pub clusters: Vec<&'v Name>,
    /// How many more it has.
    pub others: usize,
    /// Whether they are known.
    pub known: DecisionState,
}

/// An instance, and whether its cluster gets the add-on.
#[derive(Debug)]
pub(crate) struct InstanceFate<'v> {
    /// The instance with what stands around it.
    pub site: Site<'v>,
    /// The index of the placement that configures it: the last one that selects its cluster.
    pub home: Option<usize>,
    /// Whether the label selector matches its cluster.
    pub is_labelled: bool,
    /// What becomes of it.
    pub fate: Fate,
}

impl InstanceFate<'_> {
    /// Returns whether its cluster gets the add-on.
    pub(super) fn is_wanted(&self) -> bool {
        self.home.is_some() || self.is_labelled
    }

    /// Returns whether it is being removed: then it is neither written to nor counted, and keeps its current configuration.
    pub(crate) fn is_leaving(&self) -> bool {
        self.fate != Fate::Stays
    }
}

/// The wanted clusters without an instance, each with the index of the placement that configures it, unless labels give it.
pub(crate) type Missing<'v> = BTreeMap<&'v Name, Option<usize>>;

/// Which clusters get the add-on.
#[derive(Debug, Default)]
pub(crate) struct Wanted<'v> {
    /// The placements in the order of the spec.
    pub placements: Vec<Selected<'v>>,
    /// The instances in order of clusters.
    pub stands: Vec<InstanceFate<'v>>,
    /// The wanted clusters without an instance.
    pub missing: Missing<'v>,
    /// The selected clusters that have opted out.
    pub declined: BTreeSet<&'v Name>,
}

impl<'v> Wanted<'v> {
    /// Notes clusters that get the add-on; they are sorted, and so are the instances.
    fn note(&mut self, clusters: &[&'v Name], home: Option<usize>) {
        let mut stands = self.stands.iter_mut().peekable();
        for cluster in clusters {
            while stands
                .next_if(|stand| order(&stand.site.instance.cluster, cluster).is_lt())
                .is_some()
            {}
            match stands.next_if(|stand| order(&stand.site.instance.cluster, cluster).is_eq()) {
                Some(stand) if home.is_some() => stand.home = home,
                Some(stand) => stand.is_labelled = true,
                None => {
                    self.missing.insert(cluster, home);
                }
            }
        }
    }

    /// Returns the first placement of which it is not known what it selects.
    pub(super) fn open(&self) -> Option<&Selected<'v>> {
        let mut all = self.placements.iter();
        all.find(|selected| selected.known != DecisionState::Decided)
    }

    /// Returns whether it is not known which clusters the placement of a mark selects.
    pub(super) fn is_unknown(&self, mark: &str) -> bool {
        let mut unknown = self
            .placements
            .iter()
            .filter(|selected| selected.known != DecisionState::Decided);
        unknown.any(|selected| is_mark_of(selected.by, mark))
    }
}

/// Returns which clusters get the add-on; `others` are those at which the plan does not look.
pub(crate) fn wanted<'v>(view: &View<'v>, others: &Others) -> Wanted<'v> {
    let stand = |site| InstanceFate {
        site,
        home: None,
        is_labelled: false,
        fate: Fate::Stays,
    };
    let mut wanted = Wanted {
        stands: view.sites().into_iter().map(stand).collect(),
        ..Wanted::default()
    };
    match &view.addon.strategy {
        InstallStrategy::Placements => by_placements(view, others, &mut wanted),
        InstallStrategy::Labels(Some(selector)) => by_labels(view, selector, &mut wanted),
        InstallStrategy::Labels(None)
        | InstallStrategy::Manual
        | InstallStrategy::BadLabels(_)
        | InstallStrategy::Other(_) => {}
    }
    for stand in &mut wanted.stands {
        stand.fate = fate(view, stand);
    }
    wanted
}

fn by_placements<'v>(view: &View<'v>, others: &Others, wanted: &mut Wanted<'v>) {
    for (index, by) in view.addon.placements.iter().enumerate() {
        let mut selected = select(view, by);
        selected.others = others.selected(index);
        let mut clusters = Vec::with_capacity(selected.clusters.len());
        for (cluster, found) in view.looked_up(&selected.clusters) {
            if may_have(view, cluster, found, &mut wanted.declined) {
                clusters.push(cluster);
            }
        }
        wanted.note(&clusters, Some(index));
        selected.clusters = clusters;
        wanted.placements.push(selected);
    }
}

fn by_labels<'v>(view: &View<'v>, selector: &Selector, wanted: &mut Wanted<'v>) {
    let mut labelled = Vec::new();
    for (name, cluster) in view.clusters() {
        if cluster.is_matched_by(selector) && may_have(view, name, Some(cluster), &mut wanted.declined) {
            labelled.push(name);
        }
    }
    wanted.note(&labelled, None);
}

/// A cluster that opts out of what a user has given it all the same is configured like the others.
fn may_have<'v>(
    view: &View<'v>,
    cluster: &'v Name,
    found: Option<&Cluster>,
    declined: &mut BTreeSet<&'v Name>,
) -> bool {
    let Some(found) = found else {
        return true;
    };
    if found.meta.deleting {
        return false;
    }
    let by_hand = || {
        view.instance(cluster)
            .is_some_and(|instance| !instance.is_given())
    };
    let refused = found.opts_out_of(&view.addon.name) && !by_hand();
    if refused {
        declined.insert(cluster);
    }
    !refused
}

/// While a placement is unknown it keeps what it gave: no cluster is known to be deselected, and an uninstall or a
/// change of configuration is hard to take back. What its decisions name is believed even when they are not complete.
fn select<'v>(view: &View<'v>, by: &'v PlacementUse) -> Selected<'v> {
    let known = DecisionState::of(view, &by.namespace, &by.name);
    let decided = view.decided(&by.namespace, &by.name);
    let mut clusters: Vec<&Name> = match known {
        DecisionState::Decided => decided,
        DecisionState::NoDecision => kept(view, by).chain(decided).collect(),
        // Decisions that outlive their placement give nothing new.
        DecisionState::NoPlacement => {
            let there = decided
                .into_iter()
                .filter(|cluster| view.instance(cluster).is_some());
            kept(view, by).chain(there).collect()
        }
    };
    clusters.sort();
    clusters.dedup();
    Selected {
        by,
        clusters,
        others: 0,
        known,
    }
}

/// What a placement gave is marked, or else runs with its configurations: a mark of another placement says that it has been
/// taken over since. What was deselected while the placement was known is not taken back.
fn kept<'v>(view: &View<'v>, by: &PlacementUse) -> impl Iterator<Item = &'v Name> {
    let mark = mark(by);
    let others = &view.addon.placements;
    let given = move |instance: &&Instance| {
        let of_another = || others.iter().any(|one| is_mark_of(one, &instance.installed_by));
        instance.deselected_at.is_none()
            && (*instance.installed_by == *mark || (runs_with(instance, &by.configs) && !of_another()))
    };
    view.instances()
        .filter(given)
        .map(|instance| &instance.cluster)
        .collect::<Vec<_>>()
        .into_iter()
}

impl DecisionState {
    /// Returns whether a placement has all its decisions.
    pub(crate) fn of(view: &View<'_>, namespace: &Name, name: &Name) -> Self {
        let named = || {
            view.decisions(namespace, name)
                .map(|decision| decision.clusters.len())
        };
        match view.placement(namespace, name) {
            None => Self::NoPlacement,
            Some(placement) if !placement.is_decided_by(named().sum()) => Self::NoDecision,
            Some(_) => Self::Decided,
        }
    }
}

fn runs_with(instance: &Instance, configs: &[ConfigRef]) -> bool {
    let carries = |config: &ConfigRef| instance.references.iter().any(|one| one.config == *config);
    !configs.is_empty() && configs.iter().all(carries)
}

/// Returns whether a mark names a placement.
fn is_mark_of(by: &PlacementUse, mark: &str) -> bool {
    mark.split_once('/')
        .is_some_and(|(namespace, name)| *namespace == *by.namespace && *name == *by.name)
}

/// Returns the mark that the instance of a wanted cluster should carry, if it is not this one.
pub(super) fn other_mark(wanted: &Wanted<'_>, stand: &InstanceFate<'_>, mark_now: &str) -> Option<String> {
    if let Some(selected) = stand.home.and_then(|index| wanted.placements.get(index)) {
        return (!is_mark_of(selected.by, mark_now)).then(|| mark(selected.by));
    }
    let by_labels = stand.is_labelled && *mark_now != *terms::BY_LABELS;
    by_labels.then(|| terms::BY_LABELS.to_owned())
}

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
