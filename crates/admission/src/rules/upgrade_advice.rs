//! Advice about upgrades of clusters. Page: `tests/rules/upgrade.md`.
//!
//! Decides what is odd about an upgrade that has a meaning, against what is known of clusters and placements. Never refuses:
//! clusters and placements change before an upgrade comes to them, and the planner looks again then. Which sets are bound to a
//! namespace is not read here.

use std::collections::BTreeSet;

use crate::rules::reach::known;
use crate::subject::{Subject, Upgrade, rules};
use api::names::labels::CLUSTER_SET;
use kubernetes::field::{Class, Fault, Findings, Path, counted, quoted};
use model::upgrade::{ClusterSelector, OcpVersion, UpgradeSpec};
use store::{ClusterFacts, Kind, Name, ObjectKey};

const ANOTHER_RUN: &str = "upgrade/another-run";
const CHANNEL_AHEAD: &str = "upgrade/channel-ahead";
const NO_CANARIES: &str = "upgrade/no-canaries";
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
        "What clusters are asked for stays while they are on their way.\n\n\
         Another version, other operators or another action begin another run of the upgrade, in which every cluster is looked at \
         again. It begins when those who are on their way have ended; until then nobody starts. Warns with their number.";
    warns CHANNEL_AHEAD, CreateAndUpdate, channel_ahead =>
        "The channel is that of the version.\n\n\
         A channel carries the releases of the minor version before it as well, so that a channel ahead of the version works. It \
         stays on the clusters, which are then offered the next minor version. Warns.";
    warns CLAIMED, CreateAndUpdate, claimed =>
        "A cluster is upgraded by one upgrade at a time.\n\n\
         A selected cluster on which another upgrade has its work waits (`Conflict`) until that one has ended there, and may have \
         another version then. One that took too long is looked at until its upgrade is deleted or tries again. Warns with the \
         clusters, and with the upgrade that has each.";
    warns NO_CANARIES, CreateAndUpdate, no_canaries =>
        "One of the selected clusters goes first where some should.\n\n\
         `canaryClusters` chooses from the clusters that the upgrade selects. Where it finds none nobody starts, because the first \
         failure would be met by all. Warns, where every placement of the upgrade is decided.";
    warns AT_ODDS, CreateAndUpdate, at_odds =>
        "Operators are included or excluded, not both.\n\n\
         What is in `include` and in `exclude` is excluded. Where `approveAllUpgrades` is true `include` has no effect. Warns.";
    warns UNDER_WAY, Delete, under_way =>
        "An upgrade is deleted when none of its clusters is being upgraded.\n\n\
         Its works go with it, and nobody looks at its clusters any more. What a cluster has begun it goes on with: OpenShift has no \
         way back. Warns with the number of clusters. `spec.suspend` lets nothing new start.";
    warns UNKNOWN_PLACEMENT, CreateAndUpdate, unknown_placement =>
        "The placements of an upgrade exist.\n\n\
         One that does not exist selects nobody; its clusters are upgraded when it comes. Warns.";
    warns UNREACHABLE, CreateAndUpdate, unreachable =>
        "Selected clusters can go to the version.\n\n\
         OpenShift goes up, and leaves out no minor version. A cluster with a higher version, or more than one minor version below, \
         is held and never starts. Versions are those of the label `openshiftVersion`, else of the claim `version.openshift.io`. \
         Warns with the clusters.";
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
    let detail = format!(
        "{} on the way to what was asked before: another run begins when they have ended",
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
        "leads beyond {version}: clusters are offered the next minor version as soon as they have this one"
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
            "has no effect: approveAllUpgrades approves all that is not excluded"
        } else if excluded.contains(&(one.namespace.as_str(), one.name.as_str())) {
            "is in exclude as well, and is excluded"
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
    let detail = format!("{} on the way, goes on, and is looked at no more", are(count));
    let fault = Fault::of_text(Class::Forbidden, subject.name, detail);
    let fault = fault.hint("spec.suspend lets nothing new start");
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
            "there is no such Placement: it selects nobody",
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
        "selects none of the {} that the upgrade selects: nobody would start",
        counted(all.len(), "cluster")
    );
    let path = spec()
        .key("upgradeStrategy")
        .key("canaryClusters")
        .key("clusterSelector");
    findings.warn(Fault::bare(Class::Invalid, detail).at(path, NO_CANARIES));
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
    let is = if claimed.len() == 1 { "is" } else { "are" };
    let detail = format!(
        "{} {is} with another upgrade, and {} until that has ended there",
        named(&claimed),
        if claimed.len() == 1 { "waits" } else { "wait" }
    );
    findings.warn(Fault::bare(Class::Invalid, detail).at(spec(), CLAIMED));
}

fn unreachable(subject: &Subject<'_, Upgrade>, findings: &mut Findings) {
    let Some(asked) = &subject.body.spec else {
        return;
    };
    let Some(wanted) = asked.target.as_ref().and_then(|target| target.version()) else {
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
        } else if wanted.minors_above(&has).is_some_and(|minors| minors > 1) {
            far.push(format!("{name} ({has})"));
        }
    }
    let path = spec().key("clusterVersion").key("version");
    for (clusters, why) in [
        (above, "have a higher version, and there is no way back"),
        (
            far,
            "are more than one minor version below, and none can be left out",
        ),
    ] {
        if clusters.is_empty() {
            continue;
        }
        let detail = format!("{} {why}: they are held", named(&clusters));
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
