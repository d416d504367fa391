//! Holds the shape of the program: doors between rooms, size and header of files, purity of the pure rooms.
//!
//! Decides nothing about behaviour. Every check is a function on text, shown below to be able to fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms of `src/` and the rooms that each may use. `cli` joins them all.
const DOORS: &[(&str, &[&str])] = &[
    ("field", &[]),
    ("api", &[]),
    ("hash", &[]),
    ("model", &["field", "api"]),
    ("snapshot", &["field", "api", "model", "hash"]),
    ("plan", &["api", "model", "snapshot", "hash"]),
    ("policy", &["field", "api"]),
    ("admission", &["api", "model", "field", "snapshot", "policy"]),
    ("audit", &["admission", "field", "model", "policy", "snapshot"]),
    (
        "controllers",
        &["api", "audit", "snapshot", "plan", "policy", "telemetry"],
    ),
    ("server", &["admission", "telemetry"]),
    ("telemetry", &[]),
    ("source", &["field"]),
    ("report", &[]),
    ("offline", &["snapshot", "hash"]),
    (
        "check",
        &["admission", "api", "field", "offline", "report", "source"],
    ),
    ("forecast", &["api", "field", "offline", "plan", "snapshot"]),
    ("why", &["api", "field", "offline", "plan", "snapshot"]),
    ("explain", &["admission", "api", "field", "why"]),
    (
        "cli",
        &[
            "field",
            "api",
            "hash",
            "model",
            "snapshot",
            "plan",
            "policy",
            "admission",
            "audit",
            "controllers",
            "server",
            "telemetry",
            "source",
            "report",
            "offline",
            "check",
            "forecast",
            "why",
            "explain",
        ],
    ),
];

/// Rooms that compute values and nothing else.
const PURE: &[&str] = &[
    "field",
    "api",
    "hash",
    "model",
    "snapshot",
    "plan",
    "policy",
    "admission",
    "audit",
    "source",
    "report",
    "offline",
    "check",
    "forecast",
    "why",
    "explain",
];

/// Names that mean a socket, a task or a client; a pure room that says one has opened the wrong door.
const IMPURE_NAMES: &[&str] = &[
    "tokio::",
    "hyper::",
    "axum::",
    "kube::Client",
    "kube::Api",
    "kube::runtime",
    "std::net::Tcp",
    "std::net::Udp",
    "std::fs",
];

/// Attribute that every pure room carries, so that clippy refuses clocks, environment, files and hash order.
const PURITY_LINTS: &[&str] = &[
    "clippy::disallowed_methods",
    "clippy::disallowed_types",
    "clippy::indexing_slicing",
];

const LINE_STOP: usize = 500;
const MAIN_STOP: usize = 40;
const CONTENTS_STOP: usize = 60;

