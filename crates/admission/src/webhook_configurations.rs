//! The webhook configurations: for which requests the API server calls the gate, and what happens if the gate does not respond.
//!
//! They name single resources, no status, and nothing that this program or a cluster needs to start. For Placements and
//! ManagedClusterSetBindings, which add-ons depend on, they contain only deletions, for advice.
//!
//! There are three webhooks. `mutate` and `advice` receive every new object, every changed spec and all metadata that a policy can read,
//! and fail open: objects that they miss are reported later by the audit, or refused by the schema of the CRD. `guard` fails closed,
//! because one stored object can stop every add-on of a hub with OCM's add-on manager. A match condition limits it to specs that may be such
//! an object, so an unavailable gate blocks nothing else. Requests of users in the group [`BREAK_GLASS`] are never sent to the gate,
//! even while it is unavailable; they are in the audit log of the API server.
//! Why the conditions contain all metadata and not only what the current policies read: docs/decisions/0005-policies-read-metadata.md.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::metadata::IMMUTABLE;
use super::request::{CLEANERS, MetadataPart};
use super::subject::{
    Addon, AddonPolicy, Approval, ClusterAddon, DeploymentConfig, Freeze, HubConfig, Kind, Placement,
    Profile, ReplicaSet, Rollout, RolloutCheck, SetBinding, Template, Upgrade,
};
use api::conversion::Version;
use api::names::OWN_GROUP;
use api::v1alpha1::{GROUP, VERSION};
use model::RolloutKind;

/// Path of the mutating webhook.
pub const MUTATE_PATH: &str = "/mutate";
/// Path of the validating webhook.
pub const VALIDATE_PATH: &str = "/validate";

/// The timeout of the webhooks, in seconds. The gate responds much earlier; the rest is for a busy API server or network.
pub const TIMEOUT_SECONDS: u64 = 10;

/// Where the API server finds the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// At an address, such as `https://127.0.0.1:9443`.
    Url(String),
    /// Behind a service.
    Service {
        /// Namespace of the service.
        namespace: String,
        /// Name of the service.
        name: String,
        /// Port of the service.
        port: u16,
    },
}

/// The first minor version of Kubernetes 1 that keeps the match conditions of webhooks without a feature gate. Until 1.29 the feature gate
/// `AdmissionWebhookMatchConditions` can turn them off; the API server then drops them without an error.
pub const CONDITIONS_SINCE_MINOR: u32 = 28;

/// The group for whose requests the API server does not call the gate.
pub const BREAK_GLASS: &str = "tidegate:break-glass";

/// The name of the condition that limits the webhook that fails closed.
const MAY_STOP_OCM: &str = "may-be-poison";
const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";
/// Durations that every parser of a rollout accepts: short enough that none of them overflows.
const PLAIN_SOAK: &str = "^(0|([0-9]{1,5}([.][0-9]{1,5})?(h|m|s|ms|us|ns)){1,4})$";
const PLAIN_DEADLINE: &str = "^(None|([0-9]{1,5}[hms]){1,4})$";

