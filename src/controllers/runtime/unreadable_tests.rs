//! Objects that cannot be read, because they have too many values or do not fit into memory, and that can be read again.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::absence_tests::{Fault, driver_with, fleet, planned, read};
use crate::telemetry::Metrics;
use store::{Event, Kind, ObjectKey};

const MINUTE: Duration = Duration::from_mins(1);

/// What does not fit into the memory of a kind: most of its memory is text, which is quickly made.
fn too_large(key: &ObjectKey, object: &Value, version: &str) -> Event {
    let mut object = versioned(object, version);
    let most = match key.kind {
        Kind::DeploymentConfig | Kind::Template => 65,
        Kind::Instance => 33,
        Kind::KeptContent => 17,
        _ => 9,
    };
    object["status"] = json!({"x": null});
    object["status"]["x"] = Value::String("x".repeat(most << 20));
    let kind = key.kind;
    Event::Applied { kind, object }
}

fn with_too_many_values(key: &ObjectKey, object: &Value, version: &str) -> Event {
    let (kind, object, why) = (
        key.kind,
        versioned(object, version),
        "it has too many values".to_owned(),
    );
    Event::Unreadable { kind, object, why }
}

fn versioned(object: &Value, version: &str) -> Value {
    let mut object = object.clone();
    object["metadata"]["resourceVersion"] = json!(version);
    object
}

/// How an object stops being one that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Shown,
    Listed,
    Deleted,
    /// It is shown, or deleted, while it is read by its name, and the answer is older than that.
    ShownDuringLook,
    DeletedDuringLook,
}

/// A watch event that shows an object as one that can be read ends the hold at once, and so does the end of the object.
#[tokio::test(start_paused = true)]
async fn what_becomes_readable_or_goes_holds_nothing_any_more() {
    let have_memory = [
        Kind::Cluster,
        Kind::DeploymentConfig,
        Kind::Instance,
        Kind::KeptContent,
        Kind::SigningRequest,
        Kind::Template,
        Kind::UpgradeWork,
        Kind::Work,
    ];
    let ends = [
        End::Shown,
        End::Listed,
        End::Deleted,
        End::ShownDuringLook,
        End::DeletedDuringLook,
    ];
    let all = fleet()
        .into_iter()
        .filter(|(key, _)| !matches!(&*key.name, "o1" | "other"));
    let makers = [too_large, with_too_many_values];
    let (mut cases, mut faults) = (0, Vec::new());
    for (key, object) in all {
        for (end, (number, unreadable)) in ends
            .into_iter()
            .flat_map(|end| makers.iter().enumerate().map(move |make| (end, make)))
        {
            if number == 0 && !have_memory.contains(&key.kind) {
                continue;
            }
            // Every third one is known before.
            cases += 1;
            faults.extend(becomes_readable(&key, &object, end, *unreadable, cases % 3 == 0));
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

/// Returns what still holds an add-on after the end of the hold.
fn becomes_readable(
    key: &ObjectKey,
    object: &Value,
    end: End,
    unreadable: fn(&ObjectKey, &Value, &str) -> Event,
    is_known: bool,
) -> Option<String> {
    let metrics = Metrics::default();
    let mut driver = driver_with(Fault::Broken.client(), metrics.clone());
    let (now, kind) = (Instant::now(), key.kind);
    let what = format!("{key} {end:?}, known before: {is_known}");
    for (other, object) in fleet() {
        let kind = other.kind;
        if other != *key || is_known {
            driver.take_one(Event::Applied { kind, object }, now);
        }
    }
    driver.take_one(unreadable(key, object, "5"), now);
    for kind in Kind::ALL {
        let keys = fleet().into_keys().filter(|key| key.kind == kind).collect();
        driver.take_one(Event::ListEnded { kind, keys }, now);
    }
    driver.note_unreadable();
    let line = "tidegate_unreadable_objects{";
    assert!(metrics.text().contains(line), "{what}: it is held");
    let owner = ObjectKey::addon(&"hello".into());
    let depends = driver.store.dependents(key).contains(&owner);
    while let Some(owner) = driver.queue.take(now + MINUTE) {
        driver.queue.finish(&owner, now);
    }
    let look = driver.absences.looks.begin([key.clone()]);
    let small = versioned(object, "6");
    match end {
        End::Shown | End::ShownDuringLook => {
            driver.take_one(Event::Applied { kind, object: small }, now);
        }
        End::Listed => {
            let others = fleet().into_iter().filter(|(other, _)| other.kind == kind);
            let others = others.map(|(other, object)| if other == *key { small.clone() } else { object });
            let objects = others.collect();
            driver.take_one(Event::Listed { kind, objects }, now);
        }
        End::Deleted | End::DeletedDuringLook => {
            driver.take_one(Event::Deleted { kind, object: small }, now);
        }
    }
    if matches!(end, End::ShownDuringLook | End::DeletedDuringLook) {
        driver.see(&owner, look, read(unreadable(key, object, "5")));
    }
    driver.note_unreadable();
    let is_due = std::iter::from_fn(|| driver.queue.take(now)).any(|due| due == owner);
    let (_, told) = planned(&mut driver, "hello");
    if metrics.text().contains(line) || told.contains("ReadFailed") {
        return Some(format!("{what}: it is still held {told}"));
    }
    if !driver.store.faults().is_empty() {
        return Some(format!(
            "{what}: it is still reported: {:?}",
            driver.store.faults()
        ));
    }
    (depends && !is_due).then(|| format!("{what}: the add-on is not planned at once"))
}
