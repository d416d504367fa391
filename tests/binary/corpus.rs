//! Add-ons in the shapes of public ones (`tests/corpus`), on a hub with `--compat ocm`: what is stored, and what each becomes on a
//! cluster, is what OCM's API server and add-on manager made of it in a recording (`tests/scripts/real-hub --record`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use crate::rig::{Dev, PATIENCE};

/// What became of a folder: whether each object was stored, and the `spec` of each ManifestWork on cluster1.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    stored: BTreeMap<String, bool>,
    works: BTreeMap<String, Value>,
}

impl Outcome {
    /// Reads a recording: lines `stored FILE`, `refused FILE [FIELD]` and `work NAME SPEC`. Lines with `#` are comments.
    fn recorded(text: &str) -> Self {
        let mut found = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.splitn(3, ' ');
            let (kind, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            match kind {
                "stored" | "refused" => {
                    found.stored.insert(name.to_owned(), kind == "stored");
                }
                "work" => {
                    let spec: Value = serde_json::from_str(words.next().unwrap_or_default()).expect("JSON");
                    found.works.insert(name.to_owned(), plain(spec));
                }
                _ => assert!(line.is_empty(), "not a line of a recording: {line}"),
            }
        }
        found
    }
}

/// Returns a spec without what means nothing: empty fields and the empty status that typed objects of Go have, and the order of manifests.
fn plain(mut spec: Value) -> Value {
    if let Some(manifests) = spec
        .pointer_mut("/workload/manifests")
        .and_then(Value::as_array_mut)
    {
        for manifest in manifests.iter_mut().filter_map(Value::as_object_mut) {
            manifest.remove("status");
        }
    }
    without_empty(&mut spec);
    for list in ["/workload/manifests", "/manifestConfigs"] {
        if let Some(list) = spec.pointer_mut(list).and_then(Value::as_array_mut) {
            list.sort_by_cached_key(Value::to_string);
        }
    }
    spec
}

fn without_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                // A quantity may be a number in YAML; typed objects hold its text.
                if let ("requests" | "limits", Value::Object(quantities)) = (name.as_str(), &mut *value) {
                    for quantity in quantities.values_mut().filter(|quantity| quantity.is_number()) {
                        *quantity = quantity.to_string().into();
                    }
                }
                without_empty(value);
            }
            fields.retain(|name, value| match value {
                Value::Null => false,
                Value::Object(fields) => !fields.is_empty(),
                Value::Array(items) => !items.is_empty(),
                Value::String(text) => {
                    !text.is_empty() || !["value", "messageExpression"].contains(&name.as_str())
                }
                Value::Bool(_) | Value::Number(_) => true,
            });
        }
        Value::Array(items) => items.iter_mut().for_each(without_empty),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// One add-on of the corpus.
struct Folder {
    name: String,
    files: Vec<PathBuf>,
    /// What is to come of it: OCM's result, or Tidegate's if the add-on is one of the documented differences.
    wanted: Outcome,
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder of the corpus");
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    found.sort();
    found
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().expect("a file has a name");
    name.to_string_lossy().into_owned()
}

fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file of the corpus")
}

/// Reads all folders with their recordings.
///
/// A file of `differences` begins with the number of a row in docs/ocm-differences.md, and only the works in it differ from OCM's. An
/// object that OCM stores and its manager cannot use is marked in its own first line.
fn folders() -> Vec<Folder> {
    let differences = text_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ocm-differences.md"));
    let add_ons = sorted(&corpus())
        .into_iter()
        .filter(|path| path.is_dir() && !["expected", "differences"].contains(&name_of(path).as_str()));
    add_ons
        .map(|path| {
            let name = name_of(&path);
            let recorded = |part: &str| corpus().join(part).join(format!("{name}.txt"));
            let mut wanted = Outcome::recorded(&text_of(&recorded("expected")));
            let files = sorted(&path);
            let names: Vec<String> = files.iter().map(|file| name_of(file)).collect();
            assert!(
                wanted.stored.keys().eq(&names),
                "{name}: record it again, its files have changed"
            );
            if recorded("differences").exists() {
                let text = text_of(&recorded("differences"));
                let row = text.split([' ', ':']).nth(1).unwrap_or_default();
                assert!(
                    differences.contains(&format!("| {row} |")),
                    "{name}: \"{row}\" is not a difference in docs/ocm-differences.md"
                );
                let ours = Outcome::recorded(&text);
                assert!(ours.stored.is_empty(), "{name}: a difference lists works only");
                assert_ne!(ours.works, wanted.works, "{name}: this is not a difference");
                wanted.works = ours.works;
            }
            for file in &files {
                let first = text_of(file).lines().next().unwrap_or_default().to_owned();
                let stored = wanted.stored.get_mut(&name_of(file)).expect("compared above");
                let breaks_ocm = first.starts_with("# Refused: breaks OCM");
                assert_eq!(
                    *stored,
                    breaks_ocm || !first.starts_with("# Refused:"),
                    "{name}: the recording of {} is not what its first line says",
                    file.display()
                );
                *stored &= !breaks_ocm;
            }
            Folder { name, files, wanted }
        })
        .collect()
}

