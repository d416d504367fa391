//! `tidegate rollout` and `tidegate top` as users see them: a change is rolled out, paused, promoted and undone; keys in a real terminal.
//!
//! `terminal` has the screen of the TUI.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::{Dev, Run, kubectl, run, tidegate};
use crate::terminal::Terminal;

/// How long a page may take until it shows something.
const SHOWN_WITHIN: Duration = Duration::from_mins(1);
const ENTER: &str = "\r";
const ESCAPE: &str = "\x1b";
const CONTROL_C: &str = "\x03";
const ADDON: &str = "clustermanagementaddons.v1alpha1.addon.open-cluster-management.io";
const CONFIG: [&str; 4] = [
    "addondeploymentconfig",
    "helloworld",
    "-n",
    "open-cluster-management",
];

fn at(dev: &Dev, args: &[&str]) -> Run {
    run(&[args, &["--kubeconfig", &dev.kubeconfig.to_string_lossy()]].concat())
}

fn parsed(run: &Run) -> Value {
    let parsed = serde_json::from_str(&run.stdout);
    assert!(parsed.is_ok(), "{}{}", run.stdout, run.stderr);
    parsed.expect("just seen")
}

/// What lets changes travel so many clusters at a time, each of which has to soak.
fn waves(at_once: usize, soak: &str) -> String {
    let strategy = json!([{"op": "replace", "path": "/spec/installStrategy/placements/0/rolloutStrategy",
        "value": {"type": "Progressive", "progressive": {"maxConcurrency": at_once, "minSuccessTime": soak}}}]);
    strategy.to_string()
}

fn greeting(text: &str) -> String {
    json!({"spec": {"customizedVariables": [{"name": "GREETING", "value": text}]}}).to_string()
}

fn change(dev: &Dev, strategy: &str, config: &str) {
    dev.succeed(&["patch", "cma", "helloworld", "--type=json", "-p", strategy]);
    dev.succeed(&[&["patch"], &CONFIG[..], &["--type=merge", "-p", config]].concat());
}

/// Waits until the picture of the rollout is as it should be.
fn until(dev: &Dev, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let picture = parsed(&at(dev, &["rollout", "status", "helloworld", "-o", "json"]));
        if holds(&picture) {
            return picture;
        }
        assert!(begun.elapsed() < SHOWN_WITHIN, "{what}: {picture:#}");
        sleep(Duration::from_millis(100));
    }
}

/// The pause of the rollout of all placements.
fn pause(dev: &Dev) -> Value {
    dev.read(&["addonrollout", "helloworld"])["spec"]["pause"].clone()
}

fn set_pause(dev: &Dev, pause: &Value, more: &[&str]) {
    let patch = json!({"spec": {"pause": pause}}).to_string();
    let args = [
        "patch",
        "addonrollout",
        "helloworld",
        "--type=merge",
        "-p",
        &patch,
    ];
    dev.succeed(&[&args[..], more].concat());
}

fn refused(run: &Run, why: &str) {
    assert_eq!(run.code, Some(2), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains(why), "{}", run.stderr);
}

