//! Writes at rest: in every documented mode next to OCM's add-on manager, the programs of add-ons and the agents, nothing
//! is written for twenty seconds; in the mode that the pages warn about, writes never stop.
//!
//! All modes run at the same time, each on a hub of its own. Every new revision of any object counts except Leases, which their holders
//! renew. OCM's manager is `kit/stock_on_hub.rs`, the program `spokes::neighbour`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use api::v1alpha1::{ClusterManagementAddOn, ManagedClusterAddOn};
use devhub::TestHub;
use futures::{FutureExt, StreamExt};
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use operate::release::{Act, RemovableObjects, steps};
use serde_json::{Value, json};
use spokes::Fleet;
use spokes::neighbour::{Generation, Neighbour};
use store::{Compat, Kind, Managing, Settings};
use tidegate::controllers::{ElectionOptions, Pace, Part, Tide, TideOptions, identity};
use tokio::task::JoinHandle;

use crate::kit::{hubs, neighbour, stock_on_hub, waiting};

const GROUP: &str = "addon.open-cluster-management.io";
const LIFECYCLE: &str = "addon.open-cluster-management.io/lifecycle";
const WINDOW: Duration = Duration::from_secs(20);
const ADDONS: [&str; 3] = ["hello", "other", "third"];

/// A hub with two clusters, three add-ons and every program that acts on them.
struct Scene {
    name: &'static str,
    hub: TestHub,
    fleet: Fleet,
    tide: Option<Tide>,
    stock: Option<JoinHandle<()>>,
    third: Neighbour,
    writes: Arc<AtomicUsize>,
    counter: JoinHandle<()>,
}

/// Whose `hello` is: given to Tidegate as the pages say, or to no manager in particular.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    Tidegate,
    Unmarked,
}

fn template_addon(name: &str, given: Given) -> [Value; 2] {
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"cluster": "{{CLUSTER_NAME}}"}});
    let of = json!({"group": GROUP, "resource": "addontemplates", "name": format!("{name}-v1")});
    let mut placement = json!({"name": "all", "namespace": "default"});
    let mut metadata = json!({"name": name});
    let mut supported = json!([]);
    if given == Given::Tidegate {
        metadata["annotations"] = json!({(LIFECYCLE): "tidegate"});
        placement["configs"] = json!([of]);
    } else {
        supported =
            json!([{"group": GROUP, "resource": "addontemplates", "defaultConfig": {"name": of["name"]}}]);
    }
    [
        json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "AddOnTemplate", "metadata": {"name": of["name"]},
            "spec": {"addonName": name, "agentSpec": {"workload": {"manifests": [manifest]}}, "registration": []}}),
        json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ClusterManagementAddOn", "metadata": metadata,
            "spec": {"supportedConfigs": supported, "installStrategy": {"type": "Placements", "placements": [placement]}}}),
    ]
}

fn objects(given: Given) -> Vec<Value> {
    let cluster = "cluster.open-cluster-management.io";
    let mut all = vec![
        json!({"apiVersion": format!("{cluster}/v1beta2"), "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "default", "namespace": "default"}, "spec": {"clusterSet": "default"}}),
        json!({"apiVersion": format!("{cluster}/v1beta1"), "kind": "Placement",
            "metadata": {"name": "all", "namespace": "default"}, "spec": {}}),
        json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "AddOnDeploymentConfig",
            "metadata": {"name": "base", "namespace": "default"}, "spec": {}}),
        json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ClusterManagementAddOn", "metadata": {"name": "third"},
            "spec": {"supportedConfigs": [{"group": GROUP, "resource": "addondeploymentconfigs",
                    "defaultConfig": {"name": "base", "namespace": "default"}}],
                "installStrategy": {"type": "Placements", "placements": [{"name": "all", "namespace": "default"}]}}}),
    ];
    all.extend(template_addon("hello", given));
    all.extend(template_addon("other", Given::Unmarked));
    all
}

