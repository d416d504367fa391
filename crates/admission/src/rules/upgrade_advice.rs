//! Advice about upgrades of clusters. Page: `tests/rules/upgrade.md`.
//!
//! Decides what is odd about an upgrade that has a meaning, against what is known of clusters and placements. Never refuses:
//! clusters and placements change before an upgrade comes to them, and the planner looks again then. Which sets are bound to a
//! namespace is not read here.

use std::collections::BTreeSet;

use crate::rules::reach::known;
use crate::rules::rollout_settings::{UNKNOWN_CHECK, UNKNOWN_PROFILE, no_such_check, no_such_profile};
use crate::subject::{Subject, Upgrade, rules};
use api::names::labels::CLUSTER_SET;
use kubernetes::field::{Class, Fault, Findings, Path, counted, quoted};
use model::upgrade::{ClusterSelector, OcpVersion, UpgradeSpec};
use store::{ClusterFacts, Kind, Name, ObjectKey};

const ANOTHER_RUN: &str = "upgrade/another-run";
const CHANNEL_AHEAD: &str = "upgrade/channel-ahead";
const NO_CANARIES: &str = "upgrade/no-canaries";
const EMPTY_STAGE: &str = "upgrade/empty-stage";
const CLAIMED: &str = "upgrade/claimed";
const AT_ODDS: &str = "upgrade/operators-at-odds";
const UNDER_WAY: &str = "upgrade/under-way";
const UNKNOWN_PLACEMENT: &str = "upgrade/unknown-placement";
const UNREACHABLE: &str = "upgrade/unreachable-version";
/// How many clusters are named.
const MOST_NAMED: usize = 5;

// Advice about upgrades.
rules! { pub(crate) ON_UPGRADES of Upgrade {
    warns ANOTHER_RUN, Update, another_run =>
        "The desired state of an upgrade does not change while clusters are being upgraded.\n\n\
         A change of the version, the operators or an action starts a new run of the upgrade, in which every cluster is \
         evaluated again. The run starts when the upgrades in progress have ended. Until then no further cluster starts. Warns \
         with the number of clusters that are being upgraded.";
    warns CHANNEL_AHEAD, CreateAndUpdate, channel_ahead =>
        "`clusterVersion.channel` is for the same minor version as `clusterVersion.version`.\n\n\
         A channel also contains the releases of the minor version before it, so a newer channel works. But the clusters \
         keep the channel after the upgrade, and are then offered the next minor version. Warns.";
    warns CLAIMED, CreateAndUpdate, claimed =>
        "A cluster is upgraded by one upgrade at a time.\n\n\
         If another upgrade has its ManifestWork on a selected cluster, the cluster waits (`Conflict`) until that upgrade has \
         ended there. The cluster may then have another version. A cluster whose upgrade timed out is managed by that \
         upgrade until the upgrade is deleted or retried. Warns with the clusters, and with the upgrade of each.";
    warns NO_CANARIES, CreateAndUpdate, no_canaries =>
        "`canaryClusters` matches at least one of the selected clusters.\n\n\
         If it matches none, the upgrade does not start, because the first failure would affect all clusters. Warns if every \
         placement of the upgrade has a complete decision.";
    warns EMPTY_STAGE, CreateAndUpdate, empty_stage =>
        "Each stage of an upgrade has clusters.\n\n\
         A cluster belongs to the canary clusters, or else to the first stage that selects it. A stage behind one with the same \
         selector, or behind one that selects all clusters, can never have a cluster. A stage without clusters is complete, and \
         the next one starts. Also warns if no selected cluster is in the stage now, if every placement of the upgrade has a \
         complete decision.";
    warns AT_ODDS, CreateAndUpdate, at_odds =>
        "An operator is either included or excluded, not both.\n\n\
         An operator that is in both lists is excluded. If `approveAllUpgrades` is true, `include` has no \
         effect. Warns.";
    warns UNDER_WAY, Delete, under_way =>
        "An upgrade is deleted only when none of its clusters is being upgraded.\n\n\
         The ManifestWorks of the upgrade are deleted with it, and its clusters are no longer monitored. A cluster that is \
         being upgraded continues, because OpenShift cannot return to the earlier version. Warns with the number of \
         clusters. To start no further clusters, set `spec.suspend`.";
    warns UNKNOWN_PLACEMENT, CreateAndUpdate, unknown_placement =>
        "The placements of an upgrade exist.\n\n\
         A placement that does not exist selects no cluster. If it is created later, its clusters are upgraded. Warns.";
    warns UNKNOWN_PROFILE, CreateAndUpdate, |subject, findings| {
        let profile = subject.body.spec.as_ref().and_then(|spec| spec.strategy.profile.as_deref());
        no_such_profile(subject.facts, subject.effort, profile, &spec().key("upgradeStrategy"), findings);
    } => "";
    warns UNKNOWN_CHECK, CreateAndUpdate, |subject, findings| {
        let stages = subject.body.spec.iter().flat_map(|spec| &spec.strategy.stages);
        for (index, stage) in stages.enumerate().take_while(|_| subject.effort.spend(1)) {
            let named = stage.checks.iter().flatten().map(|name| &**name);
            let path = spec().key("upgradeStrategy").key("stages").index(index);
            no_such_check(subject.facts, subject.effort, named, &path, findings);
        }
    } => "";
    warns UNREACHABLE, CreateAndUpdate, unreachable =>
        "Selected clusters can be upgraded to the version.\n\n\
         OpenShift does not downgrade and does not skip a minor version. A cluster with a higher version, or with a version \
         that is more than one minor version lower, never starts. The version of a cluster is its label \
         `openshiftVersion`, or else its claim `version.openshift.io`. Warns, and lists the clusters.";
} }