#[test]
fn a_change_is_watched_paused_promoted_and_waited_for() {
    let dev = Dev::start(&["--clusters", "7"]);
    until(&dev, "it is installed", |picture| picture["phase"] == "Done");
    let listed = at(&dev, &["rollout", "list"]);
    assert!(
        listed.ok && listed.stdout.contains("helloworld  Done"),
        "{}",
        listed.stdout
    );

    change(&dev, &waves(3, "10m"), &greeting("ahoy"));
    let picture = until(&dev, "three soak", |picture| picture["counts"]["soaking"] == 3);
    let schema = parsed(&run(&["reference", "output"]));
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let faults = validator.iter_errors(&picture).map(|error| error.to_string());
    assert_eq!(faults.collect::<Vec<_>>(), [] as [&str; 0]);
    assert_eq!(picture["waves"][0]["batches"], json!({"current": 1, "total": 3}));
    let page = at(&dev, &["rollout", "status", "helloworld"]);
    assert_eq!(page.code, Some(3), "it is not over: {}", page.stdout);
    assert!(page.stdout.contains("wave 1/3"), "{}", page.stdout);
    assert!(!page.stdout.contains('\u{1b}'), "no colours where no terminal is");

    steers_by_pauses(&dev);
    let late = at(
        &dev,
        &["rollout", "status", "helloworld", "--watch", "--timeout", "1s"],
    );
    assert_eq!(late.code, Some(3), "{}{}", late.stdout, late.stderr);
    for done in [3, 6] {
        // Times on the hub have whole seconds: who succeeds in the same one is promoted, too.
        sleep(Duration::from_millis(1100));
        let promoted = at(&dev, &["rollout", "promote", "helloworld"]);
        assert!(promoted.ok, "{}", promoted.stderr);
        until(&dev, "the next ones go", |picture| {
            picture["counts"]["done"] == done && picture["counts"]["soaking"] != 0
        });
    }
    let last = at(
        &dev,
        &["rollout", "promote", "helloworld", "--placement", "all-clusters"],
    );
    assert!(last.ok, "{}", last.stderr);
    let over = at(
        &dev,
        &["rollout", "status", "helloworld", "--watch", "--timeout", "60s"],
    );
    assert_eq!(over.code, Some(0), "{}{}", over.stdout, over.stderr);
    assert!(
        over.stdout.ends_with("helloworld: done on 7 clusters\n"),
        "{}",
        over.stdout
    );
    refused(
        &at(&dev, &["rollout", "promote", "helloworld"]),
        "no cluster is in its soak time",
    );
}

fn steers_by_pauses(dev: &Dev) {
    let dry = at(dev, &["rollout", "pause", "helloworld", "--dry-run"]);
    assert!(
        dry.ok && dry.stdout.contains("would set"),
        "{}{}",
        dry.stdout,
        dry.stderr
    );
    assert_eq!(pause(dev), Value::Null);
    let paused = at(dev, &["rollout", "pause", "helloworld", "--reason", "lunch"]);
    assert!(paused.ok, "{}", paused.stderr);
    assert_eq!(pause(dev), json!({"reason": "lunch"}));
    until(dev, "it is paused", |picture| picture["phase"] == "Paused");
    let watched = at(dev, &["rollout", "status", "helloworld", "--watch"]);
    assert_eq!(watched.code, Some(3), "{}{}", watched.stdout, watched.stderr);
    assert_eq!(at(dev, &["why", "helloworld"]).code, Some(1));
    refused(&at(dev, &["rollout", "pause", "helloworld"]), "paused already");
    let resumed = at(dev, &["rollout", "resume", "helloworld"]);
    assert!(resumed.ok, "{}", resumed.stderr);
    assert_eq!(pause(dev), Value::Null);
}

