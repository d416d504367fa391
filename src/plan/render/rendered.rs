//! The manifests of a template, filled in and decorated, before anybody knows in which work each of them goes.
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
use super::recipe::{CLUSTER, Probe, Recipe, fill, room_for};
use super::split::LARGEST;
use super::values::Subject;
use crate::plan::substitute::{Variables, substitute};
use crate::snapshot::{Identity, Mark, canonical, fill_defaults};

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
pub(in crate::plan) struct Rendered {
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

/// How much room the manifests take.
#[derive(Debug)]
pub(in crate::plan) struct Sizes {
    /// Bytes of every deployed manifest, with everything that it brings along.
    pub weights: BTreeMap<usize, usize>,
    /// The deployed manifests, the largest first.
    pub order: Vec<usize>,
    /// Bytes that a work has for manifests.
    pub room: usize,
}

/// Renders a template.
pub(in crate::plan) fn rendered(subject: &Subject<'_>) -> Result<Rendered, RenderFault> {
    let variables = subject.variables();
    let decorations = Decorations::of(subject)?;
    let agent = subject.template.agent.as_object();
    let field = |name: &str| agent.and_then(|agent| agent.get(name));
    let raw = field("workload").and_then(|workload| workload.get("manifests"));
    let mut moves = BTreeMap::new();
    let mut manifests = Vec::new();
    for (index, raw) in raw.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let place = place(index, raw);
        let filled = filled(raw, &variables, &place)?;
        check(&filled, &place)?;
        let before = Identity::of(&filled);
        let manifest = finished(filled, place, &decorations, subject.moved_to());
        moves.insert(before, manifest.identity.clone());
        manifests.push(manifest);
    }
    manifests.extend(companions(&manifests, &decorations));
    let mut manifests = without_twins(manifests)?;
    let plurals = Plurals::of(manifests.iter().map(|manifest| &manifest.object));
    let followed = Moves::of(&moves, &plurals);

    let mut shared = Map::new();
    for (name, value) in agent.into_iter().flatten() {
        if !matches!(name.as_str(), "workload" | "manifestConfigs") {
            let filled = filled(value, &variables, &format!("agentSpec.{name}"))?;
            shared.insert(name.clone(), filled);
        }
    }
    followed.in_shared(&mut shared);
    let configs = match field("manifestConfigs") {
        Some(own) => filled(own, &variables, "agentSpec.manifestConfigs")?,
        None => Value::Null,
    };
    let mut own = merged(followed.in_configs(configs));
    for manifest in &mut manifests {
        describe(manifest, &plurals, &mut own);
    }
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

fn filled(value: &Value, variables: &Variables, place: &str) -> Result<Value, RenderFault> {
    substitute(value, variables).map_err(|fault| RenderFault::Substitution(place.to_owned(), fault))
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
        .map(|object| finished(object, "the proxy's certificates".to_owned(), decorations, None))
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
fn describe(manifest: &mut Manifest, plurals: &Plurals, own: &mut Vec<(Identifier, Value)>) {
    if manifest.is_hook {
        return;
    }
    let identifier = plurals.identify(&manifest.identity);
    let index = own.iter().position(|(about, _)| *about == identifier);
    let entry = index.map(|index| own.remove(index).1);
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

impl Rendered {
    fn chosen<'r>(&'r self, which: &'r [usize]) -> impl Iterator<Item = &'r Manifest> + Clone {
        which.iter().filter_map(|index| self.manifests.get(*index))
    }

    fn spec(&self, which: &[usize]) -> Value {
        let chosen = self.chosen(which);
        let mut spec = self.shared.clone();
        let rules: Vec<&Value> = chosen
            .clone()
            .filter_map(|manifest| manifest.orphan.as_ref())
            .collect();
        orphans::add(&mut spec, &rules);
        let configs = chosen.clone().filter_map(|manifest| manifest.config.clone());
        let configs: Vec<Value> = configs.chain(self.configs.iter().cloned()).collect();
        let objects: Vec<&Value> = chosen.map(|manifest| &manifest.object).collect();
        spec.insert("workload".to_owned(), json!({"manifests": objects}));
        spec.insert("manifestConfigs".to_owned(), Value::Array(configs));
        let mut spec = Value::Object(spec);
        fill_defaults(&mut spec);
        spec
    }

    /// Returns the recipe of a work with some of the manifests.
    pub(in crate::plan) fn recipe(&self, which: &[usize]) -> Recipe {
        let probes = self.chosen(which).filter_map(|manifest| manifest.probe.clone());
        Recipe::new(&self.spec(which), probes.collect())
    }

    fn size(&self, which: &[usize]) -> usize {
        room_for(&canonical(&self.spec(which)))
    }

    /// Returns whether one work holds everything.
    pub(in crate::plan) fn fits_one_work(&self) -> bool {
        self.size(&self.deployed) <= LARGEST
    }

    /// Measures the manifests; each of them has to fit into a work of its own.
    pub(in crate::plan) fn sizes(&self) -> Result<Sizes, RenderFault> {
        /// Commas between a manifest, its entry, its rule and their neighbours.
        const COMMAS: usize = 3;
        let shared = self.size(&[]);
        let room = LARGEST
            .checked_sub(shared)
            .ok_or(RenderFault::SharedTooLarge(shared))?;
        let mut weights = BTreeMap::new();
        for index in &self.deployed {
            let alone = self.size(&[*index]);
            if alone > LARGEST {
                let manifest = self.manifests.get(*index);
                let place = manifest.map(|manifest| manifest.place.clone());
                return Err(RenderFault::TooLarge(place.unwrap_or_default(), alone));
            }
            let weight = alone.saturating_sub(shared).saturating_add(COMMAS);
            weights.insert(*index, weight.min(room));
        }
        let mut order = self.deployed.clone();
        let identity = |index: usize| self.manifests.get(index).map(|manifest| &manifest.identity);
        order.sort_by(|one, other| {
            let heavier = weights.get(other).cmp(&weights.get(one));
            heavier.then_with(|| identity(*one).cmp(&identity(*other)))
        });
        Ok(Sizes { weights, order, room })
    }

    /// Returns where each mark of a cluster's objects stands among the deployed manifests.
    pub(in crate::plan) fn marks(&self, cluster: &str) -> BTreeMap<Mark, usize> {
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
