//! Holds the shape of the program: doors between rooms, size and header of files, purity of the pure rooms.
//!
//! Decides nothing about behaviour. Every check is a function on text, shown below to be able to fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

mod checks;
mod circles;
mod programs;

use checks::{
    WRITERS, door_faults, header_fault, impurities, members, mutations, openings, outlets, production,
    second_copies, size_fault, workspace_dependencies,
};

/// Rooms of `src/` and the rooms that each may use. `cli` joins them all.
const DOORS: &[(&str, &[&str])] = &[
    ("field", &[]),
    ("api", &[]),
    ("hash", &[]),
    ("model", &["field", "api"]),
    ("conversion", &["field", "api", "hash"]),
    ("definitions", &["field", "api", "conversion", "hash"]),
    ("snapshot", &["field", "api", "model", "hash"]),
    ("plan", &["api", "model", "snapshot", "hash"]),
    ("policy", &["field", "api"]),
    (
        "admission",
        &["api", "conversion", "model", "field", "snapshot", "policy"],
    ),
    ("audit", &["admission", "field", "model", "policy", "snapshot"]),
    (
        "controllers",
        &["api", "audit", "snapshot", "plan", "policy", "telemetry"],
    ),
    ("server", &["admission", "conversion", "files", "telemetry"]),
    ("files", &[]),
    ("telemetry", &["field"]),
    ("source", &["field"]),
    ("report", &["field"]),
    ("offline", &["conversion", "snapshot", "hash"]),
    (
        "check",
        &[
            "admission",
            "api",
            "conversion",
            "field",
            "offline",
            "report",
            "source",
        ],
    ),
    ("forecast", &["api", "field", "offline", "plan", "snapshot"]),
    ("why", &["api", "field", "model", "offline", "plan", "snapshot"]),
    ("explain", &["admission", "api", "field", "why"]),
    ("release", &["api", "snapshot"]),
    (
        "cli",
        &[
            "field",
            "api",
            "definitions",
            "hash",
            "conversion",
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
            "files",
            "check",
            "forecast",
            "why",
            "explain",
            "release",
        ],
    ),
];

/// Rooms that compute values and nothing else.
const PURE: &[&str] = &[
    "conversion",
    "definitions",
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
    "release",
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
fn rules_pay_for_every_loop_over_what_users_write() {
    let rules = sources("src/admission/rules");
    assert!(rules.len() > 20, "the rules are there");
    let faults = rules
        .iter()
        .flat_map(|(path, text)| unpaid_loops(path, &production(text)));
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let unpaid = "let items = value.as_array().into_iter().flatten();\nfor item in items {}\n";
    assert_eq!(unpaid_loops("x.rs", unpaid).len(), 1);
    let paid = "let items = value.as_array().into_iter().flatten();\nitems.take_while(|_| effort.spend(1))\n";
    assert!(unpaid_loops("x.rs", paid).is_empty());
}

/// Lists and maps reach rules as `Items`, which cost steps; whoever opens a value by hand pays within the next lines.
fn unpaid_loops(path: &str, text: &str) -> Vec<String> {
    const NEAR: usize = 4;
    let lines: Vec<&str> = text.lines().collect();
    let opens = |line: &str| {
        [".as_array()", ".as_object()", ".pointer(", ".as_array_mut()"]
            .iter()
            .any(|word| line.contains(word))
    };
    let is_paid = |at: usize| lines[at..].iter().take(NEAR).any(|line| line.contains("effort."));
    let unpaid = (0..lines.len()).filter(|at| opens(lines[*at]) && !is_paid(*at));
    unpaid
        .map(|at| {
            format!(
                "{path}:{}: a loop over what users write costs no steps: {}",
                at + 1,
                lines[at].trim()
            )
        })
        .collect()
}

/// A few files that know each other are one thought; more are a knot.
const CIRCLE_STOP: usize = 3;

#[test]
fn no_circle_of_imports_has_more_than_three_files() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the manifest is readable");
    let crates = members(&manifest)
        .into_iter()
        .map(|name| format!("crates/{name}/src"));
    let mut knots = Vec::new();
    for folder in crates.chain(["src".to_owned()]) {
        let files = sources(&folder);
        assert!(!files.is_empty(), "{folder} has files");
        knots.extend(circles::circles(&files, &folder));
    }
    knots.retain(|circle| circle.len() > CIRCLE_STOP);
    assert!(knots.is_empty(), "{knots:#?}");
}

