//! Rules about AddOnPolicies. Page: `tests/rules/policy.md`.
//!
//! Refuses policies that do not compile, because no part of them would be enforced. The module `policy` compiles them.

use serde_json::Value;

use crate::policy::{Loaded, Note, Origin, PolicyFault, PolicySet, Source, lint_metadata, lint_scope};
use crate::subject::{AddonPolicy, Subject, rules};
use crate::webhook_configurations::POLICY_RESOURCES;
use kubernetes::field::{Class, Fault, Findings, Path, Segment};

const COMPILE: &str = "policy/compile";
const NEVER_EVALUATED: &str = "policy/never-evaluated";
const ABSENT_METADATA: &str = "policy/absent-metadata";

/// Steps for each byte of a policy: compiling a text takes longer than reading it.
const STEPS_OF_A_BYTE: usize = 4;

rules! { pub(crate) ON_POLICIES of AddonPolicy {
    refuses COMPILE, CreateAndUpdate, compiles =>
        "An AddOnPolicy compiles.\n\n\
         Every expression is valid CEL and reads only declared variables and facts, and every schema, selector and exception \
         is valid. The webhook cannot enforce any part of a policy that does not compile. If such a policy reaches the hub in \
         another way, until it restarts, the webhook uses the last version that compiled. Refused, with every error and its \
         line and column in the expression. A change of metadata alone and a deletion are always allowed.";
    warns NEVER_EVALUATED, CreateAndUpdate, is_evaluated =>
        "An AddOnPolicy matches only resources that the webhook is called for.\n\n\
         The API server calls the webhook for add-ons, their configurations and ClusterUpgrades. A policy for other \
         resources, such as Deployments, is never evaluated. Warns; the warning points to the resource in the policy. Use a ValidatingAdmissionPolicy for other \
         resources.";
    warns ABSENT_METADATA, CreateAndUpdate, reads_metadata =>
        "An AddOnPolicy tests metadata that may be absent before it reads it.\n\n\
         Labels and annotations, for example, can be absent. If an expression reads an absent field, its evaluation fails, \
         and the policy then denies the object with `failurePolicy: Fail`, the default. Warns, as about a field of the \
         metadata that does not exist. `tidegate policy lint` also checks the fields of the spec.";
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
    warn(
        lint_scope(&loaded.set, &POLICY_RESOURCES),
        NEVER_EVALUATED,
        findings,
    );
}

fn reads_metadata(subject: &Subject<'_, AddonPolicy>, findings: &mut Findings) {
    let Some(loaded) = loaded(subject) else { return };
    warn(lint_metadata(&loaded.set), ABSENT_METADATA, findings);
}

fn warn(notes: Vec<Note>, rule: &'static str, findings: &mut Findings) {
    for note in notes {
        let fault = Fault::bare(Class::Invalid, words(&note.fault));
        findings.warn(fault.at(note.fault.path, rule));
    }
}

/// Compiles the policy on its own. Returns `None` if it is too long to be compiled during an admission request.
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

/// Whether a fault is in `spec` or at the root. The API server validates the name.
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
