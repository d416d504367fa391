//! From files to a report.
//!
//! Decides what the files are to each other: together they are the hub that each of them is judged on, because one sync
//! applies them together. Findings stand where the reader has to change something.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kubernetes::json_pointer::unescape;
use serde_json::Value;

use super::gather::{Item, open, spot};
use super::ignores;
use super::judge::Question;
use super::kinds::{FileKind, standing};
use super::metadata;
use super::policies;
use super::works::{self, Gravity, work_of};
use crate::report::{Checked, Finding, ObjectReference, Report, RuleDoc, Severity, Spot};
use crate::source::{Aim, Span, place};
use admission::{Entry, HubDefinitions, Rulebook, catalogue};
use insight::offline::{Hub, Identity, Knowledge};
use kubernetes::field::{Violation, Warning};

/// A file that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Its path, as reports show it.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// What was there before, by object.
#[derive(Clone, Debug, Default)]
pub struct Base {
    /// The objects.
    pub objects: BTreeMap<Identity, Value>,
    /// Whether an object that stands there and in no file any more is deleted.
    pub deletes: bool,
}

/// What is known besides the files.
#[derive(Clone, Debug, Default)]
pub struct Background {
    /// The hub that the files will be applied to, as far as it is known.
    pub hub: Hub,
    /// What was there before; without it every object is new.
    pub base: Option<Base>,
    /// What the gate decides by.
    pub rulebook: Rulebook,
    /// When the files will be applied, for policies that look at the time; unknown to them when absent.
    pub now: Option<Timestamp>,
    /// The definitions of the hub, where they are known: they say which fields are dropped.
    pub definitions: Option<Arc<HubDefinitions>>,
}

/// What is done about findings that hang on missing facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingFacts {
    /// They are left out.
    Skip,
    /// They are shown.
    Warn,
    /// They are shown and fail the check.
    Fail,
}

/// From which findings on a check fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Errors.
    Error,
    /// Errors and warnings.
    Warning,
    /// No finding fails it.
    Never,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to complain about.
    Clean,
    /// Something was found.
    Findings,
    /// Something could not be read.
    BadInput,
    /// A policy among the files does not compile.
    BrokenPolicy,
}

/// Checks files against what the gate would say.
pub fn check(files: &[File], background: &Background, missing: MissingFacts) -> Report {
    let library = open(files);
    let (items, ignored) = library.items();
    let mut hub = background.hub.clone();
    for item in &items {
        hub.apply(item.value.clone());
    }
    let knowledge = hub.knowledge();
    let (rulebook, troubles) = policies::in_force(&background.rulebook, &hub, &items);
    let mut report = Report {
        unreadable: library.unreadable(),
        ignored,
        files: files.len(),
        rules: catalogue().iter().map(rule).collect(),
        findings: troubles,
        ..Report::default()
    };
    let run = CheckRun {
        background,
        rulebook,
        knowledge,
        missing,
    };
    for item in &items {
        run.judge(item, &mut report);
        for (severity, violation) in metadata::faults(&item.value, item.kind) {
            report.findings.push(located(severity, &violation, item));
        }
    }
    let documents: Vec<&Value> = items.iter().map(|item| &item.value).collect();
    let place_of = |position: usize| {
        let item = items.get(position);
        item.map_or_else(String::new, |item| {
            format!("{}:{}", item.page.path(), item.node.span.start.line)
        })
    };
    for (position, (severity, violation)) in metadata::defined_twice(&documents, &place_of, policies::COMPILE)
    {
        let item = items.get(position).into_iter();
        let found = item.map(|item| located(severity, &violation, item));
        report.findings.extend(found);
    }
    run.judge_deleted(&items, &mut report);
    let texts = files.iter().map(|file| (file.path.as_str(), file.text.as_str()));
    report.excused = ignores::apply(texts, &run.rulebook, &mut report.findings);
    report.sort();
    report
}

/// Returns how a check has ended.
pub fn outcome(report: &Report, threshold: Threshold, missing: MissingFacts) -> Outcome {
    let fails = |finding: &Finding| match finding.severity {
        Severity::Error => threshold != Threshold::Never,
        Severity::Warning => threshold == Threshold::Warning,
        Severity::Unknown => missing == MissingFacts::Fail,
    };
    if !report.unreadable.is_empty() {
        Outcome::BadInput
    } else if report.findings.iter().any(policies::is_broken) {
        Outcome::BrokenPolicy
    } else if report.findings.iter().any(fails) {
        Outcome::Findings
    } else {
        Outcome::Clean
    }
}

/// Everything that the judgements of one check share.
struct CheckRun<'a> {
    background: &'a Background,
    /// What the gate decides by, with the policies that the hub will have.
    rulebook: Rulebook,
    knowledge: Knowledge,
    missing: MissingFacts,
}

