//! Rules about the values of a ManagedClustersUpgrade. Page: `tests/rules/upgrade.md`.
//!
//! The parser (`model::upgrade`), which the planner uses as well, determines which values are valid.

use crate::subject::{Operations, Rule, Subject, Upgrade, rules};
use crate::upgrade_record::questions;
use api::names::annotations::PLACEMENT_ACCESS;
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use model::rule;

macro_rules! value_rules {
    ($($id:path: $doc:literal;)+) => {
        pub(crate) const ON_UPGRADES: &[Rule<Upgrade>] = &[$(Rule::refuses(
            $id,
            Operations::CreateAndUpdate,
            $doc,
            |subject, findings| deny_faults(subject, findings, $id),
        )),+];
    };
}

fn deny_faults(subject: &Subject<'_, Upgrade>, findings: &mut Findings, rule: &'static str) {
    let faults = subject.body.faults_of(rule);
    for fault in faults.each(subject.effort) {
        findings.deny(fault.clone());
    }
}

value_rules! {
    rule::UPGRADE_VERSION: "`clusterVersion.version` is a version of OpenShift.\n\n\
         `spec.clusterVersion.version` is a semantic version without a leading `v`, such as `4.12.0` or `4.15.0-rc.1`. \
         It is optional if `spec.clusterVersion.image` is set. The ClusterVersion on a cluster accepts any text, and \
         the cluster would then never be upgraded. Refused.";
    rule::UPGRADE_CHANNEL: "`clusterVersion.channel` is a channel that can contain the version.\n\n\
         A channel consists of lower case letters, digits and `-`, then a minor version, such as `stable-4.12`. A channel of a \
         lower minor version than `spec.clusterVersion.version` does not contain that release, and the cluster would \
         report it only after the upgrade has started. Refused.";
    rule::UPGRADE_UPSTREAM: "`clusterVersion.upstream` is an http or https URL.\n\n\
         `spec.clusterVersion.upstream` is the absolute URL of the update service, such as \
         `https://updates.example.com/graph`. If it is empty, each cluster keeps its own. A cluster cannot find any \
         release at another value. Refused.";
    rule::UPGRADE_IMAGE: "`clusterVersion.image` refers to a release by its digest.\n\n\
         A tag may refer to another release later, and clusters verify only the signatures of digests. \
         `spec.clusterVersion.image` must end in `@sha256:` and 64 hexadecimal digits. The `approverImage` of \
         `spec.ocpOperators` may have a tag. Refused.";
    rule::UPGRADE_SELECTOR: "The label selectors of an upgrade are valid.\n\n\
         `In` and `NotIn` have `values`; `Exists` and `DoesNotExist` have none. Keys and values are valid label keys \
         and values. The key `name` matches the name of a cluster that has no label `name`. The controllers cannot \
         select clusters with an invalid selector. Refused.";
    rule::UPGRADE_SELECTION: "An upgrade selects clusters with `placement` or `clusterSelector`.\n\n\
         Set `spec.placement`, `spec.clusterSelector`, or both; with both, the upgrade covers the clusters of either. \
         Each entry of `spec.placement` has a `name` and a `namespace`, and is listed once. Without a selection there \
         is no cluster to upgrade. Refused.";
    rule::UPGRADE_NOTHING: "An upgrade has a `clusterVersion` or selects operators.\n\n\
         Set `spec.clusterVersion`, or set `approveAllUpgrades` or `include` in `spec.ocpOperators`. Otherwise the \
         upgrade would change nothing on its clusters. Refused.";
    rule::UPGRADE_OPERATORS: "The operators of an upgrade are valid names of subscriptions.\n\n\
         `name` and `namespace` of an operator are those of its Subscription: lower case letters, digits, `-` and `.`. \
         A script on the cluster compares them, and would misread a comma or a space. Refused.";
    rule::UPGRADE_TIMEOUT: "The timeouts of an upgrade are valid durations.\n\n\
         `clusterUpgradeTimeout`, `operatorsUpgradeTimeout` and the `timeout` of an action are durations longer than \
         zero, such as `2h`, `90m` or `1h30m`. With another value, the controllers could not detect a cluster on which \
         the upgrade has failed. The `minSuccessTime` of a stage is a duration of zero or longer. Refused.";
    rule::ROLLOUT_PROFILE: "";
    rule::ROLLOUT_CHECKS: "";
    rule::UPGRADE_HOPS: "`clusterVersion.hops` are versions on the way to `clusterVersion.version`.\n\n\
         Each hop is a version of OpenShift, higher than the hop before it and lower than `spec.clusterVersion.version`. From one \
         version to the next, no minor version is skipped: a cluster rejects such an upgrade. Refused.";
    rule::UPGRADE_STAGES: "Each stage of an upgrade has a name of its own and a selector.\n\n\
         A cluster belongs to the first of `upgradeStrategy.stages` whose `clusterSelector` matches it. Conditions and commands \
         show the `name`, so two stages cannot have the same one. Refused.";
    rule::UPGRADE_POOLS: "`upgradeStrategy.waitForWorkerPools` are names of MachineConfigPools.\n\n\
         Each entry is the name of a MachineConfigPool on the clusters, such as `worker`, and is listed once. Refused.";
    rule::UPGRADE_CONCURRENCY: "`maxConcurrency` of an upgrade or a stage allows at least one cluster.\n\n\
         `maxConcurrency` is a whole number of 1 or more, or a percentage such as `25%`, which is rounded up. With zero, no \
         cluster would be upgraded. Refused.";
    rule::UPGRADE_FAILURES: "`upgradeStrategy.maxFailures` is a number of clusters or a percentage.\n\n\
         `maxFailures` is a whole number of 0 or more, or a percentage such as `10%`. The controllers stop an upgrade when \
         more clusters have failed. Any other value is refused.";
    rule::UPGRADE_WINDOW: "`upgradeStrategy.window` is a valid time window.\n\n\
         `cron` has five fields and matches at least one date, `duration` is longer than zero, and `timeZone` is a name from the time zone database such as `Europe/Paris`. If the window never opens, no cluster starts, and the \
         upgrade would be blocked until it is changed. Refused.";
    rule::UPGRADE_ACTION: "An action of an upgrade has manifests that fit into one ManifestWork.\n\n\
         `preUpgradeAction` and `postUpgradeAction` become a ManifestWork on each cluster. An action has at least one \
         manifest, and each manifest has `apiVersion`, `kind` and `metadata.name`. All manifests together must be below \
         the limit of a ManifestWork, because the hub rejects one of more than 500 KiB. Refused.";
}

