//! Searches for slow decisions: lists, maps and strings of every validated kind, alone and in pairs, doubled and doubled again.
//! Work that grows faster than the object is an error.
//!
//! Measured as processor time of this thread, which other programs hardly affect, by ratios, and only after a second measurement.
//! Takes ten seconds, forty in a full run; `TIDEGATE_TIME_SECONDS` and `TIDEGATE_TIME_ITEMS` make it longer and larger.

mod grow;

use std::fs;
use std::time::{Duration, Instant};

use admission::{Operation, Request, RequestContext, Rulebook, Webhook, decide, wire};
use grow::{Filling, Place, places};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use store::Facts;

use crate::kit::asked::{DEFINITIONS, WrittenFacts};
use crate::kit::clock::work;
use crate::kit::manifests::repository;
use crate::kit::policies::rulebook;
use crate::kit::search::amount;

const GROUP: &str = "addon.open-cluster-management.io";
/// Linear time doubles, quadratic time quadruples; the limit is half-way between.
const SUPERLINEAR: f64 = 2.9;
/// Less than this is not worth a look: the gate stops a decision much later (`server/limits.rs`).
const SMALL: Duration = Duration::from_millis(150);
/// No object of these sizes takes longer, in a build for tests on a slow machine.
const LONGEST: Duration = Duration::from_secs(10);

struct Kind {
    name: String,
    group: String,
    resource: String,
    version: String,
    places: Vec<Place>,
}

fn kinds() -> Vec<Kind> {
    let gated = |kind: &str| {
        [
            "ClusterManagementAddOn",
            "ManagedClusterAddOn",
            "AddOnTemplate",
            "AddOnDeploymentConfig",
            "AddOnHubConfig",
            "ManagedClustersUpgrade",
            "AddOnPolicy",
        ]
        .contains(&kind)
    };
    let ours = DEFINITIONS.iter().filter(|crd| gated(&crd.spec.names.kind));
    ours.map(|crd| {
        let version = crd.spec.versions.first().expect("a version");
        let validation = version.schema.as_ref().expect("a schema");
        let schema = serde_json::to_value(&validation.open_api_v3_schema).expect("plain data");
        Kind {
            name: crd.spec.names.kind.clone(),
            group: crd.spec.group.clone(),
            resource: crd.spec.names.plural.clone(),
            version: version.name.clone(),
            places: places(&schema),
        }
    })
    .collect()
}

/// A fleet with many objects of every kind that a rule looks for.
fn facts() -> Facts {
    let clusters: Vec<String> = (0..1000).map(|number| format!("x{number:06}s")).collect();
    let labels = |name: &String| (name.clone(), json!({"env": "prod", "name": name}));
    let supported: Vec<Value> = (0..50)
        .map(|number| json!({"group": GROUP, "resource": format!("x{number:06}z")}))
        .collect();
    let versions: Vec<String> = (0..200).map(|number| format!("v1.{number}.0")).collect();
    let groups: Vec<Value> = clusters.chunks(10).map(|some| json!([some[0], some])).collect();
    let written: WrittenFacts = serde_json::from_value(json!({
        "addons": {"hello": {"supportedConfigs": supported, "installStrategy": {"type": "Placements", "placements": [
            {"name": "same", "namespace": "same"}]}}},
        "placements": {"same/same": clusters, "x000001s/x000001s": clusters, "x000002s/x000002s": clusters},
        "groups": {"x000003s/x000003s": groups},
        "versions": {"hello": versions},
        "clusters": clusters.iter().map(labels).collect::<serde_json::Map<_, _>>(),
        "installed": {"hello": {"same/same": clusters}},
    }))
    .expect("facts");
    written.read()
}

/// The library of policies.
fn library() -> Vec<Value> {
    let folder = repository("policies");
    let entries = fs::read_dir(folder).expect("the library is there").flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ext| ext == "yaml"));
    files.retain(|file| !file.to_string_lossy().contains(".test."));
    files.sort();
    let read = |file: &std::path::PathBuf| {
        let text = fs::read_to_string(file).expect("readable");
        serde_saphyr::from_str::<Value>(&text).expect("one policy a file")
    };
    files.iter().map(read).collect()
}

