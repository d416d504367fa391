//! How an answer reads: for people and for programs.
//!
//! Decides layout; both forms carry the same chain.

use api::output::{OutputDocument, items_of};
use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use super::answer::{Answer, Chain, Grade, Group, Link};
use super::upgrade_text::UpgradeDiagnosis;
use crate::layout::{first_sorted, line};
use kubernetes::field::{Listing, counted};

/// The most clusters that are listed by name.
const MOST_NAMED: usize = 8;
const WIDEST_OBJECT: usize = 60;

/// Returns an answer for people; `one` when one cluster was asked about.
pub fn text(answer: &Answer, one: bool, listing: Listing) -> String {
    let mut out = String::new();
    if one {
        for chain in &answer.chains {
            put_chain(&mut out, answer, chain);
        }
        let is_ready = answer.chains.iter().all(Chain::is_ready);
        for group in &answer.groups {
            put_others(&mut out, group, is_ready);
        }
        return out;
    }
    line(&mut out, &headline(answer));
    for group in &answer.groups {
        put_group(&mut out, answer, group, listing);
        let chain = answer
            .chains
            .iter()
            .find(|chain| group.clusters.contains(&chain.cluster));
        if let Some(chain) = chain {
            put_links(&mut out, chain);
        }
        put_fix(&mut out, group);
    }
    out
}

fn headline(answer: &Answer) -> String {
    let (addon, ready, clusters) = (&answer.addon, answer.ready, counted(answer.clusters, "cluster"));
    if answer.leaving {
        return format!("{addon} is being deleted, and parts of it are left on {clusters}");
    }
    let waiting = match answer.waiting {
        0 => String::new(),
        1 => ", 1 is waiting".to_owned(),
        more => format!(", {more} are waiting"),
    };
    format!("{addon}: {ready} of {clusters} ready{waiting}")
}

fn put_chain(out: &mut String, answer: &Answer, chain: &Chain) {
    let since = chain
        .since
        .map_or_else(String::new, |since| format!(" for {}", ago(since, answer.at)));
    let state = match chain.grade {
        None | Some(Grade::Meant) if answer.is_stalled() => {
            format!("READY{since}, but the add-on is stalled")
        }
        None | Some(Grade::Meant) => format!("READY{since}"),
        Some(Grade::Fault) => format!("NOT READY{since}"),
        Some(Grade::WaitsForUser) => "WAITING".to_owned(),
        Some(Grade::Waits(until)) => format!("WAITING{}", ending(until, answer.at)),
        Some(Grade::Absent) => "not installed".to_owned(),
    };
    line(out, &format!("{} on {}: {state}", answer.addon, chain.cluster));
    put_links(out, chain);
    let Some((cause, grade)) = chain.cause.zip(chain.grade) else {
        return;
    };
    let label = match grade {
        Grade::Fault => "cause: ",
        Grade::WaitsForUser | Grade::Waits(_) | Grade::Absent | Grade::Meant => "why:   ",
    };
    line(out, &format!("{label}{}", chain.detail));
    if shows_fix(grade) {
        let doc = super::CAUSES.iter().find(|doc| doc.id == cause);
        line(out, &format!("fix:   {}", doc.map_or("", |doc| doc.fix)));
        line(out, &format!("       {}", chain.command));
    }
    line(out, &format!("code:  {cause} (tidegate explain {cause})"));
}

/// A wait that ends automatically needs no fix.
const fn shows_fix(grade: Grade) -> bool {
    !matches!(grade, Grade::Waits(_))
}

/// Returns until when a wait lasts, and how long that is.
fn ending(until: Option<Timestamp>, now: Timestamp) -> String {
    until.map_or_else(String::new, |until| {
        let left = ago(now, until);
        let second = Timestamp::from_second(until.as_second()).unwrap_or(until);
        let day = |at: Timestamp| at.as_second().div_euclid(86_400);
        let text = second.to_string();
        let time = text.split_once('T').filter(|_| day(until) == day(now));
        match time {
            Some((_, time)) => format!(" until {} UTC ({left})", time.trim_end_matches('Z')),
            None => format!(" until {text} ({left})"),
        }
    })
}

