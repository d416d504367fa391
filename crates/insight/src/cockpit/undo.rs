//! Rollback to the last known good configuration: the changed reference is reset to the previous object.
//!
//! Finds the reference, the objects whose kept content is restored, and the cases in which a rollback is not possible: an object that
//! was edited or deleted, and of whose content nothing was kept.

use super::applied::applied;
use super::picture::{Change, Content};
use super::steer::Steer;
use super::writing::Writing;
use crate::forecast::{Difference, of_configs};
use kubernetes::field::quoted;
use serde_json::{Map, Value, json};
use store::{Config, ConfigRef, ConfigState, ConfigType, View};

/// Returns what rolls an add-on back, or why this is not possible.
pub(super) fn undo(ask: Steer<'_>) -> Result<Writing, String> {
    let view = ask.store.view(&ask.picture.target.name);
    let view = view.ok_or_else(|| "it does not exist".to_owned())?;
    let mut back: Vec<(&Change, &Content)> = Vec::new();
    let (mut edited, mut unknown) = (Vec::new(), false);
    for change in &ask.picture.changes {
        match &change.from {
            Some(from) if from.object != change.to.object => back.push((change, from)),
            Some(from) => edited.push((change, from)),
            None => unknown = true,
        }
    }
    let mut says = Vec::new();
    let mut restores = Restores::default();
    for (change, from) in &edited {
        restore(&view, change, from, &mut restores, &mut says);
    }
    if back.is_empty() && restores.objects.is_empty() {
        return Err(nothing(&view, &edited, unknown));
    }
    let mut spec = Value::Object(Map::new());
    let mut notes = Vec::new();
    for (change, from) in back {
        match exists(&view, change, from) {
            Err(_) if restore(&view, change, from, &mut restores, &mut says) => {}
            found => notes.extend(found?),
        }
        let place = place_of(ask, change, from)?;
        place.put(&mut spec, from);
        let told = format!("{}={}", place.told, quoted(&from.object));
        if !says.contains(&told) {
            says.push(told);
        }
    }
    if let Some(before) = applied(ask.object, ask.verb.manager(ask.client)).get("spec") {
        repeat(&mut spec, before);
    }
    as_on_the_hub(&mut spec, ask.object);
    let mut writing = Writing::apply(json!({"spec": spec}), says);
    (writing.restores, writing.changes) = (restores.objects, restores.changes);
    writing.note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(writing)
}

/// Returns what rolls an add-on back to a revision of its history, or why this is not possible.
pub(super) fn undo_to(ask: Steer<'_>, revision: i64) -> Result<Writing, String> {
    let view = ask.store.view(&ask.picture.target.name);
    let view = view.ok_or_else(|| "it does not exist".to_owned())?;
    let Some((place, kept)) = view.all_kept().find(|(_, kept)| kept.revision == revision) else {
        let mut known: Vec<i64> = view.all_kept().map(|(_, kept)| kept.revision).collect();
        known.sort_unstable();
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        return Err(match known.as_slice() {
            [] => "no revision is kept of it yet".to_owned(),
            all => format!("it has no revision {revision}; it has {}", all.join(", ")),
        });
    };
    let (config, content) = kept
        .content
        .as_ref()
        .map_err(|why| format!("revision {revision} has no content: {why}"))?;
    let (mut says, mut restores) = (Vec::new(), Restores::default());
    let present = view.config(config).map(|found| &found.hash);
    if present != Some(&content.hash) {
        restores.add(&view, config, content);
        let object = object_of(config);
        says.push(format!(
            "{} {} from {}",
            config.of,
            quoted(&object),
            plan::kept_in(place, kept)
        ));
    }
    // Placements that have another object of this type refer to this one again.
    let from = Content {
        object: object_of(config),
        hash: content.hash.to_string(),
        version: String::new(),
    };
    let mut spec = Value::Object(Map::new());
    for progression in view.addon.progressions.iter().flatten() {
        let references = progression.references.iter();
        for reference in references.filter(|one| one.config.of == config.of && one.config != *config) {
            let change = Change {
                placement: format!("{}/{}", progression.namespace, progression.name),
                what: config.of.to_string(),
                from: Some(from.clone()),
                to: Content {
                    object: object_of(&reference.config),
                    hash: reference.desired.to_string(),
                    version: String::new(),
                },
            };
            let place = place_of(ask, &change, &from)?;
            place.put(&mut spec, &from);
            let told = format!("{}={}", place.told, quoted(&from.object));
            if !says.contains(&told) {
                says.push(told);
            }
        }
    }
    if says.is_empty() {
        return Err(format!(
            "the add-on has the content of revision {revision} already"
        ));
    }
    if let Some(before) = applied(ask.object, ask.verb.manager(ask.client)).get("spec") {
        repeat(&mut spec, before);
    }
    as_on_the_hub(&mut spec, ask.object);
    let mut writing = Writing::apply(json!({"spec": spec}), says);
    (writing.restores, writing.changes) = (restores.objects, restores.changes);
    Ok(writing)
}

