//! Admission policies with their bindings, against requests over TLS.

use devhub::DevHub;
use serde_json::{Value, json};

use crate::{Scene, conv, convs, new, old};

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A policy for config maps with these members of its spec.
fn policy(change: &Value) -> Value {
    let rule =
        json!({ "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] });
    let mut spec = json!({ "matchConstraints": { "resourceRules": [rule] }, "validations": [{ "expression": "false" }] });
    merge(&mut spec, change);
    json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": "p" }, "spec": spec })
}

fn binding(change: &Value) -> Value {
    let mut spec = json!({ "policyName": "p", "validationActions": ["Deny"] });
    merge(&mut spec, change);
    json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": "b" }, "spec": spec })
}

fn merge(target: &mut Value, change: &Value) {
    match (target, change) {
        (Value::Object(target), Value::Object(change)) => {
            for (name, value) in change {
                merge(target.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (target, value) => *target = value.clone(),
    }
}

fn map(name: &str, data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data })
}

impl Scene {
    /// Replaces policy and binding.
    async fn bind(&self, policy: &Value, binding: &Value) {
        for target in [format!("{BINDINGS}/b"), format!("{POLICIES}/p")] {
            self.send("DELETE", &target, "application/json", None).await;
        }
        self.create(POLICIES, policy).await;
        self.create(BINDINGS, binding).await;
    }

    /// Tries to create a config map; returns status, message and warnings.
    async fn attempt(&self, object: &Value) -> (u16, String, Vec<String>) {
        let target = format!("{MAPS}?dryRun=All");
        let (code, answer, warnings) = self
            .exchange("POST", &target, "application/json", Some(object))
            .await;
        let message = answer["message"].as_str().unwrap_or_default().to_owned();
        (code, message, warnings)
    }
}

/// Returns the refusal of the config map `m` with this text behind the name of policy and binding.
fn denied(cause: &str) -> String {
    format!(
        "configmaps \"m\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: {cause}"
    )
}

/// Checks how the config map `m` is refused by policies with these members.
async fn refused(rows: &[(Value, u16, &str)]) {
    let scene = Scene::new().await;
    let object = map("m", &json!({ "a": "1", "b": "2" }));
    for (change, code, cause) in rows {
        scene.bind(&policy(change), &binding(&json!({}))).await;
        let (found, message, warnings) = scene.attempt(&object).await;
        assert_eq!((found, message), (*code, denied(cause)), "{change}");
        assert_eq!(warnings, [""; 0]);
    }
}

#[tokio::test]
async fn a_policy_says_no_in_its_own_words() {
    let no = |change: Value| {
        let mut validation = json!({ "expression": "false" });
        merge(&mut validation, &change);
        json!({ "validations": [validation] })
    };
    let nope = "object.data.nope == ''";
    let failed = "expression 'object.data.nope == ''' resulted in error: no such key: nope";
    refused(&[
        (json!({}), 422, "failed expression: false"),
        (no(json!({ "expression": " 1 > 2 " })), 422, "failed expression: 1 > 2"),
        (no(json!({ "message": " too small \t", "reason": "Forbidden" })), 403, "too small"),
        (no(json!({ "message": "big", "reason": "RequestEntityTooLarge" })), 413, "big"),
        (no(json!({ "messageExpression": "'no ' + object.metadata.name" })), 422, "no m"),
        (no(json!({ "message": "other", "messageExpression": "'two\\nlines'" })), 422, "other"),
        (no(json!({ "message": "other", "messageExpression": "object.data.nope" })), 422, "other"),
        (no(json!({ "expression": nope })), 422, failed),
        (json!({ "matchConditions": [{ "name": "a", "expression": nope }] }), 422, failed),
        (
            json!({ "validations": null, "auditAnnotations": [{ "key": "k", "valueExpression": "object.data.nope" }] }),
            422,
            "expression 'object.data.nope' resulted in error: no such key: nope",
        ),
    ])
    .await;
}

#[tokio::test]
async fn expressions_see_the_request_its_surroundings_and_their_own_variables() {
    let sees = |expression: &str| json!({ "validations": [{ "expression": "false", "messageExpression": expression }] });
    refused(&[
        (
            json!({
                "variables": [{ "name": "size", "expression": "object.data.size()" }, { "name": "big", "expression": "variables.size > 1" }],
                "validations": [{ "expression": "!variables.big", "messageExpression": "'size ' + string(variables.size)" }],
            }),
            422,
            "size 2",
        ),
        (
            json!({ "validations": [{ "expression": "authorizer.requestResource.check('create').allowed()" },
                { "expression": "!authorizer.group('').resource('pods').check('explode').allowed()", "message": "may explode" }] }),
            422,
            "may explode",
        ),
        (sees("namespaceObject.metadata.labels['kubernetes.io/metadata.name']"), 422, "default"),
        (sees("has(namespaceObject.metadata.managedFields) ? 'all' : 'some'"), 422, "some"),
        (sees("request.operation + ' ' + request.resource.resource + ' ' + string(request.dryRun)"), 422, "CREATE configmaps true"),
        (sees("request.userInfo.username + (oldObject == null ? ' creates' : ' changes')"), 422, "admin creates"),
    ])
    .await;
}

#[tokio::test]
async fn what_a_policy_does_not_mean_it_leaves_alone() {
    let scene = Scene::new().await;
    let none = json!({});
    let excluded = json!([{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "resourceNames": ["m"] }]);
    let named = json!([{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "resourceNames": ["other"] }]);
    let rows = [
        (
            json!({ "failurePolicy": "Ignore", "validations": [{ "expression": "object.data.nope == ''" }] }),
            none.clone(),
        ),
        (
            json!({ "matchConditions": [{ "name": "a", "expression": "request.operation == 'DELETE'" }] }),
            none.clone(),
        ),
        (
            json!({ "matchConstraints": { "excludeResourceRules": excluded } }),
            none.clone(),
        ),
        (
            json!({ "matchConstraints": { "resourceRules": named } }),
            none.clone(),
        ),
        (
            json!({ "matchConstraints": { "objectSelector": { "matchLabels": { "a": "b" } } } }),
            none.clone(),
        ),
        (
            json!({}),
            json!({ "matchResources": { "namespaceSelector": { "matchLabels": { "a": "b" } } } }),
        ),
        (json!({}), json!({ "matchResources": { "resourceRules": named } })),
        (json!({}), json!({ "policyName": "another" })),
        (json!({}), json!({ "validationActions": ["Audit"] })),
    ];
    for (change, bound) in rows {
        scene.bind(&policy(&change), &binding(&bound)).await;
        let (code, message, _) = scene.attempt(&map("m", &json!({}))).await;
        assert_eq!(code, 201, "{change} {bound}: {message}");
    }
    scene
        .bind(
            &policy(&json!({})),
            &binding(&json!({ "validationActions": ["Warn", "Audit"] })),
        )
        .await;
    let (code, _, warnings) = scene.attempt(&map("m", &json!({}))).await;
    let expected = "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': failed expression: false\"";
    assert_eq!((code, warnings), (201, vec![expected.to_owned()]));
    scene.bind(&policy(&json!({})), &binding(&json!({}))).await;
    assert_eq!(scene.attempt(&map("m", &json!({}))).await.0, 422);
    scene
        .ok("DELETE", &format!("{BINDINGS}/b"), "application/json", None)
        .await;
    assert_eq!(
        scene.attempt(&map("m", &json!({}))).await.0,
        201,
        "a policy without a binding does nothing"
    );
}

#[tokio::test]
async fn parameters_are_found_by_name_by_selector_or_not_at_all() {
    let scene = Scene::new().await;
    let limit = |name: &str, most: &str, tier: &str| {
        let mut object = map(name, &json!({ "most": most }));
        object["metadata"]["labels"] = json!({ "tier": tier });
        object
    };
    scene.create(MAPS, &limit("l1", "1", "a")).await;
    scene.create(MAPS, &limit("l2", "2", "a")).await;
    let kind = json!({ "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" }, "validations": [{
        "expression": "params == null || object.data.size() <= int(params.data.most)",
        "messageExpression": "'more than ' + params.data.most" }] });
    let by = |reference: Value| json!({ "paramRef": reference });
    let missing =
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    let rows = [
        (
            by(json!({ "name": "l1", "parameterNotFoundAction": "Deny" })),
            Some("more than 1"),
        ),
        (
            by(json!({ "name": "l2", "parameterNotFoundAction": "Deny" })),
            None,
        ),
        (
            by(json!({ "name": "l1", "namespace": "default", "parameterNotFoundAction": "Deny" })),
            Some("more than 1"),
        ),
        (
            by(json!({ "name": "l1", "namespace": "kube-system", "parameterNotFoundAction": "Allow" })),
            None,
        ),
        (
            by(json!({ "name": "none", "parameterNotFoundAction": "Deny" })),
            Some(missing),
        ),
        (
            by(json!({ "selector": { "matchLabels": { "tier": "a" } }, "parameterNotFoundAction": "Deny" })),
            Some("more than 1"),
        ),
        (
            by(json!({ "selector": { "matchLabels": { "tier": "b" } }, "parameterNotFoundAction": "Allow" })),
            None,
        ),
        (
            by(json!({ "selector": { "matchLabels": { "tier": "b" } }, "parameterNotFoundAction": "Deny" })),
            Some(missing),
        ),
        (json!({}), None),
    ];
    for (bound, expected) in rows {
        scene.bind(&policy(&kind), &binding(&bound)).await;
        let (code, message, _) = scene.attempt(&map("m", &json!({ "a": "1", "b": "2" }))).await;
        match expected {
            None => assert_eq!(code, 201, "{bound}: {message}"),
            Some(expected) => assert_eq!((code, message), (422, denied(expected)), "{bound}"),
        }
    }
}

#[tokio::test]
async fn a_kind_of_parameters_that_is_not_served_is_the_policys_own_fault() {
    let scene = Scene::new().await;
    let bound = json!({ "paramRef": { "name": "x", "parameterNotFoundAction": "Allow" } });
    let unknown = json!({ "paramKind": { "apiVersion": "rules.example.com/v1", "kind": "Limit" } });
    scene.bind(&policy(&unknown), &binding(&bound)).await;
    let (code, message, _) = scene.attempt(&map("m", &json!({}))).await;
    let expected = "configmaps \"m\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'rules.example.com/v1, Kind=Limit'";
    assert_eq!((code, message.as_str()), (422, expected));
    // Namespaced parameters for an object without a namespace.
    let change = json!({
        "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
        "matchConstraints": { "resourceRules": [{ "operations": ["*"], "apiGroups": ["rbac.authorization.k8s.io"], "apiVersions": ["*"], "resources": ["clusterroles"] }] },
    });
    scene.bind(&policy(&change), &binding(&bound)).await;
    let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "r" }, "rules": [] });
    let target = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let (_, status) = scene.send("POST", target, "application/json", Some(&role)).await;
    let expected = "clusterroles.rbac.authorization.k8s.io \"r\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
    assert_eq!(status["message"], expected);
}