fn put_others(out: &mut String, group: &Group, is_ready: bool) {
    match group.clusters.len() {
        // There is no other fix.
        0 if is_ready => {
            line(
                out,
                &format!("cause: for the add-on as a whole: {}", group.detail),
            );
            line(out, &format!("fix:   {}", group.cause.fix));
            line(out, &format!("       {}", group.command));
            let id = group.cause.id;
            line(out, &format!("code:  {id} (tidegate explain {id})"));
        }
        0 => line(
            out,
            &format!(
                "also, for the add-on as a whole: {} [{}]",
                group.detail, group.cause.id
            ),
        ),
        1 => {}
        more => line(
            out,
            &format!(
                "{} the same cause",
                if more == 2 {
                    "1 other cluster has".to_owned()
                } else {
                    format!("{} other clusters have", more - 1)
                }
            ),
        ),
    }
}

fn put_group(out: &mut String, answer: &Answer, group: &Group, listing: Listing) {
    let who = if group.clusters.is_empty() {
        "the add-on".to_owned()
    } else {
        counted(group.clusters.len(), "cluster")
    };
    line(out, "");
    let state = match group.grade {
        Grade::Fault => String::new(),
        Grade::WaitsForUser => "waiting; ".to_owned(),
        Grade::Waits(until) => format!("waiting{}; ", ending(until, answer.at)),
        Grade::Absent => "not installed; ".to_owned(),
        Grade::Meant => "ready; ".to_owned(),
    };
    line(out, &format!("{who}: {state}{}", group.detail));
    if !group.clusters.is_empty() {
        let named = first_sorted(&group.clusters, listing.most(MOST_NAMED));
        line(out, &format!("  {named}"));
    }
}

fn put_fix(out: &mut String, group: &Group) {
    if shows_fix(group.grade) {
        line(out, &format!("  fix:  {}", group.cause.fix));
        line(out, &format!("        {}", group.command));
    }
    line(out, &format!("  code: {}", group.cause.id));
}

fn put_links(out: &mut String, chain: &Chain) {
    let widths = chain.links.iter().map(|link| link.object.chars().count());
    let width = widths
        .filter(|width| *width <= WIDEST_OBJECT)
        .max()
        .unwrap_or_default();
    for (number, link) in (1..).zip(&chain.links) {
        let stops = if link.stops { "   <- stops here" } else { "" };
        line(
            out,
            &format!(" {number:>2} {:width$}  {}{stops}", link.object, link.says),
        );
    }
}

/// Writes a length of time in its two largest units.
fn ago(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(since.as_second()).max(0);
    let units = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (name, length) in units {
        if rest >= length && parts.len() < 2 {
            parts.push(format!("{}{name}", rest / length));
            rest %= length;
        }
    }
    if parts.is_empty() {
        "0s".to_owned()
    } else {
        parts.join("")
    }
}

/// Why an add-on is not ready, for programs.
#[expect(
    clippy::struct_excessive_bools,
    reason = "fields of a document that do not depend on each other"
)]
#[derive(Debug, Serialize, JsonSchema)]
pub struct AddOnDiagnosis<'a> {
    /// The add-on.
    pub addon: &'a str,
    /// Time of the diagnosis.
    pub at: String,
    /// Whether it is ready on every cluster.
    pub ready: bool,
    /// Whether no user has to act.
    pub well: bool,
    /// Whether it is being deleted.
    pub leaving: bool,
    /// Numbers of clusters.
    pub clusters: DiagnosedClusters,
    /// Clusters by cause.
    pub causes: Vec<DiagnosedCause<'a>>,
    /// Clusters, each with the objects that were checked.
    pub chains: Vec<DiagnosedCluster<'a>>,
}

impl OutputDocument for AddOnDiagnosis<'_> {
    const KIND: &'static str = "AddOnDiagnosis";
}

/// Diagnoses of several add-ons and upgrades.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiagnosisList {
    /// Documents of the kinds `AddOnDiagnosis` and `UpgradeDiagnosis`.
    #[schemars(schema_with = "diagnoses")]
    pub items: Vec<Value>,
}

