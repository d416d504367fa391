//! What is different between two objects, field by field.
//!
//! Decides how a place is called: manifests by kind and name, items of a list by their `name` where each has one, else by
//! number. Never shows what a Secret holds.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use store::{Identity, plain_spec};

/// One field that is different.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Difference {
    /// Where it stands.
    pub path: String,
    /// What stands there; nothing when it is absent.
    pub old: Option<Value>,
    /// What would stand there; nothing when it would be absent.
    pub new: Option<Value>,
}

/// Returns the fields that tell two works apart, form and status aside.
pub(super) fn of_works(old: &Value, new: &Value) -> Vec<Difference> {
    let mut all = Vec::new();
    for field in ["labels", "annotations", "ownerReferences"] {
        let pointer = format!("/metadata/{field}");
        let path = format!("metadata.{field}");
        compare(&path, old.pointer(&pointer), new.pointer(&pointer), &mut all);
    }
    let spec = |work: &Value| plain_spec(work.get("spec").unwrap_or(&Value::Null));
    let (mut old, mut new) = (spec(old), spec(new));
    let lists: [(&str, &str, Name); 3] = [
        ("/workload/manifests", "", manifest),
        ("/manifestConfigs", "manifestConfigs", |entry| {
            entry
                .get("resourceIdentifier")
                .map(identifier)
                .unwrap_or_default()
        }),
        (
            "/deleteOption/selectivelyOrphans/orphaningRules",
            "orphaningRules",
            identifier,
        ),
    ];
    for (pointer, what, name) in lists {
        let (old, new) = (taken(&mut old, pointer), taken(&mut new, pointer));
        compare_items(what, &old, &new, name, &mut all);
    }
    compare("spec", Some(&old), Some(&new), &mut all);
    all
}

/// Returns the fields that tell two configurations apart, the manifests of templates by kind and name.
pub(crate) fn of_configs(old: &Value, new: &Value) -> Vec<Difference> {
    let mut all = Vec::new();
    let spec = |config: &Value| config.get("spec").cloned().unwrap_or_default();
    let (mut old, mut new) = (spec(old), spec(new));
    let manifests = "/agentSpec/workload/manifests";
    let (before, after) = (taken(&mut old, manifests), taken(&mut new, manifests));
    compare_items("", &before, &after, manifest, &mut all);
    compare("spec", Some(&old), Some(&new), &mut all);
    all
}

/// How an item is called.
type Name = fn(&Value) -> String;

fn manifest(manifest: &Value) -> String {
    Identity::of(manifest).to_string()
}

fn identifier(value: &Value) -> String {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let namespace = text("namespace");
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("[{} {namespace}{slash}{}]", text("resource"), text("name"))
}

/// Takes the items of a list out of an object, so that they are compared once.
fn taken(spec: &mut Value, pointer: &str) -> Vec<Value> {
    let items = spec.pointer_mut(pointer).and_then(Value::as_array_mut);
    items.map(std::mem::take).unwrap_or_default()
}

/// Compares items as a set; those of one name in their order.
fn compare_items(what: &str, old: &[Value], new: &[Value], name: Name, all: &mut Vec<Difference>) {
    let grouped = |items: &[Value]| {
        let mut grouped: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for item in items {
            grouped.entry(name(item)).or_default().push(item.clone());
        }
        grouped
    };
    let (old, new) = (grouped(old), grouped(new));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let of = |side: &BTreeMap<String, Vec<Value>>| side.get(name).cloned().unwrap_or_default();
        let (old, new) = (of(&old), of(&new));
        for index in 0..old.len().max(new.len()) {
            let (old, new) = (old.get(index), new.get(index));
            let path = format!("{what}{name}");
            let before = all.len();
            compare(&path, old, new, all);
            let is_secret = |side: Option<&Value>| side.is_some_and(|one| kind(one) == "Secret");
            if what.is_empty() && (is_secret(old) || is_secret(new)) {
                all.iter_mut().skip(before).for_each(hide);
            }
        }
    }
}

fn kind(manifest: &Value) -> &str {
    manifest.get("kind").and_then(Value::as_str).unwrap_or_default()
}

/// What a Secret holds is not shown; that it changes is.
fn hide(difference: &mut Difference) {
    for side in [&mut difference.old, &mut difference.new] {
        if side.is_some() {
            *side = Some(json!("(hidden)"));
        }
    }
}

fn compare(path: &str, old: Option<&Value>, new: Option<&Value>, all: &mut Vec<Difference>) {
    match (old, new) {
        _ if old == new => {}
        (Some(Value::Object(old)), Some(Value::Object(new))) => compare_fields(path, old, new, all),
        (Some(Value::Array(one)), Some(Value::Array(other))) => compare_list(path, one, other, all),
        _ => all.push(Difference {
            path: path.to_owned(),
            old: old.cloned(),
            new: new.cloned(),
        }),
    }
}