/// Ordinary policies that compare everything with everything.
fn quadratic(count: usize) -> Vec<Value> {
    let every = [
        "object.spec.?configs.orValue([])",
        "object.spec.?installStrategy.?placements.orValue([])",
    ];
    let policy = |number: usize| {
        let list = every[number % every.len()];
        json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy",
            "metadata": {"name": format!("unique-{number}")},
            "spec": {
                "matchConstraints": {"resourceRules": [{"apiGroups": [GROUP], "apiVersions": ["*"],
                    "operations": ["CREATE", "UPDATE"], "resources": ["*"]}]},
                "validations": [{"id": "a", "message": "twice",
                    "expression": format!("{list}.all(a, {list}.exists_one(b, b == a))")}]}})
    };
    (0..count).map(policy).collect()
}

/// One object that grows.
struct Attack<'a> {
    of: &'a Kind,
    places: Vec<&'a Place>,
    filling: Filling,
}

impl Attack<'_> {
    fn name(&self) -> String {
        let places: Vec<String> = self.places.iter().map(|place| place.name()).collect();
        format!("{} {} {:?}", self.of.name, places.join(" + "), self.filling)
    }

    fn object(&self, count: usize, filling: Filling) -> Value {
        let mut object = json!({"apiVersion": format!("{}/{}", self.of.group, self.of.version), "kind": self.of.name,
            "metadata": {"name": "hello", "namespace": "x000001s"}, "spec": {}});
        if self.of.name == "ClusterManagementAddOn" {
            object["spec"]["installStrategy"] = json!({"type": "Placements"});
        }
        for place in &self.places {
            place.grow(&mut object, count, filling);
        }
        object
    }

    /// Returns the processor time of decisions: of both webhooks, for a creation and an update.
    fn works(&self, count: usize, facts: &Facts, rulebook: &Rulebook) -> [Duration; 3] {
        let new = self.object(count, self.filling);
        // What is stored is as wrong, and one item shorter.
        let mut old = self.object(count.saturating_sub(1), self.filling);
        old["metadata"]["annotations"]["was"] = json!("stored");
        let (new, old) = (
            to_raw_value(&new).expect("JSON"),
            to_raw_value(&old).expect("JSON"),
        );
        let asked = |webhook, operation| {
            let request = Request {
                webhook,
                operation,
                group: &self.of.group,
                version: &self.of.version,
                resource: &self.of.resource,
                kind: &self.of.name,
                subresource: "",
                namespace: "x000001s",
                name: "hello",
                object: Some(&new),
                old: (operation == Operation::Update).then_some(&old),
                dry_run: false,
                circumstances: RequestContext::default(),
            };
            work(|| {
                let verdict = decide(&request, facts, rulebook);
                assert!(
                    wire::encode("u", &verdict).len() < 64 << 10,
                    "the answer is small"
                );
            })
        };
        [
            asked(Webhook::Mutate, Operation::Create),
            asked(Webhook::Validate, Operation::Update),
            asked(Webhook::Mutate, Operation::Update),
        ]
    }

    /// Tells what is wrong with how the work grows up to `most` items.
    fn fault(&self, most: usize, facts: &Facts, rulebook: &Rulebook) -> Option<String> {
        let sizes = [most / 4, most / 2, most];
        if self
            .works(most, facts, rulebook)
            .iter()
            .all(|work| *work <= SMALL)
        {
            return None;
        }
        let once = || sizes.map(|count| self.works(count, facts, rulebook));
        let mut least = once();
        // A suspicion is looked at again: the least of several measurements is the work, the rest is noise.
        for _ in 0..3 {
            told(&least)?;
            let again = once();
            for (known, new) in least.iter_mut().flatten().zip(again.iter().flatten()) {
                *known = (*known).min(*new);
            }
        }
        told(&least).map(|words| format!("{}: {words}", self.name()))
    }
}

fn told(works: &[[Duration; 3]; 3]) -> Option<String> {
    let [small, middle, large] = works;
    (0..3).find_map(|which| {
        let row = [small[which], middle[which], large[which]];
        let ratios = [ratio(row[1], row[0]), ratio(row[2], row[1])];
        let grows = row[2] > SMALL && ratios.iter().all(|ratio| *ratio > SUPERLINEAR);
        (grows || row[2] > LONGEST).then(|| {
            format!(
                "request {which} takes {row:.1?}: {:.1} and {:.1} times",
                ratios[0], ratios[1]
            )
        })
    })
}