#[tokio::test]
async fn a_policy_sees_objects_and_parameters_in_the_versions_that_it_names() {
    let scene = Scene::new().await;
    scene.create(&convs("v1"), &old("limit", "h:9")).await;
    let rule = json!([{ "operations": ["*"], "apiGroups": ["conv.example.io"], "apiVersions": ["v1"], "resources": ["convs"] }]);
    let change = json!({
        "matchConstraints": { "resourceRules": rule },
        "paramKind": { "apiVersion": "conv.example.io/v2", "kind": "Conv" },
        "validations": [{ "expression": "object == null || object.spec.hostPort == 'g:' + params.spec.port",
            "messageExpression": "request.kind.version + ' ' + request.requestKind.version + ' ' + object.spec.hostPort" },
            { "expression": "object != null || oldObject.spec.hostPort != 'g:9'", "message": "stays" }],
    });
    let bound = json!({ "paramRef": { "name": "limit", "parameterNotFoundAction": "Deny" } });
    scene.bind(&policy(&change), &binding(&bound)).await;
    let (code, status) = scene
        .send(
            "POST",
            &convs("v2"),
            "application/json",
            Some(&new("a", "g", "1")),
        )
        .await;
    assert_eq!(code, 422);
    let expected = "convs.conv.example.io \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: v1 v2 g:1";
    assert_eq!(status["message"], expected);
    assert_eq!(
        status["details"],
        json!({ "name": "a", "group": "conv.example.io", "kind": "convs",
        "causes": [{ "message": "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: v1 v2 g:1" }] })
    );
    scene.create(&convs("v2"), &new("a", "g", "9")).await;
    let (code, status) = scene
        .send("DELETE", &conv("v2", "a"), "application/json", None)
        .await;
    let message = status["message"].as_str().unwrap_or_default();
    assert!(
        code == 422 && message.ends_with("denied request: stays"),
        "{status}"
    );
    scene.converts("fail").await;
    let (_, status) = scene
        .send("POST", &convs("v1"), "application/json", Some(&old("c", "g:9")))
        .await;
    let message = status["message"].as_str().unwrap_or_default();
    let expected = "denied request: failed to configure binding: conversion webhook for conv.example.io/v1, Kind=Conv failed: cannot convert today";
    assert!(message.ends_with(expected), "{message}");
}

