//! The hub as kubectl meets it: bodies in Kubernetes' binary form, validation by the v2 document, reviews.
//!
//! kubectl itself decides what it sends; these tests only read what it says.

use std::io::Write as _;
use std::process::{Command, Stdio};

use devhub::DevHub;
use http::header::{ACCEPT, CONTENT_TYPE};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Api;
use serde_json::{Value, json};
use tempfile::TempDir;

#[path = "../../../tests/kit/kubectl.rs"]
mod program;

/// A hub and a folder for kubectl's files.
struct Rig {
    hub: DevHub,
    folder: TempDir,
}

impl Rig {
    async fn start() -> Self {
        program::require_kubectl();
        let hub = DevHub::builder()
            .with_service_accounts()
            .start()
            .await
            .expect("a hub starts");
        let folder = tempfile::tempdir().expect("a folder");
        hub.write_kubeconfig(&folder.path().join("kubeconfig"))
            .expect("a kubeconfig");
        Self { hub, folder }
    }

    /// Runs kubectl; returns whether it succeeded and all that it said.
    fn kubectl(&self, words: &str, stdin: &str) -> (bool, String) {
        let mut child = Command::new("kubectl")
            .env("KUBECONFIG", self.folder.path().join("kubeconfig"))
            .env("HOME", self.folder.path())
            .arg("--cache-dir")
            .arg(self.folder.path().join("cache"))
            .args(words.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl starts");
        let mut pipe = child.stdin.take().expect("stdin is piped");
        pipe.write_all(stdin.as_bytes()).expect("kubectl reads");
        drop(pipe);
        let output = child.wait_with_output().expect("kubectl ends");
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&said).trim().to_owned(),
        )
    }

    fn says(&self, words: &str, expected: &str) {
        let (succeeded, said) = self.kubectl(words, "");
        assert!(succeeded && said.contains(expected), "kubectl {words}: {said}");
    }

    async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(http::HeaderName, &str)],
        body: &[u8],
    ) -> (u16, Value) {
        let mut request = http::Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let request = request
            .body(kube::client::Body::from(body.to_vec()))
            .expect("a request");
        let response = self.hub.client().send(request).await.expect("an answer");
        let status = response.status().as_u16();
        let bytes = response.into_body().collect_bytes().await.expect("a body");
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_creates_and_deletes_built_in_kinds_as_it_sends_them_by_itself() {
    let rig = Rig::start().await;
    let (_, traced) = rig.kubectl("create namespace team -v=9", "");
    assert!(
        traced.contains("Content-Type: application/vnd.kubernetes.protobuf"),
        "this kubectl does not send the binary form: {traced}"
    );
    for (words, said) in [
        (
            "create configmap settings -n team --from-literal=a=b",
            "configmap/settings created",
        ),
        (
            "create secret generic key -n team --from-literal=a=b",
            "secret/key created",
        ),
        (
            "create serviceaccount robot -n team",
            "serviceaccount/robot created",
        ),
        (
            "create role reader -n team --verb=get,list --resource=configmaps --resource-name=settings",
            "role.rbac.authorization.k8s.io/reader created",
        ),
        (
            "create rolebinding readers -n team --role=reader --serviceaccount=team:robot --user=jane",
            "rolebinding.rbac.authorization.k8s.io/readers created",
        ),
        (
            "create clusterrole probe --verb=get --non-resource-url=/healthz",
            "clusterrole.rbac.authorization.k8s.io/probe created",
        ),
        (
            "create clusterrolebinding probes --clusterrole=probe --group=ops",
            "clusterrolebinding.rbac.authorization.k8s.io/probes created",
        ),
    ] {
        rig.says(words, said);
    }
    check_what_was_created(&rig).await;
    let (succeeded, said) = rig.kubectl("create configmap settings -n team --from-literal=a=b", "");
    assert!(!succeeded && said.contains("already exists"), "{said}");
    rig.says(
        "delete configmap settings -n team",
        "configmap \"settings\" deleted",
    );
    rig.says(
        "delete namespace team --timeout=20s",
        "namespace \"team\" deleted",
    );
    let namespaces = Api::<Namespace>::all(rig.hub.client());
    assert!(namespaces.get_opt("team").await.unwrap().is_none());
}

async fn check_what_was_created(rig: &Rig) {
    let client = rig.hub.client();
    let map = Api::<ConfigMap>::namespaced(client.clone(), "team")
        .get("settings")
        .await
        .expect("an object");
    assert_eq!(
        serde_json::to_value(map.data).expect("an object"),
        json!({"a": "b"})
    );
    let secret = Api::<Secret>::namespaced(client.clone(), "team")
        .get("key")
        .await
        .expect("an object");
    assert_eq!(
        serde_json::to_value((&secret.data, &secret.type_)).expect("an object"),
        json!([{"a": "Yg=="}, "Opaque"])
    );
    let role = Api::<Role>::namespaced(client.clone(), "team")
        .get("reader")
        .await
        .expect("an object");
    assert_eq!(
        serde_json::to_value(role.rules).expect("an object"),
        json!([{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["settings"], "verbs": ["get", "list"]}])
    );
    let binding = Api::<RoleBinding>::namespaced(client.clone(), "team")
        .get("readers")
        .await
        .expect("an object");
    assert_eq!(
        serde_json::to_value((&binding.role_ref, &binding.subjects)).expect("an object"),
        json!([
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"},
                {"kind": "ServiceAccount", "name": "robot", "namespace": "team"},
            ],
        ])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_asks_what_it_may_do_and_who_it_is() {
    let rig = Rig::start().await;
    rig.says("auth can-i create configmaps", "yes");
    rig.says("auth can-i get /metrics", "yes");
    rig.says("auth can-i --list", "*.*");
    rig.says("auth whoami", "system:masters");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_account_token_is_valid_until_the_account_is_deleted() {
    let rig = Rig::start().await;
    rig.says("create serviceaccount robot -n default", "created");
    let (succeeded, token) = rig.kubectl("create token robot -n default --duration=15m", "");
    assert!(succeeded && token.split('.').count() == 3, "{token}");
    let mut config = rig.hub.config();
    config.auth_info = kube::config::AuthInfo::default();
    config.auth_info.token = Some(token.clone().into());
    let robot = kube::Client::try_from(config).expect("a client");
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let asks = async || {
        let request = http::Request::post(path).header(CONTENT_TYPE, "application/json");
        robot
            .request::<Value>(request.body(review.to_string().into_bytes()).expect("a request"))
            .await
    };
    let user = asks().await.expect("an answer")["status"]["userInfo"].clone();
    assert_eq!(user["username"], "system:serviceaccount:default:robot");
    assert_eq!(
        user["groups"],
        json!([
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated"
        ])
    );

    let (succeeded, foreign) = rig.kubectl("create token robot -n default --audience=elsewhere", "");
    assert!(succeeded, "{foreign}");
    let reviewed = async |token: &str, audience: &str| {
        let body = json!({"spec": {"token": token, "audiences": [audience]}}).to_string();
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let (_, answer) = rig
            .ask(
                "POST",
                path,
                &[(CONTENT_TYPE, "application/json")],
                body.as_bytes(),
            )
            .await;
        answer["status"]["authenticated"] == true
    };
    assert!(reviewed(&foreign, "elsewhere").await && !reviewed(&token, "elsewhere").await);

    rig.says("delete serviceaccount robot -n default", "deleted");
    assert!(asks().await.is_err(), "the account is deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_are_too_short_or_for_a_missing_account_are_rejected() {
    let rig = Rig::start().await;
    rig.says("create serviceaccount robot -n default", "created");
    for (words, refusal) in [
        (
            "create token robot -n default --duration=5m",
            "may not specify a duration less than 10 minutes",
        ),
        (
            "create token missing -n default",
            "serviceaccounts \"missing\" not found",
        ),
        (
            "create token robot -n default --bound-object-kind=Secret --bound-object-name=none",
            "secrets \"none\" not found",
        ),
    ] {
        let (succeeded, said) = rig.kubectl(words, "");
        assert!(!succeeded && said.contains(refusal), "kubectl {words}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_validates_the_items_of_a_list() {
    let rig = Rig::start().await;
    let list = |member: &str| {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, member: {"k": "v"}});
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "b", "namespace": "default"}});
        json!({"apiVersion": "v1", "kind": "List", "items": [map, account]}).to_string()
    };
    let (succeeded, said) = rig.kubectl("apply -f -", &list("data"));
    assert!(
        succeeded && said.contains("configmap/a created") && said.contains("serviceaccount/b created"),
        "{said}"
    );
    let (succeeded, said) = rig.kubectl("apply -f -", &list("data"));
    assert!(succeeded && said.contains("configmap/a unchanged"), "{said}");
    let (succeeded, said) = rig.kubectl("apply -f -", &list("dta"));
    assert!(!succeeded && said.contains("unknown field \"dta\""), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_says_that_a_kind_is_unknown() {
    let rig = Rig::start().await;
    for version in ["v1", "unserved.example.io/v1"] {
        let object = json!({"apiVersion": version, "kind": "Thing", "metadata": {"name": "a"}}).to_string();
        let (succeeded, said) = rig.kubectl("apply -f -", &object);
        let expected = format!("no matches for kind \"Thing\" in version \"{version}\"");
        assert!(!succeeded && said.contains(&expected), "{said}");
    }
}

const BINARY: &str = "application/vnd.kubernetes.protobuf";

#[tokio::test]
async fn bodies_that_cannot_be_read_are_bad_requests() {
    let rig = Rig::start().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    for (path, body, status, text) in [
        (
            maps,
            &b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x02\x0a\x05"[..],
            400,
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: unexpected EOF",
        ),
        (
            maps,
            b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Secret\x12\x00",
            400,
            "Secret in version \"v1\" cannot be handled as a ConfigMap: the kind of the object is Secret",
        ),
        (
            maps,
            b"{\"kind\": \"ConfigMap\"}",
            400,
            "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a \
             protobuf message, expected prefix [107 56 115 0] ({\"kind\": \"ConfigMap\"})",
        ),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            b"k8s\0\x12\x00",
            415,
            "the body of the request was in an unknown format - accepted media types include: application/json, \
             application/yaml",
        ),
    ] {
        let (code, answer) = rig.ask("POST", path, &[(CONTENT_TYPE, BINARY)], body).await;
        assert_eq!((code, answer["message"].as_str()), (status, Some(text)));
    }
}

#[tokio::test]
async fn a_lease_of_a_typed_client_keeps_its_microseconds() {
    let rig = Rig::start().await;
    let body = b"k8s\0\x0a\x1f\x0a\x16coordination.k8s.io/v1\x12\x05Lease\x12\x25\x0a\x03\x0a\x01l\x12\x1e\x0a\x02me\x10\x0f\x1a\x09\x08\x80\xc2\xaf\xf0\x05\x10\x88\x27\x22\x09\x08\x80\xc2\xaf\xf0\x05\x10\x88\x27\x28\x01";
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let headers = [
        (CONTENT_TYPE, BINARY),
        (ACCEPT, "application/vnd.kubernetes.protobuf,application/json"),
    ];
    let (code, answer) = rig.ask("POST", path, &headers, body).await;
    assert_eq!(
        (code, &answer["spec"]["renewTime"]),
        (201, &json!("2020-01-01T00:00:00.000005Z"))
    );
    let lease = Api::<Lease>::default_namespaced(rig.hub.client())
        .get("l")
        .await
        .unwrap();
    assert_eq!(
        lease.spec.and_then(|spec| spec.holder_identity).as_deref(),
        Some("me")
    );
    let (code, _) = rig.ask("GET", path, &[(ACCEPT, BINARY)], b"").await;
    assert_eq!(code, 406, "answers are never written in the binary form");
}
