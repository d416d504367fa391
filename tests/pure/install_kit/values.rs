//! Values of the chart that the other ways to install leave to kustomize.

use serde_json::{Value, json};

use super::{by_name, printed, rendered};
use crate::kit::programs::HELM;

const VALUES: &str = r#"{
    "imagePullSecrets": [{"name": "registry-login"}],
    "fullnameOverride": "edge",
    "commonLabels": {"team": "platform"},
    "commonAnnotations": {"common": "a"},
    "deploymentAnnotations": {"deployment": "b"},
    "serviceAnnotations": {"service": "c"},
    "podLabels": {"pod": "d"},
    "podAnnotations": {"pod": "e"},
    "extraEnv": [{"name": "LANGUAGE", "value": "de"}],
    "affinity": {"nodeAffinity": {}},
    "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}],
    "serviceAccount": {"annotations": {"account": "f"}},
    "monitoring": {"enabled": true, "labels": {"release": "prometheus"}, "interval": "15s"},
    "networkPolicy": {"enabled": true},
    "gate": {"extraVolumes": [{"name": "v", "emptyDir": {}}], "extraVolumeMounts": [{"name": "v", "mountPath": "/v"}]},
    "tokens": {"secretName": "mine"}
}"#;

#[test]
fn every_value_arrives_in_the_objects_that_it_is_for() {
    if HELM.is_missing() {
        return;
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), VALUES).expect("writable");
    let objects = by_name(rendered(&["--values", &file.path().to_string_lossy()]));
    for half in ["gate", "controllers", "certificates"] {
        let deployment = &objects[&format!("Deployment tidegate/edge-{half}")];
        assert_eq!(
            deployment["metadata"]["annotations"],
            json!({"common": "a", "deployment": "b"})
        );
        assert_eq!(deployment["metadata"]["labels"]["team"], "platform");
        // The selector is immutable: it must not contain values.
        let selector = json!({"app.kubernetes.io/name": "tidegate", "app.kubernetes.io/component": half});
        assert_eq!(deployment["spec"]["selector"]["matchLabels"], selector);
        let pod = &deployment["spec"]["template"];
        assert_eq!(pod["metadata"]["annotations"], json!({"common": "a", "pod": "e"}));
        assert_eq!(
            (
                &pod["metadata"]["labels"]["pod"],
                &pod["metadata"]["labels"]["team"]
            ),
            (&json!("d"), &json!("platform"))
        );
        assert_eq!(
            pod["spec"]["imagePullSecrets"],
            json!([{"name": "registry-login"}])
        );
        assert_eq!(pod["spec"]["affinity"], json!({"nodeAffinity": {}}));
        let variables = pod["spec"]["containers"][0]["env"].as_array().expect("variables");
        assert!(
            variables.contains(&json!({"name": "LANGUAGE", "value": "de"})),
            "{half}"
        );
        if half != "certificates" {
            let spread = json!([{"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": selector}}]);
            assert_eq!(pod["spec"]["topologySpreadConstraints"], spread);
        }
        let account = &objects[&format!("ServiceAccount tidegate/tidegate-{half}")];
        assert_eq!(account["metadata"]["annotations"], json!({"account": "f"}));
    }
    let pod = |half: &str| &objects[&format!("Deployment tidegate/edge-{half}")]["spec"]["template"]["spec"];
    assert_eq!(pod("gate")["volumes"], json!([{"name": "v", "emptyDir": {}}]));
    assert_eq!(
        pod("gate")["containers"][0]["volumeMounts"],
        json!([{"name": "v", "mountPath": "/v"}])
    );
    assert_eq!(pod("controllers")["volumes"][0]["secret"]["secretName"], "mine");
    let service = &objects["Service tidegate/tidegate"]["metadata"]["annotations"];
    assert_eq!(service, &json!({"common": "a", "service": "c"}));
    let monitor = &objects["ServiceMonitor tidegate/edge"];
    assert_eq!(monitor["spec"]["endpoints"][0]["interval"], "15s");
    for object in [monitor, &objects["PrometheusRule tidegate/tidegate"]] {
        assert_eq!(object["metadata"]["labels"]["release"], "prometheus");
    }
    assert!(objects.contains_key("NetworkPolicy tidegate/edge"));
    assert!(objects.contains_key("PodDisruptionBudget tidegate/edge-gate"));
}

/// The Secret is optional, so that pods start without it.
#[test]
fn the_controllers_mount_a_secret_for_tokens() {
    let objects = by_name(printed(""));
    let pod = &objects["Deployment tidegate/tidegate-controllers"]["spec"]["template"]["spec"];
    let secret = json!({"secretName": "tidegate-tokens", "optional": true, "defaultMode": 288});
    assert_eq!(pod["volumes"], json!([{"name": "tokens", "secret": secret}]));
    let mounted = json!([{"name": "tokens", "mountPath": "/etc/tidegate/tokens", "readOnly": true}]);
    assert_eq!(pod["containers"][0]["volumeMounts"], mounted);
    // A Secret of mode 0440 is readable for the group of the pod.
    assert_eq!(pod["securityContext"]["fsGroup"], 65532);
    let gate = &objects["Deployment tidegate/tidegate-gate"]["spec"]["template"]["spec"];
    assert_eq!(
        gate.get("volumes"),
        None,
        "the process with the open port has no tokens"
    );
}

#[test]
fn openshift_assigns_user_and_group() {
    for object in printed("--with openshift") {
        let Some(context) = object.pointer("/spec/template/spec/securityContext") else {
            continue;
        };
        let kept = json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
        assert_eq!(context, &kept);
    }
}

/// Every image has the version of the sources, and is pulled only where it is missing.
#[test]
fn images_have_the_version_of_the_program() {
    let version = env!("CARGO_PKG_VERSION");
    let images = |objects: Vec<Value>| {
        let containers = objects.into_iter().filter_map(|object| {
            let containers = object
                .pointer("/spec/template/spec/containers")?
                .as_array()?
                .clone();
            Some(containers)
        });
        let all: Vec<Value> = containers.flatten().collect();
        assert!(!all.is_empty());
        all
    };
    let folder = operate::kit::FILES
        .iter()
        .filter(|(path, _)| path.ends_with("deployment.yaml"));
    let folder = folder.flat_map(|(path, text)| serde_saphyr::from_multiple::<Value>(text).expect(path));
    let mut all = images(folder.collect());
    if !HELM.is_missing() {
        all.extend(images(rendered(&[])));
    }
    for container in all {
        assert_eq!(container["image"], format!("{}:{version}", super::IMAGE));
        assert_eq!(container["imagePullPolicy"], "IfNotPresent");
    }
}
