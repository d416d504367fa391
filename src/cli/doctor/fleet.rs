//! What lies on the hub, for the checks that look at it.
//!
//! Decides which kinds are read. Works are kept without their specs, which are large and say nothing here. Never decides what is wrong.

use insight::offline::Hub;
use kube::Client;
use operate::doctor::{Fleet, Reading};
use serde_json::Value;
use store::{Event, Kind, Settings, Store};

use super::ask::{Of, reading};

const POLICIES: Of = Of(
    api::names::OWN_GROUP,
    api::v1alpha1::VERSION,
    "AddOnPolicy",
    "addonpolicies",
);
/// The kinds whose objects are read as the controllers read them.
const READ: [Kind; 8] = [
    Kind::Cluster,
    Kind::Placement,
    Kind::Decision,
    Kind::DeploymentConfig,
    Kind::Template,
    Kind::HubConfig,
    Kind::AddOn,
    Kind::Instance,
];

/// Reads the fleet.
pub(super) async fn fleet(client: &Client, settings: Settings) -> Fleet {
    let mut fleet = Fleet::default();
    let mut hub = Hub::default();
    let mut unread = Vec::new();
    for kind in READ {
        let found = list(client, kind).await;
        match &found {
            Reading::Seen(objects) => {
                for object in objects {
                    hub.put(object.clone());
                }
                hub.complete(kind);
            }
            Reading::Refused(why) => unread.push(format!("{}: {why}", kind.address().resource)),
            Reading::NotAsked => {}
        }
        match kind {
            Kind::Cluster => fleet.clusters = found,
            Kind::Placement => fleet.placements = found,
            Kind::Decision => fleet.decisions = found,
            Kind::AddOn => fleet.addons = found,
            Kind::Instance => fleet.instances = found,
            _ => {}
        }
    }
    fleet.rollouts = list(client, Kind::Rollout).await;
    fleet.upgrades = list(client, Kind::Upgrade).await;
    fleet.works = list(client, Kind::Work).await;
    fleet.policies = reading(POLICIES.list(client, None).await, Reading::NotAsked);
    fleet.malformed = match unread.first() {
        Some(why) => Reading::Refused(why.clone()),
        None => Reading::Seen(malformed(&hub, settings)),
    };
    fleet
}

async fn list(client: &Client, kind: Kind) -> Reading<Vec<Value>> {
    let address = kind.address();
    let of = Of(address.group, address.version, address.kind, address.resource);
    let mut found = of.list(client, kind.selector()).await;
    if let (Kind::Work, Ok(Some(works))) = (kind, &mut found) {
        for work in works.iter_mut().filter_map(Value::as_object_mut) {
            work.remove("spec");
        }
    }
    // A kind that is not served is reported by the check of the kinds.
    reading(found, Reading::NotAsked)
}

fn malformed(hub: &Hub, settings: Settings) -> Vec<(String, String)> {
    // As the controllers keep them: a large object that does not fit into memory is reported as well.
    let mut store = Store::bounded(settings);
    for (key, object) in hub.objects() {
        let (kind, object) = (key.kind, Value::clone(object));
        drop(store.apply(Event::Applied { kind, object }));
    }
    operate::doctor::malformed(&store)
}