#[test]
fn what_a_program_owns_is_left_to_it_and_a_reference_is_put_back() {
    let dev = Dev::start(&["--clusters", "2"]);
    until(&dev, "it is installed", |picture| picture["phase"] == "Done");
    let lunch = json!({"reason": "lunch"});
    set_pause(&dev, &lunch, &["--field-manager=argocd-controller"]);
    refused(
        &at(&dev, &["rollout", "resume", "helloworld"]),
        "argocd-controller owns",
    );
    assert!(at(&dev, &["rollout", "resume", "helloworld", "--force"]).ok);
    refused(&at(&dev, &["rollout", "undo", "helloworld"]), "nothing differs");

    has_another_configuration(&dev);
    renames(&dev, "replace", DEFAULT, &json!("other"));
    let picture = until(&dev, "the other one travels", |picture| {
        picture["counts"]["soaking"] == 2 && picture["changes"] != json!([])
    });
    let change = &picture["changes"][0];
    assert_eq!(change["from"]["object"], "open-cluster-management/helloworld");
    assert_eq!(change["to"]["object"], "open-cluster-management/other");
    let back = at(&dev, &["rollout", "undo", "helloworld", "--reason", "too loud"]);
    assert!(back.ok, "{}", back.stderr);
    assert!(
        back.stdout
            .contains("default of addondeploymentconfigs.addon.open-cluster-management.io="),
        "{}",
        back.stdout
    );
    let read = dev.read(&[ADDON, "helloworld"]);
    assert_eq!(
        read["spec"]["supportedConfigs"][1]["defaultConfig"]["name"],
        "helloworld"
    );
    let forged = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "forged", "namespace": "cluster1"},
        "involvedObject": {"kind": "ManagedClusterAddOn", "name": "helloworld", "namespace": "cluster1"},
        "reason": "Forged", "message": "by the agent", "type": "Normal", "eventTime": "2099-01-01T00:00:00.000000Z",
        "reportingComponent": "tidegate.io/controllers", "reportingInstance": "x", "action": "Rollout",
    });
    assert!(dev.apply(&forged.to_string()).ok);
    let history = at(&dev, &["rollout", "history", "helloworld"]);
    assert!(
        history.stdout.contains("undo by admin: too loud"),
        "{}",
        history.stdout
    );
    let (before, after) = history
        .stdout
        .split_once("events in namespaces of clusters")
        .unwrap_or((&history.stdout, ""));
    assert!(
        !before.contains("Forged") && after.contains("Forged"),
        "an agent wrote it: {}",
        history.stdout
    );
}

/// Where the add-on names its default configuration.
const DEFAULT: &str = "/spec/supportedConfigs/1/defaultConfig/name";

/// Makes a configuration `other`, and lets changes travel so that they can be put back while clusters soak.
fn has_another_configuration(dev: &Dev) {
    let mut other = dev.read(&CONFIG);
    other["metadata"] = json!({"name": "other", "namespace": "open-cluster-management"});
    other["spec"]["customizedVariables"] = json!([{"name": "GREETING", "value": "salut"}]);
    assert!(dev.apply(&other.to_string()).ok);
    let strategy = waves(3, "10m");
    dev.succeed(&["patch", "cma", "helloworld", "--type=json", "-p", &strategy]);
}

/// Names another configuration in a field of the add-on, and waits until it travels.
fn renames(dev: &Dev, op: &str, field: &str, value: &Value) {
    let patch = json!([{"op": op, "path": field, "value": value}]).to_string();
    dev.succeed(&["patch", ADDON, "helloworld", "--type=json", "-p", &patch]);
    until(dev, "the other one travels", |picture| {
        picture["changes"][0]["to"]["object"] == "open-cluster-management/other"
    });
}

#[test]
fn a_second_undo_keeps_what_the_first_one_has_written() {
    let dev = Dev::start(&["--clusters", "2"]);
    until(&dev, "it is installed", |picture| picture["phase"] == "Done");
    has_another_configuration(&dev);
    let undo = ["rollout", "undo", "helloworld"];

    renames(&dev, "replace", DEFAULT, &json!("other"));
    let first = at(&dev, &undo);
    assert!(first.ok, "{}", first.stderr);
    until(&dev, "it is back", |picture| picture["changes"] == json!([]));

    let named = json!([{"group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs",
        "namespace": "open-cluster-management", "name": "other"}]);
    renames(&dev, "add", "/spec/installStrategy/placements/0/configs", &named);
    let second = at(&dev, &undo);
    assert!(second.ok, "{}", second.stderr);
    assert!(
        second.stdout.contains("placements[0].configs[0]"),
        "{}",
        second.stdout
    );
    let spec = &dev.read(&[ADDON, "helloworld"])["spec"];
    let placement = &spec["installStrategy"]["placements"][0];
    assert_eq!(placement["configs"][0]["name"], "helloworld", "{spec}");
    assert_eq!(
        spec["supportedConfigs"][1]["defaultConfig"]["name"], "helloworld",
        "{spec}"
    );
}

