//! The audit on the dev hub: stored objects are checked, and each finding is reported once if the hub serves reports.

use std::sync::Arc;
use std::time::Duration;

use audit::Rulebook;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::kit::audited::{
    self, A_WHILE, Audited, addon, instance, objects, policy, reports, started, store,
};
use crate::kit::hubs::hub;
use crate::kit::waiting::{self, until};

const UNKNOWN: &str = "metadata.name: \"helo\": no ClusterManagementAddOn has this name; hint: did you mean \"hello\"? \
     [naming/unknown-addon]";

fn summary(report: &Value) -> String {
    let of = |word: &str| report["summary"][word].as_i64().unwrap_or(-1);
    let words = ["pass", "fail", "warn", "error", "skip"];
    words.map(|word| format!("{word} {}", of(word))).join(", ")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_is_reported_as_soon_as_reports_are_served() {
    let (hub, audited) = started().await;
    until("findings are counted without any report", || async {
        let line = "tidegate_audit_findings{rule=\"naming/unknown-addon\",severity=\"medium\"} 1";
        audited.metrics().contains(line).then_some(())
    })
    .await;
    reports(&hub, "policyreports.yaml").await;
    let report = until("a report", || audited.report("policyreports", "c1")).await;
    assert_eq!(summary(&report), "pass 0, fail 0, warn 1, error 0, skip 0");
    assert_eq!(
        report["metadata"]["labels"]["app.kubernetes.io/managed-by"],
        "tidegate"
    );
    assert_eq!(
        report["scope"],
        json!({"apiVersion": "v1", "kind": "Namespace", "name": "c1"})
    );
    let mut result = report["results"][0].clone();
    let uid = result["resources"][0]["uid"].take();
    assert!(uid.as_str().is_some_and(|uid| !uid.is_empty()));
    assert!(result["timestamp"]["seconds"].as_i64() > Some(1_700_000_000));
    result.as_object_mut().expect("a result").remove("timestamp");
    assert_eq!(
        result,
        json!({
            "source": "tidegate", "policy": "tidegate", "rule": "naming/unknown-addon", "category": "naming",
            "severity": "medium", "result": "warn", "scored": false, "message": UNKNOWN,
            "properties": {"path": "metadata.name", "action": "warn"},
            "resources": [{"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
                "name": "helo", "namespace": "c1", "uid": null}],
        })
    );
    let whole = until("a report of the hub", || {
        audited.report("clusterpolicyreports", "")
    })
    .await;
    assert_eq!(summary(&whole), "pass 1, fail 1, warn 0, error 0, skip 0");
    let result = &whole["results"][0];
    assert_eq!(
        (&result["rule"], &result["result"]),
        (&json!("template/unclosed-braces"), &json!("fail"))
    );
    assert_eq!(result["severity"], "high");

    reports(&hub, "openreports.yaml").await;
    let open = until("a report of the other kind", || audited.report("reports", "c1")).await;
    assert_eq!(
        (&open["source"], summary(&open)),
        (&json!("tidegate"), summary(&report))
    );
    assert_eq!(open["results"][0]["message"], UNKNOWN);
    audited.stop().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_follows_what_it_is_about_and_is_written_only_then() {
    let (hub, audited) = started().await;
    reports(&hub, "policyreports.yaml").await;
    let first = until("a report", || audited.report("policyreports", "c1")).await;
    until("the other report", || audited.report("clusterpolicyreports", "")).await;
    let counted = || (audited.count("tidegate_audit_judgements_total"), audited.writes());
    // A steady hub is neither judged nor written to; longer than a second, so that a second reading of the clock would show.
    let (_, written) = waiting::at_rest(Duration::from_millis(1500), async || counted()).await;
    assert_eq!(written, 2, "each report is written once:\n{}", audited.metrics());

    audited
        .rulebook
        .store(Arc::new(policy("team", "has(object.metadata.labels)")));
    let second = until("a report with the policy", || async {
        let report = audited.report("policyreports", "c1").await?;
        (report["summary"]["fail"] == 1).then_some(report)
    })
    .await;
    assert_eq!(second["results"][0]["policy"], "team");
    assert_eq!(second["results"][0]["rule"], "a");
    assert_eq!(
        second["results"][1], first["results"][0],
        "existing results are unchanged, including their time"
    );
    assert!(
        second["results"][0]["timestamp"]["seconds"].as_i64()
            > first["results"][0]["timestamp"]["seconds"].as_i64()
    );

    // The add-on that was missing comes: nothing about the faulty object itself has changed.
    store(&hub, &addon("helo")).await;
    until("one finding less", || async {
        let report = audited.report("policyreports", "c1").await?;
        (summary(&report) == "pass 0, fail 1, warn 0, error 0, skip 0").then_some(())
    })
    .await;
    audited.rulebook.store(Arc::new(Rulebook::default()));
    gone(&audited, "c1", "no report").await;
    audited.stop().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_report_is_created_again() {
    let (hub, audited) = started().await;
    reports(&hub, "policyreports.yaml").await;
    until("a report", || audited.report("policyreports", "c1")).await;
    let api = audited.api("policyreports", "c1");
    api.delete("tidegate-audit", &DeleteParams::default())
        .await
        .expect("deleted");
    until("it again", || audited.report("policyreports", "c1")).await;
    let instances = audited.instances("c1");
    instances
        .delete("helo", &DeleteParams::default())
        .await
        .expect("deleted");
    gone(&audited, "c1", "no report for a deleted object").await;
    audited.stop().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_report_is_restored_whatever_its_hash_is() {
    let (hub, audited) = started().await;
    reports(&hub, "policyreports.yaml").await;
    let written = until("a report", || audited.report("policyreports", "c1")).await;
    let said = |report: &Value| [&report["summary"], &report["results"]].map(Value::clone);
    let api = audited.api("policyreports", "c1");
    let label = "app.kubernetes.io/managed-by";
    for (what, change) in [
        ("results are taken away", json!({"results": null})),
        ("the summary is taken away", json!({"summary": null})),
        (
            "a result is softened",
            json!({"results": [{"policy": "tidegate", "result": "pass"}]}),
        ),
        (
            "the label is taken away",
            json!({"metadata": {"labels": {label: null}}}),
        ),
        (
            "the label is changed",
            json!({"metadata": {"labels": {label: "me"}}}),
        ),
    ] {
        let patch = Patch::Merge(change);
        let edited = api.patch("tidegate-audit", &PatchParams::default(), &patch).await;
        let edited = serde_json::to_value(edited.expect("edited")).expect("JSON");
        assert_eq!(
            edited["metadata"]["annotations"], written["metadata"]["annotations"],
            "{what}: the hash is left alone"
        );
        let restored = until(what, || async {
            let report = audited.report("policyreports", "c1").await?;
            let is_right = said(&report)[0] == said(&written)[0]
                && report["results"][0]["message"] == written["results"][0]["message"]
                && report["metadata"]["labels"][label] == "tidegate";
            is_right.then_some(report)
        })
        .await;
        assert_ne!(
            restored["metadata"]["resourceVersion"], edited["metadata"]["resourceVersion"],
            "{what}"
        );
    }
    // An annotation of another client is left alone, and causes no write.
    let note = json!({"metadata": {"annotations": {"seen-by": "me"}}});
    let noted = api
        .patch("tidegate-audit", &PatchParams::default(), &Patch::Merge(note))
        .await
        .expect("noted");
    let after = waiting::at_rest(A_WHILE, || audited.report("policyreports", "c1")).await;
    assert_eq!(
        after.expect("it stands")["metadata"]["resourceVersion"].as_str(),
        noted.metadata.resource_version.as_deref()
    );
    audited.stop().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_without_a_leader_is_reverted_by_the_next_leader() {
    let (hub, first) = started().await;
    reports(&hub, "policyreports.yaml").await;
    let written = until("a report", || first.report("policyreports", "c1")).await;
    first.stop().await;
    let api = audited::api(hub.client(), "policyreports", "c1");
    let change = Patch::Merge(json!({"results": [{"policy": "tidegate", "result": "pass"}]}));
    api.patch("tidegate-audit", &PatchParams::default(), &change)
        .await
        .expect("edited");
    let second = Audited::start(hub.client()).await;
    until("it as it was", || async {
        let report = second.report("policyreports", "c1").await?;
        (report["results"][0]["message"] == written["results"][0]["message"]).then_some(())
    })
    .await;
    second.stop().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_leader_writes_nothing_twice_and_deletes_obsolete_reports() {
    let (hub, first) = started().await;
    reports(&hub, "policyreports.yaml").await;
    let standing = until("a report", || first.report("policyreports", "c1")).await;
    until("the other report", || first.report("clusterpolicyreports", "")).await;
    first.stop().await;
    // The report of a namespace whose error was fixed, and a report of another client.
    let mut over = standing.clone();
    over["metadata"] = json!({"name": "tidegate-audit", "namespace": "default",
        "labels": standing["metadata"]["labels"], "annotations": standing["metadata"]["annotations"]});
    let mut foreign = over.clone();
    foreign["metadata"] = json!({"name": "foreign", "namespace": "default"});
    for report in [&over, &foreign] {
        let report = serde_json::from_value(report.clone()).expect("an object");
        let api = audited::api(hub.client(), "policyreports", "default");
        api.create(&PostParams::default(), &report).await.expect("stored");
    }
    let second = Audited::start(hub.client()).await;
    gone(&second, "default", "the obsolete report is deleted").await;
    let again = waiting::at_rest(A_WHILE, || second.report("policyreports", "c1")).await;
    assert_eq!(
        again.expect("it stands")["metadata"]["resourceVersion"],
        standing["metadata"]["resourceVersion"]
    );
    // Only what is over was written.
    wrote(&second, 1).await;
    let theirs = audited::api(hub.client(), "policyreports", "default");
    assert!(theirs.get_opt("foreign").await.expect("an answer").is_some());
    second.stop().await;
    hub.shutdown().await;
}

/// Waits until a namespace has no report any more.
async fn gone(audited: &Audited, namespace: &str, what: &'static str) {
    until(what, || async {
        let report = audited.report("policyreports", namespace).await;
        report.is_none().then_some(())
    })
    .await;
}

/// Asserts that so many writes are counted, and stay so: a write is counted a moment after it can be seen.
async fn wrote(audited: &Audited, wanted: u64) {
    until("as many writes as there must be", || async {
        (audited.writes() == wanted).then_some(())
    })
    .await;
    let writes = waiting::at_rest(A_WHILE, async || audited.writes()).await;
    assert_eq!(writes, wanted, "{}", audited.metrics());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_is_read_page_by_page_and_its_report_stays_small() {
    let (hub, audited) = started().await;
    // More than travel with the watches, so that the rest has to be read.
    for number in 1..=700 {
        store(&hub, &instance(&format!("missing-{number:03}"))).await;
    }
    audited.stop().await;
    reports(&hub, "policyreports.yaml").await;
    let audited = Audited::start(hub.client()).await;
    let report = until("a report", || audited.report("policyreports", "c1")).await;
    assert_eq!(summary(&report), "pass 0, fail 0, warn 701, error 0, skip 0");
    let results = report["results"].as_array().expect("results");
    assert_eq!(results.len(), 201);
    let last = results.last().expect("the last one");
    assert_eq!(
        (&last["rule"], &last["result"]),
        (&json!("audit/left-out"), &json!("skip"))
    );
    assert_eq!(
        last["message"],
        "and 501 more findings, which the summary counts and this report does not list"
    );
    assert_eq!(
        report["metadata"]["annotations"]["tidegate.io/audit-left-out"],
        "501"
    );
    let judged = audited.count("tidegate_audit_judgements_total");
    // All of them are checked again, page by page, with one write.
    let writes = waiting::at_rest(A_WHILE, async || audited.writes()).await;
    audited
        .rulebook
        .store(Arc::new(policy("team", "has(object.metadata.labels)")));
    until("the policy in the report", || async {
        let report = audited.report("policyreports", "c1").await?;
        (report["summary"]["fail"] == 701).then_some(())
    })
    .await;
    assert!(audited.count("tidegate_audit_judgements_total") >= judged + 701);
    wrote(&audited, writes + 1).await;
    audited.stop().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_neither_audits_nor_writes() {
    let hub = hub().await;
    for object in objects() {
        store(&hub, &object).await;
    }
    reports(&hub, "policyreports.yaml").await;
    let (leads, leading) = watch::channel(false);
    let audited = Audited::led(hub.client(), leading).await;
    let counted = || (audited.count("tidegate_audit_judgements_total"), audited.writes());
    assert_eq!(waiting::at_rest(A_WHILE, async || counted()).await, (0, 0));
    leads.send_replace(true);
    until("a report", || audited.report("policyreports", "c1")).await;
    until("the other report", || audited.report("clusterpolicyreports", "")).await;
    leads.send_replace(false);
    until("a follower reports nothing", || async {
        (!audited.metrics().contains("tidegate_audit_findings{")).then_some(())
    })
    .await;
    let (judged, written) = waiting::at_rest(A_WHILE, async || counted()).await;
    store(&hub, &instance("missing")).await;
    let after = waiting::at_rest(A_WHILE, async || counted()).await;
    assert_eq!(after, (judged, written), "the new leader does it now");
    leads.send_replace(true);
    until("both in the report", || async {
        let report = audited.report("policyreports", "c1").await?;
        (report["summary"]["warn"] == 2).then_some(())
    })
    .await;
    wrote(&audited, written + 1).await;
    audited.stop().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_takes_no_report_is_not_pressed() {
    let (hub, audited) = started().await;
    // A definition that no report fits.
    audited::define(&hub, "policyreports.yaml", |definition| {
        let schema = "/spec/versions/0/schema/openAPIV3Schema";
        definition.pointer_mut(schema).expect("a schema")["required"] = json!(["nothing"]);
    })
    .await;
    until("a refusal", || async {
        // Of whichever kind is served first: the hub is left alone from then on.
        audited.metrics().contains("outcome=\"failed\"} ").then_some(())
    })
    .await;
    // The second kind may come to be served while the first one has the hub left alone already.
    let tries = waiting::at_rest(A_WHILE, async || audited.writes()).await;
    assert!(
        (1..=2).contains(&tries),
        "{tries} instead of at most one try of each kind:\n{}",
        audited.metrics()
    );
    assert!(
        audited.metrics().contains("tidegate_audit_findings{"),
        "what is wrong is counted all the same"
    );
    audited.stop().await;
    hub.shutdown().await;
}
