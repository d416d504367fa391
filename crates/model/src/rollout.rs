//! The rollout strategy of a placement, as users write it.
//!
//! Decides which of its values are invalid; what each strategy means is in `strategies/`. Never decides which cluster moves.

use std::collections::BTreeSet;

use super::deadline::{ProgressDeadline, Soak};
use super::limit::{Limit, Tolerance};
use super::rule;
use super::scalar::Scalar;
use super::strategies::{Rest, RolloutKind};
use api::v1alpha1 as wire;
use kubernetes::field::{Class, Fault, Path, Violation, quoted};

/// A decision group of a placement, by name or by position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MandatoryGroup {
    /// Every group of this name.
    Named(String),
    /// The group at this position.
    At(u32),
}

/// How patient a rollout is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// How long a cluster must stay successful.
    pub soak: Soak,
    /// How long a cluster may take.
    pub deadline: ProgressDeadline,
    /// How many clusters may fail.
    pub tolerance: Tolerance,
}

/// How a change is rolled out to the clusters of a placement, with its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolloutStrategy {
    /// Which of the strategies.
    pub kind: RolloutKind,
    /// Groups that go first, one after another; none where the strategy has no such groups.
    pub mandatory: Vec<MandatoryGroup>,
    /// How many clusters move at once; absent where that is not given, or means nothing.
    pub limit: Option<Limit>,
    /// Soak, deadline, failures.
    pub pace: Pace,
}

impl RolloutStrategy {
    /// Reads the strategy that stands at `path`, or tells everything that is wrong with it.
    pub fn parse(raw: &RawStrategy<'_>, path: &Path) -> Result<Self, Vec<Violation>> {
        let mut wrong = raw.mismatches(path);
        let kind = keep(raw.kind(path), &mut wrong);
        // A block of another type has no effect, but its errors are reported.
        let mut chosen = None;
        for (block_kind, block) in &raw.blocks {
            let read = block.parse(*block_kind, &path.key(block_kind.block()), &mut wrong);
            if Some(*block_kind) == kind {
                chosen = read;
            }
        }
        let (Some(kind), []) = (kind, wrong.as_slice()) else {
            return Err(wrong);
        };
        Ok(chosen.unwrap_or_else(|| Self {
            kind,
            ..Self::default()
        }))
    }

    /// Returns whether it is what OCM's definition fills in where a placement has no strategy: type All without a setting.
    pub fn is_unset(&self) -> bool {
        *self == Self::default()
    }

    /// Returns how those go that are in no mandatory group; `per_group` is the placement's own size of groups.
    pub fn rest(&self, per_group: Option<Limit>) -> Rest {
        self.kind.rest(self.limit, per_group)
    }

    /// Tells whether all clusters go together.
    pub fn is_at_once(&self, per_group: Option<Limit>) -> bool {
        self.mandatory.is_empty() && self.rest(per_group) == Rest::Within(Limit::All)
    }

    /// Tells whether a decision group is one of those that go first.
    pub fn is_mandatory(&self, index: u32, name: &str) -> bool {
        self.mandatory.iter().any(|group| group.means(index, name))
    }
}

/// The leaves of a strategy, as a document has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawStrategy<'a> {
    /// `type`.
    pub kind: Option<Scalar<'a>>,
    /// The blocks that are given, with the type that each belongs to.
    pub blocks: Vec<(RolloutKind, RawBlock<'a>)>,
}

/// The leaves of one block of a strategy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawBlock<'a> {
    /// `mandatoryDecisionGroups`.
    pub groups: Vec<RawGroup<'a>>,
    /// `maxConcurrency`.
    pub max_concurrency: Option<Scalar<'a>>,
    /// `maxFailures`.
    pub max_failures: Option<Scalar<'a>>,
    /// `minSuccessTime`.
    pub min_success_time: Option<Scalar<'a>>,
    /// `progressDeadline`.
    pub progress_deadline: Option<Scalar<'a>>,
}

