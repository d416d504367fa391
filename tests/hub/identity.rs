//! What a cluster's own agent can obtain with its permissions on a dev hub with RBAC: only its own identity.
//!
//! The controllers run as a service account with the shipped roles; the agent has what Open Cluster Management gives it:
//! certificates to ask for, statuses and works of its own namespace. The manifests are those of `tests/data/attacks/`.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use devhub::{Authz, Builder, DevHub};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};
use store::{agent_groups, agent_user};
use tidegate::controllers::{Tide, TideOptions};

use crate::kit::hubs;
use crate::kit::manifests::{documents, repository};
use crate::kit::waiting::{self, eventually};

const HUB_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const ADDONS: &str = "addon.open-cluster-management.io/v1alpha1";
const CLUSTERS: &str = "cluster.open-cluster-management.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const ACCOUNT: &str = "system:serviceaccount:tidegate:tidegate-controllers";
/// The administrator of a hub made by kubeadm: a user and groups that such a hub gives every right.
const ADMIN: (&str, &[&str]) = ("kubernetes-admin", &["kubeadm:cluster-admins"]);

struct Scene {
    hub: DevHub,
    tide: Tide,
}

fn binding(name: &str, role: &str, subject: &Value) -> Value {
    json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}, "subjects": [subject]})
}

/// What the registration of a hub lets the agent of a cluster do in its namespace, and everywhere.
fn rights_of_agents() -> Vec<Value> {
    let name = "clusters-register";
    let rules = json!([
        {"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create", "get", "list", "watch"]}]);
    let group =
        json!({"apiGroup": RBAC, "kind": "Group", "name": "system:open-cluster-management:managed-clusters"});
    let own = json!([
        {"apiGroups": ["addon.open-cluster-management.io"], "resources": ["managedclusteraddons"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["addon.open-cluster-management.io"], "resources": ["managedclusteraddons/status"], "verbs": ["patch", "update"]},
        {"apiGroups": ["work.open-cluster-management.io"], "resources": ["manifestworks"], "verbs": ["get", "list", "watch", "update"]},
        {"apiGroups": ["work.open-cluster-management.io"], "resources": ["manifestworks/status"], "verbs": ["patch", "update"]}]);
    let role = |name: &str, rules: &Value| json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules});
    let mut all = vec![
        role(name, &rules),
        binding(name, name, &group),
        role("of-clusters", &own),
    ];
    for cluster in ["c1", "c2"] {
        all.push(json!({"apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding",
            "metadata": {"name": "of-clusters", "namespace": cluster},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "of-clusters"},
            "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": format!("system:open-cluster-management:{cluster}")}]}));
    }
    all
}

/// Two accepted clusters, and a placement that selects both.
fn fleet() -> Vec<Value> {
    let namespaces = ["c1", "c2", "tidegate", "open-cluster-management-hub"]
        .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    let clusters = ["c1", "c2"].map(|name| {
        json!({"apiVersion": format!("{CLUSTERS}/v1"), "kind": "ManagedCluster", "metadata": {"name": name},
            "spec": {"hubAcceptsClient": true}})
    });
    let placement = json!({"apiVersion": format!("{CLUSTERS}/v1beta1"), "kind": "Placement",
        "metadata": {"name": "everywhere", "namespace": "default"}, "spec": {}});
    namespaces
        .into_iter()
        .chain(clusters)
        .chain([placement])
        .collect()
}

impl Scene {
    async fn start() -> Self {
        let definitions = hubs::definitions().into_iter();
        let builder = definitions.fold(DevHub::builder().authz(Authz::Rbac), Builder::crd);
        let hub = builder.start().await.expect("a hub starts");
        let shipped = [
            "gate",
            "controllers",
            "one-process",
            "registration",
            "registration-everywhere-policy",
            "registration-everywhere-binding",
        ];
        let shipped = shipped
            .iter()
            .flat_map(|file| documents(&format!("manifests/rbac/{file}.yaml")));
        for object in fleet().into_iter().chain(rights_of_agents()).chain(shipped) {
            hub.preload(&object).await.expect("it is good");
        }
        let decision = json!({"apiVersion": format!("{CLUSTERS}/v1beta1"), "kind": "PlacementDecision",
            "metadata": {"name": "everywhere-1", "namespace": "default",
                "labels": {(format!("{CLUSTERS}/placement")): "everywhere"}}});
        hub.preload(&decision).await.expect("it is good");
        let decided = json!({"status": {"decisions": [{"clusterName": "c1", "reason": ""}, {"clusterName": "c2", "reason": ""}]}});
        objects(
            &hub.client(),
            &format!("{CLUSTERS}/v1beta1"),
            "PlacementDecision",
            "default",
        )
        .patch_status("everywhere-1", &PatchParams::default(), &Patch::Merge(&decided))
        .await
        .expect("decided");
        let client = impersonated(&hub, ACCOUNT, &[]);
        let tide = hubs::tide(client, TideOptions::default()).await;
        Self { hub, tide }
    }

