//! `docs/guarantees.md`: every row names tests, every test exists, and here are those that have no other place.

use std::collections::{BTreeMap, BTreeSet};

use admission::{Endpoint, Request, RequestContext, Rulebook, Webhook, configurations, decide, wire};
use insight::offline::Hub;
use plan::{self, Action};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use store::{Kind, Settings};

use crate::kit::asked;
use crate::kit::manifests::repository;
use crate::kit::pages::{Example, pages};

const PAGE: &str = "docs/guarantees.md";
const DATA: &str = "tests/data/guarantees.txt";

fn page() -> String {
    std::fs::read_to_string(repository(PAGE)).expect("the page")
}

/// The generated part of the page. A block of the data that begins with `table:` has a line for each row, and below it an
/// indented line for each test; other blocks are copied.
fn tables() -> String {
    let data = std::fs::read_to_string(repository(DATA)).expect("the data");
    let blocks = data.trim_end().split("\n\n");
    let blocks: Vec<String> = blocks
        .map(|block| match block.strip_prefix("table: ") {
            Some(block) => table(block),
            None => block.to_owned(),
        })
        .collect();
    format!("\n{}\n\n", blocks.join("\n\n"))
}

fn table(block: &str) -> String {
    let (head, rows) = block.split_once('\n').expect("a head and rows");
    let mut table = format!("| no. | {head} | tests |\n|---|---|---");
    let mut between = "";
    for line in rows.lines() {
        if let Some(test) = line.strip_prefix("  ") {
            table.push_str(&[between, "`", test, "`"].concat());
            between = ", ";
        } else {
            table.push_str(&[" |\n| ", line, " | "].concat());
            between = "";
        }
    }
    table + " |"
}

/// The rows of the page's tables, by number, each with what it names in its last cell.
fn rows() -> BTreeMap<String, Vec<String>> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, number, .., tests, _] = cells[..] else {
            return None;
        };
        let named = tests.split('`').skip(1).step_by(2);
        let is_number = number.ends_with(|end: char| end.is_ascii_digit() || end == 'a' || end == 'b');
        is_number.then(|| (number.to_owned(), named.map(ToOwned::to_owned).collect()))
    };
    page().lines().filter_map(row).collect()
}

/// Whether a named test exists: a function of a file, a whole file, or stories of a pattern.
fn exists(named: &str) -> bool {
    if let Some((path, name)) = named.rsplit_once("::") {
        return has_test(path, name);
    }
    let path = repository(named);
    if let Some((begin, end)) = named.split_once('*') {
        let folder = path.parent().expect("a folder");
        let begin = begin.rsplit('/').next().unwrap_or_default();
        let entries = std::fs::read_dir(folder).expect("a folder");
        return entries.flatten().any(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with(begin) && name.ends_with(end)
        });
    }
    path.is_file()
}

/// Tells whether a file has a test of this name.
fn has_test(path: &str, name: &str) -> bool {
    let text = std::fs::read_to_string(repository(path)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let heads = [format!("fn {name}("), format!("async fn {name}(")];
    let is_head = |line: &&str| heads.iter().any(|head| line.starts_with(head.as_str()));
    let marks = ["#[test]", "#[tokio::test"];
    let listed = lines
        .iter()
        .skip_while(|line| !line.starts_with("test_each!"))
        .take_while(|line| **line != "}")
        .any(|line| *line == name);
    listed
        || lines
            .iter()
            .enumerate()
            .filter(|(_, line)| is_head(line))
            .any(|(at, _)| {
                let before = lines.iter().take(at).rev();
                let mut own = before.take_while(|line| !line.is_empty() && **line != "}");
                own.any(|line| marks.iter().any(|mark| line.starts_with(mark)))
            })
}

#[test]
fn the_page_has_the_tables_of_the_data() {
    const BEGIN: &str = "<!-- generated: tables of tests/data/guarantees.txt (UPDATE_EXPECT=1 cargo test --workspace --test suite -- promises::) -->\n";
    const END: &str = "<!-- end of generated -->";
    let page = page();
    let (before, rest) = page.split_once(BEGIN).expect("the beginning of the tables");
    let (found, after) = rest.split_once(END).expect("the end of the tables");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let page = format!("{before}{BEGIN}{}{END}{after}", tables());
        std::fs::write(repository(PAGE), page).expect("the page is writable");
    } else {
        assert_eq!(found, tables(), "UPDATE_EXPECT=1 writes the tables");
    }
}

