//! The pace of rollouts: limits, groups and failures of every placement, judged from the view and the writes alone.
//!
//! Decides only what is certain: what soaks, and what has failed with content that may not be the present one, is left
//! out. Strategies that give no add-on by placements have no pace of a placement, whatever entries they keep.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::approval::{unapproved, unchecked};
use super::standing::{AssignedConfig, InstanceStanding, Terms, Written, assigned, is_same, standing, there};
use super::undone;
use model::{ConfigRollout, Limit, MandatoryGroup, ProgressDeadline, RolloutStrategy, Tolerance};
use store::{ClusterConfigs, ConfigRef, InstallStrategy, Instance, Name, PlacementUse, View};

/// Returns every rollout that the plan drives too fast.
pub(super) fn broken(
    view: &View<'_>,
    homes: &Homes<'_>,
    written: &Written<'_>,
    now: Timestamp,
) -> Vec<String> {
    if written.is_empty() {
        return Vec::new();
    }
    let mut broken: Vec<String> = homeless(view, homes, written, now).into_iter().collect();
    for (index, by) in rolling_entries(view) {
        let Ok(strategy) = view.strategy(by) else { continue };
        let paused = view.rollout().pause(&by.namespace, &by.name).is_some();
        let per_group = view
            .placement(&by.namespace, &by.name)
            .and_then(|found| found.per_group);
        let Some(mut course) = Course::of(strategy, per_group, paused) else {
            let name = strategy.kind.name();
            broken.push(format!("the strategy {name} is not known to this checker"));
            continue;
        };
        let goes_back = undone::goes_back(view, by, written);
        if goes_back {
            course = course.back();
        }
        let own = homes.clusters.iter().filter(|(_, home)| home.index == index);
        let members: Vec<Member<'_>> = own
            .filter_map(|(cluster, home)| course.member(view, (cluster, home), written, now))
            .collect();
        let faults = [
            course.unpaused(&members),
            course.crowded(&members),
            out_of_turn(&members),
            course.reckless(view, &members),
            unapproved(view, by, &members).filter(|_| !goes_back),
            unchecked(view, by, &members, now).filter(|_| !goes_back),
        ];
        let place = format!("placement {}/{}", by.namespace, by.name);
        let faults = faults.into_iter().flatten();
        broken.extend(faults.map(|fault| format!("{place}: {fault}")));
    }
    broken
}

/// So long a cluster is being rolled back where its strategy has no deadline.
const PATIENCE: Duration = Duration::from_mins(10);

/// The entries whose clusters are certain: no entry after them is undecided, which might claim some of them.
fn rolling_entries<'v>(view: &View<'v>) -> impl Iterator<Item = (usize, &'v PlacementUse)> + use<'v> {
    let placements = &view.addon.placements;
    let undecided = placements.iter().rposition(|by| !is_decided(view, by));
    let certain = undecided.map_or(0, |last| last.saturating_add(1));
    placements.iter().enumerate().skip(certain)
}

/// While a placement is not decided, only the planner works out which clusters are its own.
fn is_decided(view: &View<'_>, by: &PlacementUse) -> bool {
    let decisions = || view.decisions(&by.namespace, &by.name);
    let named: usize = decisions().map(|decision| decision.clusters.len()).sum();
    view.placement(&by.namespace, &by.name)
        .is_some_and(|placement| match placement.selected {
            Some(counted) => i64::try_from(named).is_ok_and(|named| named == counted),
            // Who has not counted yet writes decisions before it fills them in.
            None => named > 0,
        })
}

/// Where a cluster is configured: the last placement whose decisions name it, and its decision group there, which is the first
/// of them while decisions that are being rewritten name it in several.
struct Home {
    index: usize,
    group: (u32, Name),
}

/// The homes of all clusters.
pub(super) struct Homes<'v> {
    clusters: BTreeMap<&'v Name, Home>,
    /// Whether every cluster that is not in the map is known to have none.
    is_whole: bool,
}

/// What is known about the placement that configures a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundHome {
    /// It has this index.
    At(usize),
    /// There is none.
    None,
    /// It is not known: a placement is not decided.
    Unclear,
}

impl Homes<'_> {
    /// Returns which placement configures a cluster.
    pub(super) fn of(&self, cluster: &Name) -> FoundHome {
        match self.clusters.get(cluster) {
            _ if !self.is_whole => FoundHome::Unclear,
            Some(home) => FoundHome::At(home.index),
            None => FoundHome::None,
        }
    }
}