fn object_of(config: &ConfigRef) -> String {
    if config.namespace.is_empty() {
        config.name.to_string()
    } else {
        format!("{}/{}", config.namespace, config.name)
    }
}

/// Lists whose items are owned one by one, and the fields that tell these apart.
const LISTS: [(&[&str], [&str; 2]); 2] = [
    (&["installStrategy", "placements"], ["namespace", "name"]),
    (&["supportedConfigs"], ["group", "resource"]),
];

/// Adds what an earlier undo has applied and this one does not write: otherwise the API server would remove it.
fn repeat(spec: &mut Value, before: &Value) {
    for (path, keys) in LISTS {
        let pointer = format!("/{}", path.join("/"));
        for entry in list(before, &pointer) {
            let is_it = |one: &Value| keys.iter().all(|key| text(one, key) == text(entry, key));
            let written = entries(field(spec, path));
            if !written.iter().any(is_it) {
                written.push(entry.clone());
            }
        }
    }
    let configs = list(before, "/configuration/configs");
    if !configs.is_empty() && list(spec, "/configuration/configs").is_empty() {
        *field(spec, &["configuration", "configs"]) = Value::Array(configs.to_vec());
    }
}

/// Puts items in the order in which they stand on the hub: an apply brings its own order along, and of two placements that have a
/// cluster the last one counts.
fn as_on_the_hub(spec: &mut Value, object: &Value) {
    for (path, keys) in LISTS {
        let pointer = format!("/{}", path.join("/"));
        let there = list(object, &format!("/spec{pointer}"));
        let at = |entry: &Value| {
            let is_it = |one: &Value| keys.iter().all(|key| text(one, key) == text(entry, key));
            there.iter().position(is_it).unwrap_or(there.len())
        };
        if let Some(entries) = spec.pointer_mut(&pointer).and_then(Value::as_array_mut) {
            entries.sort_by_key(at);
        }
    }
}

/// Adds the object with the content that was kept of it; returns whether there is such content.
fn restore(
    view: &View<'_>,
    change: &Change,
    from: &Content,
    restores: &mut Restores,
    says: &mut Vec<String>,
) -> bool {
    let config = reference(&change.what, &from.object);
    let Some((place, kept, content)) = view.kept_content(&config, &from.hash.as_str().into()) else {
        return false;
    };
    if restores.add(view, &config, content) {
        let (what, kept) = (&change.what, plan::kept_in(place, kept));
        says.push(format!("{what} {} from {kept}", quoted(&from.object)));
    }
    true
}

/// Objects that get kept content back.
#[derive(Default)]
struct Restores {
    objects: Vec<Value>,
    /// The fields that are different now.
    changes: Vec<Difference>,
}

impl Restores {
    /// Adds an object; returns whether it is new.
    fn add(&mut self, view: &View<'_>, config: &ConfigRef, content: &Config) -> bool {
        let object = content.object_with_cause(config);
        if self.objects.contains(&object) {
            return false;
        }
        let present = view.config(config).map(|present| present.object(config));
        self.changes
            .extend(present.iter().flat_map(|present| of_configs(present, &object)));
        self.objects.push(object);
        true
    }
}

fn nothing(view: &View<'_>, edited: &[(&Change, &Content)], unknown: bool) -> String {
    let Some((change, from)) = edited.first() else {
        if unknown {
            return "the status has no last known good configuration".to_owned();
        }
        return "nothing differs from the last known good configuration; to return to an earlier revision, use `--to-revision` \
                (`tidegate rollout history` lists them)"
            .to_owned();
    };
    let hash: String = from.hash.chars().take(8).collect();
    let lost = plan::lost_content(
        view,
        &reference(&change.what, &from.object),
        &from.hash.as_str().into(),
    );
    format!(
        "{} {} was edited in place, and the last known good content (hash {hash}) is no longer on the hub ({lost}); apply that \
         content again, and it is rolled out like any other change",
        change.what, change.to.object
    )
}

