//! The webhook chain against a real HTTPS webhook.

#[path = "golden/hook/mod.rs"]
mod hook;

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use devhub::{
    ApiError,
    admission::{Attributes, Chain, Hooks, Kind, Operation, Services, UserInfo, Warnings},
};
use serde_json::{Value, json};

use hook::Hook;

/// A webhook server and a chain with hooks that point to it.
struct Scene {
    server: Hook,
    chain: Chain,
}

impl Scene {
    /// `hooks` are actions of the webhook with further members of the hook.
    async fn new(mutating: &[(&str, Value)], validating: &[(&str, Value)]) -> Self {
        let server = Hook::start().await;
        let chain = Chain::new();
        let services = Services::default().with("default", "hook", server.address);
        let configuration = |phase: &str, hooks: &[(&str, Value)]| {
            let webhooks: Vec<Value> = hooks
                .iter()
                .map(|(action, members)| written(&server, phase, action, members))
                .collect();
            json!({ "metadata": { "name": "hooks" }, "webhooks": webhooks })
        };
        let (mutating, validating) = (configuration("m", mutating), configuration("v", validating));
        chain.install(Hooks::from_objects(&[mutating], &[validating], &services));
        Self { server, chain }
    }

    async fn mutate(
        &self,
        request: &Attributes,
        object: Value,
    ) -> (Result<Option<Value>, ApiError>, Vec<String>) {
        let mut warnings = Warnings::new();
        let result = self
            .chain
            .mutate(request, Some(object), &|_| {}, &mut warnings)
            .await;
        (result, warnings.texts())
    }

    async fn validate(&self, request: &Attributes, object: &Value) -> (Result<(), ApiError>, Vec<String>) {
        let mut warnings = Warnings::new();
        let result = self.chain.validate(request, Some(object), &mut warnings).await;
        (result, warnings.texts())
    }

    fn called(&self) -> Vec<String> {
        self.server
            .take_calls()
            .into_iter()
            .map(|call| call.path)
            .collect()
    }
}

