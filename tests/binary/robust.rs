//! Edits of all kinds and temporary failures: the add-ons always reach the desired state, and everyday `kubectl` commands work.
//!
//! `admission` tests verdicts.

use serde_json::{Value, json};

use crate::rig::{Dev, MCA_V1ALPHA1, message_of, on_cluster, repository, state_of};

const ADDON: &str = "helloworld";
const NAMESPACE: &str = "open-cluster-management";
const CONFIG: &str = "manifests/examples/05-addon-deployment-config.yaml";
/// The path of the greeting in the demo's template.
const GREETING: &str = "/spec/agentSpec/workload/manifests/2/spec/template/spec/containers/0/env/1/value";

#[test]
fn every_way_of_editing_works() {
    let dev = Dev::start(&["--clusters", "1"]);
    dev.until_says(ADDON, "cluster1", "False", "InstallSucceed");
    let of = ["mca/helloworld", "-n", "cluster1"];
    let on = |words: &[&str]| dev.succeed(&[&words[..1], &of, &words[1..]].concat());

    on(&["label", "team=fruit"]);
    on(&["annotate", "note=ripe"]);
    on(&[
        "patch",
        "--type=merge",
        "-p",
        r#"{"metadata":{"labels":{"stage":"one"}}}"#,
    ]);
    on(&[
        "patch",
        "--type=json",
        "-p",
        r#"[{"op":"replace","path":"/metadata/labels/stage","value":"two"}]"#,
    ]);
    on(&["label", "team-"]);
    let edited = dev.read(&of);
    assert_eq!(edited["metadata"]["labels"], json!({"stage": "two"}));
    assert_eq!(edited["metadata"]["annotations"]["note"], "ripe");
    assert_eq!(edited["metadata"]["generation"], 1, "the spec did not change");

    let strategic = dev.kubectl(&[&["patch"], &of[..], &["-p", "{}"]].concat());
    let said = "application/strategic-merge-patch+json is not supported by";
    assert!(
        !strategic.ok && strategic.stderr.contains(said),
        "{}",
        strategic.stderr
    );

    let of = [MCA_V1ALPHA1, "helloworld", "-n", "cluster1"];
    let mut moved = dev.read(&of);
    moved["spec"]["installNamespace"] = json!("elsewhere");
    let replace = |object: &Value| dev.kubectl_with(&["replace", "-f", "-"], &object.to_string());
    let replaced = replace(&moved);
    assert!(replaced.ok, "{}", replaced.stderr);
    let stale = replace(&moved);
    let said = "the object has been modified; please apply your changes to the latest version";
    assert!(!stale.ok && stale.stderr.contains(said), "{}", stale.stderr);
    let now = dev.read(&of);
    assert_eq!(
        (&now["spec"]["installNamespace"], &now["metadata"]["generation"]),
        (&json!("elsewhere"), &json!(2))
    );
}

#[test]
fn a_built_in_kind_merges_strategically() {
    let dev = Dev::start(&["--clusters", "1", "--no-demo"]);
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}, "secrets": [{"name": "a"}]});
    let made = dev.apply(&account.to_string());
    assert!(made.ok, "{}", made.stderr);
    dev.succeed(&[
        "patch",
        "serviceaccount",
        "robot",
        "-p",
        r#"{"secrets":[{"name":"b"}]}"#,
    ]);
    let names = |account: &Value| -> Vec<Value> {
        let secrets = account["secrets"].as_array().expect("a list");
        secrets.iter().map(|secret| secret["name"].clone()).collect()
    };
    let mut merged = names(&dev.read(&["serviceaccount", "robot"]));
    merged.sort_by_key(Value::to_string);
    assert_eq!(merged, ["a", "b"], "lists are merged by name");

    let plain = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"}, "data": {"a": "1", "b": "2"}});
    let made = dev.apply(&plain.to_string());
    assert!(made.ok, "{}", made.stderr);
    dev.succeed(&[
        "patch",
        "configmap",
        "plain",
        "-p",
        r#"{"data":{"a":null,"c":"3"}}"#,
    ]);
    assert_eq!(
        dev.read(&["configmap", "plain"])["data"],
        json!({"b": "2", "c": "3"})
    );
}

