//! How the answer about an upgrade reads: for people and for programs.
//!
//! Decides layout; both forms say the same.

use api::output::OutputDocument;
use schemars::JsonSchema;
use serde::Serialize;

use super::upgrade_answer::{UpgradeAnswer, UpgradeGroup, UpgradeLink};
use crate::layout::{first, line};
use api::reason::Act;
use kubernetes::field::Listing;

/// The most clusters that are listed by name.
const MOST_NAMED: usize = 8;

/// Returns an answer for people.
pub fn upgrade_text(answer: &UpgradeAnswer, listing: Listing) -> String {
    let mut out = String::new();
    let UpgradeAnswer {
        upgrade,
        phase,
        clusters,
        complete,
        ..
    } = answer;
    line(
        &mut out,
        &format!("ManagedClustersUpgrade {upgrade}: {phase}; {complete} of {clusters} clusters are upgraded"),
    );
    for link in &answer.links {
        line(&mut out, &format!("  {}: {}", link.object, link.says));
    }
    for group in &answer.groups {
        put(&mut out, group, listing);
    }
    if answer.groups.is_empty() {
        line(&mut out, "  nothing blocks it");
    }
    out
}

fn put(out: &mut String, group: &UpgradeGroup, listing: Listing) {
    let who = named(&group.clusters, listing);
    let detail = Some(group.detail.as_str()).filter(|detail| !detail.is_empty());
    let detail = detail.map_or_else(String::new, |detail| format!(": {detail}"));
    let mark = match group.act {
        Act::Needed => "!",
        Act::Waits => " ",
    };
    line(out, &format!("{mark} {who}: {}{detail}", group.reason));
    line(out, &format!("    {}", group.fix));
    line(out, &format!("    $ {}", group.command));
}

fn named(clusters: &[String], listing: Listing) -> String {
    if clusters.is_empty() {
        return "the upgrade".to_owned();
    }
    let clusters: Vec<&str> = clusters.iter().map(String::as_str).collect();
    first(&clusters, listing.most(MOST_NAMED))
}

/// Why an upgrade is not complete, for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UpgradeDiagnosis<'a> {
    /// The ManagedClustersUpgrade, as `namespace/name`.
    pub upgrade: &'a str,
    /// The phase.
    pub phase: &'a str,
    /// Number of clusters.
    pub clusters: usize,
    /// Number of clusters that are complete.
    pub complete: usize,
    /// Clusters by reason.
    pub groups: Vec<DiagnosedUpgrades<'a>>,
    /// The objects that were checked.
    pub links: &'a [UpgradeLink],
}

impl OutputDocument for UpgradeDiagnosis<'_> {
    const KIND: &'static str = "UpgradeDiagnosis";
}

/// Clusters that are not complete for one reason.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiagnosedUpgrades<'a> {
    /// The reason.
    pub reason: &'a str,
    /// The values of this case.
    pub detail: &'a str,
    /// Whether a user has to act.
    pub act: bool,
    /// What to do.
    pub fix: &'static str,
    /// A command that does it or shows more.
    pub command: &'a str,
    /// The clusters; none if the reason concerns the upgrade as a whole.
    pub clusters: &'a [String],
}

/// Returns an answer for programs.
pub fn upgrade_diagnosis(answer: &UpgradeAnswer) -> UpgradeDiagnosis<'_> {
    let groups = answer.groups.iter().map(|group| DiagnosedUpgrades {
        reason: &group.reason,
        detail: &group.detail,
        act: group.act == Act::Needed,
        fix: group.fix,
        command: &group.command,
        clusters: &group.clusters,
    });
    UpgradeDiagnosis {
        upgrade: &answer.upgrade,
        phase: &answer.phase,
        clusters: answer.clusters,
        complete: answer.complete,
        groups: groups.collect(),
        links: &answer.links,
    }
}
