//! Taints and tolerations: which taints keep a cluster away, and until when they are tolerated.

use k8s_openapi::jiff::{SignedDuration, Timestamp};

use crate::wire::{Taint, Toleration};

/// Whether a placement may have a cluster in spite of its taints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tolerance {
    Tolerated { until: Option<Timestamp> },
    Refused,
}

/// Returns what is wrong with the tolerations, if anything.
pub(super) fn check(tolerations: &[Toleration]) -> Result<(), String> {
    for toleration in tolerations {
        let exists = toleration.operator == "Exists";
        if toleration.key.is_empty() && !exists {
            return Err("If the key is empty, operator must be Exists.".to_owned());
        }
        if exists && !toleration.value.is_empty() {
            return Err("If the operator is Exists, the value should be empty.".to_owned());
        }
    }
    Ok(())
}

/// Returns whether all taints of a cluster are tolerated, and when the first toleration ends.
pub(super) fn tolerance(
    taints: &[Taint],
    tolerations: &[Toleration],
    chosen: bool,
    now: Timestamp,
) -> Tolerance {
    let mut first_end: Option<Timestamp> = None;
    for taint in taints {
        match one(taint, tolerations, chosen, now) {
            Tolerance::Refused => return Tolerance::Refused,
            Tolerance::Tolerated { until } => first_end = [first_end, until].into_iter().flatten().min(),
        }
    }
    Tolerance::Tolerated { until: first_end }
}

fn one(taint: &Taint, tolerations: &[Toleration], chosen: bool, now: Timestamp) -> Tolerance {
    if taint.effect == "PreferNoSelect" || (taint.effect == "NoSelectIfNew" && chosen) {
        return Tolerance::Tolerated { until: None };
    }
    let fitting = tolerations.iter().filter(|toleration| fits(taint, toleration));
    for toleration in fitting {
        let Some(seconds) = toleration.toleration_seconds else {
            return Tolerance::Tolerated { until: None };
        };
        let since = taint.time_added.unwrap_or(Timestamp::UNIX_EPOCH);
        let end = since
            .saturating_add(SignedDuration::from_secs(seconds))
            .unwrap_or(Timestamp::MAX);
        if now < end {
            return Tolerance::Tolerated { until: Some(end) };
        }
    }
    Tolerance::Refused
}

fn fits(taint: &Taint, toleration: &Toleration) -> bool {
    let effect = toleration.effect.is_empty() || toleration.effect == taint.effect;
    let key = toleration.key.is_empty() || toleration.key == taint.key;
    let value = match toleration.operator.as_str() {
        "" | "Equal" => toleration.value == taint.value,
        "Exists" => true,
        _ => false,
    };
    effect && key && value
}
