//! Admission requests from plain documents, and facts from YAML.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use admission::{Operation, Request, RequestContext, Rulebook, Verdict, Webhook, decide};
use api::v1alpha1::ClusterManagementAddOnSpec;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use model::ConfigType;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use store::{
    AddonFacts, Completeness, Event, Facts, Kind, Name, ObjectKey, Settings, Store, UserRight, role_key,
};

/// An admission request for one object.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) operation: Operation,
    pub(crate) subresource: &'static str,
    pub(crate) object: Value,
    pub(crate) old: Option<Value>,
}

impl Asked {
    pub(crate) fn create(object: Value) -> Self {
        Self {
            operation: Operation::Create,
            subresource: "",
            object,
            old: None,
        }
    }

    /// Decides the request for one of the webhooks.
    pub(crate) fn at(&self, webhook: Webhook, facts: &Facts) -> Verdict {
        self.under(&Rulebook::default(), webhook, facts)
    }

    /// Decides the request for one of the webhooks, with a rulebook.
    pub(crate) fn under(&self, rulebook: &Rulebook, webhook: Webhook, facts: &Facts) -> Verdict {
        // Only decisions about changes, pauses and freezes have an author.
        let kind = self.object.get("kind").and_then(Value::as_str);
        let is_decision = [
            "RolloutApproval",
            "AddOnRollout",
            "RolloutProfile",
            "RolloutFreeze",
        ]
        .map(Some)
        .contains(&kind);
        let user = to_raw_value(&serde_json::json!({"username": "lead"})).expect("JSON");
        let circumstances = RequestContext {
            user: is_decision.then_some(&*user),
            now: is_decision.then(|| "2030-01-01T00:00:00Z".parse().expect("a time")),
            ..RequestContext::default()
        };
        self.as_told(rulebook, (webhook, circumstances), facts)
    }

