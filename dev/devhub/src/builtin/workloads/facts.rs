//! What the schemas of the workload kinds lack: numbers of the binary form, list types, merge keys, which zero values are written.
//!
//! Decides how `facts.txt` is read; never changes an object. It is read when the first workload kind is asked for.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

static DEFINITIONS: LazyLock<BTreeMap<&'static str, Definition>> =
    LazyLock::new(|| read(include_str!("facts.txt")));

/// What is known of one definition.
#[derive(Debug, Default)]
struct Definition {
    atomic: bool,
    members: Vec<Fact>,
}

/// What is known of one member.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    /// Name in JSON; `+` for a struct whose members stand in the definition itself.
    pub name: &'static str,
    /// Number in the binary form.
    pub number: u32,
    /// Kind, without the mark of a list.
    pub kind: &'static str,
    /// Whether it is a list.
    pub list: bool,
    marks: &'static str,
}

impl Fact {
    fn has(&self, mark: &str) -> bool {
        self.marks.split(' ').any(|known| known == mark)
    }

    fn after(&self, mark: &str) -> Option<&'static str> {
        self.marks.split(' ').find_map(|known| known.strip_prefix(mark))
    }

    /// Returns the key by which strategic patches merge the list; an empty one for a list of scalars.
    pub fn merge_key(&self) -> Option<&'static str> {
        self.after("merge=")
    }

    /// Writes how the member is owned into its schema.
    fn annotate(&self, schema: &mut Map<String, Value>) {
        let mut set = |name: &str, value: Value| schema.insert(name.to_owned(), value);
        if let Some(default) = self.after("default=").filter(|_| self.kind == "text") {
            set("default", json!(default));
        }
        match self.merge_key() {
            Some("") => {
                set("x-kubernetes-patch-strategy", json!("merge"));
            }
            Some(key) => {
                let strategy = if self.has("retain") {
                    "merge,retainKeys"
                } else {
                    "merge"
                };
                set("x-kubernetes-patch-strategy", json!(strategy));
                set("x-kubernetes-patch-merge-key", json!(key));
            }
            None if self.has("retain") => {
                set("x-kubernetes-patch-strategy", json!("retainKeys"));
            }
            None => {}
        }
        if !self.list {
            if self.has("atomic") {
                set("x-kubernetes-map-type", json!("atomic"));
            }
            return;
        }
        let keys = self.after("keys=");
        let relation = match keys {
            Some(_) => "map",
            None if self.has("set") => "set",
            None => "atomic",
        };
        set("x-kubernetes-list-type", json!(relation));
        if let Some(keys) = keys {
            let keys: Vec<&str> = keys.split(',').collect();
            set("x-kubernetes-list-map-keys", json!(keys));
        }
    }
}

fn read(text: &'static str) -> BTreeMap<&'static str, Definition> {
    let mut all: BTreeMap<&'static str, Definition> = BTreeMap::new();
    let mut current = "";
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(head) = line.strip_prefix('@') {
            let (name, mark) = head.split_once(' ').unwrap_or((head, ""));
            current = name;
            all.entry(name).or_default().atomic = mark == "atomic";
            continue;
        }
        let mut parts = line.splitn(4, ' ');
        let mut part = || parts.next().unwrap_or_default();
        let (name, number, kind, marks) = (part(), part(), part(), part());
        let fact = Fact {
            name,
            number: number.parse().unwrap_or_default(),
            kind: kind.strip_prefix("[]").unwrap_or(kind),
            list: kind.starts_with("[]"),
            marks,
        };
        all.entry(current).or_default().members.push(fact);
    }
    all
}

/// Returns the name by which a definition is known here: `core.v1.Pod` of `io.k8s.api.core.v1.Pod`.
fn short(definition: &str) -> &str {
    definition
        .strip_prefix("io.k8s.api.")
        .or_else(|| definition.strip_prefix("io.k8s.apimachinery.pkg.apis."))
        .unwrap_or(definition)
}

/// Returns the package and version of a group in which workload kinds are served, such as `core.v1`.
pub fn package(group: &str) -> Option<&'static str> {
    Some(match group {
        "" => "core.v1",
        "apps" => "apps.v1",
        "autoscaling" => "autoscaling.v2",
        "batch" => "batch.v1",
        "discovery.k8s.io" => "discovery.v1",
        "networking.k8s.io" => "networking.v1",
        "policy" => "policy.v1",
        _ => return None,
    })
}

/// Returns the own members of a definition, such as `core.v1.Pod`; those of inlined structs stand under `+`.
pub fn each(definition: &str) -> Option<(&'static str, &'static [Fact])> {
    let (name, found) = DEFINITIONS.get_key_value(definition)?;
    Some((name, &found.members))
}

