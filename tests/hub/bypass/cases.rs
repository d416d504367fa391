//! What must never be stored: one denied object for every rule that denies and every validation of a sample policy.
//!
//! The objects are those of the rule pages and of the tests of the policies; the decision shows which rule they violate.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use admission::{Operation, Request, RequestContext, Rulebook, Verdict, Webhook, catalogue, decide};
use jiff::{SignedDuration, Timestamp};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use store::Facts;

use crate::kit::asked::{WrittenFacts, resource};
use crate::kit::manifests::repository;
use crate::kit::pages::pages;
use crate::kit::policies::rulebook;

/// One denied object, and the world in which it is denied.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) rule: String,
    pub(crate) denied: Value,
    /// What is stored before, where the rule is about a change.
    pub(crate) old: Option<Value>,
    pub(crate) facts: Arc<Facts>,
    pub(crate) rulebook: Arc<Rulebook>,
    /// Objects of the same name that are allowed.
    pub(crate) innocent: Vec<Value>,
}

impl Case {
    /// Returns the webhook's verdict for an object with the facts of this case.
    pub(crate) fn judge(&self, object: &Value, old: Option<&Value>) -> Verdict {
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (group, version) = text("/apiVersion").split_once('/').unwrap_or_default();
        let resource = resource(group, text("/kind"));
        let raw = |value: &Value| to_raw_value(value).expect("JSON");
        let (new, was) = (raw(object), old.map(raw));
        let request = Request {
            webhook: Webhook::Validate,
            operation: if old.is_some() {
                Operation::Update
            } else {
                Operation::Create
            },
            group,
            version,
            resource: &resource,
            kind: text("/kind"),
            subresource: "",
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            object: Some(&new),
            old: was.as_deref(),
            dry_run: false,
            circumstances: RequestContext {
                now: Some(Timestamp::now()),
                ..RequestContext::default()
            },
        };
        decide(&request, &self.facts, &self.rulebook)
    }

    /// Tells whether an object that is stored has what is denied.
    pub(crate) fn is_broken_by(&self, stored: &Value) -> bool {
        let verdict = self.judge(stored, self.old.as_ref());
        verdict.violations().iter().any(|fault| fault.rule() == self.rule)
    }

    /// Returns the case with only that item of a list in which the fault stands: a page shows many faults at once, and the hub
    /// itself refuses some of them.
    fn alone(&self, fault: &kubernetes::field::Path) -> Option<Self> {
        let mut pointer = String::new();
        for step in fault.segments() {
            match step {
                kubernetes::field::Segment::Key(name) => pointer = format!("{pointer}/{name}"),
                kubernetes::field::Segment::Entry(_) => return None,
                kubernetes::field::Segment::Index(index) => {
                    let mut case = self.clone();
                    let items = case.denied.pointer_mut(&pointer)?.as_array_mut()?;
                    *items = vec![items.get(*index)?.clone()];
                    let verdict = case.judge(&case.denied, case.old.as_ref());
                    let same = verdict.violations().iter().any(|fault| fault.rule() == case.rule);
                    return same.then_some(case);
                }
            }
        }
        None
    }

    /// Looks for allowed objects of the same name: the denied one without what is wrong, an empty one, and those of others.
    pub(crate) fn with_innocents(mut self, others: &[Value]) -> Self {
        let mut bare = self.denied.clone();
        bare["spec"] = json!({});
        let mut fixed = self.denied.clone();
        for fault in self.judge(&self.denied, None).violations() {
            remove(&mut fixed, &fault.path().to_string());
        }
        let kind = &self.denied["kind"];
        let alike = others.iter().filter(|other| other["kind"] == *kind).map(|other| {
            let mut other = other.clone();
            for name in ["name", "namespace"] {
                if let Some(value) = self.denied["metadata"].get(name) {
                    other["metadata"][name] = value.clone();
                }
            }
            other
        });
        let all = [fixed, bare].into_iter().chain(alike);
        let innocent = all
            .filter(|one| self.judge(one, None).allowed())
            .take(8)
            .collect();
        self.innocent = innocent;
        self
    }
}

fn remove(object: &mut Value, path: &str) {
    let path = kubernetes::field::Path::parse(path);
    let Some((parent, last)) = path.split_last() else {
        return;
    };
    let pointer: String = parent
        .segments()
        .iter()
        .map(|step| match step {
            kubernetes::field::Segment::Key(name) => format!("/{name}"),
            kubernetes::field::Segment::Entry(name) => format!("/{}", name.replace('/', "~1")),
            kubernetes::field::Segment::Index(index) => format!("/{index}"),
        })
        .collect();
    match (object.pointer_mut(&pointer), last) {
        (Some(Value::Object(fields)), kubernetes::field::Segment::Key(name)) => {
            drop(fields.remove(name.as_ref()));
        }
        (Some(Value::Object(fields)), kubernetes::field::Segment::Entry(name)) => drop(fields.remove(name)),
        (Some(Value::Array(items)), kubernetes::field::Segment::Index(index)) if *index < items.len() => {
            drop(items.remove(*index));
        }
        (_, _) => {}
    }
}

