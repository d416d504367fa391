//! The status of the add-on itself: default references and the progression of every placement.
//!
//! Decides counters and the moment at which a placement is done. Stays bounded whatever the number of clusters is.

use jiff::Timestamp;

use super::conditions::{Wish, merge};
use super::config::{Configs, Effective};
use super::few::Few;
use super::install::{DecisionState, Selected, Wanted};
use super::instance_state::PROGRESSING;
use super::rollout::{Asked, Breach, Counts, Placed, blamed};
use snapshot::{
    Applied, Compat, Condition, ConfigRef, InstallStrategy, Name, Progression, ProgressionReference, Status,
    View, terms,
};

/// What the status of the add-on should be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Summary {
    /// `defaultconfigReferences`
    pub defaults: Vec<(ConfigRef, Name)>,
    /// `installProgressions`; absent leaves what stands there.
    pub progressions: Option<Vec<Progression>>,
    /// `supportedVersions` and `defaultVersion`; absent leaves what stands there.
    pub versions: Option<(Vec<Name>, Name)>,
}

/// Returns the status of the add-on.
pub(super) fn summary(
    view: &View<'_>,
    wanted: &Wanted<'_>,
    configs: &Configs,
    placed: &[Placed],
    now: Timestamp,
) -> Summary {
    let progressions = if !view.addon.managed {
        None
    } else if view.addon.strategy == InstallStrategy::Placements {
        let each = wanted.placements.iter().zip(&configs.inherited).zip(placed);
        Some(
            each.map(|((selected, inherited), placed)| progression(view, selected, inherited, placed, now))
                .collect(),
        )
    } else {
        Some(Vec::new())
    };
    let defaults = configs
        .defaults
        .iter()
        .map(|desired| (desired.config.clone(), desired.hash.clone()));
    Summary {
        defaults: defaults.collect(),
        progressions,
        versions: view.addon.managed.then(|| {
            let listed = configs.versions.supported();
            (
                listed.map(|offer| Name::from(offer.text())).collect(),
                configs.default_version.clone(),
            )
        }),
    }
}

/// Returns the status of the add-on as it stands.
pub(super) fn unchanged(view: &View<'_>) -> Summary {
    Summary {
        defaults: view.addon.defaults.clone(),
        progressions: None,
        versions: None,
    }
}

fn progression(
    view: &View<'_>,
    selected: &Selected<'_>,
    inherited: &Effective,
    placed: &Placed,
    now: Timestamp,
) -> Progression {
    let (namespace, name) = (&selected.by.namespace, &selected.by.name);
    let stored = view.addon.progressions.iter().flatten();
    let old = stored
        .into_iter()
        .find(|old| old.namespace == *namespace && old.name == *name);
    let is_ocm = view.settings().is_ocm();
    let done = selected.known == DecisionState::Decided
        && placed.counts.done == placed.configured
        // To Open Cluster Management nobody is never done.
        && (placed.configured > 0 || !is_ocm);
    // What nobody runs is not known to be good.
    let is_proved = done && placed.configured > 0;
    let references = inherited.refs.iter().map(|desired| {
        let before = old.and_then(|old| before(old, &desired.config, view.settings().compat));
        let reached = Applied {
            namespace: desired.config.namespace.clone(),
            name: desired.config.name.clone(),
            hash: desired.hash.clone(),
        };
        ProgressionReference {
            config: desired.config.clone(),
            desired: desired.hash.clone(),
            applied: if is_proved {
                Some(reached.clone())
            } else {
                before.and_then(|before| before.applied.clone())
            },
            known_good: if is_proved {
                Some(reached)
            } else {
                before.and_then(|before| before.known_good.clone())
            },
        }
    });
    let all = selected.clusters.len().saturating_add(selected.others);
    let wishes = if is_ocm {
        vec![sentence(all, placed, done).bare_if(true)]
    } else {
        let more = stalled(selected, placed)
            .into_iter()
            .chain(paused(selected, placed));
        std::iter::once(counted(all, placed, done)).chain(more).collect()
    };
    // Two of them are only there while they are true.
    let is_past = |one: &&Condition| {
        let wished = wishes.iter().any(|wish| wish.kind() == &*one.kind);
        !wished && [STALLED, PAUSED].contains(&&*one.kind)
    };
    let stated = old.into_iter().flat_map(|old| &old.conditions);
    let observed: Vec<Condition> = stated.filter(|one| !is_past(one)).cloned().collect();
    Progression {
        namespace: namespace.clone(),
        name: name.clone(),
        references: references.collect(),
        conditions: merge(&observed, &wishes, Some(view.addon.meta.generation), now).into_owned(),
    }
}

