//! What the audit remembers: every object that it has seen, by name, and what was wrong with it.
//!
//! Decides which objects have to be judged. Keeps no object, and of one object only so many findings; a fault that thousands
//! of objects share is kept once.

use super::facts_diff::Shift;
use super::finding::{Counts, Finding};
use super::inputs::Inputs;
use super::report::{Entry, NamespaceReport};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use store::{Kind, Name, Names, ObjectKey};

/// The most findings of one object that are kept; the rest is counted.
const MOST_OF_AN_OBJECT: usize = 20;

/// An object that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditedObject {
    /// Which one.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Name,
    /// What of it counts.
    pub digest: Digest,
}

#[derive(Debug)]
struct Record {
    uid: Name,
    digest: Digest,
    judged: Option<Judgement>,
    /// It came while this audit was looking, so that nothing was wrong with it before.
    newcomer: bool,
}

/// How an object stands as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearing {
    /// It was never judged here.
    Unknown,
    /// Nothing is wrong with it that the gate would tell a user.
    Compliant,
    /// The gate would refuse it or warn of it, or cannot judge it.
    AtFault,
}

#[derive(Debug, PartialEq, Eq)]
struct Judgement {
    inputs: Inputs,
    findings: Box<[Finding]>,
    counts: Counts,
}

/// How many findings a rule has, by severity.
pub type Tally = BTreeMap<(Name, &'static str), i64>;

/// What the audit remembers.
#[derive(Debug, Default)]
pub struct Ledger {
    records: BTreeMap<ObjectKey, Record>,
    names: Names,
    tally: Tally,
    begun: bool,
}

impl Ledger {
    /// Notes that an object exists; tells whether it has to be judged.
    pub fn see(&mut self, seen: &AuditedObject) -> bool {
        if let Some(known) = self.records.get_mut(&seen.key) {
            let same = known.digest == seen.digest && known.judged.is_some();
            known.digest = seen.digest;
            if known.uid != seen.uid {
                known.uid = self.names.share(&seen.uid);
            }
            return !same;
        }
        let key = ObjectKey {
            kind: seen.key.kind,
            namespace: self.names.share(&seen.key.namespace),
            name: self.names.share(&seen.key.name),
        };
        let record = Record {
            uid: self.names.share(&seen.uid),
            digest: seen.digest,
            judged: None,
            newcomer: self.begun,
        };
        self.records.insert(key, record);
        true
    }

    /// Records that an object was deleted; returns whether it was known.
    pub fn remove(&mut self, key: &ObjectKey) -> bool {
        let Some(record) = self.records.remove(key) else {
            return false;
        };
        if let Some(judged) = record.judged {
            self.count(&judged.findings, -1);
            return true;
        }
        false
    }

    /// Returns the objects of a kind that are not among those that exist.
    pub fn lost(&self, kind: Kind, existing: &BTreeSet<ObjectKey>) -> Vec<ObjectKey> {
        let known = self.records.keys().filter(|key| key.kind == kind);
        known.filter(|key| !existing.contains(*key)).cloned().collect()
    }

    /// Takes a judgement in; tells whether it says anything else than the last one.
    pub fn judge(&mut self, key: &ObjectKey, findings: &[Finding], inputs: Inputs) -> bool {
        if !self.records.contains_key(key) {
            return false;
        }
        let mut counts = Counts::default();
        for finding in findings {
            counts.add(finding.standing);
        }
        let kept = findings.iter().take(MOST_OF_AN_OBJECT);
        let names = &mut self.names;
        let findings: Box<[Finding]> = kept
            .map(|finding| Finding {
                standing: finding.standing,
                path: names.share(&finding.path),
                rule: names.share(&finding.rule),
                message: names.share(&finding.message),
            })
            .collect();
        self.count(&findings, 1);
        let judged = Judgement {
            inputs: inputs.shared(&mut self.names),
            findings,
            counts,
        };
        let record = self.records.get_mut(key);
        let last = record.and_then(|record| record.judged.replace(judged));
        let Some(last) = last else { return true };
        self.count(&last.findings, -1);
        let now = self.records.get(key).and_then(|record| record.judged.as_ref());
        !now.is_some_and(|now| now.findings == last.findings && now.counts == last.counts)
    }

    /// Forgets every judgement: another replica audits from now on.
    pub fn forget(&mut self) {
        self.tally.clear();
        self.begun = false;
        for record in self.records.values_mut() {
            record.judged = None;
            record.newcomer = false;
        }
    }

    /// Notes that the audit begins: what comes from now on was not there before.
    pub fn begin(&mut self) {
        self.begun = true;
    }

    /// Tells how an object stands as a whole. What is only recorded, or cannot be decided without a request, is no fault.
    pub fn bearing(&self, key: &ObjectKey) -> Bearing {
        let Some(record) = self.records.get(key) else {
            return Bearing::Unknown;
        };
        match &record.judged {
            Some(judged) if judged.findings.iter().any(|one| one.standing.is_reported()) => Bearing::AtFault,
            Some(_) => Bearing::Compliant,
            None if record.newcomer => Bearing::Compliant,
            None => Bearing::Unknown,
        }
    }

    /// Returns the worst finding of an object, and how many more there are.
    pub fn worst(&self, key: &ObjectKey) -> Option<(&Finding, u32)> {
        let judged = self.records.get(key)?.judged.as_ref()?;
        let worst = judged.findings.first()?;
        Some((worst, judged.counts.total().saturating_sub(1)))
    }

    /// Returns the uid of an object.
    pub fn uid(&self, key: &ObjectKey) -> Option<&Name> {
        self.records.get(key).map(|record| &record.uid)
    }

    /// Returns the add-on that an object belongs to, if it was judged and belongs to one.
    pub fn addon_of(&self, key: &ObjectKey) -> Option<&Name> {
        let judged = self.records.get(key)?.judged.as_ref()?;
        judged.inputs.addon.as_ref()
    }

    /// Returns every finding that is kept, and of which object.
    pub fn findings(&self) -> impl Iterator<Item = (&ObjectKey, &Finding)> {
        let judged = self
            .records
            .iter()
            .filter_map(|(key, record)| Some((key, record.judged.as_ref()?)));
        judged.flat_map(|(key, judged)| judged.findings.iter().map(move |finding| (key, finding)))
    }

    /// Returns every object.
    pub fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.records.keys()
    }

    /// Tells whether an object exists.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.records.contains_key(key)
    }

    /// Returns the objects whose judgement may differ after a change.
    pub fn concerned(&self, shift: &Shift) -> Vec<ObjectKey> {
        if shift.is_empty() {
            return Vec::new();
        }
        let judged = self
            .records
            .iter()
            .filter_map(|(key, record)| Some((key, record.judged.as_ref()?)));
        judged
            .filter(|(key, judged)| shift.concerns(key, &judged.inputs))
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// Returns the namespaces that have findings; "" stands for what lives in none.
    pub fn faulty(&self) -> BTreeSet<Name> {
        let found = |record: &Record| record.judged.as_ref().is_some_and(|one| one.counts.total() > 0);
        let faulty = self.records.iter().filter(|(_, record)| found(record));
        faulty.map(|(key, _)| key.namespace.clone()).collect()
    }

    /// Returns what there is to report of a namespace.
    pub fn sheet(&self, namespace: &str) -> NamespaceReport {
        let mut sheet = NamespaceReport::default();
        for kind in super::KINDS {
            let first = ObjectKey::new(kind, namespace, "");
            let here = self.records.range(first..);
            let here = here.take_while(|(key, _)| key.kind == kind && &*key.namespace == namespace);
            for (key, record) in here {
                let Some(judged) = &record.judged else { continue };
                sheet.add_object(judged.counts, judged.findings.len());
                let entries = judged.findings.iter().map(|finding| Entry {
                    key: key.clone(),
                    uid: record.uid.clone(),
                    finding: finding.clone(),
                });
                sheet.entries.extend(entries);
            }
        }
        sheet.settle();
        sheet
    }

    /// Returns how many findings each rule has.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns how many objects of a kind there are.
    pub fn objects(&self, kind: Kind) -> usize {
        self.records.keys().filter(|key| key.kind == kind).count()
    }

    fn count(&mut self, findings: &[Finding], change: i64) {
        for finding in findings {
            let key = (finding.rule.clone(), finding.standing.severity());
            let count = self.tally.entry(key).or_default();
            *count = count.saturating_add(change);
        }
        self.tally.retain(|_, count| *count != 0);
    }
}

