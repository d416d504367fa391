//! What must be equal at the end of any history: which add-ons exist, their assigned and confirmed content, their conditions, and the
//! content of their works.
//!
//! Excluded is what depends on history: uids, revisions, times, and whether the last change was an install, an upgrade or a
//! rollback. The canonical end is computed from the users' objects alone, in order and without faults.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use store::{Kind, ObjectKey};

use super::case::Case;
use super::hub::{Hub, Object, Part, text};
use super::sim::Sim;
use super::user::ADDON;
use super::watchdog::marked;

const MARK: &str = "tidegate.io/installed-by";
const HASHES: &str = "open-cluster-management.io/config-spec-hash";

/// Compares an end with the canonical one; returns the differences.
pub(crate) fn compare(ended: &Hub, case: &Case) -> Result<(), String> {
    let mut canonical = Sim::canonical(users_objects(ended), case);
    canonical.rest()?;
    // What users changed in add-ons that a placement gave them stays as they left it.
    for (key, object) in ended.of_kind(Kind::Instance) {
        let patch = json!({"spec": object["spec"]});
        canonical.hub.patch(key, &patch, Part::Main, None).ok();
    }
    canonical.rest()?;
    let (reached, wanted) = (picture(ended), picture(&canonical.hub));
    let mut differences = Vec::new();
    for key in reached
        .keys()
        .chain(wanted.keys())
        .collect::<std::collections::BTreeSet<_>>()
    {
        let (here, there) = (reached.get(key), wanted.get(key));
        if here != there {
            let absent = || "absent".to_owned();
            let (here, there) = (
                here.cloned().unwrap_or_else(absent),
                there.cloned().unwrap_or_else(absent),
            );
            differences.push(format!("  {key}:\n    reached   {here}\n    canonical {there}"));
        }
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(format!(
        "end: the end depends on the way\n{}",
        differences.join("\n")
    ))
}

/// What the manager made is left out, and every status that it writes.
fn users_objects(ended: &Hub) -> Hub {
    let mut hub = Hub::new();
    hub.now = ended.now;
    let placed = is_placed(ended);
    let ours = if placed {
        marked(ended)
    } else {
        std::collections::BTreeSet::new()
    };
    for (key, _) in ended.of_kind(Kind::Cluster) {
        hub.open_namespace(&key.name);
    }
    let is_users = |key: &ObjectKey| key.kind != Kind::Work && !ours.contains(key);
    let objects: Vec<(&ObjectKey, &Object)> = ended.objects().filter(|(key, _)| is_users(key)).collect();
    for (key, object) in objects {
        let mut copy = (**object).clone();
        let metadata = copy["metadata"].as_object_mut().expect("an object has metadata");
        for field in ["uid", "resourceVersion", "generation", "ownerReferences"] {
            metadata.remove(field);
        }
        if key.kind == Kind::AddOn {
            metadata.remove("finalizers");
        }
        hub.create(key.kind, copy).expect("a users' object is accepted");
        if !matches!(key.kind, Kind::AddOn | Kind::Instance)
            && let Some(status) = object.get("status")
        {
            hub.put_status(key, status);
        }
    }
    hub
}

/// Whether placements or labels give the add-on: otherwise the mark says only who gave it once.
fn is_placed(hub: &Hub) -> bool {
    let addon = hub.get(&ObjectKey::new(Kind::AddOn, "", ADDON));
    addon.is_some_and(|addon| text(addon, "/spec/installStrategy/type") != "Manual")
}

fn picture(hub: &Hub) -> BTreeMap<String, String> {
    let addon = hub.get(&ObjectKey::new(Kind::AddOn, "", ADDON)).cloned();
    let mut picture = BTreeMap::new();
    for (key, object) in hub.objects() {
        let drawn = match key.kind {
            // No controller writes the status of an instance whose add-on was deleted.
            Kind::Instance if addon.is_none() => "there".to_owned(),
            Kind::Instance => instance(object),
            Kind::Work => work(object),
            Kind::AddOn => progressions(object),
            _ => "there".to_owned(),
        };
        picture.insert(key.to_string(), drawn);
    }
    picture
}

fn instance(object: &Arc<Value>) -> String {
    let mark = object["metadata"]["annotations"][MARK]
        .as_str()
        .unwrap_or("by hand");
    let references = list(object, "/status/configReferences").map(reference);
    let references: Vec<String> = references.collect();
    format!(
        "{mark}; {}; {}",
        references.join(", "),
        conditions(object, "/status/conditions")
    )
}

fn list<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn reference(one: &Value) -> String {
    let short = |form: &str| {
        let hash: String = text(one, &format!("/{form}/specHash")).chars().take(6).collect();
        format!("{}:{hash}", text(one, &format!("/{form}/name")))
    };
    format!(
        "{}={} applied {}",
        text(one, "/resource"),
        short("desiredConfig"),
        short("lastAppliedConfig")
    )
}

/// By type, without the word for the phase.
fn conditions(object: &Value, pointer: &str) -> String {
    let phaseless = |reason: &str| {
        // A work that was restored after its change was applied has no phase.
        let ocm = [
            ("Completed", "Succeed"),
            ("Failed", "Failed"),
            ("Progressing", "ing"),
        ];
        if let Some((_, rest)) = ocm.iter().find(|(word, _)| *word == reason) {
            return format!("*{rest}");
        }
        let phases = ["Install", "Upgrade", "Rollback", "Upgrad", "Roll"];
        let rest = phases.iter().find_map(|phase| reason.strip_prefix(phase));
        rest.map_or_else(|| reason.to_owned(), |rest| format!("*{rest}"))
    };
    let mut each: Vec<String> = list(object, pointer)
        .map(|one| {
            format!(
                "{}={} {}",
                text(one, "/type"),
                text(one, "/status"),
                phaseless(text(one, "/reason"))
            )
        })
        .collect();
    each.sort();
    each.join(", ")
}

fn work(object: &Arc<Value>) -> String {
    let hashes = object["metadata"]["annotations"][HASHES]
        .as_str()
        .unwrap_or_default();
    let owners: Vec<&str> = list(object, "/metadata/ownerReferences")
        .map(|one| text(one, "/kind"))
        .collect();
    format!("{} {hashes} {owners:?}", object["spec"])
}

/// Without what was applied last: a placement without clusters keeps what it had.
fn progressions(object: &Arc<Value>) -> String {
    let each = list(object, "/status/installProgressions").map(|one| {
        let references: Vec<String> = list(one, "/configReferences").map(desired).collect();
        format!(
            "{}: {}; {}",
            text(one, "/name"),
            references.join(", "),
            conditions(one, "/conditions")
        )
    });
    each.collect::<Vec<String>>().join(" | ")
}

fn desired(one: &Value) -> String {
    let hash: String = text(one, "/desiredConfig/specHash").chars().take(6).collect();
    format!(
        "{}={}:{hash}",
        text(one, "/resource"),
        text(one, "/desiredConfig/name")
    )
}
