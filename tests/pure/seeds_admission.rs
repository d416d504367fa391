//! The seeds' own manifests, one by one: valid examples are accepted, invalid ones are denied.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use admission::Webhook;
use api::v1alpha1::ClusterManagementAddOn;
use serde_json::Value;
use store::Facts;

use crate::kit::asked::{Asked, WrittenFacts};
use crate::kit::manifests::repository;

fn read(file: &str) -> String {
    let path = repository("tests/seeds").join(file);
    std::fs::read_to_string(&path)
        .map_err(|error| format!("{}: {error}", path.display()))
        .expect("a file")
}

fn document(file: &str) -> Value {
    serde_saphyr::from_str(&read(file))
        .map_err(|error| format!("{file}: {error}"))
        .expect("a YAML document")
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
            let columns: [&str; 6] = columns.try_into().expect("six columns");
            let [file, _, verdict, _, given, status] = columns;
            let given = column(given).map(|files| files.split(',').map(str::to_owned).collect());
            Row {
                file: file.to_owned(),
                verdict: verdict.to_owned(),
                given: given.unwrap_or_default(),
                status: column(status),
            }
        })
        .collect()
}

/// What the hub knows: the add-ons that are given, and what the agent declared in the object's status.
fn facts(row: &Row, object: &Value) -> Facts {
    let mut written = WrittenFacts::default();
    for given in row.given.iter().map(|file| document(file)) {
        if given.get("kind") == Some(&Value::from("ClusterManagementAddOn")) {
            let addon: ClusterManagementAddOn = serde_json::from_value(given).expect("a wire type");
            written
                .addons
                .insert(addon.metadata.name.expect("a name"), addon.spec);
        }
    }
    if let Some(status) = &row.status {
        let status = document(status);
        let types = status
            .pointer("/status/supportedConfigs")
            .and_then(Value::as_array);
        let text = |value: &Value, name: &str| {
            value
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let types = types
            .into_iter()
            .flatten()
            .map(|one| format!("{}.{}", text(one, "resource"), text(one, "group")));
        let metadata = object.get("metadata").expect("metadata");
        let agent = format!("{}/{}", text(metadata, "namespace"), text(metadata, "name"));
        written.agents.insert(agent, types.collect());
    }
    written.read()
}

#[test]
fn every_manifest_of_the_seeds_gets_the_verdict_that_its_seed_gives_it() {
    let mut wrong = String::new();
    let mut seen = BTreeSet::new();
    for row in rows() {
        let object = document(&row.file);
        let facts = facts(&row, &object);
        for webhook in [Webhook::Mutate, Webhook::Validate] {
            let verdict = Asked::create(object.clone()).at(webhook, &facts);
            let given = match (verdict.allowed(), verdict.warnings().is_empty()) {
                (true, true) => "accept",
                (true, false) => "warn",
                (false, _) => "refuse",
            };
            if given != row.verdict {
                writeln!(wrong, "{}: {given} at {webhook:?}, not {}", row.file, row.verdict)
                    .expect("a string");
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
        let (file, how) = (row[0], row[2]);
        if !["field", "type"].contains(&how) {
            continue;
        }
        let object = document(file);
        let verdict = Asked::create(object).at(Webhook::Mutate, &Facts::default());
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
