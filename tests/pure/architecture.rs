//! Checks of the structure of the program: layers of packages, size and header of files, purity of packages.
//!
//! Every check is a function on text, with a test that it can fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

mod checks;
mod circles;
mod programs;
mod sources;

use checks::{
    WRITERS, header_fault, impurities, members, mutations, openings, outlets, production, second_copies,
    size_fault, spelled_reasons, use_faults, workspace_dependencies,
};
use sources::{root, sources};

/// The packages of the workspace in four layers, the lower ones first: a package uses only packages before it.
const LAYERS: [(&str, &[&str]); 4] = [
    ("words", &["kubernetes", "api", "model", "cel-engine", "schema"]),
    ("facts", &["store"]),
    ("decisions", &["plan", "admission", "audit"]),
    ("faces", &["insight", "lint", "operate"]),
];

/// The folders of `src/`, and the folders and packages that each may use. `cli` uses all.
const FOLDERS: &[(&str, &[&str])] = &[
    (
        "controllers",
        &[
            "admission",
            "api",
            "audit",
            "files",
            "kubernetes",
            "model",
            "operate",
            "plan",
            "store",
            "telemetry",
        ],
    ),
    (
        "server",
        &["admission", "api", "files", "kubernetes", "telemetry"],
    ),
    ("files", &[]),
    ("telemetry", &["api", "kubernetes"]),
    ("ui", &["audit", "insight", "store"]),
];

/// The packages, the lower ones first. None has a socket, a clock or a client.
fn packages() -> impl Iterator<Item = &'static str> {
    LAYERS.iter().flat_map(|(_, packages)| packages.iter().copied())
}

