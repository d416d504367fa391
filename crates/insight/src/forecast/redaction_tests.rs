//! A dump plans what the hub plans that it was taken from, whatever is hidden in it.

use crate::offline::{Dump, Hub};
use proptest::prelude::*;
use serde_json::{Value, json};
use store::{Kind, ObjectKey, Settings};

use super::course::forecast;
use super::redaction::{hashes_asked, keep_plans};
use super::take_over::take_over;
use super::test_hub::{GROUP, asked, at_rest, now, pod, put};

fn dumped(hub: &Hub) -> (Hub, String) {
    let dump = Dump {
        taken_at: now(),
        hub: hub.clone(),
        ..Dump::default()
    };
    let mut redacted = dump.redacted();
    if let Some(copy) = redacted.redacted_hub() {
        keep_plans(hub, copy, &Settings::default(), now());
    }
    let text = redacted.render();
    (Dump::read(&text).expect("a dump").hub, text)
}

/// What plans of both are made of, but for values.
fn plans(hub: &Hub) -> (Vec<super::Forecast>, Vec<usize>) {
    let written = take_over(hub, Settings::default(), now());
    let written = written.iter().map(|one| one.changed.len());
    (forecast(hub, Settings::default(), now()), written.collect())
}

fn config_map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "calm"}, "data": data})
}

/// Ways in which a template names Secrets and has credentials in its texts; `{{KEY}}` is one that a configuration gives.
fn manifest(way: usize, key: &str) -> Value {
    let none = json!({});
    match way {
        0 => pod(
            &none,
            &json!({"volumes": [{"name": "a", "secret": {"secretName": "my-secret-1"}}]}),
        ),
        1 => pod(
            &none,
            &json!({"volumes": [{"name": "a", "projected": {"sources": [{"secret": {"name": "my-secret-1"}},
            {"serviceAccountToken": {"path": "token", "audience": "hub"}}]}}]}),
        ),
        2 => pod(
            &none,
            &json!({"volumes": [{"name": "a", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "my-secret-1"},
            "volumeAttributes": {"secretProviderClass": "class-1"}}}], "imagePullSecrets": [{"name": "pull-1"}]}),
        ),
        3 => pod(
            &json!({"env": [{"name": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "my-secret-1", "key": "token"}}}],
            "envFrom": [{"secretRef": {"name": "my-secret-1"}}]}),
            &none,
        ),
        4 => pod(
            &json!({"args": [format!("--api-key={key} -v"), "--token", key]}),
            &none,
        ),
        5 => pod(
            &json!({"env": [{"name": "DB_PASSWORD", "value": key}, {"name": "PLAIN", "value": key}]}),
            &none,
        ),
        6 => config_map(
            &json!({"opts": format!("--api-key={key} -v"), "port": key, "note": format!("it is {key}.")}),
        ),
        7 => config_map(
            &json!({"app.json": json!({"password": key, "auth": {"name": "x", "key": key}}).to_string()}),
        ),
        8 => config_map(
            &json!({"app.yaml": format!("a: 1\npassword: {key}\nblock:\n  token: |\n    {key}\n")}),
        ),
        9 => config_map(
            &json!({"url": format!("http://user:{key}@proxy:1/"), "other": format!("http://{key}@proxy")}),
        ),
        10 => {
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "calm"}, "stringData": {"a": key}})
        }
        11 => {
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa", "namespace": "calm"},
            "secrets": [{"name": "my-secret-1"}], "imagePullSecrets": [{"name": "pull-1"}]})
        }
        12 => {
            json!({"apiVersion": "monitoring.example.com/v1", "kind": "Monitor", "metadata": {"name": "m", "namespace": "calm"},
            "spec": {"basicAuth": {"password": {"name": "my-secret-1", "key": "pass"}}, "bearerTokenSecret": {"name": "t-1", "key": key}}})
        }
        13 => {
            json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "w", "annotations": {"cert-manager.io/inject-ca-from-secret": "calm/my-secret-1"}}, "webhooks": []})
        }
        _ => config_map(
            &json!({"cluster": "token={{CLUSTER_NAME}}", "namespace": "password: {{INSTALL_NAMESPACE}}", "pair": format!("secret=a{key}b")}),
        ),
    }
}

const WAYS: usize = 15;

#[derive(Clone, Debug)]
enum Since {
    Nothing,
    ConfigEdited,
    ConfigEditedAndApproved,
    WorkEdited,
    WorkEditedInItsCredential,
    NeverInstalled,
}

fn since() -> impl Strategy<Value = Since> {
    prop_oneof![
        2 => Just(Since::Nothing),
        1 => Just(Since::ConfigEdited),
        1 => Just(Since::ConfigEditedAndApproved),
        1 => Just(Since::WorkEdited),
        1 => Just(Since::WorkEditedInItsCredential),
        1 => Just(Since::NeverInstalled),
    ]
}

