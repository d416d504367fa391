//! Copies of content: only what is on the hub is copied, where it may be read, and none is deleted that clusters may go back to.
//!
//! Decides nothing; never asks the planner's own code.

use serde_json::Value;

use api::hash::SpecHash;
use store::{ConfigRef, Kind, ObjectKey, View, terms};

/// Returns what is wrong with a copy that the plan makes.
pub(super) fn created(view: &View<'_>, object: &ObjectKey, body: &Value) -> Option<&'static str> {
    let owner = body.pointer("/metadata/ownerReferences/0/uid");
    let data = body.get("data").cloned().unwrap_or_default();
    let Some(kind) = Kind::of_object(&data) else {
        return Some("its data is no configuration");
    };
    let key = ObjectKey::of(kind, &data);
    let home = if key.namespace.is_empty() {
        &view.settings().namespace
    } else {
        &key.namespace
    };
    let copies = |found: &store::Config| *found.hash == SpecHash::of(&data).to_string();
    let is_empty = data.get(terms::NOT_KEPT).is_some() && data.get("spec").is_none();
    if owner.and_then(Value::as_str) != Some(&*view.addon.meta.uid) {
        Some("it does not belong to the add-on")
    } else if object.namespace != *home {
        Some("it is not in the namespace of what it copies")
    } else if view.kept(&object.place()).is_some() {
        Some("it is there already")
    } else if !is_empty && !view.config(&ConfigRef::of(&key)).is_some_and(copies) {
        Some("it copies what is not on the hub")
    } else {
        None
    }
}

/// Returns what is wrong with the deletion of a copy.
pub(super) fn deleted(view: &View<'_>, object: &ObjectKey) -> Option<&'static str> {
    let place = object.place();
    // What others put in the place of a copy need not say whose it is.
    let ours = |kept: &&store::KeptContent| {
        kept.addon == view.addon.name || object.name.starts_with(&*view.addon.name)
    };
    let Some(kept) = view.kept(&place).filter(ours) else {
        return Some("it does not belong to the add-on");
    };
    let (config, content) = kept.content.as_ref().ok()?;
    let is_named = |good: &store::PinnedConfig| good.config == *config && good.hash == content.hash;
    let mut noted = view.addon.progressions.iter().flatten();
    let needed = noted.any(|one| {
        one.known_good()
            .is_some_and(|good| good.configs.iter().any(is_named))
    });
    let is_second = view
        .kept_content(config, &content.hash)
        .is_some_and(|(at, ..)| *at != place);
    (needed && !is_second && view.config(config).is_none_or(|found| found.hash != content.hash))
        .then_some("clusters may go back to it")
}