    async fn load(&self, attack: &str) {
        for object in documents(&format!("tests/data/attacks/{attack}.yaml")) {
            self.hub
                .preload(&object)
                .await
                .expect("stored without validation");
        }
    }

    fn agent(&self, cluster: &str) -> Client {
        let own = format!("system:open-cluster-management:{cluster}");
        let groups = [own.as_str(), "system:open-cluster-management:managed-clusters"];
        impersonated(&self.hub, &format!("{own}:x7f2q"), &groups)
    }

    async fn condition(&self, addon: &str, cluster: &str, kind: &str) -> String {
        let api = objects(&self.hub.client(), ADDONS, "ManagedClusterAddOn", cluster);
        let Some(found) = api.get_opt(addon).await.expect("an answer") else {
            return String::new();
        };
        let conditions = found.data["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let found = conditions.into_iter().find(|one| one["type"] == kind);
        found.map_or_else(String::new, |one| {
            let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", text("status"), text("reason"), text("message"))
        })
    }

    async fn says(&self, (addon, cluster): (&str, &str), kind: &str, words: &str) {
        let comes =
            waiting::comes(|| async { self.condition(addon, cluster, kind).await.contains(words) }).await;
        let said = self.condition(addon, cluster, kind).await;
        assert!(
            comes,
            "{addon} on {cluster}: {kind} is {said:?} and not {words:?}"
        );
    }

    /// Asks for a certificate as the agent of a cluster; returns the name of the request.
    async fn ask(&self, (addon, cluster): (&str, &str), signer: &str, subject: (&str, &[&str])) -> String {
        let name = format!("addon-{cluster}-{addon}-{}", subject.0.len() + subject.1.len());
        let body = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": {"name": name, "labels": {"open-cluster-management.io/addon-name": addon,
                "open-cluster-management.io/cluster-name": cluster}},
            "spec": {"request": STANDARD.encode(pem(subject)), "signerName": signer,
                "usages": ["digital signature", "key encipherment", "client auth"]}});
        let object: DynamicObject = serde_json::from_value(body).expect("an object");
        let api = requests(&self.agent(cluster));
        api.create(&PostParams::default(), &object)
            .await
            .expect("any agent may create it");
        name
    }

    async fn is_answered(&self, name: &str) -> bool {
        let found = requests(&self.hub.client()).get(name).await.expect("the request");
        found.data["status"]["conditions"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    }

    /// Says in the status of a cluster's own add-on whatever it likes, as that cluster's agent.
    ///
    /// The conditions are removed with it: when the controllers restore them, they have observed the forged status.
    async fn lie(&self, (addon, cluster): (&str, &str), mut status: Value) {
        status["conditions"] = json!([]);
        let api = objects(&self.agent(cluster), ADDONS, "ManagedClusterAddOn", cluster);
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(addon, &PatchParams::default(), &patch)
            .await
            .expect("it may write its status");
        self.says((addon, cluster), "Configured", " ").await;
    }

    async fn granted(&self) -> Vec<String> {
        let bindings: Api<RoleBinding> = Api::all(self.hub.client());
        let ours = ListParams::default().labels("tidegate.io/permission");
        let found = bindings.list(&ours).await.expect("a list").items;
        found.into_iter().filter_map(|one| one.metadata.name).collect()
    }

    async fn stop(self) {
        self.tide.shutdown().await;
        self.hub.shutdown().await;
    }
}

fn impersonated(hub: &DevHub, user: &str, groups: &[&str]) -> Client {
    let mut config = hub.config();
    config.auth_info.impersonate = Some(user.to_owned());
    config.auth_info.impersonate_groups =
        (!groups.is_empty()).then(|| groups.iter().map(ToString::to_string).collect());
    Client::try_from(config).expect("a client")
}

fn objects(client: &Client, version: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
    let (group, version) = version.split_once('/').expect("a group");
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::namespaced_with(client.clone(), namespace, &resource)
}

fn requests(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("certificates.k8s.io", "v1", "CertificateSigningRequest");
    Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
}

fn pem((user, groups): (&str, &[&str])) -> String {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, user);
    let kinds = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
    for (kind, group) in kinds.into_iter().zip(groups) {
        params.distinguished_name.push(kind, *group);
    }
    let key = KeyPair::generate().expect("a key");
    let request = params.serialize_request(&key).expect("a request");
    request.pem().expect("PEM")
}

fn stated((user, groups): (&str, &[&str])) -> Value {
    json!({"registrations": [{"signerName": HUB_SIGNER, "subject": {"user": user, "groups": groups}}]})
}