fn written(server: &Hook, phase: &str, action: &str, members: &Value) -> Value {
    let mut hook = json!({
        "name": format!("{}.example.io", action.replace('/', "-")),
        "clientConfig": { "url": format!("{}/{phase}/{action}", server.url()), "caBundle": STANDARD.encode(&server.ca_pem) },
        "rules": [{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"] }],
        "sideEffects": "None", "admissionReviewVersions": ["v1"],
    });
    for (name, member) in members.as_object().into_iter().flatten() {
        hook[name] = member.clone();
    }
    hook
}

fn create() -> Attributes {
    Attributes {
        operation: Operation::Create,
        group: "dev.example.io".to_owned(),
        version: "v1".to_owned(),
        resource: "widgets".to_owned(),
        subresource: String::new(),
        kind: Kind {
            group: "dev.example.io".to_owned(),
            version: "v1".to_owned(),
            kind: "Widget".to_owned(),
        },
        name: "w".to_owned(),
        namespace: "ns".to_owned(),
        namespace_labels: BTreeMap::from([("team".to_owned(), "a".to_owned())]),
        user: UserInfo {
            name: "admin".to_owned(),
            uid: "admin-uid".to_owned(),
            groups: vec!["system:masters".to_owned()],
            extra: BTreeMap::new(),
        },
        old_object: None,
        options: json!({ "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" }),
        dry_run: false,
        equivalent_versions: vec!["v2".to_owned()],
    }
}

fn widget() -> Value {
    json!({ "apiVersion": "dev.example.io/v1", "kind": "Widget", "metadata": { "name": "w", "labels": { "hook": "yes" } },
        "spec": { "size": 1 } })
}

fn none() -> Value {
    json!({})
}

#[tokio::test]
async fn tells_a_webhook_everything_about_the_request() {
    let scene = Scene::new(&[], &[("allow", none())]).await;
    let (result, _) = scene.validate(&create(), &widget()).await;
    assert_eq!(result, Ok(()));
    let calls = scene.server.take_calls();
    let call = calls.first().expect("one call");
    assert_eq!(call.query, "timeout=10s");
    assert_eq!(call.caller.0, "kube-apiserver-admission");
    let mut request = call.review["request"].clone();
    assert_eq!(request["uid"].take().as_str().map(str::len), Some(36));
    let kind = json!({ "group": "dev.example.io", "version": "v1", "kind": "Widget" });
    let resource = json!({ "group": "dev.example.io", "version": "v1", "resource": "widgets" });
    let expected = json!({ "uid": null, "kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
        "name": "w", "namespace": "ns", "operation": "CREATE", "dryRun": false, "object": widget(), "oldObject": null,
        "options": { "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" },
        "userInfo": { "username": "admin", "uid": "admin-uid", "groups": ["system:masters"] } });
    assert_eq!(request, expected);
}

#[tokio::test]
async fn reuses_the_connection_to_a_webhook() {
    let scene = Scene::new(&[], &[("allow", none())]).await;
    for _ in 0..5 {
        assert_eq!(scene.validate(&create(), &widget()).await.0, Ok(()));
    }
    let connections: Vec<usize> = scene
        .server
        .take_calls()
        .into_iter()
        .map(|call| call.caller.1)
        .collect();
    assert_eq!(connections, [1, 1, 1, 1, 1]);
}

#[tokio::test]
async fn patches_one_hook_after_the_other() {
    let scene = Scene::new(
        &[("append/A", none()), ("append/B", none()), ("set-size/7", none())],
        &[],
    )
    .await;
    let (result, _) = scene.mutate(&create(), widget()).await;
    let object = result.expect("allowed").expect("an object");
    assert_eq!(object["metadata"]["annotations"]["trail"], "AB");
    assert_eq!(object["spec"]["size"], 7);
}

#[tokio::test]
async fn asks_again_once_where_a_later_hook_changed_the_object() {
    let again = json!({ "reinvocationPolicy": "IfNeeded" });
    let scene = Scene::new(&[("append/X", again.clone()), ("append/Y", again)], &[]).await;
    let object = scene
        .mutate(&create(), widget())
        .await
        .0
        .expect("allowed")
        .expect("an object");
    assert_eq!(object["metadata"]["annotations"]["trail"], "XYXY");
    let scene = Scene::new(&[("seen-size", none()), ("set-size/9", none())], &[]).await;
    let object = scene
        .mutate(&create(), widget())
        .await
        .0
        .expect("allowed")
        .expect("an object");
    assert_eq!(
        object["metadata"]["annotations"]["seen-size"], "1",
        "the default is to ask once"
    );
}

#[tokio::test]
async fn settles_the_object_before_the_next_hook_sees_it() {
    let scene = Scene::new(&[("set-size/2", none()), ("seen-size", none())], &[]).await;
    let settle = |object: &mut Value| object["spec"]["size"] = json!(3);
    let result = scene
        .chain
        .mutate(&create(), Some(widget()), &settle, &mut Warnings::new())
        .await;
    let object = result.expect("allowed").expect("an object");
    assert_eq!(object["metadata"]["annotations"]["seen-size"], "3");
}

#[tokio::test]
async fn a_refusal_ends_the_mutating_chain_and_keeps_its_warnings() {
    let scene = Scene::new(
        &[("append/A", none()), ("deny-warn", none()), ("append/B", none())],
        &[],
    )
    .await;
    let (result, warnings) = scene.mutate(&create(), widget()).await;
    let message = "admission webhook \"deny-warn.example.io\" denied the request: denied with warnings";
    assert_eq!(result, Err(ApiError::new(400, "", message)));
    assert_eq!(warnings, ["warned before denial"]);
    assert_eq!(scene.called(), ["/m/append/A", "/m/deny-warn"]);
}

#[tokio::test]
async fn the_first_of_several_refusals_is_told() {
    let scene = Scene::new(
        &[],
        &[
            ("allow", none()),
            ("deny-msg/one", none()),
            ("deny-msg/two", none()),
        ],
    )
    .await;
    let (result, _) = scene.validate(&create(), &widget()).await;
    let message = "admission webhook \"deny-msg-one.example.io\" denied the request: denied by one";
    assert_eq!(result, Err(ApiError::new(400, "", message)));
    assert_eq!(scene.called().len(), 3, "they are asked side by side");
}

/// Tells how a validating hook's unusable answer is named under the policy Fail; under Ignore it is no obstacle.
#[track_caller]
fn internal(hook: &str, cause: &str) -> ApiError {
    ApiError::internal(format!("failed calling webhook \"{hook}.example.io\": {cause}"))
}

#[tokio::test]
async fn the_failure_policy_decides_over_calls_that_fail() {
    let rows = [
        (
            "500",
            "failed to call webhook: an error on the server (\"error page\") has prevented the request from succeeding",
        ),
        (
            "503",
            "failed to call webhook: the server is currently unable to handle the request",
        ),
        (
            "404",
            "failed to call webhook: the server could not find the requested resource",
        ),
        (
            "empty",
            "failed to call webhook: 0-length response with status code: 200 and content type: application/json",
        ),
        (
            "no-response",
            "received invalid webhook response: webhook response was absent",
        ),
        (
            "set-size/5",
            "received invalid webhook response: validating webhook may not return response.patch",
        ),
    ];
    for (action, cause) in rows {
        let scene = Scene::new(&[], &[(action, none())]).await;
        let expected = internal(&action.replace('/', "-"), cause);
        assert_eq!(scene.validate(&create(), &widget()).await.0, Err(expected));
        let scene = Scene::new(&[], &[(action, json!({ "failurePolicy": "Ignore" }))]).await;
        assert_eq!(scene.validate(&create(), &widget()).await.0, Ok(()));
    }
}

#[tokio::test]
async fn a_bad_patch_is_never_forgiven_but_an_undecodable_one_is() {
    let ignore = json!({ "failurePolicy": "Ignore" });
    let scene = Scene::new(&[("bad-patch", ignore.clone())], &[]).await;
    let text = "remove operation does not apply: doc is missing path: \"/nope/x\": missing value";
    assert_eq!(
        scene.mutate(&create(), widget()).await.0,
        Err(ApiError::internal(text))
    );
    let scene = Scene::new(&[("test-fails", none())], &[]).await;
    let text = "testing value /spec/size failed: test failed";
    assert_eq!(
        scene.mutate(&create(), widget()).await.0,
        Err(ApiError::internal(text))
    );
    let scene = Scene::new(&[("patch-not-json", none())], &[]).await;
    let text = "received undecodable patch in webhook response: invalid character 'h' looking for beginning of value";
    assert_eq!(
        scene.mutate(&create(), widget()).await.0,
        Err(internal("patch-not-json", text))
    );
    let scene = Scene::new(&[("patch-not-json", ignore), ("wrong-patch-type", none())], &[]).await;
    assert_eq!(scene.mutate(&create(), widget()).await.0, Ok(Some(widget())));
}

#[tokio::test]
async fn a_removal_cannot_be_patched() {
    let scene = Scene::new(&[("label/a/b", none())], &[]).await;
    let request = Attributes {
        operation: Operation::Delete,
        old_object: Some(widget()),
        ..create()
    };
    let result = scene
        .chain
        .mutate(&request, None, &|_| {}, &mut Warnings::new())
        .await;
    let text = "admission webhook \"label-a-b.example.io\" attempted to modify the object, which is not supported for this operation";
    assert_eq!(result, Err(ApiError::internal(text)));
}

#[tokio::test]
async fn gives_up_when_the_time_is_over() {
    let scene = Scene::new(&[], &[("slow", json!({ "timeoutSeconds": 1 }))]).await;
    let url = format!("{}/v/slow?timeout=1s", scene.server.url());
    let cause = format!("failed to call webhook: Post \"{url}\": context deadline exceeded");
    assert_eq!(
        scene.validate(&create(), &widget()).await.0,
        Err(internal("slow", &cause))
    );
}

/// A hook with this client configuration fails with this cause.
async fn fails(scene: &Scene, config: Value, cause: &str) {
    let hook = written(&scene.server, "v", "allow", &json!({ "clientConfig": config }));
    let object = json!({ "metadata": { "name": "x" }, "webhooks": [hook] });
    scene
        .chain
        .install(Hooks::from_objects(&[], &[object], &Services::default()));
    assert_eq!(
        scene.validate(&create(), &widget()).await.0,
        Err(internal("allow", cause))
    );
}

#[tokio::test]
async fn names_what_keeps_it_from_connecting() {
    let scene = Scene::new(&[], &[]).await;
    let bundle = STANDARD.encode(&scene.server.ca_pem);
    let closed = "https://127.0.0.1:1/x";
    let cause = format!(
        "failed to call webhook: Post \"{closed}?timeout=10s\": dial tcp 127.0.0.1:1: connect: connection refused"
    );
    fails(&scene, json!({ "url": closed, "caBundle": bundle }), &cause).await;
    let url = format!("{}/v/allow", scene.server.url());
    let other = STANDARD.encode(&Hook::start().await.ca_pem);
    let cause = format!(
        "failed to call webhook: Post \"{url}?timeout=10s\": tls: failed to verify certificate: x509: certificate signed by unknown authority"
    );
    fails(&scene, json!({ "url": url, "caBundle": other }), &cause).await;
}

#[tokio::test]
async fn names_what_is_wrong_with_a_client_configuration() {
    let scene = Scene::new(&[], &[]).await;
    let url = format!("{}/v/allow", scene.server.url());
    let cause =
        "could not get REST client: unable to load root certificates: unable to parse bytes as PEM block";
    fails(&scene, json!({ "url": url, "caBundle": "YmFk" }), cause).await;
    let cause =
        "could not get REST client: no caBundle is given, and this hub trusts no certificates of the system";
    fails(&scene, json!({ "url": url }), cause).await;
    let cause = "could not get REST client: service \"a/b\" has no address: this hub runs no Services, name its address when the hub is built";
    let bundle = STANDARD.encode(&scene.server.ca_pem);
    fails(
        &scene,
        json!({ "service": { "namespace": "a", "name": "b" }, "caBundle": bundle }),
        cause,
    )
    .await;
}

#[tokio::test]
async fn calls_services_at_the_address_it_was_told() {
    let scene = Scene::new(&[], &[]).await;
    let config = json!({ "service": { "namespace": "default", "name": "hook", "path": "v/deny" },
        "caBundle": STANDARD.encode(&scene.server.ca_pem) });
    let hook = written(&scene.server, "v", "deny", &json!({ "clientConfig": config }));
    let object = json!({ "metadata": { "name": "x" }, "webhooks": [hook] });
    let services = Services::default().with("default", "hook", scene.server.address);
    scene
        .chain
        .install(Hooks::from_objects(&[], &[object], &services));
    let message = "admission webhook \"deny.example.io\" denied the request: no way";
    assert_eq!(
        scene.validate(&create(), &widget()).await.0,
        Err(ApiError::new(403, "Forbidden", message))
    );
}

#[tokio::test]
async fn refuses_dry_runs_that_would_have_side_effects() {
    let scene = Scene::new(&[], &[("allow", json!({ "sideEffects": "Some" }))]).await;
    let request = Attributes {
        dry_run: true,
        ..create()
    };
    let text = "admission webhook \"allow.example.io\" does not support dry run";
    assert_eq!(
        scene.validate(&request, &widget()).await.0,
        Err(ApiError::bad_request(text))
    );
    assert_eq!(scene.called(), [""; 0]);
}

/// Whether a hook with these members is called.
async fn is_called(members: Value, request: &Attributes, object: &Value) -> bool {
    let scene = Scene::new(&[], &[("allow", members)]).await;
    scene.validate(request, object).await.0.expect("allowed");
    !scene.called().is_empty()
}

fn rule(operations: &str, version: &str, resource: &str, scope: &str) -> Value {
    json!({ "rules": [{ "operations": [operations], "apiGroups": ["dev.example.io"], "apiVersions": [version],
        "resources": [resource], "scope": scope }] })
}

#[tokio::test]
async fn calls_only_the_hooks_whose_rules_match() {
    let status = Attributes {
        operation: Operation::Update,
        subresource: "status".to_owned(),
        ..create()
    };
    let cluster = Attributes {
        namespace: String::new(),
        ..create()
    };
    let rows = [
        (rule("*", "*", "*", "*"), create(), true),
        (rule("CREATE", "v1", "widgets", "Namespaced"), create(), true),
        (rule("UPDATE", "v1", "widgets", "*"), create(), false),
        (rule("*", "v1", "gadgets", "*"), create(), false),
        (rule("*", "v1", "widgets", "Cluster"), create(), false),
        (rule("*", "v1", "widgets", "Cluster"), cluster.clone(), true),
        (rule("*", "v1", "widgets", "Namespaced"), cluster, false),
        (rule("*", "v1", "widgets", "*"), status.clone(), false),
        (rule("*", "v1", "widgets/status", "*"), status.clone(), true),
        (rule("*", "v1", "widgets/*", "*"), status.clone(), true),
        (rule("*", "v1", "*/status", "*"), status.clone(), true),
        (rule("*", "v1", "*/scale", "*"), status, false),
        (rule("*", "v9", "widgets", "*"), create(), false),
    ];
    for (members, request, expected) in rows {
        assert_eq!(
            is_called(members.clone(), &request, &widget()).await,
            expected,
            "{members}"
        );
    }
}

#[tokio::test]
async fn shows_the_object_in_the_version_that_the_rule_names() {
    let scene = Scene::new(&[("label/by/hook", rule("*", "v2", "widgets", "*"))], &[]).await;
    let object = scene
        .mutate(&create(), widget())
        .await
        .0
        .expect("allowed")
        .expect("an object");
    assert_eq!(object["apiVersion"], "dev.example.io/v1");
    assert_eq!(object["metadata"]["labels"]["by"], "hook");
    let calls = scene.server.take_calls();
    let request = &calls.first().expect("one call").review["request"];
    assert_eq!(request["object"]["apiVersion"], "dev.example.io/v2");
    assert_eq!(request["resource"]["version"], "v2");
    assert_eq!(request["requestResource"]["version"], "v1");
    let mut exact = rule("*", "v2", "widgets", "*");
    exact["matchPolicy"] = json!("Exact");
    assert!(!is_called(exact, &create(), &widget()).await);
}

/// Whether a hook with this selector for `key=value` is called.
async fn is_selected(selector: &str, key: &str, value: &str, request: &Attributes, object: &Value) -> bool {
    is_called(
        json!({ selector: { "matchLabels": { key: value } } }),
        request,
        object,
    )
    .await
}

#[tokio::test]
async fn selects_by_labels_of_the_namespace() {
    let object = widget();
    assert!(is_selected("namespaceSelector", "team", "a", &create(), &object).await);
    assert!(!is_selected("namespaceSelector", "team", "b", &create(), &object).await);
    let cluster = Attributes {
        namespace: String::new(),
        ..create()
    };
    assert!(
        is_selected("namespaceSelector", "team", "b", &cluster, &object).await,
        "it has no namespace"
    );
    let namespace = Attributes {
        group: String::new(),
        resource: "namespaces".to_owned(),
        namespace: String::new(),
        kind: Kind {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "Namespace".to_owned(),
        },
        ..create()
    };
    assert!(
        is_selected("namespaceSelector", "hook", "yes", &namespace, &object).await,
        "its own labels count"
    );
    assert!(!is_selected("namespaceSelector", "team", "a", &namespace, &object).await);
    let removal = Attributes { operation: Operation::Delete, old_object: Some(object), ..namespace };
    assert!(is_selected("namespaceSelector", "hook", "yes", &removal, &Value::Null).await);
}

#[tokio::test]
async fn selects_by_labels_of_the_object_before_or_after() {
    let unlabelled = json!({ "metadata": { "name": "w" } });
    let update = Attributes {
        operation: Operation::Update,
        old_object: Some(widget()),
        ..create()
    };
    assert!(is_selected("objectSelector", "hook", "yes", &create(), &widget()).await);
    assert!(!is_selected("objectSelector", "hook", "yes", &create(), &unlabelled).await);
    assert!(is_selected("objectSelector", "hook", "yes", &update, &unlabelled).await);
}

#[tokio::test]
async fn conditions_narrow_the_rules_down() {
    let when = |expression: &str, policy: &str| json!({ "failurePolicy": policy, "matchConditions": [{ "name": "c", "expression": expression }] });
    assert!(is_called(when("object.spec.size == 1", "Fail"), &create(), &widget()).await);
    assert!(!is_called(when("object.spec.size > 1", "Fail"), &create(), &widget()).await);
    assert!(!is_called(when("object.spec.nope == 1", "Ignore"), &create(), &widget()).await);
    let scene = Scene::new(&[], &[("allow", when("object.spec.nope == 1", "Fail"))]).await;
    let text = "widgets.dev.example.io \"w\" is forbidden: expression 'object.spec.nope == 1' resulted in error: no such key: nope";
    let details = json!({ "name": "w", "group": "dev.example.io", "kind": "widgets" });
    let expected = ApiError::new(403, "Forbidden", text).with_details(details);
    assert_eq!(scene.validate(&create(), &widget()).await.0, Err(expected));
}

#[tokio::test]
async fn never_calls_webhooks_for_webhook_configurations() {
    let request = Attributes {
        group: "admissionregistration.k8s.io".to_owned(),
        resource: "validatingwebhookconfigurations".to_owned(),
        ..create()
    };
    assert!(!is_called(none(), &request, &widget()).await);
}
