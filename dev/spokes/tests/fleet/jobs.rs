//! Jobs of works: what acts before and after an upgrade, and what approves the upgrades of operators.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    fixtures::{apply_work, condition, fleet, is_observed, pass, text, work},
    hub::TestHub,
    upgrades::{feedback, openshift},
};

/// What is asked of every job here: the counts of its pods.
fn counts(namespace: &str, name: &str, rules: &Value) -> Value {
    let path = |name: &str| json!({"name": name, "path": format!(".status.{name}")});
    json!([{
        "resourceIdentifier": {"group": "batch", "resource": "jobs", "namespace": namespace, "name": name},
        "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [path("succeeded"), path("active"), path("failed")]}],
        "conditionRules": rules,
    }])
}

/// The rules by which a job can be judged: `Complete` comes with success and failure alike.
fn rules() -> Value {
    json!([
        {"type": "WellKnownConditions", "condition": "Complete"},
        {"type": "CEL", "condition": "Degraded", "message": "the job has failed", "celExpressions": [
            "hasConditions(object.status) ? object.status.conditions.exists(c, c.type == 'Failed' && c.status == 'True') : false",
        ]},
    ])
}

fn job(name: &str) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": "backup", "name": name},
        "spec": {"template": {"spec": {"containers": [{"name": "run", "image": "backup"}], "restartPolicy": "Never"}}},
    })
}

fn settings() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "backup", "name": "settings"}})
}

/// A pre action: a job, and what it needs.
fn action(with_rules: bool) -> Value {
    let rules = if with_rules { rules() } else { json!([]) };
    json!({
        "workload": {"manifests": [job("backup"), settings()]},
        "manifestConfigs": counts("backup", "backup", &rules),
    })
}

/// A work that the replica set of a pre action has made.
fn apply_action(hub: &TestHub, spec: Value) {
    apply_work(hub, "cluster1", spec);
    hub.edit("manifestworks", "cluster1", "w", |object| {
        object["metadata"]["labels"] =
            json!({"work.open-cluster-management.io/manifestworkreplicaset": "default.mcu-pre-upgrade"});
    });
}

/// A condition of the first manifest, as `True: message`.
fn of_job(hub: &TestHub, kind: &str) -> String {
    let manifest = work(hub, "cluster1")
        .pointer("/status/resourceStatus/manifests/0")
        .cloned()
        .unwrap_or_default();
    condition(&json!({"status": manifest}), kind)
}

fn of_work(hub: &TestHub, kind: &str) -> String {
    condition(&work(hub, "cluster1"), kind)
}

/// Finding 7: `Available` says that the objects exist; whether the job is done is reported only with a feedback rule.
#[tokio::test(start_paused = true)]
async fn available_comes_long_before_the_job_is_done() {
    let hub = TestHub::new();
    let _fleet = openshift(&hub, 1, &["cluster1=pre-fail:no space left"]).await;
    apply_action(&hub, action(false));
    hub.until("it is observed", |hub| is_observed(&work(hub, "cluster1")))
        .await;
    assert_eq!(of_work(&hub, "Available"), "True: All resources are available");
    assert_eq!(feedback(&work(&hub, "cluster1"), 0), ["active=1"]);
    pass(Duration::from_mins(1)).await;
    assert_eq!(of_work(&hub, "Available"), "True: All resources are available");
    assert_eq!(feedback(&work(&hub, "cluster1"), 0), ["failed=1"]);
    assert_eq!(
        (of_work(&hub, "Degraded"), of_job(&hub, "Degraded")),
        (String::new(), String::new())
    );
}

/// The other half of finding 7: with two manifests that carry the rule, the work is degraded only if both are.
#[tokio::test(start_paused = true)]
async fn a_failed_job_degrades_its_manifest_and_not_the_work() {
    let hub = TestHub::new();
    let _fleet = openshift(&hub, 1, &["cluster1=pre-fail,manifest=backup:no space left"]).await;
    let mut both = action(true);
    both["workload"]["manifests"][1] = job("check");
    both["manifestConfigs"][0]["resourceIdentifier"]["name"] = json!("*");
    apply_action(&hub, both);
    pass(Duration::from_mins(1)).await;
    assert_eq!(of_job(&hub, "Degraded"), "True: the job has failed");
    assert_eq!(
        of_work(&hub, "Degraded"),
        "False: Aggregated from 2 manifest conditions"
    );
    assert_eq!(
        of_work(&hub, "Complete"),
        "True: Aggregated from 2 manifest conditions"
    );
}