fn spec() -> Path {
    Path::root().key("spec")
}

fn another_run(subject: &Subject<'_, Upgrade>, findings: &mut Findings) {
    let Some(old) = &subject.old else {
        return;
    };
    if old.underway <= 0 || subject.effort.same(&old.asked, &subject.body.asked) {
        return;
    }
    let count = usize::try_from(old.underway).unwrap_or_default();
    let end = if count == 1 {
        "its upgrade has"
    } else {
        "their upgrades have"
    };
    let detail = format!(
        "{} still being upgraded to the previous target; the new run starts when {end} ended",
        are(count)
    );
    findings.warn(Fault::bare(Class::Invalid, detail).at(spec(), ANOTHER_RUN));
}

fn are(count: usize) -> String {
    let is = if count == 1 { "is" } else { "are" };
    format!("{} {is}", counted(count, "cluster"))
}

fn channel_ahead(subject: &Subject<'_, Upgrade>, findings: &mut Findings) {
    let target = subject.body.spec.as_ref().and_then(|spec| spec.target.as_ref());
    let Some((channel, version)) = target.and_then(|target| target.channel().zip(target.version())) else {
        return;
    };
    if channel.minor() <= version.minor() {
        return;
    }
    let detail = format!(
        "is for a later minor version than {version}: clusters are offered that minor version as soon as they have {version}"
    );
    let fault = Fault::of_text(Class::Invalid, channel.as_str(), detail);
    findings.warn(fault.at(spec().key("clusterVersion").key("channel"), CHANNEL_AHEAD));
}

fn at_odds(subject: &Subject<'_, Upgrade>, findings: &mut Findings) {
    let (body, effort) = (&subject.body, subject.effort);
    let path = spec().key("ocpOperators").key("include");
    let excluded: BTreeSet<(&str, &str)> = body
        .exclude
        .each(effort)
        .map(|one| (one.namespace.as_str(), one.name.as_str()))
        .collect();
    for (at, one) in body.include.each(effort).enumerate() {
        let detail = if body.approves_all {
            "has no effect: approveAllUpgrades approves all operators that are not excluded"
        } else if excluded.contains(&(one.namespace.as_str(), one.name.as_str())) {
            "is also in exclude, which takes precedence"
        } else {
            continue;
        };
        let fault = Fault::of_text(Class::Invalid, &one.name, detail);
        findings.warn(fault.at(path.index(at), AT_ODDS));
    }
}

fn under_way(subject: &Subject<'_, Upgrade>, findings: &mut Findings) {
    let count = usize::try_from(subject.body.underway).unwrap_or_default();
    if count == 0 {
        return;
    }
    let rest = if count == 1 {
        "its upgrade continues, but is"
    } else {
        "their upgrades continue, but are"
    };
    let detail = format!("{} being upgraded; {rest} no longer monitored", are(count));
    let fault = Fault::of_text(Class::Forbidden, subject.name, detail);
    let fault = fault.hint("to keep further clusters from starting, set spec.suspend instead");
    findings.warn(fault.at(Path::root().key("metadata").key("name"), UNDER_WAY));
}

