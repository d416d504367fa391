//! Who is created, adopted, brought up to date, let go and removed.
//!
//! Never changes the spec of an instance, but for a version that no user chose (`version::follow`) and an install namespace that no
//! user gave (`create::due_namespace`). Removal waits for the time
//! of grace: a scheduler that forgets a cluster for a moment uninstalls nothing, and neither does a strategy as long as it is not
//! known what each of its placements selects.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::annotations;
use super::budget::{Budget, Holding, Proof};
use super::create::{Giver, create, due_namespace};

use super::wanted::{DecisionState, Fate, InstanceFate, Selected, Wanted, follows, other_mark};
use crate::census::{Newcomers, Unmade};
use crate::owners;
use crate::types::{Action, Revision, Wait, WaitOn, earliest};
use crate::version;
use store::{InstallStrategy, Instance, Kind, Name, ObjectKey, Site, View, terms};

/// The writes that give the add-on to the wanted clusters and take it from the others.
#[derive(Debug, Default)]
pub(crate) struct Membership {
    /// The writes.
    pub actions: Vec<Action>,
    /// What holds others.
    pub waits: Vec<Wait>,
    /// When the first time of grace ends.
    pub recheck_at: Option<Timestamp>,
    /// The wanted clusters that have no instance.
    pub missing: Newcomers,
    /// Those of them whose instance the hub refuses.
    pub unmade: Unmade,
    /// The removals that are held.
    pub holding: Holding,
    /// The clusters that nothing selects, and whose instance stays because another field manager applies it.
    pub kept: BTreeSet<Name>,
}

impl Membership {
    /// Notes an instance that nothing selects any more and that another field manager applies; nothing while it is not known
    /// what a placement selects.
    fn note_kept(&mut self, view: &View<'_>, wanted: &Wanted<'_>, stand: &InstanceFate<'_>) {
        let instance = stand.site.instance;
        let is_ours = !instance.claims.is_adopted() || !follows(&view.addon.strategy);
        if is_ours || stand.is_wanted() || wanted.open().is_some() {
            return;
        }
        self.kept.insert(instance.cluster.clone());
        let on = WaitOn::Adopted(instance.claims.adopter.clone());
        self.waits.push(Wait::cluster(&instance.cluster, on));
    }
}

/// Returns the writes that give the add-on to the wanted clusters and take it from the others.
pub(crate) fn membership(view: &View<'_>, wanted: &Wanted<'_>, now: Timestamp) -> Membership {
    let mut all = Membership {
        waits: strategy_waits(view, wanted),
        ..Membership::default()
    };
    let mut budget = Budget::new(view, now);
    for stand in &wanted.stands {
        let instance = stand.site.instance;
        if instance.meta.deleting {
            if stand.is_wanted() {
                all.waits.push(Wait::cluster(&instance.cluster, WaitOn::Deletion));
            }
            continue;
        }
        match stand.fate {
            Fate::Stays => {
                all.note_kept(view, wanted, stand);
                all.actions.extend(tend(view, wanted, stand));
            }
            Fate::Goes(why) if budget.lets_go(&stand.site) => all.actions.push(remove(instance, why)),
            Fate::Goes(_) => {}
            Fate::Parting => part(view, wanted, &stand.site, &mut budget, now, &mut all),
        }
    }
    all.holding = budget.holding;
    all.waits.append(&mut budget.waits);
    all.recheck_at = earliest(all.recheck_at, budget.recheck_at);
    for (cluster, home) in &wanted.missing {
        all.missing.all = all.missing.all.saturating_add(1);
        match entry(view, wanted, cluster, *home) {
            Ok(action) => {
                // It is tried again all the same: what the hub lacks may come, as the namespace of a cluster does.
                match view.trouble(action.object()) {
                    Some(why) => {
                        all.unmade.add(cluster, why);
                        all.waits
                            .push(Wait::cluster(cluster, WaitOn::Creation(why.clone())));
                    }
                    None => all.missing.made = all.missing.made.saturating_add(1),
                }
                all.actions.push(action);
            }
            Err(on) => all.waits.push(Wait::cluster(cluster, on)),
        }
    }
    let declined = wanted.declined.iter();
    all.waits
        .extend(declined.map(|cluster| Wait::cluster(cluster, WaitOn::OptedOut)));
    all
}