/// Every denied object that was found for one rule, the most telling first.
pub(crate) type Candidates = Vec<Case>;

/// Returns what each rule denies, and every rule that refuses nothing on any page.
pub(crate) fn of_rules() -> (Vec<Candidates>, Vec<Value>, Vec<&'static str>) {
    let mut found: BTreeMap<String, Candidates> = BTreeMap::new();
    let mut allowed = Vec::new();
    for example in pages().into_iter().flat_map(|page| page.examples) {
        let asked = &example.asked;
        let is_other_kind = [
            "ManagedClustersUpgrade",
            "AddOnPolicy",
            "RolloutFreeze",
            "AddOnRollout",
            "RolloutApproval",
            "RolloutCheck",
            "RolloutProfile",
        ]
        .contains(&asked.object["kind"].as_str().unwrap_or_default());
        let is_ours =
            is_other_kind || asked.object["apiVersion"] == "addon.open-cluster-management.io/v1alpha1";
        if !asked.subresource.is_empty() || asked.operation == Operation::Delete || !is_ours {
            continue;
        }
        let verdict = asked.at(Webhook::Validate, &example.facts);
        if verdict.allowed() && asked.old.is_none() {
            allowed.push(asked.object.clone());
        }
        for fault in verdict.violations() {
            let whole = Case {
                rule: fault.rule().to_owned(),
                denied: asked.object.clone(),
                old: asked.old.clone(),
                facts: Arc::new(example.facts.clone()),
                rulebook: Arc::default(),
                innocent: Vec::new(),
            };
            let candidates = found.entry(whole.rule.clone()).or_default();
            candidates.extend(whole.alone(fault.path()));
            candidates.push(whole);
        }
    }
    let silent = catalogue().into_iter().map(|entry| entry.id);
    let silent = silent.filter(|id| !found.contains_key(*id)).collect();
    let mut found: Vec<Candidates> = found.into_values().collect();
    for candidates in &mut found {
        // What is denied from the start says more than what is denied as a change.
        candidates.sort_by_key(|case| case.old.is_some());
    }
    (found, allowed, silent)
}

/// Returns one case a validation of the policies in `policies/`, and those that refuse nothing.
pub(crate) fn of_policies() -> (Vec<Case>, Vec<String>) {
    let folder = repository("policies");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the policies")
        .filter_map(|entry| entry.expect("an entry").file_name().into_string().ok())
        .filter(|name| name.ends_with(".test.yaml"))
        .collect();
    names.sort();
    let read = |name: &str| -> Value {
        let text = std::fs::read_to_string(folder.join(name)).expect("a file");
        serde_saphyr::from_str(&text).expect("YAML")
    };
    let (mut cases, mut silent) = (Vec::new(), Vec::new());
    for name in names {
        let suite = read(&name);
        let policy = around_now(read(&name.replace(".test.yaml", ".yaml")));
        let (of_suite, rules) = suite_cases(&suite, &policy);
        silent.extend(
            rules
                .into_iter()
                .filter(|rule| of_suite.iter().all(|case| case.rule != *rule)),
        );
        if of_suite.is_empty() {
            silent.push(format!("{name}: nothing is denied"));
        }
        cases.extend(of_suite);
    }
    (cases, silent)
}

fn suite_cases(suite: &Value, policy: &Value) -> (Vec<Case>, BTreeSet<String>) {
    let rulebook = Arc::new(rulebook(std::slice::from_ref(policy)));
    let rules = rulebook.policies.rules();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let all = list(&suite["cases"]);
    let allowed: Vec<Value> = all
        .iter()
        .filter(|one| one["expect"]["allow"] == true && one["old"].is_null())
        .map(|one| one["object"].clone())
        .collect();
    let mut cases: BTreeMap<String, Case> = BTreeMap::new();
    for one in &all {
        let facts = WrittenFacts {
            objects: [list(&suite["given"]["facts"]), list(&one["facts"])].concat(),
            ..WrittenFacts::default()
        };
        let case = Case {
            rule: String::new(),
            denied: one["object"].clone(),
            old: Some(one["old"].clone()).filter(|old| !old.is_null()),
            facts: Arc::new(facts.read()),
            rulebook: Arc::clone(&rulebook),
            innocent: Vec::new(),
        };
        let verdict = case.judge(&case.denied, case.old.as_ref());
        for fault in verdict
            .violations()
            .iter()
            .filter(|fault| rules.contains(fault.rule()))
        {
            let case = Case {
                rule: fault.rule().to_owned(),
                ..case.clone()
            };
            cases.entry(case.rule.clone()).or_insert(case);
        }
    }
    let cases = cases.into_values().map(|case| case.with_innocents(&allowed));
    (cases.collect(), rules)
}

/// A policy about a time is about the present one: a test cannot set the gate's clock.
fn around_now(mut policy: Value) -> Value {
    let Some(window) = policy.pointer_mut("/spec/params/windows/0") else {
        return policy;
    };
    let day = SignedDuration::from_hours(24);
    window["from"] = json!((Timestamp::now() - day).to_string());
    window["until"] = json!((Timestamp::now() + day).to_string());
    policy
}
