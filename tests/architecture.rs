//! Holds the shape of the program: doors between rooms, size and header of files, purity of the pure rooms.
//!
//! Decides nothing about behaviour. Every check is a function on text, shown below to be able to fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

mod checks;
mod circles;
mod programs;
mod sources;

use checks::{
    WRITERS, door_faults, header_fault, hidden_subjects, impurities, members, mutations, openings, outlets,
    production, second_copies, size_fault, workspace_dependencies,
};
use sources::{root, sources};

/// Crates, the lower ones first, and the crates that each may use. Cargo keeps these doors; the table keeps cargo's files.
const CRATES: &[(&str, &[&str])] = &[
    ("apimachinery", &[]),
    // Below CEL's library, which takes it for a library, too.
    ("cel-engine", &["apimachinery"]),
    ("admission-policy", &["apimachinery", "cel-engine"]),
    ("schema", &["apimachinery", "cel-engine"]),
    ("managed-fields", &["apimachinery"]),
    (
        "devhub",
        &[
            "admission-policy",
            "apimachinery",
            "cel-engine",
            "managed-fields",
            "schema",
        ],
    ),
    ("spokes", &["apimachinery", "cel-engine", "managed-fields"]),
    ("fleetbench", &["devhub", "spokes"]),
    ("field", &["apimachinery"]),
    ("bounds", &["field"]),
    ("manifest", &["apimachinery", "field"]),
    ("api", &[]),
    ("hash", &[]),
    ("model", &["api", "apimachinery", "field"]),
    ("rollout", &["model"]),
    ("upgrade", &["api", "field", "hash", "model", "rollout"]),
    ("conversion", &["api", "apimachinery", "bounds", "field", "hash"]),
    (
        "definitions",
        &["api", "apimachinery", "conversion", "field", "hash"],
    ),
    (
        "snapshot",
        &[
            "api",
            "apimachinery",
            "bounds",
            "field",
            "hash",
            "model",
            "upgrade",
        ],
    ),
    ("plan", &["api", "field", "hash", "model", "rollout", "snapshot"]),
    (
        "policy",
        &[
            "admission-policy",
            "api",
            "apimachinery",
            "cel-engine",
            "field",
            "schema",
        ],
    ),
    (
        "admission",
        &[
            "api",
            "apimachinery",
            "bounds",
            "cel-engine",
            "conversion",
            "field",
            "hash",
            "manifest",
            "model",
            "policy",
            "schema",
            "snapshot",
            "upgrade",
        ],
    ),
    ("audit", &["admission", "field", "model", "policy", "snapshot"]),
    ("source", &["bounds", "field"]),
    ("report", &["field"]),
    (
        "offline",
        &[
            "api",
            "bounds",
            "conversion",
            "field",
            "hash",
            "schema",
            "snapshot",
        ],
    ),
    (
        "check",
        &[
            "admission",
            "api",
            "apimachinery",
            "conversion",
            "field",
            "offline",
            "policy",
            "report",
            "source",
        ],
    ),
    (
        "forecast",
        &[
            "api", "field", "hash", "offline", "plan", "rollout", "snapshot", "upgrade",
        ],
    ),
    (
        "why",
        &[
            "api", "field", "model", "offline", "plan", "rollout", "snapshot", "upgrade",
        ],
    ),
    (
        "cockpit",
        &[
            "api", "field", "forecast", "model", "plan", "rollout", "snapshot", "upgrade",
        ],
    ),
    ("explain", &["admission", "api", "field", "why"]),
    ("release", &["api", "snapshot"]),
    ("certificates", &[]),
    ("kit", &[]),
    (
        "doctor",
        &["admission", "api", "definitions", "field", "snapshot"],
    ),
];

/// Rooms of `src/` and the rooms and crates that each may use. `cli` joins them all.
const DOORS: &[(&str, &[&str])] = &[
    (
        "controllers",
        &[
            "api",
            "audit",
            "bounds",
            "certificates",
            "doctor",
            "field",
            "hash",
            "snapshot",
            "plan",
            "policy",
            "telemetry",
            "upgrade",
        ],
    ),
    (
        "server",
        &[
            "admission",
            "bounds",
            "certificates",
            "conversion",
            "files",
            "telemetry",
        ],
    ),
    ("files", &[]),
    ("telemetry", &["field"]),
    ("ui", &["audit", "cockpit", "snapshot"]),
];

/// Crates that play something with sockets and clocks; all others compute values and nothing else.
const PLAYERS: [&str; 3] = ["devhub", "fleetbench", "spokes"];

