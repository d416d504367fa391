//! Approvals of changes.

use serde_json::{Value, json};

/// A RolloutApproval in which contents were approved, the last one at last.
pub(crate) fn approval(addon: &str, placement: &str, group: &str, contents: &[&str], now: &str) -> Value {
    let decision =
        |content: &&str| json!({"result": "Approved", "content": content, "by": "lead", "at": now});
    let mut all: Vec<Value> = contents.iter().map(decision).collect();
    let last = all.pop().unwrap_or_default();
    all.reverse();
    json!({
        "metadata": {"name": api::approval_name(addon, placement, group)},
        "spec": {"addon": addon, "placement": placement, "group": group, "decision": last},
        "status": {"approved": all},
    })
}