/// Whether the object from before is still there; what is to be known of it.
fn exists(view: &View<'_>, change: &Change, from: &Content) -> Result<Option<String>, String> {
    let config = reference(&change.what, &from.object);
    let object = format!("{} {}", change.what, from.object);
    let known = view.config(&config).map(|found| found.hash.to_string());
    let hash = match (known, view.config_state(&config)) {
        (Some(hash), _) => hash,
        (None, ConfigState::Exists { hash, .. }) => hash.to_string(),
        (None, ConfigState::Absent(_)) => {
            let lost = plan::lost_content(view, &config, &from.hash.as_str().into());
            return Err(format!(
                "{object} no longer exists ({lost}); create it again first"
            ));
        }
        // Not looked at, because nothing refers to it now or its type cannot be read: its content cannot be compared.
        (None, ConfigState::Unanswered | ConfigState::Faulty(_)) => String::new(),
    };
    Ok((hash != from.hash && !hash.is_empty() && !from.hash.is_empty())
        .then(|| format!("the content of {object} differs from its last known good content")))
}

pub(super) fn reference(of: &str, object: &str) -> ConfigRef {
    let (resource, group) = of.split_once('.').unwrap_or((of, ""));
    let (namespace, name) = object.split_once('/').unwrap_or(("", object));
    ConfigRef {
        of: ConfigType {
            group: group.into(),
            resource: resource.into(),
        },
        namespace: namespace.into(),
        name: name.into(),
    }
}

/// Where a reference stands, or is to stand: at the end of its list.
struct RefPlace {
    told: String,
    of: ConfigType,
    layer: Layer,
    at: usize,
    list: Vec<Value>,
}

/// A placement in the spec of an add-on.
struct PlacementEntry<'a> {
    index: usize,
    namespace: &'a str,
    name: &'a str,
    configs: &'a [Value],
}

fn placements(object: &Value) -> impl Iterator<Item = PlacementEntry<'_>> {
    let all = list(object, "/spec/installStrategy/placements")
        .iter()
        .enumerate();
    all.map(|(index, placement)| PlacementEntry {
        index,
        namespace: text(placement, "namespace"),
        name: text(placement, "name"),
        configs: list(placement, "/configs"),
    })
}

impl PlacementEntry<'_> {
    fn is(&self, place: &str) -> bool {
        place.split_once('/') == Some((self.namespace, self.name))
    }

    /// The place of its own configuration at this position.
    fn place(&self, of: &ConfigType, at: usize) -> RefPlace {
        RefPlace {
            of: of.clone(),
            told: format!("spec.installStrategy.placements[{}].configs[{at}]", self.index),
            layer: Layer::Placement(self.namespace.to_owned(), self.name.to_owned()),
            at,
            list: self.configs.to_vec(),
        }
    }
}

