//! The manifests of a template, filled in and decorated, before it is decided in which work each of them goes.
//!
//! Decides what every manifest says in the end, which entries of `manifestConfigs` belong to it, and how large it is.
//! The name of the cluster stays open. Nothing is rendered in part: the first fault ends it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::configs::{about, merged, probe};
use super::decorate::{Decorations, move_to, workload_resource};
use super::fault::RenderFault;
use super::object::{Identifier, Plurals, check, is_hook, place};
use super::orphans;
use super::recipe::{CLUSTER, Probe, Recipe, fill, largest_size};
use super::split::{Bounds, LARGEST, MOST_HELD};
use super::values::RenderInputs;
use crate::size_budget::SizeBudget;
use crate::substitute::{Variables, substitute};
use store::{Identity, IdentityHash, canonical, fill_defaults};

/// How what the template does not bring is called in faults.
const COMPANION: &str = "the proxy's certificates";

/// One manifest in its last form.
#[derive(Debug)]
struct Manifest {
    object: Value,
    identity: Identity,
    /// How it is called in faults.
    place: String,
    /// Whether it only runs before a deletion.
    is_hook: bool,
    /// Its entry of `manifestConfigs`.
    config: Option<Value>,
    /// Its orphaning rule.
    orphan: Option<Value>,
    probe: Option<Probe>,
}

/// The manifests of a template for one configuration.
#[derive(Debug)]
pub(crate) struct Rendered {
    manifests: Vec<Manifest>,
    /// What every work of the template says: delete option and executor.
    shared: Map<String, Value>,
    /// Entries of `manifestConfigs` about none of the manifests: they may be patterns.
    configs: Vec<Value>,
    /// The manifests that works deploy, by index.
    pub deployed: Vec<usize>,
    /// Whether the name of the cluster occurs in the identity of a manifest.
    pub named_by_cluster: bool,
}

/// The sizes of the manifests.
#[derive(Debug)]
pub(crate) struct Sizes {
    /// Bytes of every deployed manifest, with everything that it brings along.
    pub weights: BTreeMap<usize, usize>,
    /// The deployed manifests, the largest first.
    pub order: Vec<usize>,
    /// Bytes that a work has for manifests.
    pub bounds: Bounds,
}

/// Entries of `manifestConfigs` by what they are about, each with its place.
type Entries = BTreeMap<Identifier, (usize, Value)>;

/// Renders a template.
pub(crate) fn rendered(subject: &RenderInputs<'_>) -> Result<Rendered, RenderFault> {
    let (variables, budget) = (subject.variables(), SizeBudget::default());
    let decorations = Decorations::of(subject, &budget)?;
    let whole = &subject.template.agent;
    let filled = |value: &Value, place: &str| filled(value, &variables, whole, &budget, place);
    let agent = subject.template.agent.as_object();
    let field = |name: &str| agent.and_then(|agent| agent.get(name));
    let raw = field("workload").and_then(|workload| workload.get("manifests"));
    let mut moves = BTreeMap::new();
    let mut manifests = Vec::new();
    for (index, raw) in raw.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let place = place(index, raw);
        let filled = filled(raw, &place)?;
        check(&filled, &place)?;
        let before = Identity::of(&filled);
        let manifest = finished(filled, place, &decorations, subject.moved_to());
        no_fault(RenderFault::of_budget(&budget, &manifest.place))?;
        moves.insert(before, manifest.identity.clone());
        manifests.push(manifest);
    }
    manifests.extend(companions(&manifests, &decorations));
    no_fault(RenderFault::of_budget(&budget, COMPANION))?;
    let mut manifests = without_twins(manifests)?;
    let plurals = Plurals::of(manifests.iter().map(|manifest| &manifest.object));
    let followed = Moves::of(&moves, &plurals);

    let mut shared = Map::new();
    for (name, value) in agent.into_iter().flatten() {
        if !matches!(name.as_str(), "workload" | "manifestConfigs") {
            let filled = filled(value, &format!("agentSpec.{name}"))?;
            shared.insert(name.clone(), filled);
        }
    }
    followed.in_shared(&mut shared);
    let configs = match field("manifestConfigs") {
        Some(own) => filled(own, "agentSpec.manifestConfigs")?,
        None => Value::Null,
    };
    let own = merged(followed.in_configs(configs));
    let mut own: Entries = own
        .into_iter()
        .enumerate()
        .map(|(place, (about, entry))| (about, (place, entry)))
        .collect();
    for manifest in &mut manifests {
        describe(manifest, &plurals, &mut own);
    }
    let mut own: Vec<(usize, Value)> = own.into_values().collect();
    own.sort_by_key(|(place, _)| *place);
    Ok(Rendered {
        shared,
        configs: own.into_iter().map(|(_, config)| config).collect(),
        deployed: (0..manifests.len())
            .filter(|index| manifests.get(*index).is_some_and(|manifest| !manifest.is_hook))
            .collect(),
        named_by_cluster: manifests
            .iter()
            .any(|manifest| manifest.identity.to_string().contains(CLUSTER)),
        manifests,
    })
}

