//! Questions to the gate from plain documents, and facts from YAML: shared by the tests of admission.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tidegate::admission::{Circumstances, Door, Operation, Request, Rulebook, Verdict, decide};
use tidegate::api::v1alpha1::ClusterManagementAddOnSpec;
use tidegate::model::ConfigType;
use tidegate::snapshot::{AddonFacts, Facts};

/// What is asked about one object.
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

    /// Asks at one of the doors.
    pub(crate) fn at(&self, door: Door, facts: &Facts) -> Verdict {
        self.under(&Rulebook::default(), door, facts)
    }

    /// Asks at one of the doors, under a rulebook.
    pub(crate) fn under(&self, rulebook: &Rulebook, door: Door, facts: &Facts) -> Verdict {
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
            door,
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
            circumstances: Circumstances::default(),
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
pub(crate) static DEFINITIONS: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(tidegate::api::crds);

/// Facts as a page writes them.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WrittenFacts {
    pub(crate) complete: bool,
    pub(crate) addons: BTreeMap<String, ClusterManagementAddOnSpec>,
    pub(crate) placements: BTreeMap<String, Vec<String>>,
    pub(crate) agents: BTreeMap<String, Vec<String>>,
    pub(crate) versions: BTreeMap<String, Vec<String>>,
}

impl Default for WrittenFacts {
    fn default() -> Self {
        Self {
            complete: true,
            addons: BTreeMap::new(),
            placements: BTreeMap::new(),
            agents: BTreeMap::new(),
            versions: BTreeMap::new(),
        }
    }
}

impl WrittenFacts {
    pub(crate) fn read(&self) -> Facts {
        let mut facts = Facts::default();
        if self.complete {
            facts = facts.completed();
        }
        for (name, spec) in &self.addons {
            facts = facts.with_addon(name, AddonFacts::of(spec));
        }
        for (placement, clusters) in &self.placements {
            let (namespace, name) = placement.split_once('/').expect("namespace/name");
            facts = facts.with_placement(namespace, name, clusters.iter().map(String::as_str));
        }
        for (addon, types) in &self.agents {
            let (cluster, name) = addon.split_once('/').expect("cluster/add-on");
            facts = facts.with_declared(cluster, name, types.iter().map(|text| config_type(text)));
        }
        for (addon, versions) in &self.versions {
            facts = facts.with_versions(addon, versions.iter().map(String::as_str));
        }
        facts
    }
}

fn config_type(text: &str) -> ConfigType {
    let (resource, group) = text.split_once('.').unwrap_or((text, ""));
    ConfigType::parse(group, resource).expect("a plural name")
}
