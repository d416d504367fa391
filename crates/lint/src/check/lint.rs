//! What is wrong with policies, and what is probably not meant, each at its line and with a caret inside of its expression.
//!
//! Decides where a fault of a policy is in its file. What a fault is, and what compiles, is determined by the policy crate. Knows the
//! definitions that fields are held against.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::gather::{Item, Library, spot};
use super::metadata;
use super::policies::{COMPILE, Place};
use super::run::{File, beginning, located, subject};
use crate::report::{Checked, Finding, Report, Severity};
use crate::source::Mark;
use admission::POLICY_RESOURCES;
use admission::policy::{Loaded, Origin, PolicyFault, PolicySet, Source, is_former, is_policy};
use kubernetes::field::{Class, one_line};

/// Rule of what is probably not meant in a policy.
const LINT: &str = "policy/lint";

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Lint {
    /// Faults as errors, notes as warnings.
    pub report: Report,
    /// How many policies compile.
    pub compile: usize,
    /// The AddOnPolicies that Kubernetes has a form for.
    pub native: Vec<String>,
    /// How many of those that compile are of Kubernetes' own kinds.
    pub of_kubernetes: usize,
}

impl Lint {
    /// Tells whether a policy does not compile.
    pub fn is_broken(&self) -> bool {
        self.report.count(Severity::Error) > 0
    }

    /// Returns on one line how many policies compile, and which can be exported as native policies.
    pub fn summary(&self) -> String {
        let compile = match self.compile {
            1 => "1 policy compiles".to_owned(),
            count => format!("{count} policies compile"),
        };
        // A policy of Kubernetes' own kinds is native, and needs no other form.
        let native = match (self.native.is_empty(), self.of_kubernetes) {
            (true, 0) => "exportable with --native: none".to_owned(),
            (true, count) if count == self.compile => "already native".to_owned(),
            (true, count) => format!("{count} already native; exportable with --native: none"),
            (false, 0) => format!("exportable with --native: {}", one_line(&self.native.join(", "))),
            (false, count) => format!(
                "{count} already native; exportable with --native: {}",
                one_line(&self.native.join(", "))
            ),
        };
        format!("{compile}; {native}\n")
    }
}

/// A policy or a binding: its file, kind and name, and whether it is in the former group.
type Address = (String, &'static str, String, bool);

/// Looks over the policies of files; other documents are those that params may be found in.
pub fn lint(files: &[File], now: Option<Timestamp>) -> Lint {
    let library = Library::of(files);
    let items = library.documents();
    let (policies, others): (Vec<&Item<'_>>, Vec<&Item<'_>>) =
        items.iter().partition(|item| is_policy(&item.value));
    let objects: Vec<Value> = others.iter().map(|item| item.value.clone()).collect();
    let sources: Vec<Source> = policies.iter().map(|item| source_of(item)).collect();
    let Loaded { set, reports } = PolicySet::load(&sources, &objects, &PolicySet::default());
    let definitions = definitions();
    let schemas =
        |group: &str, resource: &str| definitions.get(&(group.to_owned(), resource.to_owned())).cloned();
    let (notes, native) = admission::policy::lint(&set, &schemas, &POLICY_RESOURCES, now);

    let mut report = Report {
        unreadable: library.unreadable(),
        files: files.len(),
        ..Report::default()
    };
    // Two of one name in one file come in the order of the file, and so do their reports.
    let mut standing: BTreeMap<Address, Vec<&Item<'_>>> = BTreeMap::new();
    for one in reports {
        let address = (one.origin.to_string(), one.kind, one.name, one.is_former);
        let twins = standing
            .entry(address.clone())
            .or_insert_with(|| of_address(&policies, &address));
        if twins.is_empty() {
            continue;
        }
        let item = twins.remove(0);
        report.checked.push(Checked {
            spot: spot(item.page, beginning(item)),
            subject: subject(&item.value),
            additions: Vec::new(),
        });
        let faults = one.faults.iter();
        report
            .findings
            .extend(faults.map(|fault| finding(Severity::Error, COMPILE, fault, item)));
    }
    for item in &policies {
        // kubectl sends an object without a namespace to no namespace, and a missing name is reported already.
        let found = metadata::faults(&item.value, item.kind).into_iter();
        let found = found.filter(|(_, fault)| {
            let path = fault.path().to_string();
            path != "metadata.namespace" && !(path == "metadata.name" && fault.class() == Class::Required)
        });
        report
            .findings
            .extend(found.map(|(severity, fault)| located(severity, &fault, item)));
    }
    for note in &notes {
        let address = (
            note.origin.to_string(),
            note.kind,
            note.policy.clone(),
            note.is_former,
        );
        if let Some(item) = of_address(&policies, &address).first() {
            report
                .findings
                .push(finding(Severity::Warning, LINT, &note.fault, item));
        }
    }
    report.sort();
    Lint {
        report,
        compile: set.len(),
        native,
        of_kubernetes: set.of_kubernetes(),
    }
}

fn source_of(item: &Item<'_>) -> Source {
    Source {
        origin: Origin::File(item.page.path().to_owned()),
        document: item.value.clone(),
    }
}

fn of_address<'i>(policies: &[&'i Item<'i>], address: &Address) -> Vec<&'i Item<'i>> {
    let (file, kind, name, former) = address;
    let is_it = |item: &&&Item<'_>| {
        let text = |pointer: &str| item.value.pointer(pointer).and_then(Value::as_str);
        item.page.path() == file
            && text("/kind") == Some(kind)
            && text("/metadata/name").unwrap_or_default() == name
            && is_former(&item.value) == *former
    };
    policies.iter().filter(is_it).copied().collect()
}

fn finding(severity: Severity, rule: &str, fault: &PolicyFault, item: &Item<'_>) -> Finding {
    let at = fault.caret.as_ref().map(|caret| Mark {
        line: caret.line,
        column: caret.column,
    });
    let shown = Place::of(item, &fault.path, at);
    Finding {
        severity,
        rule: rule.to_owned(),
        spot: spot(item.page, shown.span),
        subject: subject(&item.value),
        path: fault.path.to_string(),
        message: format!("{}{}", shown.lead, fault.message),
        hint: None,
    }
}

/// Returns the schemas of our kinds, by group and plural name.
fn definitions() -> BTreeMap<(String, String), Value> {
    let mut found = BTreeMap::new();
    for crd in api::crds() {
        let versions = crd.spec.versions.iter().filter(|version| version.storage);
        for version in versions {
            let schema = version
                .schema
                .as_ref()
                .and_then(|schema| schema.open_api_v3_schema.as_ref());
            if let Some(schema) = schema.and_then(|schema| serde_json::to_value(schema).ok()) {
                let key = (crd.spec.group.clone(), crd.spec.names.plural.clone());
                found.insert(key, schema);
            }
        }
    }
    found
}
