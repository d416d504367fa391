//! The facts: what is asked of a hub, one question after the other.
//!
//! Decides in which order. What cannot be read is noted as such, and the rest is asked all the same. The only thing that is sent is a
//! question that is not stored.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::{Api, Client};
use operate::doctor::{
    Answered, BackstopObjects, Dates, Election, HubFacts, Reading, Served, ShownCertificate, Stage,
    WebhookLists, endpoints,
};
use serde_json::{Value, json};
use store::Kind;

use super::ask::{Of, reading, within, words};
use super::certificate::{Question, look};
use super::confinement::{POLICIES, POLICY_BINDINGS};
use crate::cli::LeasePlace;
use api::v1alpha1::{GROUP, VERSION};

const DEFINITIONS: Of = Of(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
);
const MUTATING: Of = Of(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
);
const VALIDATING: Of = Of(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
);
const MANAGERS: Of = Of(
    "operator.open-cluster-management.io",
    "v1",
    "ClusterManager",
    "clustermanagers",
);
const ADDONS: Of = Of(
    GROUP,
    VERSION,
    "ClusterManagementAddOn",
    "clustermanagementaddons",
);
const CONVERTED: [Of; 2] = [
    Of(
        GROUP,
        "v1beta1",
        "ClusterManagementAddOn",
        "clustermanagementaddons",
    ),
    Of(GROUP, "v1beta1", "ManagedClusterAddOn", "managedclusteraddons"),
];

/// Reads version and time; a hub that does not answer this answers nothing.
pub(super) async fn reach(client: &Client, facts: &mut HubFacts) -> Result<(), kube::Error> {
    let request = http::Request::get("/version")
        .body(Vec::new())
        .map_err(kube::Error::HttpError)?;
    let before = Timestamp::now();
    let answer = client.send(request.map(kube::client::Body::from)).await?;
    let after = Timestamp::now();
    let here = before
        .checked_add(after.duration_since(before) / 2)
        .unwrap_or(after);
    let date = answer
        .headers()
        .get(http::header::DATE)
        .and_then(|date| date.to_str().ok());
    let hub = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok());
    facts.dates = match hub {
        Some(hub) => Reading::Seen(Dates {
            hub: hub.timestamp(),
            here,
        }),
        None => Reading::Refused("its responses have no Date header".to_owned()),
    };
    let version = tokio::time::timeout(std::time::Duration::from_secs(10), client.apiserver_version()).await;
    facts.kubernetes = match version {
        Ok(Ok(version)) => Reading::Seen((version.major, version.minor, version.git_version)),
        Ok(Err(error)) => Reading::Refused(words(&error)),
        Err(_elapsed) => Reading::Refused("no answer".to_owned()),
    };
    Ok(())
}

/// Reads the served kinds, and their definitions.
pub(super) async fn kinds(client: &Client, facts: &mut HubFacts) {
    facts.served = served(client).await;
    facts.definitions = definitions(client).await;
    let beta = match &facts.served {
        Reading::Seen(served) => served.contains_key(&format!("{GROUP}/v1beta1")),
        Reading::NotAsked | Reading::Refused(_) => false,
    };
    if beta {
        for of in CONVERTED {
            // One object is enough; an empty list is not converted, and shows no fault.
            let answer = within(of.all(client).list(&ListParams::default().limit(1))).await;
            let answer = reading(answer.map(|found| found.map(drop)), Reading::NotAsked);
            facts.converted.insert(format!("{}.{}", of.3, of.1), answer);
        }
    }
}

async fn served(client: &Client) -> Reading<Served> {
    let mut places: BTreeSet<String> = Kind::ALL
        .into_iter()
        .filter(|kind| !kind.address().group.is_empty())
        .map(|kind| format!("{}/{}", kind.address().group, kind.address().version))
        .collect();
    places.insert(format!("{GROUP}/v1beta1"));
    let mut served = Served::new();
    for place in places {
        match within(client.list_api_group_resources(&place)).await {
            Ok(Some(list)) => {
                let names = list.resources.into_iter().map(|resource| resource.name);
                served.insert(place, names.collect());
            }
            Ok(None) => {}
            Err(why) => return Reading::Refused(format!("{place}: {why}")),
        }
    }
    Reading::Seen(served)
}

