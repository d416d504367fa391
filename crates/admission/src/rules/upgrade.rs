//! Rules about the values of a ManagedClustersUpgrade. Page: `tests/rules/upgrade.md`.
//!
//! Decides nothing of its own: what a value may be is the parser's (`model::upgrade`), which the planner reads with as well.

use crate::subject::{Operations, Rule, Subject, Upgrade, rules};
use crate::upgrade_record::questions;
use api::names::annotations::PLACEMENT_ACCESS;
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use model::rule;

macro_rules! told {
    ($($id:path: $doc:literal;)+) => {
        pub(crate) const ON_UPGRADES: &[Rule<Upgrade>] = &[$(Rule::refuses(
            $id,
            Operations::CreateAndUpdate,
            $doc,
            |subject, findings| tell(subject, findings, $id),
        )),+];
    };
}

fn tell(subject: &Subject<'_, Upgrade>, findings: &mut Findings, rule: &'static str) {
    let faults = subject.body.faults_of(rule);
    for fault in faults.each(subject.effort) {
        findings.deny(fault.clone());
    }
}

told! {
    rule::UPGRADE_VERSION: "An upgrade names a version of OpenShift.\n\n\
        `spec.clusterVersion.version` is a semantic version without a leading `v`, such as `4.12.0` or `4.15.0-rc.1`; it may be left out \
        where there is an image. A ClusterVersion takes any text, and the cluster then never moves. Refused.";
    rule::UPGRADE_CHANNEL: "The channel of an upgrade can have the version.\n\n\
        A channel is lower case letters, digits and `-`, then a minor version: `stable-4.12`. One of a lower minor version than the \
        version has no such release, and the cluster would say so only after it was told. Refused.";
    rule::UPGRADE_UPSTREAM: "The update service of an upgrade is an address.\n\n\
        `spec.clusterVersion.upstream` is an absolute address with http or https. Empty is absent: the cluster keeps its own. Refused.";
    rule::UPGRADE_IMAGE: "The image of a release is named by its digest.\n\n\
        A tag may name another image tomorrow, and clusters verify signatures of digests alone: `spec.clusterVersion.image` ends in \
        `@sha256:` and 64 digits. The image that approves operators may have a tag. Refused.";
    rule::UPGRADE_SELECTOR: "Selectors of an upgrade have a meaning.\n\n\
        `In` and `NotIn` have values, `Exists` and `DoesNotExist` have none; keys and values are those of labels. The key `name` means the \
        name of a cluster that has no such label. Refused.";
    rule::UPGRADE_SELECTION: "An upgrade says which clusters it is about.\n\n\
        By `spec.placement`, by `spec.clusterSelector` or by both, whose clusters are taken together; a placement has a name and a \
        namespace and stands once. Refused.";
    rule::UPGRADE_NOTHING: "An upgrade upgrades something.\n\n\
        There is a `spec.clusterVersion`, or `spec.ocpOperators` approves all upgrades or includes some. Refused.";
    rule::UPGRADE_OPERATORS: "Operators are named as their subscriptions are.\n\n\
        Name and namespace, both of lower case letters, digits, `-` and `.`: they are compared in a script on the cluster, where a comma \
        or a blank would mean something else. Refused.";
    rule::UPGRADE_TIMEOUT: "Times of an upgrade are durations.\n\n\
        `2h`, `90m` or `1h30m`, longer than nothing, and one that anybody lives to see. Refused.";
    rule::UPGRADE_CONCURRENCY: "An upgrade lets at least one cluster move.\n\n\
        `maxConcurrency` is a number from 1, or a percentage such as `25%`, which is rounded up. Refused.";
    rule::UPGRADE_FAILURES: "Tolerated failures are a number or a percentage.\n\n\
        `maxFailures` is a number from 0, or a percentage such as `10%`. Refused.";
    rule::UPGRADE_WINDOW: "The window of an upgrade opens and shuts.\n\n\
        `cron` has five fields and names a day that some month has, `duration` is longer than nothing, `timeZone` is a name of the time \
        zone database such as `Europe/Paris`. A window that never opens holds an upgrade indefinitely. Refused.";
    rule::UPGRADE_ACTION: "An action of an upgrade can be a work.\n\n\
        Each manifest has an apiVersion, a kind and a name, there is at least one, and all together fit into a ManifestWork, which hubs \
        refuse beyond 500 KiB. Refused.";
}

const ACCESS: &str = "upgrade/placement-access";

rules! { pub(crate) ON_PLACEMENT_ACCESS of Upgrade {
    refuses ACCESS, CreateAndUpdate, access, reading &[("annotations", PLACEMENT_ACCESS)] =>
        "The author of an upgrade may use its placements.\n\n\
         An upgrade runs manifests of its author on every cluster that its placements select. Who names a placement of another \
         namespace has to be allowed the verb `get` on it. The hub is asked (SubjectAccessReview); where it does not answer in time \
         the upgrade is refused. An update asks again when it changes the spec, or the annotation `tidegate.io/placement-access`, in \
         which the webhook records what it has found; no cluster starts without a valid record. At most ten such placements. A folder \
         of files and an audit have no author to ask about: there it is reported as unknown.";
} }

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
