//! How a take-over reads: for people and for programs.
//!
//! Decides layout; works that differ in the same field stand together, with one of them as the example.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::difference::Difference;
use super::take_over::{Fate, TakeOver};
use kubernetes::field::{Listing, counted, one_line};

/// The most letters of a value that are shown.
const MOST_SHOWN: usize = 80;

/// Returns what taking over would write, for people.
pub fn take_over_text(all: &[TakeOver], listing: Listing) -> String {
    let mut out = String::new();
    for one in all {
        tell(&mut out, one, listing);
    }
    let written: usize = all.iter().map(|one| one.changed.len()).sum();
    line(
        &mut out,
        &format!("{} would be written", counted(written, "work")),
    );
    out
}

fn tell(out: &mut String, told: &TakeOver, listing: Listing) {
    let written = told.changed.len();
    let of = counted(told.works, "work");
    line(
        out,
        &format!("{}: {written} of {of} would be written", told.addon),
    );
    let mut fields: BTreeMap<&str, (usize, &Difference)> = BTreeMap::new();
    let (mut created, mut deleted) = (0_usize, 0_usize);
    for fate in told.changed.values() {
        match fate {
            Fate::Created => created = created.saturating_add(1),
            Fate::Deleted => deleted = deleted.saturating_add(1),
            Fate::Written(differences) => {
                for one in differences {
                    let known = fields.entry(&one.path).or_insert((0, one));
                    known.0 = known.0.saturating_add(1);
                }
            }
        }
    }
    for (count, what) in [(created, "new"), (deleted, "deleted")] {
        if count > 0 {
            line(out, &format!("  {} {what}", counted(count, "work")));
        }
    }
    for (path, (count, example)) in fields {
        let (old, new) = (
            shown(example.old.as_ref(), listing),
            shown(example.new.as_ref(), listing),
        );
        line(
            out,
            &format!("  {}  {path}: {old} -> {new}", counted(count, "work")),
        );
    }
    if !told.namespaces.is_empty() {
        let clusters = counted(told.namespaces.len(), "cluster");
        line(
            out,
            &format!(
                "  {clusters}: INSTALL_NAMESPACE is spec.installNamespace of the ManagedClusterAddOn; \
                 OCM leaves it empty where no AddOnDeploymentConfig gives agentInstallNamespace"
            ),
        );
    }
    for (why, clusters) in reasons(&told.unrendered) {
        line(
            out,
            &format!("  no work can be made for {}: {why}", clusters.join(" ")),
        );
    }
    if !told.others.is_empty() {
        let each = told.others.iter().map(|(kind, count)| format!("{count} {kind}"));
        let each: Vec<String> = each.collect();
        line(out, &format!("  beside works: {}", each.join(", ")));
    }
    line(out, "");
}

fn reasons(unrendered: &BTreeMap<String, String>) -> BTreeMap<&str, Vec<&str>> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (cluster, why) in unrendered {
        reasons.entry(why).or_default().push(cluster);
    }
    reasons
}

pub(super) fn shown(value: Option<&Value>, listing: Listing) -> String {
    let Some(value) = value else {
        return "absent".to_owned();
    };
    let text = value.to_string();
    let short: String = text.chars().take(listing.most(MOST_SHOWN)).collect();
    if short.len() < text.len() {
        format!("{short}…")
    } else {
        short
    }
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{}", one_line(text).trim_end()).expect("writing to a string cannot fail");
}

impl Fate {
    /// Returns the fate in a word, and the differences of a work that is written.
    pub(super) fn parts(&self) -> (&'static str, Vec<Value>) {
        let (word, differences): (_, &[Difference]) = match self {
            Self::Created => ("created", &[]),
            Self::Deleted => ("deleted", &[]),
            Self::Written(differences) => ("written", differences),
        };
        let each = differences
            .iter()
            .map(|one| json!({"path": one.path, "old": one.old, "new": one.new}));
        (word, each.collect())
    }
}

/// Returns what taking over would write, for programs.
pub fn take_over_json(all: &[TakeOver]) -> Value {
    let addons = all.iter().map(|told| {
        let works = told.changed.iter().map(|((namespace, name), fate)| {
            let (word, differences) = fate.parts();
            json!({"namespace": namespace, "name": name, "fate": word, "differences": differences})
        });
        let unrendered = told
            .unrendered
            .iter()
            .map(|(cluster, why)| json!({"cluster": cluster, "why": why}));
        json!({
            "addon": told.addon,
            "works": told.works,
            "written": told.changed.len(),
            "changed": works.collect::<Vec<_>>(),
            "unrendered": unrendered.collect::<Vec<_>>(),
            "installNamespaceOfInstance": told.namespaces,
            "besideWorks": told.others,
        })
    });
    let written: usize = all.iter().map(|told| told.changed.len()).sum();
    json!({"addons": addons.collect::<Vec<_>>(), "worksWritten": written})
}
