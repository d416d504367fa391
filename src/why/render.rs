//! How an answer reads: for people and for programs.
//!
//! Decides layout; both forms carry the same chain.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::answer::{Answer, Chain, Group};
use crate::field::{counted, one_line};

/// The most clusters that are listed by name.
const MOST_NAMED: usize = 8;
const WIDEST_OBJECT: usize = 60;

/// Returns an answer for people; `one` when one cluster was asked about.
pub fn text(answer: &Answer, one: bool) -> String {
    let mut out = String::new();
    if one {
        for chain in &answer.chains {
            put_chain(&mut out, answer, chain);
        }
        for group in &answer.groups {
            put_others(&mut out, group);
        }
        return out;
    }
    let (addon, ready, clusters) = (&answer.addon, answer.ready, answer.clusters);
    line(
        &mut out,
        &format!("{addon}: {ready} of {} ready", counted(clusters, "cluster")),
    );
    for group in &answer.groups {
        put_group(&mut out, group);
        let chain = answer
            .chains
            .iter()
            .find(|chain| group.clusters.contains(&chain.cluster));
        if let Some(chain) = chain {
            put_links(&mut out, chain);
        }
        put_cure(&mut out, group);
    }
    out
}

fn put_chain(out: &mut String, answer: &Answer, chain: &Chain) {
    let state = if chain.cause.is_some() {
        "NOT READY"
    } else {
        "READY"
    };
    let since = chain
        .since
        .map_or_else(String::new, |since| format!(" for {}", ago(since, answer.at)));
    line(
        out,
        &format!("{} on {}: {state}{since}", answer.addon, chain.cluster),
    );
    put_links(out, chain);
    if let Some(cause) = chain.cause {
        line(out, &format!("cause: {}", chain.detail));
        let doc = super::CAUSES.iter().find(|doc| doc.id == cause);
        line(out, &format!("fix:   {}", doc.map_or("", |doc| doc.fix)));
        line(out, &format!("code:  {cause} (tidegate explain {cause})"));
    }
}

fn put_others(out: &mut String, group: &Group) {
    match group.clusters.len() {
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

fn put_group(out: &mut String, group: &Group) {
    let who = if group.clusters.is_empty() {
        "the add-on".to_owned()
    } else {
        counted(group.clusters.len(), "cluster")
    };
    line(out, "");
    line(out, &format!("{who}: {}", group.detail));
    if !group.clusters.is_empty() {
        let named: Vec<&str> = group
            .clusters
            .iter()
            .take(MOST_NAMED)
            .map(String::as_str)
            .collect();
        let more = group.clusters.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        line(out, &format!("  {}{more}", named.join(" ")));
    }
}

fn put_cure(out: &mut String, group: &Group) {
    line(out, &format!("  fix:  {}", group.cause.fix));
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

fn line(out: &mut String, text: &str) {
    writeln!(out, "{}", one_line(text).trim_end()).expect("writing to a string cannot fail");
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

/// Returns an answer for programs.
pub fn json(answer: &Answer) -> Value {
    let groups = answer.groups.iter().map(|group| {
        json!({"code": group.cause.id, "summary": group.cause.summary, "fix": group.cause.fix,
            "detail": group.detail, "clusters": group.clusters})
    });
    json!({
        "addon": answer.addon,
        "at": answer.at.to_string(),
        "ready": answer.is_ready(),
        "clusters": {"total": answer.clusters, "ready": answer.ready},
        "causes": groups.collect::<Vec<_>>(),
        "chains": answer.chains.iter().map(chain).collect::<Vec<_>>(),
    })
}

fn chain(chain: &Chain) -> Value {
    let links = chain
        .links
        .iter()
        .map(|link| json!({"object": link.object, "says": link.says, "stops": link.stops}));
    json!({
        "cluster": chain.cluster,
        "ready": chain.cause.is_none(),
        "code": chain.cause,
        "detail": chain.detail,
        "since": chain.since.map(|since| since.to_string()),
        "links": links.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_their_two_largest_units() {
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