/// The leaves of one entry of `mandatoryDecisionGroups`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawGroup<'a> {
    /// `groupName`.
    pub name: Option<&'a str>,
    /// `groupIndex`.
    pub index: Option<i64>,
}

impl<'a> RawStrategy<'a> {
    /// Reads the block of each type.
    pub fn read(kind: Option<Scalar<'a>>, block: impl Fn(RolloutKind) -> Option<RawBlock<'a>>) -> Self {
        let every = RolloutKind::EVERY.into_iter();
        Self {
            kind,
            blocks: every.filter_map(|kind| Some((kind, block(kind)?))).collect(),
        }
    }

    /// Takes away the blocks of other types than its own: they have no effect. An invalid type has no block.
    pub fn drop_other_blocks(&mut self) {
        let own = RolloutKind::parse(self.kind).ok();
        self.blocks.retain(|(kind, _)| Some(*kind) == own);
    }

    /// Takes away the groups that stand in a list twice: they change nothing.
    pub fn drop_repeated_groups(&mut self) {
        for (_, block) in &mut self.blocks {
            let mut seen = Vec::new();
            block.groups.retain(|group| {
                let is_new = !seen.contains(group);
                seen.push(*group);
                is_new
            });
        }
    }

    /// Returns the type.
    pub fn kind(&self, path: &Path) -> Result<RolloutKind, Violation> {
        RolloutKind::parse(self.kind).map_err(|fault| fault.at(path.key("type"), rule::UNKNOWN_TYPE))
    }

    /// Returns a violation for every block that belongs to another type than the one given.
    pub fn mismatches(&self, path: &Path) -> Vec<Violation> {
        let Ok(kind) = RolloutKind::parse(self.kind) else {
            return Vec::new();
        };
        let others = self.blocks.iter().filter(|(block, _)| *block != kind);
        others
            .map(|(block, _)| {
                let (given, wanted) = (kind.name(), block.name());
                let detail = format!("has no effect while type is {}", quoted(given));
                let hint = format!("set type to {}, or remove this block", quoted(wanted));
                Fault::bare(Class::Forbidden, detail)
                    .hint(hint)
                    .at(path.key(block.block()), rule::TYPE_MISMATCH)
            })
            .collect()
    }
}

impl RawBlock<'_> {
    /// Returns how many clusters may move at once, if that is given.
    pub fn limit(&self, path: &Path) -> Result<Option<Limit>, Violation> {
        let parsed = self.max_concurrency.map(Limit::parse).transpose();
        parsed.map_err(|fault| fault.at(path.key("maxConcurrency"), rule::MAX_CONCURRENCY))
    }

    /// Returns how many clusters may fail.
    pub fn tolerance(&self, path: &Path) -> Result<Tolerance, Violation> {
        let parsed = self
            .max_failures
            .map_or_else(|| Ok(Tolerance::default()), Tolerance::parse);
        parsed.map_err(|fault| fault.at(path.key("maxFailures"), rule::MAX_FAILURES))
    }

    /// Returns how long a cluster must stay successful.
    pub fn soak(&self, path: &Path) -> Result<Soak, Violation> {
        let parsed = self
            .min_success_time
            .map_or_else(|| Ok(Soak::default()), Soak::parse);
        parsed.map_err(|fault| fault.at(path.key("minSuccessTime"), rule::MIN_SUCCESS_TIME))
    }

    /// Returns how long a cluster may take.
    pub fn deadline(&self, path: &Path) -> Result<ProgressDeadline, Violation> {
        let parsed = self
            .progress_deadline
            .map_or(Ok(ProgressDeadline::None), ProgressDeadline::parse);
        parsed.map_err(|fault| fault.at(path.key("progressDeadline"), rule::PROGRESS_DEADLINE))
    }

    /// Returns the groups that go first, and what is wrong with them.
    pub fn groups(&self, path: &Path) -> (Vec<MandatoryGroup>, Vec<Violation>) {
        let path = path.key("mandatoryDecisionGroups");
        let mut groups: Vec<MandatoryGroup> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut wrong = Vec::new();
        for (position, raw) in self.groups.iter().enumerate() {
            let at = path.index(position);
            match raw.parse() {
                Err(fault) => wrong.push(fault.at(at.key("groupIndex"), rule::MANDATORY_GROUPS)),
                Ok(group) if !seen.insert(group.clone()) => {
                    let detail = "names the same decision group as an earlier entry";
                    let fault = Fault::of_text(Class::Duplicate, &group.to_string(), detail);
                    wrong.push(fault.at(at, rule::MANDATORY_GROUPS));
                }
                Ok(group) => groups.push(group),
            }
        }
        (groups, wrong)
    }

    fn parse(&self, kind: RolloutKind, path: &Path, wrong: &mut Vec<Violation>) -> Option<RolloutStrategy> {
        let before = wrong.len();
        let (mandatory, wrong_groups) = self.groups(path);
        wrong.extend(wrong_groups);
        let limit = keep(self.limit(path), wrong).flatten();
        let pace = Pace {
            soak: keep(self.soak(path), wrong).unwrap_or_default(),
            deadline: keep(self.deadline(path), wrong).unwrap_or_default(),
            tolerance: keep(self.tolerance(path), wrong).unwrap_or_default(),
        };
        (wrong.len() == before).then(|| RolloutStrategy {
            kind,
            mandatory: if kind.has_mandatory_groups() {
                mandatory
            } else {
                Vec::new()
            },
            limit: limit.filter(|_| kind.has_limit()),
            pace,
        })
    }
}