fn ratio(large: Duration, small: Duration) -> f64 {
    large.as_secs_f64() / small.as_secs_f64().max(1e-6)
}

fn asked_for(name: &str, usual: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(usual, |text| text.parse().expect("a number"))
}

/// Every place alone, then pairs, each in an order that reaches every kind and filling soon.
fn attacks(kinds: &[Kind]) -> Vec<Attack<'_>> {
    let mut singles = Vec::new();
    for of in kinds {
        for filling in Filling::ALL {
            let alone = |place| Attack {
                of,
                places: vec![place],
                filling,
            };
            singles.extend(of.places.iter().map(alone));
        }
    }
    let mut pairs = Vec::new();
    for of in kinds {
        for (at, one) in of.places.iter().enumerate() {
            for (other, filling) in of.places[at + 1..]
                .iter()
                .zip(Filling::ALL.into_iter().cycle().skip(at))
            {
                pairs.push(Attack {
                    of,
                    places: vec![one, other],
                    filling,
                });
            }
        }
    }
    let mut all = scattered(singles);
    all.extend(scattered(pairs));
    all
}

/// Returns the same things, neighbours far apart: a stride that shares no factor with the length reaches each of them once.
fn scattered<T>(things: Vec<T>) -> Vec<T> {
    let count = things.len();
    let golden = count * 618 / 1000;
    let stride = (golden.max(1)..=golden + count)
        .find(|stride| greatest_common(*stride, count) == 1)
        .unwrap_or(1);
    let mut left: Vec<Option<T>> = things.into_iter().map(Some).collect();
    (0..count)
        .filter_map(|number| left[number * stride % count].take())
        .collect()
}

fn greatest_common(one: usize, other: usize) -> usize {
    if other == 0 {
        one
    } else {
        greatest_common(other, one % other)
    }
}

#[test]
fn no_list_map_or_text_makes_a_decision_grow_faster_than_the_object() {
    let end = Instant::now() + Duration::from_secs(asked_for("TIDEGATE_TIME_SECONDS", amount(10, 40)));
    let most = usize::try_from(asked_for("TIDEGATE_TIME_ITEMS", 3000)).expect("a size");
    let (kinds, facts, rulebook) = (kinds(), facts(), rulebook(&library()));
    assert!(rulebook.policies.len() >= 10);
    let attacks = attacks(&kinds);
    let mut faults = Vec::new();
    let mut tried = 0;
    for attack in attacks.iter().take_while(|_| Instant::now() < end) {
        faults.extend(attack.fault(most, &facts, &rulebook));
        tried += 1;
    }
    let singles = attacks.iter().filter(|attack| attack.places.len() == 1).count();
    println!(
        "{tried} of {} attacks of {most} items, {singles} of them on one place",
        attacks.len()
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn ordinary_policies_that_compare_everything_end_within_their_budget() {
    let mut documents = library();
    documents.extend(quadratic(15));
    let (kinds, facts, rulebook) = (kinds(), facts(), rulebook(&documents));
    let of_lists = |kind: &&Kind| kind.name == "ManagedClusterAddOn";
    let of = kinds.iter().find(of_lists).expect("it is gated");
    let configs = of
        .places
        .iter()
        .filter(|place| place.name() == "spec.configs")
        .collect();
    let attack = Attack {
        of,
        places: configs,
        filling: Filling::Different,
    };
    let [_, validated, _] = attack.works(9000, &facts, &rulebook);
    assert!(validated < LONGEST, "{validated:?}");
}

#[test]
fn what_is_quadratic_is_found() {
    let row = |millis: [u64; 3]| millis.map(|each| [Duration::from_millis(each); 3]);
    assert!(told(&row([20, 80, 320])).is_some());
    assert!(told(&row([100, 200, 400])).is_none(), "that is linear");
    assert!(told(&row([1, 4, 16])).is_none(), "that is too little to tell");
    assert!(told(&row([100, 400, 500])).is_none(), "that ends somewhere");
}
