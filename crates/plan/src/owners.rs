//! OwnerReference references: the add-on owns its instances, an instance owns its works.
//!
//! Never removes the reference of another owner, and never adds a second controller.

use serde_json::{Value, json};

use store::{ADDON_GROUP, AddOn, Instance, Kind, Meta, OwnerReference};

/// Returns the reference to an add-on.
pub(super) fn of_addon(addon: &AddOn, controller: bool) -> Value {
    reference(Kind::AddOn, &addon.name, &addon.meta, controller)
}

/// Returns the reference to an instance.
pub(super) fn of_instance(instance: &Instance, controller: bool) -> Value {
    reference(Kind::Instance, &instance.addon, &instance.meta, controller)
}

/// Returns the owner list with the add-on in it, or `None` if it is right already.
pub(super) fn adopted(addon: &AddOn, owners: &[OwnerReference]) -> Option<Vec<Value>> {
    with_owner(owners, Kind::AddOn, &addon.name, &addon.meta)
}

/// Returns the owner list with the instance in it, or `None` if it is right already.
pub(super) fn owned_by(instance: &Instance, owners: &[OwnerReference]) -> Option<Vec<Value>> {
    with_owner(owners, Kind::Instance, &instance.addon, &instance.meta)
}

/// The version of an owner reference does not matter: other programs write another one, and correcting theirs would never end.
fn with_owner(owners: &[OwnerReference], kind: Kind, name: &str, meta: &Meta) -> Option<Vec<Value>> {
    let is_ours = |owner: &OwnerReference| {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        group == ADDON_GROUP && *owner.kind == *kind.address().kind && &*owner.name == name
    };
    if owners.iter().any(|owner| owner.uid == meta.uid && is_ours(owner)) {
        return None;
    }
    let others = owners.iter().filter(|owner| !is_ours(owner));
    let taken = others.clone().any(|owner| owner.controller == Some(true));
    let mut list: Vec<Value> = others.map(render).collect();
    list.push(reference(kind, name, meta, !taken));
    Some(list)
}

fn reference(kind: Kind, name: &str, meta: &Meta, controller: bool) -> Value {
    json!({
        "apiVersion": kind.api_version(),
        "kind": kind.address().kind,
        "name": name,
        "uid": &*meta.uid,
        "controller": controller,
        "blockOwnerDeletion": true,
    })
}

fn render(owner: &OwnerReference) -> Value {
    let mut rendered = json!({
        "apiVersion": &*owner.api_version,
        "kind": &*owner.kind,
        "name": &*owner.name,
        "uid": &*owner.uid,
    });
    if let Some(fields) = rendered.as_object_mut() {
        fields.extend(
            owner
                .controller
                .map(|controller| ("controller".to_owned(), Value::from(controller))),
        );
        fields.extend(
            owner
                .block
                .map(|block| ("blockOwnerDeletion".to_owned(), Value::from(block))),
        );
    }
    rendered
}
