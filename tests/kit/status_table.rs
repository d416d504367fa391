//! The allowed combinations of conditions, as `docs/controllers.md` lists them, and a check that a status is one of them. It reads
//! statuses as the hub stores them, and does not call the planner.

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
            "done, and a newer configuration is not rolled out to this cluster",
            &[
                "True (Ready, ContentSuperseded)",
                "False",
                "False",
                "False",
                "False (OutsideRollout, RolledBack, ConfigurationsNotConfigured)",
            ],
        ),
        (
            "done, deployed by another program, and Tidegate cannot read one of its configurations",
            &[
                "True (Ready)",
                "False",
                "False",
                "False",
                "False (ConfigurationForbidden, ConfigurationKindNotServed, ConfigurationTypeOffLimits, TooManyConfigurationTypes, ConfigurationHashUnknown)",
            ],
        ),
        (
            "done, and the agent is not available",
            &[
                "False (Unavailable, AvailabilityUnknown)",
                "False",
                "False",
                "False",
                "any",
            ],
        ),
        ("in progress", &["False", "True", "False", "True", "any"]),
        (
            "waiting for the rollout, a cluster, a hash or another controller",
            &["False", "True", "False", "any", "any"],
        ),
        ("action needed", &["False", "False", "True", "False", "any"]),
        (
            "action needed, and the controller retries",
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
            "done, and no change can be rolled out",
            &[
                "False (Completed)",
                "True (RolloutStrategyInvalid, PlacementNotFound)",
                "absent or True (RolloutPaused)",
            ],
        ),
        ("in progress", &["True (Progressing)", "absent", "absent"]),
        (
            "paused",
            &["True (Progressing)", "absent", "True (RolloutPaused)"],
        ),
        (
            "action needed",
            &[
                "True (Progressing)",
                "True (TooManyFailures, UndoImpossible, RolloutStrategyInvalid, PlacementNotFound, DecisionNotFound)",
                "absent or True (RolloutPaused)",
            ],
        ),
        (
            "action needed: the rollout was undone, clusters are being rolled back",
            &[
                "True (RollingBack)",
                "True (RollingBack, UndoImpossible, PlacementNotFound, DecisionNotFound)",
                "absent or True (RolloutPaused)",
            ],
        ),
        (
            "action needed: the rollout was undone",
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
            "some agents are not available",
            &["False (ClustersUnavailable)", "False", "False"],
        ),
        ("waiting", &["False", "True", "False"]),
        ("action needed", &["False", "False", "True"]),
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
        "ManagedClusterAddOn: one sentence is repeated: {:?} in {}",
        word(twice, "message"),
        told(conditions, kinds)
    ))
}

/// An agent without its registration does not work.
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
    // An add-on that manages itself, or was just created, has no summary.
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