enum Layer {
    /// `spec.installStrategy.placements[].configs`, by namespace and name.
    Placement(String, String),
    /// `spec.configuration.configs`
    Configuration,
    /// `spec.supportedConfigs[].defaultConfig`
    Supported,
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn is_of(one: &Value, of: &ConfigType) -> bool {
    text(one, "group") == &*of.group && text(one, "resource") == &*of.resource
}

/// Finds where an add-on names the object that clusters are to run: in the layer that counts most. What other placements have from
/// the same layer and keep is not changed for them: the placement is given a configuration of its own.
fn place_of(ask: Steer<'_>, change: &Change, from: &Content) -> Result<RefPlace, String> {
    let wanted = reference(&change.what, &change.to.object);
    let is_named =
        |one: &Value| text(one, "namespace") == &*wanted.namespace && text(one, "name") == &*wanted.name;
    let is_it = |one: &Value| is_of(one, &wanted.of) && is_named(one);
    let own = placements(ask.object).find(|placement| placement.is(&change.placement));
    let at = own.as_ref().and_then(|own| own.configs.iter().position(is_it));
    if let (Some(own), Some(at)) = (&own, at) {
        return Ok(own.place(&wanted.of, at));
    }
    let Some(shared) = shared_place(ask.object, &wanted.of, is_named) else {
        return Err(format!(
            "the add-on does not refer to {} {}: it is selected by a version; set the previous version ({}) in spec.desiredVersion of an \
             AddOnHubConfig, or in the placement's addonTemplate",
            change.what, change.to.object, from.version
        ));
    };
    let Some(keeper) = keeper(ask, change, from) else {
        return Ok(shared);
    };
    let own = own.filter(|own| !own.configs.iter().any(|one| is_of(one, &wanted.of)));
    own.map(|own| own.place(&wanted.of, own.configs.len())).ok_or_else(|| {
        format!(
            "{} refers to {} {} for {keeper} as well, which is not rolled back to {}; use separate configurations for the placements",
            shared.told, change.what, change.to.object, from.object
        )
    })
}

/// The place that all placements without a configuration of their own share.
fn shared_place(object: &Value, of: &ConfigType, is_named: impl Fn(&Value) -> bool) -> Option<RefPlace> {
    let configuration = list(object, "/spec/configuration/configs");
    if let Some(at) = configuration
        .iter()
        .position(|one| is_of(one, of) && is_named(one))
    {
        return Some(RefPlace {
            of: of.clone(),
            told: format!("spec.configuration.configs[{at}]"),
            layer: Layer::Configuration,
            at,
            list: configuration.to_vec(),
        });
    }
    let supported = list(object, "/spec/supportedConfigs");
    let holds = |one: &Value| is_of(one, of) && one.get("defaultConfig").is_some_and(&is_named);
    let at = supported.iter().position(holds)?;
    Some(RefPlace {
        of: of.clone(),
        // Versions of the kind have this field in different places: spec.supportedConfigs[].defaultConfig, spec.defaultConfigs[].
        told: format!("default of {}.{}", of.resource, of.group),
        layer: Layer::Supported,
        at,
        list: supported.to_vec(),
    })
}

/// Returns a placement that has the object from the same layer, and that is to keep it or to go back to another one. One of which
/// it is not known what was good follows the others.
fn keeper(ask: Steer<'_>, change: &Change, from: &Content) -> Option<String> {
    let of = reference(&change.what, &change.to.object).of;
    let inherits = |placement: &PlacementEntry<'_>| !placement.configs.iter().any(|one| is_of(one, &of));
    let keeps = |placement: &PlacementEntry<'_>| {
        let mut changes = ask.picture.changes.iter();
        let its = changes.find(|one| one.what == change.what && placement.is(&one.placement));
        match its.map(|one| &one.from) {
            Some(Some(good)) => good.object != from.object,
            Some(None) => false,
            None => true,
        }
    };
    let mut others = placements(ask.object).filter(|placement| !placement.is(&change.placement));
    let other = others.find(|placement| inherits(placement) && keeps(placement))?;
    Some(format!("{}/{}", other.namespace, other.name))
}

impl RefPlace {
    /// Puts another object in its place.
    fn put(&self, spec: &mut Value, from: &Content) {
        let other = reference("", &from.object);
        let renamed = |entry: &Value| {
            let mut entry = entry.clone();
            *field(&mut entry, &["name"]) = Value::from(&*other.name);
            if other.namespace.is_empty() {
                fields(&mut entry).remove("namespace");
            } else {
                *field(&mut entry, &["namespace"]) = Value::from(&*other.namespace);
            }
            entry
        };
        let added = json!({"group": &*self.of.group, "resource": &*self.of.resource});
        let entry = self.list.get(self.at).cloned().unwrap_or(added);
        match &self.layer {
            Layer::Placement(namespace, name) => {
                let placements = entries(field(spec, &["installStrategy", "placements"]));
                let known = placements
                    .iter()
                    .position(|one| text(one, "namespace") == namespace && text(one, "name") == name);
                let at = known.unwrap_or(placements.len());
                if known.is_none() {
                    placements.push(json!({"namespace": namespace, "name": name, "configs": self.list}));
                }
                if let Some(one) = placements.get_mut(at) {
                    let configs = entries(field(one, &["configs"]));
                    match configs.get_mut(self.at) {
                        Some(slot) => *slot = renamed(&entry),
                        None => configs.push(renamed(&entry)),
                    }
                }
            }
            Layer::Configuration => {
                let configs = entries(field(spec, &["configuration", "configs"]));
                if configs.is_empty() {
                    configs.clone_from(&self.list);
                }
                if let Some(slot) = configs.get_mut(self.at) {
                    *slot = renamed(&entry);
                }
            }
            Layer::Supported => {
                let given = entry.get("defaultConfig").cloned().unwrap_or_default();
                let line = json!({"group": text(&entry, "group"), "resource": text(&entry, "resource"),
                    "defaultConfig": renamed(&given)});
                let supported = entries(field(spec, &["supportedConfigs"]));
                if !supported.contains(&line) {
                    supported.push(line);
                }
            }
        }
    }
}

/// Returns the field at a path.
pub(super) fn field<'v>(object: &'v mut Value, path: &[&str]) -> &'v mut Value {
    let mut value = object;
    for name in path {
        value = fields(value).entry(*name).or_insert(Value::Null);
    }
    value
}

/// Returns the fields of an object.
pub(super) fn fields(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it is now an object")
}

/// Returns the entries of a list.
pub(super) fn entries(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    value.as_array_mut().expect("it is now a list")
}