/// Returns where clusters are configured. Without a strategy that uses placements they have no home there.
pub(super) fn homes<'v>(view: &View<'v>) -> Homes<'v> {
    let mut clusters: BTreeMap<&'v Name, Home> = BTreeMap::new();
    if view.addon.strategy != InstallStrategy::Placements {
        return Homes {
            clusters,
            is_whole: true,
        };
    }
    for (index, by) in view.addon.placements.iter().enumerate() {
        for decision in view.decisions(&by.namespace, &by.name) {
            let group = (decision.group_index, decision.group_name.clone());
            for cluster in &decision.clusters {
                let known = clusters.get(cluster).filter(|home| home.index == index);
                if known.is_none_or(|home| group < home.group) {
                    let group = group.clone();
                    clusters.insert(cluster, Home { index, group });
                }
            }
        }
    }
    let is_whole = view.addon.placements.iter().all(|by| is_decided(view, by));
    Homes { clusters, is_whole }
}

/// What belongs to no placement moves at once, unless everything is paused.
fn homeless(view: &View<'_>, homes: &Homes<'_>, written: &Written<'_>, now: Timestamp) -> Option<String> {
    if view.rollout().pause_of_all().is_none() || !homes.is_whole {
        return None;
    }
    let terms = Terms {
        deadline: ProgressDeadline::None,
        paused: true,
        now,
    };
    let starts = |(cluster, after): (&&Name, &Vec<AssignedConfig>)| {
        let instance = there(view, cluster).filter(|_| homes.of(cluster) == FoundHome::None)?;
        let standing = standing(view, instance, Some(after), terms);
        standing.starts.then(|| (*cluster).clone())
    };
    let first = written.iter().find_map(starts)?;
    Some(format!("{first} starts although everything is paused"))
}

/// A strategy, as far as it can be judged.
struct Course<'v> {
    paused: bool,
    mandatory: &'v [MandatoryGroup],
    /// How many clusters outside of the mandatory groups may be in progress; absent where that is not limited.
    limit: Option<Limit>,
    by_group: bool,
    /// How many may fail of all clusters, or of a group where groups go one by one; absent where failures stop nothing.
    tolerance: Option<Tolerance>,
    deadline: ProgressDeadline,
}

/// The place of a cluster in the order of groups: mandatory ones first.
pub(super) type Stage = (bool, u32, Name);

/// A cluster of a placement: before and after the plan.
pub(super) struct Member<'v> {
    pub(super) instance: &'v Instance,
    /// Its decision group: index and name.
    pub(super) group: (u32, Name),
    pub(super) stage: Stage,
    pub(super) standing: InstanceStanding,
    /// What it is assigned after the plan.
    pub(super) after: Vec<AssignedConfig>,
}

impl Member<'_> {
    pub(super) fn name(&self) -> Name {
        self.instance.cluster.clone()
    }
}

impl<'v> Course<'v> {
    /// Returns nothing for a strategy that is not known here.
    fn of(strategy: &'v RolloutStrategy, per_group: Option<Limit>, paused: bool) -> Option<Self> {
        let RolloutStrategy {
            kind,
            mandatory,
            limit,
            pace,
        } = strategy;
        let paced = Self {
            paused,
            mandatory,
            limit: None,
            by_group: false,
            tolerance: Some(pace.tolerance),
            deadline: pace.deadline,
        };
        let given = |limit: Option<Limit>| limit.filter(|limit| *limit != Limit::All);
        Some(match kind.name() {
            "All" => Self {
                mandatory: &[],
                // Zero is also what stands there where the spec sets nothing, and stops nothing.
                tolerance: Some(pace.tolerance).filter(|tolerance| tolerance.of(100) > 0),
                ..paced
            },
            "Progressive" => Self {
                limit: given(*limit).or_else(|| given(per_group)),
                ..paced
            },
            "ProgressivePerGroup" => Self {
                by_group: true,
                ..paced
            },
            _ => return None,
        })
    }

    /// On the way back no group goes first, no failure stops it, and no cluster is waited for without an end.
    fn back(self) -> Self {
        Self {
            mandatory: &[],
            tolerance: None,
            deadline: match self.deadline {
                ProgressDeadline::None => ProgressDeadline::After(PATIENCE),
                given @ ProgressDeadline::After(_) => given,
            },
            ..self
        }
    }

    fn member(
        &self,
        view: &View<'v>,
        (cluster, home): (&'v Name, &Home),
        written: &Written<'_>,
        now: Timestamp,
    ) -> Option<Member<'v>> {
        let instance = there(view, cluster)?;
        let terms = Terms {
            deadline: self.deadline,
            paused: self.paused,
            now,
        };
        let after = written.get(cluster);
        Some(Member {
            instance,
            group: home.group.clone(),
            stage: self.stage(&home.group),
            standing: standing(view, instance, after, terms),
            after: after.cloned().unwrap_or_else(|| assigned(instance)),
        })
    }

