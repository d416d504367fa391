//! The seeds' own manifests, asked one by one: what a seed shows as right is accepted, what it calls invalid is refused.

#[path = "admission/asked.rs"]
mod asked;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use asked::Asked;
use serde_json::Value;
use tidegate::admission::Door;
use tidegate::api::v1alpha1::{ClusterManagementAddOn, ManagedClusterAddOn};
use tidegate::model::ConfigType;
use tidegate::snapshot::{AddonFacts, Facts};

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/seeds")
        .join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn document(file: &str) -> Value {
    serde_saphyr::from_str(&read(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// One line of the index.
struct Row {
    file: String,
    verdict: String,
    given: Vec<String>,
    status: Option<String>,
}

fn rows() -> Vec<Row> {
    let index = read("index.tsv");
    let mut lines = index.lines();
    assert_eq!(lines.next(), Some("file\tseed\tverdict\tnote\tgiven\tstatus"));
    let column = |text: &str| (text != "-").then(|| text.to_owned());
    lines
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let [file, _, verdict, _, given, status] = columns.as_slice() else {
                panic!("six columns: {line}")
            };
            let given = column(given).map(|files| files.split(',').map(str::to_owned).collect());
            Row {
                file: (*file).to_owned(),
                verdict: (*verdict).to_owned(),
                given: given.unwrap_or_default(),
                status: column(status),
            }
        })
        .collect()
}

/// What the hub knows: the add-ons that are given, and what the agent declared in the object's status.
fn facts(row: &Row, object: &Value) -> Facts {
    let mut facts = Facts::default();
    for file in &row.given {
        let given = document(file);
        if given.get("kind") == Some(&Value::from("ClusterManagementAddOn")) {
            let addon: ClusterManagementAddOn = serde_json::from_value(given).expect("a wire type");
            let name = addon.metadata.name.clone().expect("a name");
            facts = facts.with_addon(&name, AddonFacts::of(&addon.spec));
        }
    }
    if let Some(status) = &row.status {
        let mut whole = object.clone();
        whole["status"] = document(status).get("status").cloned().unwrap_or_default();
        if let Ok(addon) = serde_json::from_value::<ManagedClusterAddOn>(whole) {
            let types = addon.status.iter().flat_map(|status| &status.supported_configs);
            let types: Vec<ConfigType> = types
                .filter_map(|config| ConfigType::parse(&config.group, &config.resource).ok())
                .collect();
            let name = |text: &Option<String>| text.clone().unwrap_or_default();
            facts = facts.with_declared(
                &name(&addon.metadata.namespace),
                &name(&addon.metadata.name),
                types,
            );
        }
    }
    facts.completed()
}

#[test]
fn every_manifest_of_the_seeds_gets_the_verdict_that_its_seed_gives_it() {
    let mut wrong = String::new();
    let mut seen = BTreeSet::new();
    for row in rows() {
        let object = document(&row.file);
        let facts = facts(&row, &object);
        for door in [Door::Mutate, Door::Validate] {
            let verdict = Asked::create(object.clone()).at(door, &facts);
            let given = match (verdict.allowed(), verdict.warnings().is_empty()) {
                (true, true) => "accept",
                (true, false) => "warn",
                (false, _) => "refuse",
            };
            if given != row.verdict {
                writeln!(wrong, "{}: {given} at {door:?}, not {}", row.file, row.verdict).expect("a string");
                verdict
                    .violations()
                    .iter()
                    .for_each(|fault| writeln!(wrong, "  {fault}").expect("a string"));
                verdict
                    .warnings()
                    .iter()
                    .for_each(|fault| writeln!(wrong, "  {fault}").expect("a string"));
            }
        }
        seen.insert(row.verdict);
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        ["accept", "refuse", "warn"],
        "the index has all three"
    );
}

#[test]
fn manifests_that_cannot_hold_as_printed_are_refused_or_doubted() {
    let index = read("cannot-hold.tsv");
    let rows = index
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>());
    let mut asked = 0;
    for row in rows {
        let [file, _, how, ..] = row.as_slice() else {
            panic!("columns: {row:?}")
        };
        if !["field", "type"].contains(how) {
            continue;
        }
        let object = document(file);
        let verdict = Asked::create(object).at(Door::Mutate, &Facts::default());
        let doubted = !verdict.allowed() || !verdict.warnings().is_empty();
        // A status is dropped on creation, whatever it is, and metadata is the API server's: it refuses before it asks.
        let others = row
            .get(3)
            .is_some_and(|place| place.starts_with("status") || place.starts_with("metadata"));
        assert!(doubted || others, "{row:?}");
        asked += 1;
    }
    assert!(asked > 0, "the list has such manifests");
}
