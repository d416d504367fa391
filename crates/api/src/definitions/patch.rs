//! Additions to a definition as a JSON patch, and their way back.
//!
//! Decides what is added, what of former additions is brought up to date, and what is taken out. Every patch begins with tests of the
//! name, the resource version and the version's place in the list: a definition that has changed in between is not touched.

use kubernetes::json_pointer::unescape;
use serde_json::{Value, json};

use super::difference::{Difference, column_name, columns, compare, plain};
use super::hazard::{Conversion, Hazard, HubContext, OperatorWill};
use super::live::{COLUMNS, Live, annotations, below, keeps_everything, name, path_of};
use super::record::{Fate, Record};
use crate::names::annotations::ADDED_FIELDS;

/// A field that OCM has proposed. It is read where a hub has it, and never added: OCM can still define it in another way.
const PROPOSED: &str = "spec.dependencies";

/// Something of ours in a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addition {
    /// The field, or the name of the column.
    pub path: String,
    /// Whether it is a column.
    pub is_column: bool,
    /// Whether it is there.
    pub standing: Presence,
}

/// Whether an addition is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is not there.
    New,
    /// Another Tidegate has added it, with another schema.
    Outdated,
    /// It is there, added by Tidegate.
    Present,
}

/// What is to be done about a definition.
#[derive(Clone, Debug)]
pub struct DefinitionPlan {
    /// The name of the definition.
    pub name: String,
    /// What is ours in it, or will be.
    pub additions: Vec<Addition>,
    /// What our definition says otherwise; it stays as the hub has it.
    pub differences: Vec<Difference>,
    /// What the operator does about a definition that was changed.
    pub operator: OperatorWill,
    /// What other versions do to added fields.
    pub conversion: Conversion,
    /// Why nothing may be added.
    pub hazards: Vec<Hazard>,
    /// The JSON patch (RFC 6902) that adds what is missing; empty when nothing is.
    pub patch: Vec<Value>,
}

impl DefinitionPlan {
    /// Returns the additions that are to be made.
    pub fn pending(&self) -> impl Iterator<Item = &Addition> {
        let is_pending = |one: &&Addition| one.standing != Presence::Present;
        self.additions.iter().filter(is_pending)
    }
}

/// What is to be taken out of a definition.
#[derive(Clone, Debug)]
pub struct Reversal {
    /// The name of the definition.
    pub name: String,
    /// What is taken out: fields and names of columns.
    pub removed: Vec<String>,
    /// What was added and has been changed by another client since: it stays.
    pub stays: Vec<String>,
    /// Why nothing can be taken out.
    pub hazard: Option<Hazard>,
    /// The JSON patch (RFC 6902); empty when there is nothing to do.
    pub patch: Vec<Value>,
}

/// Returns what has to be added to a definition of the hub so that it has what ours has.
pub fn plan(live: &Value, ours: &Value, around: &HubContext) -> DefinitionPlan {
    let mut plan = DefinitionPlan {
        name: name(live).to_owned(),
        additions: Vec::new(),
        differences: Vec::new(),
        operator: OperatorWill::of(live, &around.operator),
        conversion: Conversion::of(live, false, &around.proof),
        hazards: Vec::new(),
        patch: Vec::new(),
    };
    if keeps_everything(live) {
        return plan;
    }
    let (found, ours, record) = match (Live::of(live), served(ours), recorded(live)) {
        (Ok(found), Some(ours), Ok(record)) => (found, ours, record),
        (Err(unfit), _, _) => return refused(plan, Hazard::Unfit(unfit)),
        (_, None, _) => return plan,
        (_, _, Err(hazard)) => return refused(plan, hazard),
    };
    let base = without(found.version, &record);
    let mut wanted = compare(&base, ours);
    wanted.fields.retain(|(pointer, _)| path_of(pointer) != PROPOSED);
    let mut patch = Patch::of(&found);
    let mut record = surviving(record, found.version);
    for (pointer, value) in &wanted.fields {
        let standing = patch.field(pointer, value);
        record.add_field(pointer, value);
        plan.add(path_of(pointer), standing);
    }
    for column in &wanted.columns {
        let standing = patch.column(column);
        record.add_column(column);
        plan.additions.push(Addition {
            path: column_name(column).to_owned(),
            is_column: true,
            standing,
        });
    }
    plan.differences = wanted.differences;
    plan.conversion = Conversion::of(live, !wanted.fields.is_empty(), &around.proof);
    if !plan.additions.is_empty() {
        let hazards = [
            Hazard::of_operator(&plan.name, &plan.operator),
            Hazard::of_conversion(&plan.conversion),
        ];
        plan.hazards.extend(hazards.into_iter().flatten());
    }
    if plan.pending().next().is_some() {
        patch.annotate(Some(&record.render()));
        plan.patch = patch.operations;
    }
    plan
}