#[test]
fn a_revision_is_listed_with_its_author_and_restored() {
    let dev = Dev::start(&["--clusters", "2"]);
    until(&dev, "it is installed", |picture| picture["phase"] == "Done");
    let history = || parsed(&at(&dev, &["rollout", "history", "helloworld", "-o", "json"]));
    let begun = Instant::now();
    while !history()["revisions"][1]["revision"].is_i64() {
        assert!(
            begun.elapsed() < SHOWN_WITHIN,
            "both contents are kept: {:#}",
            history()
        );
        sleep(Duration::from_millis(100));
    }
    let louder = json!({"metadata": {"annotations": {"kubernetes.io/change-cause": "louder"}},
        "spec": {"customizedVariables": [{"name": "GREETING", "value": "ahoy"}]}});
    dev.succeed(
        &[
            &["patch"],
            &CONFIG[..],
            &["--type=merge", "-p", &louder.to_string()],
        ]
        .concat(),
    );
    until(&dev, "it has travelled", |picture| {
        picture["phase"] == "Done" && picture["changes"] == json!([])
    });
    let begun = Instant::now();
    let last = loop {
        let seen = history()["revisions"][0].clone();
        if seen["changes"][0]["new"] == "ahoy" && seen["revision"].is_i64() {
            break seen;
        }
        assert!(begun.elapsed() < SHOWN_WITHIN, "{seen:#}");
        sleep(Duration::from_millis(100));
    };
    assert_eq!(last["author"], "kubectl-patch", "{last:#}");
    assert_eq!(last["cause"], "louder", "{last:#}");
    let first = history()["revisions"].as_array().and_then(|all| {
        let of_config = all.iter().filter(|one| one["object"] == last["object"]);
        of_config.filter_map(|one| one["revision"].as_i64()).min()
    });
    let first = first.expect("a first revision").to_string();
    refused(
        &at(&dev, &["rollout", "undo", "helloworld", "--to-revision", "99"]),
        "it has no revision 99",
    );
    let back = at(&dev, &["rollout", "undo", "helloworld", "--to-revision", &first]);
    assert!(back.ok, "{}", back.stderr);
    let told = "    spec.customizedVariables[GREETING].value: \"ahoy\" -> \"hello\"\n  overwrites fields of kubectl-patch";
    assert!(back.stdout.contains(told), "{}", back.stdout);
    let config = dev.read(&CONFIG);
    assert_eq!(
        config["spec"]["customizedVariables"][0]["value"], "hello",
        "{config:#}"
    );
    assert_eq!(
        config["metadata"]["annotations"].get("kubernetes.io/change-cause"),
        None
    );
    let restored = history()["revisions"].as_array().and_then(|all| {
        let is_first = |one: &&Value| one["revision"].as_u64() == first.parse().ok();
        all.iter().find(is_first).cloned()
    });
    assert_eq!(
        restored.expect("the first revision")["restored"]["by"],
        "tidegate-rollout-undo"
    );
    // A second one owns no more of the add-on than the first: other field managers can still change and remove their fields.
    dev.succeed(
        &[
            &["patch"],
            &CONFIG[..],
            &["--type=merge", "-p", &louder.to_string()],
        ]
        .concat(),
    );
    let begun = Instant::now();
    let owned = loop {
        let again = at(&dev, &["rollout", "undo", "helloworld", "--to-revision", &first]);
        if again.ok {
            let addon = dev.read(&[ADDON, "helloworld", "--show-managed-fields"]);
            let fields = addon["metadata"]["managedFields"].as_array().cloned();
            break fields
                .into_iter()
                .flatten()
                .find(|one| one["manager"] == "tidegate-rollout-undo");
        }
        assert!(begun.elapsed() < SHOWN_WITHIN, "{}", again.stderr);
        sleep(Duration::from_millis(100));
    };
    assert_eq!(owned.expect("it has undone")["fieldsV1"], json!({"f:spec": {}}));
}

