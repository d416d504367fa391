//! How the answer about an upgrade reads: for people and for programs.
//!
//! Decides layout; both forms say the same.

use serde_json::{Value, json};

use super::upgrade_answer::{UpgradeAnswer, UpgradeGroup};
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

/// Returns an answer for programs.
pub fn upgrade_json(answer: &UpgradeAnswer) -> Value {
    let groups = answer.groups.iter().map(|group| {
        json!({"reason": group.reason, "detail": group.detail, "act": group.act == Act::Needed, "fix": group.fix,
            "command": group.command, "clusters": group.clusters})
    });
    json!({
        "upgrade": answer.upgrade,
        "phase": answer.phase,
        "clusters": answer.clusters,
        "complete": answer.complete,
        "groups": groups.collect::<Vec<_>>(),
        "links": answer.links,
    })
}
