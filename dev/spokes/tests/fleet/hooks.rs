//! Pre-delete hooks: jobs and pods that take a moment, fail or hang on request.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    fixtures::{apply_work, condition, fleet, pass, work},
    hub::TestHub,
};

fn hook(kind: &str, api_version: &str, resource: &str, group: &str) -> Value {
    let failed = r#".status.conditions[?(@.type=="Failed")]"#;
    let paths = json!([
        {"name": "JobFailed", "path": format!("{failed}.status")},
        {"name": "JobFailedMessage", "path": format!("{failed}.message")},
    ]);
    json!({
        "workload": {"manifests": [{
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"namespace": "agents", "name": "bye",
                "annotations": {"addon.open-cluster-management.io/addon-pre-delete": ""}},
            "spec": {},
        }]},
        "manifestConfigs": [{
            "resourceIdentifier": {"group": group, "resource": resource, "namespace": "agents", "name": "bye"},
            "feedbackRules": [{"type": "WellKnownStatus"}, {"type": "JSONPaths", "jsonPaths": paths}],
        }],
    })
}

fn job() -> Value {
    hook("Job", "batch/v1", "jobs", "batch")
}

fn pod() -> Value {
    let mut pod = hook("Pod", "v1", "pods", "");
    pod["manifestConfigs"][0]["feedbackRules"] = json!([{"type": "WellKnownStatus"}]);
    pod["workload"]["manifests"][0]["spec"] = json!({"restartPolicy": "Never"});
    pod
}

/// Feedback as `name=value`.
fn feedback(hub: &TestHub) -> Vec<String> {
    let work = work(hub, "cluster1");
    let values = work
        .pointer("/status/resourceStatus/manifests/0/statusFeedback/values")
        .and_then(Value::as_array);
    let line = |value: &Value| {
        let field = &value["fieldValue"];
        let text = field["string"]
            .as_str()
            .map_or_else(|| field["integer"].to_string(), str::to_owned);
        format!("{}={text}", value["name"].as_str().unwrap_or_default())
    };
    values.into_iter().flatten().map(line).collect()
}

#[tokio::test(start_paused = true)]
async fn a_hook_runs_for_a_moment_and_ends_well() {
    for (spec, running, ended) in [
        (job(), vec![], vec!["JobComplete=True", "JobSucceeded=1"]),
        (
            pod(),
            vec!["PodReady=True", "PodPhase=Running"],
            vec!["PodReady=False", "PodPhase=Succeeded"],
        ),
    ] {
        let hub = TestHub::new();
        let _fleet = fleet(&hub, 1, &[]).await;
        apply_work(&hub, "cluster1", spec);
        hub.until("it is applied", |hub| {
            condition(&work(hub, "cluster1"), "Available").starts_with("True")
        })
        .await;
        assert_eq!(feedback(&hub), running);
        pass(Duration::from_secs(2)).await;
        assert_eq!(feedback(&hub), ended);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_is_to_fail_says_why_until_it_heals() {
    let hub = TestHub::new();
    let _fleet = fleet(&hub, 1, &["cluster1=hook-failure,for=1m:no permission"]).await;
    apply_work(&hub, "cluster1", job());
    pass(Duration::from_secs(5)).await;
    assert_eq!(
        feedback(&hub),
        ["JobFailed=True", "JobFailedMessage=no permission"]
    );
    assert_eq!(
        condition(&work(&hub, "cluster1"), "Available"),
        "True: All resources are available",
        "a job that has failed is there all the same"
    );
    pass(Duration::from_mins(1)).await;
    assert_eq!(feedback(&hub), ["JobComplete=True", "JobSucceeded=1"]);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_hangs_never_ends() {
    let hub = TestHub::new();
    let fleet = fleet(&hub, 1, &["cluster1=hook-hang"]).await;
    apply_work(&hub, "cluster1", pod());
    pass(Duration::from_hours(1)).await;
    assert_eq!(feedback(&hub), ["PodReady=True", "PodPhase=Running"]);
    fleet.clear_faults("cluster1").expect("a running fleet");
    hub.until("it ends", |hub| {
        feedback(hub).contains(&"PodPhase=Succeeded".to_owned())
    })
    .await;
}