    /// The same, with a request context.
    pub(crate) fn as_told(
        &self,
        rulebook: &Rulebook,
        (webhook, circumstances): (Webhook, RequestContext<'_>),
        facts: &Facts,
    ) -> Verdict {
        let text = |name: &str| {
            self.object
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let meta = |name: &str| {
            let value = self
                .object
                .get("metadata")
                .and_then(|metadata| metadata.get(name));
            value.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let raw = |value: &Value| to_raw_value(value).expect("a document is JSON");
        let object: Box<RawValue> = raw(&self.object);
        let old = self.old.as_ref().map(raw);
        let request = Request {
            webhook,
            operation: self.operation,
            group,
            version,
            resource: &resource(group, &kind),
            kind: &kind,
            subresource: self.subresource,
            namespace: &meta("namespace"),
            name: &meta("name"),
            object: Some(&object),
            old: old.as_deref(),
            dry_run: false,
            circumstances,
        };
        let verdict = decide(&request, facts, rulebook);
        let dry = decide(
            &Request {
                dry_run: true,
                ..request
            },
            facts,
            rulebook,
        );
        assert_eq!(verdict, dry, "a dry run gets the same answer");
        verdict
    }
}

/// Returns the plural of a kind: ours from their definitions, others by their looks.
pub(crate) fn resource(group: &str, kind: &str) -> String {
    let ours = DEFINITIONS
        .iter()
        .find(|crd| crd.spec.group == group && crd.spec.names.kind == kind);
    ours.map_or_else(
        || format!("{}s", kind.to_lowercase()),
        |crd| crd.spec.names.plural.clone(),
    )
}

/// The definitions of our kinds, made once.
pub(crate) static DEFINITIONS: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(api::crds);

/// Facts as a page writes them.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WrittenFacts {
    pub(crate) complete: bool,
    pub(crate) addons: BTreeMap<String, ClusterManagementAddOnSpec>,
    pub(crate) placements: BTreeMap<String, Vec<String>>,
    pub(crate) agents: BTreeMap<String, Vec<String>>,
    pub(crate) versions: BTreeMap<String, Vec<String>>,
    /// Clusters with their labels. This and what follows makes a whole fleet: what is not written does not exist.
    pub(crate) clusters: BTreeMap<String, BTreeMap<String, String>>,
    /// Decision groups by placement: name and clusters, in order.
    pub(crate) groups: BTreeMap<String, Vec<(String, Vec<String>)>>,
    /// Who has an add-on: add-on, then who installed it (`namespace/name` of a placement, or ""), then clusters.
    pub(crate) installed: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// Objects as a hub serves them.
    pub(crate) objects: Vec<Value>,
    /// What the hub itself says about objects: `Kind namespace/name`, and whether it exists.
    pub(crate) asked_hub: BTreeMap<String, bool>,
    /// What the hub says the one who asks may bind, or get of placements: `Kind name namespace`, without the namespace everywhere.
    pub(crate) may_bind: BTreeMap<String, bool>,
}

impl Default for WrittenFacts {
    fn default() -> Self {
        Self {
            complete: true,
            addons: BTreeMap::new(),
            placements: BTreeMap::new(),
            agents: BTreeMap::new(),
            versions: BTreeMap::new(),
            clusters: BTreeMap::new(),
            groups: BTreeMap::new(),
            installed: BTreeMap::new(),
            objects: Vec::new(),
            asked_hub: BTreeMap::new(),
            may_bind: BTreeMap::new(),
        }
    }
}

impl WrittenFacts {
    pub(crate) fn read(&self) -> Facts {
        let mut facts = self.fleet();
        for (name, spec) in &self.addons {
            facts = facts.with_addon(name, AddonFacts::of(spec));
        }
        for (placement, clusters) in &self.placements {
            let (namespace, name) = placement.split_once('/').expect("namespace/name");
            facts = facts.with_placement(namespace, name, clusters.iter().map(String::as_str));
        }
        for (addon, types) in &self.agents {
            let (_, name) = addon.split_once('/').expect("cluster/add-on");
            facts = facts.with_declared(name, types.iter().map(|text| config_type(text)));
        }
        for (addon, versions) in &self.versions {
            facts = facts.with_versions(addon, versions.iter().map(String::as_str));
        }
        let rights = self.may_bind.iter().map(|(text, may)| {
            let mut words = text.split(' ');
            let (kind, name) = (words.next().expect("a kind"), words.next().expect("a name"));
            let namespace = Name::from(words.next().unwrap_or_default());
            let object = match kind {
                "Placement" => ObjectKey::new(Kind::Placement, &*namespace, name),
                _ => role_key(kind, &namespace, &name.into()).expect("a kind of role"),
            };
            (UserRight { object, namespace }, *may)
        });
        facts = facts.entitled(rights.collect());
        if self.asked_hub.is_empty() {
            return facts;
        }
        let answers = self.asked_hub.iter().map(|(object, exists)| {
            let (kind, place) = object.split_once(' ').expect("kind, then namespace/name");
            let (namespace, name) = place.split_once('/').unwrap_or(("", place));
            (ObjectKey::new(kind_of(kind), namespace, name), *exists)
        });
        facts.confirmed_by(answers.collect())
    }

    /// The facts of a fleet, made by the store that the controllers use.
    fn fleet(&self) -> Facts {
        let objects = self.written_objects();
        if objects.is_empty() {
            // The example says nothing about these kinds, so that their absence means nothing.
            const UNWRITTEN: [Kind; 7] = [
                Kind::Cluster,
                Kind::Placement,
                Kind::DeploymentConfig,
                Kind::Template,
                Kind::HubConfig,
                Kind::HubClusterRole,
                Kind::HubRole,
            ];
            let written = Kind::ALL.into_iter().filter(|kind| !UNWRITTEN.contains(kind));
            let known = if self.complete {
                Completeness::of(written)
            } else {
                Completeness::NONE
            };
            return Facts {
                known,
                ..Facts::default()
            };
        }
        let mut store = Store::new(Settings::default());
        for (number, mut object) in objects.into_iter().enumerate() {
            let kind = Kind::of_object(&object).expect("a kind of the store");
            object["metadata"]["uid"] = json!(format!("uid-{number}"));
            object["metadata"]["resourceVersion"] = json!((number + 1).to_string());
            drop(store.apply(Event::Applied { kind, object }));
        }
        assert!(store.faults().is_empty(), "{:?}", store.faults());
        let known = if self.complete {
            Completeness::all()
        } else {
            Completeness::NONE
        };
        store.publish(known).unwrap_or_default()
    }

    pub(crate) fn written_objects(&self) -> Vec<Value> {
        let mut objects = self.objects.clone();
        for (name, labels) in &self.clusters {
            objects.push(
                json!({"kind": "ManagedCluster", "metadata": {"name": name, "labels": labels},
                "spec": {"hubAcceptsClient": true}}),
            );
        }
        for (placement, groups) in &self.groups {
            let (namespace, name) = placement.split_once('/').expect("namespace/name");
            objects.push(
                json!({"kind": "Placement", "metadata": {"name": name, "namespace": namespace}, "spec": {}}),
            );
            for (index, (group, clusters)) in groups.iter().enumerate() {
                let labels = json!({
                    "cluster.open-cluster-management.io/placement": name,
                    "cluster.open-cluster-management.io/decision-group-index": index.to_string(),
                    "cluster.open-cluster-management.io/decision-group-name": group,
                });
                let decisions = clusters
                    .iter()
                    .map(|cluster| json!({"clusterName": cluster, "reason": ""}));
                let decisions: Vec<Value> = decisions.collect();
                let metadata =
                    json!({"name": format!("{name}-{index}"), "namespace": namespace, "labels": labels});
                objects.push(json!({"kind": "PlacementDecision", "metadata": metadata, "status": {"decisions": decisions}}));
            }
        }
        for (addon, givers) in &self.installed {
            for (mark, clusters) in givers {
                for cluster in clusters {
                    let annotations = json!({"tidegate.io/installed-by": mark});
                    let metadata = json!({"name": addon, "namespace": cluster, "annotations": annotations});
                    objects.push(json!({"kind": "ManagedClusterAddOn", "metadata": metadata, "spec": {}}));
                }
            }
        }
        objects
    }
}

fn kind_of(kind: &str) -> Kind {
    let known = Kind::ALL.into_iter().find(|known| known.address().kind == kind);
    known.expect("a kind of the store")
}

fn config_type(text: &str) -> ConfigType {
    let (resource, group) = text.split_once('.').unwrap_or((text, ""));
    ConfigType::parse(group, resource).expect("a plural name")
}