async fn definitions(client: &Client) -> Reading<BTreeMap<String, Value>> {
    let api = DEFINITIONS.all(client);
    let mut found = BTreeMap::new();
    for crd in api::crds() {
        let name = crd.metadata.name.unwrap_or_default();
        match within(api.get(&name)).await {
            Ok(Some(definition)) => match DEFINITIONS.whole(definition) {
                Ok(value) => drop(found.insert(name, value)),
                Err(why) => return Reading::Refused(why),
            },
            Ok(None) => {}
            Err(why) => return Reading::Refused(why),
        }
    }
    Reading::Seen(found)
}

/// Reads which other managers manage add-ons, and which replica is the leader.
pub(super) async fn managers(
    client: &Client,
    stock: Option<&LeasePlace>,
    elect: Option<(&LeasePlace, Named)>,
    facts: &mut HubFacts,
) {
    facts.managers = reading(MANAGERS.list(client, None).await, Reading::NotAsked);
    if let Some(place) = stock {
        // OCM's manager renews it too rarely to be waited for.
        facts.stock = election(client, place, Named::No, Look::Once).await;
    }
    if let Some((place, named)) = elect {
        // Before the start no replica is expected to lead.
        let look = match facts.stage {
            Stage::Running => Look::UntilRenewed,
            Stage::BeforeStart => Look::Once,
        };
        facts.election = election(client, place, named, look).await;
    }
}

/// Replicas renew every two seconds.
const RENEWED_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);
const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_millis(400);

/// Whether the user has named a Lease, so that replicas are known to elect by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Yes,
    No,
}

/// How long a Lease is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Once,
    UntilRenewed,
}

async fn election(client: &Client, place: &LeasePlace, named: Named, look: Look) -> Reading<Election> {
    let api: Api<Lease> = Api::namespaced(client.clone(), &place.namespace);
    let found = within(api.get(&place.name)).await;
    let (found, renewed) = match found {
        Ok(Some(lease)) if look == Look::UntilRenewed => looked_at(&api, lease).await,
        other => (other, false),
    };
    let found = found.map(|lease| Election {
        place: format!("{}/{}", place.namespace, place.name),
        lease: lease.and_then(|lease| serde_json::to_value(lease).ok()),
        named: named == Named::Yes,
        renewed,
    });
    match found {
        Ok(election) => Reading::Seen(election),
        Err(why) => Reading::Refused(why),
    }
}

/// Watches a Lease that has a holder until it is renewed, for as long as a replica of Tidegate needs at most; returns it, and
/// whether it was.
async fn looked_at(api: &Api<Lease>, first: Lease) -> (Result<Option<Lease>, String>, bool) {
    let name = first.metadata.name.clone().unwrap_or_default();
    let holder = |lease: &Lease| lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone());
    let is_held = holder(&first).is_some_and(|holder| !holder.is_empty());
    let begun = tokio::time::Instant::now();
    let mut last = first.clone();
    while is_held && begun.elapsed() < RENEWED_WITHIN {
        tokio::time::sleep(LOOK_AGAIN).await;
        match within(api.get(&name)).await {
            Ok(Some(lease)) => last = lease,
            other => return (other, false),
        }
        if last.metadata.resource_version != first.metadata.resource_version {
            return (Ok(Some(last)), true);
        }
    }
    (Ok(Some(last)), false)
}

