//! The audit's events on the dev hub: one when a finding of an object begins or ends, and only from the leader.

use std::sync::Arc;

use audit::Rulebook;
use devhub::TestHub;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use tokio::sync::watch;

use crate::kit::audited::{A_WHILE, Audited, instance, objects, policy, started, store};
use crate::kit::hubs::hub;
use crate::kit::waiting::{self, until};

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_begins_or_ceases_to_be_at_fault_gets_one_event() {
    let (hub, audited) = started().await;
    until("everything is judged", || async {
        let line = "tidegate_audit_findings{rule=\"naming/unknown-addon\",severity=\"medium\"} 1";
        audited.metrics().contains(line).then_some(())
    })
    .await;
    // One that comes at fault, and one that was right before.
    store(&hub, &instance("heloo")).await;
    audited
        .rulebook
        .store(Arc::new(policy("team", "object.metadata.name != 'hello'")));
    store(&hub, &instance("hello")).await;
    let told = |wanted: usize| {
        let hub = &hub;
        async move {
            let all = events(hub).await;
            (all.len() >= wanted).then_some(all)
        }
    };
    let all = until("two events", || told(2)).await;
    let refused = "Warning NonCompliant c1/hello needs labels [policy/team/a]";
    let unknown = "Warning NonCompliant c1/heloo metadata.name: \"heloo\": no ClusterManagementAddOn has this name; \
         hint: did you mean \"hello\"? [naming/unknown-addon]";
    assert_eq!(all, [refused, unknown], "existing errors are only in reports");
    audited.rulebook.store(Arc::new(Rulebook::default()));
    let all = until("a third event", || told(3)).await;
    assert_eq!(
        all,
        [
            "Normal Compliant c1/hello the object no longer has findings",
            refused,
            unknown
        ]
    );
    audited.stop().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_reports_nothing() {
    let hub = hub().await;
    for object in objects() {
        store(&hub, &object).await;
    }
    let (leads, leading) = watch::channel(true);
    let leader = Audited::led(hub.client(), leading).await;
    let (_never, observing) = watch::channel(false);
    let observer = Audited::led(hub.client(), observing).await;
    until("everything is judged", || async {
        leader.metrics().contains("naming/unknown-addon").then_some(())
    })
    .await;
    store(&hub, &instance("heloo")).await;
    until("the leader's event", || async {
        (!events(&hub).await.is_empty()).then_some(())
    })
    .await;
    leads.send_replace(false);
    until("there is no leader", || async {
        (!leader.metrics().contains("tidegate_audit_findings{")).then_some(())
    })
    .await;
    store(&hub, &instance("hallo")).await;
    let all = waiting::at_rest(A_WHILE, || events(&hub)).await;
    assert!(all.len() == 1 && all[0].contains("c1/heloo"), "{all:?}");
    leader.stop().await;
    observer.stop().await;
    hub.shutdown().await;
}

/// Returns the audit's events, each in a line, sorted.
async fn events(hub: &TestHub) -> Vec<String> {
    let api: Api<Event> = Api::all(hub.client());
    let all = api.list(&ListParams::default()).await.expect("events").items;
    let ours = all
        .into_iter()
        .filter(|event| event.action.as_deref() == Some("Audit"));
    let mut lines: Vec<String> = ours
        .map(|event| {
            assert!(event.series.is_none_or(|series| series.count < 2), "told once");
            let of = event.regarding.unwrap_or_default();
            format!(
                "{} {} {}/{} {}",
                event.type_.unwrap_or_default(),
                event.reason.unwrap_or_default(),
                of.namespace.unwrap_or_default(),
                of.name.unwrap_or_default(),
                event.note.unwrap_or_default()
            )
        })
        .collect();
    lines.sort();
    lines
}
