//! The tools that read a hub: `snapshot`, `why`, `plan`, and `check` with facts. One hub for all of them.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::rig::{Dev, Run, run};

const BROKEN: &str = "cluster2";

/// A change of the demo add-on's configuration: every cluster has to move.
const CHANGE: &str = r"
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata:
  name: helloworld
  namespace: open-cluster-management
spec:
  agentInstallNamespace: helloworld
  customizedVariables:
  - name: GREETING
    value: changed by a test
";

fn at(dev: &Dev, args: &[&str]) -> Run {
    run(&[args, &["--kubeconfig", &dev.kubeconfig.to_string_lossy()]].concat())
}

fn json(run: &Run) -> Value {
    let parsed = serde_json::from_str(&run.stdout);
    assert!(parsed.is_ok(), "{}{}", run.stdout, run.stderr);
    parsed.expect("just seen")
}

#[test]
fn a_hub_explains_itself_and_what_a_change_would_do() {
    let dev = Dev::start(&[
        "--clusters",
        "4",
        "--fault",
        "cluster2=apply-failure:quota exceeded",
    ]);
    dev.until_says("helloworld", "cluster1", "False", "InstallSucceed");
    dev.until(
        "cluster2 has reported its failure",
        &["manifestwork", "-n", BROKEN],
        |list| list.to_string().contains("quota exceeded"),
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let dump = path("hub.json");
    let taken = at(&dev, &["snapshot", "-o", &dump]);
    assert!(taken.ok, "{}", taken.stderr);
    dump_is_complete_and_has_no_secrets(&dev, &dump);
    dump_is_for_its_owner_and_goes_through_no_link(&dev, &dump, &path("link.json"));
    why_ends_at_the_cluster_that_refuses(&dev, &dump);
    plan_tells_the_waves_of_a_change(&dump, &path("change.yaml"));
    plan_names_what_it_cannot_read(&dump, &path("broken.json"));
    check_knows_what_the_hub_has(&dev, &dump, &path("mca.yaml"));
}

fn dump_is_complete_and_has_no_secrets(dev: &Dev, dump: &str) {
    let text = std::fs::read_to_string(dump).expect("the dump is written");
    let parsed: Value = serde_json::from_str(&text).expect("JSON");
    let objects = parsed["objects"].as_array().expect("objects");
    let clusters = objects
        .iter()
        .filter(|object| object["kind"] == "ManagedCluster")
        .count();
    assert_eq!(clusters, 4);
    assert!(!text.contains("managedFields") && !text.contains("last-applied-configuration"));
    assert!(objects.iter().all(|object| object["kind"] != "Secret"));
    let line = |text: &str| {
        text.lines()
            .filter(|line| line.contains("\"kind\":\"AddOnTemplate\""))
            .count()
    };
    let again = at(dev, &["snapshot"]);
    assert_eq!(line(&text), line(&again.stdout));
}

fn dump_is_for_its_owner_and_goes_through_no_link(dev: &Dev, dump: &str, link: &str) {
    let mode = std::fs::metadata(dump).expect("written").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let before = std::fs::read_to_string(dump).expect("text");
    std::os::unix::fs::symlink(dump, link).expect("a link");
    for place in [link, "/dev/full", "/"] {
        let refused = at(dev, &["snapshot", "-o", place]);
        assert_eq!(refused.code, Some(2), "{place}: {}", refused.stderr);
        assert!(refused.stderr.contains(place), "{}", refused.stderr);
    }
    assert_eq!(
        std::fs::read_to_string(dump).expect("text"),
        before,
        "the old one stays"
    );
}

fn why_ends_at_the_cluster_that_refuses(dev: &Dev, dump: &str) {
    let live = at(dev, &["why", "helloworld", "--cluster", BROKEN, "-o", "json"]);
    assert_eq!(live.code, Some(1), "{}", live.stderr);
    let answer = json(&live);
    let chain = &answer["chains"][0];
    assert_eq!(chain["code"], "why/work-not-applied", "{answer:#}");
    assert!(
        chain["detail"]
            .as_str()
            .is_some_and(|text| text.contains("quota exceeded")),
        "{chain:#}"
    );
    let links = chain["links"].as_array().expect("links");
    let kinds: Vec<&str> = links
        .iter()
        .filter_map(|link| link["object"].as_str()?.split_whitespace().next())
        .collect();
    for kind in [
        "ClusterManagementAddOn",
        "Placement",
        "ManagedClusterAddOn",
        "ManifestWork",
    ] {
        assert!(kinds.contains(&kind), "{kind} is no link of {kinds:?}");
    }
    assert_eq!(
        links.iter().filter(|link| link["stops"] == true).count(),
        1,
        "{chain:#}"
    );
    let well = run(&["why", "helloworld", "--cluster", "cluster1", "--facts", dump]);
    assert_eq!(well.code, Some(0), "{}{}", well.stdout, well.stderr);
    let fleet = run(&["why", "helloworld", "--facts", dump]);
    assert_eq!(fleet.code, Some(1));
    assert!(
        fleet.stdout.starts_with("helloworld: 3 of 4 clusters ready\n"),
        "{}",
        fleet.stdout
    );
    assert!(
        !fleet.stdout.contains("u{1b}") && !fleet.stdout.contains('\u{1b}'),
        "{}",
        fleet.stdout
    );
    assert!(fleet.stdout.contains("<- stops here") && fleet.stdout.contains("code: why/work-not-applied"));
    let slip = run(&["why", "helowrld", "--facts", dump]);
    assert_eq!(slip.code, Some(2));
    assert!(
        slip.stderr.contains("did you mean \"helloworld\"?"),
        "{}",
        slip.stderr
    );
    let nowhere = run(&["why", "helloworld", "--cluster", "cluster9", "--facts", dump]);
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.stdout);
}