/// Fills in a part of the `whole` template.
fn filled(
    value: &Value,
    variables: &Variables,
    whole: &Value,
    budget: &SizeBudget,
    place: &str,
) -> Result<Value, RenderFault> {
    budget.next();
    substitute(value, variables, budget).map_err(|fault| {
        let full = RenderFault::of_budget(budget, place).filter(|_| fault.is_full());
        full.unwrap_or_else(|| {
            RenderFault::Substitution(place.to_owned(), fault.with_unknown_of(whole, variables))
        })
    })
}

fn no_fault(fault: Option<RenderFault>) -> Result<(), RenderFault> {
    fault.map_or(Ok(()), Err)
}

fn finished(
    mut object: Value,
    place: String,
    decorations: &Decorations<'_>,
    moved_to: Option<&str>,
) -> Manifest {
    let is_hook = is_hook(&object);
    if is_hook {
        decorations.hook(&mut object);
    } else {
        decorations.workload(&mut object);
    }
    if let Some(namespace) = moved_to {
        move_to(&mut object, namespace);
    }
    Manifest {
        identity: Identity::of(&object),
        object,
        place,
        is_hook,
        config: None,
        orphan: None,
        probe: None,
    }
}

/// What workloads mount beside what the template brings, once for each of their namespaces.
fn companions(manifests: &[Manifest], decorations: &Decorations<'_>) -> Vec<Manifest> {
    let workloads = manifests
        .iter()
        .filter(|manifest| workload_resource(&manifest.object).is_some());
    let namespaces: BTreeSet<&str> = workloads
        .map(|manifest| manifest.identity.namespace.as_str())
        .collect();
    let objects = namespaces
        .into_iter()
        .filter_map(|namespace| decorations.companion(namespace));
    let taken: BTreeSet<&Identity> = manifests.iter().map(|manifest| &manifest.identity).collect();
    objects
        .filter(|object| !taken.contains(&Identity::of(object)))
        .map(|object| finished(object, COMPANION.to_owned(), decorations, None))
        .collect()
}

/// Two manifests about one object are a fault, unless they say the same: a move to one namespace may make two alike.
fn without_twins(manifests: Vec<Manifest>) -> Result<Vec<Manifest>, RenderFault> {
    let mut kept: Vec<Manifest> = Vec::with_capacity(manifests.len());
    let mut known: BTreeMap<Identity, usize> = BTreeMap::new();
    for manifest in manifests {
        let twin = known.get(&manifest.identity).and_then(|index| kept.get(*index));
        match twin {
            None => {
                known.insert(manifest.identity.clone(), kept.len());
                kept.push(manifest);
            }
            Some(twin) if twin.object == manifest.object => {}
            Some(twin) => {
                let object = fill(&manifest.identity.to_string(), "{{CLUSTER_NAME}}").into_owned();
                return Err(RenderFault::Twice(twin.place.clone(), manifest.place, object));
            }
        }
    }
    Ok(kept)
}

/// Gives a manifest what belongs to it, and takes its entry out of those of the template.
fn describe(manifest: &mut Manifest, plurals: &Plurals, own: &mut Entries) {
    if manifest.is_hook {
        return;
    }
    let identifier = plurals.identify(&manifest.identity);
    let entry = own.remove(&identifier).map(|(_, entry)| entry);
    manifest.probe = probe(&manifest.object);
    manifest.config = about(&identifier, entry, manifest.probe.is_some());
    manifest.orphan = orphans::rule(&manifest.object, &identifier);
}

/// Where the objects of a template went that were moved to another namespace: what names them in its author's words has
/// to follow.
struct Moves(BTreeMap<Identifier, Identifier>);

