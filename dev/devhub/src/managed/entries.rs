//! The entries of `metadata.managedFields`.
//!
//! Decides which entries are valid and what tells managers apart. Never looks at the object.

use std::collections::BTreeMap;

use managed_fields::{Owned, Owners, Set};
use serde_json::{Map, Value, json};

/// Who writes, and through what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    /// The name that the client gave.
    pub(crate) manager: String,
    /// Whether it applies; every other write is an update.
    pub(crate) applies: bool,
    /// Version of the objects that it writes; an applier is the same in every version.
    pub(crate) version: String,
    /// Subresource, empty for the object.
    pub(crate) subresource: String,
}

/// What is known of one manager besides what it owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Its name.
    pub(super) manager: String,
    /// The subresource through which it writes, empty for the object.
    pub(super) subresource: String,
    /// When what it owns changed last.
    pub(super) time: Option<String>,
}

/// All managers of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Managers {
    /// What they own, by identity.
    pub(super) owners: Owners,
    /// Who they are, by identity. There may be more than there are owners: who lost everything may come back.
    pub(super) records: BTreeMap<String, Record>,
}

impl Writer {
    /// Returns what tells this writer from others, in the form by which Kubernetes sorts managers.
    pub(super) fn identity(&self) -> String {
        let operation = if self.applies { "Apply" } else { "Update" };
        let mut identity = format!(
            "{{\"manager\":{},\"operation\":\"{operation}\"",
            json!(self.manager)
        );
        let parts = [
            ("apiVersion", &self.version, !self.applies),
            ("subresource", &self.subresource, true),
        ];
        for (name, part, counts) in parts {
            if counts && !part.is_empty() {
                identity = format!("{identity},\"{name}\":{}", json!(part));
            }
        }
        identity.push('}');
        identity
    }
}

impl Managers {
    /// Returns whether there is no manager.
    pub(super) fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Reads a list; a single faulty entry makes the whole list unreadable.
    pub(super) fn decode(list: &Value) -> Result<Self, String> {
        let mut managers = Self::default();
        let entries = match list {
            Value::Null => return Ok(managers),
            Value::Array(entries) => entries,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                return Err("expected a list".to_owned());
            }
        };
        for (position, entry) in entries.iter().enumerate() {
            let (writer, owned, time) = decode(entry, position)?;
            let identity = writer.identity();
            let Writer {
                manager, subresource, ..
            } = writer;
            managers.owners.insert(identity.clone(), owned);
            let record = Record {
                manager,
                subresource,
                time,
            };
            managers.records.insert(identity, record);
        }
        Ok(managers)
    }

    /// Returns the list as objects carry it, sorted by operation, time and manager.
    pub(super) fn encode(&self) -> Value {
        let mut entries: Vec<(&Record, &Owned)> = self
            .owners
            .iter()
            .filter_map(|(identity, owned)| Some((self.records.get(identity)?, owned)))
            .collect();
        entries.sort_by_key(|(record, owned)| {
            let Record {
                manager,
                subresource,
                time,
            } = record;
            (!owned.applied, time, manager, &owned.version, subresource)
        });
        entries
            .into_iter()
            .map(|(record, owned)| render(record, owned))
            .collect()
    }

    /// Notes a manager; `time` is when what it owns changed.
    pub(super) fn note(&mut self, writer: &Writer, time: Option<&str>) {
        let record = Record {
            manager: writer.manager.clone(),
            subresource: writer.subresource.clone(),
            time: time.map(str::to_owned),
        };
        self.records.insert(writer.identity(), record);
    }
}

