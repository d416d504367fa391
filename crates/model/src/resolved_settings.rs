//! The settings that count for the rollouts of an add-on or an upgrade: of its own object, of the profile that it names, and of the
//! default profile.
//!
//! Decides which of several values of a setting counts: the one for the placement, else that for all placements, else that of the named
//! profile, else that of the default profile. Never decides who starts.

use jiff::Timestamp;

use crate::names::Name;
use crate::rollout::RolloutStrategy;
use crate::rollout_profile::RolloutProfile;
use crate::rollout_settings::{ALL, Level, OnFailure, RolloutSettings};
use crate::rollout_window::RolloutWindows;

/// So many known good configurations are kept where nothing is set.
const REVISIONS: usize = 10;

/// The settings that count.
#[derive(Clone, Copy, Debug)]
pub struct ResolvedSettings<'a> {
    own: &'a RolloutSettings,
    /// The named profile and the default one; the default one is not listed twice.
    profiles: [Option<&'a RolloutProfile>; 2],
}

impl Default for ResolvedSettings<'_> {
    /// Returns that nothing is set.
    fn default() -> Self {
        Self::new(Default::default(), None, None)
    }
}

impl<'a> ResolvedSettings<'a> {
    pub(crate) fn new(
        own: &'a RolloutSettings,
        named: Option<&'a RolloutProfile>,
        default: Option<&'a RolloutProfile>,
    ) -> Self {
        let default = default.filter(|default| named.is_none_or(|named| named.name != default.name));
        Self {
            own,
            profiles: [named, default],
        }
    }