impl Moves {
    fn of(moves: &BTreeMap<Identity, Identity>, plurals: &Plurals) -> Self {
        let moved = moves.iter().filter(|(from, to)| from != to);
        Self(
            moved
                .map(|(from, to)| (plurals.identify(from), plurals.identify(to)))
                .collect(),
        )
    }

    fn follow(&self, identifier: &mut Value) {
        if let Some(to) = self.0.get(&Identifier::read(identifier))
            && let Some(fields) = identifier.as_object_mut()
        {
            fields.insert("namespace".to_owned(), Value::from(to.namespace.as_str()));
            fields.insert("name".to_owned(), Value::from(to.name.as_str()));
        }
    }

    fn in_configs(&self, configs: Value) -> Vec<Value> {
        let Value::Array(mut configs) = configs else {
            return Vec::new();
        };
        for identifier in configs
            .iter_mut()
            .filter_map(|config| config.get_mut("resourceIdentifier"))
        {
            self.follow(identifier);
        }
        configs
    }

    fn in_shared(&self, shared: &mut Map<String, Value>) {
        let rules = shared
            .get_mut("deleteOption")
            .and_then(|option| option.pointer_mut("/selectivelyOrphans/orphaningRules"));
        for rule in rules.and_then(Value::as_array_mut).into_iter().flatten() {
            self.follow(rule);
        }
        let account = shared
            .get_mut("executor")
            .and_then(|executor| executor.pointer_mut("/subject/serviceAccount"));
        if let Some(fields) = account.and_then(Value::as_object_mut) {
            let text = |field: &str| {
                fields
                    .get(field)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            let from = Identifier {
                group: String::new(),
                resource: "serviceaccounts".to_owned(),
                namespace: text("namespace"),
                name: text("name"),
            };
            if let Some(to) = self.0.get(&from) {
                fields.insert("namespace".to_owned(), Value::from(to.namespace.as_str()));
            }
        }
    }
}

/// Returns what every work says, with no more than one orphaning rule.
fn slim(shared: &Map<String, Value>) -> Map<String, Value> {
    let mut slim = shared.clone();
    let rules = slim
        .get_mut("deleteOption")
        .and_then(|option| option.pointer_mut("/selectivelyOrphans/orphaningRules"));
    if let Some(rules) = rules.and_then(Value::as_array_mut) {
        rules.truncate(1);
    }
    slim
}

impl Rendered {
    fn chosen<'r>(&'r self, which: &'r [usize]) -> impl Iterator<Item = &'r Manifest> + Clone {
        which.iter().filter_map(|index| self.manifests.get(*index))
    }

    fn spec(&self, which: &[usize]) -> Value {
        self.spec_beside(&self.shared, &self.configs, which)
    }

    /// Returns the spec of some manifests beside what every work says.
    fn spec_beside(&self, shared: &Map<String, Value>, entries: &[Value], which: &[usize]) -> Value {
        let chosen = self.chosen(which);
        let mut spec = shared.clone();
        let rules: Vec<&Value> = chosen
            .clone()
            .filter_map(|manifest| manifest.orphan.as_ref())
            .collect();
        orphans::add(&mut spec, &rules);
        let configs = chosen.clone().filter_map(|manifest| manifest.config.clone());
        let configs: Vec<Value> = configs.chain(entries.iter().cloned()).collect();
        let objects: Vec<&Value> = chosen.map(|manifest| &manifest.object).collect();
        spec.insert("workload".to_owned(), json!({"manifests": objects}));
        spec.insert("manifestConfigs".to_owned(), Value::Array(configs));
        let mut spec = Value::Object(spec);
        fill_defaults(&mut spec);
        spec
    }

    /// Returns what only runs before a deletion.
    pub(super) fn hook_objects(&self) -> impl Iterator<Item = &Value> {
        let hooks = self.manifests.iter().filter(|manifest| manifest.is_hook);
        hooks.map(|manifest| &manifest.object)
    }

    /// Returns the executor of every work of the template.
    pub(super) fn executor(&self) -> Option<&Value> {
        self.shared.get("executor")
    }

    /// Returns the recipe of a work with some of the manifests.
    pub(crate) fn recipe(&self, which: &[usize]) -> Recipe {
        let probes = self.chosen(which).filter_map(|manifest| manifest.probe.clone());
        Recipe::new(&self.spec(which), probes.collect())
    }