const ACCESS: &str = "upgrade/placement-access";

rules! { pub(crate) ON_PLACEMENT_ACCESS of Upgrade {
    refuses ACCESS, CreateAndUpdate, access, reading &[("annotations", PLACEMENT_ACCESS)] =>
        "The author of an upgrade can read its placements in other namespaces.\n\n\
         An upgrade runs the author's manifests on every cluster that its placements select. The user who refers to a \
         placement in another namespace therefore needs the verb `get` on it. The webhook checks this with a \
         SubjectAccessReview, also in an update that changes the spec or the annotation `tidegate.io/placement-access`. \
         It records the result in this annotation, and no cluster starts without a valid record. Refused if the user lacks the permission, if the API server does not respond in time, or if there are more than ten such placements. In files and in \
         the audit there is no user to check, so the result is unknown.";
} }

fn access(subject: &Subject<'_, Upgrade>, findings: &mut Findings) {
    let before = subject.old.as_ref().map(|old| &old.asks);
    for (index, question) in questions(&subject.body.asks, before, subject.namespace) {
        let path = Path::parse("spec.placement").index(index);
        let place = format!("{}/{}", question.namespace, question.object.name);
        let (detail, hint) = match subject.facts.rights.word_about(&question) {
            Some(true) => continue,
            Some(false) => (
                format!("you are not allowed to read placement {}", quoted(&place)),
                format!(
                    "request the verb \"get\" on placements in namespace {}",
                    quoted(&question.namespace)
                ),
            ),
            None => (
                format!(
                    "the hub did not report in time whether you are allowed to read placement {}",
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