/// Writes a kubeconfig with which requests are those of another user.
fn acting_as(dev: &Dev, user: &str) -> PathBuf {
    let text = std::fs::read_to_string(&dev.kubeconfig).expect("the kubeconfig");
    let mut config: Value = serde_saphyr::from_str(&text).expect("YAML");
    let identity = config.pointer_mut("/users/0/user").expect("a user");
    identity["as"] = json!(user);
    identity["as-groups"] = json!(["system:masters"]);
    let path = dev.kubeconfig.with_file_name(user);
    std::fs::write(&path, config.to_string()).expect("it can be written");
    path
}

#[test]
fn the_users_of_a_pause_and_of_a_freeze_are_shown() {
    let dev = Dev::start(&["--clusters", "2"]);
    until(&dev, "it is installed", |picture| picture["phase"] == "Done");
    let (alice, bob) = (acting_as(&dev, "alice"), acting_as(&dev, "bob"));
    let of_alice = alice.to_string_lossy();
    let paused = run(&[
        "rollout",
        "pause",
        "helloworld",
        "--reason",
        "INC-42",
        "--kubeconfig",
        &of_alice,
    ]);
    assert!(paused.ok, "{}", paused.stderr);
    let picture = until(&dev, "it is paused", |picture| {
        picture["pauses"][0]["user"] == "alice"
    });
    assert_eq!(
        picture["pauses"][0]["manager"], "tidegate-rollout-pause",
        "{picture}"
    );
    let status = at(&dev, &["rollout", "status", "helloworld"]);
    let told = "all placements are paused (INC-42), set by alice (tidegate-rollout-pause) at ";
    assert!(status.stdout.contains(told), "{}", status.stdout);

    // A pause in Git, and its end there.
    let git = |spec: Value| {
        let manifest = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnRollout",
            "metadata": {"name": "helloworld"}, "spec": spec});
        let manifest = manifest.to_string();
        let apply = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--field-manager=git",
            "-f",
            "-",
        ];
        let applied = kubectl(&bob, &apply, &manifest);
        assert!(applied.ok, "{}", applied.stderr);
    };
    assert!(at(&dev, &["rollout", "resume", "helloworld"]).ok);
    git(json!({"addon": "helloworld", "pause": {"reason": "release day"}}));
    let picture = until(&dev, "it is paused again", |picture| {
        picture["pauses"][0]["user"] == "bob"
    });
    assert_eq!(picture["pauses"][0]["manager"], "git", "{picture}");
    git(json!({"addon": "helloworld"}));
    until(&dev, "it is resumed", |picture| picture["pauses"] == json!([]));
    let settings = dev.read(&["addonrollout", "helloworld"]);
    assert_eq!(
        settings["metadata"]["annotations"]["tidegate.io/set-by"],
        Value::Null,
        "{settings}"
    );

    let of_bob = bob.to_string_lossy();
    let frozen = run(&[
        "rollout",
        "freeze",
        "holidays",
        "--reason",
        "year end",
        "--kubeconfig",
        &of_bob,
    ]);
    assert!(frozen.ok, "{}", frozen.stderr);
    dev.succeed(
        &[
            &["patch"],
            &CONFIG[..],
            &["--type=merge", "-p", &greeting("ahoy")],
        ]
        .concat(),
    );
    let told = ": year end, set by bob (tidegate-rollout-freeze) at ";
    let begun = Instant::now();
    loop {
        let why = at(&dev, &["why", "helloworld"]);
        if why.stdout.contains(told) {
            break;
        }
        assert!(begun.elapsed() < SHOWN_WITHIN, "{}{}", why.stdout, why.stderr);
        sleep(Duration::from_millis(200));
    }
}