impl RawGroup<'_> {
    // Upstream takes the name when there is one, and position 0 when there is neither.
    fn parse(&self) -> Result<MandatoryGroup, Fault> {
        if let Some(name) = self.name.filter(|name| !name.is_empty()) {
            return Ok(MandatoryGroup::Named(name.to_owned()));
        }
        let index = self.index.unwrap_or_default();
        i32::try_from(index)
            .ok()
            .and_then(|index| u32::try_from(index).ok())
            .map(MandatoryGroup::At)
            .ok_or_else(|| {
                let detail = "must be the index of a decision group, 0 or more";
                Scalar::Int(index).fault(Class::Invalid, detail)
            })
    }
}

impl MandatoryGroup {
    /// Tells whether a group of this index and name is meant.
    pub fn means(&self, index: u32, name: &str) -> bool {
        match self {
            Self::Named(named) => named == name,
            Self::At(at) => *at == index,
        }
    }
}

impl std::fmt::Display for MandatoryGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::At(index) => write!(f, "{index}"),
        }
    }
}

impl<'a> From<&'a wire::RolloutStrategy> for RawStrategy<'a> {
    fn from(strategy: &'a wire::RolloutStrategy) -> Self {
        let type_ = strategy.type_.as_str();
        let kind = (!type_.is_empty()).then_some(Scalar::Text(type_));
        Self::read(kind, |kind| kind.settings(strategy))
    }
}

impl<'a> From<&'a wire::MandatoryDecisionGroup> for RawGroup<'a> {
    fn from(group: &'a wire::MandatoryDecisionGroup) -> Self {
        Self {
            name: (!group.group_name.is_empty()).then_some(group.group_name.as_str()),
            index: group.group_index.map(i64::from),
        }
    }
}

