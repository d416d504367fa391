//! Access control on the wire: exact texts where kubectl shows less than the hub says.

use devhub::{Authz, DevHub};
use http::HeaderMap;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::{Value, json};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1";
const SELF: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

struct Rig {
    hub: DevHub,
}

impl Rig {
    async fn start() -> Self {
        let hub = DevHub::builder().authz(Authz::Rbac).start().await;
        Self {
            hub: hub.expect("a hub starts"),
        }
    }

    /// Asks with some headers; returns status and answer.
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> (u16, Value) {
        let mut map = HeaderMap::new();
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            let name: HeaderName = name.parse().expect("a header");
            map.append(name, value.parse().expect("a value"));
        }
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut request = http::Request::builder().method(method).uri(path);
        *request.headers_mut().expect("a request") = map;
        let request = request
            .body(kube::client::Body::from(text.into_bytes()))
            .expect("a request");
        let answer = self.hub.client().send(request).await.expect("an answer");
        let status = answer.status().as_u16();
        let bytes = answer.into_body().collect_bytes().await.expect("a body");
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn load(&self, object: Value) {
        self.hub.preload(&object).await.expect("it is good");
    }

    /// Gives a user a role of the whole cluster with these rules.
    async fn grant(&self, user: &str, rules: Value) {
        let name = format!("of-{user}");
        self.load(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": name }, "rules": rules,
        }))
        .await;
        self.load(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
            "subjects": [{ "kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io" }],
        }))
        .await;
    }
}

fn message(answer: &Value) -> &str {
    answer["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn who_is_impersonated_gets_the_groups_that_come_with_the_name() {
    let rig = Rig::start().await;
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    for (headers, expected) in [
        (
            vec![("Impersonate-User", "system:serviceaccount:team:robot")],
            json!({"username": "system:serviceaccount:team:robot",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated"]}),
        ),
        (
            vec![
                ("Impersonate-User", "jane"),
                ("Impersonate-Group", "a"),
                ("Impersonate-Group", "b"),
                ("Impersonate-Uid", "u"),
                ("Impersonate-Extra-Example.com%2Fscopes", "x"),
            ],
            json!({"username": "jane", "uid": "u", "groups": ["a", "b", "system:authenticated"],
                "extra": {"example.com/scopes": ["x"]}}),
        ),
    ] {
        let (status, answer) = rig.ask("POST", SELF, &headers, &review).await;
        assert_eq!(
            (status, &answer["status"]["userInfo"]),
            (201, &expected),
            "{answer}"
        );
    }
    let headers = [("Impersonate-User", "system:anonymous")];
    let (status, answer) = rig.ask("POST", SELF, &headers, &review).await;
    assert_eq!(status, 403, "{answer}");
    let (status, answer) = rig
        .ask("POST", SELF, &[("Impersonate-Group", "a")], &review)
        .await;
    assert!(
        status == 500 && message(&answer).contains("without impersonating a user"),
        "{answer}"
    );
    rig.hub.shutdown().await;
}

#[tokio::test]
async fn every_part_of_an_impersonation_needs_its_own_right() {
    let rig = Rig::start().await;
    // The client in this process is an administrator; a service account with a token is not.
    rig.load(json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "jane" } }))
        .await;
    let path = "/api/v1/namespaces/default/serviceaccounts/jane/token";
    let wish = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let (status, answer) = rig.ask("POST", path, &[], &wish).await;
    assert_eq!(status, 201, "{answer}");
    let token = format!("Bearer {}", answer["status"]["token"].as_str().expect("a token"));
    let account = "system:serviceaccount:default:jane";
    rig.grant(
        account,
        json!([
            { "verbs": ["impersonate"], "apiGroups": [""], "resources": ["users", "groups"], "resourceNames": ["jim", "devs"] },
            { "verbs": ["impersonate"], "apiGroups": ["authentication.k8s.io"], "resources": ["userextras/scopes"] },
        ]),
    )
    .await;
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    for (extra, refusal) in [
        (("Impersonate-Group", "devs"), ""),
        (("Impersonate-Extra-Scopes", "view"), ""),
        (
            ("Impersonate-Group", "ops"),
            "groups \"ops\" is forbidden: User \"system:serviceaccount:default:jane\" cannot impersonate resource \"groups\" in API group \"\" at the cluster scope",
        ),
        (
            ("Impersonate-Uid", "u"),
            "uids.authentication.k8s.io \"u\" is forbidden: User \"system:serviceaccount:default:jane\" cannot impersonate resource \"uids\" in API group \"authentication.k8s.io\" at the cluster scope",
        ),
        (
            ("Impersonate-Extra-Other", "x"),
            "userextras.authentication.k8s.io \"x\" is forbidden: User \"system:serviceaccount:default:jane\" cannot impersonate resource \"userextras/other\" in API group \"authentication.k8s.io\" at the cluster scope",
        ),
    ] {
        let headers = [
            (AUTHORIZATION.as_str(), token.as_str()),
            ("Impersonate-User", "jim"),
            extra,
        ];
        let (status, answer) = rig.ask("POST", SELF, &headers, &review).await;
        assert_eq!(status, if refusal.is_empty() { 201 } else { 403 }, "{answer}");
        assert_eq!(message(&answer), refusal);
    }
    rig.hub.shutdown().await;
}

