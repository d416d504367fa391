//! Rules about policies of users. Page: `tests/rules/policy.md`.
//!
//! Decides which policies are refused: those that do not compile, because nothing of them would be in force. What compiles is decided
//! by `policy`.

use serde_json::Value;

use crate::policy::{Loaded, Origin, PolicyFault, PolicySet, Source, lint_scope};
use crate::subject::{AddonPolicy, Subject, rules};
use crate::webhook_configurations::POLICY_RESOURCES;
use kubernetes::field::{Class, Fault, Findings, Path, Segment};

const COMPILE: &str = "policy/compile";
const NEVER_EVALUATED: &str = "policy/never-evaluated";

/// Steps for each byte of a policy: to compile a text takes longer than to read it.
const STEPS_OF_A_BYTE: usize = 4;

rules! { pub(crate) ON_POLICIES of AddonPolicy {
    refuses COMPILE, CreateAndUpdate, compiles =>
        "A policy compiles.\n\n\
         Every expression of an AddOnPolicy is valid CEL that reads declared variables and facts, and every schema, selector and \
         exception can be read. Nothing of a policy that does not compile is in force; after an edit that does not compile the last \
         version that did stays in force until the next restart. Refused, with every fault and its line and column in the expression; \
         a change of nothing but metadata, and a deletion, pass.";
    warns NEVER_EVALUATED, CreateAndUpdate, is_evaluated =>
        "A policy is about resources that the webhook is called for.\n\n\
         The webhook is called for add-ons, their configurations and upgrades of clusters. A policy about other resources, such as \
         Deployments, is never evaluated: bind a ValidatingAdmissionPolicy to them instead. Warns, at the resource.";
} }

fn compiles(subject: &Subject<'_, AddonPolicy>, findings: &mut Findings) {
    let Some(loaded) = loaded(subject) else { return };
    let faults = loaded.reports.into_iter().flat_map(|report| report.faults);
    for fault in faults.filter(is_of_the_spec) {
        findings.deny(Fault::bare(Class::Invalid, words(&fault)).at(fault.path, COMPILE));
    }
}

fn is_evaluated(subject: &Subject<'_, AddonPolicy>, findings: &mut Findings) {
    let Some(loaded) = loaded(subject) else { return };
    for note in lint_scope(&loaded.set, &POLICY_RESOURCES) {
        let fault = Fault::bare(Class::Invalid, words(&note.fault));
        findings.warn(fault.at(note.fault.path, NEVER_EVALUATED));
    }
}

/// Compiles the policy alone; nothing where it is too long to be compiled while a client waits.
fn loaded(subject: &Subject<'_, AddonPolicy>) -> Option<Loaded> {
    let document: &Value = subject.body;
    let length = document.get("spec").map_or(0, |spec| spec.to_string().len());
    if !subject.effort.spend(length.saturating_mul(STEPS_OF_A_BYTE)) {
        return None;
    }
    let source = Source {
        origin: Origin::Hub,
        document: document.clone(),
    };
    Some(PolicySet::load(&[source], &[], &PolicySet::default()))
}

/// The name is the API server's business.
fn is_of_the_spec(fault: &PolicyFault) -> bool {
    let first = fault.path.segments().first();
    matches!(first, Some(Segment::Key(name)) if name == "spec") || fault.path == Path::root()
}

fn words(fault: &PolicyFault) -> String {
    match &fault.caret {
        Some(caret) => format!("{}:{}: {}", caret.line, caret.column, fault.message),
        None => fault.message.clone(),
    }
}