/// What holds the install strategy as a whole.
fn strategy_waits(view: &View<'_>, wanted: &Wanted<'_>) -> Vec<Wait> {
    match &view.addon.strategy {
        InstallStrategy::Manual | InstallStrategy::Labels(Some(_)) => Vec::new(),
        InstallStrategy::Placements => wanted.placements.iter().filter_map(undecided).collect(),
        InstallStrategy::Labels(None) => vec![Wait::addon(WaitOn::NoLabelSelector)],
        InstallStrategy::BadLabels(why) => vec![Wait::addon(WaitOn::LabelSelector(why.clone()))],
        InstallStrategy::Other(kind) => vec![Wait::addon(WaitOn::InstallStrategy(kind.clone()))],
    }
}

fn undecided(selected: &Selected<'_>) -> Option<Wait> {
    let (namespace, name) = (selected.by.namespace.clone(), selected.by.name.clone());
    match selected.known {
        DecisionState::Decided => None,
        DecisionState::NoPlacement => Some(Wait::addon(WaitOn::Placement(namespace, name))),
        DecisionState::NoDecision => Some(Wait::addon(WaitOn::Decision(namespace, name))),
    }
}

/// Returns the creation of a wanted cluster's instance, or what it waits for.
fn entry(
    view: &View<'_>,
    wanted: &Wanted<'_>,
    cluster: &Name,
    home: Option<usize>,
) -> Result<Action, WaitOn> {
    let found = view.cluster(cluster).ok_or(WaitOn::Cluster)?;
    match home.and_then(|index| wanted.placements.get(index)) {
        Some(selected) => Ok(create(view, Giver::Placement(selected.by), cluster, found)),
        // Its namespace only comes with the acceptance. A scheduler knows that; labels do not.
        None if !found.accepted => Err(WaitOn::Acceptance),
        None => Ok(create(view, Giver::Labels, cluster, found)),
    }
}

fn key(instance: &Instance) -> ObjectKey {
    ObjectKey::new(Kind::Instance, instance.cluster.clone(), instance.addon.clone())
}

fn remove(instance: &Instance, why: &'static str) -> Action {
    Action::Delete {
        object: key(instance),
        before: Revision::from(&instance.meta),
        why,
    }
}

/// Lets an instance go whose cluster nothing selects any more: marked first, removed when the grace is over.
fn part(
    view: &View<'_>,
    wanted: &Wanted<'_>,
    site: &Site<'_>,
    budget: &mut Budget<'_>,
    now: Timestamp,
    all: &mut Membership,
) {
    const WHY: &str = "nothing selects the cluster any more";
    let instance = site.instance;
    if let Some(open) = wanted.open() {
        // It may select the cluster, so the cluster is not known to be deselected: the time of grace does not even begin.
        budget.leave_open(instance, open.by);
        return;
    }
    let grace = whole_seconds(view.settings().decision_grace);
    let (grace, known_since) = match budget.proof(site) {
        Proof::Enough => (grace, None),
        // A hub's clock may have jumped before this program began: what it has not seen last has not lasted.
        Proof::Lasting(length) => (grace.max(length), view.writes_since()),
        Proof::None(absences) => {
            budget.doubt(instance, absences);
            return;
        }
    };
    if grace.is_zero() {
        if budget.lets_go(site) {
            all.actions.push(remove(instance, WHY));
        }
        return;
    }
    // A mark in the future would keep the instance for as long as a wrong clock likes.
    let Some(since) = instance.deselected_at.filter(|since| *since <= now) else {
        all.actions.push(Action::Replace {
            object: key(instance),
            before: Revision::from(&instance.meta),
            patch: json!({"metadata": {"annotations": {(terms::DESELECTED_AT): now.to_string()}}}).into(),
            why: WHY,
        });
        return;
    };
    let since = known_since.map_or(since, |known| known.max(since));
    let due = since.checked_add(grace).unwrap_or(Timestamp::MAX);
    if now >= due {
        if budget.lets_go(site) {
            all.actions.push(remove(instance, WHY));
        }
        return;
    }
    all.waits
        .push(Wait::cluster(&instance.cluster, WaitOn::Grace(due)));
    all.recheck_at = earliest(all.recheck_at, Some(due));
}

