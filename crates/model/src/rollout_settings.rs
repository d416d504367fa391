//! The settings of an add-on's rollouts, as an AddOnRollout has them.
//!
//! Decides which of its values have a meaning: the gate refuses the others, and the planners hold all changes of the add-on until they are
//! corrected. Which of several settings counts is decided in `resolved_settings`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;

use api::{AddOnRolloutSpec, PlacementRolloutSettings, RolloutActions, RolloutSettings as Raw};
use kubernetes::field::{Class, Fault, Path, Violation, nearest, quoted};

use crate::names::{AddonName, Name, check_names, profile_name};
use crate::resolved_settings::ResolvedSettings;
use crate::rollout_profile::RolloutProfile;
use crate::rollout_window::RolloutWindows;
use crate::rule;

/// What a decision group looks like.
const GROUP: &str = "must be the name or the index of a decision group, or \"*\" for all groups";
/// The form of a time.
const TIME: &str = "must be a time such as \"2026-12-20T00:00:00Z\"";
/// Every decision group.
pub(crate) const ALL: &str = "*";
const OUTCOMES: [&str; 2] = ["Stop", "Undo"];
const MOST_REVISIONS: i64 = 100;
/// So many windows are read in all: each is looked for over years of days.
pub(crate) const MOST_WINDOWS: usize = 100;

/// What becomes of the clusters of a rollout that has stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// They keep their current configuration; going back is left to a user.
    #[default]
    Stop,
    /// They go back to what was last known to be good.
    Undo,
}

/// The settings of the rollouts of one add-on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolloutSettings {
    pub(crate) all: Level,
    pub(crate) placements: BTreeMap<(String, String), Level>,
    profile: Option<Name>,
    depends_on: Vec<Name>,
    pub(crate) revisions: Option<usize>,
}

/// What is set at one level: for all placements, for one, or in a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) pause: Option<String>,
    pub(crate) windows: Option<RolloutWindows>,
    pub(crate) groups: Option<Vec<String>>,
    pub(crate) checks: Option<Vec<Name>>,
    pub(crate) on_failure: Option<OnFailure>,
    pub(crate) promoted_at: Option<Timestamp>,
    pub(crate) retried_at: Option<Timestamp>,
}

impl RolloutSettings {
    /// Reads the spec of an AddOnRollout that stands at `path`.
    ///
    /// # Errors
    ///
    /// Returns everything that is wrong with it.
    pub fn parse(raw: &AddOnRolloutSpec, path: &Path) -> Result<Self, Vec<Violation>> {
        let mut wrong = Vec::new();
        let levels = raw.placements.iter().map(|placement| &placement.settings);
        let windows = levels
            .chain([&raw.settings])
            .filter_map(|level| level.windows.as_ref());
        if windows.map(Vec::len).sum::<usize>() > MOST_WINDOWS {
            let detail = format!("all windows together must not be more than {MOST_WINDOWS}");
            let fault = Fault::bare(Class::TooMany, detail);
            return Err(vec![fault.at(path.clone(), rule::ROLLOUT_WINDOW)]);
        }
        let mut depends_on = Vec::new();
        for (index, name) in raw.depends_on.iter().flatten().enumerate() {
            match AddonName::parse(name) {
                Ok(_) => depends_on.push(Name::from(name.as_str())),
                Err(fault) => wrong.push(fault.at(path.key("dependsOn").index(index), rule::DEPENDENCY_NAME)),
            }
        }
        depends_on.sort();
        depends_on.dedup();
        let profile = profile_name(&raw.profile, &path.key("profile"), &mut wrong);
        let revisions = revisions(raw.revision_history_limit, path, &mut wrong);
        let all = Level::parse(&raw.settings, &raw.actions, path, &mut wrong);
        let mut placements = BTreeMap::new();
        for (index, placement) in raw.placements.iter().enumerate() {
            let path = path.key("placements").index(index);
            let level = Level::parse(&placement.settings, &placement.actions, &path, &mut wrong);
            if let Some(place) = place(placement, &path, &mut wrong)
                && placements.insert(place, level).is_some()
            {
                let fault = Fault::of_text(
                    Class::Duplicate,
                    &placement.name,
                    "this placement is listed above; set all of its settings there",
                );
                wrong.push(fault.at(path.key("name"), rule::ROLLOUT_PLACEMENTS));
            }
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(Self {
            all,
            placements,
            profile,
            depends_on,
            revisions,
        })
    }

    /// Returns whether nothing is set.
    pub fn is_empty(&self) -> bool {
        let none = Level::default();
        self.depends_on.is_empty()
            && self.profile.is_none()
            && self.revisions.is_none()
            && self.all == none
            && self.placements.values().all(|level| *level == none)
    }

    /// Returns the name of the profile that it names.
    pub fn profile(&self) -> Option<&Name> {
        self.profile.as_ref()
    }

    /// Returns the RolloutChecks that any level names.
    pub fn all_checks(&self) -> impl Iterator<Item = &Name> {
        let levels = self.placements.values().chain([&self.all]);
        levels.flat_map(|level| level.checks.iter().flatten())
    }

    /// Returns the settings that count, with those of the named profile and of the default one.
    pub fn resolve<'a>(
        &'a self,
        named: Option<&'a RolloutProfile>,
        default: Option<&'a RolloutProfile>,
    ) -> ResolvedSettings<'a> {
        ResolvedSettings::new(self, named, default)
    }

    /// Returns the add-ons that have to run on a cluster before this one is installed or changed there, sorted.
    pub fn depends_on(&self) -> &[Name] {
        &self.depends_on
    }
}