/// Finding 8: a job that has failed is complete as well.
#[tokio::test(start_paused = true)]
async fn complete_says_nothing_about_success() {
    for (fault, degraded, counts) in [
        ("cluster1=post-fail", "False: the job has failed", "succeeded=1"),
        ("cluster1=pre-fail", "True: the job has failed", "failed=1"),
    ] {
        let hub = TestHub::new();
        let _fleet = openshift(&hub, 1, &[fault]).await;
        apply_action(&hub, action(true));
        hub.until("it runs", |hub| {
            of_job(hub, "Complete") == "False: Job is not finished"
        })
        .await;
        pass(Duration::from_secs(5)).await;
        assert_eq!(of_job(&hub, "Complete"), "True: Job is finished", "{fault}");
        assert_eq!(of_job(&hub, "Degraded"), degraded, "{fault}");
        assert_eq!(feedback(&work(&hub, "cluster1"), 0), [counts], "{fault}");
    }
}

/// Finding 10: `failed` counts pods. A job that tries again is no failure.
#[tokio::test(start_paused = true)]
async fn a_pod_that_fails_once_fails_no_job() {
    let hub = TestHub::new();
    let _fleet = openshift(&hub, 1, &["cluster1=pre-retry"]).await;
    apply_action(&hub, action(true));
    hub.until("the first pod has failed", |hub| {
        feedback(&work(hub, "cluster1"), 0) == ["active=1", "failed=1"]
    })
    .await;
    assert_eq!(of_job(&hub, "Degraded"), "False: the job has failed");
    assert_eq!(of_job(&hub, "Complete"), "False: Job is not finished");
    hub.until("the second ends well", |hub| {
        feedback(&work(hub, "cluster1"), 0) == ["failed=1", "succeeded=1"]
    })
    .await;
    assert_eq!(of_job(&hub, "Degraded"), "False: the job has failed");
}

#[tokio::test(start_paused = true)]
async fn a_job_is_slow_hangs_or_heals() {
    let hub = TestHub::new();
    let fleet = openshift(&hub, 1, &["cluster1=pre-slow:10m"]).await;
    apply_action(&hub, action(true));
    pass(Duration::from_mins(9)).await;
    assert_eq!(feedback(&work(&hub, "cluster1"), 0), ["active=1"]);
    pass(Duration::from_mins(2)).await;
    assert_eq!(feedback(&work(&hub, "cluster1"), 0), ["succeeded=1"]);
    fleet.shutdown().await;

    let hub = TestHub::new();
    let fleet = openshift(&hub, 1, &["cluster1=pre-hang"]).await;
    let mut limited = action(true);
    limited["workload"]["manifests"][0]["spec"]["activeDeadlineSeconds"] = json!(120);
    apply_action(&hub, limited);
    pass(Duration::from_secs(100)).await;
    assert_eq!(feedback(&work(&hub, "cluster1"), 0), ["active=1"]);
    pass(Duration::from_secs(30)).await;
    assert_eq!(
        feedback(&work(&hub, "cluster1"), 0),
        ["failed=1"],
        "it has a deadline"
    );
    fleet.shutdown().await;

    let hub = TestHub::new();
    let _fleet = openshift(&hub, 1, &["cluster1=pre-fail,for=1m"]).await;
    apply_action(&hub, action(true));
    pass(Duration::from_secs(30)).await;
    assert_eq!(of_job(&hub, "Degraded"), "True: the job has failed");
    pass(Duration::from_mins(1)).await;
    assert_eq!(of_job(&hub, "Degraded"), "False: the job has failed");
    assert_eq!(feedback(&work(&hub, "cluster1"), 0), ["succeeded=1"]);
}

