//! The conditions that addon-framework writes into a ManagedClusterAddOn, text by text.
//!
//! Decides what each says of the works that there are. What others have written stays in its place.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::framework::Framework;
use super::json::{condition, says, text};
use crate::wire::render_time;

/// What one condition should say.
pub(super) type ConditionRow = (&'static str, &'static str, String);

/// What becomes of a condition.
pub(super) enum Word {
    /// It says this.
    Says(ConditionRow),
    /// It goes.
    Goes,
    /// It stays as it is.
    Stays,
}

/// Returns what is said of the works in one namespace.
pub(super) fn applied(instance: &Value, kind: &str, works: &[&Value]) -> Word {
    let says_applied = |message: &str| Word::Says(("True", "AddonManifestApplied", message.to_owned()));
    if works.is_empty() {
        return says_applied("no manifest need to apply");
    }
    if works.iter().any(|work| condition(work, "Applied").is_none()) {
        return if says(instance, kind) == "False" {
            Word::Goes
        } else {
            Word::Stays
        };
    }
    if works.iter().all(|work| says(work, "Applied") == "True") {
        return says_applied("manifests of addon are applied successfully");
    }
    let failed = "failed to apply the manifests of addon".to_owned();
    Word::Says(("False", "AddonManifestAppliedFailed", failed))
}

/// Returns what is said of the health, where the program finds it out.
pub(super) fn available(framework: &Framework, instance: &Value, cluster: &Value, works: &[&Value]) -> Word {
    let is_unknown = says(cluster, "ManagedClusterConditionAvailable") == "Unknown";
    if !framework.is_customized || is_unknown || condition(instance, "ManifestApplied").is_none() {
        return Word::Stays;
    }
    let Some(work) = works.iter().find(|work| says(work, "Available") != "True") else {
        return Word::Says(if works.is_empty() {
            (
                "Unknown",
                "WorkNotFound",
                "Addon manifestWork is not found".to_owned(),
            )
        } else {
            ("True", "WorkApplied", "Addon manifestWork is applied".to_owned())
        });
    };
    Word::Says(match condition(work, "Available") {
        Some(said) if text(said, "/status") == "False" => {
            ("False", "WorkNotApplied", text(said, "/message").to_owned())
        }
        Some(_) | None => (
            "Unknown",
            "WorkNotApplied",
            "Addon manifestWork is not applied yet".to_owned(),
        ),
    })
}

/// Does to a list of conditions what becomes of one. A time moves with the status only, and no generation is named.
pub(super) fn put(list: &mut Vec<Value>, kind: &str, word: Word, now: Timestamp) {
    let at = list.iter().position(|one| text(one, "/type") == kind);
    let (status, reason, message) = match word {
        Word::Says(said) => said,
        Word::Goes => return list.retain(|one| text(one, "/type") != kind),
        Word::Stays => return,
    };
    let known = at.and_then(|at| list.get_mut(at));
    let since = known
        .as_deref()
        .filter(|known| text(known, "/status") == status)
        .map_or_else(
            || render_time(now),
            |known| text(known, "/lastTransitionTime").to_owned(),
        );
    let new = json!({"type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": since});
    match known {
        Some(known) => *known = new,
        None => list.push(new),
    }
}
