//! Objects that make a decision slow, and a decision that is stopped: what was not checked is denied, and users can still change stored
//! objects.
//!
//! `time` searches for work that grows faster than its object.

use std::thread;
use std::time::Duration;

use admission::{Operation, Request, RequestContext, Rulebook, Stop, Verdict, Webhook, decide};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use store::{AddonFacts, Facts};

const GROUP: &str = "addon.open-cluster-management.io";

fn facts() -> Facts {
    let spec = json!({"supportedConfigs": [{"group": GROUP, "resource": "addondeploymentconfigs"},
        {"group": GROUP, "resource": "addontemplates"}]});
    let addon = AddonFacts::of(&serde_json::from_value(spec).expect("a wire type"));
    Facts::default().with_addon("hello", addon).completed()
}

fn of_types(count: usize) -> Value {
    let config = |number: usize| json!({"group": GROUP, "resource": format!("addondeploymentconfig{number}"), "name": "a"});
    addon(&(0..count).map(config).collect::<Vec<Value>>())
}

fn of_objects(count: usize) -> Value {
    let config = |number: usize| json!({"group": GROUP, "resource": "addondeploymentconfigs", "namespace": "n", "name": format!("a{number}")});
    addon(&(0..count).map(config).collect::<Vec<Value>>())
}

fn addon(configs: &[Value]) -> Value {
    json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ManagedClusterAddOn",
        "metadata": {"name": "hello", "namespace": "c1"}, "spec": {"configs": configs}})
}

/// Lists as many types as it references, all of them others.
fn management(count: usize) -> Value {
    let of = |name: &str, number: usize| json!({"group": GROUP, "resource": format!("{name}{number}")});
    let named = |number: usize| json!({"group": GROUP, "resource": format!("other{number}"), "name": "a"});
    json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ClusterManagementAddOn", "metadata": {"name": "hello"},
        "spec": {"supportedConfigs": (0..count).map(|number| of("type", number)).collect::<Vec<_>>(),
            "installStrategy": {"type": "Placements", "placements": [
                {"name": "all", "namespace": "d", "configs": (0..count).map(named).collect::<Vec<_>>()}]}}})
}

struct Question<'a> {
    object: Option<&'a Value>,
    old: Option<&'a Value>,
    stop: &'a Stop,
}

impl Question<'_> {
    fn asked(&self, rulebook: &Rulebook) -> Verdict {
        let raw = |value: &Value| to_raw_value(value).expect("JSON");
        let (object, old) = (self.object.map(raw), self.old.map(raw));
        let kind = self
            .object
            .or(self.old)
            .and_then(|object| object["kind"].as_str())
            .unwrap_or_default();
        let request = Request {
            webhook: Webhook::Mutate,
            operation: match (&object, &old) {
                (Some(_), Some(_)) => Operation::Update,
                (Some(_), None) => Operation::Create,
                (None, _) => Operation::Delete,
            },
            group: GROUP,
            version: "v1alpha1",
            resource: &format!("{}s", kind.to_lowercase()),
            kind,
            subresource: "",
            namespace: if kind == "ManagedClusterAddOn" { "c1" } else { "" },
            name: "hello",
            object: object.as_deref(),
            old: old.as_deref(),
            dry_run: false,
            circumstances: RequestContext {
                stop: self.stop,
                ..RequestContext::default()
            },
        };
        decide(&request, &facts(), rulebook)
    }
}

fn created(object: &Value, rulebook: &Rulebook, stop: &Stop) -> Verdict {
    Question {
        object: Some(object),
        old: None,
        stop,
    }
    .asked(rulebook)
}

fn rulebook(count: usize, fields: &Value) -> Rulebook {
    let policy = |number: usize| {
        let mut spec = json!({"matchConstraints": {"resourceRules": [{"apiGroups": [GROUP], "apiVersions": ["*"],
                "operations": ["CREATE", "UPDATE"], "resources": ["*"]}]},
            "validations": [{"id": "a", "message": "twice",
                "expression": "object.spec.configs.all(a, object.spec.configs.exists_one(b, b == a))"}]});
        json_patch::merge(&mut spec, fields);
        json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy",
            "metadata": {"name": format!("unique-{number}")}, "spec": spec})
    };
    let policies: Vec<Value> = (0..count).map(policy).collect();
    crate::kit::policies::rulebook(&policies)
}

fn refused(verdict: &Verdict) -> Vec<&str> {
    verdict
        .violations()
        .iter()
        .map(kubernetes::field::Violation::rule)
        .collect()
}

fn warned(verdict: &Verdict) -> Vec<String> {
    verdict
        .warnings()
        .iter()
        .map(|warning| warning.violation().to_string())
        .collect()
}

#[test]
fn ten_thousand_unknown_types_are_refused_and_only_the_first_are_compared() {
    // Each of them used to be compared with all that are supported: one minute of work for 1.7 MB.
    for object in [of_types(9990), management(4995)] {
        let verdict = created(&object, &Rulebook::default(), &Stop::never());
        let hints = verdict.violations().iter().chain(
            verdict
                .warnings()
                .iter()
                .map(kubernetes::field::Warning::violation),
        );
        let meant = hints.filter(|one| one.hint().is_some_and(|hint| hint.starts_with("did you mean")));
        assert!(meant.count() <= 20, "{}", object["kind"]);
        let all = verdict.violations().len() + verdict.warnings().len();
        assert!(all < 1000, "{all} findings");
    }
    let verdict = created(&of_types(9990), &Rulebook::default(), &Stop::never());
    let refused = refused(&verdict);
    let unsupported = refused.iter().filter(|rule| **rule == "config/unsupported-type");
    assert_eq!(unsupported.count(), 100);
    assert_eq!(
        refused.iter().find(|rule| **rule != "config/unsupported-type"),
        Some(&"config/too-many-types")
    );
    let more = "spec: Too many: this rule has 9890 more findings [config/unsupported-type]";
    assert!(warned(&verdict).iter().any(|warning| warning == more));
}