    fn size(&self, which: &[usize]) -> usize {
        largest_size(&canonical(&self.spec(which)))
    }

    /// Returns whether one work holds everything.
    pub(crate) fn fits_one_work(&self) -> bool {
        self.size(&self.deployed) <= LARGEST
    }

    /// Measures the manifests; each of them has to fit into a work of its own.
    pub(crate) fn sizes(&self) -> Result<Sizes, RenderFault> {
        /// Commas between a manifest, its entry, its rule and their neighbours.
        const COMMAS: usize = 3;
        let shared = self.size(&[]);
        let capacity = LARGEST
            .checked_sub(shared)
            .ok_or(RenderFault::SharedTooLarge(shared))?;
        // The part that every work repeats may be long and counts once: one item of each list is kept, so that there is a comma.
        let slim = (slim(&self.shared), self.configs.get(..1).unwrap_or_default());
        let beside = |which: &[usize]| largest_size(&canonical(&self.spec_beside(&slim.0, slim.1, which)));
        let least = beside(&[]);
        let mut weights = BTreeMap::new();
        for index in &self.deployed {
            let alone = beside(&[*index]).saturating_sub(least).saturating_add(shared);
            if alone > LARGEST {
                let manifest = self.manifests.get(*index);
                let place = manifest.map(|manifest| manifest.place.clone());
                return Err(RenderFault::TooLarge(place.unwrap_or_default(), alone));
            }
            let weight = alone.saturating_sub(shared).saturating_add(COMMAS);
            weights.insert(*index, weight.min(capacity));
        }
        let mut order = self.deployed.clone();
        let identity = |index: usize| self.manifests.get(index).map(|manifest| &manifest.identity);
        order.sort_by(|one, other| {
            let heavier = weights.get(other).cmp(&weights.get(one));
            heavier.then_with(|| identity(*one).cmp(&identity(*other)))
        });
        let bounds = Bounds {
            filled: capacity,
            kept: MOST_HELD.max(capacity),
        };
        Ok(Sizes {
            weights,
            order,
            bounds,
        })
    }

    /// Returns where each mark of a cluster's objects stands among the deployed manifests.
    pub(crate) fn marks(&self, cluster: &str) -> BTreeMap<IdentityHash, usize> {
        let filled = |identity: &Identity| Identity {
            group: identity.group.clone(),
            kind: identity.kind.clone(),
            namespace: fill(&identity.namespace, cluster).into_owned(),
            name: fill(&identity.name, cluster).into_owned(),
        };
        let deployed = self.deployed.iter();
        let mark = |index: &usize| Some((filled(&self.manifests.get(*index)?.identity).mark(), *index));
        deployed.filter_map(mark).collect()
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "JSON literals are written in place")]
mod tests {
    use super::*;
    use api::v1alpha1::{ImageMirror, ProxyConfig, RegistrationSpec};
    use proptest::prelude::*;
    use store::{DeploymentConfig, Digest, NodePlacement, Template, terms};

    fn template(manifests: Value) -> Template {
        let registration = RegistrationSpec {
            type_: "KubeClient".to_owned(),
            ..RegistrationSpec::default()
        };
        Template {
            agent: json!({"workload": {"manifests": manifests}}),
            registration: Some(vec![registration]),
            ..Template::default()
        }
    }

    fn config(namespace: &str) -> DeploymentConfig {
        DeploymentConfig {
            variables: vec![
                ("IMAGE".into(), "q\"uote".into()),
                ("CLUSTER_NAME".into(), "mine".into()),
            ],
            install_namespace: namespace.into(),
            ..DeploymentConfig::default()
        }
    }

    fn render(template: &Template, config: &DeploymentConfig) -> Result<Rendered, RenderFault> {
        rendered(&RenderInputs {
            addon: "hello",
            template,
            config: Some(config),
            install_namespace: "own-ns",
            image_registries: "",
            cluster_values: &[],
            unset: store::UnsetVariables::Fail,
        })
    }

    /// The spec for cluster `c1` when everything goes into one work.
    fn spec(template: &Template, config: &DeploymentConfig) -> Value {
        let rendered = render(template, config).unwrap();
        rendered.recipe(&rendered.deployed).spec("c1")
    }

