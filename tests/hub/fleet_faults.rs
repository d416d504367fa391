//! No wrong response uninstalls a fleet: every watched kind, every fault that a hub or a proxy may have, when the controllers start
//! and while they run. Nothing is deleted; after the fault, pending deletions and installations are completed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use devhub::TestHub;
use futures::StreamExt;
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use store::{Kind, Settings};
use tidegate::controllers::{Tide, TideOptions};
use tidegate::telemetry::Metrics;

use crate::kit::faulty::{EVERY_KIND, Fault, Faulty};
use crate::kit::{hubs, search, waiting};

/// Longer than it takes to mark an instance, to wait for its time of grace, and to delete it.
const BAD: Duration = Duration::from_secs(3);
const GRACE: Duration = Duration::from_secs(1);
const CLUSTERS: [&str; 4] = ["c1", "c2", "c3", "c4"];

fn resource(kind: Kind) -> ApiResource {
    let address = kind.address();
    ApiResource {
        group: address.group.to_owned(),
        version: address.version.to_owned(),
        api_version: kind.api_version(),
        kind: address.kind.to_owned(),
        plural: address.resource.to_owned(),
    }
}

/// The path under which a kind is listed.
fn path(kind: Kind) -> String {
    let address = kind.address();
    let root = if address.group.is_empty() { "/api" } else { "/apis" };
    format!("{root}/{}/{}", kind.api_version(), address.resource)
}

fn options() -> TideOptions {
    let settings = Settings {
        decision_grace: GRACE,
        ..Settings::default()
    };
    TideOptions {
        settings,
        ..TideOptions::default()
    }
}

struct Scene {
    hub: TestHub,
    client: Client,
    faulty: Faulty,
}

/// How the hub was before the add-ons came: clusters that no label selects, and a placement that selects one.
fn before() -> Vec<Value> {
    let mut all = Vec::new();
    for cluster in CLUSTERS {
        all.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cluster}}));
        all.push(
            json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": cluster}, "spec": {"hubAcceptsClient": true}}),
        );
    }
    all.push(template());
    all.push(
        json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnDeploymentConfig",
        "metadata": {"name": "base", "namespace": "default"}, "spec": {}}),
    );
    all.push(
        json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "all", "namespace": "default"}, "spec": {}}),
    );
    all.push(json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
        "metadata": {"name": "all-1", "namespace": "default", "labels": {"cluster.open-cluster-management.io/placement": "all"}}}));
    all.push(addon(
        "bylabel",
        &json!({"type": "ClusterLabelSelector", "labelSelector": {"matchLabels": {"env": "nowhere"}}}),
    ));
    all.push(addon("byplace", &json!({"type": "Placements", "placements": []})));
    all.push(addon("byhand", &json!({"type": "Manual"})));
    all
}

fn template() -> Value {
    let workload =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}});
    json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnTemplate", "metadata": {"name": "t"},
        "spec": {"addonName": "bylabel", "agentSpec": {"workload": {"manifests": [workload]}}}})
}

fn addon(name: &str, strategy: &Value) -> Value {
    let of = "addon.open-cluster-management.io";
    let template = json!({"group": of, "resource": "addontemplates", "defaultConfig": {"name": "t"}});
    let base = json!({"group": of, "resource": "addondeploymentconfigs", "defaultConfig": {"name": "base", "namespace": "default"}});
    let supported = if name == "bylabel" {
        json!([template, base])
    } else {
        json!([base])
    };
    json!({"apiVersion": format!("{of}/v1alpha1"), "kind": "ClusterManagementAddOn", "metadata": {"name": name},
        "spec": {"installStrategy": strategy, "supportedConfigs": supported}})
}

async fn scene() -> Scene {
    let hub = hubs::hub().await;
    let client = hub.client();
    hubs::load(&hub, before()).await;
    let faulty = Faulty::new(client.clone());
    for kind in Kind::ALL {
        faulty.remember(&path(kind)).await;
    }
    let scene = Scene { hub, client, faulty };
    let tide = hubs::tide(scene.client.clone(), options()).await;
    scene.give().await;
    assert!(
        waiting::comes(|| scene.is_settled()).await,
        "{:?}",
        scene.standing().await
    );
    tide.shutdown().await;
    scene
}