/// Counts every new revision of anything on a hub.
fn counted(client: &Client, writes: &Arc<AtomicUsize>) -> JoinHandle<()> {
    let core = |kind: &str, plural: &str| ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    let more = [
        core("ConfigMap", "configmaps"),
        core("Secret", "secrets"),
        core("Event", "events"),
    ];
    let events = ApiResource {
        group: "events.k8s.io".to_owned(),
        api_version: "events.k8s.io/v1".to_owned(),
        ..core("Event", "events")
    };
    let kinds = Kind::ALL.into_iter().map(stock_on_hub::resource);
    let watches = kinds.chain(more).chain([events]).map(|of| {
        let api = Api::<DynamicObject>::all_with(client.clone(), &of);
        watcher::watcher(api, watcher::Config::default())
            .default_backoff()
            .boxed()
    });
    let mut changes = futures::stream::select_all(watches);
    let writes = Arc::clone(writes);
    tokio::spawn(async move {
        while let Some(change) = changes.next().await {
            if matches!(change, Ok(watcher::Event::Apply(_) | watcher::Event::Delete(_))) {
                writes.fetch_add(1, Ordering::SeqCst);
            }
        }
    })
}

impl Scene {
    async fn begin(name: &'static str, given: Given, tide: Option<TideOptions>, stock: bool) -> Self {
        let hub = hubs::hub().await;
        let client = hub.client();
        let fleet = hubs::fleet(client.clone(), 2, &[]).await;
        hubs::load(&hub, objects(given)).await;
        let lease = tide
            .as_ref()
            .and_then(|options| options.election.as_ref())
            .map(|_| "manager-lock");
        let tide = match tide {
            Some(options) => Some(hubs::tide(client.clone(), options).await),
            None => None,
        };
        let third = Neighbour::start(client.clone(), neighbour::framework("third", Generation::New));
        let writes = Arc::default();
        Self {
            name,
            fleet,
            tide,
            stock: stock.then(|| stock_on_hub::start(client.clone(), lease)),
            third: third.await.expect("the program starts"),
            counter: counted(&client, &writes),
            writes,
            hub,
        }
    }

    /// Waits until every add-on has arrived on both clusters.
    async fn arrived(self) -> Self {
        let instances: Api<ManagedClusterAddOn> = Api::all(self.hub.client());
        let done = async || {
            let listed = instances
                .list(&ListParams::default())
                .await
                .expect("a list")
                .items;
            let is_done = |one: &&ManagedClusterAddOn| {
                let said = hubs::condition(one, "Progressing");
                said.starts_with("InstallSucceed False") || said.starts_with("Completed False")
            };
            listed.iter().filter(is_done).count()
        };
        let all = ADDONS.len() * 2;
        waiting::eventually_or(self.name, &done, || async { done().await == all }).await;
        self
    }

    async fn is_silent(&self) {
        waiting::at_rest(WINDOW, || async { self.writes.load(Ordering::SeqCst) }).await;
    }

    async fn end(self) {
        self.counter.abort();
        if let Some(stock) = self.stock {
            stock.abort();
        }
        self.third.shutdown().await;
        if let Some(tide) = self.tide {
            tide.shutdown().await;
        }
        self.fleet.shutdown().await;
        self.hub.shutdown().await;
    }
}

fn marked() -> TideOptions {
    let settings = Settings {
        managing: Managing::Marked,
        ..Settings::default()
    };
    TideOptions {
        settings,
        ..TideOptions::default()
    }
}

fn only(part: Part) -> TideOptions {
    TideOptions {
        part,
        ..TideOptions::default()
    }
}

fn in_words_of_ocm() -> TideOptions {
    TideOptions {
        settings: Settings::of(Compat::Ocm),
        ..TideOptions::default()
    }
}

fn electing() -> TideOptions {
    TideOptions {
        election: Some(ElectionOptions {
            namespace: "default".to_owned(),
            name: "manager-lock".to_owned(),
            identity: identity("pod-1", "0d9c1f6e-5b1e-4a43-8f0e-3a5c5c1a9f11"),
            pace: Pace {
                retry: Duration::from_millis(200),
                ..Pace::default()
            },
        }),
        ..TideOptions::default()
    }
}