/// Plans count in whole seconds; a fraction would be due before it can be seen.
fn whole_seconds(grace: Duration) -> SignedDuration {
    let rest = u64::from(grace.subsec_nanos() > 0);
    let seconds = grace.as_secs().saturating_add(rest);
    SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX))
}

/// The add-on owns its instances; marks follow what gives them now, and annotations follow the cluster.
fn tend(view: &View<'_>, wanted: &Wanted<'_>, stand: &InstanceFate<'_>) -> Option<Action> {
    let Site {
        instance, cluster, ..
    } = stand.site;
    let mut annotations = Map::new();
    let (mut metadata, mut patch) = (Map::new(), Map::new());
    let mut why = "the annotations of the cluster are copied to its add-ons";
    if let Some(cluster) = cluster.filter(|_| follows(&view.addon.strategy)) {
        annotations = annotations::changes(cluster, instance);
    }
    let is_ours = |mark: &str| !instance.claims.has(mark);
    if instance.deselected_at.is_some() && is_ours(terms::DESELECTED_AT) {
        annotations.insert(terms::DESELECTED_AT.to_owned(), Value::Null);
        why = "the cluster is selected again";
    }
    if let Some(mark) = passed_on(wanted, stand).filter(|_| is_ours(terms::INSTALLED_BY)) {
        annotations.insert(terms::INSTALLED_BY.to_owned(), Value::from(mark));
        why = "another placement or selector selects the cluster now";
    }
    let mut spec = Map::new();
    if let Some(version) = version::follow(home(wanted, stand), instance) {
        annotations.insert(terms::GIVEN_VERSION.to_owned(), version.clone());
        spec.insert("desiredVersion".to_owned(), version);
        why = "the placement sets another version";
    }
    if let Some(namespace) = due_namespace(view, &stand.site) {
        spec.insert("installNamespace".to_owned(), Value::from(namespace));
        why = "the placement sets the install namespace";
    }
    if !spec.is_empty() {
        patch.insert("spec".to_owned(), Value::Object(spec));
    }
    if !annotations.is_empty() {
        metadata.insert("annotations".to_owned(), Value::Object(annotations));
    }
    if let Some(owners) = owners::adopted(view.addon, &instance.owners) {
        metadata.insert("ownerReferences".to_owned(), Value::Array(owners));
        why = "the add-on owns its instances";
    }
    if !metadata.is_empty() {
        patch.insert("metadata".to_owned(), Value::Object(metadata));
    }
    if patch.is_empty() {
        return None;
    }
    Some(Action::Replace {
        object: key(instance),
        before: Revision::from(&instance.meta),
        patch: Value::Object(patch).into(),
        why,
    })
}

/// Returns the placement that configures the cluster of an instance.
fn home<'w, 'v>(wanted: &'w Wanted<'v>, stand: &InstanceFate<'_>) -> Option<&'w Selected<'v>> {
    wanted.placements.get(stand.home?)
}

/// Returns the new mark of an instance that something else gives now. A placement that is unknown gives nothing away: it may
/// still want the cluster.
fn passed_on(wanted: &Wanted<'_>, stand: &InstanceFate<'_>) -> Option<String> {
    let instance = stand.site.instance;
    if instance.installed_by.is_empty() || wanted.is_unknown(&instance.installed_by) {
        return None;
    }
    other_mark(wanted, stand, &instance.installed_by)
}