impl Scene {
    async fn patch(&self, kind: Kind, place: (&str, &str), what: (&str, Value)) {
        let (namespace, name) = place;
        let api: Api<DynamicObject> = if namespace.is_empty() {
            Api::all_with(self.client.clone(), &resource(kind))
        } else {
            Api::namespaced_with(self.client.clone(), namespace, &resource(kind))
        };
        let (part, patch) = what;
        let patch = Patch::Merge(patch);
        let patched = if part == "status" {
            api.patch_status(name, &PatchParams::default(), &patch).await
        } else {
            api.patch(name, &PatchParams::default(), &patch).await
        };
        patched.expect("an object changes");
    }

    async fn label(&self, cluster: &str, env: Value) {
        let labels = json!({"metadata": {"labels": {"env": env}}});
        self.patch(Kind::Cluster, ("", cluster), ("", labels)).await;
    }

    /// All add-ons come to all clusters.
    async fn give(&self) {
        for cluster in CLUSTERS {
            self.label(cluster, json!("prod")).await;
            let instance = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
                "metadata": {"name": "byhand", "namespace": cluster}, "spec": {}});
            hubs::load(&self.hub, [instance]).await;
        }
        let decisions: Vec<Value> = CLUSTERS
            .iter()
            .map(|name| json!({"clusterName": name, "reason": ""}))
            .collect();
        self.patch(
            Kind::Decision,
            ("default", "all-1"),
            ("status", json!({"status": {"decisions": decisions}})),
        )
        .await;
        let counted = json!({"status": {"numberOfSelectedClusters": CLUSTERS.len()}});
        self.patch(Kind::Placement, ("default", "all"), ("status", counted))
            .await;
        let selector =
            json!({"spec": {"installStrategy": {"labelSelector": {"matchLabels": {"env": "prod"}}}}});
        self.patch(Kind::AddOn, ("", "bylabel"), ("", selector)).await;
        let placements =
            json!({"spec": {"installStrategy": {"placements": [{"name": "all", "namespace": "default"}]}}});
        self.patch(Kind::AddOn, ("", "byplace"), ("", placements)).await;
    }

    /// Every instance and every work with its uid.
    async fn standing(&self) -> BTreeMap<String, String> {
        let mut standing = BTreeMap::new();
        for kind in [Kind::Instance, Kind::Work] {
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource(kind));
            for one in api.list(&ListParams::default()).await.expect("a list") {
                let place = format!(
                    "{} {}/{}",
                    kind.address().kind,
                    one.namespace().unwrap_or_default(),
                    one.name_any()
                );
                let going = if one.metadata.deletion_timestamp.is_some() {
                    " goes"
                } else {
                    ""
                };
                standing.insert(place, format!("{}{going}", one.uid().unwrap_or_default()));
            }
        }
        standing
    }

    async fn is_settled(&self) -> bool {
        self.standing().await.len() == CLUSTERS.len() * 4
    }

    /// What should go goes, and what should come comes.
    async fn lives(&self, what: &str) {
        self.label("c1", Value::Null).await;
        // The instance, and its work with it.
        let goes = waiting::comes(|| async { self.standing().await.len() == CLUSTERS.len() * 4 - 2 }).await;
        assert!(
            goes,
            "{what}: an honest removal goes on: {:?}",
            self.standing().await
        );
        self.label("c1", json!("prod")).await;
        assert!(
            waiting::comes(|| self.is_settled()).await,
            "{what}: {:?}",
            self.standing().await
        );
    }
}

async fn shown(scene: &Scene, kind: Kind, fault: Fault, starts: bool) {
    let what = format!(
        "{} {fault:?} {}",
        kind.address().resource,
        if starts { "at the start" } else { "while it runs" }
    );
    let before = scene.standing().await;
    let path = path(kind);
    let tide = if starts {
        scene.faulty.begin(&path, fault);
        Tide::start(scene.faulty.client(), options())
            .await
            .expect("the hub answers")
    } else {
        let tide = hubs::tide(scene.faulty.client(), options()).await;
        scene.faulty.begin(&path, fault);
        tide
    };
    let deletions = scene.faulty.deletions();
    let nothing_goes = async || scene.faulty.deletions() == deletions;
    assert!(
        waiting::stays(BAD, nothing_goes).await,
        "{what}: something was deleted"
    );
    assert_eq!(scene.standing().await, before, "{what}: the fleet has changed");
    scene.faulty.heal();
    let synced = tokio::time::timeout(Duration::from_mins(1), tide.synced()).await;
    assert!(synced.is_ok(), "{what}: the hub is read when it answers again");
    scene.lives(&what).await;
    tide.shutdown().await;
}

