//! `crates/plan/src/upgrade/REQUIREMENTS.md` answers every requirement and decision, and the tests that it names exist.
//!
//! Reads names only; whether a test shows what the page says is for people to judge.

use std::path::PathBuf;

use crate::kit::manifests::repository;

fn page() -> String {
    std::fs::read_to_string(repository("crates/plan/src/upgrade/REQUIREMENTS.md")).expect("the page")
}

fn sources() -> Vec<(String, String)> {
    let mut folders: Vec<PathBuf> = vec![
        repository("crates/plan/src/upgrade"),
        repository("crates/model/src/upgrade"),
        repository("crates/store/src/upgrade"),
        repository("tests"),
    ];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() && !path.starts_with(repository("tests").join("data")) {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let stem = path
                    .file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                found.push((stem, std::fs::read_to_string(&path).expect("a source")));
            }
        }
    }
    found
}

fn missing(named: &str, sources: &[(String, String)]) -> bool {
    let (file, test) = named.split_once("::").expect("a file and a test");
    let head = format!("fn {test}(");
    !sources
        .iter()
        .any(|(stem, text)| stem == file && text.contains(&head))
}

#[test]
fn every_requirement_and_decision_is_answered_with_tests_that_exist() {
    let (page, sources) = (page(), sources());
    let requirements = (1..=32).chain(40..=88).map(|number| format!("R{number}"));
    let decisions = (1..=24).map(|number| format!("D{number}"));
    let mut faults = Vec::new();
    for mark in requirements.chain(decisions) {
        let rows: Vec<&str> = page
            .lines()
            .filter(|line| line.starts_with(&format!("| {mark} |")))
            .collect();
        let [row] = rows[..] else {
            faults.push(format!("{mark} has {} rows", rows.len()));
            continue;
        };
        let named: Vec<&str> = row.split('`').filter(|piece| piece.contains("::")).collect();
        if named.is_empty() && mark.starts_with('R') {
            faults.push(format!("{mark} names no test"));
        }
        faults.extend(
            named
                .into_iter()
                .filter(|named| missing(named, &sources))
                .map(|named| format!("{mark}: {named}")),
        );
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(missing("stories::does_not_exist", &sources));
}
