//! Which lists of the workload kinds are merged by a strategic merge patch.
//!
//! Decides nothing but how facts become nodes; the nodes live as long as the program.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::kinds::{Field, METADATA, Node};
use crate::builtin::workloads::{Fact, each, package};

type Made = BTreeMap<&'static str, &'static Node>;

static MADE: Mutex<Made> = Mutex::new(BTreeMap::new());

/// Returns the table of a workload kind.
pub(super) fn of(group: &str, kind: &str) -> Option<&'static Node> {
    let name = format!("{}.{kind}", package(group)?);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    node(&name, &mut made)
}

fn node(name: &str, made: &mut Made) -> Option<&'static Node> {
    if name == "meta.v1.ObjectMeta" {
        return Some(&METADATA);
    }
    if let Some(node) = made.get(name) {
        return Some(node);
    }
    let (definition, facts) = each(name)?;
    let mut members = Vec::new();
    for fact in facts {
        match node(fact.kind, made) {
            // Members of an inlined struct stand in the definition itself.
            Some(below) if fact.name == "+" => members.extend_from_slice(below.0),
            below => members.push((fact.name, field(fact, below))),
        }
    }
    let node: &'static Node = Box::leak(Box::new(Node(members.leak())));
    made.insert(definition, node);
    Some(node)
}

fn field(fact: &Fact, below: Option<&'static Node>) -> Field {
    match (fact.merge_key(), below) {
        (Some(key), Some(item)) if !key.is_empty() => Field::Merge { key, item },
        (Some(_), _) => Field::Set,
        (None, Some(node)) if !fact.list => Field::Object(node),
        (None, _) => Field::Plain,
    }
}
