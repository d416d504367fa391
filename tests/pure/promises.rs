//! The guarantees of `docs/promises.md`: every test that it names exists, and here are those without another file.

use std::collections::{BTreeMap, BTreeSet};

use admission::{Door, Endpoint, Request, RequestContext, Rulebook, configurations, decide, wire};
use insight::offline::Hub;
use plan::{self, Action};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use store::{Kind, Settings};

use crate::kit::asked;
use crate::kit::manifests::repository;
use crate::kit::pages::{Example, pages};

/// The rows of a section of the page: number, and the tests that are named.
fn rows(section: &str) -> BTreeMap<u32, Vec<String>> {
    let page = std::fs::read_to_string(repository("docs/promises.md")).expect("the page");
    let (_, section) = page
        .split_once(&format!("\n## {section}\n"))
        .expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, number, _, tests, _] = cells[..] else {
            return None;
        };
        let named = tests.split('`').filter(|piece| piece.contains("::"));
        Some((number.parse().ok()?, named.map(ToOwned::to_owned).collect()))
    };
    section.lines().filter_map(row).collect()
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

/// Returns how many tests a page names, all of which exist.
fn named_tests(path: &str) -> usize {
    let page = std::fs::read_to_string(repository(path)).expect("the page");
    let named: BTreeSet<&str> = page.split('`').skip(1).step_by(2).collect();
    let tests = named
        .into_iter()
        .filter_map(|name| name.split_once("::"))
        .filter(|(file, _)| file.contains('/'));
    let mut found = 0;
    for (file, test) in tests {
        assert!(has_test(file, test), "{path}: there is no test {file}::{test}");
        found += 1;
    }
    found
}

#[test]
fn every_test_that_the_security_page_names_exists() {
    let found = named_tests("SECURITY.md");
    assert!(found > 9, "only {found} tests were looked up");
    let page = std::fs::read_to_string(repository("SECURITY.md")).expect("the page");
    let (_, guarantees) = page.split_once("\n## Guarantees\n").expect("the section");
    let rows = guarantees
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    for row in rows {
        assert!(row.contains("::"), "a guarantee without a test: {row}");
    }
    assert!(page.lines().count() <= 60, "SECURITY.md has at most 60 lines");
}

#[test]
fn every_test_that_the_page_of_attacks_names_exists() {
    let path = "docs/internals/attacks.md";
    let found = named_tests(path);
    assert!(found > 40, "only {found} tests were looked up");
    let page = std::fs::read_to_string(repository(path)).expect("the page");
    let rows = |head: &str| page.lines().filter(|line| line.starts_with(head)).count();
    for number in (1..=25).filter(|number| ![20, 21].contains(number)) {
        let starts = [format!("| A{number} |"), format!("| A{number}a |")];
        assert_eq!(
            starts.iter().map(|head| rows(head)).sum::<usize>(),
            1,
            "A{number}"
        );
    }
}

#[test]
fn every_promise_is_held_by_tests_that_exist() {
    for (section, count) in [("Never drift", 21), ("Limits of the serving path", 11)] {
        let rows = rows(section);
        assert_eq!(
            rows.keys().copied().collect::<Vec<u32>>(),
            (1..=count).collect::<Vec<_>>(),
            "{section}"
        );
        for (number, tests) in rows {
            assert!(!tests.is_empty(), "{section} {number} is held by nothing");
            for test in tests {
                let (path, name) = test.rsplit_once("::").expect("file::name");
                assert!(
                    has_test(path, name),
                    "{section} {number}: there is no test {test}"
                );
            }
        }
    }
    assert!(
        !has_test("tests/pure/promises.rs", "asks"),
        "a function is no test"
    );
    assert!(!has_test("tests/pure/promises.rs", "never_written"));
}

fn asks(example: &Example, door: Door, circumstances: RequestContext<'_>) -> (Vec<u8>, Vec<String>) {
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
        door,
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
            paths.extend(asks(example, Door::Mutate, RequestContext::default()).1);
            assert_eq!(
                asks(example, Door::Validate, RequestContext::default()).1,
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
        for example in &page.examples {
            let one = |at: usize| RequestContext {
                uid: ["first", "second"][at],
                user: Some(&users[at]),
                now: Some(times[at]),
                ..RequestContext::default()
            };
            for door in [Door::Mutate, Door::Validate] {
                let (first, second) = (asks(example, door, one(0)).0, asks(example, door, one(1)).0);
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
