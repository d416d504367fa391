//! The combinations of conditions that there are, as `docs/controllers.md` lists them, and whether a status is one of them.
//!
//! Decides what contradicts. Reads statuses as the hub stores them; never asks the planner.

use serde_json::Value;

/// A combination: what it means, and what each condition says. A cell is `any`, `absent`, or alternatives such as `True` and
/// `False (reasons)`, separated by `or`.
pub(crate) struct Table {
    /// The subject of the table.
    pub(crate) of: &'static str,
    /// The conditions, in the order of the cells.
    pub(crate) kinds: &'static [&'static str],
    /// Meaning and cells.
    pub(crate) rows: &'static [(&'static str, &'static [&'static str])],
}

pub(crate) const INSTANCE: Table = Table {
    of: "ManagedClusterAddOn",
    kinds: &["Ready", "Reconciling", "Stalled", "Progressing", "Configured"],
    rows: &[
        ("done", &["True (Ready)", "False", "False", "False", "True"]),
        (
            "done, and a change is meant for others",
            &[
                "True (Ready, ContentSuperseded)",
                "False",
                "False",
                "False",
                "False (OutsideRollout, RolledBack, ConfigurationsNotConfigured)",
            ],
        ),
        (
            "done, by a program that may read what Tidegate may not",
            &[
                "True (Ready)",
                "False",
                "False",
                "False",
                "False (ConfigurationForbidden, ConfigurationKindNotServed, ConfigurationTypeOffLimits, TooManyConfigurationTypes, ConfigurationHashUnknown)",
            ],
        ),
        (
            "done, and the agent does not work",
            &[
                "False (Unavailable, AvailabilityUnknown)",
                "False",
                "False",
                "False",
                "any",
            ],
        ),
        ("on the way", &["False", "True", "False", "True", "any"]),
        (
            "waiting for a turn, a cluster, a hash or another program",
            &["False", "True", "False", "any", "any"],
        ),
        ("act", &["False", "False", "True", "False", "any"]),
        (
            "act: it is still tried",
            &["False", "False", "True", "True", "any"],
        ),
    ],
};

pub(crate) const PROGRESSION: Table = Table {
    of: "installProgressions[]",
    kinds: &["Progressing", "Stalled", "Paused"],
    rows: &[
        (
            "done",
            &["False (Completed)", "absent", "absent or True (RolloutPaused)"],
        ),
        (
            "done, and no change could travel",
            &[
                "False (Completed)",
                "True (RolloutStrategyInvalid, PlacementNotFound)",
                "absent or True (RolloutPaused)",
            ],
        ),
        ("on the way", &["True (Progressing)", "absent", "absent"]),
        (
            "paused",
            &["True (Progressing)", "absent", "True (RolloutPaused)"],
        ),
        (
            "act",
            &[
                "True (Progressing)",
                "True (TooManyFailures, UndoImpossible, RolloutStrategyInvalid, PlacementNotFound, DecisionNotFound)",
                "absent or True (RolloutPaused)",
            ],
        ),
        (
            "act: undone, and clusters go back",
            &[
                "True (RollingBack)",
                "True (RollingBack, UndoImpossible, PlacementNotFound, DecisionNotFound)",
                "absent or True (RolloutPaused)",
            ],
        ),
        (
            "act: undone",
            &[
                "False (RolledBack)",
                "True (RolledBack, PlacementNotFound, DecisionNotFound)",
                "absent or True (RolloutPaused)",
            ],
        ),
    ],
};

pub(crate) const ADDON: Table = Table {
    of: "ClusterManagementAddOn",
    kinds: &["Ready", "Reconciling", "Stalled"],
    rows: &[
        ("done", &["True (Ready)", "False", "False"]),
        (
            "no cluster is selected",
            &["True (NoClustersSelected)", "False", "False"],
        ),
        (
            "some agents do not work",
            &["False (ClustersUnavailable)", "False", "False"],
        ),
        ("wait", &["False", "True", "False"]),
        ("act", &["False", "False", "True"]),
    ],
};

impl Table {
    fn has(&self, conditions: &Value) -> bool {
        let fits = |cells: &[&str]| {
            let mut pairs = self.kinds.iter().zip(cells);
            pairs.all(|(kind, cell)| fits(cell, find(conditions, kind)))
        };
        self.rows.iter().any(|(_, cells)| fits(cells))
    }

    fn check(&self, conditions: &Value) -> Option<String> {
        (!self.has(conditions))
            .then(|| format!("{}: {} is in no table", self.of, told(conditions, self.kinds)))
    }
}

fn find<'a>(conditions: &'a Value, kind: &str) -> Option<&'a Value> {
    let mut all = conditions.as_array().into_iter().flatten();
    all.find(|one| one["type"] == kind)
}

