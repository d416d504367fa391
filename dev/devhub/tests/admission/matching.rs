//! Which webhooks are called for which request.

use devhub::{
    ApiError,
    admission::{Attributes, Kind, Operation},
};
use serde_json::{Value, json};

use crate::{Scene, create, none, widget};

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
    let removal = Attributes {
        operation: Operation::Delete,
        old_object: Some(object),
        ..namespace
    };
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
