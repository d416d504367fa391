//! Rules about approvals of changes: the annotations that ask for them and give them. Page: `tests/rules/approval.md`.
//!
//! Decides which have no meaning, by the parser that the planner uses as well, and which are about nothing. Never decides who may approve:
//! that is a right on the ClusterManagementAddOn, and a matter of policies.

use crate::subject::{Addon, Subject, rules};
use kubernetes::field::Findings;
use model::Approvals;
use store::terms;

const APPROVAL: &str = "rollout/approved";

rules! { pub(crate) ON_ADDONS of Addon {
    refuses APPROVAL, CreateAndUpdate, meaning =>
        "The annotation with approvals is valid.\n\n\
         `tidegate.io/approved` lists approvals as `<namespace>/<placement>/<group>=<hash>`, with the whole hash of 32 digits that the \
         waiting clusters and `tidegate rollout status` show. Any other value would approve nothing. Refused.";
} }

fn meaning(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let Some(annotations) = &subject.body.annotations else {
        return;
    };
    let text = annotations
        .text(terms::APPROVED)
        .filter(|text| subject.effort.read(text));
    for fault in text
        .and_then(|text| Approvals::parse(text).err())
        .into_iter()
        .flatten()
    {
        findings.deny(fault.at(annotations.path.entry(terms::APPROVED), APPROVAL));
    }
}