/// Commands that read, in words, and what their output says, parted by bars.
const READINGS: [(&str, &str); 13] = [
    ("get mca -A -o wide", "NAMESPACE|DESIRED|CURRENT|cluster2|v1.0.0"),
    (
        "get mca,cma,manifestworks -A",
        "managedclusteraddon|addon-helloworld-deploy-0|Hello, world",
    ),
    (
        "get mca -A --field-selector metadata.namespace=cluster2 -o name",
        "helloworld",
    ),
    (
        "get managedclusters -l environment=dev -L environment",
        "ENVIRONMENT|cluster1",
    ),
    (
        "get mca -n cluster1 -w --output-watch-events --request-timeout=5s",
        "EVENT|ADDED|helloworld",
    ),
    ("explain mca.spec.configs", "FIELDS:|resource|-required-"),
    (
        "explain cma.spec.installStrategy --recursive",
        "placements|rolloutStrategy|minSuccessTime",
    ),
    ("explain configmap.data", "FIELD: data|map[string]string"),
    (
        "describe mca helloworld -n cluster1",
        "v1alpha1-install-namespace: open-cluster-management-agent-addon|InstallSucceed|Spec Hash:",
    ),
    (
        "describe cma helloworld",
        "Install Strategy:|all-clusters|Install Progressions:",
    ),
    (
        "describe managedcluster cluster1",
        "environment=|ManagedClusterJoined",
    ),
    (
        "wait mca --all -n cluster1 --for=condition=Ready --timeout=60s",
        "condition met",
    ),
    (
        "wait mca/helloworld -n cluster2 --timeout=60s \
         --for=jsonpath={.status.conditions[?(@.type=='Progressing')].reason}=InstallSucceed",
        "condition met",
    ),
];

#[test]
fn everyday_reading_works() {
    let dev = Dev::start(&["--clusters", "2"]);
    for cluster in ["cluster1", "cluster2"] {
        dev.succeed(&[
            "wait",
            "mca/helloworld",
            "-n",
            cluster,
            "--for=condition=Ready",
            "--timeout=60s",
        ]);
    }
    let run = |command: &str| dev.kubectl(&command.split_whitespace().collect::<Vec<_>>());
    for (command, said) in READINGS {
        let read = run(command);
        assert!(read.ok, "{command}: {}", read.stderr);
        for words in said.split('|') {
            assert!(
                read.stdout.contains(words),
                "{command} does not say {words:?}:\n{}",
                read.stdout
            );
        }
    }
    let never = run("wait mca/helloworld -n cluster1 --for=condition=Ripe --timeout=4s");
    assert!(
        !never.ok && never.stderr.contains("timed out"),
        "{}",
        never.stderr
    );
    let unknown = run("get bananas");
    let said = "the server doesn't have a resource type \"bananas\"";
    assert!(!unknown.ok && unknown.stderr.contains(said), "{}", unknown.stderr);
    // For an unknown kind kubectl reads the discovery documents again and must be able to parse them.
    assert!(run("get cma helloworld").ok, "known kinds are still known");
}

#[test]
fn a_deleted_instance_comes_back_whatever_the_cascade() {
    let dev = Dev::start(&["--clusters", "1"]);
    let mut before = dev.until_says(ADDON, "cluster1", "False", "InstallSucceed");
    for cascade in ["background", "foreground", "orphan"] {
        let how = format!("--cascade={cascade}");
        // kubectl does not wait: between its look and its watch the new instance may have come, and it would wait for that to go.
        dev.succeed(&["delete", "mca", ADDON, "-n", "cluster1", &how, "--wait=false"]);
        let uid = before["metadata"]["uid"].clone();
        let list = dev.until(
            &format!("a new instance after {cascade}"),
            &["mca", "-A"],
            |list| {
                on_cluster(list, ADDON, "cluster1")
                    .is_some_and(|now| now["metadata"]["uid"] != uid && state_of(now, "Ready").0 == "True")
            },
        );
        before = on_cluster(&list, ADDON, "cluster1").expect("just seen").clone();
        let works = dev.until(
            "one work, of the new instance",
            &["manifestworks", "-n", "cluster1"],
            |list| list["items"].as_array().is_some_and(|items| items.len() == 1),
        );
        let owner = &works["items"][0]["metadata"]["ownerReferences"][0]["uid"];
        assert_eq!(*owner, before["metadata"]["uid"], "{cascade}");
    }
}