/// Returns the mutating and the validating webhook configuration.
///
/// Every field is written out, defaults too, so that tools which compare manifests with live objects find no difference.
/// Without `ca_pem` the bundle is left out for another field manager to own, such as cert-manager's injector.
pub fn configurations(endpoint: &Endpoint, ca_pem: Option<&str>) -> [Value; 2] {
    let mut mutating = Webhook {
        name: "mutate.gate.tidegate.io",
        failure: "Ignore",
        rules: json!([
            rule_of_addons(&ADDON_RESOURCES, &["CREATE", "UPDATE"]),
            upgrades(&["CREATE", "UPDATE"]),
            own(Approval::RESOURCE, &["CREATE", "UPDATE"]),
            own(Freeze::RESOURCE, &["CREATE", "UPDATE"]),
            own(Rollout::RESOURCE, &["CREATE", "UPDATE"]),
            own(Profile::RESOURCE, &["CREATE", "UPDATE"]),
            replica_sets(),
            policies(),
        ]),
        conditions: conditions(what_may_be_judged()),
    }
    .render(&endpoint.client(MUTATE_PATH, ca_pem));
    if let Some(webhook) = mutating.as_object_mut() {
        // Another webhook may add fields that the default reads. A second call is safe, because it adds nothing twice.
        webhook.insert("reinvocationPolicy".to_owned(), json!("IfNeeded"));
    }
    let validate = endpoint.client(VALIDATE_PATH, ca_pem);
    let mut narrow = conditions(("changes-the-spec", a_new_spec()));
    narrow.push((MAY_STOP_OCM, may_stop_ocm()));
    let guard = Webhook {
        name: "guard.gate.tidegate.io",
        failure: "Fail",
        rules: json!([rule_of_addons(&[Addon::RESOURCE], &["CREATE", "UPDATE"])]),
        conditions: narrow,
    };
    let advice = Webhook {
        name: "advice.gate.tidegate.io",
        failure: "Ignore",
        rules: json!([
            rule_of_addons(&ADDON_RESOURCES, &["CREATE", "UPDATE", "DELETE"]),
            deletions("v1beta2", SetBinding::RESOURCE),
            deletions("v1beta1", Placement::RESOURCE),
            upgrades(&["CREATE", "UPDATE", "DELETE"]),
            own(Freeze::RESOURCE, &["CREATE", "UPDATE"]),
            own(RolloutCheck::RESOURCE, &["CREATE", "UPDATE", "DELETE"]),
            own(Rollout::RESOURCE, &["CREATE", "UPDATE", "DELETE"]),
            own(Profile::RESOURCE, &["CREATE", "UPDATE", "DELETE"]),
            own(Approval::RESOURCE, &["CREATE", "UPDATE"]),
            replica_sets(),
            policies(),
        ]),
        conditions: conditions(what_may_be_judged()),
    };
    let validating = [guard.render(&validate), advice.render(&validate)];
    [
        configuration("MutatingWebhookConfiguration", "tidegate-mutate", &[mutating]),
        configuration("ValidatingWebhookConfiguration", "tidegate-guard", &validating),
    ]
}

/// The same for hubs on which no spec is stored that the gate has not checked: `guard` receives every new and changed spec. Labels,
/// annotations, finalizers, owners, statuses and deletions are still admitted while the gate is unavailable.
pub fn configurations_that_fail_closed(endpoint: &Endpoint, ca_pem: Option<&str>) -> [Value; 2] {
    let mut both = configurations(endpoint, ca_pem);
    let [_, validating] = &mut both;
    if let Some(guard) = validating
        .pointer_mut("/webhooks/0")
        .and_then(Value::as_object_mut)
    {
        let changes = ["CREATE", "UPDATE"];
        let rules = json!([rule_of_addons(&ADDON_RESOURCES, &changes), upgrades(&changes)]);
        guard.insert("rules".to_owned(), rules);
        if let Some(conditions) = guard.get_mut("matchConditions").and_then(Value::as_array_mut) {
            conditions.retain(|condition| condition.get("name") != Some(&json!(MAY_STOP_OCM)));
        }
    }
    both
}

/// The same for hubs that drop match conditions, such as Kubernetes before 1.28. The webhook that fails closed is omitted: without its
/// condition it would block every add-on while the gate is unavailable.
pub fn configurations_without_conditions(endpoint: &Endpoint, ca_pem: Option<&str>) -> [Value; 2] {
    configurations(endpoint, ca_pem).map(|mut configuration| {
        drop_conditions(&mut configuration);
        configuration
    })
}

/// Changes a webhook configuration to that of [`configurations_without_conditions`]. Other objects stay as they are.
pub fn drop_conditions(configuration: &mut Value) {
    if let Some(webhooks) = configuration.get_mut("webhooks").and_then(Value::as_array_mut) {
        webhooks.retain(|webhook| webhook.get("failurePolicy") != Some(&json!("Fail")));
        for webhook in webhooks.iter_mut().filter_map(Value::as_object_mut) {
            webhook.remove("matchConditions");
        }
    }
}

/// The resources that policies are evaluated for, by group and plural name.
pub const POLICY_RESOURCES: [(&str, &str); 6] = [
    (GROUP, ADDON_RESOURCES[0]),
    (GROUP, ADDON_RESOURCES[1]),
    (GROUP, ADDON_RESOURCES[2]),
    (GROUP, ADDON_RESOURCES[3]),
    (GROUP, ADDON_RESOURCES[4]),
    (CLUSTER_GROUP, Upgrade::RESOURCE),
];

