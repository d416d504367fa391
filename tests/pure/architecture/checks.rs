//! The checks of the structure for one file, as functions on text.

use api::reason::Reason;
use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use regex::Regex;

use super::{CONTENTS_STOP, FOLDERS, IMPURE_NAMES, LINE_STOP, MAIN_STOP, folder_of, packages, root};

pub(crate) fn use_faults(path: &str, text: &str) -> Vec<String> {
    let Some(folder) = folder_of(path) else {
        return Vec::new();
    };
    let Some((_, allowed)) = FOLDERS.iter().find(|(name, _)| *name == folder) else {
        return Vec::new();
    };
    let is_ours = |used: &str| {
        used == "cli"
            || FOLDERS.iter().any(|(name, _)| *name == used)
            || packages().any(|name| name.replace('-', "_") == used)
    };
    used_names(text)
        .into_iter()
        .filter(|used| *used != folder && is_ours(used))
        .filter(|used| !allowed.contains(&used.as_str()))
        .map(|used| format!("{path}: {folder} may not use {used}"))
        .collect()
}

// Compiled once: to compile it takes longer than to search a file.
static BEGINNING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)(?:^|[^:\w])(\w+)::").expect("it is right"));

/// Returns what a text names behind `crate::`, grouped imports included, and the names that paths begin with.
fn used_names(text: &str) -> BTreeSet<String> {
    let behind_crate = text.split("crate::").skip(1).flat_map(|rest| {
        rest.strip_prefix('{')
            .map_or_else(|| vec![first_word(rest)], first_words_of_group)
    });
    let crates = BEGINNING.captures_iter(text).map(|found| found[1].to_owned());
    behind_crate.chain(crates).collect()
}

/// Returns the first name of every member of `{a::{x, y}, b}`, of which the opening brace has been taken off.
fn first_words_of_group(group: &str) -> Vec<String> {
    let mut depth = 1_usize;
    let mut members = vec![String::new()];
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && c == ',' {
            members.push(String::new());
        } else if let Some(member) = members.last_mut() {
            member.push(c);
        }
    }
    members.iter().map(|member| first_word(member.trim())).collect()
}

fn first_word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

pub(crate) fn impurities(path: &str, text: &str) -> Vec<String> {
    IMPURE_NAMES
        .iter()
        .filter(|name| text.contains(**name))
        .map(|name| format!("{path}: a package says `{name}`"))
        .collect()
}

/// The files that may write to a hub while it serves, and what each writes; ARCHITECTURE.md names them, too.
pub(crate) const WRITERS: [(&str, &str); 16] = [
    ("src/controllers/runtime/write.rs", "what a plan says"),
    ("src/controllers/auditor/apply.rs", "reports"),
    ("src/controllers/election/campaign.rs", "the Lease"),
    ("src/controllers/runtime/event_recorder.rs", "events"),
    ("src/controllers/policies/status.rs", "the status of policies"),
    ("src/controllers/checks/status.rs", "results of checks"),
    ("src/cli/release/apply.rs", "what is handed back"),
    (
        "src/controllers/gate_certificate/apply.rs",
        "the gate's certificate, and who trusts it",
    ),
    (
        "src/cli/rollout/write.rs",
        "what a user of `tidegate rollout` asks for",
    ),
    ("src/cli/rollout/freeze.rs", "a freeze that a user asks for"),
    ("src/cli/definitions/hub.rs", "definitions"),
    ("src/cli/settings/published.rs", "how the controllers behave"),
    ("src/cli/doctor/collect.rs", "a question with dryRun"),
    ("src/cli/install.rs", "a question with dryRun"),
    ("src/cli/uninstall.rs", "deletion of an installation"),
    ("src/cli/doctor/rights.rs", "reviews of access"),
];

/// A hub of its own, or the one that `tidegate dev --hub` was given.
const PLAYGROUND: &str = "src/cli/dev/";

pub(crate) fn mutations(path: &str, text: &str) -> Vec<String> {
    let has_client = path.starts_with("src/controllers/") || text.contains("Api<") || text.contains("Api::");
    if !has_client || path.starts_with(PLAYGROUND) || WRITERS.iter().any(|(writer, _)| *writer == path) {
        return Vec::new();
    }
    [
        ".create(",
        ".replace(",
        ".patch(",
        ".delete(",
        ".patch_status(",
        ".replace_status(",
        ".delete_collection(",
        ".patch_subresource(",
        "Recorder::new(",
    ]
    .iter()
    .filter(|call| text.contains(**call))
    .map(|call| format!("{path}: `{call}…)` belongs into one of WRITERS"))
    .collect()
}

/// What is printed is safe to show: the one place that writes to the terminal takes nothing else, and logs escape their facts.
pub(crate) fn outlets(path: &str, text: &str) -> Vec<String> {
    // Trials are tests that print their figures for the developer.
    let is_trial = path.starts_with("src/server/trials/");
    if is_trial || ["src/cli/print.rs", "src/telemetry/logs.rs"].contains(&path) {
        return Vec::new();
    }
    ["print!(", "println!(", "io::stdout", "io::stderr"]
        .iter()
        .filter(|name| text.contains(**name))
        .map(|name| format!("{path}: `{name}` belongs into cli/print"))
        .collect()
}

