//! The entries of `metadata.managedFields`.
//!
//! Decides which entries are valid and what tells managers apart. Never looks at the object.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use fields::{Owned, Owners, Set};
use serde_json::{Map, Value, json};

/// Who writes, and through what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
pub(crate) struct Record {
    /// Who it is.
    pub(crate) writer: Writer,
    /// When what it owns changed last.
    pub(crate) time: Option<String>,
}

/// All managers of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Managers {
    /// What they own, by identity.
    pub(crate) owners: Owners,
    /// Who they are, by identity.
    pub(crate) records: BTreeMap<String, Record>,
}

impl Writer {
    /// Returns what tells this writer from others.
    pub(crate) fn identity(&self) -> String {
        let version = if self.applies { "" } else { self.version.as_str() };
        format!(
            "{}\u{0}{}\u{0}{version}\u{0}{}",
            self.manager, self.applies, self.subresource
        )
    }
}

impl Managers {
    /// Returns whether nobody owns anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Reads a list; a single faulty entry makes the whole list unreadable.
    pub(crate) fn decode(list: &Value) -> Option<Self> {
        let mut managers = Self::default();
        for entry in list.as_array()? {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
            let applies = match text("operation") {
                "Apply" => true,
                "Update" => false,
                _ => return None,
            };
            if text("apiVersion").is_empty() || text("fieldsType") != "FieldsV1" {
                return None;
            }
            let writer = Writer {
                manager: text("manager").to_owned(),
                applies,
                version: text("apiVersion").to_owned(),
                subresource: text("subresource").to_owned(),
            };
            let set = match entry.get("fieldsV1") {
                None | Some(Value::Null) => Set::default(),
                Some(wire) => Set::from_wire(wire).ok()?,
            };
            let time = Some(text("time"))
                .filter(|time| !time.is_empty())
                .map(str::to_owned);
            let identity = writer.identity();
            let applied = writer.applies;
            managers.owners.insert(identity.clone(), Owned { set, applied });
            managers.records.insert(identity, Record { writer, time });
        }
        Some(managers)
    }

    /// Returns the list as objects carry it, sorted by operation, time and manager.
    pub(crate) fn encode(&self) -> Value {
        let mut entries: Vec<(&Record, &Owned)> = self
            .owners
            .iter()
            .filter_map(|(identity, owned)| Some((self.records.get(identity)?, owned)))
            .filter(|(_, owned)| !owned.set.is_empty())
            .collect();
        entries.sort_by(|(one, _), (two, _)| by_place(one, two));
        entries
            .into_iter()
            .map(|(record, owned)| render(record, owned))
            .collect()
    }

    /// Notes when what a manager owns changed.
    pub(crate) fn stamp(&mut self, writer: &Writer, now: &str) {
        let time = Some(now.to_owned());
        let record = Record {
            writer: writer.clone(),
            time,
        };
        self.records.insert(writer.identity(), record);
    }
}

fn by_place(one: &Record, two: &Record) -> Ordering {
    let applies = |record: &Record| !record.writer.applies;
    applies(one)
        .cmp(&applies(two))
        .then_with(|| one.time.cmp(&two.time))
        .then_with(|| one.writer.cmp(&two.writer))
}

fn render(record: &Record, owned: &Owned) -> Value {
    let Record { writer, time } = record;
    let mut entry = Map::new();
    let operation = if writer.applies { "Apply" } else { "Update" };
    entry.insert("apiVersion".to_owned(), json!(writer.version));
    entry.insert("fieldsType".to_owned(), json!("FieldsV1"));
    entry.insert("fieldsV1".to_owned(), owned.set.to_wire());
    if !writer.manager.is_empty() {
        entry.insert("manager".to_owned(), json!(writer.manager));
    }
    entry.insert("operation".to_owned(), json!(operation));
    if !writer.subresource.is_empty() {
        entry.insert("subresource".to_owned(), json!(writer.subresource));
    }
    entry.extend(time.as_ref().map(|time| ("time".to_owned(), json!(time))));
    Value::Object(entry)
}

/// Returns whether a list can be kept as it is.
pub(crate) fn is_valid(list: &Value) -> bool {
    list.is_null() || Managers::decode(list).is_some()
}

/// Returns whether two lists differ in times alone.
pub(crate) fn same_but_times(one: &Value, two: &Value) -> bool {
    match (Managers::decode(one), Managers::decode(two)) {
        (Some(one), Some(two)) => one.owners == two.owners && one.records.keys().eq(two.records.keys()),
        (Some(_) | None, _) => one == two,
    }
}