#[test]
fn every_guarantee_names_tests_that_exist() {
    let rows = rows();
    let lines = page().lines().filter(|line| line.starts_with("| ")).count();
    let heads = page().lines().filter(|line| line.starts_with("| no. |")).count();
    assert_eq!(rows.len() + heads, lines, "every row has a number of its own");
    for (number, tests) in rows {
        assert!(!tests.is_empty(), "{number} names no test");
        for test in tests {
            assert!(exists(&test), "{number}: there is no test {test}");
        }
    }
    assert!(
        !has_test("tests/pure/promises.rs", "asks"),
        "a function is no test"
    );
    assert!(!has_test("tests/pure/promises.rs", "never_written"));
    assert!(!exists("tests/plans/never-written.txt"));
}

#[test]
fn the_page_has_every_number() {
    let rows = rows();
    let numbers =
        |letter: &str, count: u32| (1..=count).map(|at| format!("{letter}{at}")).collect::<Vec<_>>();
    let attacks = numbers("A", 54);
    let attacks = attacks
        .into_iter()
        .filter(|number| !["A6", "A20", "A21"].contains(&number.as_str()))
        .chain(["A6a", "A6b", "A20, A21"].map(ToOwned::to_owned));
    let rest = [("", 21), ("S", 16), ("L", 11), ("F", 17), ("O", 31)];
    let rest = rest
        .into_iter()
        .flat_map(|(letter, count)| numbers(letter, count));
    for number in attacks.chain(rest) {
        assert!(rows.contains_key(&number), "{number} is missing");
    }
}

#[test]
fn the_security_page_is_short() {
    let page = std::fs::read_to_string(repository("SECURITY.md")).expect("the page");
    assert!(page.lines().count() <= 60, "SECURITY.md has at most 60 lines");
    assert!(page.contains(PAGE), "it links to the guarantees");
}

fn asks(example: &Example, webhook: Webhook, circumstances: RequestContext<'_>) -> (Vec<u8>, Vec<String>) {
    let object = &example.asked.object;
    let text = |at: &Value, name: &str| {
        at.get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    let (api_version, kind) = (text(object, "apiVersion"), text(object, "kind"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let raw = to_raw_value(object).expect("JSON");
    let old = example
        .asked
        .old
        .as_ref()
        .map(|old| to_raw_value(old).expect("JSON"));
    let request = Request {
        webhook,
        operation: example.asked.operation,
        group,
        version,
        resource: &asked::resource(group, &kind),
        kind: &kind,
        subresource: example.asked.subresource,
        namespace: &text(&metadata, "namespace"),
        name: &text(&metadata, "name"),
        object: Some(&raw),
        old: old.as_deref(),
        dry_run: false,
        circumstances,
    };
    let verdict = decide(&request, &example.facts, &Rulebook::default());
    let paths = verdict
        .patch()
        .0
        .iter()
        .map(|operation| operation.path().to_string());
    (wire::encode("u", &verdict), paths.collect())
}

#[test]
fn one_field_is_ever_filled_in() {
    let mut paths = BTreeSet::new();
    for page in pages() {
        for example in &page.examples {
            paths.extend(asks(example, Webhook::Mutate, RequestContext::default()).1);
            assert_eq!(
                asks(example, Webhook::Validate, RequestContext::default()).1,
                [""; 0],
                "{}",
                example.title
            );
        }
    }
    // In `v1beta1` the field is an annotation.
    let annotation = "/metadata/annotations/addon.open-cluster-management.io~1v1alpha1-install-namespace";
    let expected = ["/metadata/annotations", annotation, "/spec/installNamespace"];
    assert_eq!(paths.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn answers_are_the_same_bytes_for_every_time_and_user() {
    let users = ["alice", "system:serviceaccount:argocd:argocd"];
    let users = users.map(|name| to_raw_value(&json!({"username": name})).expect("JSON"));
    let times = ["2026-01-01T00:00:00Z", "2031-07-08T09:10:11Z"];
    let times = times.map(|time| time.parse().expect("a time"));
    for page in pages() {
        // A decision, a pause and a freeze have an author.
        let with_author = [
            "RolloutApproval",
            "AddOnRollout",
            "RolloutProfile",
            "RolloutFreeze",
        ];
        let has_author = |one: &&Example| with_author.map(Value::from).contains(&one.asked.object["kind"]);
        for example in page.examples.iter().filter(|one| !has_author(one)) {
            let one = |at: usize| RequestContext {
                uid: ["first", "second"][at],
                user: Some(&users[at]),
                now: Some(times[at]),
                ..RequestContext::default()
            };
            for webhook in [Webhook::Mutate, Webhook::Validate] {
                let (first, second) = (asks(example, webhook, one(0)).0, asks(example, webhook, one(1)).0);
                assert_eq!(first, second, "{}: {}", page.path.display(), example.title);
            }
        }
    }
}

fn webhooks() -> Vec<Value> {
    let endpoint = Endpoint::Url("https://127.0.0.1".to_owned());
    let all = configurations(&endpoint, None);
    let lists = all.iter().filter_map(|one| one["webhooks"].as_array());
    lists.flatten().cloned().collect()
}

#[test]
fn the_webhooks_have_no_side_effects_and_wait_ten_seconds() {
    let all = webhooks();
    assert_eq!(all.len(), 3);
    for webhook in all {
        assert_eq!(webhook["sideEffects"], "None", "{webhook}");
        assert_eq!(webhook["timeoutSeconds"], admission::TIMEOUT_SECONDS, "{webhook}");
    }
}

#[test]
fn the_manifests_leave_the_ca_bundle_to_the_injector() {
    for file in ["mutating.yaml", "validating.yaml"] {
        let text = std::fs::read_to_string(repository("manifests/webhook").join(file)).expect("a manifest");
        assert!(!text.contains("caBundle"), "{file}");
    }
    for webhook in webhooks() {
        assert_eq!(webhook["clientConfig"].get("caBundle"), None, "{webhook}");
    }
}

/// A hub on which an add-on with a template is to be installed on one cluster.
fn hub(marks: &Value) -> Hub {
    const ADDON: &str = "addon.open-cluster-management.io";
    const CLUSTER: &str = "cluster.open-cluster-management.io";
    let manifest =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "n"}});
    let template = json!({"group": ADDON, "resource": "addontemplates", "defaultConfig": {"name": "hello"}});
    let mut hub = Hub::default();
    for object in [
        json!({"apiVersion": format!("{CLUSTER}/v1"), "kind": "ManagedCluster",
            "metadata": {"name": "c1", "annotations": marks, "labels": marks}, "spec": {"hubAcceptsClient": true}}),
        json!({"apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "Placement",
            "metadata": {"name": "all", "namespace": "default"}, "spec": {}}),
        json!({"apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "PlacementDecision",
            "metadata": {"name": "all-1", "namespace": "default", "labels": {format!("{CLUSTER}/placement"): "all"}},
            "status": {"decisions": [{"clusterName": "c1", "reason": ""}]}}),
        json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "AddOnTemplate", "metadata": {"name": "hello"},
            "spec": {"addonName": "hello", "agentSpec": {"workload": {"manifests": [manifest]}}, "registration": []}}),
        json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "ClusterManagementAddOn",
            "metadata": {"name": "hello", "annotations": marks, "labels": marks},
            "spec": {"supportedConfigs": [template], "installStrategy": {"type": "Placements",
                "placements": [{"name": "all", "namespace": "default"}]}}}),
    ] {
        hub.put(object);
    }
    hub
}

