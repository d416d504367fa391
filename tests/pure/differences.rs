//! Every row of `docs/ocm-differences.md` has an answer, and the tests that it names exist. Their content is not checked.

use std::path::Path;

/// How many edges the page answers.
const EDGES: usize = 45;

#[test]
fn every_difference_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/ocm-differences.md")).expect("the page");
    let sections: Vec<&str> = page.split("\n## SE-").skip(1).collect();
    assert_eq!(sections.len(), EDGES);
    let faults: Vec<String> = sections
        .iter()
        .flat_map(|section| faults(root, section))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_deleted_name_is_an_error() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let section =
        "9: x\nTidegate: y\nShown by: `tests/pure/architecture.rs: nobody_has_this`, `tests/nowhere.rs`";
    assert_eq!(faults(root, section).len(), 2);
    assert_eq!(faults(root, "9: x\nTidegate: y\nShown by: -").len(), 1);
}

fn faults(root: &Path, section: &str) -> Vec<String> {
    let edge = section.lines().next().unwrap_or_default();
    let shown = section.split("Shown by:").nth(1).unwrap_or_default();
    let named: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
    if named.is_empty() {
        return vec![format!("SE-{edge}: no test is named")];
    }
    named
        .into_iter()
        .filter(|named| !is_there(root, named))
        .map(|named| format!("SE-{edge}: {named} is not there"))
        .collect()
}

/// `path`, or `path: name`.
fn is_there(root: &Path, named: &str) -> bool {
    let (path, name) = named.split_once(':').unwrap_or((named, ""));
    let path = root.join(path.trim());
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    path.exists() && text.contains(name.trim())
}