fn unknown_placement(subject: &Subject<'_, Upgrade>, findings: &mut Findings) {
    let Some(asked) = &subject.body.spec else {
        return;
    };
    for one in asked.placements.iter().take_while(|_| subject.effort.spend(1)) {
        let found = subject.facts.placement(&one.namespace, &one.name);
        if found.is_some_and(|found| found.exists) || !subject.facts.knows(Kind::Placement) {
            continue;
        }
        let key = ObjectKey::new(Kind::Placement, one.namespace.as_str(), one.name.as_str());
        let path = spec().key("placement");
        if !subject.lacks(key, UNKNOWN_PLACEMENT, &path) {
            continue;
        }
        let place = format!("{}/{}", one.namespace, one.name);
        let fault = Fault::of_text(
            Class::NotFound,
            &place,
            "this Placement does not exist, so it selects no cluster",
        );
        findings.warn(fault.at(path, UNKNOWN_PLACEMENT));
    }
}

/// The clusters that an upgrade selects as far as it is known; nothing where a placement is not decided.
fn selected<'a>(
    subject: &'a Subject<'_, Upgrade>,
    asked: &UpgradeSpec,
) -> Option<Vec<(&'a Name, &'a ClusterFacts)>> {
    let (facts, effort) = (subject.facts, subject.effort);
    let mut names: BTreeSet<&Name> = BTreeSet::new();
    for one in asked.placements.iter().take_while(|_| effort.spend(1)) {
        let found = known(facts, (&one.namespace, &one.name))?;
        names.extend(found.clusters.iter().take_while(|_| effort.spend(1)));
    }
    if let Some(selector) = &asked.selector {
        let all = facts.clusters.iter().take_while(|_| effort.spend(1));
        names.extend(
            all.filter(|(name, cluster)| may_select(selector, name, cluster))
                .map(|(name, _)| name),
        );
    }
    let each = names.into_iter();
    Some(
        each.filter_map(|name| Some((name, facts.cluster(name)?)))
            .collect(),
    )
}

/// Sets that go by a selector of their own are not known here: only labels say that a cluster is in none of the sets.
fn may_select(selector: &ClusterSelector, name: &Name, cluster: &ClusterFacts) -> bool {
    let label = |key: &str| cluster.labels.get(key).map(|value| &**value);
    let set = label(CLUSTER_SET).unwrap_or("default");
    let sets = selector.sets();
    let is_in = sets.is_empty() || sets.contains(set) || sets.contains("global");
    is_in && selector.matches_by(name, label)
}

fn no_canaries(subject: &Subject<'_, Upgrade>, findings: &mut Findings) {
    let Some(asked) = &subject.body.spec else {
        return;
    };
    let Some(canary) = &asked.strategy.canary else {
        return;
    };
    let Some(all) = selected(subject, asked).filter(|all| !all.is_empty()) else {
        return;
    };
    let is_first = |(name, cluster): &(&Name, &ClusterFacts)| {
        canary.matches_by(name, |key| cluster.labels.get(key).map(|value| &**value))
    };
    if all.iter().any(is_first) {
        return;
    }
    let detail = format!(
        "matches none of the {} that the upgrade selects, so no cluster would start",
        counted(all.len(), "cluster")
    );
    let path = spec()
        .key("upgradeStrategy")
        .key("canaryClusters")
        .key("clusterSelector");
    findings.warn(Fault::bare(Class::Invalid, detail).at(path, NO_CANARIES));
}