impl Default for &RolloutSettings {
    /// Returns that nothing is set.
    fn default() -> Self {
        static NONE: LazyLock<RolloutSettings> = LazyLock::new(RolloutSettings::default);
        &NONE
    }
}

impl Level {
    pub(crate) fn parse(
        raw: &Raw,
        actions: &RolloutActions,
        path: &Path,
        wrong: &mut Vec<Violation>,
    ) -> Self {
        let windows = raw.windows.as_ref().and_then(|windows| {
            RolloutWindows::parse(windows, &path.key("windows"))
                .map_err(|faults| wrong.extend(faults))
                .ok()
        });
        for (index, group) in raw.approval_before.iter().flatten().enumerate() {
            if !is_group(group) {
                let at = path.key("approvalBefore").index(index);
                wrong.push(Fault::of_text(Class::Invalid, group, GROUP).at(at, rule::ROLLOUT_APPROVAL));
            }
        }
        let checks = raw
            .checks
            .as_ref()
            .map(|names| check_names(names, &path.key("checks"), wrong));
        let on_failure = raw.on_failure.as_deref().and_then(|text| match text {
            "Stop" => Some(OnFailure::Stop),
            "Undo" => Some(OnFailure::Undo),
            _ => {
                let known = kubernetes::field::listed(OUTCOMES);
                let lower = text.to_ascii_lowercase();
                let near = OUTCOMES
                    .into_iter()
                    .find(|known| known.to_ascii_lowercase() == lower)
                    .or_else(|| nearest(text, OUTCOMES));
                let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
                let fault = Fault::of_text(Class::NotSupported, text, format!("must be one of {known}"));
                wrong.push(
                    fault
                        .hint_if(hint)
                        .at(path.key("onFailure"), rule::ROLLOUT_ON_FAILURE),
                );
                None
            }
        });
        Self {
            pause: raw.pause.as_ref().map(|pause| pause.reason.clone()),
            windows,
            groups: raw.approval_before.clone(),
            checks,
            on_failure,
            promoted_at: time(actions.promoted_at.as_deref(), &path.key("promotedAt"), wrong),
            retried_at: time(actions.retried_at.as_deref(), &path.key("retriedAt"), wrong),
        }
    }
}