/// Replaces every occurrence of a text in the work of one cluster.
fn edit_work(hub: &mut Hub, old: &str, new: &str) {
    let key = ObjectKey::new(Kind::Work, "cluster2", "addon-calm-deploy-0");
    let work = hub.object(&key).expect("a work").to_string().replace(old, new);
    hub.put(serde_json::from_str(&work).expect("JSON"));
}

/// Has changes wait for an approval, and gives it to what is to come.
fn approve(hub: &mut Hub) {
    let all = json!({"namespace": "default", "name": "all", "approvalBefore": ["0"]});
    let settings = json!({"metadata": {"name": "calm"}, "spec": {"placements": [all]}});
    put(hub, "tidegate.io/v1alpha1", "AddOnRollout", &settings);
    let asked = hashes_asked(hub, &Settings::default(), now());
    let hash = asked.values().next().expect("an approval is asked for");
    let decision =
        json!({"result": "Approved", "content": &**hash, "by": "lead", "at": "2030-01-01T00:00:00Z"});
    let approval = json!({"metadata": {"name": "calm.default.all.0"},
        "spec": {"addon": "calm", "placement": "default/all", "group": "0", "decision": decision}});
    put(hub, "tidegate.io/v1alpha1", "RolloutApproval", &approval);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn a_dump_plans_what_its_hub_plans(
        ways in proptest::collection::btree_set(0..WAYS, 1..4),
        key in prop_oneof!["[0-9]{4}", "[a-z]{4}", "[A-Z][a-z]{5}[0-9]{4}", Just("cluster1".to_owned())],
        literal in any::<bool>(),
        named in prop_oneof![Just("KEY"), Just("PASSWORD")],
        since in since(),
    ) {
        let text = if literal { key.clone() } else { format!("{{{{{named}}}}}") };
        let manifests: Vec<Value> = ways.iter().enumerate().map(|(number, way)| {
            let mut one = manifest(*way, &text);
            one["metadata"]["name"] = json!(format!("m{number}"));
            one
        }).collect();
        let variables = json!([{"name": named, "value": key}, {"name": "LEVEL", "value": "info"}]);
        let asked = asked(&json!(manifests), &json!({"customizedVariables": variables}));
        let mut hub = at_rest(&asked);
        match since {
            Since::Nothing => {}
            Since::NeverInstalled => hub = asked.clone(),
            Since::ConfigEdited | Since::ConfigEditedAndApproved => {
                let variables = json!([{"name": named, "value": format!("{key}x")}, {"name": "LEVEL", "value": "info"}]);
                put(&mut hub, &format!("{GROUP}/v1beta1"), "AddOnDeploymentConfig", &json!({"metadata": {"name": "calm",
                    "namespace": "default"}, "spec": {"customizedVariables": variables}}));
                if matches!(since, Since::ConfigEditedAndApproved) {
                    approve(&mut hub);
                }
            }
            Since::WorkEdited => edit_work(&mut hub, "\"m0\"", "\"other\""),
            Since::WorkEditedInItsCredential => edit_work(&mut hub, &key, "other-1234"),
        }
        let (dump, written) = dumped(&hub);
        prop_assert_eq!(plans(&dump), plans(&hub), "{}", written);
        for (key, object) in asked.objects().iter().filter(|(key, _)| [Kind::Template, Kind::DeploymentConfig, Kind::AddOn].contains(&key.kind)) {
            let mut file = Value::clone(object);
            file["metadata"] = json!({"name": *key.name});
            if !key.namespace.is_empty() {
                file["metadata"]["namespace"] = json!(*key.namespace);
            }
            let (mut dump, mut hub) = (dump.clone(), hub.clone());
            dump.apply(file.clone());
            hub.apply(file);
            if !matches!(since, Since::ConfigEdited | Since::ConfigEditedAndApproved) {
                prop_assert_eq!(plans(&dump), plans(&hub), "{} applied again: {}", key, written);
            }
        }
        prop_assert!(ways.contains(&10) || !written.contains("redacted\",\"secretName"), "{}", written);
    }
}

#[test]
fn the_name_of_a_secret_is_in_a_dump() {
    let hub = at_rest(&asked(&json!([manifest(0, ""), manifest(13, "")]), &json!({})));
    let (_, text) = dumped(&hub);
    for name in ["calm-hub-kubeconfig", "my-secret-1"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    assert!(!text.contains("redacted"), "nothing is a credential: {text}");
}

#[test]
fn a_short_credential_is_hidden_in_the_configuration_that_a_template_puts_in_its_place() {
    let variables = json!([{"name": "KEY", "value": "4711"}]);
    let hub = at_rest(&asked(
        &json!([manifest(6, "{{KEY}}")]),
        &json!({"customizedVariables": variables}),
    ));
    let (dump, text) = dumped(&hub);
    assert!(!text.contains("4711"), "{text}");
    assert_eq!(plans(&dump), plans(&hub));
}