/// Files of users are opened with care: whether they have an end, how large they are, where a link leads.
pub(crate) fn openings(path: &str, text: &str) -> Vec<String> {
    // The kubeconfig reader interprets kubeconfigs after the file was checked; tests generate new keys each time.
    let kept = [
        ("src/cli/connect.rs", "Kubeconfig::read"),
        ("src/server/issue.rs", "OpenOptions"),
        // Files in /proc are not files of a user.
        ("src/telemetry/process.rs", "fs::read_to_string"),
        ("src/telemetry/process.rs", "fs::read_dir"),
    ];
    let names = [
        "fs::read(",
        "fs::read_to_string",
        "fs::write(",
        "fs::copy",
        "fs::read_dir",
        "File::open",
        "File::create",
        "OpenOptions",
        "Kubeconfig::read",
        "from_pem_file",
        "pem_file_iter",
    ];
    names
        .iter()
        .filter(|name| {
            !path.starts_with("src/files/") && text.contains(**name) && !kept.contains(&(path, **name))
        })
        .map(|name| format!("{path}: `{name}` belongs into files"))
        .collect()
}

pub(crate) fn header_fault(path: &str, text: &str) -> Option<String> {
    let starts = text.trim_start().starts_with("//!");
    (!starts).then(|| format!("{path}: has no `//!` header that says what it decides and what it never does"))
}

pub(crate) fn size_fault(path: &str, text: &str) -> Option<String> {
    let lines = production(text).lines().count();
    let stop = match path {
        "src/main.rs" => MAIN_STOP,
        _ if path.ends_with("/mod.rs") || path.ends_with("/lib.rs") => CONTENTS_STOP,
        _ => LINE_STOP,
    };
    (lines > stop).then(|| format!("{path}: {lines} lines before its tests, the stop is {stop}"))
}

/// Returns a file's text up to its unit tests.
pub(crate) fn production(text: &str) -> String {
    text.lines()
        .take_while(|line| *line != "#[cfg(test)]")
        .fold(String::new(), |mut all, line| {
            all.push_str(line);
            all.push('\n');
            all
        })
}

/// The dependencies of a crate that are other crates of the workspace.
pub(crate) fn workspace_dependencies(manifest: &str, crates: &[String]) -> Vec<String> {
    manifest
        .split("[dependencies]")
        .nth(1)
        .unwrap_or_default()
        .lines()
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', ' ']).next())
        .filter(|name| crates.iter().any(|one| one == name))
        .map(str::to_owned)
        .collect()
}

/// The crates of the program: the manifest takes every folder of `crates`, and the checkers of plans for tests.
pub(crate) fn members() -> Vec<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace has a manifest");
    assert!(
        manifest.contains(r#"members = ["crates/*", "tests/oracle"]"#),
        "every folder is a member"
    );
    let folders = fs::read_dir(root().join("crates")).expect("crates are there");
    let names = folders
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let crates: BTreeSet<String> = names.collect();
    crates.into_iter().collect()
}

/// Texts that Kubernetes defines and that production code must contain once: a text and the folder that may have it.
pub(crate) const WRITTEN_ONCE: [(&str, &str); 13] = [
    ("\"DoesNotExist\"", "crates/kubernetes/"),
    ("a lowercase RFC 1123 ", "crates/kubernetes/"),
    ("\"Mi\"", "crates/kubernetes/"),
    ("3_600_000_000_000", "crates/kubernetes/"),
    ("unterminated filter", "crates/kubernetes/"),
    ("\"FieldValueTypeInvalid\"", "crates/kubernetes/"),
    ("\"~1\"", "crates/kubernetes/"),
    ("interface {}(nil)", "crates/kubernetes/"),
    ("\"bsonobjectid\"", "crates/kubernetes/"),
    ("DeclarationError", "crates/cel-engine/"),
    ("\"failed expression: ", "crates/cel-engine/src/admission_policy/"),
    ("bind(\"oldObject\"", "crates/cel-engine/src/admission_policy/"),
    (
        "split_once('/').unwrap_or((resource, \"\"))",
        "crates/cel-engine/src/admission_policy/",
    ),
];

pub(crate) fn second_copies(path: &str, text: &str) -> Vec<String> {
    let text = production(text);
    let found = WRITTEN_ONCE
        .iter()
        .filter(|(word, home)| !path.starts_with(home) && text.contains(word));
    found
        .map(|(word, home)| format!("{path}: writes {word} again, which is {home}'s"))
        .collect()
}

/// Returns the reasons that a file contains as literals. A word with one part may be another name as well.
pub(crate) fn spelled_reasons(path: &str, text: &str) -> Vec<String> {
    let capitals = |word: &str| word.matches(|letter: char| letter.is_ascii_uppercase()).count();
    let text = production(text);
    let lines = text.lines().filter(|line| !line.trim().starts_with("//"));
    let literals = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
    let found = literals.filter(|word| capitals(word) > 1 && Reason::of(word).is_some());
    found
        .map(|word| format!("{path}: writes \"{word}\" instead of Reason::{word}"))
        .collect()
}
