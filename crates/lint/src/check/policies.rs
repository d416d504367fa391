//! Policies among the files, and those of the hub that the files will be applied to.
//!
//! Decides which of them are in force for what is checked: all that compile, because one sync brings everything together. One of
//! ours that does not compile is a fault of the files; one of Kubernetes' kinds may be right for an API server that can do more.

use serde_json::Value;

use super::gather::{Item, spot};
use super::run::subject;
use crate::report::{Finding, Severity};
use crate::source::{Aim, Mark, Span, place, text_position};
use admission::{PolicyTrouble, Rulebook, is_former, is_policy};
use api::names::OWN_GROUP;
use api::v1alpha1::{GROUP, VERSION};
use insight::offline::Hub;
use kubernetes::field::Path;

/// Rule of a policy that does not compile.
pub(super) const COMPILE: &str = "policy/compile";
/// Rule of a policy in the group that the kind had before.
const FORMER: &str = "policy/former-group";
/// Our own kind; what the others may say is decided by an API server.
const OURS: &str = "AddOnPolicy";

/// Returns what the gate will decide by, and what is wrong with the policies of the files.
pub(super) fn in_force(rulebook: &Rulebook, hub: &Hub, items: &[Item<'_>]) -> (Rulebook, Vec<Finding>) {
    let foreign = |value: &Value| is_policy(value) && value.get("kind").and_then(Value::as_str) != Some(OURS);
    let upstream = items
        .iter()
        .map(|item| &item.value)
        .filter(|value| foreign(value));
    let documents: Vec<Value> = hub.policies().chain(upstream).cloned().collect();
    if documents.is_empty() {
        return (rulebook.clone(), Vec::new());
    }
    let objects: Vec<Value> = items.iter().map(|item| item.value.clone()).collect();
    let (rulebook, troubles) = rulebook.with_policies(&documents, &objects);
    let told = troubles.iter().filter_map(|trouble| finding(trouble, items));
    let former = items.iter().filter(|item| is_former(&item.value)).map(former);
    (rulebook, told.chain(former).collect())
}

/// It is in force until the next release, which will not know the kind any more and look at nothing that it wants.
fn former(item: &Item<'_>) -> Finding {
    let path = Path::parse("apiVersion");
    Finding {
        severity: Severity::Warning,
        rule: FORMER.to_owned(),
        spot: spot(item.page, place(item.node, &path, Aim::Value)),
        subject: subject(&item.value),
        path: path.to_string(),
        message: format!(
            "{GROUP} is deprecated and is supported for one more release; write {OWN_GROUP}/{VERSION}"
        ),
        hint: None,
    }
}

/// Tells whether a finding says that a policy of ours does not compile.
pub(super) fn is_broken(finding: &Finding) -> bool {
    finding.rule == COMPILE && finding.severity == Severity::Error
}

/// Errors of a policy of the hub are reported in its status on the hub.
fn finding(trouble: &PolicyTrouble, items: &[Item<'_>]) -> Option<Finding> {
    let is_meant = |item: &&Item<'_>| {
        let text = |pointer: &str| item.value.pointer(pointer).and_then(Value::as_str);
        text("/kind") == Some(trouble.kind) && text("/metadata/name") == Some(&*trouble.name)
    };
    // Of two documents of one name the last one is applied last.
    let item = items.iter().rev().find(is_meant)?;
    let (severity, before) = if trouble.kind == OURS {
        (Severity::Error, "")
    } else {
        (Severity::Unknown, "this policy cannot be evaluated here: ")
    };
    let at = trouble.letter.map(|(line, column)| Mark { line, column });
    let shown = Place::of(item, &trouble.path, at);
    let words = match twin(item, items).filter(|_| trouble.words == TAKEN) {
        Some(twin) => format!("{} already has a policy of this name", twin.page.path()),
        None => trouble.words.clone(),
    };
    Some(Finding {
        severity,
        rule: COMPILE.to_owned(),
        spot: spot(item.page, shown.span),
        subject: subject(&item.value),
        path: trouble.path.to_string(),
        message: format!("{before}{}{words}", shown.lead),
        hint: None,
    })
}

/// What is reported where the hub, to which the files are applied, has two policies of one name.
const TAKEN: &str = "the hub already has a policy of this name";

/// Returns another document of the files with a policy of the same name.
fn twin<'i, 'a>(item: &Item<'_>, items: &'i [Item<'a>]) -> Option<&'i Item<'a>> {
    let name = |item: &Item<'_>| item.value.pointer("/metadata/name").cloned();
    let mut others = items.iter().filter(|other| !std::ptr::eq(other.node, item.node));
    others.find(|other| is_policy(&other.value) && name(other) == name(item))
}

/// Where a fault of a policy is shown.
pub(super) struct Place {
    pub(super) span: Span,
    /// The line and the column in the expression, when its file does not write it letter by letter.
    pub(super) lead: String,
}

impl Place {
    /// Finds the place of a letter of the expression at a path, or else of what stands there.
    pub(super) fn of(item: &Item<'_>, path: &Path, at: Option<Mark>) -> Self {
        let whole = place(item.node, path, Aim::Value);
        let Some(at) = at else {
            return Self {
                span: whole,
                lead: String::new(),
            };
        };
        match text_position(item.node, path, at, item.page.lines()) {
            Some(span) => Self {
                span,
                lead: String::new(),
            },
            None => Self {
                span: whole,
                lead: format!("{}:{}: ", at.line, at.column),
            },
        }
    }
}
