//! The input of rules for a `RolloutApproval`.

use serde_json::Value;

/// The input of rules for the approval of a change.
#[derive(Clone, Debug, Default)]
pub(super) struct ApprovalBody<'a> {
    /// `spec.addon`
    pub(super) addon: Option<&'a str>,
    /// `spec.upgrade`
    pub(super) upgrade: Option<&'a str>,
    /// `spec.placement`
    pub(super) placement: Option<&'a str>,
    /// `spec.group`
    pub(super) group: Option<&'a str>,
    /// `spec.decision`
    pub(super) decision: Option<&'a Value>,
    /// `spec.decision.content`
    pub(super) content: Option<&'a str>,
    /// `status.content`
    pub(super) present: Option<&'a str>,
}

impl<'a> ApprovalBody<'a> {
    /// Reads an object. A part with a wrong type is reported by the schema.
    pub(super) fn read(object: &'a Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        Self {
            addon: text("/spec/addon"),
            upgrade: text("/spec/upgrade"),
            placement: text("/spec/placement"),
            group: text("/spec/group"),
            decision: object.pointer("/spec/decision"),
            content: text("/spec/decision/content"),
            present: text("/status/content"),
        }
    }
}
