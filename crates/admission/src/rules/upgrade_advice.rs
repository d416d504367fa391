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
        "The desired state of an upgrade does not change while clusters are being upgraded.\n\n\
         Another version, other operators or another action start a new run of the upgrade, in which every cluster is \
         evaluated again. It starts when the upgrades in progress have ended; until then no further cluster starts. Warns \
         with the number of clusters that are being upgraded.";
    warns CHANNEL_AHEAD, CreateAndUpdate, channel_ahead =>
        "The channel matches the version.\n\n\
         A channel also contains the releases of the minor version before it, so a newer channel works. The clusters keep it \
         after the upgrade, and are then offered the next minor version. Warns.";
    warns CLAIMED, CreateAndUpdate, claimed =>
        "A cluster is upgraded by one upgrade at a time.\n\n\
         If another upgrade has its ManifestWork on a selected cluster, the cluster waits (`Conflict`) until that upgrade has \
         ended there. It may then have another version. A cluster that took too long belongs to its upgrade until that is \
         deleted or tries again. Warns with the clusters, and with the upgrade that has each.";
    warns NO_CANARIES, CreateAndUpdate, no_canaries =>
        "`canaryClusters` matches at least one of the selected clusters.\n\n\
         If it matches none, the upgrade does not start, because the first failure would affect all clusters. Warns if every \
         placement of the upgrade has a complete decision.";
    warns AT_ODDS, CreateAndUpdate, at_odds =>
        "Operators are included or excluded, not both.\n\n\
         What is in `include` and in `exclude` is excluded. Where `approveAllUpgrades` is true `include` has no effect. Warns.";
    warns UNDER_WAY, Delete, under_way =>
        "An upgrade is deleted only when none of its clusters is being upgraded.\n\n\
         Its ManifestWorks are deleted with it, and its clusters are no longer monitored. An upgrade that a cluster has \
         started continues, because OpenShift cannot go back. Warns with the number of clusters. To start no further \
         clusters, set `spec.suspend`.";
    warns UNKNOWN_PLACEMENT, CreateAndUpdate, unknown_placement =>
        "The placements of an upgrade exist.\n\n\
         A placement that does not exist selects no cluster. Its clusters are upgraded when it is created. Warns.";
    warns UNREACHABLE, CreateAndUpdate, unreachable =>
        "Selected clusters can be upgraded to the version.\n\n\
         OpenShift does not downgrade and does not skip a minor version. A cluster with a higher version, or with a version \
         that is more than one minor version lower, is held and never starts. The version of a cluster is its label \
         `openshiftVersion`, or else its claim `version.openshift.io`. Warns with the clusters.";
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
            "this Placement does not exist: it selects no cluster",
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
        "selects none of the {} that the upgrade selects: no cluster would start",
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
