//! Back to what was last known to be good: the reference that a rollout has brought is put back to the object before it.
//!
//! Decides where the reference stands, and when there is no way back: an object that was edited in place has no content but its present one.

use serde_json::{Map, Value, json};

use super::applied::applied;
use super::fields::{entries, field, fields};
use super::picture::{Change, Content};
use super::steer::{Steer, Writing};
use field::quoted;
use snapshot::{ConfigRef, ConfigState, ConfigType, View};

/// Returns what puts an add-on back, or why nothing does.
pub(super) fn undo(ask: Steer<'_>) -> Result<Writing, String> {
    let view = ask.store.view(&ask.picture.target.name);
    let view = view.ok_or_else(|| "it is not there".to_owned())?;
    let mut back: Vec<(&Change, &Content)> = Vec::new();
    let (mut edited, mut unknown) = (Vec::new(), false);
    for change in &ask.picture.changes {
        match &change.from {
            Some(from) if from.object != change.to.object => back.push((change, from)),
            Some(from) => edited.push((change, from)),
            None => unknown = true,
        }
    }
    if back.is_empty() {
        return Err(nothing(&edited, unknown));
    }
    let mut spec = Value::Object(Map::new());
    let mut says = Vec::new();
    let mut notes = Vec::new();
    for (change, from) in back {
        notes.extend(exists(&view, change, from)?);
        let place = place_of(ask.object, change)?;
        place.put(&mut spec, from);
        let told = format!("{}={}", place.told, quoted(&from.object));
        if !says.contains(&told) {
            says.push(told);
        }
    }
    if let Some(before) = applied(ask.object, ask.verb.manager()).get("spec") {
        repeat(&mut spec, before);
    }
    let mut writing = Writing::apply(json!({"spec": spec}), says);
    writing.note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(writing)
}

/// Adds what an earlier undo has applied and this one does not write: left out, it would be taken away.
fn repeat(spec: &mut Value, before: &Value) {
    let lists = [
        (&["installStrategy", "placements"][..], ["namespace", "name"]),
        (&["supportedConfigs"][..], ["group", "resource"]),
    ];
    for (path, keys) in lists {
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

fn nothing(edited: &[(&Change, &Content)], unknown: bool) -> String {
    let Some((change, from)) = edited.first() else {
        if unknown {
            return "nobody has noted what was good before".to_owned();
        }
        return "nothing differs from what was last known to be good".to_owned();
    };
    let hash: String = from.hash.chars().take(8).collect();
    format!(
        "{} {} was edited in place, and the content that was good (hash {hash}) is not on the hub any more; apply that content again, it \
         travels as any change does",
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
            return Err(format!("{object} does not exist any more; create it again first"));
        }
        // Not looked at, because nothing refers to it now or its type cannot be read: its content cannot be compared.
        (None, ConfigState::Unanswered | ConfigState::Faulty(_)) => String::new(),
    };
    Ok((hash != from.hash && !hash.is_empty() && !from.hash.is_empty())
        .then(|| format!("{object} has other content than when it was known to be good")))
}

fn reference(of: &str, object: &str) -> ConfigRef {
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

/// Where a reference stands.
struct RefPlace {
    told: String,
    layer: Layer,
    at: usize,
    list: Vec<Value>,
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

/// Finds where an add-on names the object that clusters are to run: in the layer that counts most.
fn place_of(object: &Value, change: &Change) -> Result<RefPlace, String> {
    let wanted = reference(&change.what, &change.to.object);
    let is_type = |one: &Value| {
        text(one, "group") == &*wanted.of.group && text(one, "resource") == &*wanted.of.resource
    };
    let is_named =
        |one: &Value| text(one, "namespace") == &*wanted.namespace && text(one, "name") == &*wanted.name;
    let is_it = |one: &Value| is_type(one) && is_named(one);
    for (index, placement) in list(object, "/spec/installStrategy/placements")
        .iter()
        .enumerate()
    {
        let (namespace, name) = (text(placement, "namespace"), text(placement, "name"));
        let configs = list(placement, "/configs");
        let at = configs.iter().position(is_it);
        if let Some(at) = at.filter(|_| format!("{namespace}/{name}") == change.placement) {
            return Ok(RefPlace {
                told: format!("spec.installStrategy.placements[{index}].configs[{at}]"),
                layer: Layer::Placement(namespace.to_owned(), name.to_owned()),
                at,
                list: configs.to_vec(),
            });
        }
    }
    let configuration = list(object, "/spec/configuration/configs");
    if let Some(at) = configuration.iter().position(is_it) {
        return Ok(RefPlace {
            told: format!("spec.configuration.configs[{at}]"),
            layer: Layer::Configuration,
            at,
            list: configuration.to_vec(),
        });
    }
    let supported = list(object, "/spec/supportedConfigs");
    let holds = |one: &Value| is_type(one) && one.get("defaultConfig").is_some_and(is_named);
    if let Some(at) = supported.iter().position(holds) {
        return Ok(RefPlace {
            told: format!("spec.supportedConfigs[{at}].defaultConfig"),
            layer: Layer::Supported,
            at,
            list: supported.to_vec(),
        });
    }
    Err(format!(
        "the add-on does not name {} {}: it follows from a version; ask for the version before it ({}) by spec.desiredVersion of an \
         AddOnHubConfig, or in the placement's addonTemplate",
        change.what,
        change.to.object,
        change.from.as_ref().map_or("", |from| from.version.as_str())
    ))
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
        let entry = self.list.get(self.at).cloned().unwrap_or_default();
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
                if let Some(slot) = placements
                    .get_mut(at)
                    .and_then(|one| entries(field(one, &["configs"])).get_mut(self.at))
                {
                    *slot = renamed(&entry);
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