impl DefinitionPlan {
    fn add(&mut self, path: String, standing: Presence) {
        self.additions.push(Addition {
            path,
            is_column: false,
            standing,
        });
    }
}

fn refused(mut plan: DefinitionPlan, hazard: Hazard) -> DefinitionPlan {
    plan.hazards.push(hazard);
    plan
}

/// Returns what takes the recorded additions out of a definition again.
pub fn revert(live: &Value) -> Reversal {
    let mut reversal = Reversal {
        name: name(live).to_owned(),
        removed: Vec::new(),
        stays: Vec::new(),
        hazard: None,
        patch: Vec::new(),
    };
    let taken = recorded(live).and_then(|record| {
        let found = Live::of(live).map_err(Hazard::Unfit);
        Ok((record, found?))
    });
    match taken {
        _ if annotation(live).is_none() => {}
        Ok((record, found)) => reversal.take_out(&record, &found),
        Err(hazard) => reversal.hazard = Some(hazard),
    }
    reversal
}

impl Reversal {
    fn take_out(&mut self, record: &Record, found: &Live<'_>) {
        let mut patch = Patch::of(found);
        let mut rest = Record::default();
        // Backwards: what lies deeper goes first.
        let fields: Vec<(&str, Fate)> = record.fates_of_fields(found.version).collect();
        for (pointer, fate) in fields.into_iter().rev() {
            match fate {
                Fate::Intact => {
                    patch.remove(pointer);
                    self.removed.push(path_of(pointer));
                }
                Fate::Changed => {
                    keep(&mut rest.fields, &record.fields, pointer);
                    self.stays.push(path_of(pointer));
                }
                Fate::Gone => {}
            }
        }
        let mut places = Vec::new();
        for (name, fate) in record.fates_of_columns(found.version) {
            match fate {
                Fate::Intact => {
                    places.extend(patch.place_of(name));
                    self.removed.push(name.to_owned());
                }
                Fate::Changed => {
                    keep(&mut rest.columns, &record.columns, name);
                    self.stays.push(name.to_owned());
                }
                Fate::Gone => {}
            }
        }
        patch.remove_columns(places);
        let rest = (!rest.is_empty()).then(|| rest.render());
        if !self.removed.is_empty() || rest.is_none() {
            patch.annotate(rest.as_deref());
            self.patch = patch.operations;
        }
    }
}

type Digests = std::collections::BTreeMap<String, String>;

fn keep(into: &mut Digests, from: &Digests, key: &str) {
    into.extend(from.get(key).map(|digest| (key.to_owned(), digest.clone())));
}

/// Returns our version of a definition.
fn served(ours: &Value) -> Option<&Value> {
    let versions = ours.pointer("/spec/versions")?.as_array()?;
    versions
        .iter()
        .find(|version| version.get("name").and_then(Value::as_str) == Some("v1alpha1"))
}

fn annotation(live: &Value) -> Option<&Value> {
    annotations(live)?.get(ADDED_FIELDS)
}

fn recorded(live: &Value) -> Result<Record, Hazard> {
    let Some(text) = annotation(live) else {
        return Ok(Record::default());
    };
    let record = text.as_str().and_then(Record::read);
    record.ok_or(Hazard::UnreadableRecord)
}