    /// Mandatory groups come first, one after another; then all others, one after another or together.
    fn stage(&self, group: &(u32, Name)) -> Stage {
        let is_mandatory = self.is_mandatory(group);
        if is_mandatory || self.by_group {
            (!is_mandatory, group.0, group.1.clone())
        } else {
            (true, 0, Name::from(""))
        }
    }

    fn is_mandatory(&self, group: &(u32, Name)) -> bool {
        self.mandatory.iter().any(|selector| match selector {
            MandatoryGroup::Named(name) => **name == *group.1,
            MandatoryGroup::At(index) => *index == group.0,
        })
    }

    /// More are in progress than may be, and the plan adds to them.
    fn crowded(&self, members: &[Member<'_>]) -> Option<String> {
        let rest: Vec<&Member<'_>> = members.iter().filter(|member| member.stage.0).collect();
        let limit = self.limit?.of(rest.len()).max(1);
        let moving = rest.iter().filter(|member| member.standing.moves).count();
        let is_added = rest
            .iter()
            .any(|member| member.standing.starts && !member.standing.was_sent);
        (is_added && moving > limit)
            .then(|| format!("{moving} clusters would be updating, and the limit is {limit}"))
    }

    /// A cluster starts although more have failed than may: none of a mandatory group; of all, or of its own group where groups
    /// go one by one.
    fn reckless(&self, view: &View<'_>, members: &[Member<'_>]) -> Option<String> {
        // The writes for other clusters do not tell what a change of `spec.configuration` has yet to reach.
        if view.addon.configuration_rollout != Ok(ConfigRollout::UpdateAll) {
            return None;
        }
        let started = members.iter().find(|member| member.standing.starts)?;
        let mut stages: BTreeMap<&Stage, (usize, usize)> = BTreeMap::new();
        for member in members {
            let (size, failed) = stages.entry(&member.stage).or_default();
            *size = size.saturating_add(1);
            if member.standing.failed && is_present(view, member, started) {
                *failed = failed.saturating_add(1);
            }
        }
        let (failed, tolerated) = stages.into_iter().find_map(|(stage, (size, failed))| {
            let of = if self.by_group { size } else { members.len() };
            let tolerated = if stage.0 { self.tolerance?.of(of) } else { 0 };
            (failed > tolerated).then_some((failed, tolerated))
        })?;
        let name = started.name();
        Some(format!(
            "{name} starts although {failed} have failed, and {tolerated} may"
        ))
    }

    fn unpaused(&self, members: &[Member<'_>]) -> Option<String> {
        let mut starting = members.iter().filter(|member| member.standing.starts);
        let first = starting.next().filter(|_| self.paused)?;
        Some(format!("{} starts although the rollout is paused", first.name()))
    }
}

/// A cluster starts although one of an earlier group is in progress.
fn out_of_turn(members: &[Member<'_>]) -> Option<String> {
    let moving = members.iter().filter(|member| member.standing.moves);
    let first = moving.min_by(|one, other| one.stage.cmp(&other.stage))?;
    let early = members
        .iter()
        .find(|member| member.standing.starts && member.stage > first.stage)?;
    let (name, first) = (early.name(), first.name());
    Some(format!(
        "{name} starts while {first} of an earlier group is still updating"
    ))
}

/// Whether a cluster is certainly assigned what one that starts now gets: a failure from before an edit of the configuration says
/// nothing about the edit. What the failed one has of its own is left aside, as far as it is assigned as it is asked for; what
/// only the other one has of its own hides what it inherits in that place, so that the two cannot be compared.
fn is_present(view: &View<'_>, failed: &Member<'_>, started: &Member<'_>) -> bool {
    let chooses = |member: &Member<'_>| !member.instance.desired_version.is_empty();
    let mut own = failed.instance.configs.iter();
    let is_assigned = own.all(|config| failed.after.iter().any(|one| one.config == *config));
    let passes =
        failed.instance.configs.is_empty() || view.settings().cluster_configs == ClusterConfigs::AtOnce;
    let is_shared = |config: &ConfigRef| failed.instance.configs.iter().any(|own| own.of == config.of);
    let hides = !started.instance.configs.iter().all(is_shared);
    if chooses(failed) || chooses(started) || !is_assigned || !passes || hides {
        return false;
    }
    let inherited = |of: &Member<'_>| -> Vec<AssignedConfig> {
        let is_own = |one: &AssignedConfig| {
            let mut own = failed.instance.configs.iter();
            own.any(|config| config.of == one.config.of)
        };
        of.after.iter().filter(|one| !is_own(one)).cloned().collect()
    };
    is_same(&inherited(failed), &inherited(started))
}