/// Reads the webhook configurations, and checks the certificates of their endpoints.
pub(super) async fn webhooks(client: &Client, gate: Option<&str>, facts: &mut HubFacts) {
    let lists = async {
        Ok::<_, String>(WebhookLists {
            mutating: MUTATING.list(client, None).await?.unwrap_or_default(),
            validating: VALIDATING.list(client, None).await?.unwrap_or_default(),
        })
    };
    facts.webhooks = match lists.await {
        Ok(lists) => Reading::Seen(lists),
        Err(why) => Reading::Refused(why),
    };
    let Reading::Seen(lists) = &facts.webhooks else {
        return;
    };
    if !endpoints(lists).is_empty() {
        let found = async {
            let policies = POLICIES.list(client, None).await?.unwrap_or_default();
            let bindings = POLICY_BINDINGS.list(client, None).await?.unwrap_or_default();
            Ok::<_, String>(BackstopObjects::of(policies, bindings))
        };
        facts.backstop = found.await.map_or_else(Reading::Refused, Reading::Seen);
    }
    for place in endpoints(lists) {
        let shown = shown(&place, gate).await;
        facts.certificates.insert(place.text(), shown);
    }
}

async fn shown(place: &operate::doctor::Endpoint, gate: Option<&str>) -> Reading<ShownCertificate> {
    let (name, address) = match (&place.service, &place.url) {
        (Some((namespace, name, port)), _) => {
            let name = format!("{name}.{namespace}.svc");
            let inside = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
            let address = inside.then(|| format!("{name}:{port}"));
            (name, address)
        }
        (None, Some(url)) => {
            let Ok(url) = url.parse::<http::Uri>() else {
                return Reading::Refused(format!("{url} is no address"));
            };
            let host = url.host().unwrap_or_default().to_owned();
            let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            (bare, Some(format!("{host}:{}", url.port_u16().unwrap_or(443))))
        }
        (None, None) => return Reading::Refused("the webhooks have no address".to_owned()),
    };
    let Some(address) = gate.map(str::to_owned).or(address) else {
        return Reading::NotAsked;
    };
    let question = Question {
        address: &address,
        name: &name,
        ca_bundle: &place.ca_bundle,
    };
    match look(&question).await {
        Ok(shown) => Reading::Seen(shown),
        Err(why) => Reading::Refused(format!("{address}: {why}")),
    }
}

/// Sends an add-on that the gate refuses, and one with which nothing is wrong, both with dryRun=All, and notes what comes back.
pub(super) async fn answer(client: &Client, facts: &mut HubFacts) {
    let invalid = json!({"type": "Placements", "placements": [{"name": "nowhere", "namespace": "default",
        "rolloutStrategy": {"type": "All", "all": {"minSuccessTime": "banana"}}}]});
    facts.answer = asked(client, &invalid).await;
    facts.passage = asked(client, &json!({"type": "Manual"})).await;
}

async fn asked(client: &Client, strategy: &Value) -> Reading<Answered> {
    let question = json!({"apiVersion": format!("{GROUP}/{VERSION}"), "kind": "ClusterManagementAddOn",
        "metadata": {"name": "tidegate-doctor"}, "spec": {"installStrategy": strategy}});
    let question = match serde_json::from_value::<DynamicObject>(question) {
        Ok(question) => question,
        Err(error) => return Reading::Refused(error.to_string()),
    };
    let params = PostParams {
        dry_run: true,
        field_manager: Some("tidegate-doctor".to_owned()),
    };
    let api = ADDONS.all(client);
    let asked =
        tokio::time::timeout(std::time::Duration::from_secs(15), api.create(&params, &question)).await;
    match asked {
        Ok(Ok(_)) => Reading::Seen(Answered::Stored),
        Ok(Err(kube::Error::Api(status))) => match status.code {
            // Rights are looked at before any webhook is asked; a refusal of the gate names a webhook.
            401 | 403 if !status.message.contains("webhook") && !status.message.contains("Policy") => {
                Reading::Refused(status.message.clone())
            }
            404 => Reading::Refused("the hub has no ClusterManagementAddOn".to_owned()),
            code => Reading::Seen(Answered::Refused(
                code,
                kubernetes::field::one_line(&status.message),
            )),
        },
        Ok(Err(error)) => Reading::Refused(words(&error)),
        Err(_elapsed) => Reading::Refused("no answer within 15 s".to_owned()),
    }
}
