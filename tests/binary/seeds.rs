//! The seeds' own manifests on a running hub: valid examples are stored, invalid ones are denied.
//!
//! The real `kubectl` sends whole manifests; `tests/pure/seeds_admission.rs` tests the same without a hub.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::rig::{Dev, Run, repository};

/// How long the facts of one manifest may take to reach the gate.
const PATIENCE: Duration = Duration::from_mins(1);
/// How many manifests of the index are of kinds of add-ons: the hub has no definition of them.
const FOREIGN: usize = 3;

/// What is said about a manifest, by the note that the index gives for it.
const SAID: [(&str, &str); 7] = [
    ("without namespace", "[config/missing-namespace]"),
    (
        "of a type that supportedConfigs does not list",
        "[config/unsupported-type]",
    ),
    ("is not in supportedConfigs", "[config/unsupported-type]"),
    (
        "a type that the add-on does not list",
        "[config/unsupported-type]",
    ),
    ("only one default configuration of a type", "[schema/value]"),
    (
        "the type is UpdateAll or RollingUpdateWithPlacement",
        "[rollout/unknown-type]",
    ),
    // kubectl asks for strict validation, so the API server refuses the key before the gate sees the object.
    (
        "the JSON key of the Go type",
        "unknown field \"spec.installStrategy.placements[0].space\"",
    ),
];

/// Rules that warn of objects which are not there: a manifest is sent alone, without what it refers to.
const ABSENT: [&str; 3] = [
    "[config/not-found]",
    "[install/unknown-placement]",
    "[rollout/never-progresses]",
];

/// One line of the index.
struct Row {
    file: String,
    verdict: String,
    note: String,
    given: String,
    status: Option<String>,
}

impl Row {
    fn said(&self) -> Option<&'static str> {
        SAID.iter()
            .find(|(note, _)| self.note.contains(note))
            .map(|(_, said)| *said)
    }

    fn is_foreign(&self) -> bool {
        is_foreign(&self.file)
    }
}

