//! What a plan has decided about its rollout, for every face that shows it: placements with stages, clusters with turns.
//!
//! Decides nothing: it is written down while the plan is made, so that no face has to find it out a second time.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::addon_status::{Summary, before, undone};
use crate::census::InstanceTally;
use crate::config::{Configs, Desired};
use crate::install::{DecisionState, Selected, Wanted};
use crate::rollout::{Asked, Member, Placed, Rolled};
use ::model::engine::{Breach, Counts, Course, StageCounts, UnitState, Verdict};
use api::reason::Reason;
use store::{Applied, Compat, Condition, ConfigRef, Name, Progression, View};

/// What a plan has decided about the rollout of one add-on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outlook {
    /// The placements in the order of the spec.
    pub placements: Vec<PlacementOutlook>,
    /// The clusters with an instance, in order of their names.
    pub clusters: Vec<ClusterOutlook>,
    /// The clusters that get one, each with the placement that configures it.
    pub missing: BTreeMap<Name, Option<usize>>,
    /// `Ready`, `Reconciling` and `Stalled` of the add-on as this plan writes them.
    pub conditions: Vec<Condition>,
}

/// The rollout over one placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementOutlook {
    /// Namespace of the placement.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
    /// How changes are rolled out to it.
    pub course: Course,
    /// Its clusters, counted.
    pub counts: Counts,
    /// How many clusters it configures.
    pub configured: usize,
    /// Whether it is paused.
    pub paused: bool,
    /// What has to be approved, where changes wait for that.
    pub asked: Option<Asked>,
    /// Why nothing can be rolled out, whichever clusters wait: the reason in one word, and the sentence.
    pub barred: Option<(Reason, String)>,
    /// Too many failures, when there are too many.
    pub breach: Option<Breach>,
    /// Its stages in their order, counted.
    pub stages: Vec<StageCounts>,
    /// Its decision groups, as far as they tell turns.
    pub groups: Vec<GroupOutlook>,
    /// What its clusters are configured with.
    pub configs: Vec<ConfigOutlook>,
    /// Why what its clusters should be configured with is undone, or cannot be.
    pub undone: Option<UndoneOutlook>,
}

/// A rollout that was undone, or that would be and cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneOutlook {
    /// The reason in one word.
    pub reason: Reason,
    /// The sentence.
    pub message: Name,
    /// Since when, where it was undone.
    pub since: Option<Timestamp>,
}

/// A decision group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupOutlook {
    /// Its index.
    pub index: u32,
    /// Its name, "" when it has none.
    pub name: Name,
    /// The stage in which it goes.
    pub stage: usize,
}

/// One configuration of a placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigOutlook {
    /// The object.
    pub config: ConfigRef,
    /// Its hash, "" when it is unknown.
    pub hash: Name,
    /// The version that it stands for.
    pub version: Option<Name>,
    /// What all clusters of the placement were last seen to run well.
    pub known_good: Option<Applied>,
    /// The version that that stands for.
    pub known_version: Option<Name>,
}

/// One cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterOutlook {
    /// Its name.
    pub cluster: Name,
    /// The placement that configures it, by its position.
    pub placement: Option<usize>,
    /// Its decision group there, by its position.
    pub group: usize,
    /// How far it is.
    pub standing: UnitState,
    /// What is decided about it.
    pub verdict: Verdict,
    /// Whether it waits for no approval.
    pub approved: bool,
    /// When time alone changes that: the end of its soak, or its deadline.
    pub until: Option<Timestamp>,
    /// What it waits for: the reason in one word, and a sentence.
    pub notice: Option<(Reason, Name)>,
    /// The failure that counts in its rollout.
    pub failure: Option<String>,
    /// How it counts in the health of the add-on.
    pub health: Health,
    /// Since when its condition `Ready` is as it is.
    pub since: Option<Timestamp>,
    /// The version that it runs, "" when it has none.
    pub version: Name,
}

/// How a cluster counts in the health of its add-on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It has what it should have, and its agent works.
    Ready,
    /// It keeps its current configuration by intention: a change of `spec.configuration` is not for it, or its rollout was undone and
    /// it runs with content that is no longer on the hub.
    Kept,
    /// It has what it should have; its cluster is not reachable.
    Unreachable,
    /// It has what it should have, but its agent does not work.
    Unavailable,
    /// On the way.
    Moving,
    /// It waits for its turn, for this reason.
    Waiting(Reason),
    /// Only a user can change it: the reason.
    Stalled(Reason),
    /// It is being deleted.
    Leaving,
}

impl Outlook {
    /// Notes one instance and how it counts; `tally` is absent for one being removed that the census does not count.
    pub(crate) fn note(&mut self, member: &Member<'_>, tally: Option<InstanceTally>) {
        let Rolled {
            home,
            group,
            standing,
            verdict,
            approved,
        } = member.rolled;
        let course = home.and_then(|home| self.placements.get(home));
        let ready = member.instance.condition("Ready");
        self.clusters.push(ClusterOutlook {
            cluster: member.instance.cluster.clone(),
            placement: home,
            group,
            standing,
            verdict,
            approved,
            until: course.and_then(|placement| placement.course.ends(standing, verdict)),
            notice: member
                .notice
                .as_ref()
                .map(|notice| (notice.reason, notice.wait.clone())),
            failure: member.failure.clone(),
            health: tally.map_or(Health::Leaving, Health::of),
            since: ready.and_then(Condition::since),
            version: member.instance.current_version.clone(),
        });
    }