/// Reads how many known good configurations are kept.
pub(crate) fn revisions(limit: Option<i64>, path: &Path, wrong: &mut Vec<Violation>) -> Option<usize> {
    let limit = limit?;
    if !(0..=MOST_REVISIONS).contains(&limit) {
        let detail = format!("must be between 0 and {MOST_REVISIONS}");
        let fault = Fault::of_text(Class::Invalid, &limit.to_string(), detail);
        wrong.push(fault.at(path.key("revisionHistoryLimit"), rule::ROLLOUT_REVISIONS));
    }
    usize::try_from(limit).ok()
}

fn place(
    raw: &PlacementRolloutSettings,
    path: &Path,
    wrong: &mut Vec<Violation>,
) -> Option<(String, String)> {
    let mut is_whole = true;
    for (key, text) in [("namespace", &raw.namespace), ("name", &raw.name)] {
        if text.is_empty() {
            is_whole = false;
            let fault = Fault::bare(Class::Required, "must be set: it identifies the placement");
            wrong.push(fault.at(path.key(key), rule::ROLLOUT_PLACEMENTS));
        }
    }
    is_whole.then(|| (raw.namespace.clone(), raw.name.clone()))
}

fn time(raw: Option<&str>, path: &Path, wrong: &mut Vec<Violation>) -> Option<Timestamp> {
    let text = raw?;
    let read = text.parse().ok();
    if read.is_none() {
        wrong.push(Fault::of_text(Class::Invalid, text, TIME).at(path.clone(), rule::ROLLOUT_TIMES));
    }
    read
}

