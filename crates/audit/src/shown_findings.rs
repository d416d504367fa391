//! Findings as a page shows them: the worst first, and so many of them.
//!
//! Sets the order, and which parts of a finding are shown.

use serde_json::{Value, json};

use super::finding::Finding;
use super::ledger::Ledger;
use admission::ObjectKey;

/// The most findings that are listed; the others are counted.
const MOST: usize = 500;

/// One finding, and of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldFinding {
    /// The object.
    pub key: ObjectKey,
    /// What is wrong with it.
    pub finding: Finding,
}

/// The findings that people see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The worst first.
    pub items: Vec<ToldFinding>,
    /// How many more there are.
    pub more: usize,
    /// Grows with every change.
    pub revision: u64,
}

impl Told {
    /// Tells what is in a ledger: what the gate would refuse or warn of.
    pub fn of(ledger: &Ledger, revision: u64) -> Self {
        let told = ledger
            .findings()
            .filter(|(_, finding)| finding.standing.is_reported());
        let mut all: Vec<(&ObjectKey, &Finding)> = told.collect();
        all.sort_by(|(key, finding), (other, second)| {
            finding
                .standing
                .cmp(&second.standing)
                .then_with(|| key.cmp(other))
        });
        let more = all.len().saturating_sub(MOST);
        let items = all.into_iter().take(MOST).map(|(key, finding)| ToldFinding {
            key: key.clone(),
            finding: finding.clone(),
        });
        Self {
            items: items.collect(),
            more,
            revision,
        }
    }
}

impl ToldFinding {
    /// Returns it as programs read it.
    pub fn json(&self) -> Value {
        let finding = &self.finding;
        json!({
            "kind": self.key.kind.address().kind,
            "namespace": &*self.key.namespace,
            "name": &*self.key.name,
            "action": finding.standing.action(),
            "severity": finding.standing.severity(),
            "rule": &*finding.rule,
            "path": &*finding.path,
            "message": &*finding.message,
        })
    }
}