/// The works of a cluster, and the origin of their values.
fn the_works_are_printed(dump: &str, change: &str) {
    let asked = ["render", "helloworld", dump, "--cluster", "cluster1"];
    let printed = run(&asked);
    assert_eq!(printed.code, Some(0), "{}{}", printed.stdout, printed.stderr);
    for part in [
        "# helloworld on cluster1\n# configurations:\n",
        "#   GREETING = \"hello\": AddOnDeploymentConfig open-cluster-management/helloworld (",
        "#   CLUSTER_NAME = \"cluster1\": built-in, cannot be overridden\n",
        "\n---\n",
        "kind: ManifestWork\n",
    ] {
        assert!(printed.stdout.contains(part), "{part}: {}", printed.stdout);
    }
    let works: Vec<Value> = serde_saphyr::from_multiple(&printed.stdout).expect("YAML");
    let all = json(&run(&[&asked[..], &["-o", "json"]].concat()));
    assert_eq!(
        all["works"],
        Value::Array(works),
        "both forms have the same works"
    );
    let empty = tempfile::NamedTempFile::with_suffix(".yaml").expect("a file");
    let nothing = run(&[
        "plan",
        dump,
        "--change",
        &empty.path().to_string_lossy(),
        "--exit-code",
    ]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.stdout);
    assert!(
        nothing.stderr.contains("the files contain no object"),
        "{}",
        nothing.stderr
    );
    let changed = run(&[&asked[..], &["--change", change]].concat());
    assert!(
        changed.stdout.contains("GREETING = \"changed by a test\"")
            && changed.stdout.contains("value: changed by a test"),
        "{}{}",
        changed.stdout,
        changed.stderr
    );
    for (addon, cluster, meant) in [
        ("helowrld", "cluster1", "did you mean \"helloworld\"?"),
        ("helloworld", "clutser1", "did you mean \"cluster1\"?"),
    ] {
        let slip = run(&["render", addon, dump, "--cluster", cluster]);
        assert_eq!(slip.code, Some(2), "{}", slip.stdout);
        assert!(slip.stderr.contains(meant), "{}", slip.stderr);
    }
}

/// What the change is on clusters: the configuration that they are given, and the field of their works.
fn the_difference_is_reported(dump: &str, change: &str) {
    let told = run(&["plan", dump, "--change", change, "--diff"]);
    let field = "env[GREETING].value";
    assert!(
        told.ok && told.stdout.contains(field) && told.stdout.contains("4 works"),
        "{}{}",
        told.stdout,
        told.stderr
    );
    let changes = json(&run(&["plan", dump, "--change", change, "--diff", "-o", "json"]))["changes"].clone();
    let given = &changes[0]["configs"][0];
    assert_eq!(given["clusters"].as_array().map(Vec::len), Some(4), "{changes:#}");
    assert_ne!(given["old"], given["new"], "{changes:#}");
    let works = changes[0]["works"].as_array().expect("works");
    assert!(
        works.len() == 4 && works.iter().all(|work| work["fate"] == "written"),
        "{changes:#}"
    );
    let comment = run(&["plan", dump, "--change", change, "-o", "markdown"]);
    for part in [
        "**helloworld**: 0 installed, 4 updated",
        "| 1 | at once | update | 4: cluster1",
        "<details><summary>2 changes on clusters",
        "GREETING",
    ] {
        assert!(comment.stdout.contains(part), "{part}: {}", comment.stdout);
    }
    let quiet = run(&["plan", dump, "-o", "markdown"]);
    assert!(
        quiet.stdout.contains("nothing would change; 4 clusters") && !quiet.stdout.contains("<details>"),
        "{}",
        quiet.stdout
    );
}