/// A manifest that is complete is left alone; one that is not cannot have other pods.
#[tokio::test(start_paused = true)]
async fn what_is_complete_is_frozen() {
    for (with_rules, applied) in [
        (true, "True: Apply manifest work complete"),
        (false, "False: Failed to apply manifest work"),
    ] {
        let hub = TestHub::new();
        let fleet = openshift(&hub, 1, &[]).await;
        apply_action(&hub, action(with_rules));
        pass(Duration::from_secs(10)).await;
        let mut changed = action(with_rules);
        changed["workload"]["manifests"][0]["spec"]["template"]["spec"]["restartPolicy"] = json!("OnFailure");
        apply_work(&hub, "cluster1", changed);
        hub.until("it is observed", |hub| is_observed(&work(hub, "cluster1")))
            .await;
        assert_eq!(of_work(&hub, "Applied"), applied);
        let mut jobs = fleet
            .objects("cluster1")
            .into_iter()
            .filter(|key| key.resource == "jobs");
        let key = jobs.next().expect("the job");
        let object = fleet.object("cluster1", &key).unwrap_or_default();
        assert_eq!(text(&object, "/spec/template/spec/restartPolicy"), "Never");
    }
}

/// Rules that are no longer there leave nothing behind.
#[tokio::test(start_paused = true)]
async fn a_rule_that_goes_takes_its_condition_with_it() {
    let hub = TestHub::new();
    let _fleet = openshift(&hub, 1, &[]).await;
    apply_action(&hub, action(true));
    pass(Duration::from_secs(10)).await;
    assert_eq!(of_work(&hub, "Complete"), "True: Job is finished");
    apply_work(&hub, "cluster1", action(false));
    hub.edit("manifestworks", "cluster1", "w", |object| {
        object["spec"]["manifestConfigs"][0]["conditionRules"] = json!([]);
    });
    hub.until("it is deleted", |hub| of_work(hub, "Complete").is_empty())
        .await;
    assert_eq!(of_job(&hub, "Complete"), "");
}

fn approver(account: Option<&str>) -> Value {
    let name = json!({"namespace": "installplan-approver", "name": "installplan-approver"});
    let rbac = "rbac.authorization.k8s.io/v1";
    let subjects = json!([{"kind": "ServiceAccount", "name": "installplan-approver", "namespace": "installplan-approver"}]);
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "installplan-approver"});
    let mut pod = json!({
        "containers": [{"name": "approver", "image": "cli", "env": [{"name": "WAITTIME", "value": "600"}]}],
        "restartPolicy": "OnFailure",
    });
    if let Some(account) = account {
        pod["serviceAccountName"] = json!(account);
    }
    json!({
        "deleteOption": {"propagationPolicy": "Foreground"},
        "workload": {"manifests": [
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": name,
                "spec": {"activeDeadlineSeconds": 690, "template": {"spec": pod}}},
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "installplan-approver"}},
            {"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": "installplan-approver"}, "rules": [
                {"apiGroups": ["operators.coreos.com"], "resources": ["installplans", "subscriptions"], "verbs": ["get", "list", "patch"]},
            ]},
            {"apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": {"name": "installplan-approver"}, "subjects": subjects, "roleRef": role},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": name},
        ]},
        "manifestConfigs": counts("installplan-approver", "installplan-approver", &json!([])),
    })
}

/// Finding 3: the job of the enhancement runs as the account `default` of its namespace, which may do nothing.
#[tokio::test(start_paused = true)]
async fn an_approver_without_its_account_is_forbidden() {
    for (account, counts) in [
        (None, vec!["failed=1"]),
        (Some("installplan-approver"), vec!["succeeded=1"]),
        (Some("missing"), vec![]),
    ] {
        let hub = TestHub::new();
        let fleet = openshift(&hub, 1, &[]).await;
        apply_work(&hub, "cluster1", approver(account));
        hub.until("it is observed", |hub| is_observed(&work(hub, "cluster1")))
            .await;
        let running: &[&str] = if account == Some("missing") {
            &[]
        } else {
            &["active=1"]
        };
        assert_eq!(feedback(&work(&hub, "cluster1"), 0), running, "{account:?}");
        pass(Duration::from_millis(2100)).await;
        assert_eq!(feedback(&work(&hub, "cluster1"), 0), counts, "{account:?}");
        if account.is_none() {
            let mut jobs = fleet
                .objects("cluster1")
                .into_iter()
                .filter(|key| key.resource == "jobs");
            let object = fleet
                .object("cluster1", &jobs.next().expect("the job"))
                .unwrap_or_default();
            assert_eq!(
                condition(&object, "Failed"),
                "True: subscriptions.operators.coreos.com is forbidden: User \"system:serviceaccount:installplan-approver:default\" \
                 cannot list resource \"subscriptions\" in API group \"operators.coreos.com\" at the cluster scope"
            );
        }
    }
}