    fn profiles(self) -> impl Iterator<Item = &'a RolloutProfile> {
        self.profiles.into_iter().flatten()
    }

    /// Returns what is set for all placements, the most specific first.
    fn levels_of_all(self) -> impl Iterator<Item = &'a Level> {
        let profiles = self.profiles().map(|profile| &profile.level);
        std::iter::once(&self.own.all).chain(profiles)
    }

    /// Returns what is set for a placement, its own first.
    fn levels(self, namespace: &str, name: &str) -> impl Iterator<Item = &'a Level> {
        // Thousands of clusters ask, of add-ons that mostly set nothing.
        let own = if self.own.placements.is_empty() {
            None
        } else {
            self.own.placements.get(&(namespace.to_owned(), name.to_owned()))
        };
        own.into_iter().chain(self.levels_of_all())
    }

    /// Returns the reason of the pause of all placements, "" if none is given; absent while they are not paused.
    pub fn pause_of_all(self) -> Option<&'a str> {
        self.levels_of_all().find_map(|level| level.pause.as_deref())
    }

    /// Returns the reason of the pause of a placement, "" if none is given; absent while it is not paused.
    pub fn pause(self, namespace: &str, name: &str) -> Option<&'a str> {
        self.levels(namespace, name)
            .find_map(|level| level.pause.as_deref())
    }

    /// Returns the profile whose pause applies to all placements; absent if none is paused, or the add-on is paused itself.
    pub fn pausing_profile(self) -> Option<&'a Name> {
        let own = self.own.all.pause.is_none();
        let mut paused = self.profiles().filter(|profile| profile.level.pause.is_some());
        paused.next().filter(|_| own).map(|profile| &profile.name)
    }

    /// Returns the placements that are paused on their own.
    pub fn paused_placements(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let paused = self
            .own
            .placements
            .iter()
            .filter(|(_, level)| level.pause.is_some());
        paused.map(|((namespace, name), _)| (namespace.as_str(), name.as_str()))
    }

    /// Returns the placements that have settings of their own.
    pub fn placements(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let each = self.own.placements.keys();
        each.map(|(namespace, name)| (namespace.as_str(), name.as_str()))
    }

    /// Returns when changes may start on the clusters of a placement; absent if at any time.
    pub fn windows(self, namespace: &str, name: &str) -> Option<&'a RolloutWindows> {
        let set = self
            .levels(namespace, name)
            .find_map(|level| level.windows.as_ref());
        set.filter(|windows| !windows.is_empty())
    }

    /// Returns when changes may start on clusters without a placement; absent if at any time.
    pub fn windows_of_all(self) -> Option<&'a RolloutWindows> {
        let set = self.levels_of_all().find_map(|level| level.windows.as_ref());
        set.filter(|windows| !windows.is_empty())
    }

    /// Returns when changes may start on a cluster, whose labels `label` returns, in addition to the windows of its placement; absent if at any time.
    pub fn cluster_windows<'l>(self, label: impl Fn(&str) -> Option<&'l str>) -> Option<&'a RolloutWindows> {
        let mut lists = self
            .profiles()
            .filter_map(|profile| profile.cluster_windows.as_deref());
        let mut list = lists.next()?.iter();
        let (_, windows) = list.find(|(selector, _)| selector.matches(&label))?;
        Some(windows).filter(|windows| !windows.is_empty())
    }

    /// Returns whether some clusters have windows of their own.
    pub fn has_cluster_windows(self) -> bool {
        let mut lists = self
            .profiles()
            .filter_map(|profile| profile.cluster_windows.as_ref());
        lists.next().is_some_and(|list| !list.is_empty())
    }

    /// Returns the key of the cluster label by whose values clusters are ordered.
    pub fn order_by(self) -> Option<&'a Name> {
        self.profiles().find_map(|profile| profile.order_by.as_ref())
    }

    /// Returns the strategy of a placement: its own, else that of a profile.
    pub fn strategy(self, own: &'a RolloutStrategy) -> &'a RolloutStrategy {
        let shared = self.shared_strategy().filter(|_| own.is_unset());
        shared.map_or(own, |(_, strategy)| strategy)
    }

    /// Returns the name of the profile whose strategy a placement has; absent if it has its own, which may be invalid.
    pub fn strategy_profile(self, own: Option<&RolloutStrategy>) -> Option<&'a Name> {
        let shared = self
            .shared_strategy()
            .filter(|_| own.is_some_and(RolloutStrategy::is_unset));
        shared.map(|(name, _)| name)
    }

    fn shared_strategy(self) -> Option<(&'a Name, &'a RolloutStrategy)> {
        self.profiles()
            .find_map(|profile| Some((&profile.name, profile.strategy.as_ref()?)))
    }

    /// Returns the decision groups of a placement before which changes wait for approval: names, indexes, or `*`.
    pub fn approval_before(self, namespace: &str, name: &str) -> &'a [String] {
        let set = self
            .levels(namespace, name)
            .find_map(|level| level.groups.as_deref());
        set.unwrap_or_default()
    }

    /// Returns whether changes wait for approval before a decision group of a placement.
    pub fn needs_approval(self, (namespace, name): (&str, &str), (index, group): (u32, &str)) -> bool {
        let mut asked = self.approval_before(namespace, name).iter();
        asked.any(|asked| asked == ALL || (!group.is_empty() && asked == group) || asked.parse() == Ok(index))
    }

    /// Returns whether the clusters of a stage of an upgrade wait for approval: `approvalBefore` of a profile names the stage, or its index.
    pub fn approves_stage(self, index: usize, stage: &str) -> bool {
        let groups = self.levels_of_all().find_map(|level| level.groups.as_deref());
        let mut groups = groups.unwrap_or_default().iter();
        groups.any(|group| group == ALL || group == stage || group.parse() == Ok(index))
    }

    /// Returns the RolloutChecks that changes over a placement wait for.
    pub fn checks(self, namespace: &str, name: &str) -> &'a [Name] {
        let set = self
            .levels(namespace, name)
            .find_map(|level| level.checks.as_deref());
        set.unwrap_or_default()
    }

    /// Returns the RolloutChecks of a stage of an upgrade: its own, else those of a profile.
    pub fn checks_of_stage(self, own: Option<&'a [Name]>) -> &'a [Name] {
        let set = || self.levels_of_all().find_map(|level| level.checks.as_deref());
        own.or_else(set).unwrap_or_default()
    }

    /// Returns what becomes of a rollout over a placement that has stopped.
    pub fn on_failure(self, namespace: &str, name: &str) -> OnFailure {
        let set = self.levels(namespace, name).find_map(|level| level.on_failure);
        set.unwrap_or_default()
    }

    /// Returns the time before which clusters of a placement that had succeeded need not soak any longer: the later one of its own and
    /// of that for all.
    pub fn promoted_at(self, namespace: &str, name: &str) -> Option<Timestamp> {
        self.levels(namespace, name)
            .filter_map(|level| level.promoted_at)
            .max()
    }

    /// Returns the time before which what was undone over a placement is tried again: the later one of its own and of that for all.
    pub fn retried_at(self, namespace: &str, name: &str) -> Option<Timestamp> {
        self.levels(namespace, name)
            .filter_map(|level| level.retried_at)
            .max()
    }

    /// Returns the add-ons that have to run on a cluster before this one is installed or changed there, sorted.
    pub fn depends_on(self) -> &'a [Name] {
        self.own.depends_on()
    }

    /// Returns how many known good configurations are kept.
    pub fn revision_history_limit(self) -> usize {
        let shared = || self.profiles().find_map(|profile| profile.revisions);
        self.own.revisions.or_else(shared).unwrap_or(REVISIONS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::{AddOnRolloutSpec, RolloutProfileSpec};
    use kubernetes::field::Path;
    use serde_json::{Value, json};

    fn own(spec: Value) -> RolloutSettings {
        let raw: AddOnRolloutSpec = serde_json::from_value(spec).expect("a spec");
        RolloutSettings::parse(&raw, &Path::root()).expect("it is valid")
    }

    fn profile(name: &str, spec: Value) -> RolloutProfile {
        let raw: RolloutProfileSpec = serde_json::from_value(spec).expect("a spec");
        RolloutProfile::parse(name, &raw, &Path::root()).expect("it is valid")
    }

    fn kind(name: &str) -> crate::RolloutKind {
        crate::RolloutKind::parse(Some(crate::Scalar::Text(name))).expect("a type")
    }

    #[test]
    fn the_most_specific_level_that_has_a_setting_counts() {
        let own = own(
            json!({"onFailure": "Stop", "placements": [{"namespace": "default", "name": "edge", "approvalBefore": []}]}),
        );
        let named = profile(
            "slow",
            json!({"onFailure": "Undo", "approvalBefore": ["prod"], "revisionHistoryLimit": 3}),
        );
        let default = profile(
            "all",
            json!({"default": true, "approvalBefore": ["*"], "pause": {"reason": "holiday"}, "revisionHistoryLimit": 4,
                   "rolloutStrategy": {"type": "ProgressivePerGroup"}, "orderBy": "wave"}),
        );
        let settings = own.resolve(Some(&named), Some(&default));
        assert_eq!(settings.on_failure("default", "all"), OnFailure::Stop);
        assert_eq!(settings.approval_before("default", "all"), ["prod"]);
        assert!(settings.approval_before("default", "edge").is_empty());
        assert_eq!(settings.pause("default", "all"), Some("holiday"));
        assert_eq!(settings.pausing_profile().map(|name| &**name), Some("all"));
        assert_eq!(settings.revision_history_limit(), 3);
        assert_eq!(settings.order_by().map(|key| &**key), Some("wave"));
        let unset = RolloutStrategy::default();
        assert_eq!(settings.strategy(&unset).kind, kind("ProgressivePerGroup"));
        let set = RolloutStrategy {
            kind: kind("Progressive"),
            ..RolloutStrategy::default()
        };
        assert_eq!(settings.strategy(&set), &set);
        assert_eq!(own.resolve(None, None).strategy(&unset), &unset);
        assert_eq!(own.resolve(None, None).pausing_profile(), None);
    }

    #[test]
    fn the_first_list_of_cluster_windows_counts_and_its_first_entry_for_a_cluster() {
        let window = |hour: u32| json!([{"cron": format!("0 {hour} * * *"), "duration": "1h"}]);
        let region = |name: &str| json!({"matchLabels": {"region": name}});
        let named = profile(
            "a",
            json!({"clusterWindows": [{"clusterSelector": region("eu"), "windows": window(2)}, {"clusterSelector": region("us"), "windows": []},
                {"clusterSelector": {}, "windows": window(3)}]}),
        );
        let default = profile(
            "b",
            json!({"clusterWindows": [{"clusterSelector": region("us"), "windows": window(4)}]}),
        );
        let own = RolloutSettings::default();
        let of = |settings: ResolvedSettings<'_>, region: &'static str| {
            let windows = settings.cluster_windows(|key| (key == "region").then_some(region));
            windows.map(ToString::to_string)
        };
        let both = own.resolve(Some(&named), Some(&default));
        assert!(both.has_cluster_windows());
        for (region, expected) in [
            ("eu", Some("0 2 * * * for 1h")),
            ("us", None),
            ("asia", Some("0 3 * * * for 1h")),
        ] {
            let windows = of(both, region);
            assert_eq!(windows.as_deref(), expected, "{region}");
        }
        assert!(of(own.resolve(None, Some(&default)), "us").is_some());
        let none = profile("c", json!({"clusterWindows": []}));
        let none = own.resolve(Some(&none), Some(&default));
        assert_eq!((of(none, "us"), none.has_cluster_windows()), (None, false));
    }
}