impl CheckRun<'_> {
    fn judge(&self, item: &Item<'_>, report: &mut Report) {
        self.judge_work(item, report);
        let Some(kind) = item.kind else {
            return;
        };
        let base = self.background.base.as_ref();
        let asked = Question {
            kind,
            object: Some(&item.value),
            old: base.and_then(|base| base.objects.get(&Identity::of(&item.value))),
            now: self.background.now,
            definitions: self.background.definitions.as_deref(),
        };
        let subject = subject(&item.value);
        let whole = spot(item.page, beginning(item));
        let at = |violation: &Violation| spot(item.page, place(item.node, violation.path(), aim(violation)));
        let additions = self.ask(&asked, &subject, &at, report);
        report.checked.push(Checked {
            spot: whole,
            subject,
            additions,
        });
    }

    /// What holds for works although the gate is not asked about them.
    fn judge_work(&self, item: &Item<'_>, report: &mut Report) {
        let Some(work) = work_of(&item.value) else {
            return;
        };
        let base = self.background.base.as_ref();
        let old = base.and_then(|base| base.objects.get(&Identity::of(&item.value)));
        let subject = subject(&item.value);
        for (gravity, violation) in works::found(work, &item.value, old, &self.knowledge, &self.rulebook) {
            let severity = match gravity {
                Gravity::Refused => Severity::Error,
                Gravity::Warned => Severity::Warning,
                Gravity::Unknown if self.missing == MissingFacts::Skip => continue,
                Gravity::Unknown => Severity::Unknown,
            };
            report.findings.push(located(severity, &violation, item));
        }
        if item.kind.is_none() {
            report.checked.push(Checked {
                spot: spot(item.page, beginning(item)),
                subject,
                additions: Vec::new(),
            });
        }
    }

    /// What a commit removes is deleted by the sync that applies the folder.
    fn judge_deleted(&self, items: &[Item<'_>], report: &mut Report) {
        let Some(base) = self.background.base.as_ref().filter(|base| base.deletes) else {
            return;
        };
        let mut gone = base.objects.clone();
        for item in items {
            gone.remove(&Identity::of(&item.value));
        }
        for object in gone.values() {
            let FileKind::Known(kind) = standing(object) else {
                continue;
            };
            let asked = Question {
                kind,
                object: None,
                old: Some(object),
                now: self.background.now,
                definitions: self.background.definitions.as_deref(),
            };
            let nowhere = |_: &Violation| Spot {
                file: "(deleted)".to_owned(),
                ..Spot::default()
            };
            self.ask(&asked, &subject(object), &nowhere, report);
        }
    }

    /// Adds what the gate says to the report; returns what it would add to the object.
    fn ask(
        &self,
        asked: &Question<'_>,
        subject: &ObjectReference,
        at: &dyn Fn(&Violation) -> Spot,
        report: &mut Report,
    ) -> Vec<String> {
        let judgement = asked.judge(&self.knowledge, &self.rulebook);
        let mut add = |severity: Severity, violation: &Violation| {
            let mut found = finding(severity, violation, subject.clone());
            found.spot = at(violation);
            report.findings.push(found);
        };
        // A policy that does not compile is reported at the letter of its expression, beside the other policies.
        let refused = judgement.verdict.violations().iter();
        for violation in refused.filter(|violation| violation.rule() != policies::COMPILE) {
            add(Severity::Error, violation);
        }
        for violation in judgement.verdict.warnings().iter().map(Warning::violation) {
            add(Severity::Warning, violation);
        }
        if self.missing != MissingFacts::Skip {
            for violation in &judgement.unknown {
                add(Severity::Unknown, violation);
            }
        }
        judgement.verdict.patch().0.iter().map(addition).collect()
    }
}

/// Rules about names of fields: what they mean stands before the colon.
const UNKNOWN_FIELDS: [&str; 2] = ["schema/unknown-field", "manifest/unknown-field"];

fn aim(violation: &Violation) -> Aim {
    if UNKNOWN_FIELDS.contains(&violation.rule()) {
        Aim::Key
    } else {
        Aim::Value
    }
}

pub(super) fn beginning(item: &Item<'_>) -> Span {
    let start = item.node.span.start;
    Span { start, end: start }
}

/// Returns a finding about an object of a file, at its place there.
pub(super) fn located(severity: Severity, violation: &Violation, item: &Item<'_>) -> Finding {
    Finding {
        spot: spot(item.page, place(item.node, violation.path(), aim(violation))),
        ..finding(severity, violation, subject(&item.value))
    }
}

fn finding(severity: Severity, violation: &Violation, subject: ObjectReference) -> Finding {
    let message = match severity {
        Severity::Error => violation.refusal(),
        // It is no error: the object is stored.
        Severity::Warning => violation.advice(),
        Severity::Unknown => format!("cannot be determined from these files: {}", violation.refusal()),
    };
    let path = violation.path();
    Finding {
        severity,
        rule: violation.rule().to_owned(),
        spot: Spot::default(),
        subject,
        path: if path.segments().is_empty() {
            String::new()
        } else {
            path.to_string()
        },
        message,
        hint: violation.hint().map(str::to_owned),
    }
}

pub(super) fn subject(object: &Value) -> ObjectReference {
    let Identity {
        kind,
        namespace,
        name,
        ..
    } = Identity::of(object);
    ObjectReference {
        kind,
        namespace,
        name,
    }
}

/// Writes an operation of a patch the way people write fields.
fn addition(operation: &json_patch::PatchOperation) -> String {
    let (path, value) = match operation {
        json_patch::PatchOperation::Add(add) => (add.path.to_string(), add.value.to_string()),
        json_patch::PatchOperation::Replace(replace) => (replace.path.to_string(), replace.value.to_string()),
        json_patch::PatchOperation::Remove(_)
        | json_patch::PatchOperation::Move(_)
        | json_patch::PatchOperation::Copy(_)
        | json_patch::PatchOperation::Test(_) => return serde_json::to_string(operation).unwrap_or_default(),
    };
    let field = unescape(&path.trim_start_matches('/').replace('/', "."));
    format!("{field} = {value}")
}

fn rule(entry: &Entry) -> RuleDoc {
    RuleDoc {
        id: entry.id.to_owned(),
        summary: entry.summary.to_owned(),
        text: entry.text.to_owned(),
    }
}
