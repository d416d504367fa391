//! Registration on the dev hub: a real CertificateSigningRequest is approved and signed, a wrong requester gets nothing, permissions
//! and token infrastructure are created and deleted.

use api::v1alpha1::{ClusterManagementAddOn, ManagedClusterAddOn};
use devhub::TestHub;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use model::HubNamespaces;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use tidegate::controllers::{Tide, TideOptions};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::kit::waiting::eventually;
use crate::kit::{agent, hubs};

const HUB_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const OWN_SIGNER: &str = "open-cluster-management.io/hello-addon";
const CLUSTER: &str = "c1";
const AGENT: &str = "system:open-cluster-management:c1:x7f2q";

/// Roles that an administrator has labelled for agents.
fn roles_for_agents() -> [Value; 2] {
    let labels = json!({"tidegate.io/hub-permissions": "allowed"});
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]);
    [
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "reader", "labels": labels}, "rules": rules}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "peer", "namespace": "shared", "labels": labels}, "rules": rules}),
    ]
}

struct Scene {
    hub: TestHub,
    client: Client,
    tide: Tide,
}

impl Scene {
    async fn start() -> Self {
        let hub = hubs::hub().await;
        let client = hub.client();
        let mut options = TideOptions::default();
        options.settings.hub_namespaces = HubNamespaces::of(["shared"]);
        let tide = hubs::tide(client.clone(), options).await;
        let scene = Self { hub, client, tide };
        for object in agent::rights() {
            scene.load(object).await;
        }
        for namespace in [CLUSTER, "shared", "signers"] {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            scene.load(object).await;
        }
        for object in roles_for_agents() {
            scene.load(object).await;
        }
        scene
            .load(
                json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": CLUSTER}, "spec": {"hubAcceptsClient": true}}),
            )
            .await;
        scene.load(json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
            "metadata": {"name": "hello", "namespace": CLUSTER}, "spec": {}})).await;
        scene
    }

    async fn load(&self, object: Value) {
        self.hub.preload(&object).await.expect("the object is accepted");
    }

    /// Stores a template add-on with permissions and a signer of its own, whose secret is in `signers`.
    async fn load_addon(&self) {
        self.load(json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnTemplate",
            "metadata": {"name": "hello"}, "spec": {"addonName": "hello",
            "agentSpec": {"workload": {"manifests": [{"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "agent", "namespace": "agents"}}]}},
            "registration": [
                {"type": "KubeClient", "kubeClient": {"hubPermissions": [
                    {"type": "CurrentCluster", "currentCluster": {"clusterRoleName": "reader"}},
                    {"type": "SingleNamespace", "singleNamespace": {"namespace": "shared",
                        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "peer"}}}]}},
                {"type": "CustomSigner", "customSigner": {"signerName": OWN_SIGNER,
                    "subject": {"user": "worker", "groups": ["workers"]},
                    "signingCA": {"namespace": "signers", "name": "hello-ca"}}},
            ]}})).await;
        self.load(json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
            "metadata": {"name": "hello"}, "spec": {"supportedConfigs": [
                {"group": "addon.open-cluster-management.io", "resource": "addontemplates", "defaultConfig": {"name": "hello"}}]}}))
            .await;
    }

    fn requests(&self) -> Api<CertificateSigningRequest> {
        Api::all(self.client.clone())
    }

    async fn instance(&self) -> ManagedClusterAddOn {
        let api: Api<ManagedClusterAddOn> = Api::namespaced(self.client.clone(), CLUSTER);
        api.get("hello").await.expect("the instance")
    }

    /// Returns `<status> <reason> <message>` of a condition, "" when it is absent.
    async fn condition(&self, kind: &str) -> String {
        let status = self.instance().await.status.unwrap_or_default();
        let found = status.conditions.into_iter().find(|one| one.type_ == kind);
        found
            .map(|one| format!("{} {} {}", one.status, one.reason, one.message))
            .unwrap_or_default()
    }

    async fn says(&self, kind: &str, words: &str) {
        let what = format!("{kind} says {words:?}");
        eventually(&what, || async { self.condition(kind).await.starts_with(words) }).await;
    }

    /// Asks for a certificate as a requester; the hub itself writes down who asked.
    async fn ask(&self, name: &str, requester: &str, signer: &str, subject: (&str, &[&str])) {
        let stored = agent::ask(&self.client, name, (CLUSTER, requester), signer, subject).await;
        assert_eq!(stored["spec"]["username"], requester);
    }

    async fn stage(&self, name: &str) -> (bool, Option<Vec<u8>>) {
        let status = self
            .requests()
            .get(name)
            .await
            .expect("the request")
            .status
            .unwrap_or_default();
        let approved = status
            .conditions
            .iter()
            .flatten()
            .any(|one| one.type_ == "Approved");
        (approved, status.certificate.map(|certificate| certificate.0))
    }

    async fn stop(self) {
        self.tide.shutdown().await;
        self.hub.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_get_the_certificates_that_they_may_have_and_no_others() {
    let scene = Scene::start().await;
    scene.load_addon().await;
    scene
        .says("RegistrationApplied", "True SetPermissionApplied")
        .await;
    let status = scene.instance().await.status.unwrap_or_default();
    assert_eq!(status.namespace, "agents");
    let subject = status.registrations[0].subject.clone().expect("a subject");
    let groups: Vec<&str> = subject.groups.iter().map(String::as_str).collect();

    scene
        .ask("addon-c1-hello-1", AGENT, HUB_SIGNER, (&subject.user, &groups))
        .await;
    eventually("the hub's client is approved", || async {
        scene.stage("addon-c1-hello-1").await.0
    })
    .await;

    // The Secret of the signer comes late, and at first not for this add-on: until it says that it signs for the add-on nothing
    // is even approved, for the owner of the signer's name may sign whatever is approved.
    scene
        .ask("addon-c1-hello-2", AGENT, OWN_SIGNER, ("worker", &["workers"]))
        .await;
    scene
        .says(
            "CertificateRequestRefused",
            "True CertificateNotIssued addon-c1-hello-2: Secret signers/hello-ca of the signer does not exist",
        )
        .await;
    assert_eq!(scene.stage("addon-c1-hello-2").await, (false, None));
    let mut authority = agent::authority("signers");
    let word = authority["metadata"]["annotations"].take();
    scene.load(authority).await;
    scene
        .says(
            "CertificateRequestRefused",
            "True CertificateNotIssued addon-c1-hello-2: Secret signers/hello-ca of the signer does not sign for add-on \"hello\"",
        )
        .await;
    assert_eq!(scene.stage("addon-c1-hello-2").await, (false, None));
    let patch = json!({"metadata": {"annotations": word}});
    let secrets: Api<Secret> = Api::namespaced(scene.client.clone(), "signers");
    secrets
        .patch("hello-ca", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .expect("the owner of the secret says for whom it signs");
    eventually("a certificate is signed", || async {
        scene.stage("addon-c1-hello-2").await.1.is_some()
    })
    .await;
    eventually("nothing is refused any more", || async {
        scene.condition("CertificateRequestRefused").await.is_empty()
    })
    .await;
    signed_by_the_secret(&scene).await;

    no_controller_answers(&scene, (&subject.user, &groups)).await;
    scene.stop().await;
}

/// The agent of another cluster, and a group that is too much.
async fn no_controller_answers(scene: &Scene, subject: (&str, &[&str])) {
    scene
        .ask(
            "addon-c1-hello-3",
            "system:open-cluster-management:c10:x",
            HUB_SIGNER,
            subject,
        )
        .await;
    scene
        .says(
            "CertificateRequestRefused",
            "True RequesterNotAllowed addon-c1-hello-3: ",
        )
        .await;
    scene
        .ask(
            "addon-c1-hello-4",
            AGENT,
            OWN_SIGNER,
            ("worker", &["workers", "system:masters"]),
        )
        .await;
    scene
        .requests()
        .delete("addon-c1-hello-3", &DeleteParams::default())
        .await
        .expect("it goes");
    scene
        .says(
            "CertificateRequestRefused",
            "True SubjectNotAllowed addon-c1-hello-4: ",
        )
        .await;
    assert_eq!(scene.stage("addon-c1-hello-4").await, (false, None));
}

async fn signed_by_the_secret(scene: &Scene) {
    let secrets: Api<Secret> = Api::namespaced(scene.client.clone(), "signers");
    let secret = secrets
        .get("hello-ca")
        .await
        .expect("the secret")
        .data
        .unwrap_or_default();
    let authority = CertificateDer::from_pem_slice(&secret["tls.crt"].0).expect("a certificate");
    let (_, authority) = X509Certificate::from_der(&authority).expect("a certificate");
    let pem = scene.stage("addon-c1-hello-2").await.1.expect("a certificate");
    let der = CertificateDer::from_pem_slice(&pem).expect("PEM");
    let (_, certificate) = X509Certificate::from_der(&der).expect("a certificate");
    certificate
        .verify_signature(Some(authority.public_key()))
        .expect("the secret has signed it");
    assert_eq!(certificate.subject().to_string(), "CN=worker, O=workers");
    let life = certificate.validity().not_after.timestamp() - certificate.validity().not_before.timestamp();
    assert!((86_400..90_000).contains(&life), "{life}");
}

#[tokio::test(flavor = "multi_thread")]
async fn permissions_come_with_the_add_on_and_go_with_it() {
    let scene = Scene::start().await;
    scene.load_addon().await;
    scene
        .says("RegistrationApplied", "True SetPermissionApplied")
        .await;
    let bindings: Api<RoleBinding> = Api::all(scene.client.clone());
    let ours = ListParams::default().labels("tidegate.io/permission");
    let listed = bindings.list(&ours).await.expect("a list").items;
    let places: Vec<(String, String)> = listed
        .iter()
        .map(|one| {
            let meta = one.metadata.clone();
            (meta.namespace.unwrap_or_default(), meta.name.unwrap_or_default())
        })
        .collect();
    let place = |namespace: &str, name: &str| (namespace.to_owned(), name.to_owned());
    assert_eq!(
        places,
        [
            place("c1", "open-cluster-management:hello:clusterrole:agent:c1:0"),
            place("shared", "open-cluster-management:hello:role:agent:c1:1"),
        ]
    );
    let addons: Api<ClusterManagementAddOn> = Api::all(scene.client.clone());
    addons
        .delete("hello", &DeleteParams::default())
        .await
        .expect("the add-on is deleted");
    eventually("nothing is left", || async {
        bindings.list(&ours).await.expect("a list").items.is_empty()
    })
    .await;
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_infrastructure_follows_the_driver() {
    let scene = Scene::start().await;
    scene.load(json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": "hello"}, "spec": {}})).await;
    drive(&scene, "token").await;
    let accounts: Api<ServiceAccount> = Api::namespaced(scene.client.clone(), CLUSTER);
    scene
        .says("TokenInfrastructureReady", "True TokenInfrastructureReady ")
        .await;
    let uid = accounts
        .get("hello-agent")
        .await
        .expect("the account")
        .metadata
        .uid
        .unwrap_or_default();
    let said = format!("True TokenInfrastructureReady ServiceAccount c1/hello-agent (UID: {uid}) is ready");
    assert_eq!(scene.condition("TokenInfrastructureReady").await, said);
    let roles: Api<Role> = Api::namespaced(scene.client.clone(), CLUSTER);
    let rules = roles
        .get("hello-token-role")
        .await
        .expect("the role")
        .rules
        .unwrap_or_default();
    assert_eq!(
        rules[0].resource_names.as_deref(),
        Some(&["hello-agent".to_owned()][..])
    );
    drive(&scene, "csr").await;
    let bindings: Api<RoleBinding> = Api::namespaced(scene.client.clone(), CLUSTER);
    eventually("everything goes", || async {
        scene.condition("TokenInfrastructureReady").await.is_empty()
            && accounts
                .get_opt("hello-agent")
                .await
                .expect("an answer")
                .is_none()
            && roles
                .get_opt("hello-token-role")
                .await
                .expect("an answer")
                .is_none()
            && bindings
                .get_opt("hello-token-role")
                .await
                .expect("an answer")
                .is_none()
    })
    .await;
    scene.stop().await;
}

/// What the cluster's own agent writes.
async fn drive(scene: &Scene, driver: &str) {
    let api: Api<ManagedClusterAddOn> = Api::namespaced(scene.client.clone(), CLUSTER);
    let patch =
        json!({"status": {"kubeClientDriver": driver, "registrations": [{"signerName": HUB_SIGNER}]}});
    api.patch_status("hello", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .expect("the status is written");
}