fn compare_fields(path: &str, old: &Map<String, Value>, new: &Map<String, Value>, all: &mut Vec<Difference>) {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let separator = if path.contains(' ') && !path.contains(": ") {
            ": "
        } else {
            "."
        };
        let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric());
        let path = if plain {
            format!("{path}{separator}{name}")
        } else {
            format!("{path}[{name}]")
        };
        compare(&path, old.get(name), new.get(name), all);
    }
}

/// Items with a name of their own are compared by it; that their order is another one is a difference as well.
fn compare_list(path: &str, old: &[Value], new: &[Value], all: &mut Vec<Difference>) {
    let (Some(before), Some(after)) = (names(old), names(new)) else {
        for index in 0..old.len().max(new.len()) {
            compare(&format!("{path}[{index}]"), old.get(index), new.get(index), all);
        }
        return;
    };
    let known: BTreeMap<&str, &Value> = before.iter().copied().zip(old).collect();
    let wanted: BTreeMap<&str, &Value> = after.iter().copied().zip(new).collect();
    let each: BTreeSet<&str> = before.iter().chain(&after).copied().collect();
    for name in each {
        let path = format!("{path}[{name}]");
        compare(&path, known.get(name).copied(), wanted.get(name).copied(), all);
    }
    let kept = |names: &[&str], other: &BTreeMap<&str, &Value>| -> Vec<Value> {
        let both = names.iter().filter(|name| other.contains_key(**name));
        both.map(|name| json!(name)).collect()
    };
    let (before, after) = (kept(&before, &wanted), kept(&after, &known));
    if before != after {
        all.push(Difference {
            path: format!("{path} (order)"),
            old: Some(Value::Array(before)),
            new: Some(Value::Array(after)),
        });
    }
}

/// Returns the names of all items, if each has one of its own.
fn names(items: &[Value]) -> Option<Vec<&str>> {
    let names: Option<Vec<&str>> = items
        .iter()
        .map(|item| item.get("name").and_then(Value::as_str))
        .collect();
    names.filter(|names| names.iter().collect::<BTreeSet<_>>().len() == names.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(old: &Value, new: &Value) -> Vec<String> {
        let work = |manifest: &Value| json!({"spec": {"workload": {"manifests": [manifest]}}});
        let text = |side: &Option<Value>| {
            side.as_ref()
                .map_or_else(|| "absent".to_owned(), Value::to_string)
        };
        of_works(&work(old), &work(new))
            .iter()
            .map(|one| format!("{} {} {}", one.path, text(&one.old), text(&one.new)))
            .collect()
    }

    fn deployment(containers: &Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "n"},
            "spec": {"template": {"spec": {"containers": containers}}}})
    }

    #[test]
    fn fields_are_named_and_form_is_not_told() {
        let env = |pairs: &[(&str, &str)]| {
            let each = pairs
                .iter()
                .map(|(name, value)| json!({"name": name, "value": value}));
            deployment(&json!([{"name": "main", "resources": {}, "env": each.collect::<Vec<_>>()}]))
        };
        let path = "Deployment n/a: spec.template.spec.containers[main].env";
        let old = env(&[("A", "1"), ("B", "2")]);
        assert_eq!(told(&old, &old), [] as [&str; 0]);
        assert_eq!(
            told(&old, &env(&[("A", "1"), ("B", "3")])),
            [format!(r#"{path}[B].value "2" "3""#)]
        );
        assert_eq!(
            told(&old, &env(&[("B", "2"), ("A", "1")])),
            [format!(r#"{path} (order) ["A","B"] ["B","A"]"#)]
        );
        assert_eq!(
            told(&env(&[("A", "1"), ("A", "2")]), &env(&[("A", "2")])),
            [
                format!(r#"{path}[0].value "1" "2""#),
                format!(r#"{path}[1] {{"name":"A","value":"2"}} absent"#)
            ]
        );
    }

    #[test]
    fn configurations_are_compared_by_field_and_templates_by_manifest() {
        let config =
            |value: &str| json!({"spec": {"customizedVariables": [{"name": "GREETING", "value": value}]}});
        let told = |old: &Value, new: &Value| {
            let each = of_configs(old, new).into_iter();
            each.map(|one| (one.path, one.old, one.new)).collect::<Vec<_>>()
        };
        assert_eq!(
            told(&config("hello"), &config("ahoy")),
            [(
                "spec.customizedVariables[GREETING].value".to_owned(),
                Some(json!("hello")),
                Some(json!("ahoy"))
            )]
        );
        let template = |value: &str| {
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": value}});
            json!({"spec": {"addonName": "a", "agentSpec": {"workload": {"manifests": [secret]}}}})
        };
        assert_eq!(
            told(&template("cGxhaW4="), &template("b3RoZXI=")),
            [(
                "Secret s: data.k".to_owned(),
                Some(json!("(hidden)")),
                Some(json!("(hidden)"))
            )]
        );
    }

    #[test]
    fn what_a_secret_holds_is_hidden() {
        let secret = |value: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": value}});
        assert_eq!(
            told(&secret("cGxhaW4="), &secret("b3RoZXI=")),
            [r#"Secret s: data.k "(hidden)" "(hidden)""#]
        );
    }
}