#[test]
fn a_template_edit_moves_its_own_add_on_only() {
    let dev = Dev::start(&["--clusters", "2"]);
    let second = second_addon();
    let made = dev.kubectl_with(&["apply", "-f", "-"], &second);
    assert!(made.ok, "{}", made.stderr);
    for cluster in ["cluster1", "cluster2"] {
        dev.until_says(ADDON, cluster, "False", "InstallSucceed");
        dev.until_says("second", cluster, "False", "InstallSucceed");
    }
    let before = dev.read(&["mca", ADDON, "-n", "cluster1"]);

    set_greeting(&dev, "second", "Good evening, {{CLUSTER_NAME}}");
    for cluster in ["cluster1", "cluster2"] {
        dev.until_says("second", cluster, "False", "UpgradeSucceed");
        let work = dev.read(&["manifestwork", "addon-second-deploy-0", "-n", cluster]);
        let said = format!("Good evening, {cluster}");
        assert!(work.to_string().contains(&said), "{cluster}: {work}");
    }
    let after = dev.read(&["mca", ADDON, "-n", "cluster1"]);
    assert_eq!(
        after["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );
    assert_eq!(state_of(&after, "Progressing").1, "InstallSucceed");
}

#[test]
fn a_placement_takes_the_add_on_away_and_brings_it_back() {
    let dev = Dev::start(&["--clusters", "3"]);
    for cluster in ["cluster1", "cluster2", "cluster3"] {
        dev.until_says(ADDON, cluster, "False", "InstallSucceed");
    }
    let clusters = dev.read(&["managedclusters", "-l", "environment=stage"]);
    assert_eq!(clusters["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(clusters["items"][0]["metadata"]["name"], "cluster2");
    let kept = dev.read(&["mca", ADDON, "-n", "cluster2"])["metadata"]["uid"].clone();

    let narrow = r#"{"spec":{"predicates":[{"requiredClusterSelector":{"labelSelector":{"matchLabels":{"environment":"stage"}}}}]}}"#;
    dev.succeed(&[
        "patch",
        "placement",
        "all-clusters",
        "-n",
        NAMESPACE,
        "--type=merge",
        "-p",
        narrow,
    ]);
    for kind in ["mca", "manifestworks"] {
        dev.until(&format!("{kind} on cluster2 only"), &[kind, "-A"], |list| {
            list["items"]
                .as_array()
                .is_some_and(|items| items.len() == 1 && items[0]["metadata"]["namespace"] == "cluster2")
        });
    }

    // A cluster that changes its label is selected as well.
    dev.succeed(&[
        "label",
        "managedcluster",
        "cluster3",
        "environment=stage",
        "--overwrite",
    ]);
    dev.until_says(ADDON, "cluster3", "False", "InstallSucceed");

    let widen = r#"[{"op":"remove","path":"/spec/predicates"}]"#;
    dev.succeed(&[
        "patch",
        "placement",
        "all-clusters",
        "-n",
        NAMESPACE,
        "--type=json",
        "-p",
        widen,
    ]);
    dev.until_says(ADDON, "cluster1", "False", "InstallSucceed");
    let untouched = dev.read(&["mca", ADDON, "-n", "cluster2"]);
    assert_eq!(untouched["metadata"]["uid"], kept, "cluster2 never lost it");
}

#[test]
fn a_cluster_that_leaves_takes_its_add_on_with_it() {
    let dev = Dev::start(&["--clusters", "2"]);
    for cluster in ["cluster1", "cluster2"] {
        dev.until_says(ADDON, cluster, "False", "InstallSucceed");
    }
    dev.succeed(&["delete", "managedcluster", "cluster2", "--timeout=60s"]);
    for kind in ["mca", "manifestworks"] {
        dev.until(&format!("no {kind} on cluster2"), &[kind, "-A"], |list| {
            list["items"]
                .as_array()
                .is_some_and(|items| items.len() == 1 && items[0]["metadata"]["namespace"] == "cluster1")
        });
    }
    set_greeting(&dev, ADDON, "still here");
    dev.until_says(ADDON, "cluster1", "False", "UpgradeSucceed");
}

#[test]
fn a_missing_configuration_is_named_and_waited_for() {
    let dev = Dev::start(&["--clusters", "2", "--no-demo"]);
    let missing =
        "addondeploymentconfigs.addon.open-cluster-management.io/open-cluster-management/helloworld";
    for entry in std::fs::read_dir(repository("manifests/examples"))
        .expect("examples")
        .flatten()
    {
        let file = entry.path();
        if file.is_file() && !file.ends_with("05-addon-deployment-config.yaml") {
            // In the order of the folder or not: what is missing now comes later.
            dev.until_run("stored", &["apply", "-f", &file.to_string_lossy()], "", |run| {
                run.ok
            });
        }
    }
    let says_so = || {
        let list = dev.until("the configuration is missed", &["mca", "-A"], |list| {
            ["cluster1", "cluster2"].into_iter().all(|cluster| {
                on_cluster(list, ADDON, cluster)
                    .is_some_and(|addon| state_of(addon, "Configured").1 == "ConfigurationNotFound")
            })
        });
        let addon = on_cluster(&list, ADDON, "cluster1").expect("just seen");
        let said = message_of(addon, "Configured");
        assert!(
            said.contains(missing) && said.contains("does not exist"),
            "{said}"
        );
        // The whole sentence stands once, in `Configured`; nothing is in progress.
        for kind in ["Progressing", "Ready"] {
            assert_eq!(
                state_of(addon, kind),
                ("False".into(), "ConfigurationNotFound".into())
            );
            let said = message_of(addon, kind);
            assert!(said.ends_with("see the condition Configured"), "{kind}: {said}");
        }
    };
    says_so();
    let none = dev.read(&["manifestworks", "-A"]);
    assert_eq!(
        none["items"].as_array().map(Vec::len),
        Some(0),
        "nothing is sent half-configured"
    );

    let file = repository(CONFIG).to_string_lossy().into_owned();
    dev.succeed(&["apply", "-f", &file]);
    for cluster in ["cluster1", "cluster2"] {
        let addon = dev.until_says(ADDON, cluster, "False", "InstallSucceed");
        assert_eq!(state_of(&addon, "Configured").0, "True");
    }

    // Deleted later, the clusters keep what they run.
    dev.succeed(&["delete", "-f", &file]);
    says_so();
    let works = dev.read(&["manifestworks", "-A"]);
    assert_eq!(
        works["items"].as_array().map(Vec::len),
        Some(2),
        "nothing is taken away"
    );
    dev.succeed(&["apply", "-f", &file]);
    dev.until_says(ADDON, "cluster1", "False", "UpgradeSucceed");
}

#[test]
fn a_template_that_cannot_be_filled_in_is_a_condition_and_not_a_crash() {
    let dev = Dev::start(&["--clusters", "2"]);
    for cluster in ["cluster1", "cluster2"] {
        dev.until_says(ADDON, cluster, "False", "InstallSucceed");
    }
    let work = ["manifestwork", "addon-helloworld-deploy-0", "-n", "cluster1"];
    let running = dev.read(&work)["spec"].clone();
    for (text, said) in [
        ("{{UNDEFINED}}", "unknown variable \"UNDEFINED\""),
        ("{{GREETING", "unclosed braces in \"{{GREETING\""),
    ] {
        set_greeting(&dev, ADDON, text);
        let failed = dev.until(said, &["mca", ADDON, "-n", "cluster2"], |addon| {
            message_of(addon, "Progressing").contains(said)
        });
        assert_eq!(
            state_of(&failed, "Progressing"),
            ("False".into(), "UpgradeFailed".into())
        );
        assert_eq!(
            state_of(&failed, "Ready"),
            ("False".into(), "RenderingFailed".into())
        );
        assert_eq!(
            state_of(&failed, "Available").0,
            "True",
            "what runs goes on running"
        );
        assert_eq!(
            dev.read(&work)["spec"],
            running,
            "the clusters keep what they have"
        );
    }
    set_greeting(&dev, ADDON, "{{GREETING}}, again");
    for cluster in ["cluster1", "cluster2"] {
        dev.until_says(ADDON, cluster, "False", "UpgradeSucceed");
    }
    assert!(
        dev.read(&work).to_string().contains("hello, again"),
        "the variable has its value"
    );
}

/// Returns a second add-on with a template of its own, by renaming everything of the demo's.
fn second_addon() -> String {
    let read = |file: &str| {
        let text = std::fs::read_to_string(repository("manifests/examples").join(file)).expect("an example");
        text.replace(ADDON, "second")
    };
    [
        read("04-addon-template.yaml"),
        read("05-addon-deployment-config.yaml"),
        read("06-cluster-management-addon.yaml"),
    ]
    .join("\n---\n")
}

fn set_greeting(dev: &Dev, template: &str, text: &str) {
    let patch = json!([{"op": "replace", "path": GREETING, "value": text}]).to_string();
    // The gate refuses such a template; what was stored before it, or past it, must not crash anything either.
    let past = [
        "--as=user",
        "--as-group=tidegate:break-glass",
        "--as-group=system:masters",
    ];
    let patched = ["patch", "addontemplate", template, "--type=json", "-p", &patch];
    dev.succeed(&[&patched[..], &past[..]].concat());
}
