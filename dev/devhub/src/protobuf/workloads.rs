//! Messages of the workload kinds, made from their facts when the first one is read.
//!
//! Decides which kind of value a fact stands for; never reads a byte. The tables live as long as the program.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::message::{Field, Kind, Message};
use super::meta::{LABEL_SELECTOR, OBJECT_META};
use crate::builtin::workloads::{Fact, each, package};

type Made = BTreeMap<&'static str, &'static Message>;

static MADE: Mutex<Made> = Mutex::new(BTreeMap::new());

/// Returns the message of a workload kind.
pub(super) fn message_of(group: &str, kind: &str) -> Option<&'static Message> {
    let name = format!("{}.{kind}", package(group)?);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    message(&name, &mut made)
}

fn message(name: &str, made: &mut Made) -> Option<&'static Message> {
    match name {
        "meta.v1.ObjectMeta" => return Some(&OBJECT_META),
        "meta.v1.LabelSelector" => return Some(&LABEL_SELECTOR),
        _ => {}
    }
    if let Some(message) = made.get(name) {
        return Some(message);
    }
    let (definition, facts) = each(name)?;
    let fields: Vec<Field> = facts.iter().filter_map(|fact| field(fact, made)).collect();
    let message: &'static Message = Box::leak(Box::new(Message {
        definition,
        fields: fields.leak(),
    }));
    made.insert(definition, message);
    Some(message)
}

fn field(fact: &Fact, made: &mut Made) -> Option<Field> {
    let kind = match (fact.name, kind(fact.kind, made)?) {
        ("+", Kind::Object(below)) => Kind::Inline(below),
        (_, kind) => kind,
    };
    Some(Field {
        number: fact.number,
        name: fact.name,
        kind,
        repeated: fact.list,
    })
}

fn kind(name: &str, made: &mut Made) -> Option<Kind> {
    if let Some(item) = name.strip_prefix("{}") {
        return Some(Kind::Map(Box::leak(Box::new(kind(item, made)?))));
    }
    Some(match name {
        "bool" => Kind::Bool,
        "int32" => Kind::Integer,
        "int64" => Kind::Long,
        "text" => Kind::Text,
        "bytes" => Kind::Bytes,
        "time" => Kind::Time,
        "microtime" => Kind::MicroTime,
        "json" => Kind::Json,
        "quantity" => Kind::Quantity,
        "intorstring" => Kind::IntOrString,
        definition => Kind::Object(message(definition, made)?),
    })
}