/// Tidegate has had all add-ons, has been stopped and has handed them back.
async fn handed_back() -> Scene {
    let mut scene = Scene::begin("back", Given::Unmarked, Some(TideOptions::default()), false)
        .await
        .arrived()
        .await;
    scene.tide.take().expect("it ran").shutdown().await;
    let client = scene.hub.client();
    for name in ADDONS {
        hand_back(&client, name).await;
    }
    scene.stock = Some(stock_on_hub::start(client, None));
    scene
}

async fn hand_back(client: &Client, name: &str) {
    let addons: Api<ClusterManagementAddOn> = Api::all(client.clone());
    let instances: Api<ManagedClusterAddOn> = Api::all(client.clone());
    let named = ListParams::default().fields(&format!("metadata.name={name}"));
    let addon = addons.get(name).await.expect("the add-on");
    let listed = instances.list(&named).await.expect("instances").items;
    let held = RemovableObjects {
        addon: Some(serde_json::to_value(addon).expect("JSON")),
        instances: listed
            .into_iter()
            .map(|one| serde_json::to_value(one).expect("JSON"))
            .collect(),
        ..RemovableObjects::default()
    };
    for step in steps(&held) {
        let text = |pointer: &str| {
            step.object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (kind, namespace) = match text("/metadata/namespace") {
            "" => (Kind::AddOn, None),
            namespace => (Kind::Instance, Some(namespace)),
        };
        let of = stock_on_hub::resource(kind);
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &of),
            None => Api::all_with(client.clone(), &of),
        };
        let params = PatchParams::default();
        let done = match &step.act {
            Act::Status(patch) => api.patch_status(name, &params, &Patch::Merge(patch)).await,
            Act::Patch(patch) => api.patch(name, &params, &Patch::Merge(patch)).await,
            Act::Delete => continue,
        };
        done.expect("it is written");
    }
}

async fn documented() -> Vec<Scene> {
    let all = [
        Scene::begin("instead", Given::Unmarked, Some(TideOptions::default()), false).boxed(),
        Scene::begin(
            "instead, OCM's manager the standby",
            Given::Unmarked,
            Some(electing()),
            true,
        )
        .boxed(),
        Scene::begin(
            "instead, --compat ocm",
            Given::Unmarked,
            Some(in_words_of_ocm()),
            false,
        )
        .boxed(),
        Scene::begin("beside, --manage marked", Given::Tidegate, Some(marked()), true).boxed(),
        Scene::begin("only the gate", Given::Unmarked, Some(only(Part::Sees)), true).boxed(),
        Scene::begin("observing", Given::Unmarked, Some(only(Part::Observes)), true).boxed(),
        handed_back().boxed(),
    ];
    let begun = futures::future::join_all(all).await;
    futures::future::join_all(begun.into_iter().map(Scene::arrived)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn documented_modes_are_silent_at_rest_and_the_others_are_not() {
    let scenes = documented().await;
    // Both drive every add-on: neither elects, nor looks at the other's Lease.
    let fight = Scene::begin(
        "both, unmarked",
        Given::Unmarked,
        Some(TideOptions::default()),
        true,
    )
    .await;
    let instances: Api<ManagedClusterAddOn> = Api::namespaced(fight.hub.client(), "cluster1");
    waiting::eventually("both are at work", || async {
        instances.get_opt("hello").await.expect("an answer").is_some()
    })
    .await;
    let silent = futures::future::join_all(scenes.iter().map(Scene::is_silent));
    let fighting = async {
        let mut last = fight.writes.load(Ordering::SeqCst);
        let mut rounds = Vec::new();
        for _ in 0..5 {
            waiting::stays(WINDOW / 5, async || true).await;
            let now = fight.writes.load(Ordering::SeqCst);
            rounds.push(now - last);
            last = now;
        }
        rounds
    };
    let (_, rounds) = futures::join!(silent, fighting);
    assert!(
        rounds.iter().all(|written| *written > 0),
        "they came to rest: {rounds:?}"
    );
    for scene in scenes.into_iter().chain([fight]) {
        scene.end().await;
    }
}