#[test]
fn a_circle_is_found_through_re_exports_and_spelled_out_paths() {
    let files = [
        ("src/a/mod.rs", "mod one;\nmod two;\npub use two::Two;\n"),
        ("src/a/one.rs", "use super::Two;\npub struct One(Two);\n"),
        (
            "src/a/two.rs",
            "use crate::{b::Three, c};\npub struct Two(Three);\n",
        ),
        ("src/b.rs", "pub struct Three;\nfn f(x: &crate::c::Four) {}\n"),
        (
            "src/c.rs",
            "pub use crate::a::*;\npub struct Four(super::a::one::One);\n",
        ),
        (
            "src/d.rs",
            "// use crate::d::x;\nuse crate::a::Two;\n#[cfg(test)]\nuse crate::b::Three;\n",
        ),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let circle = ["src/a/one.rs", "src/a/two.rs", "src/b.rs", "src/c.rs"];
    let found = circles::circles(&BTreeMap::from(files), "src");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].iter().map(String::as_str).collect::<BTreeSet<_>>(),
        BTreeSet::from(circle)
    );
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
    for folder in [
        "crates/apimachinery/src",
        "crates/schema/src",
        "crates/fields/src",
    ] {
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
    let crates = ["apimachinery", "schema", "fields"].map(|name| format!("crates/{name}/src/lib.rs"));
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
    let whole = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace has a manifest");
    let crates = members(&whole);
    let manifest = |name: &String| {
        let path = root().join("crates").join(name).join("Cargo.toml");
        let text = fs::read_to_string(path).expect("every crate has a manifest");
        (name.clone(), text)
    };
    let mut manifests: BTreeMap<String, String> = crates.iter().map(manifest).collect();
    let mut faults = Vec::new();
    for (name, allowed) in [
        ("apimachinery", &[][..]),
        ("schema", &["apimachinery"][..]),
        ("fields", &["apimachinery"][..]),
        ("devhub", &["fields", "apimachinery", "schema"][..]),
        ("spokes", &["apimachinery"][..]),
        ("fleetbench", &["devhub", "spokes"][..]),
    ] {
        let manifest = manifests.remove(name).expect("a crate of the workspace");
        let found = workspace_dependencies(&manifest, &crates);
        faults.extend(
            found
                .iter()
                .filter(|dep| !allowed.contains(&dep.as_str()))
                .map(|dep| format!("{name} → {dep}")),
        );
    }
    assert!(faults.is_empty(), "forbidden arrows: {faults:?}");
    assert!(
        manifests.is_empty(),
        "crates without a row here: {:?}",
        manifests.keys()
    );
}

#[test]
fn what_kubernetes_has_a_word_for_is_written_once() {
    let mut faults = Vec::new();
    for folder in ["src", "crates"] {
        for (path, text) in sources(folder) {
            if !path.contains("/tests/") && !path.ends_with("_tests.rs") {
                faults.extend(second_copies(&path, &text));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
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
fn only_the_writers_call_a_mutating_client_method() {
    let mut faults = Vec::new();
    for (path, text) in sources("src/controllers") {
        faults.extend(mutations(&path, &production(&text)));
    }
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page");
    for (writer, _) in WRITERS {
        let short = writer.trim_start_matches("src/").trim_end_matches(".rs");
        let text = fs::read_to_string(root().join(writer)).expect("a writer that is there");
        if mutations("src/controllers/x.rs", &production(&text)).is_empty() {
            faults.push(format!("{writer} writes nothing"));
        }
        if !page.contains(&format!("`{short}`")) {
            faults.push(format!("ARCHITECTURE.md does not name {short} as a writer"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn only_one_place_prints_and_only_one_room_opens_files() {
    let mut faults = Vec::new();
    for (path, text) in sources("src") {
        faults.extend(outlets(&path, &production(&text)));
        faults.extend(openings(&path, &production(&text)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_checks_can_fail() {
    assert_eq!(outlets("src/cli/x.rs", "println!(\"{x}\")").len(), 1);
    assert_eq!(outlets("src/cli/x.rs", "std::io::stderr().lock()").len(), 1);
    assert_eq!(outlets("src/cli/print.rs", "std::io::stderr().lock()").len(), 0);
    assert_eq!(openings("src/cli/x.rs", "std::fs::read_to_string(path)").len(), 1);
    assert_eq!(openings("src/server/x.rs", "File::open(path)").len(), 1);
    assert_eq!(openings("src/files/x.rs", "File::open(path)").len(), 0);
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
    let elsewhere = "src/controllers/policies/elsewhere/apply.rs";
    assert_eq!(
        mutations(elsewhere, "api.delete(a)").len(),
        1,
        "no name of a file is a licence"
    );
    let crates = members("[workspace]\nmembers = [\".\", \"crates/schema\", \"crates/devhub\"]\n");
    assert_eq!(crates, ["schema", "devhub"]);
    let manifest = "[dependencies]\nschema.workspace = true\n[dev-dependencies]\ndevhub.workspace = true";
    assert_eq!(workspace_dependencies(manifest, &crates), ["schema"]);
    assert_eq!(
        second_copies("src/x.rs", "match word { \"DoesNotExist\" => 1 }").len(),
        1
    );
    assert_eq!(
        second_copies("crates/apimachinery/src/x.rs", "\"DoesNotExist\"").len(),
        0
    );
    assert_eq!(
        second_copies("src/x.rs", "#[cfg(test)]\n\"DoesNotExist\"").len(),
        0
    );
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