/// Digest of the parts of an object that judgements look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest([u8; 16]);

impl Digest {
    /// Returns the digest of an object.
    pub fn of(object: &Value) -> Self {
        let mut hash = Sha256::new();
        for pointer in [
            "/spec",
            "/metadata/labels",
            "/metadata/annotations",
            "/metadata/finalizers",
            "/metadata/ownerReferences",
            "/metadata/uid",
        ] {
            // The text of a value that is there is never empty, so that the parts cannot run together.
            let part = object.pointer(pointer).map(Value::to_string).unwrap_or_default();
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        let mut short = [0; 16];
        for (to, from) in short.iter_mut().zip(hash.finalize()) {
            *to = from;
        }
        Self(short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_the_gate_looks_at_counts() {
        let object =
            json!({"metadata": {"uid": "u", "labels": {"a": "b"}, "resourceVersion": "1"}, "spec": {"x": 1}});
        let with = |pointer: &str, value: Value| {
            let mut other = object.clone();
            let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
            other.pointer_mut(parent).expect("a parent")[name] = value;
            Digest::of(&other)
        };
        let same = Digest::of(&object);
        assert_eq!(with("/metadata/resourceVersion", json!("2")), same);
        assert_eq!(with("/status", json!({"conditions": []})), same);
        for (pointer, value) in [
            ("/spec", json!({"x": 2})),
            ("/metadata/labels", json!({})),
            ("/metadata/annotations", json!({"a": "b"})),
            ("/metadata/finalizers", json!(["x"])),
            (
                "/metadata/ownerReferences",
                json!([{"kind": "Deployment", "name": "x"}]),
            ),
            ("/metadata/uid", json!("v")),
        ] {
            assert_ne!(with(pointer, value), same, "{pointer}");
        }
    }
}