/// Asks while another thread, which has a clock, stops the decision.
fn stopped_after(pause: Duration, object: &Value, rulebook: &Rulebook) -> Verdict {
    let stop = Stop::new();
    let clock = stop.clone();
    let timer = thread::spawn(move || {
        thread::sleep(pause);
        clock.stop();
    });
    let verdict = created(object, rulebook, &stop);
    timer.join().expect("the clock has run");
    verdict
}

#[test]
fn nine_thousand_references_under_slow_policies_are_refused_at_the_deadline() {
    let rulebook = rulebook(15, &json!({}));
    let verdict = stopped_after(Duration::from_millis(20), &of_objects(9000), &rulebook);
    assert!(!verdict.allowed());
    let told: Vec<String> = verdict.violations().iter().map(ToString::to_string).collect();
    assert!(
        told.iter()
            .any(|one| one.contains("did not finish") || one.contains("operation cancelled")),
        "{told:?}"
    );
}

#[test]
fn slow_policies_deny_by_their_failure_policy_when_they_are_stopped() {
    let list = "object.spec.configs";
    let cubic = format!("{list}.all(a, {list}.all(b, {list}.exists_one(c, c == a)))");
    let validations = json!([{"id": "a", "message": "twice", "expression": cubic}]);
    for (policy, allowed) in [("Fail", false), ("Ignore", true)] {
        let rulebook = rulebook(15, &json!({"validations": validations, "failurePolicy": policy}));
        let verdict = stopped_after(Duration::from_millis(300), &of_objects(300), &rulebook);
        assert_eq!(verdict.allowed(), allowed, "{:?}", refused(&verdict));
        let refusals = verdict.violations().iter().map(ToString::to_string);
        let told: Vec<String> = refusals.chain(warned(&verdict)).collect();
        let words = " cannot be evaluated: operation cancelled";
        assert_eq!(
            told.iter().filter(|one| one.contains(words)).count(),
            15,
            "{told:?}"
        );
    }
}

#[test]
fn slow_policies_end_by_themselves_and_deny() {
    let verdict = created(&of_objects(9000), &rulebook(15, &json!({})), &Stop::never());
    assert_eq!(refused(&verdict).len(), 15, "none of them was waved through");
}

#[test]
fn what_is_stopped_before_it_began_is_refused() {
    let (stop, object) = (Stop::new(), of_objects(3));
    stop.stop();
    let verdict = created(&object, &Rulebook::default(), &stop);
    assert!(
        refused(&verdict).contains(&"config/duplicate"),
        "{:?}",
        refused(&verdict)
    );
    assert!(
        !refused(&verdict).contains(&"config/not-found"),
        "advice refuses nothing"
    );
    let told = verdict
        .violations()
        .first()
        .map(ToString::to_string)
        .unwrap_or_default();
    assert!(
        told.starts_with("spec: Internal error: this rule did not finish"),
        "{told}"
    );
    assert!(created(&object, &Rulebook::default(), &Stop::new()).allowed());
}

#[test]
fn what_is_stored_can_be_labelled_and_deleted_however_slow_the_answer_is() {
    let stop = Stop::new();
    stop.stop();
    for old in [of_objects(3), of_types(3)] {
        let mut labelled = old.clone();
        labelled["metadata"]["labels"] = json!({"team": "a"});
        let question = Question {
            object: Some(&labelled),
            old: Some(&old),
            stop: &stop,
        };
        let verdict = question.asked(&rulebook(1, &json!({})));
        assert!(verdict.allowed(), "{:?}", refused(&verdict));
        let mut changed = labelled.clone();
        changed["spec"]["installNamespace"] = json!("other");
        let question = Question {
            object: Some(&changed),
            old: Some(&old),
            stop: &stop,
        };
        assert!(
            !question.asked(&Rulebook::default()).allowed(),
            "the spec was touched"
        );
        let question = Question {
            object: None,
            old: Some(&old),
            stop: &stop,
        };
        assert!(question.asked(&Rulebook::default()).allowed());
    }
}

#[test]
fn a_list_with_many_old_faults_can_be_shortened() {
    let old = of_types(300);
    let mut shorter = old.clone();
    let configs = shorter["spec"]["configs"].as_array_mut().expect("a list");
    configs.remove(0);
    let question = Question {
        object: Some(&shorter),
        old: Some(&old),
        stop: &Stop::never(),
    };
    let verdict = question.asked(&Rulebook::default());
    assert!(verdict.allowed(), "{:?}", refused(&verdict));
}

#[test]
fn a_copy_of_a_copy_of_a_copy_is_not_made() {
    let fields = json!({"validations": null, "mutations": [{"patchType": "JSONPatch", "allowOverwrite": true, "jsonPatch": {
        "expression": "[JSONPatch{op: 'add', path: '/spec/a', value: {'x': 'y'}}] + lists.range(40).map(i, JSONPatch{op: 'copy', \
            from: '/spec', path: '/spec/a' + string(i)})"}}]});
    let verdict = created(&of_objects(1), &rulebook(1, &fields), &Stop::never());
    let told = verdict
        .violations()
        .first()
        .map(ToString::to_string)
        .unwrap_or_default();
    assert!(told.contains("adds more than 1048576 bytes in total"), "{told}");
}
