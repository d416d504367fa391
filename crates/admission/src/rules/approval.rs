//! Rules about RolloutApprovals. Page: `tests/rules/approval.md`.
//!
//! Decides which decisions can count. Who may decide is a right on the object; who has decided is recorded in `approval_record`.

use crate::subject::{Approval, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path, quoted};

const CONTENT: &str = "approval/content";
const TARGET: &str = "approval/target";

rules! { pub(crate) ON_APPROVALS of Approval {
    refuses CONTENT, CreateAndUpdate, content =>
        "A decision is about the content that waits.\n\n\
         `spec.decision.content` is the hash in `status.content`. If the change was edited in the meantime, the decision would be about a \
         content that does not wait any more. Refused; the message has the present hash. Check the change again, then decide.";
    refuses TARGET, CreateAndUpdate, target =>
        "A RolloutApproval is about one decision group or stage, and stays about it.\n\n\
         `spec.addon` and `spec.placement` identify the placement of an add-on, `spec.upgrade` identifies a cluster upgrade; an object has \
         either. None of them can be changed, and `spec.group` cannot either: a decision would then be about other clusters. Refused. \
         Tidegate creates an object for each group or stage that waits.";
} }

fn spec() -> Path {
    Path::root().key("spec")
}

fn content(subject: &Subject<'_, Approval>, findings: &mut Findings) {
    let body = &subject.body;
    let Some(given) = body.content else { return };
    let is_old = subject
        .old
        .as_ref()
        .is_some_and(|old| old.decision == body.decision);
    let Some(present) = body.present.filter(|present| *present != given && !is_old) else {
        return;
    };
    let detail = format!("is not the content that waits: {}", quoted(present));
    let fault = Fault::of_text(Class::Invalid, given, detail).hint("check the change again, then decide");
    findings.deny(fault.at(spec().key("decision").key("content"), CONTENT));
}

fn target(subject: &Subject<'_, Approval>, findings: &mut Findings) {
    let body = &subject.body;
    let Some(old) = &subject.old else {
        let has = |field: Option<&str>| field.is_some_and(|text| !text.is_empty());
        let parts = [has(body.addon), has(body.placement), has(body.upgrade)];
        if !matches!(parts, [true, true, false] | [false, false, true]) {
            let fault = Fault::bare(Class::Invalid, "must have addon and placement, or upgrade");
            findings.deny(fault.at(spec(), TARGET));
        }
        return;
    };
    for (key, is, was) in [
        ("upgrade", subject.body.upgrade, old.upgrade),
        ("addon", subject.body.addon, old.addon),
        ("placement", subject.body.placement, old.placement),
        ("group", subject.body.group, old.group),
    ] {
        if is != was {
            let fault = Fault::of_text(Class::Forbidden, is.unwrap_or_default(), "cannot be changed");
            findings.deny(fault.at(spec().key(key), TARGET));
        }
    }
}