#[test]
fn lists_clusters_and_forecasts_follow_the_conventions_of_kubectl() {
    let dev = Dev::start(&["--clusters", "2"]);
    until(&dev, "it is installed", |picture| picture["phase"] == "Done");
    let kubeconfig = dev.kubeconfig.to_string_lossy().into_owned();
    let before = run(&["--kubeconfig", &kubeconfig, "rollout", "list", "-o", "name"]);
    assert_eq!(before.stdout, "helloworld\n", "{}", before.stderr);
    let none = at(&dev, &["rollout", "list", "-l", "team=edge"]);
    assert_eq!(none.stdout, "no rollouts match\n");
    assert!(at(&dev, &["rollout", "pause", "helloworld", "--reason", "INC-42"]).ok);
    let wide = at(&dev, &["rollout", "list", "-o", "wide"]);
    let told = "all placements are paused (INC-42), set by admin (tidegate-rollout-pause) at ";
    assert!(wide.stdout.contains(told), "{}", wide.stdout);
    assert!(
        wide.stdout
            .lines()
            .next()
            .is_some_and(|title| title.ends_with("MESSAGE")),
        "{}",
        wide.stdout
    );
    let yaml = at(&dev, &["rollout", "status", "helloworld", "-o", "yaml"]);
    assert!(yaml.stdout.contains("\nkind: Rollout\n"), "{}", yaml.stdout);
    assert!(at(&dev, &["rollout", "resume", "helloworld"]).ok);

    let cluster = at(&dev, &["why", "--cluster", "cluster1", "-o", "json"]);
    assert_eq!(parsed(&cluster)["items"][0]["state"], "Done");
    assert_eq!(at(&dev, &["why", "--cluster", "cluster9"]).code, Some(2));

    let mut config = dev.read(&CONFIG);
    config["metadata"] = json!({"name": "helloworld", "namespace": "open-cluster-management"});
    config["spec"]["customizedVariables"] = json!([{"name": "GREETING", "value": "ahoy"}]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("change.json");
    std::fs::write(&file, config.to_string()).expect("writable");
    let file = file.to_string_lossy();
    for (flags, code) in [
        (&["--max-moved", "100%"][..], 0),
        (&["--max-moved", "10%"], 1),
        (&["--max-moved", "1"], 1),
        (&["--exit-code"], 1),
    ] {
        let ran = at(&dev, &[&["plan", "--live", "--change", &file], flags].concat());
        assert_eq!(ran.code, Some(code), "{flags:?}: {}{}", ran.stdout, ran.stderr);
    }
    let fault = tidegate()
        .args(["dev", "fault", "cluster1", "offline"])
        .env("KUBECONFIG", &dev.kubeconfig)
        .current_dir(folder.path())
        .output();
    assert!(fault.expect("the binary starts").status.success());
}

#[test]
fn a_watch_whose_hub_is_lost_ends_with_the_cause() {
    let dev = Dev::start(&["--clusters", "2"]);
    until(&dev, "it is installed", |picture| picture["phase"] == "Done");
    change(&dev, &waves(1, "10m"), &greeting("ahoy"));
    until(&dev, "one soaks", |picture| picture["counts"]["soaking"] == 1);
    let mut watch = tidegate();
    watch.args(["rollout", "status", "helloworld", "--watch", "--timeout", "20s"]);
    let watch = watch.arg("--kubeconfig").arg(&dev.kubeconfig);
    let watch = watch
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let child = watch.spawn().expect("the binary starts");
    sleep(Duration::from_secs(5));
    drop(dev);
    let ended = Run::from(child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(2), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("1 soaking"), "{}", ended.stdout);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(
        lines.len(),
        2,
        "one when it is lost, one at the end: {}",
        ended.stderr
    );
    assert!(ended.stderr.contains("does not respond"), "{}", ended.stderr);
}

fn fits(page: &str, width: usize) {
    let widest = page.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(width), "{page}");
}

