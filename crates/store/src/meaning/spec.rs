//! The spec of a work taken apart into what it means, so that two specs are compared by that and not by their form.
//!
//! Decides what is form: the order of manifests, of entries of `manifestConfigs` about one object each and of orphaning
//! rules; an item that is there twice; what the API server fills in or drops (`digest.rs`); empty values that say nothing
//! (`go_forms.rs`); and how a number is spelled that the API server reads as the same. Everything else is meaning:
//! texts, quantities included, are never interpreted. Never used for what is written.

use serde_json::Value;

use super::digest::fill_defaults;
use super::go_forms::{plain_config, plain_manifest, plain_rule};
use api::hash::render_go_json;

/// What a spec means, as texts: equal texts mean the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meaning {
    /// What is neither a manifest, nor an entry of `manifestConfigs`, nor an orphaning rule.
    pub rest: String,
    /// Manifests, entries and rules.
    pub groups: [Group; 3],
}

/// Items of one list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The items in the order in which they stand.
    pub items: Vec<String>,
    /// Whether that order counts.
    pub ordered: bool,
}

/// Takes the values out of an item that say nothing.
type Plain = fn(&mut Value);

/// The lists whose items are compared one by one.
const LISTS: [(&str, Plain); 3] = [
    ("/workload/manifests", plain_manifest),
    ("/manifestConfigs", plain_config),
    ("/deleteOption/selectivelyOrphans/orphaningRules", plain_rule),
];

impl Meaning {
    /// Returns what a spec means.
    pub fn of(spec: &Value) -> Self {
        let mut spec = plain_spec(spec);
        let [manifests, mut configs, rules] = LISTS.map(|(list, _)| group(&mut spec, list));
        // More than one entry may be about an object as soon as one is a pattern, and then the first or the last counts.
        configs.ordered = configs.items.iter().any(|entry| entry.contains('*'));
        if let Some(fields) = spec.as_object_mut().filter(|_| configs.items.is_empty()) {
            fields.remove("manifestConfigs");
        }
        Self {
            rest: render_go_json(&spec),
            groups: [manifests, configs, rules],
        }
    }
}

/// Returns a spec without what says nothing, for callers that tell what is different.
pub fn plain_spec(spec: &Value) -> Value {
    let mut spec = spec.clone();
    fill_defaults(&mut spec);
    for (list, plain) in LISTS {
        let items = spec.pointer_mut(list).and_then(Value::as_array_mut);
        items.into_iter().flatten().for_each(plain);
    }
    spec
}