#[tokio::test]
async fn what_cannot_be_right_is_refused_when_it_is_written() {
    let scene = Scene::new().await;
    let rows = [
        (
            POLICIES,
            policy(&json!({ "validations": [{ "expression": "1 + 1" }] })),
            "spec.validations[0].expression: Invalid value: \"1 + 1\": must evaluate to bool but got int",
        ),
        (
            POLICIES,
            policy(&json!({ "validations": [{ "expression": "params.x" }] })),
            "spec.validations[0].expression: Invalid value: \"params.x\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.x\n | ^",
        ),
        (
            POLICIES,
            policy(&json!({ "matchConstraints": null })),
            "spec.matchConstraints: Required value",
        ),
        (
            BINDINGS,
            binding(&json!({ "validationActions": ["Deny", "Deny"] })),
            "spec.validationActions[1]: Duplicate value: \"Deny\"",
        ),
    ];
    for (target, object, expected) in rows {
        let (code, status) = scene
            .send("POST", target, "application/json", Some(&object))
            .await;
        let message = status["message"].as_str().unwrap_or_default();
        assert_eq!(code, 422, "{status}");
        assert!(
            message.ends_with(&format!(" is invalid: {expected}")),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_policy_has_defaults_and_a_status_of_its_own() {
    let scene = Scene::of(DevHub::builder()).await;
    let created = scene.create(POLICIES, &policy(&json!({}))).await;
    assert_eq!(created["spec"]["failurePolicy"], "Fail");
    assert_eq!(created["spec"]["matchConstraints"]["matchPolicy"], "Equivalent");
    assert_eq!(
        created["spec"]["matchConstraints"]["resourceRules"][0]["scope"],
        "*"
    );
    assert_eq!(
        (&created["metadata"]["generation"], &created["status"]),
        (&json!(1), &json!({}))
    );
    let target = format!("{POLICIES}/p");
    scene
        .patch(
            &target,
            &json!({ "spec": { "failurePolicy": "Ignore" }, "status": { "observedGeneration": 9 } }),
        )
        .await;
    for _ in 0..200 {
        let seen = scene.get(&target).await;
        assert_ne!(
            seen["status"]["observedGeneration"], 9,
            "the status is not part of the object"
        );
        if seen["status"]["observedGeneration"] == 2 {
            assert_eq!(seen["status"]["typeChecking"], json!({}));
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(
        scene.get(&target).await["status"],
        json!({ "observedGeneration": 2, "typeChecking": {} })
    );
}