/// Returns what a progression remembers of a configuration: of the same object, else of the only one of its type. Whoever names another
/// object wants to know what was good before; Open Cluster Management forgets it.
pub(super) fn before<'p>(
    old: &'p Progression,
    config: &ConfigRef,
    compat: Compat,
) -> Option<&'p ProgressionReference> {
    let same = old.references.iter().find(|before| before.config == *config);
    let mut alike = old
        .references
        .iter()
        .filter(|before| before.config.of == config.of);
    let only = || alike.next().filter(|_| alike.next().is_none());
    match compat {
        Compat::Tidegate => same.or_else(only),
        Compat::Ocm => same,
    }
}

const STALLED: &str = "Stalled";
const PAUSED: &str = "Paused";

/// OCM's sentence, and behind it who failed and who is waited for: clusters and groups by name.
fn counted(selected: usize, placed: &Placed, done: bool) -> Wish<'static> {
    let wish = sentence(selected, placed, done);
    if done {
        return wish;
    }
    let mut message = wish.message().to_owned();
    for part in details(placed).into_iter().flatten() {
        message.push(' ');
        message.push_str(&part);
        message.push('.');
    }
    Wish::new(PROGRESSING, Status::True, "Progressing", message)
}

/// OCM's sentence.
fn sentence(selected: usize, placed: &Placed, done: bool) -> Wish<'static> {
    let Placed {
        counts, configured, ..
    } = placed;
    let Counts {
        failed, timed_out, ..
    } = counts;
    let started = counts.progressing.saturating_add(counts.done);
    let head = format!("selected clusters {selected}. configured addons {started}/{configured}");
    if done {
        let message = format!("{head} completed with no errors, {failed} failed {timed_out} timeout.");
        return Wish::new(PROGRESSING, Status::False, "Completed", message);
    }
    let message = format!("{head} progressing..., {failed} failed {timed_out} timeout.");
    Wish::new(PROGRESSING, Status::True, "Progressing", message)
}

/// What OCM's sentence does not tell.
fn details(placed: &Placed) -> [Option<String>; 7] {
    let few = |what: &str, few: &Few| (!few.is_empty()).then(|| format!("{what}: {few}"));
    let blocked = placed.blocked;
    let asked = placed.asked.as_ref().filter(|asked| asked.waiting() > 0);
    let unapproved = asked.map_or(0, Asked::waiting);
    let waiting = placed
        .counts
        .waiting
        .saturating_sub(blocked.saturating_add(unapproved));
    let held = placed.counts.held;
    [
        few("Failed", &placed.failed),
        few("Timed out", &placed.late),
        placed.paused.then(|| "Paused".to_owned()),
        (waiting > 0).then(|| {
            let now = placed.awaited();
            if placed.paused || now.is_empty() {
                return format!("{waiting} wait");
            }
            format!("{waiting} wait for {now}")
        }),
        asked.map(approval),
        (blocked > 0).then(|| format!("{blocked} wait for another add-on or a window")),
        (held > 0).then(|| format!("{held} held by spec.configuration")),
    ]
}

/// Who waits for somebody's approval, and of what.
fn approval(asked: &Asked) -> String {
    let groups: Few = asked.now().map(|group| &group.name).collect();
    let (waiting, hash) = (asked.waiting(), &asked.hash);
    format!("{waiting} wait for an approval of {hash} for decision group {groups}")
}

/// Says what no amount of waiting changes.
fn stalled(selected: &Selected<'_>, placed: &Placed) -> Option<Wish<'static>> {
    let (namespace, name) = (&selected.by.namespace, &selected.by.name);
    let (reason, message) = match (selected.known, &placed.bar, placed.breach) {
        (DecisionState::NoPlacement, _, _) => (
            "PlacementNotFound",
            format!("placement {namespace}/{name} does not exist"),
        ),
        (DecisionState::NoDecision, _, _) => (
            "DecisionNotFound",
            format!("placement {namespace}/{name} is not decided yet"),
        ),
        (DecisionState::Decided, Some(bar), _) => (bar.reason, bar.message.to_string()),
        (DecisionState::Decided, None, Some(breach)) if placed.counts.waiting > 0 => {
            ("TooManyFailures", too_many(placed, breach))
        }
        (DecisionState::Decided, None, _) => return None,
    };
    Some(Wish::new(STALLED, Status::True, reason, message))
}

fn too_many(placed: &Placed, breach: Breach) -> String {
    let Breach {
        failures, tolerated, ..
    } = breach;
    let who = blamed(placed.culprits());
    match &placed.mandatory {
        Some(group) => format!(
            "{failures} failed or late of the mandatory decision group {group}, which tolerates none: nothing new starts; {who}"
        ),
        None => format!("{failures} failed or late, {tolerated} may: nothing new starts; {who}"),
    }
}

fn paused(selected: &Selected<'_>, placed: &Placed) -> Option<Wish<'static>> {
    let (namespace, name) = (&selected.by.namespace, &selected.by.name);
    let waiting = placed.counts.waiting;
    let message = format!(
        "the annotation {} pauses the rollout of placement {namespace}/{name}: {waiting} clusters wait",
        terms::PAUSED
    );
    placed
        .paused
        .then(|| Wish::new(PAUSED, Status::True, "RolloutPaused", message))
}