    fn fault(manifests: Value) -> String {
        let rendered = render(&template(manifests), &DeploymentConfig::default());
        rendered
            .and_then(|rendered| rendered.sizes())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn an_expansion_that_is_too_large_is_reported_and_not_written() {
        let big = DeploymentConfig {
            variables: vec![("A".into(), "x".repeat(1024).into())],
            ..DeploymentConfig::default()
        };
        let bomb = |name: &str| config_map(name, json!({"a": "{{A}}".repeat(67_500)}));
        let bombs = template(json!([bomb("a"), bomb("b"), bomb("c"), bomb("d")]));
        let fault = render(&bombs, &big).unwrap_err().to_string();
        let place = "manifest 0 (ConfigMap n/a)";
        assert_eq!(
            fault,
            format!("{place} takes more than 819200 bytes; one ManifestWork holds at most 409600 bytes")
        );
        let large = |number: usize| config_map(&format!("c{number}"), json!({"a": "{{A}}".repeat(390)}));
        let many = template((0..40).map(large).collect());
        let fault = render(&many, &big).unwrap_err().to_string();
        assert_eq!(fault, "all manifests together take more than 13107200 bytes");
        let several = template((0..20).map(large).collect());
        assert_eq!(render(&several, &big).unwrap().sizes().unwrap().order.len(), 20);
    }

    #[test]
    fn what_a_configuration_adds_to_every_container_is_bounded_too() {
        let mut config = config("");
        config.proxy.http_proxy = "http://proxy.example.com".to_owned();
        config.proxy.no_proxy = "x".repeat(100_000);
        let mut many = deployment("Deployment");
        many["spec"]["template"]["spec"]["containers"] = (0..1000)
            .map(|number| json!({"name": format!("c{number}")}))
            .collect();
        let fault = render(&template(json!([many])), &config).unwrap_err().to_string();
        assert!(
            fault.ends_with("takes more than 819200 bytes; one ManifestWork holds at most 409600 bytes"),
            "{fault}"
        );
    }

    #[test]
    fn a_manifest_weighs_the_same_whatever_every_work_says_beside_it() {
        let keep = json!({"addon.open-cluster-management.io/deletion-orphan": ""});
        let mut kept = config_map("kept", json!({"a": "b"}));
        kept["metadata"]["annotations"] = keep;
        let pattern = |name: &str| {
            json!({"resourceIdentifier": {"group": "", "resource": "*", "name": name},
            "feedbackRules": [{"type": "WellKnownStatus"}]})
        };
        let rule = |name: &str| json!({"group": "", "resource": "secrets", "namespace": "n", "name": name});
        let mut template = template(json!([kept, config_map("other", json!({}))]));
        template.agent["manifestConfigs"] = json!([pattern("a"), pattern("b"), pattern("c")]);
        template.agent["deleteOption"] = json!({"propagationPolicy": "SelectivelyOrphan",
            "selectivelyOrphans": {"orphaningRules": [rule("a"), rule("b")]}});
        let rendered = render(&template, &DeploymentConfig::default()).unwrap();
        for (index, weight) in rendered.sizes().unwrap().weights {
            let measured = rendered.size(&[index]) - rendered.size(&[]);
            assert_eq!(weight, measured + 3, "manifest {index}");
        }
    }

    fn config_map(name: &str, data: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"}, "data": data})
    }

    fn deployment(kind: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": kind,
            "metadata": {"name": "agent", "namespace": "{{INSTALL_NAMESPACE}}"},
            "spec": {"replicas": 1, "odd": {"kept": null}, "template": {"spec": {
                "containers": [{"name": "main", "image": "quay.example/org/x:{{IMAGE}}", "args": ["{{CLUSTER_NAME}}"]}],
                "initContainers": [{"name": "first", "image": "quay.example/org/y"}]}}}})
    }