/// Returns all members of a definition, with those of inlined structs.
fn flat(definition: &str) -> Vec<Fact> {
    let mut all = Vec::new();
    for fact in DEFINITIONS
        .get(definition)
        .map_or(&[][..], |found| &found.members)
    {
        if fact.name == "+" {
            all.extend(flat(fact.kind));
        } else {
            all.push(*fact);
        }
    }
    all
}

/// Adds the annotations of the API to the schema of a definition; tells whether the definition is known here.
pub(in crate::builtin) fn annotate(definition: &str, schema: &mut Value) -> bool {
    let Some(found) = DEFINITIONS.get(short(definition)) else {
        return false;
    };
    if found.atomic
        && let Value::Object(map) = &mut *schema
    {
        map.insert("x-kubernetes-map-type".to_owned(), json!("atomic"));
    }
    let facts = flat(short(definition));
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        let fact = facts.iter().find(|fact| fact.name == name);
        if let (Some(fact), Value::Object(property)) = (fact, property) {
            fact.annotate(property);
        }
    }
    true
}

/// Leaves out what the Go types leave out, and adds what they always write.
pub(in crate::builtin) fn tidy(definition: &str, map: &mut Map<String, Value>) {
    for fact in flat(short(definition)) {
        if fact.has("zero") && map.get(fact.name).is_some_and(is_zero) {
            map.remove(fact.name);
        } else if !map.contains_key(fact.name)
            && let Some(value) = unset(&fact)
        {
            map.insert(fact.name.to_owned(), value);
        }
    }
}

/// Returns a definition of which nothing is said, as it is written.
pub(in crate::builtin) fn zero(definition: &str) -> Value {
    let members = flat(definition).into_iter();
    Value::Object(
        members
            .filter_map(|fact| Some((fact.name.to_owned(), unset(&fact)?)))
            .collect(),
    )
}

fn unset(fact: &Fact) -> Option<Value> {
    if fact.has("null") {
        return Some(Value::Null);
    }
    fact.has("always").then(|| match fact.kind {
        "text" => json!(""),
        "bool" => json!(false),
        "int32" | "int64" | "intorstring" => json!(0),
        "quantity" => json!("0"),
        definition => zero(definition),
    })
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(flag) => !flag,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::builtin::schema;

    #[test]
    fn every_definition_names_exactly_the_members_of_its_schema() {
        let inlined: BTreeSet<&str> = DEFINITIONS
            .values()
            .flat_map(|definition| &definition.members)
            .filter(|fact| fact.name == "+")
            .map(|fact| fact.kind)
            .collect();
        let mut compared = 0;
        for name in DEFINITIONS.keys() {
            let package = if name.starts_with("meta.") {
                "io.k8s.apimachinery.pkg.apis"
            } else {
                "io.k8s.api"
            };
            let Some(schema) = schema::definition(&format!("{package}.{name}")) else {
                assert!(inlined.contains(name), "{name}");
                continue;
            };
            let properties = schema.1["properties"].as_object().expect("properties");
            let is_root = properties.contains_key("apiVersion") && properties.contains_key("metadata");
            let expected: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
            let mut found: BTreeSet<&str> = flat(name).iter().map(|fact| fact.name).collect();
            if is_root {
                found.extend(["apiVersion", "kind"]);
            }
            assert_eq!(found, expected, "{name}");
            compared += 1;
        }
        assert!(compared > 200, "{compared}");
    }

    #[test]
    fn lists_say_how_they_are_owned_and_patched() {
        let (_, container) = schema::definition("io.k8s.api.core.v1.Container").expect("a definition");
        let ports = &container["properties"]["ports"];
        assert_eq!(
            ports["x-kubernetes-list-map-keys"],
            json!(["containerPort", "protocol"])
        );
        assert_eq!(ports["x-kubernetes-patch-merge-key"], "containerPort");
        assert_eq!(
            container["properties"]["args"]["x-kubernetes-list-type"],
            "atomic"
        );
        let (_, port) = schema::definition("io.k8s.api.core.v1.ContainerPort").expect("a definition");
        assert_eq!(port["properties"]["protocol"]["default"], "TCP");
    }

    #[test]
    fn what_nobody_set_is_written_as_the_types_write_it() {
        assert_eq!(
            zero("apps.v1.DeploymentSpec"),
            json!({"selector": null, "strategy": {}, "template": {"metadata": {}, "spec": {"containers": null}}})
        );
        assert_eq!(zero("core.v1.ServiceStatus"), json!({"loadBalancer": {}}));
    }
}