/// Returns a version of a definition without what was added to it and is as it was added.
fn without(version: &Value, record: &Record) -> Value {
    let mut base = version.clone();
    let intact = |(key, fate): (&str, Fate)| (fate == Fate::Intact).then(|| key.to_owned());
    let fields: Vec<String> = record.fates_of_fields(version).filter_map(intact).collect();
    for pointer in fields.iter().rev() {
        let Some((parent, key)) = pointer.rsplit_once('/') else {
            continue;
        };
        let key = unescape(key);
        if let Some(parent) = base.pointer_mut(parent).and_then(Value::as_object_mut) {
            parent.remove(&key);
        }
    }
    let names: Vec<String> = record.fates_of_columns(version).filter_map(intact).collect();
    if let Some(columns) = base.pointer_mut(COLUMNS).and_then(Value::as_array_mut) {
        columns.retain(|column| !names.iter().any(|name| name == column_name(column)));
    }
    base
}

/// Returns what of a record still is in the definition.
fn surviving(mut record: Record, version: &Value) -> Record {
    let gone = |(key, fate): (&str, Fate)| (fate == Fate::Gone).then(|| key.to_owned());
    let fields: Vec<String> = record.fates_of_fields(version).filter_map(gone).collect();
    let columns: Vec<String> = record.fates_of_columns(version).filter_map(gone).collect();
    record.fields.retain(|pointer, _| !fields.contains(pointer));
    record.columns.retain(|name, _| !columns.contains(name));
    record
}

/// A patch that grows.
struct Patch<'a> {
    live: &'a Live<'a>,
    /// Where `v1alpha1` stands.
    version: String,
    operations: Vec<Value>,
    has_columns: bool,
}

impl<'a> Patch<'a> {
    fn of(live: &'a Live<'a>) -> Self {
        let version = format!("/spec/versions/{}", live.index);
        let test = |path: &str, value: &str| json!({"op": "test", "path": path, "value": value});
        Self {
            live,
            operations: vec![
                test("/metadata/name", name(live.whole)),
                test("/metadata/resourceVersion", live.resource_version),
                test(&below(&version, "name"), "v1alpha1"),
            ],
            has_columns: !columns(live.version).is_empty(),
            version,
        }
    }

    fn write(&mut self, op: &str, pointer: &str, value: &Value) {
        let path = format!("{}{pointer}", self.version);
        self.operations
            .push(json!({"op": op, "path": path, "value": plain(value)}));
    }

    fn field(&mut self, pointer: &str, value: &Value) -> Presence {
        match self.live.version.pointer(pointer) {
            None => {
                self.write("add", pointer, value);
                Presence::New
            }
            Some(there) if plain(there) == plain(value) => Presence::Present,
            Some(_) => {
                self.write("replace", pointer, value);
                Presence::Outdated
            }
        }
    }

    fn column(&mut self, column: &Value) -> Presence {
        let name = column_name(column);
        let Some(place) = self.place_of(name) else {
            if self.has_columns {
                self.write("add", &below(COLUMNS, "-"), column);
            } else {
                self.write("add", COLUMNS, &json!([column]));
                self.has_columns = true;
            }
            return Presence::New;
        };
        if columns(self.live.version).get(place).map(plain) == Some(plain(column)) {
            return Presence::Present;
        }
        self.write("replace", &below(COLUMNS, &place.to_string()), column);
        Presence::Outdated
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        columns(self.live.version)
            .iter()
            .position(|column| column_name(column) == name)
    }

    fn remove(&mut self, pointer: &str) {
        let path = format!("{}{pointer}", self.version);
        self.operations.push(json!({"op": "remove", "path": path}));
    }

    fn remove_columns(&mut self, mut places: Vec<usize>) {
        if places.len() == columns(self.live.version).len() && !places.is_empty() {
            self.remove(COLUMNS);
            return;
        }
        places.sort_unstable();
        for place in places.iter().rev() {
            self.remove(&below(COLUMNS, &place.to_string()));
        }
    }

    /// Writes the record, or takes it away.
    fn annotate(&mut self, text: Option<&str>) {
        let all = annotations(self.live.whole);
        let key = below("/metadata/annotations", ADDED_FIELDS);
        self.operations.push(match (text, all) {
            (Some(text), None) => {
                json!({"op": "add", "path": "/metadata/annotations", "value": {ADDED_FIELDS: text}})
            }
            (Some(text), Some(_)) => json!({"op": "add", "path": key, "value": text}),
            (None, Some(all)) if all.len() == 1 => json!({"op": "remove", "path": "/metadata/annotations"}),
            (None, _) => json!({"op": "remove", "path": key}),
        });
    }
}