    #[test]
    fn a_workload_is_filled_in_and_decorated_and_nothing_else_is_added() {
        let decorated = DeploymentConfig {
            nodes: NodePlacement {
                selector: json!({"disk": "ssd"}).as_object().cloned(),
                tolerations: Some(vec![json!({"key": "edge"})]),
            },
            registries: Some(vec![ImageMirror {
                mirror: "local".into(),
                source: "quay.example/org".into(),
            }]),
            proxy: ProxyConfig {
                https_proxy: "http://p".into(),
                ..ProxyConfig::default()
            },
            resources: vec![("*:*:main".into(), json!({"limits": {"cpu": "1"}}))],
            ..config("")
        };
        let env = |name: &str, value: &str| json!({"name": name, "value": value});
        let expected = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "agent", "namespace": "own-ns"},
            "spec": {"replicas": 1, "odd": {}, "template": {"spec": {
                "nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "edge"}],
                "volumes": [{"name": "hub-kubeconfig", "secret": {"secretName": "hello-hub-kubeconfig"}}],
                "containers": [{"name": "main", "image": "local/x:q\"uote", "args": ["c1"],
                    "env": [env("HUB_KUBECONFIG", "/managed/hub-kubeconfig/kubeconfig"), env("CLUSTER_NAME", "c1"),
                        env("INSTALL_NAMESPACE", "own-ns"), env("HTTPS_PROXY", "http://p"), env("https_proxy", "http://p")],
                    "volumeMounts": [{"name": "hub-kubeconfig", "mountPath": "/managed/hub-kubeconfig"}],
                    "resources": {"limits": {"cpu": "1"}}}],
                "initContainers": [{"name": "first", "image": "local/y"}]}}}});
        let spec = spec(&template(json!([deployment("Deployment")])), &decorated);
        assert_eq!(spec["workload"]["manifests"], json!([expected]));
        assert_eq!(
            spec["manifestConfigs"],
            json!([{"feedbackRules": [{"type": "WellKnownStatus"}], "feedbackScrapeType": "Poll",
                "resourceIdentifier": {"group": "apps", "name": "agent", "namespace": "own-ns", "resource": "deployments"}}])
        );
    }

    #[test]
    fn other_kinds_are_left_as_they_are() {
        let mut job = deployment("Job");
        job["apiVersion"] = json!("batch/v1");
        let registries = Some(vec![ImageMirror {
            mirror: "local".into(),
            source: String::new(),
        }]);
        let mirrored = DeploymentConfig {
            registries,
            ..config("")
        };
        let main = |manifest: Value| {
            let spec = spec(&template(json!([manifest])), &mirrored);
            spec["workload"]["manifests"][0]["spec"]["template"]["spec"]["containers"][0].clone()
        };
        assert_eq!(main(job.clone())["image"], "quay.example/org/x:q\"uote");
        assert_eq!(main(job)["env"], Value::Null);
        for kind in ["Deployment", "DaemonSet", "StatefulSet"] {
            assert_eq!(main(deployment(kind))["image"], "local/x:q\"uote", "{kind}");
            assert_eq!(
                main(deployment(kind))["env"].as_array().unwrap().len(),
                3,
                "{kind}"
            );
        }
    }

    #[test]
    fn a_hook_is_not_deployed_and_finds_its_image() {
        let mut hook = deployment("Job");
        hook["apiVersion"] = json!("batch/v1");
        hook["metadata"]["annotations"] = json!({(terms::PRE_DELETE): ""});
        let registries = Some(vec![ImageMirror {
            mirror: "local".into(),
            source: String::new(),
        }]);
        let rendered = render(
            &template(json!([hook])),
            &DeploymentConfig {
                registries,
                ..config("")
            },
        )
        .unwrap();
        assert!(rendered.deployed.is_empty());
        let object = &rendered.manifests[0].object;
        assert_eq!(
            object["spec"]["template"]["spec"]["containers"][0]["image"],
            "local/x:q\"uote"
        );
    }

    #[test]
    fn certificates_of_the_proxy_stand_where_the_workloads_stand() {
        let proxy = ProxyConfig {
            http_proxy: "http://p".into(),
            ca_bundle: "UEVN".into(),
            ..ProxyConfig::default()
        };
        let with = |manifests: Value, namespace: &str| {
            let config = DeploymentConfig {
                proxy: proxy.clone(),
                ..config(namespace)
            };
            let spec = spec(&template(manifests), &config);
            let all = spec["workload"]["manifests"].as_array().unwrap().clone();
            let maps = all
                .into_iter()
                .filter(|one| one["metadata"]["name"] == "hello-proxy-ca");
            maps.map(|one| {
                (
                    one["metadata"]["namespace"].clone(),
                    one["data"]["ca-bundle.crt"].clone(),
                )
            })
            .collect::<Vec<_>>()
        };
        let mut far = deployment("DaemonSet");
        far["metadata"]["namespace"] = json!("far");
        let both = json!([deployment("Deployment"), far]);
        assert_eq!(
            with(both.clone(), ""),
            [(json!("far"), json!("PEM")), (json!("own-ns"), json!("PEM"))]
        );
        assert_eq!(with(both, "moved"), [(json!("moved"), json!("PEM"))]);
        assert_eq!(
            with(json!([config_map("x", json!({}))]), ""),
            [],
            "no container mounts it"
        );
        let mut own = config_map("hello-proxy-ca", json!({"ca-bundle.crt": "mine"}));
        own["metadata"]["namespace"] = json!("own-ns");
        assert_eq!(
            with(json!([own, deployment("Deployment")]), ""),
            [(json!("own-ns"), json!("mine"))]
        );
    }

    #[test]
    fn what_names_an_object_follows_it_to_the_install_namespace() {
        let mut template = template(json!([
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s", "namespace": "old"}},
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "agent", "namespace": "old"}, "spec": {}},
        ]));
        let deployment = |namespace: &str| json!({"group": "apps", "resource": "deployments", "namespace": namespace, "name": "agent"});
        let elsewhere = json!({"group": "", "resource": "secrets", "namespace": "old", "name": "not-ours"});
        template.agent["manifestConfigs"] = json!([
            {"resourceIdentifier": deployment("old"), "updateStrategy": {"type": "CreateOnly"}},
            {"resourceIdentifier": elsewhere}]);
        template.agent["deleteOption"] = json!({"propagationPolicy": "SelectivelyOrphan",
            "selectivelyOrphans": {"orphaningRules": [deployment("old")]}});
        template.agent["executor"] = json!({"subject": {"type": "ServiceAccount", "serviceAccount": {"name": "s", "namespace": "old"}}});
        let spec = spec(&template, &config("new"));
        let entry = json!({"resourceIdentifier": deployment("new"), "updateStrategy": {"type": "CreateOnly"},
            "feedbackRules": [{"type": "WellKnownStatus"}], "feedbackScrapeType": "Poll"});
        let other = json!({"resourceIdentifier": elsewhere, "feedbackScrapeType": "Poll"});
        assert_eq!(spec["manifestConfigs"], json!([entry, other]));
        assert_eq!(
            spec["deleteOption"]["selectivelyOrphans"]["orphaningRules"],
            json!([deployment("new")])
        );
        assert_eq!(
            spec["executor"]["subject"]["serviceAccount"],
            json!({"name": "s", "namespace": "new"})
        );
    }

    #[test]
    fn two_manifests_that_a_move_makes_alike_are_one() {
        let namespace =
            |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let spec = spec(&template(json!([namespace("a"), namespace("b")])), &config("one"));
        assert_eq!(spec["workload"]["manifests"], json!([namespace("one")]));
    }

    #[test]
    fn the_digest_is_the_one_of_the_stored_spec() {
        let keyed = config_map("x", json!({"{{CLUSTER_NAME}}": "1", "m": "2"}));
        let rendered = render(&template(json!([keyed, deployment("Deployment")])), &config("")).unwrap();
        for which in [&rendered.deployed[..], &[1]] {
            let recipe = rendered.recipe(which);
            for cluster in ["a", "z"] {
                assert_eq!(
                    recipe.digest(cluster),
                    Digest::of_spec(&recipe.spec(cluster)),
                    "{cluster}"
                );
            }
        }
    }

    #[test]
    fn faults_name_the_manifest_and_the_place() {
        let big = || json!("y".repeat(LARGEST));
        let rows = [
            (
                json!([config_map("x", json!({"a": "{{UNKNOWN}}"}))]),
                "manifest 0 (ConfigMap n/x): data.a: unknown variable \"UNKNOWN\"",
            ),
            (
                json!([
                    config_map("x", json!({"a": "{{ONE}} {{CLUSTER_NAME}} {{TWO}}{{ONE}}"})),
                    config_map("y", json!({"{{THREE}}": ["{{ no.name }}", "{{{FOUR}}}"]}))
                ]),
                "manifest 0 (ConfigMap n/x): data.a: unknown variable \"ONE\"; other unknown variables in the template: \"TWO\", \
                 \"THREE\", \"FOUR\"",
            ),
            (
                json!([config_map("x", json!({"a": "{{CLUSTER_NAME"}))]),
                "manifest 0 (ConfigMap n/x): data.a: unclosed braces in \"{{CLUSTER_NAME\"",
            ),
            (json!([{"kind": "X"}]), "manifest 0 (X) has no apiVersion"),
            (json!([7]), "manifest 0 has no apiVersion"),
            (json!([{"apiVersion": "v1"}]), "manifest 0 has no kind"),
            (
                json!([{"apiVersion": "v1", "kind": "X", "metadata": {}}]),
                "manifest 0 (X) has no metadata.name",
            ),
            (
                json!([
                    config_map("x", json!({})),
                    config_map("y", json!({})),
                    config_map("x", json!({"a": "1"}))
                ]),
                "manifest 0 (ConfigMap n/x) and manifest 2 (ConfigMap n/x) are both ConfigMap n/x",
            ),
            (
                json!([
                    config_map("small", json!({})),
                    config_map("big", json!({"a": big()}))
                ]),
                "manifest 1 (ConfigMap n/big) takes 409725 bytes; one ManifestWork holds at most 409600 bytes",
            ),
        ];
        for (manifests, expected) in rows {
            assert_eq!(fault(manifests), expected);
        }
    }

    /// Text with everything that is special: to variables, to JSON, or to templates of other programs.
    fn text() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "{{CLUSTER_NAME}}",
            "{{INSTALL_NAMESPACE}}",
            "{{IMAGE}}",
            "{{",
            "}}",
            "{",
            "\"",
            "\\",
            "{{ $x }}",
            "a",
            "c1",
        ]);
        prop::collection::vec(pieces, 0..5).prop_map(|pieces| pieces.concat())
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            text().prop_map(Value::from),
            Just(Value::Null),
            any::<i32>().prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let key = prop::sample::select(vec![
                "spec",
                "template",
                "containers",
                "env",
                "volumes",
                "image",
                "metadata",
                "name",
                "subjects",
                "{{IMAGE}}",
            ]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::btree_map(key, inner, 0..4).prop_map(|fields| fields
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()),
            ]
        })
    }

    proptest! {
        /// Whatever a template says, rendering answers, leaves no variable of ours behind, and its digests are right.
        #[test]
        fn rendering_never_fails_in_silence(
            bodies in prop::collection::vec((any_json(), 0..4_usize, text()), 0..5),
            agent in any_json(), namespace in prop::sample::select(vec!["", "moved"]),
        ) {
            let kinds = ["Deployment", "ConfigMap", "RoleBinding", "Job"];
            let manifests: Vec<Value> = bodies.into_iter().enumerate().map(|(index, (body, kind, name))| json!({
                "apiVersion": "apps/v1", "kind": kinds[kind], "spec": body, "subjects": body,
                "metadata": {"name": format!("m{index}{name}"), "namespace": "n"}})).collect();
            let mut template = template(json!(manifests));
            template.agent["manifestConfigs"] = agent.clone();
            template.agent["deleteOption"] = agent;
            if let Ok(rendered) = render(&template, &config(namespace)) {
                let recipe = rendered.recipe(&rendered.deployed);
                let spec = recipe.spec("c1");
                prop_assert_eq!(recipe.digest("c1"), Digest::of_spec(&spec));
                let text = spec.to_string();
                for own in ["{{CLUSTER_NAME}}", "{{INSTALL_NAMESPACE}}", "{{IMAGE}}"] {
                    prop_assert!(!text.contains(own), "{} in {}", own, text);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

        /// No work is larger than the hub accepts, whatever the cluster is called.
        #[test]
        fn no_work_is_too_large(sizes in prop::collection::vec((0..LARGEST, 0..2000_usize), 1..8)) {
            let manifests: Vec<Value> = sizes.iter().enumerate().map(|(index, (size, names))| {
                let name = format!("m{index}");
                let mut map = config_map(&name, json!({"a": "y".repeat(*size), "b": "{{CLUSTER_NAME}}".repeat(*names)}));
                if index % 2 == 0 {
                    map["metadata"]["annotations"] = json!({"addon.open-cluster-management.io/deletion-orphan": ""});
                }
                map
            }).collect();
            let rendered = render(&template(json!(manifests)), &config("")).unwrap();
            let Ok(sizes) = rendered.sizes() else { return Ok(()) };
            let shares = crate::render::split(&sizes.weights, &sizes.order, sizes.bounds, &[]);
            let all: usize = shares.iter().map(|share| share.manifests.len()).sum();
            prop_assert_eq!(all, rendered.deployed.len());
            for share in shares {
                let spec = rendered.recipe(&share.manifests).spec(&"c".repeat(63));
                let size = canonical(&spec).len();
                prop_assert!(size <= LARGEST, "{} bytes", size);
            }
        }
    }
}