#[test]
fn every_manifest_of_the_seeds_gets_its_verdict_from_the_hub() {
    let dev = Dev::start(&["--clusters", "3", "--no-demo"]);
    prepare_namespace(&dev);
    let mut groups: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let (foreign, ours): (Vec<Row>, Vec<Row>) = rows().into_iter().partition(Row::is_foreign);
    for row in ours {
        groups.entry(row.given.clone()).or_default().push(row);
    }
    let mut wrong = String::new();
    for (given, rows) in &groups {
        let given = given_files(given);
        if !given.is_empty() {
            let stored = send(&dev, &["apply"], &given);
            assert!(stored.ok, "{given:?}: {}", stored.stderr);
        }
        for row in rows {
            if let Err(fault) = check(&dev, row) {
                writeln!(wrong, "{}: not {}: {fault}", row.file, row.verdict).expect("a string");
            }
        }
        remove(&dev, &given);
    }
    assert!(wrong.is_empty(), "{wrong}");

    assert_eq!(foreign.len(), FOREIGN, "kinds of add-ons in the index");
    for row in &foreign {
        assert!(
            row.note.contains("which the gate is not asked about"),
            "{}",
            row.file
        );
        let run = send(
            &dev,
            &["create", "--validate=false"],
            std::slice::from_ref(&row.file),
        );
        assert!(
            !run.ok && run.stderr.contains("no matches for kind"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn manifests_that_cannot_hold_as_printed_are_refused_with_the_reason() {
    let dev = Dev::start(&["--clusters", "3", "--no-demo"]);
    prepare_namespace(&dev);
    let list = read("cannot-hold.tsv");
    let known = rows();
    let mut asked = BTreeMap::new();
    for line in list.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let &[file, _, how, place, _, instead] = columns.as_slice() else {
            panic!("six columns: {line:?}");
        };
        let path = path(file);
        let run = dev.kubectl(&["create", "-f", &path]);
        assert!(!run.ok, "{file} must be refused");
        match how {
            "yaml" => assert!(run.stderr.contains("error converting YAML"), "{}", run.stderr),
            "field" => check_unknown_field(&dev, &path, place, &run),
            "kind" => {
                let run = dev.kubectl(&["create", "--validate=false", "-f", &path]);
                let said = run.stderr.contains("no matches for kind");
                assert!(!run.ok && said, "{file}: {}", run.stderr);
            }
            "type" => check_wrong_type(&dev, file, &run),
            other => panic!("{file}: {other:?} is no way to fail"),
        }
        for file in instead.split(',') {
            let stands = known
                .iter()
                .any(|row| row.file == file && row.verdict != "refuse");
            assert!(stands, "{file} is no manifest that holds");
        }
        *asked.entry(how.to_owned()).or_insert(0) += 1;
    }
    assert_eq!(asked.len(), 4, "every way to fail is asked: {asked:?}");
}

/// An unknown field is an error where the user asks for strictness, and a warning where not.
fn check_unknown_field(dev: &Dev, path: &str, field: &str, strict: &Run) {
    let said = format!("unknown field \"{field}\"");
    assert!(
        strict.stderr.contains("strict decoding error"),
        "{path}: {}",
        strict.stderr
    );
    assert!(strict.stderr.contains(&said), "{path}: {}", strict.stderr);
    let lax = dev.kubectl(&["create", "--dry-run=server", "--validate=warn", "-f", path]);
    let warned = lax
        .stderr
        .lines()
        .any(|line| line.starts_with("Warning: ") && line.contains(&said));
    assert!(lax.ok && warned, "{path}: {}", lax.stderr);
}

/// kubectl itself cannot read such a manifest; sent as it is, the hub answers the same.
fn check_wrong_type(dev: &Dev, file: &str, run: &Run) {
    assert!(run.stderr.contains("unable to decode"), "{}", run.stderr);
    let object = document(file);
    let namespace = object["metadata"]["namespace"].as_str().expect("a namespace");
    let url = format!("/apis/work.open-cluster-management.io/v1/namespaces/{namespace}/manifestworks");
    let raw = dev.kubectl_with(&["create", "--raw", &url, "-f", "-"], &object.to_string());
    let said = raw.stderr.contains("BadRequest") && raw.stderr.contains("annotations");
    assert!(!raw.ok && said, "{file}: {}", raw.stderr);
}

/// Sends a manifest until its verdict is the one of the index, and leaves nothing behind.
fn check(dev: &Dev, row: &Row) -> Result<(), String> {
    let begun = Instant::now();
    let files = std::slice::from_ref(&row.file);
    loop {
        let run = send(dev, &["apply", "-o", "json"], files);
        let verdict = judge(row, &run);
        let verdict = match verdict {
            Ok(()) if run.ok => check_status(dev, row),
            other => other,
        };
        if run.ok {
            remove(dev, files);
        }
        match verdict {
            Ok(()) => return Ok(()),
            Err(fault) if begun.elapsed() > PATIENCE => return Err(fault),
            // What is given has not reached the gate yet.
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn judge(row: &Row, run: &Run) -> Result<(), String> {
    let complaint = || format!("{}{}", run.stdout, run.stderr);
    let is_about_itself = |line: &str| !ABSENT.iter().any(|rule| line.ends_with(rule));
    let mut warnings = run.stderr.lines().filter(|line| line.starts_with("Warning:"));
    let warned = warnings.any(is_about_itself);
    let said = row.said().is_some_and(|said| run.stderr.contains(said));
    // Until the webhook has observed the add-on it warns: then its verdict is about another hub.
    let settled = !run.stderr.contains("[naming/unknown-addon]");
    let as_wished = match row.verdict.as_str() {
        "accept" => run.ok && !warned && row.said().is_none(),
        "warn" => run.ok && warned && said && settled,
        "refuse" => !run.ok && said,
        other => return Err(format!("{other:?} is no verdict")),
    };
    if !as_wished {
        return Err(complaint());
    }
    if !run.ok {
        return Ok(());
    }
    let stored: Value = serde_json::from_str(&run.stdout).map_err(|error| error.to_string())?;
    match lost(&document(&row.file)["spec"], &stored["spec"], "spec") {
        Some(path) => Err(format!("{path} is not stored: {stored}")),
        None => Ok(()),
    }
}

/// The status that the seed prints fits as well: nothing of it is dropped.
fn check_status(dev: &Dev, row: &Row) -> Result<(), String> {
    let Some(status) = &row.status else {
        return Ok(());
    };
    let (file, patch) = (path(&row.file), path(status));
    let run = dev.kubectl(&[
        "patch",
        "-f",
        &file,
        "--subresource=status",
        "--type=merge",
        "--patch-file",
        &patch,
        "--dry-run=server",
        "-o",
        "json",
    ]);
    if !run.ok {
        return Err(run.stderr);
    }
    let stored: Value = serde_json::from_str(&run.stdout).map_err(|error| error.to_string())?;
    match lost(&document(status)["status"], &stored["status"], "status") {
        Some(path) => Err(format!("{path} does not fit: {stored}")),
        None => Ok(()),
    }
}

/// Returns the first place of `wanted` that `stored` does not have.
fn lost(wanted: &Value, stored: &Value, at: &str) -> Option<String> {
    match (wanted, stored) {
        (Value::Object(wanted), Value::Object(stored)) => wanted.iter().find_map(|(key, value)| {
            lost(
                value,
                stored.get(key).unwrap_or(&Value::Null),
                &format!("{at}.{key}"),
            )
        }),
        (Value::Array(wanted), Value::Array(stored)) if wanted.len() == stored.len() => wanted
            .iter()
            .zip(stored)
            .enumerate()
            .find_map(|(index, (wanted, stored))| lost(wanted, stored, &format!("{at}[{index}]"))),
        (wanted, stored) => (wanted != stored).then(|| at.to_owned()),
    }
}

fn remove(dev: &Dev, files: &[String]) {
    if files.is_empty() {
        return;
    }
    let command = ["delete", "--ignore-not-found", "--timeout=60s"];
    let run = send(dev, &command, files);
    assert!(run.ok, "{files:?}: {}", run.stderr);
}

fn send(dev: &Dev, command: &[&str], files: &[String]) -> Run {
    let paths: Vec<String> = files.iter().map(|file| path(file)).collect();
    let named = paths.iter().flat_map(|path| ["-f", path]);
    dev.kubectl(&command.iter().copied().chain(named).collect::<Vec<_>>())
}

fn prepare_namespace(dev: &Dev) {
    let namespace = repository("manifests/examples/01-namespace.yaml");
    dev.succeed(&["apply", "-f", &namespace.to_string_lossy()]);
}

fn given_files(column: &str) -> Vec<String> {
    let files = column.split(',').filter(|file| *file != "-");
    files
        .filter(|file| !is_foreign(file))
        .map(str::to_owned)
        .collect()
}

fn is_foreign(file: &str) -> bool {
    let kind = &document(file)["kind"];
    kind == "ManagedProxyConfiguration" || kind == "SubmarinerConfig"
}

fn rows() -> Vec<Row> {
    let index = read("index.tsv");
    let mut lines = index.lines();
    assert_eq!(lines.next(), Some("file\tseed\tverdict\tnote\tgiven\tstatus"));
    lines
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let columns: [&str; 6] = columns.try_into().expect("six columns");
            let [file, _, verdict, note, given, status] = columns;
            Row {
                file: file.to_owned(),
                verdict: verdict.to_owned(),
                note: note.to_owned(),
                given: given.to_owned(),
                status: (status != "-").then(|| status.to_owned()),
            }
        })
        .collect()
}

fn path(file: &str) -> String {
    repository("tests/seeds")
        .join(file)
        .to_string_lossy()
        .into_owned()
}

fn read(file: &str) -> String {
    std::fs::read_to_string(path(file))
        .map_err(|error| format!("{file}: {error}"))
        .expect("a file")
}

fn document(file: &str) -> Value {
    serde_saphyr::from_str(&read(file))
        .map_err(|error| format!("{file}: {error}"))
        .expect("a YAML document")
}