#[test]
fn keys_go_from_rollouts_to_a_cluster_and_steer_after_a_question() {
    let fault = "cluster2=apply-failure:disk quota exceeded";
    let dev = Dev::start(&["--clusters", "5", "--fault", fault]);
    until(&dev, "one has failed", |picture| picture["counts"]["failed"] == 1);
    let mut top = tidegate();
    top.arg("top").arg("--kubeconfig").arg(&dev.kubeconfig);
    let terminal = Terminal::open((90, 24), &top);
    terminal.shows("ROLLOUT");
    terminal.shows("1 failed");
    terminal.press(ENTER);
    let page = terminal.shows("CLUSTER");
    let mut rest = page.lines().skip_while(|line| !line.starts_with("CLUSTER"));
    let first = rest.nth(1).expect("a cluster");
    assert!(first.starts_with("cluster2"), "trouble first: {page}");
    fits(&page, 90);
    terminal.press(ENTER);
    terminal.shows("cause:");
    terminal.press(ESCAPE);
    // Both pages have that column; and a key that follows at once would be one with Alt held.
    terminal.until("the rollout again", |page| {
        !page.contains("cause:") && page.contains("CLUSTER")
    });

    terminal.press("p");
    terminal.shows("reason (optional)");
    terminal.press(ENTER);
    terminal.shows("y confirms");
    terminal.press("n");
    terminal.shows("nothing was written");
    assert_eq!(pause(&dev), Value::Null);
    terminal.press("p");
    terminal.shows("reason (optional)");
    terminal.press("INC-42 holiday");
    terminal.shows("INC-42 holiday_");
    terminal.press(ENTER);
    terminal.shows("y confirms");
    terminal.press("y");
    // The prompt asks whether to pause it: only the response shows what was written.
    terminal.shows("helloworld: paused; set ");
    assert_eq!(pause(&dev), json!({"reason": "INC-42 holiday"}));
    terminal.shows("all placements are paused");
    // An error that is wider than the terminal is shown whole.
    terminal.press("t");
    terminal.shows("reason (optional)");
    terminal.press(ENTER);
    let page = terminal.until("the end of the error", |page| {
        let text: Vec<&str> = page.split_whitespace().collect();
        text.join(" ")
            .contains("fix the cause, which `tidegate why` shows")
    });
    fits(&page, 90);
    // What others do is seen.
    set_pause(&dev, &Value::Null, &[]);
    terminal.until("it is not paused", |page| {
        !page.contains("all placements are paused")
    });

    terminal.resize((50, 12));
    // A key that comes with the new size would be lost.
    terminal.until("the page is narrow", |page| {
        page.contains("(ClustersStalled): 4 of 5\n")
    });
    terminal.press(ESCAPE);
    fits(&terminal.shows("ROLLOUT"), 50);
    terminal.press("q");
    terminal.until("the page goes", |page| !page.contains("ROLLOUT"));
}

/// The words of a page, without punctuation around them.
fn words(page: &str) -> impl Iterator<Item = &str> {
    page.split_whitespace()
        .map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()))
}

/// What does not fit is left out in whole words: those of a page on which everything fits.
fn has_whole_words(page: &str, size: (u16, u16), known: &BTreeSet<String>) {
    fits(page, usize::from(size.0));
    for line in page.lines() {
        let line = line.trim_end_matches(['│', ' ']);
        let last = line.strip_suffix('…').filter(|before| !before.ends_with(' '));
        let last = last.and_then(|before| words(before).last());
        let is_whole = last.is_none_or(|word| word.is_empty() || known.contains(word));
        assert!(is_whole, "{size:?}: {line:?} in\n{page}");
    }
}