/// Keeps the value, or the violation.
pub(super) fn keep<T>(read: Result<T, Violation>, wrong: &mut Vec<Violation>) -> Option<T> {
    match read {
        Ok(value) => Some(value),
        Err(violation) => {
            wrong.push(violation);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;
    use std::time::Duration;

    fn given<'a>(kind: &'a str, blocks: &[(&str, RawBlock<'a>)]) -> RawStrategy<'a> {
        RawStrategy::read(Some(Scalar::Text(kind)), |kind| {
            let mut blocks = blocks.iter();
            let found = blocks.find(|(name, _)| *name == kind.block());
            found.map(|(_, block)| block.clone())
        })
    }

    fn progressive(mandatory: Vec<MandatoryGroup>, limit: Option<Limit>, pace: Pace) -> RolloutStrategy {
        RolloutStrategy {
            kind: RolloutKind::parse(Some(Scalar::Text("Progressive"))).expect("a strategy"),
            mandatory,
            limit,
            pace,
        }
    }

    fn texts(raw: &RawStrategy<'_>) -> Vec<String> {
        let wrong = RolloutStrategy::parse(raw, &Path::parse("r")).expect_err("something is wrong");
        wrong.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn nothing_given_means_all_at_once() {
        let parsed = RolloutStrategy::parse(&RawStrategy::default(), &Path::root());
        assert_eq!(parsed, Ok(RolloutStrategy::default()));
        assert_eq!(parsed.map(|parsed| parsed.kind.name()), Ok("All"));
    }

    #[test]
    fn a_progressive_strategy_is_read_whole() {
        let block = RawBlock {
            groups: vec![
                RawGroup {
                    name: Some("canary"),
                    index: None,
                },
                RawGroup {
                    name: None,
                    index: Some(3),
                },
            ],
            max_concurrency: Some(Scalar::Int(4)),
            max_failures: Some(Scalar::Int(2)),
            min_success_time: Some(Scalar::Text("5m")),
            progress_deadline: Some(Scalar::Text("10m")),
        };
        let raw = given("Progressive", &[("progressive", block)]);
        let pace = Pace {
            soak: Soak::parse(Scalar::Text("5m")).expect("a duration"),
            deadline: ProgressDeadline::After(Duration::from_mins(10)),
            tolerance: Tolerance::Clusters(2),
        };
        let groups = vec![MandatoryGroup::Named("canary".into()), MandatoryGroup::At(3)];
        let limit = NonZeroU32::new(4).map(Limit::Clusters);
        assert_eq!(
            RolloutStrategy::parse(&raw, &Path::root()),
            Ok(progressive(groups, limit, pace))
        );
    }

    #[test]
    fn all_faults_are_reported_at_once() {
        let block = RawBlock {
            groups: vec![RawGroup {
                name: None,
                index: Some(-1),
            }],
            max_concurrency: Some(Scalar::Text("130%")),
            max_failures: Some(Scalar::Int(-1)),
            min_success_time: Some(Scalar::Text("banana")),
            progress_deadline: Some(Scalar::Text("lolNone")),
        };
        let raw = given(
            "Progressive",
            &[("all", RawBlock::default()), ("progressive", block)],
        );
        let rules: Vec<String> = texts(&raw)
            .iter()
            .filter_map(|text| Some(text.rsplit_once(" [")?.1.to_owned()))
            .collect();
        assert_eq!(
            rules,
            [
                "rollout/type-mismatch]",
                "rollout/mandatory-groups]",
                "rollout/max-concurrency]",
                "rollout/min-success-time]",
                "rollout/progress-deadline]",
                "rollout/max-failures]",
            ]
        );
    }

    #[test]
    fn a_misspelt_type_is_not_also_a_mismatch() {
        let raw = given("progressive", &[("progressive", RawBlock::default())]);
        assert_eq!(
            texts(&raw),
            [
                "r.type: Unsupported value: \"progressive\": supported values: \"All\", \"Progressive\", \"ProgressivePerGroup\"; hint: did you mean \"Progressive\"? [rollout/unknown-type]"
            ]
        );
    }

    #[test]
    fn wire_types_and_raw_json_meet_the_same_parser() {
        let wire: wire::RolloutStrategy = serde_json::from_value(serde_json::json!({
            "type": "Progressive",
            "progressive": {"maxConcurrency": "25%", "mandatoryDecisionGroups": [{"groupName": "a"}, {"groupIndex": 1}]},
        }))
        .expect("the wire type reads it");
        let parsed = RolloutStrategy::parse(&RawStrategy::from(&wire), &Path::root());
        let limit = super::super::Percent::new(25).map(Limit::Percent);
        let groups = vec![MandatoryGroup::Named("a".into()), MandatoryGroup::At(1)];
        assert_eq!(parsed, Ok(progressive(groups, limit, Pace::default())));
    }
}