    /// Notes how the plan sums the add-on up.
    pub(crate) fn note_conditions(&mut self, all: &[Condition]) {
        let kinds = ["Ready", "Reconciling", "Stalled"];
        let own = all.iter().filter(|one| kinds.contains(&&*one.kind));
        self.conditions = own.cloned().collect();
    }

    /// Notes what was undone.
    pub(crate) fn note_undone(&mut self, summary: &Summary) {
        let told = summary.progressions.iter().flatten();
        for (placement, progression) in self.placements.iter_mut().zip(told) {
            placement.undone = undone(progression).map(|(reason, said)| UndoneOutlook {
                reason,
                message: said.message.clone(),
                since: progression.undone().map(|undone| undone.since),
            });
        }
    }

    /// Notes the placements, before any instance.
    pub(crate) fn begin(view: &View<'_>, wanted: &Wanted<'_>, configs: &Configs, placed: &[Placed]) -> Self {
        let each = wanted.placements.iter().zip(&configs.inherited).zip(placed);
        let placements = each.map(|((selected, inherited), placed)| {
            let old = progression(view, selected);
            let each = inherited.refs.iter();
            let all = inherited.refs.as_slice();
            let compat = view.settings().compat;
            let configs = each.map(|desired| config(configs, compat, desired, all, old));
            placement(selected, placed, configs.collect())
        });
        Self {
            placements: placements.collect(),
            clusters: Vec::new(),
            conditions: Vec::new(),
            missing: wanted
                .missing
                .iter()
                .map(|(cluster, home)| ((*cluster).clone(), *home))
                .collect(),
        }
    }
}

impl Health {
    fn of(tally: InstanceTally) -> Self {
        match tally {
            InstanceTally::Ready => Self::Ready,
            InstanceTally::Kept { .. } => Self::Kept,
            InstanceTally::Unreachable => Self::Unreachable,
            InstanceTally::Unavailable => Self::Unavailable,
            InstanceTally::Moving => Self::Moving,
            InstanceTally::Waiting(reason) => Self::Waiting(reason),
            InstanceTally::Stalled(reason) => Self::Stalled(reason),
            InstanceTally::Leaving { .. } => Self::Leaving,
        }
    }
}

fn placement(selected: &Selected<'_>, placed: &Placed, configs: Vec<ConfigOutlook>) -> PlacementOutlook {
    let by = selected.by;
    let what = || format!("placement {}/{}", by.namespace, by.name);
    let barred = match (selected.known, &placed.blocker) {
        (DecisionState::NoPlacement, _) => {
            Some((Reason::PlacementNotFound, format!("{} does not exist", what())))
        }
        (DecisionState::NoDecision, _) => Some((
            Reason::PlacementNotDecided,
            format!("{} has no complete PlacementDecision yet", what()),
        )),
        (DecisionState::Decided, Some(blocker)) => Some((blocker.reason, blocker.message.to_string())),
        (DecisionState::Decided, None) => None,
    };
    let groups = placed.groups.iter().map(|(index, name, stage)| GroupOutlook {
        index: *index,
        name: name.clone(),
        stage: *stage,
    });
    PlacementOutlook {
        namespace: by.namespace.clone(),
        name: by.name.clone(),
        course: placed.course.clone().unwrap_or_else(Course::at_once),
        counts: placed.counts,
        configured: placed.configured,
        paused: placed.paused,
        asked: placed.asked.clone(),
        barred,
        breach: placed.breach,
        stages: placed.stages.clone(),
        groups: groups.collect(),
        configs,
        undone: None,
    }
}

/// What a placement was last told to have done.
fn progression<'v>(view: &View<'v>, selected: &Selected<'_>) -> Option<&'v Progression> {
    let mut stored = view.addon.progressions.iter().flatten();
    stored.find(|one| one.namespace == selected.by.namespace && one.name == selected.by.name)
}

fn config(
    configs: &Configs,
    compat: Compat,
    desired: &Desired,
    all: &[Desired],
    old: Option<&Progression>,
) -> ConfigOutlook {
    let version = |name: &str| {
        let mut offers = configs.versions.supported();
        let offer =
            offers.find(|offer| offer.template.of == desired.config.of && &*offer.template.name == name)?;
        Some(Name::from(offer.text()))
    };
    let known_good = old.and_then(|old| before(old, &desired.config, compat)?.known_good.clone());
    // What another object is that is still there, this one has not taken the place of: it has come beside it.
    let stays = |known: &Applied| {
        let is_it = |one: &ConfigRef| {
            one.of == desired.config.of && (&one.namespace, &one.name) == (&known.namespace, &known.name)
        };
        let mut others = all.iter().filter(|one| one.config != desired.config);
        others.any(|one| is_it(&one.config))
    };
    let known_good = known_good.filter(|known| !stays(known));
    ConfigOutlook {
        version: version(&desired.config.name),
        known_version: known_good.as_ref().and_then(|applied| version(&applied.name)),
        config: desired.config.clone(),
        hash: desired.hash.clone(),
        known_good,
    }
}