/// Decision groups are named by label values.
fn is_group(text: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
    text == ALL || (!text.is_empty() && text.len() <= 63 && text.chars().all(is_sign))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(spec: Value) -> Result<RolloutSettings, Vec<String>> {
        let raw: AddOnRolloutSpec = serde_json::from_value(spec).map_err(|error| vec![error.to_string()])?;
        let read = RolloutSettings::parse(&raw, &Path::root().key("spec"));
        read.map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_placement_overrides_single_settings() {
        let settings = read(json!({
            "onFailure": "Undo", "approvalBefore": ["prod"], "promotedAt": "2030-01-02T00:00:00Z",
            "windows": [{"cron": "0 2 * * *", "duration": "1h"}],
            "placements": [
                {"namespace": "default", "name": "edge", "onFailure": "Stop", "windows": [], "promotedAt": "2030-01-01T00:00:00Z",
                 "retriedAt": "2030-01-03T00:00:00Z", "pause": {"reason": "holiday"}},
                {"namespace": "default", "name": "lab", "approvalBefore": ["2", "*"]}],
        }))
        .expect("it is valid");
        let settings = settings.resolve(None, None);
        assert_eq!(settings.on_failure("default", "all"), OnFailure::Undo);
        assert_eq!(settings.on_failure("default", "edge"), OnFailure::Stop);
        assert!(settings.windows("default", "lab").is_some() && settings.windows_of_all().is_some());
        assert!(
            settings.windows("default", "edge").is_none(),
            "an empty list is at any time"
        );
        assert_eq!(settings.approval_before("default", "edge"), ["prod"]);
        assert_eq!(settings.approval_before("default", "lab"), ["2", "*"]);
        let late = "2030-01-02T00:00:00Z".parse().ok();
        assert_eq!(
            settings.promoted_at("default", "edge"),
            late,
            "the later one counts"
        );
        assert_eq!(settings.retried_at("default", "all"), None);
        assert!(settings.retried_at("default", "edge").is_some());
        assert_eq!(settings.pause("default", "edge"), Some("holiday"));
        assert_eq!(
            (settings.pause("default", "all"), settings.pause_of_all()),
            (None, None)
        );
        assert_eq!(
            settings.paused_placements().collect::<Vec<_>>(),
            [("default", "edge")]
        );
    }

    #[test]
    fn a_pause_of_all_is_one_of_each_placement() {
        let settings = read(json!({"pause": {}})).expect("a pause without a reason");
        assert!(!settings.is_empty());
        let settings = settings.resolve(None, None);
        assert_eq!(settings.pause("default", "all"), Some(""));
        assert_eq!(settings.pause_of_all(), Some(""));
        for nothing in [
            json!({}),
            json!({"addon": "hello", "placements": [{"namespace": "a", "name": "b"}]}),
        ] {
            assert!(read(nothing).expect("nothing is set").is_empty());
        }
    }

    #[test]
    fn a_group_is_asked_for_by_name_or_index() {
        let settings = read(json!({"approvalBefore": ["prod", "2"]})).expect("two groups");
        let all = ("default", "all");
        for (group, expected) in [
            ((1, "prod"), true),
            ((2, ""), true),
            ((2, "eu"), true),
            ((0, "2"), true),
            ((3, "eu"), false),
        ] {
            assert_eq!(
                settings.resolve(None, None).needs_approval(all, group),
                expected,
                "{group:?}"
            );
        }
        let every = read(json!({"approvalBefore": ["*"]})).expect("all groups");
        assert!(every.resolve(None, None).needs_approval(all, (7, "")));
        assert!(!ResolvedSettings::default().needs_approval(all, (7, "")));
    }

    #[test]
    fn a_placement_has_its_own_checks_or_none() {
        let settings = read(json!({"checks": ["errors", "latency"], "placements": [
            {"namespace": "default", "name": "edge", "checks": ["errors"]}, {"namespace": "default", "name": "lab", "checks": []}]}))
        .expect("valid settings");
        let names = |name| {
            settings
                .resolve(None, None)
                .checks("default", name)
                .iter()
                .map(|name| &**name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("all"), ["errors", "latency"]);
        assert_eq!(names("edge"), ["errors"]);
        assert_eq!(names("lab"), [""; 0]);
        assert_eq!(settings.all_checks().count(), 3);
        let wrong = read(json!({"checks": ["a", "B!", "a"]})).expect_err("two faults");
        assert_eq!(
            wrong,
            [
                "spec.checks[1]: Invalid value: \"B!\": must be the name of a RolloutCheck [rollout/checks]",
                "spec.checks[2]: Duplicate value: \"a\": is listed above; remove it here [rollout/checks]",
            ]
        );
        let many: Vec<String> = (0..21).map(|name| format!("c{name}")).collect();
        assert_eq!(read(json!({"checks": many})).expect_err("too many").len(), 1);
    }

    #[test]
    fn every_fault_is_reported_at_once() {
        let wrong = read(json!({
            "dependsOn": ["a", "B!"], "revisionHistoryLimit": -1, "onFailure": "undo", "approvalBefore": ["p r"], "promotedAt": "soon",
            "windows": [{"cron": "0 0 30 2 *", "duration": "banana"}],
            "placements": [{"namespace": "default", "name": "a"}, {"namespace": "default", "name": "a"}, {"retriedAt": "2030"}],
        }))
        .expect_err("many faults");
        let paths: Vec<&str> = wrong.iter().filter_map(|one| one.split(": ").next()).collect();
        assert_eq!(
            paths,
            [
                "spec.dependsOn[1]",
                "spec.revisionHistoryLimit",
                "spec.windows[0].cron",
                "spec.windows[0].duration",
                "spec.approvalBefore[0]",
                "spec.onFailure",
                "spec.promotedAt",
                "spec.placements[1].name",
                "spec.placements[2].retriedAt",
                "spec.placements[2].namespace",
                "spec.placements[2].name",
            ]
        );
        let window = json!({"cron": "0 2 * * *", "duration": "1h"});
        let place = |name: i32| json!({"namespace": "a", "name": name.to_string(), "windows": vec![window.clone(); 20]});
        let many = json!({"placements": (0..6).map(place).collect::<Vec<_>>()});
        assert_eq!(read(many).expect_err("too many windows").len(), 1);
        assert!(
            wrong.iter().any(|one| one.contains("did you mean \"Undo\"?")),
            "{wrong:?}"
        );
    }
}