fn decode(entry: &Value, position: usize) -> Result<(Writer, Owned, Option<String>), String> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let applied = match text("operation") {
        "Apply" => true,
        "Update" => false,
        _ => return Err("operation must be `Apply` or `Update`".to_owned()),
    };
    let version = text("apiVersion").to_owned();
    if version.is_empty() {
        return Err("apiVersion must not be empty".to_owned());
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(format!("missing fieldsType in managed fields entry {position}")),
        other => {
            return Err(format!(
                "invalid fieldsType {other:?} in managed fields entry {position}"
            ));
        }
    }
    let set = match entry.get("fieldsV1") {
        None | Some(Value::Null) => Set::default(),
        Some(wire) => {
            Set::from_wire(wire).map_err(|fault| format!("error decoding set from json: {fault}"))?
        }
    };
    let writer = Writer {
        manager: text("manager").to_owned(),
        applies: applied,
        version: version.clone(),
        subresource: text("subresource").to_owned(),
    };
    let time = Some(text("time"))
        .filter(|time| !time.is_empty())
        .map(str::to_owned);
    Ok((
        writer,
        Owned {
            set,
            applied,
            version,
        },
        time,
    ))
}

fn render(record: &Record, owned: &Owned) -> Value {
    let mut entry = Map::new();
    let operation = if owned.applied { "Apply" } else { "Update" };
    entry.insert("apiVersion".to_owned(), json!(owned.version));
    entry.insert("fieldsType".to_owned(), json!("FieldsV1"));
    entry.insert("fieldsV1".to_owned(), owned.set.to_wire());
    entry.insert("operation".to_owned(), json!(operation));
    for (name, text) in [("manager", &record.manager), ("subresource", &record.subresource)] {
        if !text.is_empty() {
            entry.insert(name.to_owned(), json!(text));
        }
    }
    entry.extend(record.time.as_ref().map(|time| ("time".to_owned(), json!(time))));
    Value::Object(entry)
}

/// Returns why a list cannot be kept as it is.
pub(crate) fn fault(list: &Value) -> Option<String> {
    Managers::decode(list).err()
}

/// Returns whether two lists differ in times alone.
pub(crate) fn same_but_times(one: &Value, two: &Value) -> bool {
    let (Some(one), Some(two)) = (one.as_array(), two.as_array()) else {
        return one == two;
    };
    let timeless = |list: &[Value]| -> Vec<Value> {
        let mut list: Vec<Value> = list.to_vec();
        for entry in list.iter_mut().filter_map(Value::as_object_mut) {
            entry.remove("time");
        }
        // Entries are sorted by time first.
        list.sort_by_cached_key(Value::to_string);
        list
    };
    one.len() == two.len() && timeless(one) == timeless(two)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, time: &str) -> Value {
        json!({ "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": { "f:a": {} }, "manager": manager, "operation": operation, "time": time })
    }

    #[test]
    fn entries_come_by_operation_then_time_then_name() {
        let sorted = [
            entry("z", "Apply", "2026-01-02T00:00:00Z"),
            entry("z", "Update", "2026-01-01T00:00:00Z"),
            entry("a", "Update", "2026-01-02T00:00:00Z"),
            entry("b", "Update", "2026-01-02T00:00:00Z"),
        ];
        let mut mixed = sorted.clone();
        mixed.reverse();
        let managers = Managers::decode(&json!(mixed)).expect("valid");
        assert_eq!(managers.encode(), json!(sorted));
    }

    #[test]
    fn says_what_is_wrong_with_a_list() {
        let with = |name: &str, value: &str| {
            let mut entry = entry("a", "Update", "");
            entry[name] = json!(value);
            fault(&json!([entry]))
        };
        let rows = [
            ("operation", "Bogus", "operation must be `Apply` or `Update`"),
            ("apiVersion", "", "apiVersion must not be empty"),
            ("fieldsType", "", "missing fieldsType in managed fields entry 0"),
            (
                "fieldsType",
                "X",
                "invalid fieldsType \"X\" in managed fields entry 0",
            ),
        ];
        for (name, value, wanted) in rows {
            assert_eq!(with(name, value).as_deref(), Some(wanted));
        }
        assert_eq!(fault(&Value::Null), None);
    }

    #[test]
    fn times_alone_make_no_difference() {
        let list = |one: &str, two: &str| json!([entry("a", "Update", one), entry("b", "Update", two)]);
        let mut swapped = list("2", "1");
        swapped.as_array_mut().expect("a list").reverse();
        assert!(same_but_times(&list("1", "2"), &swapped));
        assert!(!same_but_times(
            &list("1", "2"),
            &json!([entry("a", "Update", "1")])
        ));
    }
}