/// What the controllers create, until there is nothing left to create.
fn created(mut hub: Hub) -> Vec<(Kind, Value)> {
    let mut all = Vec::new();
    for _ in 0..6 {
        let store = hub.store(Settings::default());
        let view = store.view("hello").expect("the add-on");
        let plan = plan::addon(&view, "2026-11-21T00:00:00Z".parse().expect("a time"));
        for action in plan.actions {
            if let Action::Create { object, body, .. } = action {
                let mut whole = body.value();
                whole["apiVersion"] = object.kind.api_version().into();
                whole["kind"] = object.kind.address().kind.into();
                if hub.put(whole.clone()).is_some() {
                    all.push((object.kind, whole));
                }
            }
        }
    }
    all
}

const MARKS: [&str; 6] = [
    "argocd.argoproj.io/instance",
    "app.kubernetes.io/instance",
    "kustomize.toolkit.fluxcd.io/name",
    "helm.sh/chart",
    "meta.helm.sh/release-name",
    "kubectl.kubernetes.io/last-applied-configuration",
];

#[test]
fn the_marks_of_gitops_tools_travel_nowhere() {
    let marks: BTreeMap<&str, &str> = MARKS.map(|mark| (mark, "x")).into();
    let all = created(hub(&json!(marks)));
    assert!(!all.is_empty());
    for (kind, object) in all {
        let text = object.to_string();
        let found: Vec<&&str> = MARKS.iter().filter(|mark| text.contains(**mark)).collect();
        assert!(found.is_empty(), "{kind:?} carries {found:?}: {text}");
    }
}

#[test]
fn what_the_controllers_create_has_an_owner() {
    let all = created(hub(&json!({})));
    let kinds: BTreeSet<Kind> = all.iter().map(|(kind, _)| *kind).collect();
    assert!(
        kinds.contains(&Kind::Instance) && kinds.contains(&Kind::Work),
        "{kinds:?}"
    );
    for (kind, object) in all {
        let owners = object
            .pointer("/metadata/ownerReferences")
            .and_then(Value::as_array);
        let owned = owners.is_some_and(|owners| !owners.is_empty());
        assert!(owned, "{kind:?}: {object}");
    }
}