impl OutputDocument for DiagnosisList {
    const KIND: &'static str = "DiagnosisList";
}

fn diagnoses(generator: &mut SchemaGenerator) -> Schema {
    items_of(&[
        generator.subschema_for::<AddOnDiagnosis<'_>>(),
        generator.subschema_for::<UpgradeDiagnosis<'_>>(),
    ])
}

/// Numbers of clusters.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiagnosedClusters {
    /// Clusters that have or should have the add-on.
    pub total: usize,
    /// Clusters on which it is ready.
    pub ready: usize,
    /// Clusters that wait, without an error.
    pub waiting: usize,
}

/// Clusters that are not ready for one cause.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiagnosedCause<'a> {
    /// Identifier of the cause; `tidegate explain` describes it.
    pub code: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// What to do.
    pub fix: &'static str,
    /// A command that does it or shows more, or "".
    pub command: &'a str,
    /// `ready`, `not-ready`, `waits` or `not-installed`.
    pub state: &'static str,
    /// End of the waiting time, or null.
    pub until: Option<String>,
    /// The values of this case.
    pub detail: &'a str,
    /// The clusters.
    pub clusters: &'a [String],
}

/// One cluster, and the objects that were checked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiagnosedCluster<'a> {
    /// The cluster.
    pub cluster: &'a str,
    /// Whether the add-on is ready on it.
    pub ready: bool,
    /// `ready`, `not-ready`, `waits` or `not-installed`.
    pub state: &'static str,
    /// End of the waiting time, or null.
    pub until: Option<String>,
    /// A command that does it or shows more, or "".
    pub command: &'a str,
    /// Identifier of the cause, or null.
    pub code: Option<&'static str>,
    /// The values of this case.
    pub detail: &'a str,
    /// Since when, or null.
    pub since: Option<String>,
    /// The objects, in the order of the checks.
    pub links: &'a [Link],
}

/// Returns an answer for programs.
pub fn addon_diagnosis(answer: &Answer) -> AddOnDiagnosis<'_> {
    let causes = answer.groups.iter().map(|group| DiagnosedCause {
        code: group.cause.id,
        summary: group.cause.summary,
        fix: group.cause.fix,
        command: &group.command,
        state: state(Some(group.grade)),
        until: until(Some(group.grade)),
        detail: &group.detail,
        clusters: &group.clusters,
    });
    AddOnDiagnosis {
        addon: &answer.addon,
        at: answer.at.to_string(),
        ready: answer.is_ready(),
        well: answer.is_well(),
        leaving: answer.leaving,
        clusters: DiagnosedClusters {
            total: answer.clusters,
            ready: answer.ready,
            waiting: answer.waiting,
        },
        causes: causes.collect(),
        chains: answer.chains.iter().map(diagnosed_cluster).collect(),
    }
}

fn state(grade: Option<Grade>) -> &'static str {
    match grade {
        None | Some(Grade::Meant) => "ready",
        Some(Grade::Fault) => "not-ready",
        Some(Grade::WaitsForUser | Grade::Waits(_)) => "waits",
        Some(Grade::Absent) => "not-installed",
    }
}

fn until(grade: Option<Grade>) -> Option<String> {
    match grade {
        Some(Grade::Waits(until)) => until.map(|until| until.to_string()),
        None | Some(Grade::Fault | Grade::WaitsForUser | Grade::Absent | Grade::Meant) => None,
    }
}

fn diagnosed_cluster(chain: &Chain) -> DiagnosedCluster<'_> {
    DiagnosedCluster {
        cluster: &chain.cluster,
        ready: chain.is_ready(),
        state: state(chain.grade),
        until: until(chain.grade),
        command: &chain.command,
        code: chain.cause,
        detail: &chain.detail,
        since: chain.since.map(|since| since.to_string()),
        links: &chain.links,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_their_two_largest_units() {
        let at = |seconds: i64| Timestamp::from_second(seconds).expect("a time");
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (61, "1m1s"),
            (3600, "1h"),
            (90_061, "1d1h"),
            (-5, "0s"),
        ] {
            assert_eq!(ago(at(1_000_000), at(1_000_000 + seconds)), text);
        }
    }
}