fn pure() -> impl Iterator<Item = &'static str> {
    let all = CRATES.iter().map(|(name, _)| *name);
    all.filter(|name| !PLAYERS.contains(name))
}

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

/// Lints of the workspace that no pure crate turns off: clippy refuses clocks, environment, files and hash order.
const PURITY_LINTS: &[&str] = &["disallowed_methods", "disallowed_types", "indexing_slicing"];

const LINE_STOP: usize = 1000;
const MAIN_STOP: usize = 100;
const CONTENTS_STOP: usize = 400;

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
    let rules = sources("crates/admission/src/rules");
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

/// Lists and maps reach rules as `Items`, which cost steps; a rule that opens a value by hand pays within the next lines.
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
    let crates = members().into_iter().map(|name| format!("crates/{name}/src"));
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
    let known: BTreeSet<&str> = DOORS.iter().map(|(room, _)| *room).chain(["cli"]).collect();
    let found: BTreeSet<String> = sources("src").keys().filter_map(|path| room_of(path)).collect();
    let is_strange = |room: &&String| !known.contains(room.as_str());
    let strangers: Vec<&String> = found.iter().filter(is_strange).collect();
    assert!(strangers.is_empty(), "rooms without doors: {strangers:?}");
    assert_eq!(
        found.len(),
        known.len(),
        "the scan must see the rooms, it saw {found:?}"
    );
}

