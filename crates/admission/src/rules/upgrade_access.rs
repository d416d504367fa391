//! The rule about placements of other namespaces in a ManagedClustersUpgrade. Page: `tests/rules/upgrade.md`.
//!
//! Decides when the author has to be allowed to read a placement. No rule sees who the author is: the question goes to the hub, and the
//! answer comes back among the facts.

use crate::subject::{Operations, Rule, Subject, Upgrade};
use crate::upgrade_record::questions;
use api::names::annotations::PLACEMENT_ACCESS;
use kubernetes::field::{Class, Fault, Findings, Path, quoted};

const ACCESS: &str = "upgrade/placement-access";

/// Rules of upgrades.
pub(crate) const ON_UPGRADES: &[Rule<Upgrade>] = &[Rule::refuses(ACCESS, Operations::CreateAndUpdate, "The author of an upgrade may use its placements.\n\n\
          An upgrade runs manifests of its author on every cluster that its placements select. Who names a placement of another \
          namespace has to be allowed the verb `get` on it. The hub is asked (SubjectAccessReview); where it does not answer in time \
          the upgrade is refused. An update asks again when it changes the spec, or the annotation `tidegate.io/placement-access`, in \
          which the webhook records what it has found; no cluster starts without a valid record. At most ten such placements. A folder \
          of files and an audit have no author to ask about: there it is reported as unknown.", access).reading(&[("annotations", PLACEMENT_ACCESS)])];

fn access(subject: &Subject<'_, Upgrade>, findings: &mut Findings) {
    let before = subject.old.as_ref().map(|old| &old.asks);
    for (index, question) in questions(&subject.body.asks, before, subject.namespace) {
        let path = Path::parse("spec.placement").index(index);
        let place = format!("{}/{}", question.namespace, question.object.name);
        let (detail, hint) = match subject.facts.rights.word_about(&question) {
            Some(true) => continue,
            Some(false) => (
                format!("you may not use placement {}", quoted(&place)),
                format!(
                    "ask for the verb \"get\" on placements in namespace {}",
                    quoted(&question.namespace)
                ),
            ),
            None => (
                format!(
                    "the hub has not said whether you may use placement {}",
                    quoted(&place)
                ),
                "try again".to_owned(),
            ),
        };
        subject.doubts.ask(ACCESS, &path, question);
        let fault = Fault::bare(Class::Forbidden, detail);
        findings.deny(fault.hint(hint).at(path, ACCESS));
    }
}