#[test]
fn no_page_cuts_a_word_and_freezes_have_a_page() {
    let fault = "cluster2=apply-failure:the disk quota of the namespace of this agent was exceeded, and it was not raised since";
    let pull = "cluster3=unavailable:ImagePullBackOff";
    let dev = Dev::start(&["--clusters", "5", "--fault", fault, "--fault", pull]);
    until(&dev, "one has failed", |picture| picture["counts"]["failed"] == 1);
    until(
        &dev,
        "the cause on an updating cluster is that of why",
        |picture| {
            let cluster = &picture["clusters"][2];
            let message = cluster["message"].as_str().unwrap_or_default();
            cluster["state"] == "Moving" && message.ends_with("is not ready: ImagePullBackOff")
        },
    );
    let status = at(&dev, &["rollout", "status", "helloworld"]);
    assert!(
        status.stdout.contains("is not ready: ImagePullBackOff"),
        "{}",
        status.stdout
    );
    let reason = "the change board has stopped all changes of this add-on until the audit of the fourth quarter has ended";
    let frozen = at(
        &dev,
        &[
            "rollout",
            "freeze",
            "fourth-quarter",
            "--addon",
            "other",
            "--reason",
            reason,
        ],
    );
    assert!(frozen.ok, "{}", frozen.stderr);
    let mut known: BTreeSet<String> = words(fault).chain(words(reason)).map(str::to_owned).collect();
    for size in [(400, 60), (80, 24), (120, 40)] {
        let mut top = tidegate();
        top.arg("top").arg("--kubeconfig").arg(&dev.kubeconfig);
        let terminal = Terminal::open(size, &top);
        has_whole_words(&terminal.shows("1 failed"), size, &known);
        for (key, shown) in [
            (ENTER, "CLUSTER "),
            (ENTER, "cause:"),
            ("c", "ROLLOUT "),
            ("y", "REVISION"),
            ("?", "show or hide the keys"),
            ("x", "REVISION"),
            ("p", "reason (optional)"),
            (ENTER, "y confirms"),
            ("n", "nothing was written"),
            ("o", "fourth-quarter"),
        ] {
            terminal.press(key);
            let page = terminal.shows(shown);
            if size.0 == 400 {
                known.extend(words(&page).map(str::to_owned));
            }
            has_whole_words(&page, size, &known);
        }
        let page = terminal.shows("RolloutProfiles  none");
        assert!(page.contains("quarter has ended"), "all of the reason: {page}");
        let later = format!("later-{}", size.0);
        let frozen = at(
            &dev,
            &[
                "rollout", "freeze", &later, "--addon", "other", "--reason", "later",
            ],
        );
        assert!(frozen.ok, "{}", frozen.stderr);
        terminal.shows(&later);
        terminal.press("q");
    }
}

#[test]
fn the_last_line_of_a_dev_hub_tells_the_wave_and_who_waits() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut dev = tidegate();
    dev.args(["dev", "--clusters", "24", "--dir"]).arg(folder.path());
    let terminal = Terminal::open((120, 30), &dev);
    terminal.shows("READY");
    terminal.shows("helloworld: done on 24 clusters");
    // Equal messages of clusters are collected for a moment, and then printed once.
    let page = terminal.shows("more helloworld: install");
    assert!(page.contains("READY"), "the header stays: {page}");
    let kubeconfig = folder.path().join("kubeconfig");
    let strategy = waves(6, "10m");
    let config = greeting("ahoy");
    let patches = [
        vec!["patch", "cma", "helloworld", "--type=json", "-p", &strategy],
        [&["patch"], &CONFIG[..], &["--type=merge", "-p", &config]].concat(),
    ];
    for patch in patches {
        let ran = kubectl(&kubeconfig, &patch, "");
        assert!(ran.ok, "{}", ran.stderr);
    }
    terminal.shows("helloworld: wave 1/4 · 0 of 24 done · 6 soaking · 18 waiting (next in ");
    terminal.press(CONTROL_C);
}