fn plan_names_what_it_cannot_read(dump: &str, broken: &str) {
    let text = std::fs::read_to_string(dump).expect("a dump");
    let mut whole: Value = serde_json::from_str(&text).expect("JSON");
    for object in whole["objects"].as_array_mut().expect("objects") {
        if object["kind"] == "AddOnTemplate" {
            object["spec"] = 5.into();
        }
    }
    std::fs::write(broken, whole.to_string()).expect("writable");
    let planned = run(&["plan", broken]);
    let named = "AddOnTemplate helloworld cannot be read and is ignored: ";
    assert!(planned.ok && planned.stderr.contains(named), "{}", planned.stderr);
}

fn plan_tells_the_waves_of_a_change(dump: &str, change: &str) {
    let quiet = run(&["plan", dump, "-o", "json"]);
    assert!(quiet.ok, "{}", quiet.stderr);
    let taken = run(&["plan", dump, "--take-over", "-o", "json"]);
    assert_eq!(
        json(&taken)["worksWritten"],
        0,
        "{}{}",
        taken.stdout,
        taken.stderr
    );
    std::fs::write(change, CHANGE).expect("writable");
    let moved = run(&["plan", dump, "--change", change, "-o", "json"]);
    assert!(moved.ok, "{}{}", moved.stdout, moved.stderr);
    let forecast = json(&moved);
    let addon = &forecast["addons"][0];
    assert_eq!(addon["addon"], "helloworld", "{forecast:#}");
    let mut all: Vec<&str> = addon["waves"]
        .as_array()
        .expect("waves")
        .iter()
        .flat_map(|wave| wave["moved"].as_array().expect("clusters"))
        .filter_map(Value::as_str)
        .collect();
    all.sort_unstable();
    assert_eq!(
        all,
        ["cluster1", "cluster2", "cluster3", "cluster4"],
        "{forecast:#}"
    );
    assert_eq!(addon["cut"], false);
    the_difference_is_reported(dump, change);
    the_works_are_printed(dump, change);
    let wrong = "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: AddOnHubConfig\nmetadata: {name: a}\nspec: {desiredVersion: one two}\n";
    std::fs::write(change, wrong).expect("writable");
    let refused = run(&["plan", dump, "--change", change]);
    assert_eq!(
        refused.code,
        Some(1),
        "what the gate refuses changes nothing: {}",
        refused.stdout
    );
    std::fs::write(change, "just a text\n").expect("writable");
    assert_eq!(run(&["plan", change]).code, Some(2), "a text is no dump");
    let warned = "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: AddOnHubConfig\nmetadata: {name: a}\nspec: {desiredVersion: v99}\n---\napiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ManagedClusterAddOn\nmetadata: {name: helloworld, namespace: cluster1}\nspec: {configs: [{group: addon.open-cluster-management.io, resource: addondeploymentconfigs, namespace: default, name: nowhere}]}\n";
    std::fs::write(change, warned).expect("writable");
    let allowed = run(&["plan", dump, "--change", change, "-o", "json"]);
    assert!(
        allowed.ok && json(&allowed)["addons"].is_array(),
        "{}",
        allowed.stderr
    );
    assert!(allowed.stderr.contains("config/not-found"), "{}", allowed.stderr);
    let commented = run(&["plan", dump, "--change", change, "-o", "markdown"]);
    assert!(
        commented.stdout.contains("### Findings of the webhook")
            && commented.stdout.contains("config/not-found"),
        "{}",
        commented.stdout
    );
    let usage = run(&["plan"]);
    assert!(usage.stderr.contains("--live"), "{}", usage.stderr);
}

fn check_knows_what_the_hub_has(dev: &Dev, dump: &str, file: &str) {
    let manifest = "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ManagedClusterAddOn\nmetadata: {name: helowrld, namespace: cluster1}\nspec: {}\n";
    std::fs::write(file, manifest).expect("writable");
    let severity = |args: &[&str]| {
        let run = at(dev, &[&["check", file, "-o", "json"], args].concat());
        let report = json(&run);
        let first = &report["findings"][0];
        format!(
            "{} {}",
            first["severity"].as_str().unwrap_or("-"),
            first["hint"].as_str().unwrap_or("-")
        )
    };
    let known = "error did you mean \"helloworld\"?";
    assert!(severity(&[]).starts_with("unknown "), "{}", severity(&[]));
    for args in [&["--facts", dump][..], &["--live"], &["--base", "live"]] {
        let told = severity(args);
        assert!(
            told == known || told == known.replace("error", "warning"),
            "{args:?}: {told}"
        );
    }
    let before = dev
        .kubectl(&["get", "mca", "helloworld", "-n", "cluster1", "-o", "yaml"])
        .stdout;
    std::fs::write(file, before).expect("writable");
    let same = at(dev, &["check", file, "--base", "live", "--live"]);
    assert_eq!(
        same.code,
        Some(0),
        "what is there already is no news: {}{}",
        same.stdout,
        same.stderr
    );
}