/// As many hubs as two cores can bear while what is waited for has a minute to come.
const BESIDE_EACH_OTHER: usize = 7;

/// Whether a usual run tries this: two faults of each kind, one at the start and one while the controllers run; over the kinds every
/// fault comes in both ways.
fn is_drawn(kind: usize, fault: usize, starts: bool) -> bool {
    let turn = if starts { kind } else { kind + 3 };
    turn % Fault::ALL.len() == fault
}

/// One hub for each kind, some beside each other: what takes time is the faults' own.
async fn matrix(kinds: &[Kind]) {
    let each = kinds.iter().enumerate().map(|(number, kind)| async move {
        let scene = scene().await;
        for (place, fault) in Fault::ALL.into_iter().enumerate() {
            for starts in [true, false] {
                if search::is_full() || is_drawn(number, place, starts) {
                    shown(&scene, *kind, fault, starts).await;
                }
            }
        }
        scene.hub.shutdown().await;
    });
    let all = futures::stream::iter(each).buffer_unordered(BESIDE_EACH_OTHER);
    all.collect::<()>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_about_any_kind_deletes_anything() {
    if !hubs::is_real() {
        matrix(&Kind::ALL).await;
    }
}

/// What an add-on says in a condition: status, reason and message.
async fn said(scene: &Scene, addon: &str, kind: &str) -> String {
    let api: Api<DynamicObject> = Api::all_with(scene.client.clone(), &resource(Kind::AddOn));
    let found = api.get(addon).await.expect("it is there");
    let conditions = found.data["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let one = conditions
        .into_iter()
        .find(|one| one["type"] == kind)
        .unwrap_or_default();
    let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
    format!("{} {}: {}", text("status"), text("reason"), text("message"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreadable_owners_block_removals_and_are_reported_until_they_are_read() {
    if hubs::is_real() {
        return;
    }
    for (kind, object) in [
        (Kind::Placement, "Placement default/all"),
        (Kind::Decision, "PlacementDecision default/all-1"),
        (Kind::Cluster, "ManagedCluster c1"),
    ] {
        for (fault, answer) in [(Fault::Unnamed, "Forbidden"), (Fault::Unsound, "InternalError")] {
            let scene = scene().await;
            let metrics = Metrics::default();
            let options = TideOptions {
                metrics: metrics.clone(),
                ..options()
            };
            let tide = hubs::tide(scene.faulty.client(), options).await;
            scene.faulty.begin(&path(kind), fault);
            let none = json!({"status": {"decisions": []}});
            scene
                .patch(Kind::Decision, ("default", "all-1"), ("status", none))
                .await;
            let counted = json!({"status": {"numberOfSelectedClusters": 0}});
            scene
                .patch(Kind::Placement, ("default", "all"), ("status", counted))
                .await;
            let expected = format!(
                "True RemovalUnconfirmed: 4 instances are kept although nothing selects their clusters: cannot read {object} again: \
                 a fault on purpose: {answer}; the removal continues when the hub returns the object"
            );
            let told =
                waiting::comes(|| async { said(&scene, "byplace", "Stalled").await == expected }).await;
            assert!(told, "{}", said(&scene, "byplace", "Stalled").await);
            let ready = said(&scene, "byplace", "Ready").await;
            assert!(
                ready.ends_with(". 0 clusters are selected. 4 removals are delayed"),
                "{ready}"
            );
            assert!(
                metrics.text().contains("tidegate_removals_held 4"),
                "{}",
                metrics.text()
            );
            assert_eq!(scene.faulty.deletions(), 0);
            scene.faulty.heal();
            let gone = waiting::comes(|| async { scene.standing().await.len() == CLUSTERS.len() * 3 }).await;
            assert!(gone, "{:?}", scene.standing().await);
            let told =
                waiting::comes(|| async { said(&scene, "byplace", "Stalled").await.starts_with("False") })
                    .await;
            assert!(told, "{}", said(&scene, "byplace", "Stalled").await);
            tide.shutdown().await;
            scene.hub.shutdown().await;
        }
    }
}

/// Add-ons that name what no list shows, by what that is: a placement, a configuration, a template, a cluster, an instance.
fn unproven() -> Vec<(&'static str, &'static str, Vec<Value>)> {
    let of = "addon.open-cluster-management.io";
    let addon = |name: &str, strategy: Value, supported: Value| {
        json!({"apiVersion": format!("{of}/v1alpha1"), "kind": "ClusterManagementAddOn", "metadata": {"name": name},
            "spec": {"installStrategy": strategy, "supportedConfigs": supported}})
    };
    let manual = json!({"type": "Manual"});
    let place = json!({"type": "Placements", "placements": [{"namespace": "default", "name": "nowhere"}]});
    let config = json!([{"group": of, "resource": "addondeploymentconfigs",
        "defaultConfig": {"namespace": "default", "name": "nowhere"}}]);
    let template = json!([{"group": of, "resource": "addontemplates", "defaultConfig": {"name": "nowhere"}}]);
    let instance = |name: &str, cluster: &str| {
        json!({"apiVersion": format!("{of}/v1alpha1"), "kind": "ManagedClusterAddOn",
            "metadata": {"name": name, "namespace": cluster}, "spec": {}})
    };
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "away"}});
    let work = json!({"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "metadata":
        {"name": "addon-noinstance-deploy-0", "namespace": "c2", "labels": {"open-cluster-management.io/addon-name": "noinstance"}},
        "spec": {"workload": {"manifests": []}}});
    vec![
        (
            "noplace",
            "Placement default/nowhere",
            vec![addon("noplace", place, json!([]))],
        ),
        (
            "noconfig",
            "AddOnDeploymentConfig default/nowhere",
            vec![addon("noconfig", manual.clone(), config)],
        ),
        (
            "notemplate",
            "AddOnTemplate nowhere",
            vec![addon("notemplate", manual.clone(), template)],
        ),
        (
            "nocluster",
            "ManagedCluster away",
            vec![
                namespace,
                addon("nocluster", manual.clone(), json!([])),
                instance("nocluster", "away"),
            ],
        ),
        (
            "noinstance",
            "ManagedClusterAddOn c2/noinstance",
            vec![addon("noinstance", manual, json!([])), work],
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_fails_holds_the_add_ons_that_depend_on_it_and_no_other() {
    if hubs::is_real() {
        return;
    }
    let each = Fault::BY_NAME.map(|fault| async move {
        let scene = scene().await;
        let unproven = unproven();
        hubs::load(&scene.hub, unproven.iter().flat_map(|(_, _, objects)| objects.clone())).await;
        let metrics = Metrics::default();
        let options = TideOptions {
            metrics: metrics.clone(),
            ..options()
        };
        scene.faulty.begin(EVERY_KIND, fault);
        let tide = hubs::tide(scene.faulty.client(), options).await;
        // Another add-on continues: new content is rolled out.
        let other = json!({"spec": {"agentSpec": {"workload": {"manifests": [{"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "new", "namespace": "default"}}]}}}});
        scene.patch(Kind::Template, ("", "t"), ("", other)).await;
        let works: Api<DynamicObject> = Api::all_with(scene.client.clone(), &resource(Kind::Work));
        let arrived = waiting::comes(|| async {
            let all = works.list(&ListParams::default()).await.expect("a list");
            let news = all.iter().filter(|work| work.data.to_string().contains("\"new\""));
            news.count() == CLUSTERS.len()
        });
        assert!(arrived.await, "{fault:?}: another add-on waits");
        for (addon, object, _) in &unproven {
            let held = format!("cannot read {object}: ");
            let told = waiting::comes(|| async {
                let ready = said(&scene, addon, "Ready").await;
                ready.starts_with("False ReadFailed: ") && ready.contains(&held)
            })
            .await;
            assert!(told, "{fault:?}: {addon}: {}", said(&scene, addon, "Ready").await);
        }
        let text = metrics.text();
        for resource in [
            "placements",
            "addondeploymentconfigs",
            "addontemplates",
            "managedclusters",
            "managedclusteraddons",
        ] {
            let line = format!("tidegate_unreadable_objects{{resource=\"{resource}\"}} 1");
            assert!(text.contains(&line), "{fault:?}: {line}: {text}");
        }
        assert!(text.contains("tidegate_absences_open 0"), "{fault:?}");
        assert_eq!(scene.faulty.deletions(), 0, "{fault:?}");
        scene.faulty.heal();
        for (addon, ..) in &unproven {
            let told = waiting::comes(|| async { !said(&scene, addon, "Ready").await.contains("ReadFailed") }).await;
            assert!(told, "{fault:?}: {addon}: {}", said(&scene, addon, "Ready").await);
        }
        assert!(!metrics.text().contains("tidegate_unreadable_objects{resource=\"placements\"} 1"), "{fault:?}");
        tide.shutdown().await;
        scene.hub.shutdown().await;
    });
    futures::future::join_all(each).await;
}

/// How many lists and watches were read, by path.
type Reads = Arc<Mutex<BTreeMap<String, [usize; 2]>>>;

/// A client of a hub, or of a proxy before it, that sends no bookmarks and ends every watch after a second; with the lists and the
/// watches that were read, by path.
fn without_bookmarks(client: &Client) -> (Client, Reads) {
    let (client, counts) = (client.clone(), Reads::default());
    let seen = Arc::clone(&counts);
    let service = tower::service_fn(move |mut request: http::Request<kube::client::Body>| {
        let (path, query) = (
            request.uri().path().to_owned(),
            request.uri().query().unwrap_or_default(),
        );
        let is_watch = query.contains("watch=true");
        if is_watch || query.contains("limit=") {
            let mut seen = seen.lock().expect("no other test panicked");
            let count: &mut [usize; 2] = seen.entry(path.clone()).or_default();
            count[usize::from(is_watch)] += 1;
        }
        if is_watch {
            let kept = query.split('&').filter(|part| {
                !part.starts_with("allowWatchBookmarks") && !part.starts_with("timeoutSeconds")
            });
            let query = kept.chain(["timeoutSeconds=1"]).collect::<Vec<_>>().join("&");
            *request.uri_mut() = format!("{path}?{query}").parse().expect("an address");
        }
        let client = client.clone();
        async move { client.send(request).await }
    });
    (Client::new(service, "default"), counts)
}

#[tokio::test(flavor = "multi_thread")]
async fn without_bookmarks_the_hub_is_followed_and_listed_once() {
    let hub = hubs::hub().await;
    hubs::load(&hub, before()).await;
    let (client, counts) = without_bookmarks(&hub.client());
    let tide = hubs::tide(client, options()).await;
    let scene = Scene {
        client: hub.client(),
        faulty: Faulty::new(hub.client()),
        hub,
    };
    let watches = |path: &str| {
        counts
            .lock()
            .expect("no panic")
            .get(path)
            .map_or(0, |[_, watches]| *watches)
    };
    // While nothing changes: a watch that ends is resumed.
    let quiet = path(Kind::AddOn);
    waiting::eventually("watches end", || async { watches(&quiet) > 2 }).await;
    scene.give().await;
    assert!(
        waiting::comes(|| scene.is_settled()).await,
        "{:?}",
        scene.standing().await
    );
    // Works are watched twice: those of add-ons and those of upgrades.
    for kind in [
        Kind::AddOn,
        Kind::Cluster,
        Kind::Instance,
        Kind::Placement,
        Kind::Decision,
    ] {
        let counts = counts.lock().expect("no panic");
        let [lists, watches] = counts.get(&path(kind)).copied().unwrap_or_default();
        assert!(
            lists == 1 && (3..30).contains(&watches),
            "{kind:?}: {lists} lists, {watches} watches"
        );
    }
    tide.shutdown().await;
    scene.hub.shutdown().await;
}