#[test]
fn rooms_use_only_their_doors() {
    let mut faults = Vec::new();
    for (path, text) in sources("src") {
        faults.extend(door_faults(&path, &production(&text)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_room_of_src_is_in_the_table_of_doors() {
    let known: BTreeSet<&str> = DOORS.iter().map(|(room, _)| *room).collect();
    let found: BTreeSet<String> = sources("src").keys().filter_map(|path| room_of(path)).collect();
    let strangers: Vec<&String> = found
        .iter()
        .filter(|room| !known.contains(room.as_str()))
        .collect();
    assert!(strangers.is_empty(), "rooms without doors: {strangers:?}");
    assert!(
        found.len() >= 10,
        "the scan must see the rooms, it saw only {found:?}"
    );
}

#[test]
fn pure_rooms_open_no_socket_and_read_no_file() {
    let mut faults = Vec::new();
    for (path, text) in sources("src") {
        if room_of(&path).is_some_and(|room| PURE.contains(&room.as_str())) {
            faults.extend(impurities(&path, &production(&text)));
        }
    }
    for folder in ["crates/golang/src", "crates/schema/src", "crates/fields/src"] {
        for (path, text) in sources(folder) {
            faults.extend(impurities(&path, &production(&text)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn pure_rooms_deny_clocks_files_and_hash_order() {
    let mut faults = Vec::new();
    let rooms = PURE.iter().filter(|room| exists(room)).map(|room| {
        let folder = format!("src/{room}/mod.rs");
        if root().join(&folder).is_file() {
            folder
        } else {
            format!("src/{room}.rs")
        }
    });
    let crates = ["golang", "schema", "fields"].map(|name| format!("crates/{name}/src/lib.rs"));
    for file in rooms.chain(crates) {
        let text = fs::read_to_string(root().join(&file)).unwrap_or_default();
        let missing: Vec<&&str> = PURITY_LINTS
            .iter()
            .filter(|lint| !text.contains(**lint))
            .collect();
        if !missing.is_empty() {
            faults.push(format!("{file}: does not deny {missing:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_file_says_what_it_is_and_stays_small() {
    let mut faults = Vec::new();
    let mut seen = 0;
    for dir in ["src", "crates", "tests", "benches"] {
        for (path, text) in sources(dir) {
            seen += 1;
            faults.extend(header_fault(&path, &text));
            faults.extend(size_fault(&path, &text));
        }
    }
    assert!(seen > 30, "the scan must see the sources, it saw {seen}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn crates_depend_only_downwards() {
    let manifests: BTreeMap<&str, String> = ["golang", "schema", "fields", "devhub", "spokes", "fleetbench"]
        .into_iter()
        .map(|name| {
            let path = root().join("crates").join(name).join("Cargo.toml");
            (
                name,
                fs::read_to_string(path).expect("every crate has a manifest"),
            )
        })
        .collect();
    let mut faults = Vec::new();
    for (name, allowed) in [
        ("golang", &[][..]),
        ("schema", &["golang"][..]),
        ("fields", &["golang"][..]),
        ("devhub", &["fields", "golang", "schema"][..]),
        ("spokes", &[][..]),
        ("fleetbench", &["devhub", "spokes"][..]),
    ] {
        let found = workspace_dependencies(&manifests[name]);
        faults.extend(
            found
                .iter()
                .filter(|dep| !allowed.contains(&dep.as_str()))
                .map(|dep| format!("{name} → {dep}")),
        );
    }
    assert!(faults.is_empty(), "forbidden arrows: {faults:?}");
}

#[test]
fn the_dev_hub_knows_no_kind_of_the_product() {
    let mut faults = Vec::new();
    for (path, text) in sources("crates/devhub/src") {
        if production(&text).contains("open-cluster-management") {
            faults.push(format!("{path}: names a group of Open Cluster Management"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn only_apply_calls_a_mutating_client_method() {
    let mut faults = Vec::new();
    for (path, text) in sources("src/controllers") {
        // The Lease is about who may write, not about the hub that is written to.
        if path.ends_with("apply.rs") || path.contains("/apply/") || path.ends_with("election/campaign.rs") {
            continue;
        }
        faults.extend(mutations(&path, &production(&text)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_checks_can_fail() {
    assert_eq!(
        door_faults("src/plan/x.rs", "use crate::controllers::Tide;").len(),
        1
    );
    assert_eq!(
        door_faults("src/plan/x.rs", "fn f() { crate::server::start() }").len(),
        1
    );
    assert_eq!(door_faults("src/plan/x.rs", "use crate::{api, cli};").len(), 1);
    assert_eq!(
        door_faults("src/plan/x.rs", "use crate::snapshot::View;").len(),
        0
    );
    assert_eq!(impurities("src/plan/x.rs", "tokio::spawn(x)").len(), 1);
    assert!(header_fault("src/plan/x.rs", "use std::fmt;").is_some());
    assert!(header_fault("src/plan/x.rs", "//! Decides.\n").is_none());
    assert!(size_fault("src/plan/x.rs", &"x\n".repeat(LINE_STOP + 1)).is_some());
    assert!(size_fault("src/plan/x.rs", &"x\n".repeat(LINE_STOP)).is_none());
    assert!(size_fault("src/main.rs", &"x\n".repeat(MAIN_STOP + 1)).is_some());
    assert!(size_fault("src/plan/mod.rs", &"x\n".repeat(CONTENTS_STOP + 1)).is_some());
    assert_eq!(
        mutations("src/controllers/x.rs", "api.patch_status(a, b, c)").len(),
        1
    );
    assert_eq!(
        workspace_dependencies(
            "[dependencies]\nschema.workspace = true\n[dev-dependencies]\ndevhub.workspace = true"
        )
        .len(),
        1
    );
}

fn door_faults(path: &str, text: &str) -> Vec<String> {
    let Some(room) = room_of(path) else {
        return Vec::new();
    };
    let Some((_, doors)) = DOORS.iter().find(|(name, _)| *name == room) else {
        return Vec::new();
    };
    used_rooms(text)
        .into_iter()
        .filter(|used| {
            *used != room && DOORS.iter().any(|(name, _)| name == used) && !doors.contains(&used.as_str())
        })
        .map(|used| format!("{path}: {room} → {used} is not a door"))
        .collect()
}

/// Returns the rooms that a text names behind `crate::`, grouped imports included.
fn used_rooms(text: &str) -> BTreeSet<String> {
    text.split("crate::")
        .skip(1)
        .flat_map(|rest| {
            rest.strip_prefix('{')
                .map_or_else(|| vec![first_word(rest)], first_words_of_group)
        })
        .collect()
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

fn impurities(path: &str, text: &str) -> Vec<String> {
    IMPURE_NAMES
        .iter()
        .filter(|name| text.contains(**name))
        .map(|name| format!("{path}: a pure room says `{name}`"))
        .collect()
}

fn mutations(path: &str, text: &str) -> Vec<String> {
    [
        ".create(",
        ".replace(",
        ".patch(",
        ".delete(",
        ".patch_status(",
        ".replace_status(",
        ".delete_collection(",
    ]
    .iter()
    .filter(|call| text.contains(**call))
    .map(|call| format!("{path}: `{call}…)` belongs into controllers/apply"))
    .collect()
}

fn header_fault(path: &str, text: &str) -> Option<String> {
    let starts = text.trim_start().starts_with("//!");
    (!starts).then(|| format!("{path}: has no `//!` header that says what it decides and what it never does"))
}

fn size_fault(path: &str, text: &str) -> Option<String> {
    let lines = production(text).lines().count();
    let stop = match path {
        "src/main.rs" => MAIN_STOP,
        _ if path.ends_with("/mod.rs") || path.ends_with("/lib.rs") => CONTENTS_STOP,
        _ => LINE_STOP,
    };
    (lines > stop).then(|| format!("{path}: {lines} lines before its tests, the stop is {stop}"))
}

/// Returns a file's text up to its unit tests.
fn production(text: &str) -> String {
    text.lines()
        .take_while(|line| *line != "#[cfg(test)]")
        .fold(String::new(), |mut all, line| {
            all.push_str(line);
            all.push('\n');
            all
        })
}

fn workspace_dependencies(manifest: &str) -> Vec<String> {
    manifest
        .split("[dependencies]")
        .nth(1)
        .unwrap_or_default()
        .lines()
        .take_while(|line| !line.starts_with('['))
        .map(first_word)
        .filter(|name| ["schema", "fields", "devhub", "spokes", "tidegate"].contains(&name.as_str()))
        .collect()
}

/// Whether a room is there: `policy` has its doors before its walls.
fn exists(room: &str) -> bool {
    root().join("src").join(room).is_dir() || root().join("src").join(format!("{room}.rs")).is_file()
}

fn room_of(path: &str) -> Option<String> {
    let inside = path.strip_prefix("src/")?;
    let first = inside.split('/').next()?;
    let room = first.strip_suffix(".rs").unwrap_or(first);
    (!["lib", "main"].contains(&room)).then(|| room.to_owned())
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns every Rust source below a folder of the repository, by its path from the root.
fn sources(dir: &str) -> BTreeMap<String, String> {
    let mut files = Vec::new();
    collect_sources(&root().join(dir), &mut files);
    let read = |path: PathBuf| {
        (
            relative(&path),
            fs::read_to_string(&path).expect("sources are readable"),
        )
    };
    files.into_iter().map(read).collect()
}

fn collect_sources(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()));
    for path in entries.into_iter().flatten() {
        if path.is_dir() && !path.ends_with("target") {
            collect_sources(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root())
        .expect("the scan stays in the repository")
        .to_string_lossy()
        .replace('\\', "/")
}