/// Takes the items of a list out of a spec.
fn group(spec: &mut Value, list: &str) -> Group {
    let items = spec.pointer_mut(list).and_then(Value::as_array_mut);
    let items = items.map(std::mem::take).unwrap_or_default();
    Group {
        items: items.iter().map(render_go_json).collect(),
        ordered: false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;
    use serde_json::json;

    use super::super::digest::Digest;
    use super::*;

    fn means_the_same(one: &Value, other: &Value) -> bool {
        let same = Meaning::of(one) == Meaning::of(other);
        // What is compared in production is the digest.
        same || Digest::of_spec(one) == Digest::of_spec(other)
    }

    fn workload(kind: &str, pod: &Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "agent", "namespace": "n"},
            "spec": {"selector": {"matchLabels": {"app": "agent"}},
                "template": {"metadata": {"labels": {"app": "agent"}}, "spec": pod}}})
    }

    fn of(manifests: &[Value]) -> Value {
        json!({"workload": {"manifests": manifests}})
    }

    /// Two objects, and whether they mean the same inside of what `wrap` makes of them.
    fn check(wrap: impl Fn(&Value) -> Value, rows: &[(Value, Value, bool)]) {
        for (one, other, same) in rows {
            assert_eq!(means_the_same(&wrap(one), &wrap(other)), *same, "{one}\n{other}");
        }
    }

    #[test]
    fn an_empty_field_of_a_container_counts_if_its_go_type_is_a_pointer() {
        let bare = || json!({"name": "a"});
        let with = |field: &str, value: Value| json!({"name": "a", (field): value});
        let rows = [
            (with("resources", json!({})), bare(), true),
            (with("resources", json!({"limits": {}})), bare(), true),
            (with("env", json!([])), bare(), true),
            (with("tty", json!(false)), bare(), true),
            (
                with("env", json!([{"name": "E", "value": ""}])),
                with("env", json!([{"name": "E"}])),
                true,
            ),
            (with("env", json!([{"name": "E"}])), bare(), false),
            (with("securityContext", json!({})), bare(), false),
            (
                with("securityContext", json!({"runAsNonRoot": false})),
                with("securityContext", json!({})),
                false,
            ),
        ];
        check(
            |container| of(&[workload("Deployment", &json!({"containers": [container]}))]),
            &rows,
        );
    }

    #[test]
    fn an_empty_field_of_a_pod_counts_if_its_go_type_is_a_pointer() {
        let volumes = |volume: Value| json!({"volumes": [volume]});
        let rows = [
            (json!({"hostNetwork": false}), json!({}), true),
            (json!({"nodeSelector": {}}), json!({}), true),
            (
                json!({"nodeSelector": {"a": ""}}),
                json!({"nodeSelector": {}}),
                false,
            ),
            (json!({"automountServiceAccountToken": false}), json!({}), false),
            (json!({"terminationGracePeriodSeconds": 0}), json!({}), false),
            (
                volumes(json!({"name": "v", "emptyDir": {}})),
                volumes(json!({"name": "v"})),
                false,
            ),
        ];
        check(|pod| of(&[workload("DaemonSet", pod)]), &rows);
    }

    #[test]
    fn an_empty_field_of_any_other_kind_counts() {
        let rows = [
            (json!({"resources": {}}), json!({}), false),
            (json!({"status": {}}), json!({}), false),
            (
                json!({"from": [{"namespaceSelector": {}}]}),
                json!({"from": [{}]}),
                false,
            ),
            (json!({"from": [{}]}), json!({"from": []}), false),
        ];
        let metadata = json!({"name": "t"});
        check(
            |spec| {
                of(&[
                    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata, "spec": spec}),
                ])
            },
            &rows,
        );
    }

    #[test]
    fn values_are_compared_as_an_api_server_stores_them_and_never_interpreted() {
        let with = |value: Value| {
            of(&[
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": value}}),
            ])
        };
        let absent =
            of(&[json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {}})]);
        let number = |text: &str| with(serde_json::from_str(text).expect("a number"));
        let rows = [
            (
                "a patch cannot write a null",
                with(Value::Null),
                absent.clone(),
                true,
            ),
            ("an empty text is a value", with(json!("")), absent.clone(), false),
            ("so is an empty map", with(json!({})), absent, false),
            ("JSON has one kind of number", number("1"), number("1.0"), true),
            ("a text is no number", number("1"), with(json!("1")), false),
            ("numbers differ by their value", number("1"), number("1.5"), false),
            (
                "a text is no truth",
                with(json!("true")),
                with(json!(true)),
                false,
            ),
            (
                "quantities are texts",
                with(json!("1000m")),
                with(json!("1")),
                false,
            ),
            (
                "and so are their units",
                with(json!("1024Mi")),
                with(json!("1Gi")),
                false,
            ),
            (
                "a list has an order",
                with(json!([1, 2])),
                with(json!([2, 1])),
                false,
            ),
            (
                "a list has a length",
                with(json!([1, 1])),
                with(json!([1])),
                false,
            ),
        ];
        for (why, one, other, same) in rows {
            assert_eq!(means_the_same(&one, &other), same, "{why}");
        }
    }

    #[test]
    fn entries_have_an_order_as_soon_as_one_is_a_pattern() {
        let entry =
            |name: &str| json!({"resourceIdentifier": {"group": "", "resource": "secrets", "name": name}});
        let spec = |names: &[&str]| json!({"manifestConfigs": names.iter().map(|name| entry(name)).collect::<Vec<_>>()});
        assert!(means_the_same(&spec(&["a", "b"]), &spec(&["b", "a"])));
        assert!(!means_the_same(&spec(&["a", "b*"]), &spec(&["b*", "a"])));
        assert!(!means_the_same(&spec(&["a", "b"]), &spec(&["a"])));
    }

    #[test]
    fn what_is_in_one_list_never_counts_for_another() {
        let identifier = json!({"group": "apps", "resource": "deployments", "name": "a"});
        let one = json!({"manifestConfigs": [identifier], "workload": {"manifests": []}});
        let other = json!({"workload": {"manifests": [identifier]}});
        assert!(!means_the_same(&one, &other));
    }

    /// Writes a workload as Go's types write it: what is empty and has `omitempty` goes, structs that are no pointers and
    /// counts of the status come. Says so again, in other words than the code.
    fn as_go_writes(manifest: &mut Value) {
        let kind = manifest["kind"].as_str().unwrap_or_default().to_owned();
        if manifest["apiVersion"] != "apps/v1" {
            return;
        }
        manifest["metadata"]["creationTimestamp"] = Value::Null;
        manifest["status"] = match kind.as_str() {
            "DaemonSet" => json!({"currentNumberScheduled": 0, "desiredNumberScheduled": 0,
                "numberMisscheduled": 0, "numberReady": 0}),
            "StatefulSet" => json!({"replicas": 0, "availableReplicas": 0}),
            _ => json!({}),
        };
        let strategy = if kind == "Deployment" {
            "strategy"
        } else {
            "updateStrategy"
        };
        let spec = &mut manifest["spec"];
        if spec[strategy].is_null() {
            spec[strategy] = json!({});
        }
        spec["template"]["metadata"]["creationTimestamp"] = Value::Null;
        let pod = &mut spec["template"]["spec"];
        without(pod, "hostNetwork", &json!(false));
        without(pod, "nodeSelector", &json!({}));
        for list in ["volumes", "tolerations", "initContainers"] {
            without(pod, list, &json!([]));
        }
        for list in ["containers", "initContainers"] {
            for container in pod
                .get_mut(list)
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                if container["resources"].is_null() {
                    container["resources"] = json!({});
                }
                for list in ["env", "args", "volumeMounts"] {
                    without(container, list, &json!([]));
                }
                for variable in container
                    .get_mut("env")
                    .and_then(Value::as_array_mut)
                    .into_iter()
                    .flatten()
                {
                    without(variable, "value", &json!(""));
                }
            }
        }
    }

    fn without(owner: &mut Value, field: &str, empty: &Value) {
        if let Some(fields) = owner.as_object_mut()
            && fields.get(field) == Some(empty)
        {
            fields.remove(field);
        }
    }

    fn container() -> impl Strategy<Value = Value> {
        let env = prop::collection::vec(("[A-C]", "[a-c]{0,2}"), 0..3);
        (env, prop::option::of("[1-9]00m"), any::<bool>(), any::<bool>()).prop_map(
            |(env, cpu, mounts, args)| {
                let env: Vec<Value> = env
                    .iter()
                    .map(|(name, value)| json!({"name": name, "value": value}))
                    .collect();
                let mut container = json!({"name": "main", "image": "quay.example/x:1", "env": env,
                "livenessProbe": {"httpGet": {"path": "/", "port": 80}}});
                if let Some(cpu) = cpu {
                    container["resources"] = json!({"limits": {"cpu": cpu}});
                }
                if mounts {
                    container["volumeMounts"] = json!([{"name": "v", "mountPath": "/v", "readOnly": true}]);
                }
                if args {
                    container["args"] = json!([]);
                }
                container
            },
        )
    }

    fn manifest() -> impl Strategy<Value = Value> {
        let kind = prop::sample::select(vec![
            "Deployment",
            "DaemonSet",
            "StatefulSet",
            "ConfigMap",
            "ClusterRole",
        ]);
        let pod = (
            prop::collection::vec(container(), 1..3),
            prop::collection::vec(container(), 0..2),
            any::<bool>(),
            0..3_i64,
        );
        (kind, pod).prop_map(|(kind, (containers, init, host, replicas))| match kind {
            "ConfigMap" => {
                json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "c", "namespace": "n"},
                "data": {"a": "1", "resources": ""}, "immutable": host})
            }
            "ClusterRole" => {
                json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "r"},
                "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]})
            }
            _ => {
                let pod = json!({"containers": containers, "initContainers": init, "hostNetwork": host,
                    "nodeSelector": {}, "tolerations": [{"operator": "Exists"}],
                    "volumes": [{"name": "v", "emptyDir": {}}]});
                let mut workload = workload(kind, &pod);
                workload["spec"]["replicas"] = json!(replicas);
                workload
            }
        })
    }

    /// A spec with manifests of different names.
    fn spec() -> impl Strategy<Value = Value> {
        prop::collection::vec(manifest(), 1..5).prop_map(|mut manifests| {
            let mut configs = Vec::new();
            for (index, manifest) in manifests.iter_mut().enumerate() {
                let name = format!("m{index}");
                configs.push(json!({"resourceIdentifier": {"group": "apps", "resource": "deployments", "namespace": "n", "name": name},
                    "feedbackRules": [{"type": "WellKnownStatus"}]}));
                manifest["metadata"]["name"] = json!(name);
            }
            json!({"workload": {"manifests": manifests}, "manifestConfigs": configs,
                "executor": {"subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": "n", "name": "s"}}}})
        })
    }

    /// Counts the values that are no empty ones, and of those that are no containers.
    fn leaves(value: &Value) -> usize {
        match value {
            Value::Array(items) => items.iter().map(leaves).sum(),
            Value::Object(fields) => fields.values().map(leaves).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        }
    }

    /// Changes one leaf into another value of its type.
    fn change(value: &mut Value, place: &mut usize) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| change(item, place)),
            Value::Object(fields) => fields.values_mut().for_each(|field| change(field, place)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                if *place == 0 {
                    *value = if let Some(flag) = value.as_bool() {
                        json!(!flag)
                    } else if let Some(number) = value.as_i64() {
                        json!(number + 1)
                    } else {
                        json!(format!("{value}x"))
                    };
                }
                *place = place.wrapping_sub(1);
            }
        }
    }

    proptest! {
        /// Whatever order and whichever of Go's empty values: the same meaning.
        #[test]
        fn form_never_counts(spec in spec(), turn in any::<Index>()) {
            let mut other = spec.clone();
            for list in ["/workload/manifests", "/manifestConfigs"] {
                let items = other.pointer_mut(list).and_then(Value::as_array_mut).expect("a list");
                items.iter_mut().for_each(as_go_writes);
                let by = turn.index(items.len());
                items.rotate_left(by);
            }
            prop_assert!(Meaning::of(&spec).rest == Meaning::of(&other).rest);
            prop_assert_eq!(Digest::of_spec(&spec), Digest::of_spec(&other), "{}\n{}", spec, other);
        }

        /// Any other value anywhere, in whichever form: another meaning.
        #[test]
        fn a_value_always_counts(spec in spec(), pick in any::<Index>(), form in any::<bool>()) {
            let mut other = spec.clone();
            change(&mut other, &mut pick.index(leaves(&spec)));
            if form {
                for manifest in other.pointer_mut("/workload/manifests").and_then(Value::as_array_mut).expect("a list") {
                    as_go_writes(manifest);
                }
            }
            prop_assert!(!means_the_same(&spec, &other), "{spec}\n{other}");
        }

        /// A manifest more or less counts.
        #[test]
        fn a_manifest_always_counts(spec in spec(), pick in any::<Index>()) {
            let mut other = spec.clone();
            let manifests = other.pointer_mut("/workload/manifests").and_then(Value::as_array_mut).expect("a list");
            manifests.remove(pick.index(manifests.len()));
            prop_assert!(!means_the_same(&spec, &other));
        }
    }
}