/// The resources of add-ons for which the gate receives all operations, in alphabetical order.
pub(super) const ADDON_RESOURCES: [&str; 5] = [
    DeploymentConfig::RESOURCE,
    HubConfig::RESOURCE,
    Template::RESOURCE,
    Addon::RESOURCE,
    ClusterAddon::RESOURCE,
];

impl Endpoint {
    fn client(&self, path: &str, ca_pem: Option<&str>) -> Value {
        let mut client = match self {
            Self::Url(base) => json!({"url": format!("{}{path}", base.trim_end_matches('/'))}),
            Self::Service {
                namespace,
                name,
                port,
            } => {
                json!({"service": {"namespace": namespace, "name": name, "path": path, "port": port}})
            }
        };
        if let (Some(pem), Some(fields)) = (ca_pem, client.as_object_mut()) {
            fields.insert("caBundle".to_owned(), STANDARD.encode(pem).into());
        }
        client
    }
}

fn configuration(kind: &str, name: &str, webhooks: &[Value]) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "tidegate"}},
        "webhooks": webhooks,
    })
}

pub(super) fn rule_of_addons(resources: &[&str], operations: &[&str]) -> Value {
    json!({
        "apiGroups": [GROUP],
        "apiVersions": [VERSION, Version::V1beta1.name()],
        "operations": operations,
        "resources": resources,
        "scope": "*",
    })
}

/// Upgrades of clusters. They need no webhook that fails closed: an invalid one does nothing, and its condition reports it.
fn upgrades(operations: &[&str]) -> Value {
    rule_of(CLUSTER_GROUP, "v1beta1", Upgrade::RESOURCE, operations)
}

/// Policies in their current and their former API group, to check whether they compile. A deletion is always admitted, and a hub without
/// their CRDs sends nothing.
fn policies() -> Value {
    json!({
        "apiGroups": [GROUP, OWN_GROUP],
        "apiVersions": [VERSION],
        "operations": ["CREATE", "UPDATE"],
        "resources": [AddonPolicy::RESOURCE],
        "scope": "*",
    })
}

/// A kind of our own. Checks, freezes and settings of rollouts need no webhook that fails closed: an invalid one stops changes.
/// ManifestWorkReplicaSets. The mutating webhook adds nothing to them, but it is called before the API server applies the schema, which
/// would hide other faults.
fn replica_sets() -> Value {
    rule_of(
        api::work::GROUP,
        VERSION,
        ReplicaSet::RESOURCE,
        &["CREATE", "UPDATE"],
    )
}

/// A kind of our own. Freezes and settings of rollouts need no webhook that fails closed: an invalid one stops changes.
pub(super) fn own(resource: &str, operations: &[&str]) -> Value {
    rule_of(OWN_GROUP, VERSION, resource, operations)
}

/// Deletions of the objects that add-ons depend on.
fn deletions(version: &str, resource: &str) -> Value {
    rule_of(CLUSTER_GROUP, version, resource, &["DELETE"])
}

fn rule_of(group: &str, version: &str, resource: &str, operations: &[&str]) -> Value {
    all_of(group, version, &[resource], operations)
}

/// Several resources of one version.
pub(super) fn all_of(group: &str, version: &str, resources: &[&str], operations: &[&str]) -> Value {
    json!({
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": operations,
        "resources": resources,
        "scope": "*",
    })
}

