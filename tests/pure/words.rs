//! Every reason and annotation that the code can write on a hub is known to `tidegate explain`.
//!
//! The sources are searched, not a list: an annotation that is added without an explanation fails here. Reasons are a table of their own,
//! whose rows have one.

use std::path::PathBuf;

use api::reason::{Class, Reason};
use insight::explain::explain;
use store::terms;

use crate::kit::manifests::repository;

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![repository(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of sources").flatten() {
            let path = entry.path();
            if path.is_dir() {
                // What plays a hub for tests.
                folders.extend((!path.ends_with("upgrade/src/sim")).then_some(path));
                continue;
            }
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let is_source = path.extension().is_some_and(|extension| extension == "rs");
            if !is_source || name.contains("tests") || name.contains("properties") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source");
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code: Vec<&str> = text
                .lines()
                .filter(|line| !line.trim().starts_with("//"))
                .collect();
            found.push((path, code.join("\n")));
        }
    }
    assert!(found.len() > 1, "{folder} has no sources");
    found
}

/// The texts in quotes of a source.
fn literals(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

/// Flux removes what managers wrote whose name begins with `kubectl`.
#[test]
fn no_page_sets_an_annotation_as_a_manager_whose_fields_flux_removes() {
    let mut folders = vec![repository("docs")];
    let mut pages = vec![repository("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of pages").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    assert!(pages.len() > 40, "the pages are gone");
    let is_plain = |line: &str| {
        let command = line.split_once("kubectl annotate").map(|(_, command)| command);
        command
            .is_some_and(|command| command.contains("tidegate.io/") && !command.contains("--field-manager"))
    };
    let mut plain = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(&page)
            .expect("a page")
            .replace("\\\n", " ");
        let lines = text.lines().filter(|line| is_plain(line));
        plain.extend(lines.map(|line| format!("{}: {line}", page.display())));
    }
    assert!(plain.is_empty(), "{}", plain.join("\n"));
}

/// The cells of the columns of a page's tables whose head says that they have reasons.
fn cells_of_reasons(page: &str) -> Vec<&str> {
    let mut columns: Vec<usize> = Vec::new();
    let mut before = "";
    let mut cells = Vec::new();
    for line in page.lines() {
        let row: Vec<&str> = line.split('|').collect();
        if !line.starts_with('|') {
            columns.clear();
        } else if line.starts_with("|---") {
            let head = before.split('|').enumerate();
            columns = head
                .filter(|(_, cell)| cell.contains("reason"))
                .map(|(at, _)| at)
                .collect();
        }
        cells.extend(columns.iter().filter_map(|at| row.get(*at)));
        before = line;
    }
    cells
}

#[test]
fn the_tables_of_the_pages_name_the_reasons_that_there_are() {
    let read = |name: &str| std::fs::read_to_string(repository(name)).expect("a page");
    let (rollout, upgrades) = (read("docs/rollout.md"), read("docs/cluster-upgrades.md"));
    for page in [&rollout, &upgrades] {
        let words = cells_of_reasons(page)
            .into_iter()
            .flat_map(|cell| cell.split('`').skip(1).step_by(2));
        let words: Vec<&str> = words.collect();
        assert!(words.len() > 5, "the walk looks past the tables");
        let unknown: Vec<&&str> = words.iter().filter(|word| Reason::of(word).is_none()).collect();
        assert!(unknown.is_empty(), "no reasons: {unknown:?}");
    }
    let lacks = |page: &str, reason: &Reason| !page.contains(&format!("`{reason}`"));
    for reason in Reason::ALL {
        let waits = reason.is(Class::Turn) && lacks(&rollout, reason);
        let holds = reason.next_step().is_some() && lacks(&upgrades, reason);
        assert!(!waits, "docs/rollout.md does not say what {reason} waits for");
        assert!(!holds, "docs/cluster-upgrades.md does not name {reason}");
    }
}

#[test]
fn every_name_of_the_interface_is_explained() {
    let names = repository("crates/api/src/names.rs");
    let names = std::fs::read_to_string(names).expect("the names");
    let mut seen = 0;
    let mut unknown = Vec::new();
    for module in names.split("\npub mod ").skip(1) {
        let (name, body) = module.split_once(' ').expect("a module has a name");
        if !["labels", "annotations", "finalizers"].contains(&name) {
            continue;
        }
        let code: Vec<&str> = body
            .lines()
            .filter(|line| !line.trim().starts_with("///"))
            .collect();
        let code = code.join("\n");
        for word in literals(&code).filter(|word| !["addon-manager", "self", "tidegate"].contains(word)) {
            seen += 1;
            unknown.extend(explain(word).is_err().then(|| word.to_owned()));
        }
    }
    assert!(
        unknown.is_empty(),
        "no sentence in crates/insight/src/explain/words.rs for {unknown:#?}"
    );
    assert!(
        seen > 30,
        "only {seen} names were found: the walk looks past them"
    );
}

#[test]
fn every_name_of_our_own_is_explained() {
    let mut seen = std::collections::BTreeSet::new();
    for (_, text) in sources("src").into_iter().chain(sources("crates")) {
        let ours = literals(&text).filter(|text| text.starts_with("tidegate.io/"));
        let names = ours.filter(|text| text.len() > "tidegate.io/".len() && !text.contains(['{', ' ']));
        let names = names.filter(|text| *text != "tidegate.io/v1alpha1");
        seen.extend(names.map(str::to_owned));
    }
    assert!(
        seen.len() >= 15,
        "only {seen:?} were found: the walk looks past them"
    );
    // The webhook rejects these, and its message names the field that replaces them.
    let is_replaced = |name: &str| terms::REPLACED.iter().any(|one| one.annotation == name);
    let current = seen.iter().filter(|name| !is_replaced(name));
    let unknown: Vec<&String> = current.filter(|name| explain(name).is_err()).collect();
    assert!(
        unknown.is_empty(),
        "no sentence in crates/insight/src/explain/words.rs for {unknown:#?}"
    );
}

/// The labels, annotations and finalizers that a text names.
fn keys(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-./".contains(letter);
    let words = text.split(move |letter| !is_part(letter));
    let words = words.map(|word| word.trim_matches(['.', '/']));
    words.filter(|word| {
        let key = word
            .split_once('/')
            .filter(|(_, name)| !name.contains(['/', '.']));
        key.is_some_and(|(domain, _)| {
            let is_ours = ["tidegate.io", "open-cluster-management.io"];
            is_ours
                .iter()
                .any(|ours| domain == *ours || domain.ends_with(&format!(".{ours}")))
        })
    })
}

/// What follows the group in these is a version, and the whole is an `apiVersion`.
const VERSIONS: [&str; 4] = ["v1", "v1alpha1", "v1beta1", "v1beta2"];

#[test]
fn every_label_and_annotation_that_is_explained_is_a_constant() {
    let constants = |folders: &[&str]| {
        let all = folders.iter().flat_map(|folder| sources(folder));
        // A quote as a character opens no text.
        all.map(|(_, text)| text.replace("'\"'", ""))
            .collect::<Vec<String>>()
    };
    let of_api = constants(&["crates/api/src"]);
    let own = constants(&["crates/api/src", "crates/store/src", "crates/audit/src", "src"]);
    let read = |path: &str| std::fs::read_to_string(repository(path)).expect("a file");
    let mut seen = 0;
    for path in ["docs/glossary.md", "crates/insight/src/explain/words.rs"] {
        let text = read(path);
        for key in keys(&text) {
            let (domain, name) = key.split_once('/').expect("a key");
            if VERSIONS.contains(&name) {
                continue;
            }
            // The marks of Tidegate alone are defined beside what reads them.
            let is_own = domain == "tidegate.io";
            let known = if is_own { &own } else { &of_api };
            assert!(
                known
                    .iter()
                    .flat_map(|text| literals(text))
                    .any(|literal| literal.trim_end_matches('-') == key.trim_end_matches('-')),
                "{path} names {key}, which is no constant"
            );
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
    let topic = "addon.open-cluster-management.io/version";
    let page = explain(topic).unwrap_or_default();
    assert!(page.contains(topic), "{page}");
}