fn empty_stage(subject: &Subject<'_, Upgrade>, findings: &mut Findings) {
    let Some(asked) = &subject.body.spec else {
        return;
    };
    let (stages, canary) = (&asked.strategy.stages, &asked.strategy.canary);
    if stages.is_empty() {
        return;
    }
    let all = selected(subject, asked).filter(|all| !all.is_empty());
    let mut left = all.unwrap_or_default();
    let is_known = !left.is_empty();
    let mut take = |selector: &ClusterSelector| {
        let before = left.len();
        left.retain(|(name, cluster)| !(subject.effort.spend(1) && may_select(selector, name, cluster)));
        left.len() < before
    };
    if let Some(canary) = canary {
        take(canary);
    }
    for (at, stage) in stages.iter().enumerate() {
        let has_clusters = take(&stage.selector);
        let mut earlier = stages.iter().take(at);
        let covered =
            earlier.find(|one| one.selector == ClusterSelector::default() || one.selector == stage.selector);
        let detail = match covered {
            Some(one) => format!(
                "the stage {} never has a cluster: all that it selects belong to the earlier stage {}",
                quoted(&stage.name),
                quoted(&one.name)
            ),
            None if is_known && !has_clusters => format!(
                "the stage {} has no cluster now: no selected cluster matches that is not a canary or in an earlier stage",
                quoted(&stage.name)
            ),
            None => continue,
        };
        let path = spec()
            .key("upgradeStrategy")
            .key("stages")
            .index(at)
            .key("clusterSelector");
        let fault = Fault::bare(Class::Invalid, detail);
        findings.warn(
            fault
                .hint("change the selector, or remove the stage")
                .at(path, EMPTY_STAGE),
        );
    }
}

fn claimed(subject: &Subject<'_, Upgrade>, findings: &mut Findings) {
    let Some(asked) = &subject.body.spec else {
        return;
    };
    if subject.facts.upgrading.is_empty() {
        return;
    }
    let this = (subject.namespace, subject.name);
    let all = selected(subject, asked).unwrap_or_default();
    let claimed: Vec<String> = all
        .into_iter()
        .filter_map(|(cluster, _)| {
            let mut owners = subject.facts.upgrading.get(cluster)?.iter();
            let (namespace, name) = owners.find(|(namespace, name)| (&**namespace, &**name) != this)?;
            Some(format!("{cluster} ({namespace}/{name})"))
        })
        .collect();
    if claimed.is_empty() {
        return;
    }
    let waits = if claimed.len() == 1 { "is" } else { "are" };
    let detail = format!(
        "{} {waits} waiting for another upgrade to finish: {}",
        counted(claimed.len(), "cluster"),
        named(&claimed)
    );
    findings.warn(Fault::bare(Class::Invalid, detail).at(spec(), CLAIMED));
}

fn unreachable(subject: &Subject<'_, Upgrade>, findings: &mut Findings) {
    let Some(asked) = &subject.body.spec else {
        return;
    };
    let Some((target, wanted)) = asked
        .target
        .as_ref()
        .and_then(|target| Some((target, target.version()?)))
    else {
        return;
    };
    let all = selected(subject, asked).unwrap_or_default();
    let (mut above, mut far) = (Vec::new(), Vec::new());
    for (name, cluster) in &all {
        let text = |label: &str, claim: &str| {
            let label = cluster.labels.get(label).filter(|text| !text.is_empty());
            label.or_else(|| cluster.claims.get(claim)).cloned()
        };
        let version = text("openshiftVersion", "version.openshift.io");
        let Some(has) = version.and_then(|text| OcpVersion::parse(&text).ok()) else {
            continue;
        };
        if has > *wanted {
            above.push(format!("{name} ({has})"));
        } else if target
            .first(Some(&has))
            .version()
            .and_then(|first| first.minors_above(&has))
            > Some(1)
        {
            far.push(format!("{name} ({has})"));
        }
    }
    let path = spec().key("clusterVersion").key("version");
    for (clusters, [one, many], why) in [
        (
            above,
            ["has", "have"],
            "a higher version, and OpenShift cannot be downgraded",
        ),
        (
            far,
            ["is", "are"],
            "more than one minor version below, and no minor version can be skipped",
        ),
    ] {
        if clusters.is_empty() {
            continue;
        }
        let (be, start) = if clusters.len() == 1 {
            (one, "its upgrade does not start")
        } else {
            (many, "their upgrades do not start")
        };
        let detail = format!(
            "{} {be} {why}; {start}: {}",
            counted(clusters.len(), "cluster"),
            named(&clusters)
        );
        let fault = Fault::of_text(Class::Invalid, &wanted.to_string(), detail);
        findings.warn(fault.at(path.clone(), UNREACHABLE));
    }
}

fn named(clusters: &[String]) -> String {
    let shown: Vec<&str> = clusters.iter().take(MOST_NAMED).map(String::as_str).collect();
    match clusters.len().saturating_sub(MOST_NAMED) {
        0 => shown.join(", "),
        more => format!(
            "{} and {}",
            shown.join(", "),
            quoted(&format!("{more} more")).trim_matches('"')
        ),
    }
}