/// Names that mean a socket, a task or a client: none of them is in a package.
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
fn folders_of_src_use_only_what_they_may() {
    let mut faults = Vec::new();
    for (path, text) in sources("src") {
        faults.extend(use_faults(&path, &production(&text)));
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

/// The packages of the workspace in `dev/`.
const DEV: [&str; 4] = ["devhub", "fleetbench", "managed-fields", "spokes"];

/// A few files that know each other are one thought; more are a knot.
const CIRCLE_STOP: usize = 3;

#[test]
fn no_circle_of_imports_has_more_than_three_files() {
    let crates = members().into_iter().map(|name| format!("crates/{name}/src"));
    let crates = crates.chain(DEV.map(|name| format!("dev/{name}/src")));
    let crates = crates.chain(["tests/oracle/src".to_owned()]);
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
fn every_folder_of_src_has_a_row() {
    let known: BTreeSet<&str> = FOLDERS.iter().map(|(folder, _)| *folder).chain(["cli"]).collect();
    let found: BTreeSet<String> = sources("src").keys().filter_map(|path| folder_of(path)).collect();
    let is_strange = |folder: &&String| !known.contains(folder.as_str());
    let unlisted: Vec<&String> = found.iter().filter(is_strange).collect();
    assert!(unlisted.is_empty(), "folders without a row: {unlisted:?}");
    assert_eq!(
        found.len(),
        known.len(),
        "the scan must see the folders, it saw {found:?}"
    );
}

#[test]
fn pure_crates_open_no_socket_and_read_no_file() {
    let mut faults = Vec::new();
    for name in packages() {
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
    for name in packages() {
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
    for dir in ["src", "crates", "dev", "tests", "benches"] {
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
fn packages_use_only_packages_of_lower_layers() {
    let folders = members();
    let all: Vec<&str> = packages().collect();
    let mut faults = Vec::new();
    for name in &folders {
        let Some(at) = all.iter().position(|one| one == name) else {
            faults.push(format!("{name} has no layer"));
            continue;
        };
        let used = uses_of(name);
        let above = used.iter().filter(|used| !all[..at].contains(&used.as_str()));
        faults.extend(above.map(|used| format!("{name} → {used} leads upwards")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(
        folders.len(),
        all.len(),
        "a layer names a package that is not there"
    );
}

fn uses_of(name: &str) -> Vec<String> {
    let path = root().join("crates").join(name).join("Cargo.toml");
    let manifest = fs::read_to_string(path).expect("every package has a manifest");
    workspace_dependencies(&manifest, &members())
}

#[test]
fn the_page_shows_the_packages_as_cargo_has_them() {
    const BEGIN: &str = "<!-- generated: packages (UPDATE_EXPECT=1 cargo test --workspace --test suite -- architecture::) -->\n";
    const END: &str = "<!-- end of generated -->";
    let path = root().join("ARCHITECTURE.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("the beginning of the picture");
    let (found, after) = rest.split_once(END).expect("the end of the picture");
    let picture = picture();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let page = format!("{before}{BEGIN}{picture}{END}{after}");
        fs::write(path, page).expect("the page is writable");
    } else {
        assert_eq!(found, picture, "UPDATE_EXPECT=1 writes the picture");
    }
}

/// The layers, the highest first, and what each package uses.
fn picture() -> String {
    let layers = LAYERS.iter().rev().map(|(layer, packages)| {
        let program = (*layer == "faces").then_some("tidegate (src/)");
        let names: Vec<&str> = packages.iter().copied().chain(program).collect();
        format!("{layer:<10} {}", names.join("  "))
    });
    let rows = packages().map(|name| match uses_of(name).join(", ") {
        none if none.is_empty() => format!("| `crates/{name}` | – |"),
        used => format!("| `crates/{name}` | {used} |"),
    });
    let layers: Vec<String> = layers.collect();
    let rows: Vec<String> = rows.collect();
    format!(
        "\n```text\n{}\n```\n\n| package | uses |\n|---|---|\n{}\n\n",
        layers.join("\n"),
        rows.join("\n")
    )
}

/// The versions, lints and profiles that the two workspaces must have in common, so that both share what is compiled.
#[test]
fn the_two_workspaces_agree() {
    let read = |file: &str| fs::read_to_string(root().join(file)).expect(file);
    let (ours, theirs) = (read("Cargo.toml"), read("dev/Cargo.toml"));
    let mut faults = Vec::new();
    for table in [
        "workspace.package",
        "workspace.lints.rust",
        "workspace.lints.clippy",
    ] {
        if section(&ours, table) != section(&theirs, table) {
            faults.push(format!("[{table}] differs"));
        }
    }
    let versions = |manifest: &str| -> BTreeMap<String, String> {
        let lines = section(manifest, "workspace.dependencies").into_iter();
        let from_outside = lines.filter(|line| !line.contains("path = "));
        let pairs = from_outside.filter_map(|line| {
            let (name, version) = line.split_once(" = ")?;
            Some((name.to_owned(), version.to_owned()))
        });
        pairs.collect()
    };
    let (has, further) = (versions(&ours), versions(&theirs));
    let other = further
        .iter()
        .filter(|(name, version)| has.get(*name).is_some_and(|ours| ours != *version));
    faults.extend(other.map(|(name, version)| format!("{name} = {version} differs")));
    let profiles = |text: &str| -> BTreeMap<String, Vec<String>> {
        let names = text.lines().filter_map(|line| {
            let name = line.strip_prefix('[')?.strip_suffix(']')?;
            (name.starts_with("profile.dev") || name.starts_with("profile.release")).then(|| name.to_owned())
        });
        names.map(|name| (name.clone(), section(text, &name))).collect()
    };
    let has = profiles(&ours);
    let other = profiles(&theirs)
        .into_iter()
        .filter(|(name, lines)| has.get(name) != Some(lines));
    faults.extend(other.map(|(name, _)| format!("[{name}] differs")));
    let (ours, theirs) = (read("Cargo.lock"), read("dev/Cargo.lock"));
    let ours = locked(&ours);
    let other = locked(&theirs)
        .into_iter()
        .filter(|package| !ours.contains(package));
    faults.extend(other.map(|package| format!("Cargo.lock does not have {package}")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The lines of a table of a manifest, without comments.
fn section(manifest: &str, table: &str) -> Vec<String> {
    let begin = format!("[{table}]");
    let lines = manifest.lines().skip_while(|line| *line != begin).skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// The packages of a lock file with their versions.
fn locked(lock: &str) -> BTreeSet<String> {
    let packages = lock.split("[[package]]\n").skip(1);
    packages
        .map(|package| package.lines().take(2).collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn what_kubernetes_has_a_word_for_is_written_once() {
    let mut faults = Vec::new();
    for folder in ["src", "crates", "dev"] {
        for (path, text) in sources(folder) {
            if !path.contains("/tests/") && !path.ends_with("_tests.rs") {
                faults.extend(second_copies(&path, &text));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The table, and the types of conditions, two of which are also reasons.
const SPELL_REASONS: [&str; 2] = ["api/src/reason.rs", "api/src/names.rs"];
/// Programs that play others.
const PLAYERS: [&str; 4] = ["devhub/", "spokes/", "fleetbench/", "managed-fields/"];

#[test]
fn reasons_are_spelled_in_one_table() {
    let mut faults = Vec::new();
    let mut seen = 0;
    for folder in ["src", "crates"] {
        for (path, text) in sources(folder) {
            let is_table = SPELL_REASONS.iter().any(|file| path.ends_with(file));
            if is_table || path.ends_with("_tests.rs") || PLAYERS.iter().any(|one| path.contains(one)) {
                continue;
            }
            seen += 1;
            faults.extend(spelled_reasons(&path, &text));
        }
    }
    assert!(seen > 300, "the scan must see the sources, it saw {seen}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let spelled = "let reason = \"WaitingForSlot\";\n";
    assert_eq!(spelled_reasons("x.rs", spelled).len(), 1);
}

#[test]
fn the_dev_hub_knows_no_kind_of_the_product() {
    let mut faults = Vec::new();
    for (path, text) in sources("dev/devhub/src") {
        if production(&text).contains("open-cluster-management") {
            faults.push(format!("{path}: names a group of Open Cluster Management"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A checker is a second implementation of what the planner decides. Tests call it; what it says must not change what is written.
#[test]
fn no_checker_runs_in_production() {
    let mut manifests = vec!["Cargo.toml".to_owned(), "fuzz/Cargo.toml".to_owned()];
    manifests.extend(members().iter().map(|name| format!("crates/{name}/Cargo.toml")));
    manifests.extend(DEV.iter().map(|name| format!("dev/{name}/Cargo.toml")));
    let text = |file: &String| fs::read_to_string(root().join(file)).expect("a manifest");
    let using: Vec<&String> = manifests
        .iter()
        .filter(|file| uses_checkers(&text(file)))
        .collect();
    assert!(using.is_empty(), "{using:?} use the package of the checkers");
    let ours = section(&text(&"Cargo.toml".to_owned()), "dev-dependencies");
    assert!(
        ours.contains(&"oracle.workspace = true".to_owned()),
        "tests use it"
    );
}

/// Whether what a manifest describes contains the checkers of plans: dependencies of tests are not part of it.
fn uses_checkers(manifest: &str) -> bool {
    let mut table = "";
    manifest.lines().any(|line| {
        if line.starts_with('[') {
            table = line;
        }
        let is_for_tests = table.contains("dev-dependencies") || table.starts_with("[workspace");
        let mut names = line.split(|one: char| !one.is_alphanumeric() && one != '_' && one != '-');
        let is_use = table.contains("dependencies") && names.any(|word| word == "oracle");
        is_use && !is_for_tests
    })
}

#[test]
fn a_call_of_a_checker_is_found() {
    let found = |table: &str, line: &str| uses_checkers(&format!("[{table}]\n{line}\n"));
    assert!(found("dependencies", "oracle.workspace = true"));
    assert!(found("dependencies", "checks = { path = \"../oracle\" }"));
    assert!(found(
        "target.'cfg(unix)'.dependencies",
        "oracle.workspace = true"
    ));
    assert!(found("dependencies.oracle", "workspace = true"));
    assert!(!found("dev-dependencies", "oracle.workspace = true"));
    assert!(!found(
        "workspace.dependencies",
        "oracle = { path = \"tests/oracle\" }"
    ));
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
fn only_one_place_prints_and_only_one_opens_files() {
    let mut faults = Vec::new();
    let pure = packages().flat_map(|name| sources(&format!("crates/{name}/src")));
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
        use_faults("src/server/x.rs", "use crate::controllers::Tide;").len(),
        1
    );
    assert_eq!(
        use_faults("src/server/x.rs", "fn f() { crate::cli::start() }").len(),
        1
    );
    assert_eq!(use_faults("src/server/x.rs", "use crate::{files, cli};").len(), 1);
    assert_eq!(use_faults("src/server/x.rs", "use plan::Plan;").len(), 1);
    assert_eq!(use_faults("src/server/x.rs", "fn f(x: &plan::Plan) {}").len(), 1);
    assert_eq!(use_faults("src/server/x.rs", "use admission::decide;").len(), 0);
    assert_eq!(use_faults("src/server/x.rs", "use other::plan::Plan;").len(), 0);
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
        second_copies("crates/kubernetes/src/x.rs", "\"DoesNotExist\"").len(),
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
}

fn folder_of(path: &str) -> Option<String> {
    let inside = path.strip_prefix("src/")?;
    let first = inside.split('/').next()?;
    let folder = first.strip_suffix(".rs").unwrap_or(first);
    (!["lib", "main"].contains(&folder)).then(|| folder.to_owned())
}
