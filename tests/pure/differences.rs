//! Every row of `docs/ocm-differences.md` has an answer, and the tests that it names exist. Their content is not checked.

use std::path::Path;

/// How many edges the page answers.
const EDGES: usize = 46;

#[test]
fn every_difference_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/ocm-differences.md")).expect("the page");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| SE-")).collect();
    assert_eq!(rows.len(), EDGES);
    let faults: Vec<String> = rows.iter().flat_map(|row| faults(root, row)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_deleted_name_is_an_error() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let row = "| SE-9 | x | y | `tests/pure/architecture.rs::no_such_test`, `tests/nowhere.rs` |";
    assert_eq!(faults(root, row).len(), 2);
    assert_eq!(faults(root, "| SE-9 | x | y | |").len(), 1);
}

fn faults(root: &Path, row: &str) -> Vec<String> {
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let [_, edge, .., shown, _] = cells[..] else {
        return vec![format!("no row: {row}")];
    };
    let named: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
    if named.is_empty() {
        return vec![format!("{edge}: no test is named")];
    }
    named
        .into_iter()
        .filter(|named| !is_there(root, named))
        .map(|named| format!("{edge}: {named} is not there"))
        .collect()
}

/// `path`, or `path::name`.
fn is_there(root: &Path, named: &str) -> bool {
    let (path, name) = named.split_once("::").unwrap_or((named, ""));
    let path = root.join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    path.exists() && text.contains(name)
}
