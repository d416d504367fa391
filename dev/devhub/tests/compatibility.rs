//! Holds the table in the README to the list of known differences. `UPDATE_EXPECT=1` rewrites it.
//!
//! Decides nothing about the differences themselves: `tests/golden` does.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a test reads files and clocks, and may panic"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const BEGIN: &str =
    "<!-- generated: compatibility (UPDATE_EXPECT=1 cargo test -p devhub --test compatibility) -->\n";
const END: &str = "<!-- end of generated text -->";

#[test]
fn the_readme_tells_every_known_difference() {
    let path = folder().join("README.md");
    let readme = fs::read_to_string(&path).expect("the README is there");
    let wanted = replaced(&readme, &table());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &wanted).expect("the README can be written");
        return;
    }
    assert!(
        readme == wanted,
        "run again with UPDATE_EXPECT=1; the table of the README is not that of the list"
    );
}

#[test]
fn a_changed_table_is_noticed() {
    let text = format!("before\n{BEGIN}old\n{END}\nafter\n");
    assert_eq!(
        replaced(&text, "new\n"),
        format!("before\n{BEGIN}new\n{END}\nafter\n")
    );
}

fn replaced(readme: &str, table: &str) -> String {
    let (before, rest) = readme.split_once(BEGIN).expect("the begin is marked");
    let (_, after) = rest.split_once(END).expect("the end is marked");
    format!("{before}{BEGIN}{table}{END}{after}")
}

fn table() -> String {
    let scenarios = rows("tests/data/golden/INDEX.tsv");
    let scenarios = scenarios.get(1..).unwrap_or_default();
    let recorded: usize = scenarios
        .iter()
        .map(|row| row[3].parse::<usize>().expect("a number of steps"))
        .sum();
    let mut reasons: BTreeMap<String, (usize, BTreeSet<String>)> = BTreeMap::new();
    let differences = rows("tests/golden/known-differences.tsv");
    for row in &differences {
        let (count, scenarios) = reasons.entry(row[2].clone()).or_default();
        *count += 1;
        scenarios.insert(format!("`{}`", row[0]));
    }
    let mut text = format!(
        "\nOf {recorded} recorded steps in {} scenarios, {} are known to differ (a listed step that has become equal fails the test):\n\n",
        scenarios.len(),
        differences.len()
    );
    text.push_str("| because | steps | scenarios |\n|---|---|---|\n");
    for (reason, (count, scenarios)) in reasons {
        let scenarios: Vec<String> = scenarios.into_iter().collect();
        writeln!(text, "| {reason} | {count} | {} |", scenarios.join(", ")).expect("text can grow");
    }
    text.push('\n');
    text
}

fn rows(file: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder().join(file)).expect("the file is there");
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}