#[tokio::test]
async fn questions_say_why_and_what_they_lack() {
    let rig = Rig::start().await;
    rig.grant(
        "jane",
        json!([{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }]),
    )
    .await;
    rig.load(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "broken" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "gone" },
        "subjects": [{ "kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io" }],
    }))
    .await;
    let ask = async |verb: &str, namespace: &str| {
        let body = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
            "user": "jane", "resourceAttributes": { "verb": verb, "resource": "pods", "namespace": namespace },
        } });
        let path = format!("{REVIEWS}/subjectaccessreviews");
        rig.ask("POST", &path, &[], &body).await.1["status"].clone()
    };
    let by = "RBAC: allowed by ClusterRoleBinding \"of-jane\" of ClusterRole \"of-jane\" to User \"jane\"";
    assert_eq!(
        ask("get", "default").await,
        json!({ "allowed": true, "reason": by })
    );
    assert_eq!(ask("list", "other").await, json!({ "allowed": false }));
    assert_eq!(
        ask("list", "default").await,
        json!({ "allowed": false, "reason": "RBAC: role.rbac.authorization.k8s.io \"gone\" not found" })
    );
    let (status, answer) = rig
        .ask(
            "GET",
            "/api/v1/namespaces/default/secrets",
            &[("Impersonate-User", "jane")],
            &Value::Null,
        )
        .await;
    assert_eq!(status, 403);
    assert_eq!(
        message(&answer),
        "secrets is forbidden: User \"jane\" cannot list resource \"secrets\" in API group \"\" in the namespace \"default\": RBAC: role.rbac.authorization.k8s.io \"gone\" not found"
    );
    let local = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview",
        "metadata": { "namespace": "default" },
        "spec": { "user": "jane", "resourceAttributes": { "verb": "get", "resource": "pods", "namespace": "other" } } });
    let path = format!("{REVIEWS}/namespaces/default/localsubjectaccessreviews");
    let (status, answer) = rig.ask("POST", &path, &[], &local).await;
    assert_eq!(
        (status, message(&answer)),
        (
            400,
            "spec.resourceAttributes.namespace must match namespace: default"
        )
    );
    let rules =
        json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {} });
    let path = format!("{REVIEWS}/selfsubjectrulesreviews");
    let (status, answer) = rig.ask("POST", &path, &[], &rules).await;
    assert_eq!((status, message(&answer)), (400, "no namespace on request"));
    rig.hub.shutdown().await;
}

#[tokio::test]
async fn an_unknown_token_is_rejected_and_no_token_is_anonymous() {
    let rig = Rig::start().await;
    let (status, answer) = rig
        .ask(
            "GET",
            "/api",
            &[(AUTHORIZATION.as_str(), "Bearer nonsense")],
            &Value::Null,
        )
        .await;
    assert_eq!((status, message(&answer)), (401, "Unauthorized"));
    let mut config = rig.hub.config();
    config.auth_info = kube::config::AuthInfo::default();
    let anonymous = kube::Client::try_from(config).expect("a client");
    for (path, expected) in [
        ("/version", 200),
        ("/readyz", 200),
        ("/api", 403),
        ("/metrics", 403),
    ] {
        let request = http::Request::get(path).body(kube::client::Body::empty());
        let answer = anonymous
            .send(request.expect("a request"))
            .await
            .expect("an answer");
        assert_eq!(answer.status(), expected, "{path}");
    }
    rig.hub.shutdown().await;
}