/// The differences between the webhooks.
struct Webhook {
    name: &'static str,
    failure: &'static str,
    rules: Value,
    conditions: Vec<(&'static str, String)>,
}

impl Webhook {
    fn render(&self, client: &Value) -> Value {
        let conditions = self.conditions.iter();
        let conditions: Vec<Value> = conditions
            .map(|(name, expression)| json!({"name": name, "expression": expression}))
            .collect();
        json!({
            "name": self.name,
            "admissionReviewVersions": ["v1"],
            "clientConfig": client,
            "failurePolicy": self.failure,
            "matchPolicy": "Equivalent",
            "sideEffects": "None",
            "timeoutSeconds": TIMEOUT_SECONDS,
            "namespaceSelector": {},
            "objectSelector": {},
            "rules": self.rules,
            "matchConditions": conditions,
        })
    }
}

/// Conditions that exclude requests from all webhooks: updates that change nothing to check, clean-up by Kubernetes itself, and requests of
/// the break-glass group. No condition may fail: a deletion has no `object`, and a user may have no groups.
pub(super) fn conditions(change: (&'static str, String)) -> Vec<(&'static str, String)> {
    let cleaners = CLEANERS.map(|name| format!("'{name}'")).join(", ");
    vec![
        change,
        (
            "not-cleaning-up",
            format!("!has(request.userInfo.username) || !(request.userInfo.username in [{cleaners}])"),
        ),
        (
            "not-breaking-the-glass",
            format!("!has(request.userInfo.groups) || !('{BREAK_GLASS}' in request.userInfo.groups)"),
        ),
    ]
}

/// The spec is new or changed, also on an object that is being deleted, because a finalizer may keep it for any time.
pub(super) fn a_new_spec() -> String {
    format!("request.operation != 'UPDATE' || {}", differs("spec"))
}

/// The spec, or metadata that a policy can read. For an object that is being deleted only the spec, so that removing a finalizer or
/// changing a label is never blocked.
fn what_may_be_judged() -> (&'static str, String) {
    let metadata = MetadataPart::EVERY.map(|part| differs(&part.path()));
    let metadata = metadata.join(" || ");
    let immutable = IMMUTABLE.map(|name| {
        let (new, old) = (
            format!("object.metadata.{name}"),
            format!("oldObject.metadata.{name}"),
        );
        format!("has({new}) && (!has({old}) || {new} != {old})")
    });
    let immutable = immutable.join(" || ");
    let changes = format!(
        "{} || !has(object.metadata.deletionTimestamp) && ({metadata}) || {immutable}",
        a_new_spec()
    );
    ("changes-what-may-be-judged", changes)
}

/// Returns the expression that is true if a field of the object differs from that of the old one; it may be absent in both.
fn differs(path: &str) -> String {
    let (new, old) = (format!("object.{path}"), format!("oldObject.{path}"));
    format!("has({new}) != has({old}) || has({new}) && has({old}) && {new} != {old}")
}

/// OCM's add-on manager stops if it cannot parse a duration of a rollout.
fn may_stop_ocm() -> String {
    let odd = |block: &str, field: &str, plain: &str| {
        let at = format!("p.rolloutStrategy.{block}.{field}");
        format!("has({at}) && !{at}.matches('{plain}')")
    };
    let blocks = RolloutKind::EVERY.map(|kind| {
        let block = kind.block();
        let soak = odd(block, "minSuccessTime", PLAIN_SOAK);
        let deadline = odd(block, "progressDeadline", PLAIN_DEADLINE);
        format!("has(p.rolloutStrategy.{block}) && ({soak} || {deadline})")
    });
    let blocks = blocks.join(" || ");
    format!(
        "has(object.spec) && has(object.spec.installStrategy) && has(object.spec.installStrategy.placements) && \
         object.spec.installStrategy.placements.exists(p, has(p.rolloutStrategy) && ({blocks}))"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubernetes::duration::GoDuration;

    use expect_test::expect_file;
    use model::{Scalar, Soak};

    fn yaml(value: &Value) -> String {
        let body = serde_saphyr::to_string(value).expect("a configuration is plain data");
        format!(
            "# Generated from crates/admission/src/webhook_configurations.rs; change that instead.\n{body}"
        )
    }

    #[test]
    fn the_manifests_are_up_to_date() {
        let service = Endpoint::Service {
            namespace: "tidegate".into(),
            name: "tidegate".into(),
            port: 443,
        };
        let [mutating, validating] = configurations(&service, None);
        expect_file!["../../../manifests/webhook/mutating.yaml"].assert_eq(&yaml(&mutating));
        expect_file!["../../../manifests/webhook/validating.yaml"].assert_eq(&yaml(&validating));
        let [same, closed] = configurations_that_fail_closed(&service, None);
        assert_eq!(same, mutating);
        expect_file!["../../../manifests/webhook/validating-fail-closed.yaml"].assert_eq(&yaml(&closed));
    }

    fn webhooks() -> Vec<Value> {
        let configurations = configurations(&Endpoint::Url("https://127.0.0.1:1".into()), Some("pem"));
        let all = configurations
            .iter()
            .flat_map(|one| one["webhooks"].as_array().expect("webhooks").clone());
        all.collect()
    }

    #[test]
    fn a_hub_without_conditions_is_held_up_by_nothing_and_still_asks() {
        let endpoint = Endpoint::Url("https://127.0.0.1:1".into());
        let configurations = configurations_without_conditions(&endpoint, Some("pem"));
        let webhooks = configurations
            .iter()
            .flat_map(|one| one["webhooks"].as_array().expect("webhooks"));
        let found: Vec<_> = webhooks
            .map(|one| {
                assert!(one.get("matchConditions").is_none(), "{one}");
                (one["name"].as_str(), one["failurePolicy"].as_str())
            })
            .collect();
        assert_eq!(
            found,
            [
                (Some("mutate.gate.tidegate.io"), Some("Ignore")),
                (Some("advice.gate.tidegate.io"), Some("Ignore")),
            ]
        );
    }

    #[test]
    fn what_fails_closed_is_asked_about_every_new_spec_and_nothing_else() {
        let endpoint = Endpoint::Url("https://127.0.0.1:1".into());
        let [_, closed] = configurations_that_fail_closed(&endpoint, Some("pem"));
        let [_, open] = configurations(&endpoint, Some("pem"));
        let (guard, advice) = (&closed["webhooks"][0], &closed["webhooks"][1]);
        assert_eq!(guard["failurePolicy"], json!("Fail"));
        assert_eq!(*advice, open["webhooks"][1], "deletions and labels fail open");
        let (one, two) = (
            json!({"metadata": {}, "spec": {"a": 1}}),
            json!({"metadata": {}, "spec": {"a": 2}}),
        );
        let labelled = json!({"metadata": {"labels": {"a": "b"}, "finalizers": ["a/b"]}, "spec": {"a": 1}});
        let request = |operation: &str| json!({"operation": operation, "userInfo": {}});
        assert!(asks(guard, &request("CREATE"), &one, &Value::Null));
        assert!(asks(guard, &request("UPDATE"), &two, &one));
        assert!(!asks(guard, &request("UPDATE"), &labelled, &one));
        let rules = guard["rules"].as_array().expect("rules");
        assert_eq!(rules[0]["resources"], json!(ADDON_RESOURCES));
        assert!(
            rules
                .iter()
                .all(|rule| rule["operations"] == json!(["CREATE", "UPDATE"]))
        );
    }

    #[test]
    fn only_named_resources_are_asked_about_and_never_a_status_or_a_namespace() {
        let mut seen = Vec::new();
        for webhook in webhooks() {
            assert_eq!(webhook["timeoutSeconds"], json!(TIMEOUT_SECONDS));
            for rule in webhook["rules"].as_array().expect("rules") {
                let resources = rule["resources"].as_array().expect("resources");
                let names: Vec<&str> = resources.iter().filter_map(Value::as_str).collect();
                if names == [AddonPolicy::RESOURCE] {
                    assert_eq!(rule["apiGroups"], json!([GROUP, OWN_GROUP]));
                    assert_eq!(
                        webhook["failurePolicy"],
                        json!("Ignore"),
                        "it does not stop OCM's add-on manager"
                    );
                } else if [
                    Freeze::RESOURCE,
                    Rollout::RESOURCE,
                    Profile::RESOURCE,
                    RolloutCheck::RESOURCE,
                    Approval::RESOURCE,
                ]
                .contains(&names[0])
                {
                    assert_eq!(rule["apiGroups"], json!([OWN_GROUP]));
                    assert_eq!(
                        webhook["failurePolicy"],
                        json!("Ignore"),
                        "an invalid one stops changes"
                    );
                } else if names == [Upgrade::RESOURCE] {
                    assert_eq!(rule["apiGroups"], json!([CLUSTER_GROUP]));
                    assert_eq!(
                        webhook["failurePolicy"],
                        json!("Ignore"),
                        "it does not stop OCM's add-on manager"
                    );
                } else if names == [ReplicaSet::RESOURCE] {
                    assert_eq!(rule["apiGroups"], json!([api::work::GROUP]));
                    assert_eq!(
                        webhook["failurePolicy"],
                        json!("Ignore"),
                        "it blocks no ManifestWorkReplicaSet while the gate is unavailable"
                    );
                } else if rule["apiGroups"] == json!([CLUSTER_GROUP]) {
                    assert_eq!(rule["operations"], json!(["DELETE"]), "advice about deletions");
                    assert!([Placement::RESOURCE, SetBinding::RESOURCE].contains(&names[0]));
                } else {
                    assert_eq!(rule["apiGroups"], json!([GROUP]), "nothing but add-ons");
                    assert!(
                        names.iter().all(|name| ADDON_RESOURCES.contains(name)),
                        "{names:?}"
                    );
                }
                seen.push(format!(
                    "{} {} {}",
                    webhook["failurePolicy"],
                    rule["operations"],
                    names.len()
                ));
            }
        }
        let expected = [
            r#""Ignore" ["CREATE","UPDATE"] 5"#,
            r#""Ignore" ["CREATE","UPDATE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE"] 1"#,
            r#""Fail" ["CREATE","UPDATE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE","DELETE"] 5"#,
            r#""Ignore" ["DELETE"] 1"#,
            r#""Ignore" ["DELETE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE","DELETE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE","DELETE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE","DELETE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE","DELETE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE"] 1"#,
            r#""Ignore" ["CREATE","UPDATE"] 1"#,
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn an_address_gets_the_path_and_the_bundle() {
        let [mutating, _] = configurations(&Endpoint::Url("https://127.0.0.1:1/".into()), Some("pem"));
        let client = &mutating["webhooks"][0]["clientConfig"];
        assert_eq!(
            *client,
            json!({"url": "https://127.0.0.1:1/mutate", "caBundle": "cGVt"})
        );
    }

    /// Evaluates the conditions of a webhook, as the API server does.
    fn asks(webhook: &Value, request: &Value, object: &Value, old: &Value) -> bool {
        let conditions = webhook["matchConditions"].as_array().expect("conditions");
        conditions.iter().all(|condition| {
            let text = condition["expression"].as_str().expect("an expression");
            let program = cel_engine::Program::compile(text).expect("it compiles");
            let variables = [("request", request), ("object", object), ("oldObject", old)];
            let value = program.eval(&variables);
            value.unwrap_or_else(|error| panic!("{text}: {error}")) == json!(true)
        })
    }

    #[test]
    fn the_conditions_ask_about_what_is_new_and_may_be_judged() {
        let [_, _, advice] = webhooks().try_into().expect("three webhooks");
        let asks = |operation: &str, object: &Value, old: &Value| {
            asks(
                &advice,
                &json!({"operation": operation, "userInfo": {}}),
                object,
                old,
            )
        };
        let (one, two) = (
            json!({"metadata": {}, "spec": {"a": 1}}),
            json!({"metadata": {}, "spec": {"a": 2}}),
        );
        let bare = json!({"metadata": {"labels": {"a": "b"}}});
        let leaving = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"a": 2}});
        assert!(asks("CREATE", &one, &Value::Null));
        assert!(asks("UPDATE", &two, &one));
        assert!(asks("UPDATE", &one, &bare));
        assert!(asks("DELETE", &Value::Null, &one));
        assert!(!asks("UPDATE", &one, &one));
        assert!(
            asks("UPDATE", &leaving, &one),
            "an object that is being deleted can still stop OCM's add-on manager"
        );
        let rows = [
            (json!({"labels": {"a": "b"}}), true),
            (json!({"annotations": {"a": "b"}}), true),
            (json!({"finalizers": ["a/b"]}), true),
            (json!({"ownerReferences": [{"uid": "1"}]}), true),
            (json!({"managedFields": [{"manager": "a"}]}), false),
            (json!({"resourceVersion": "2", "generation": 2}), false),
        ];
        for (metadata, expected) in rows {
            let with = json!({"metadata": metadata.clone(), "spec": {"a": 1}});
            assert_eq!(asks("UPDATE", &with, &one), expected, "{metadata} added");
            assert_eq!(asks("UPDATE", &one, &with), expected, "{metadata} removed");
            let mut going = with.clone();
            going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            let mut gone = one.clone();
            gone["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            assert!(
                !asks("UPDATE", &gone, &going),
                "{metadata}: an object that is being deleted is not blocked"
            );
        }
    }

    /// The conditions select everything that `decide` checks, and `decide` ignores everything else.
    #[test]
    fn the_conditions_are_those_of_the_decision() {
        let [_, guard, advice] = webhooks().try_into().expect("three webhooks");
        let values = |part: MetadataPart| match part {
            MetadataPart::Labels | MetadataPart::Annotations => json!({"a": "b"}),
            MetadataPart::Finalizers => json!(["a/b"]),
            MetadataPart::OwnerReferences => json!([{"uid": "1"}]),
        };
        for part in MetadataPart::EVERY {
            let one = json!({"metadata": {}, "spec": {}});
            let mut with = one.clone();
            *with.pointer_mut("/metadata").expect("metadata") = json!({part.name(): values(part)});
            assert!(with.pointer(&part.pointer()).is_some(), "{part:?}");
            let request = json!({"operation": "UPDATE", "userInfo": {}});
            assert!(asks(&advice, &request, &with, &one), "{part:?}");
            assert!(
                !asks(&guard, &request, &with, &one),
                "{part:?}: metadata does not stop OCM's add-on manager"
            );
        }
    }

    #[test]
    fn who_cleans_up_or_breaks_the_glass_is_not_asked_about() {
        for webhook in webhooks() {
            let object = json!({"metadata": {}, "spec": {"installStrategy": {"placements": [
                {"rolloutStrategy": {"all": {"progressDeadline": "banana"}}}]}}});
            let asks = |user: &Value| {
                let request = json!({"operation": "CREATE", "userInfo": user});
                asks(&webhook, &request, &object, &Value::Null)
            };
            assert!(asks(&json!({"username": "eve", "groups": ["system:masters"]})));
            assert!(asks(
                &json!({"username": "system:serviceaccount:kube-system:helm"})
            ));
            assert!(!asks(&json!({"username": "eve", "groups": [BREAK_GLASS]})));
            assert!(!asks(
                &json!({"username": "system:serviceaccount:kube-system:namespace-controller"})
            ));
        }
    }

    #[test]
    fn the_guard_receives_only_specs_that_may_stop_ocm() {
        let [_, guard, _] = webhooks().try_into().expect("three webhooks");
        let is_asked = |spec: Value| {
            let request = json!({"operation": "CREATE", "userInfo": {}});
            asks(
                &guard,
                &request,
                &json!({"metadata": {}, "spec": spec}),
                &Value::Null,
            )
        };
        let with = |strategy: Value| {
            json!({"installStrategy": {"type": "Placements", "placements": [
            {"name": "a", "namespace": "n"}, {"name": "b", "namespace": "n", "rolloutStrategy": strategy}]}})
        };
        assert!(!is_asked(json!({})));
        assert!(!is_asked(json!({"installStrategy": {"type": "Manual"}})));
        assert!(!is_asked(with(json!({"type": "All"}))));
        let rows = [
            ("minSuccessTime", "5m", false),
            ("minSuccessTime", "1.5h", false),
            ("minSuccessTime", "0", false),
            ("minSuccessTime", "banana", true),
            ("minSuccessTime", "5", true),
            ("minSuccessTime", "-5m", true),
            ("minSuccessTime", "99999999999h", true),
            ("progressDeadline", "None", false),
            ("progressDeadline", "1h30m", false),
            ("progressDeadline", "5sxyz", true),
            ("progressDeadline", "10|", true),
        ];
        for (field, text, expected) in rows {
            for block in ["all", "progressive", "progressivePerGroup"] {
                let spec = with(json!({"type": "Progressive", block: {field: text}}));
                assert_eq!(is_asked(spec), expected, "{block} {field} {text}");
            }
        }
    }

    proptest::proptest! {
        /// Every parser of a rollout accepts the durations that `guard` does not receive.
        #[test]
        fn plain_durations_are_durations(soak in "[0-9.hmsu]{1,12}", deadline in "(None|[0-9hms]{1,12})") {
            let is = |pattern: &str, text: &str| regex::Regex::new(pattern).expect("a pattern").is_match(text);
            if is(PLAIN_SOAK, &soak) {
                proptest::prop_assert!(Soak::parse(Scalar::Text(&soak)).is_ok(), "{}", soak);
            }
            if is(PLAIN_DEADLINE, &deadline) && deadline != "None" {
                let read = GoDuration::parse(&deadline);
                proptest::prop_assert!(read.is_ok_and(|read| read.length().is_some()), "{}", deadline);
            }
        }
    }

    #[test]
    fn our_definitions_serve_the_version_that_is_asked_about() {
        for resource in ADDON_RESOURCES {
            let served = api::crds().into_iter().any(|crd| {
                crd.spec.names.plural == resource
                    && crd
                        .spec
                        .versions
                        .iter()
                        .any(|version| version.name == VERSION && version.served)
            });
            assert!(served, "{resource}");
        }
    }
}
