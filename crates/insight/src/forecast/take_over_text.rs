//! How a take-over reads: for people and for programs.
//!
//! Decides layout; works that differ in the same field stand together, with one of them as the example.

use std::collections::{BTreeMap, BTreeSet};

use api::output::OutputDocument;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::difference::Difference;
use super::take_over::{Fate, Fates, TakeOver};
use crate::layout::line;
use kubernetes::field::{Listing, counted};

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
    for Change { works, what, sides } in works(&told.changed, |_| true) {
        let works = counted(works, "work");
        match sides {
            None => line(out, &format!("  {works} {what}")),
            Some((old, new)) => {
                let (old, new) = (shown(old, listing), shown(new, listing));
                line(out, &format!("  {works}  {what}: {old} -> {new}"));
            }
        }
    }
    if !told.namespaces.is_empty() {
        let clusters = counted(told.namespaces.len(), "cluster");
        line(
            out,
            &format!(
                "  {clusters}: INSTALL_NAMESPACE is spec.installNamespace of the ManagedClusterAddOn; \
                 OCM leaves it empty if no AddOnDeploymentConfig sets agentInstallNamespace"
            ),
        );
    }
    for (why, clusters) in reasons(&told.unrendered) {
        line(
            out,
            &format!("  no work can be rendered for {}: {why}", clusters.join(" ")),
        );
    }
    if !told.others.is_empty() {
        let each = told.others.iter().map(|(kind, count)| format!("{count} {kind}"));
        let each: Vec<String> = each.collect();
        line(out, &format!("  in addition to works: {}", each.join(", ")));
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

/// What happens to works: so many are new or deleted, and so many differ in a field, with both sides of the first of them.
pub(super) struct Change<'c> {
    pub(super) works: usize,
    pub(super) what: &'c str,
    pub(super) sides: Option<(Option<&'c Value>, Option<&'c Value>)>,
}

/// Returns what happens to works; of written ones, the fields that count.
pub(super) fn works(all: &Fates, counts: impl Fn(&Difference) -> bool) -> impl Iterator<Item = Change<'_>> {
    let mut fields: BTreeMap<&str, (usize, &Difference)> = BTreeMap::new();
    let (mut created, mut deleted) = (0_usize, 0_usize);
    for fate in all.values() {
        match fate {
            Fate::Created => created = created.saturating_add(1),
            Fate::Deleted => deleted = deleted.saturating_add(1),
            Fate::Written(differences) => {
                for one in differences.iter().filter(|one| counts(one)) {
                    let known = fields.entry(&one.path).or_insert((0, one));
                    known.0 = known.0.saturating_add(1);
                }
            }
        }
    }
    let whole = [(created, "new"), (deleted, "deleted")].into_iter();
    let whole = whole.filter(|(works, _)| *works > 0).map(|(works, what)| Change {
        works,
        what,
        sides: None,
    });
    whole.chain(fields.into_iter().map(|(what, (works, example))| Change {
        works,
        what,
        sides: Some((example.old.as_ref(), example.new.as_ref())),
    }))
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

/// A work that would change.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedWork<'a> {
    /// Its namespace: the cluster.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// `created`, `written` or `deleted`.
    pub fate: &'static str,
    /// The fields that differ, if it is written.
    pub differences: &'a [Difference],
}

/// Returns what happens to works, for programs.
pub(super) fn changed_works(all: &Fates) -> Vec<ChangedWork<'_>> {
    let each = all.iter().map(|((namespace, name), fate)| {
        let (fate, differences): (_, &[Difference]) = match fate {
            Fate::Created => ("created", &[]),
            Fate::Deleted => ("deleted", &[]),
            Fate::Written(differences) => ("written", differences),
        };
        ChangedWork {
            namespace,
            name,
            fate,
            differences,
        }
    });
    each.collect()
}

/// What taking over a hub would write.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TakeOverPlan<'a> {
    /// The add-ons.
    pub addons: Vec<TakenOver<'a>>,
    /// Number of works that would be written.
    pub works_written: usize,
}

impl OutputDocument for TakeOverPlan<'_> {
    const KIND: &'static str = "TakeOverPlan";
}

/// What taking over one add-on would write.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TakenOver<'a> {
    /// The add-on.
    pub addon: &'a str,
    /// Number of its works.
    pub works: usize,
    /// Number of works that would be written.
    pub written: usize,
    /// The works that would be written.
    pub changed: Vec<ChangedWork<'a>>,
    /// Clusters for which no work can be rendered; their works stay as they are.
    pub unrendered: Vec<Unrendered<'a>>,
    /// Clusters whose works are written because `INSTALL_NAMESPACE` has a value where OCM gives it none.
    pub install_namespace_of_instance: &'a BTreeSet<String>,
    /// Numbers of objects of other kinds that would be written.
    pub beside_works: &'a BTreeMap<&'static str, usize>,
}

/// A cluster for which no work can be rendered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Unrendered<'a> {
    /// The cluster.
    pub cluster: &'a str,
    /// Why.
    pub why: &'a str,
}

/// Returns what taking over would write, for programs.
pub fn take_over_plan(all: &[TakeOver]) -> TakeOverPlan<'_> {
    let addons = all.iter().map(|told| {
        let unrendered = told.unrendered.iter();
        TakenOver {
            addon: &told.addon,
            works: told.works,
            written: told.changed.len(),
            changed: changed_works(&told.changed),
            unrendered: unrendered
                .map(|(cluster, why)| Unrendered { cluster, why })
                .collect(),
            install_namespace_of_instance: &told.namespaces,
            beside_works: &told.others,
        }
    });
    TakeOverPlan {
        addons: addons.collect(),
        works_written: all.iter().map(|told| told.changed.len()).sum(),
    }
}