/// A certificate for the agent's own name on the hub, which every story ends with: the controllers still work.
async fn honest(scene: &Scene, (addon, cluster): (&str, &str)) {
    let groups = agent_groups(cluster, addon);
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    let name = scene
        .ask(
            (addon, cluster),
            HUB_SIGNER,
            (&agent_user(cluster, addon), &groups),
        )
        .await;
    eventually("the agent gets its own", || scene.is_answered(&name)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_waits_for_its_turn_cannot_make_itself_an_administrator() {
    let scene = Scene::start().await;
    scene.load("waiting-instance").await;
    scene.says(("queued", "c2"), "Configured", "False").await;
    scene.says(("queued", "c1"), "Configured", "True").await;

    let asked = scene.ask(("queued", "c2"), HUB_SIGNER, ADMIN).await;
    scene.lie(("queued", "c2"), stated(ADMIN)).await;
    honest(&scene, ("queued", "c1")).await;
    assert!(
        !scene.is_answered(&asked).await,
        "a request for an administrator was answered"
    );

    // The rights are those of an agent and no more: it approves nothing, and writes no spec.
    let approval = json!({"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "Me", "message": ""}]}});
    let own = requests(&scene.agent("c2"));
    let refused = own
        .patch_subresource(
            "approval",
            &asked,
            &PatchParams::default(),
            &Patch::Merge(&approval),
        )
        .await;
    assert!(refused.is_err(), "an agent approves its own request");
    let addons = objects(&scene.agent("c2"), ADDONS, "ManagedClusterAddOn", "c2");
    let spec = Patch::Merge(json!({"spec": {"installNamespace": "x"}}));
    assert!(
        addons
            .patch("queued", &PatchParams::default(), &spec)
            .await
            .is_err()
    );
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_add_on_that_cannot_be_rendered_gives_no_identity() {
    let scene = Scene::start().await;
    scene.load("waiting-instance").await;
    scene.load("unrenderable").await;
    scene
        .says(("broken", "c2"), "Stalled", "True RenderingFailed")
        .await;
    let asked = scene.ask(("broken", "c2"), HUB_SIGNER, ADMIN).await;
    scene.lie(("broken", "c2"), stated(ADMIN)).await;
    scene.says(("queued", "c1"), "Configured", "True").await;
    honest(&scene, ("queued", "c1")).await;
    assert!(!scene.is_answered(&asked).await);
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_gate_has_never_seen_ends_in_no_grant() {
    let scene = Scene::start().await;
    for attack in ["waiting-instance", "built-in-signer", "foreign-template"] {
        scene.load(attack).await;
    }
    scene
        .says(
            ("forger", "c2"),
            "RegistrationApplied",
            "False SetPermissionFailed",
        )
        .await;
    scene
        .says(("forger", "c2"), "RegistrationApplied", "[template/signer]")
        .await;
    scene
        .says(("modest", "c2"), "Configured", "False TemplateOfAnotherAddon")
        .await;
    let scheduler = ("system:kube-scheduler", &["system:nodes"][..]);
    let forged = scene.ask(("forger", "c2"), HUB_SIGNER, scheduler).await;
    scene.lie(("forger", "c2"), stated(scheduler)).await;
    let modest = agent_groups("c2", "modest");
    let modest: Vec<&str> = modest.iter().map(String::as_str).collect();
    let asked = scene
        .ask(
            ("modest", "c2"),
            HUB_SIGNER,
            (&agent_user("c2", "modest"), &modest),
        )
        .await;
    scene
        .lie(("modest", "c2"), stated((&agent_user("c2", "modest"), &modest)))
        .await;
    scene.says(("queued", "c1"), "Configured", "True").await;
    honest(&scene, ("queued", "c1")).await;
    assert!(!scene.is_answered(&forged).await && !scene.is_answered(&asked).await);
    assert_eq!(scene.granted().await, [""; 0], "nothing is bound");
    let works = objects(
        &scene.hub.client(),
        "work.open-cluster-management.io/v1",
        "ManifestWork",
        "c2",
    );
    assert!(
        works
            .get_opt("addon-modest-deploy-0")
            .await
            .expect("an answer")
            .is_none()
    );
    scene.stop().await;
}

#[test]
fn the_gate_refuses_what_asks_for_more_than_its_own() {
    let rows = [
        ("waiting-instance", Some(0), ""),
        ("built-in-signer", Some(1), "[template/signer]"),
        ("foreign-template", Some(1), "[template/other-addon]"),
    ];
    for (attack, code, rule) in rows {
        let file = repository(&format!("tests/data/attacks/{attack}.yaml"));
        let checked = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .arg("check")
            .arg(file)
            .output();
        let checked = checked.expect("the binary runs");
        let told = String::from_utf8_lossy(&checked.stdout);
        assert_eq!(checked.status.code(), code, "{told}");
        assert!(told.contains(rule), "{told}");
    }
}
