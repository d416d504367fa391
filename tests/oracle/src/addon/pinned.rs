//! Pinned content: a work carries exactly the hashes that the status assigns once the plan is applied, and is only written
//! from content that is on the hub with these hashes.
//!
//! Decides nothing; the content of a kind that is not watched is not known here, and never called gone.

use std::collections::BTreeMap;

use serde_json::Value;

use plan::{Action, Plan};
use store::{ConfigRef, ConfigType, Kind, Name, ObjectKey, View, terms};

type Hashes = BTreeMap<String, (ConfigRef, Name)>;

/// Returns what is wrong with the content of a work that the plan writes.
pub(super) fn fault(view: &View<'_>, plan: &Plan, work: &ObjectKey, body: &Value) -> Option<&'static str> {
    let annotations = body.pointer("/metadata/annotations");
    let carried = annotations.and_then(|all| all.get(terms::CONFIG_HASHES));
    let carried: BTreeMap<String, String> = carried
        .and_then(Value::as_str)
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let assigned = assigned(view, plan, work);
    let plain = assigned.iter().map(|(key, (_, hash))| (key.as_str(), &**hash));
    if !carried
        .iter()
        .map(|(key, hash)| (key.as_str(), hash.as_str()))
        .eq(plain)
    {
        return Some("it carries other hashes than the status assigns");
    }
    let is_deleted = |(config, hash): &(ConfigRef, Name)| {
        Kind::of_config(&config.of.group, &config.of.resource).is_some()
            && view.content(config, hash).is_none()
    };
    (body.get("spec").is_some() && assigned.values().any(is_deleted))
        .then_some("it is made from content that is not on the hub")
}

/// The hashes that the status will assign after the plan, by the text that works carry for them.
fn assigned(view: &View<'_>, plan: &Plan, work: &ObjectKey) -> Hashes {
    let written = plan.actions.iter().find_map(|action| match action {
        Action::Status { object, patch, .. }
            if object.kind == Kind::Instance && object.namespace == work.namespace =>
        {
            patch.value().pointer("/status/configReferences").cloned()
        }
        Action::Create { .. }
        | Action::Replace { .. }
        | Action::Status { .. }
        | Action::Delete { .. }
        | Action::Certify { .. } => None,
    });
    let pairs: Vec<(ConfigRef, Name)> = if let Some(entries) = written.as_ref().and_then(Value::as_array) {
        entries.iter().map(pair).collect()
    } else {
        let instance = view.instance(&work.namespace);
        let references = instance
            .into_iter()
            .flat_map(|instance| instance.references.iter());
        references
            .map(|one| (one.config.clone(), one.desired.clone()))
            .collect()
    };
    pairs
        .into_iter()
        .map(|(config, hash)| (config.to_string(), (config, hash)))
        .collect()
}

fn pair(entry: &Value) -> (ConfigRef, Name) {
    let text = |pointer: &str| -> Name {
        entry
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .into()
    };
    let config = ConfigRef {
        of: ConfigType {
            group: text("/group"),
            resource: text("/resource"),
        },
        namespace: text("/desiredConfig/namespace"),
        name: text("/desiredConfig/name"),
    };
    (config, text("/desiredConfig/specHash"))
}