/// Prepares the hub as the recording does: the clusters, the namespace and the placement.
fn prepare(dev: &Dev) {
    dev.succeed(&["create", "namespace", "corpus"]);
    dev.succeed(&["label", "managedcluster", "cluster1", "env=prod"]);
    let placement = "
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global, namespace: corpus}
spec: {clusterSet: global}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: all, namespace: corpus}
spec: {clusterSets: [global]}
";
    let stored = dev.apply(placement);
    assert!(stored.ok, "{}", stored.stderr);
}

/// Returns the works of all add-ons on cluster1, by the add-on that owns them.
fn works(dev: &Dev) -> BTreeMap<String, BTreeMap<String, Value>> {
    let list = dev.read(&["manifestworks", "-n", "cluster1"]);
    let mut found: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
    for work in list["items"].as_array().expect("a list has items") {
        let owner = work["metadata"]["labels"]["open-cluster-management.io/addon-name"].as_str();
        let name = work["metadata"]["name"].as_str().expect("a work has a name");
        found
            .entry(owner.unwrap_or_default().to_owned())
            .or_default()
            .insert(name.to_owned(), plain(work["spec"].clone()));
    }
    found
}

/// The names of the add-ons that a folder makes: those of its ClusterManagementAddOns.
fn add_ons(folder: &Folder) -> Vec<String> {
    let texts = folder.files.iter().map(|file| text_of(file));
    texts
        .filter(|text| text.contains("\nkind: ClusterManagementAddOn\n"))
        .filter_map(|text| {
            let name = text.lines().find_map(|line| line.strip_prefix("  name: "))?;
            Some(name.to_owned())
        })
        .collect()
}

#[test]
fn add_ons_of_public_shapes_are_stored_and_rendered_as_by_ocm() {
    let folders = folders();
    let dev = Dev::start(&[
        "--clusters",
        "3",
        "--no-demo",
        "--compat",
        "ocm",
        "--hub-permission-namespaces",
        "corpus",
    ]);
    prepare(&dev);
    let mut faults = Vec::new();
    let (mut stored, mut refused) = (0, 0);
    for folder in &folders {
        for file in &folder.files {
            let mut said = dev.kubectl(&["apply", "-f", &file.to_string_lossy()]);
            // The controllers may have created the object between kubectl's read and its write.
            if said.stderr.contains("AlreadyExists") {
                said = dev.kubectl(&["apply", "-f", &file.to_string_lossy()]);
            }
            if said.ok {
                stored += 1;
            } else {
                refused += 1;
            }
            if folder.wanted.stored.get(&name_of(file)) != Some(&said.ok) {
                faults.push(format!(
                    "{}: stored: {}\n{}{}",
                    file.display(),
                    said.ok,
                    said.stdout,
                    said.stderr
                ));
            }
        }
    }
    // Works appear and change until the agents have confirmed all of them.
    let begun = Instant::now();
    let differ = loop {
        let found = works(&dev);
        let differ: Vec<String> = folders
            .iter()
            .filter_map(|folder| {
                let names = add_ons(folder);
                let mine: BTreeMap<String, Value> = names
                    .iter()
                    .filter_map(|name| found.get(name))
                    .flatten()
                    .map(|(name, spec)| (name.clone(), spec.clone()))
                    .collect();
                let same = mine == folder.wanted.works;
                (!same).then(|| report(&folder.name, &folder.wanted.works, &mine))
            })
            .collect();
        if differ.is_empty() || begun.elapsed() > PATIENCE {
            break differ;
        }
        std::thread::sleep(std::time::Duration::from_millis(500));
    };
    faults.extend(differ);
    println!(
        "{} folders: {stored} objects stored, {refused} refused",
        folders.len()
    );
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

fn report(name: &str, wanted: &BTreeMap<String, Value>, found: &BTreeMap<String, Value>) -> String {
    use std::fmt::Write as _;
    let mut text = format!("{name}: works on cluster1");
    let names: std::collections::BTreeSet<&String> = wanted.keys().chain(found.keys()).collect();
    for work in names {
        if wanted.get(work) != found.get(work) {
            for (of, spec) in [("recorded", wanted.get(work)), ("found", found.get(work))] {
                let spec = spec.map_or_else(|| "no such work".to_owned(), Value::to_string);
                write!(text, "\n  {of} {work} {spec}").expect("a string can be written to");
            }
        }
    }
    text
}