fn word<'a>(condition: &'a Value, field: &str) -> &'a str {
    condition[field].as_str().unwrap_or_default()
}

fn fits(cell: &str, condition: Option<&Value>) -> bool {
    cell.split(" or ")
        .any(|alternative| match (alternative, condition) {
            ("any", _) | ("absent", None) => true,
            ("absent", Some(_)) | (_, None) => false,
            (alternative, Some(condition)) => {
                let (status, reasons) = alternative.split_once(" (").unwrap_or((alternative, ""));
                let mut reasons = reasons.trim_end_matches(')').split(", ");
                word(condition, "status") == status
                    && (alternative == status || reasons.any(|reason| word(condition, "reason") == reason))
            }
        })
}

fn told(conditions: &Value, kinds: &[&str]) -> String {
    let each = kinds.iter().map(|kind| match find(conditions, kind) {
        None => format!("{kind} absent"),
        Some(one) => format!(
            "{kind}={} {} {:?}",
            word(one, "status"),
            word(one, "reason"),
            word(one, "message")
        ),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A condition that waits, or needs an administrator, has its reason in `Ready`, too.
fn disagreement(conditions: &Value, of: &str) -> Option<String> {
    let ready = find(conditions, "Ready")?;
    let is_true = |kind: &&&str| find(conditions, kind).is_some_and(|one| one["status"] == "True");
    let other = ["Reconciling", "Stalled"].iter().find(is_true)?;
    let other = find(conditions, other)?;
    // A fault of the add-on may be one of many reasons to wait.
    (ready["reason"] != other["reason"]).then(|| {
        format!(
            "{of}: {} contradict each other",
            told(conditions, &["Ready", "Reconciling", "Stalled"])
        )
    })
}

/// The whole message is in `Configured` or in `Progressing`, and nowhere else.
fn repetition(conditions: &Value) -> Option<String> {
    let kinds = INSTANCE.kinds;
    let sentences = ["Configured", "Progressing"]
        .iter()
        .filter_map(|kind| find(conditions, kind));
    let mut long = sentences
        .filter(|one| word(one, "message").len() > 12 && !word(one, "message").contains("see the condition"));
    let told_twice = |sentence: &&Value| {
        let mut others = kinds.iter().filter_map(|kind| find(conditions, kind));
        others.any(|one| {
            // A hook that cannot be made names its cause, which can be that of the rest.
            one["type"] != sentence["type"]
                && !word(one, "reason").starts_with("Hook")
                && word(one, "message").contains(word(sentence, "message"))
        })
    };
    let twice = long.find(told_twice)?;
    Some(format!(
        "ManagedClusterAddOn: one sentence stands twice: {:?} in {}",
        word(twice, "message"),
        told(conditions, kinds)
    ))
}

/// An agent without its registration does not do what the add-on is for.
fn unregistered(conditions: &Value) -> Option<String> {
    let is = |kind: &str, status: &str| find(conditions, kind).is_some_and(|one| one["status"] == status);
    (is("Ready", "True") && is("RegistrationApplied", "False")).then(|| {
        format!(
            "ManagedClusterAddOn: it is ready without its registration: {}",
            told(conditions, &["Ready", "RegistrationApplied"])
        )
    })
}

/// Returns what is wrong with the status of a ManagedClusterAddOn.
pub(crate) fn instance(status: &Value) -> Option<String> {
    let conditions = &status["conditions"];
    // Who manages itself, and who has just been made, is not summed up.
    find(conditions, "Ready")?;
    INSTANCE
        .check(conditions)
        .or_else(|| unregistered(conditions))
        .or_else(|| disagreement(conditions, INSTANCE.of))
        .or_else(|| repetition(conditions))
}

/// Returns what is wrong with the status of a ClusterManagementAddOn.
pub(crate) fn addon(status: &Value) -> Option<String> {
    let mut progressions = status["installProgressions"].as_array().into_iter().flatten();
    let conditions = &status["conditions"];
    if let Some(wrong) = progressions.find_map(|one| PROGRESSION.check(&one["conditions"])) {
        return Some(wrong);
    }
    let ready = find(conditions, "Ready")?;
    let mut progressions = status["installProgressions"].as_array().into_iter().flatten();
    let stalled = progressions.find(|one| find(&one["conditions"], "Stalled").is_some());
    if let Some(stalled) = stalled.filter(|_| ready["status"] == "True") {
        return Some(format!("{}: it is Ready beside {stalled}", ADDON.of));
    }
    ADDON
        .check(conditions)
        .or_else(|| disagreement(conditions, ADDON.of))
}