/// The deadline keeps its relation to the time that the script waits: 690 of 600 seconds.
#[tokio::test(start_paused = true)]
async fn an_approver_fails_is_slow_or_hangs() {
    for (fault, at, counts) in [
        ("cluster1=operators-fail:no install plan", 2100, "failed=1"),
        ("cluster1=operators-slow:2200ms", 2250, "succeeded=1"),
        ("cluster1=operators-slow:1m", 2350, "failed=1"),
        ("cluster1=operators-hang", 2350, "failed=1"),
    ] {
        let hub = TestHub::new();
        let _fleet = openshift(&hub, 1, &[fault]).await;
        apply_work(&hub, "cluster1", approver(Some("installplan-approver")));
        hub.until("it is observed", |hub| is_observed(&work(hub, "cluster1")))
            .await;
        pass(Duration::from_millis(1900)).await;
        assert_eq!(feedback(&work(&hub, "cluster1"), 0), ["active=1"], "{fault}");
        pass(Duration::from_millis(at - 1900)).await;
        assert_eq!(feedback(&work(&hub, "cluster1"), 0), [counts], "{fault}");
    }
}

/// On any other cluster a job ends at once, unless it is to go wrong.
#[tokio::test(start_paused = true)]
async fn jobs_elsewhere_end_at_once_unless_they_are_to_go_wrong() {
    for (fault, counts) in [
        ("cluster2=job-fail", vec!["succeeded=1"]),
        ("cluster1=job-fail", vec!["failed=1"]),
        ("cluster1=pre-hang", vec!["active=1"]),
    ] {
        let hub = TestHub::new();
        let _fleet = fleet(&hub, 2, &[fault]).await;
        apply_action(&hub, action(false));
        pass(Duration::from_secs(1)).await;
        assert_eq!(feedback(&work(&hub, "cluster1"), 0), counts, "{fault}");
    }
}

/// A pod that is not started again is an action like a job.
#[tokio::test(start_paused = true)]
async fn a_pod_that_ends_takes_its_time_and_fails_like_a_job() {
    for (fault, phase) in [
        ("cluster1=post-fail", "Succeeded"),
        ("cluster1=pre-fail", "Failed"),
    ] {
        let hub = TestHub::new();
        let _fleet = openshift(&hub, 1, &[fault]).await;
        let mut pod = action(false);
        pod["workload"]["manifests"][0] = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"namespace": "backup", "name": "backup"},
            "spec": {"restartPolicy": "Never", "containers": []},
        });
        pod["manifestConfigs"] = json!([{
            "resourceIdentifier": {"group": "", "resource": "pods", "namespace": "backup", "name": "backup"},
            "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "phase", "path": ".status.phase"}]}],
        }]);
        apply_action(&hub, pod);
        hub.until("it is observed", |hub| is_observed(&work(hub, "cluster1")))
            .await;
        assert_eq!(feedback(&work(&hub, "cluster1"), 0), ["phase=Running"], "{fault}");
        pass(Duration::from_secs(5)).await;
        assert_eq!(
            feedback(&work(&hub, "cluster1"), 0),
            [format!("phase={phase}")],
            "{fault}"
        );
    }
}

/// The time of a fault counts from the first job that it concerns, not from any work.
#[tokio::test(start_paused = true)]
async fn a_fault_of_jobs_waits_for_its_job() {
    let hub = TestHub::new();
    let _fleet = openshift(&hub, 1, &["cluster1=pre-fail,for=1m"]).await;
    apply_work(&hub, "cluster1", json!({"workload": {"manifests": [settings()]}}));
    pass(Duration::from_mins(5)).await;
    hub.delete("manifestworks", "cluster1", "w");
    hub.until("the work is deleted", |hub| work(hub, "cluster1").is_null())
        .await;
    apply_action(&hub, action(true));
    pass(Duration::from_secs(30)).await;
    assert_eq!(of_job(&hub, "Degraded"), "True: the job has failed");
    pass(Duration::from_mins(1)).await;
    assert_eq!(of_job(&hub, "Degraded"), "False: the job has failed");
}