#[test]
fn pure_crates_open_no_socket_and_read_no_file() {
    let mut faults = Vec::new();
    for name in pure() {
        let files = sources(&format!("crates/{name}/src"));
        assert!(!files.is_empty(), "{name} has files");
        for (path, text) in files {
            faults.extend(impurities(&path, &production(&text)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn pure_crates_deny_clocks_files_and_hash_order() {
    let read = |file: &str| fs::read_to_string(root().join(file)).expect(file);
    let workspace = read("Cargo.toml");
    let missing = PURITY_LINTS
        .iter()
        .filter(|lint| !workspace.contains(&format!("\n{lint} = \"deny\"\n")));
    let mut faults: Vec<String> = missing
        .map(|lint| format!("Cargo.toml: does not deny {lint}"))
        .collect();
    for name in pure() {
        if !read(&format!("crates/{name}/Cargo.toml")).contains("[lints]\nworkspace = true\n") {
            faults.push(format!("crates/{name}: does not have the lints of the workspace"));
        }
        let file = format!("crates/{name}/src/lib.rs");
        let text = read(&file);
        let whole = text
            .split("#![")
            .skip(1)
            .filter_map(|attribute| attribute.split(']').next());
        let off = whole.flat_map(|attribute| PURITY_LINTS.iter().filter(|lint| attribute.contains(**lint)));
        faults.extend(off.map(|lint| format!("{file}: turns {lint} off")));
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
            faults.extend(hidden_subjects(&path, &text));
        }
    }
    assert!(seen > 30, "the scan must see the sources, it saw {seen}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn crates_depend_only_downwards() {
    let crates = members();
    let rows: Vec<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    let mut faults = Vec::new();
    for name in &crates {
        let Some(at) = rows.iter().position(|row| row == name) else {
            faults.push(format!("{name} has no row"));
            continue;
        };
        let path = root().join("crates").join(name).join("Cargo.toml");
        let manifest = fs::read_to_string(path).expect("every crate has a manifest");
        let found = workspace_dependencies(&manifest, &crates);
        let allowed: Vec<String> = CRATES[at].1.iter().map(|dep| (*dep).to_owned()).collect();
        if found.iter().collect::<BTreeSet<_>>() != allowed.iter().collect() {
            faults.push(format!("{name} uses {found:?}, its row says {allowed:?}"));
        }
        let above = allowed.iter().filter(|dep| !rows[..at].contains(&dep.as_str()));
        faults.extend(above.map(|dep| format!("{name} → {dep} leads upwards")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(crates.len(), rows.len(), "rows without a crate");
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

/// A checker is a second implementation of what the planner decides. Tests call it; what it says must not change what is written.
#[test]
fn no_checker_runs_in_production() {
    const EXPORT: &str = "pub use lint::check::check;";
    let mut faults = Vec::new();
    let (mut seen, mut exported) = (0, 0);
    for (path, text) in sources("src").into_iter().chain(sources("crates")) {
        let is_test = path.contains("/tests/") || path.contains("/benches/") || path.ends_with("tests.rs");
        if is_test || path.contains("/src/check/") {
            continue;
        }
        seen += 1;
        let (exports, calls): (Vec<String>, Vec<String>) = checker_calls(&path, &production(&text))
            .into_iter()
            .partition(|line| line == EXPORT);
        exported += exports.len();
        faults.extend(calls.into_iter().map(|line| format!("{path}: {line}")));
    }
    assert!(seen > 500, "the scan must see the sources, it saw {seen}");
    assert_eq!(exported, 2, "plans and upgrades have a checker each");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The lines that name the checker of plans or of upgrades.
fn checker_calls(path: &str, text: &str) -> Vec<String> {
    let is_beside = ["crates/plan/", "crates/upgrade/"]
        .iter()
        .any(|home| path.starts_with(home));
    let is_call = |line: &&str| {
        let is_import = line.contains("use plan::{") || line.contains("use plan::upgrade::{");
        let mut words = line.split(|one: char| !one.is_alphanumeric() && one != '_');
        line.contains("plan::check")
            || line.contains("upgrade::check")
            || (is_beside && line.contains("check::"))
            || (is_import && words.any(|word| word == "check"))
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    lines.filter(is_call).map(str::to_owned).collect()
}

#[test]
fn a_call_of_a_checker_is_found() {
    let found = |path: &str, line: &str| checker_calls(path, line).len();
    assert_eq!(
        found("src/x.rs", "let broken = plan::check(&view, &plan, now);"),
        1
    );
    assert_eq!(found("src/x.rs", "use plan::upgrade::{check, plan};"), 1);
    assert_eq!(found("crates/plan/src/x.rs", "super::check::check(view)"), 1);
    assert_eq!(
        found("src/x.rs", "let report = lint::check::check(&files);"),
        0,
        "manifests"
    );
    assert_eq!(found("src/x.rs", "use plan::{Plan, checked};"), 0);
}

#[test]
fn only_the_writers_call_a_mutating_client_method() {
    let mut faults = Vec::new();
    for (path, text) in sources("src") {
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
    let pure = pure().flat_map(|name| sources(&format!("crates/{name}/src")));
    for (path, text) in sources("src").into_iter().chain(pure) {
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
        door_faults("src/server/x.rs", "use crate::controllers::Tide;").len(),
        1
    );
    assert_eq!(
        door_faults("src/server/x.rs", "fn f() { crate::cli::start() }").len(),
        1
    );
    assert_eq!(
        door_faults("src/server/x.rs", "use crate::{files, cli};").len(),
        1
    );
    assert_eq!(door_faults("src/server/x.rs", "use plan::Plan;").len(), 1);
    assert_eq!(door_faults("src/server/x.rs", "fn f(x: &plan::Plan) {}").len(), 1);
    assert_eq!(door_faults("src/server/x.rs", "use admission::decide;").len(), 0);
    assert_eq!(door_faults("src/server/x.rs", "use other::plan::Plan;").len(), 0);
    assert_eq!(impurities("crates/plan/src/x.rs", "tokio::spawn(x)").len(), 1);
    assert!(header_fault("crates/plan/src/x.rs", "use std::fmt;").is_some());
    assert!(header_fault("crates/plan/src/x.rs", "//! Decides.\n").is_none());
    assert!(size_fault("crates/plan/src/x.rs", &"x\n".repeat(LINE_STOP + 1)).is_some());
    assert!(size_fault("crates/plan/src/x.rs", &"x\n".repeat(LINE_STOP)).is_none());
    assert!(size_fault("src/main.rs", &"x\n".repeat(MAIN_STOP + 1)).is_some());
    assert!(size_fault("crates/plan/src/lib.rs", &"x\n".repeat(CONTENTS_STOP + 1)).is_some());
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
    let crates = ["schema".to_owned(), "devhub".to_owned()];
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

#[test]
fn a_writer_and_a_hidden_subject_are_found_anywhere() {
    assert_eq!(
        mutations("src/cli/x.rs", "let api: Api<Lease>; api.create(a)").len(),
        1
    );
    assert_eq!(mutations("src/cli/x.rs", "text.replace(a, b)").len(), 0);
    assert_eq!(
        hidden_subjects("src/x.rs", "    // Nobody's.\n// fn nobody_waits\nf(\"nobody\");").len(),
        1
    );
}

fn room_of(path: &str) -> Option<String> {
    let inside = path.strip_prefix("src/")?;
    let first = inside.split('/').next()?;
    let room = first.strip_suffix(".rs").unwrap_or(first);
    (!["lib", "main"].contains(&room)).then(|| room.to_owned())
}
