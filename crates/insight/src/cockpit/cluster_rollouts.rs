//! What one cluster has of every add-on and upgrade.
//!
//! Decides order and layout; the states are those of the pictures.

use std::sync::Arc;

use api::output::OutputDocument;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::cluster::ClusterView;
use super::find::Rollouts;
use super::line::{Line, Tone, between, padded};
use super::picture::{Picture, Target};
use super::stopwatch::Stopwatch;
use super::text::cluster_tone;
use kubernetes::field::{nearest, quoted};
use store::terms::OPT_OUT;
use store::{Name, Store};

/// A rollout on one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClusterRollout {
    /// The rollout.
    pub target: Target,
    /// Whether no user has to act.
    pub well: bool,
    /// The cluster in it.
    #[serde(flatten)]
    pub cluster: ClusterView,
}

/// All rollouts of one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRollouts {
    /// The cluster.
    pub cluster: String,
    /// Its rollouts: those that need an administrator first.
    pub items: Vec<ClusterRollout>,
    /// Add-ons that the cluster opts out of and does not have.
    pub opted_out: Vec<String>,
}

impl OutputDocument for ClusterRollouts {
    const KIND: &'static str = "ClusterRollouts";
}

/// There is no such cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hub has no cluster {}{hint}", quoted(.name))]
pub struct UnknownCluster {
    name: String,
    hint: String,
}

/// Returns what a cluster has.
///
/// # Errors
///
/// Fails if neither the hub nor a rollout has the cluster.
pub fn cluster_rollouts(
    store: &Store,
    name: &str,
    now: Timestamp,
) -> Result<ClusterRollouts, UnknownCluster> {
    let all = Rollouts::of(store).0;
    let pictures = all
        .iter()
        .filter_map(|target| Picture::of(store, target, &Stopwatch::default(), now).map(Arc::new));
    let pictures: Vec<Arc<Picture>> = pictures.collect();
    let mut found = of_cluster(&pictures, name);
    let opts_out = |addon: &&Name| {
        let view = store.view(addon);
        let cluster = view.as_ref().and_then(|view| view.cluster(name));
        cluster.is_some_and(|cluster| cluster.opts_out_of(addon))
    };
    let is_there = |addon: &&Name| {
        found
            .items
            .iter()
            .any(|one| one.target == Target::addon(&***addon))
    };
    let opted_out = store.addons().filter(opts_out).filter(|addon| !is_there(addon));
    found.opted_out = opted_out.map(ToString::to_string).collect();
    let known: Vec<&str> = store.cluster_names().map(|known| &**known).collect();
    if found.items.is_empty() && !known.contains(&name) {
        let hint = nearest(name, known.iter().copied());
        return Err(UnknownCluster {
            name: name.to_owned(),
            hint: hint.map_or_else(String::new, |near| format!("; did you mean {}?", quoted(near))),
        });
    }
    Ok(found)
}

/// Returns what a cluster has of the rollouts in these pictures.
pub fn of_cluster(pictures: &[Arc<Picture>], name: &str) -> ClusterRollouts {
    let each = pictures.iter().filter_map(|picture| {
        let mut clusters = picture.clusters.iter();
        let cluster = clusters.find(|cluster| cluster.name == name)?;
        Some(ClusterRollout {
            target: picture.target.clone(),
            well: is_well(cluster),
            cluster: cluster.clone(),
        })
    });
    let mut rollouts = ClusterRollouts {
        cluster: name.to_owned(),
        items: each.collect(),
        opted_out: Vec::new(),
    };
    rollouts.sort();
    rollouts
}

fn is_well(cluster: &ClusterView) -> bool {
    cluster.healthy && !cluster.state.is_trouble()
}

impl ClusterRollouts {
    /// Returns whether no user has to act.
    pub fn is_well(&self) -> bool {
        self.items.iter().all(|one| one.well)
    }

    /// Sorts them: those first for which a user has to act.
    pub(crate) fn sort(&mut self) {
        self.items.sort_by_key(|one| (one.well, one.cluster.state));
    }

    /// Returns them as a table, and the command that explains the first problem.
    pub fn lines(&self, width: usize, now: Timestamp) -> Vec<Line> {
        let opted_out = (!self.opted_out.is_empty()).then(|| {
            let names = self.opted_out.join(", ");
            Line::plain(format!(
                "{} opts out of {names}: annotation {OPT_OUT} of the ManagedCluster",
                self.cluster
            ))
        });
        if self.items.is_empty() {
            let none = format!("{}: no add-on and no cluster upgrade", self.cluster);
            return std::iter::once(Line::plain(none)).chain(opted_out).collect();
        }
        let names = self.items.iter().map(|one| one.target.told().chars().count());
        let names = names.max().unwrap_or_default().max(7);
        let title = format!(
            "{}  {}  {}  {}  {}",
            padded("ROLLOUT", names),
            padded("STATE", 10),
            padded("HEALTH", 9),
            padded("FOR", 7),
            "WHY"
        );
        let mut page = vec![Line::of(Tone::Faint, title)];
        page.extend(self.items.iter().map(|one| row(one, names, now).cut(width)));
        page.extend(opted_out);
        let first = self.items.iter().find(|one| !one.well);
        page.extend(first.map(|one| {
            let command = format!("tidegate why {} --cluster {}", one.target.told(), self.cluster);
            Line::of(Tone::Faint, "run: ").and(Tone::Plain, command)
        }));
        page
    }
}

fn row(one: &ClusterRollout, names: usize, now: Timestamp) -> Line {
    let cluster = &one.cluster;
    let (health, tone) = match (cluster.offline, is_well(cluster)) {
        (true, _) => ("offline", Tone::Bad),
        (false, true) => ("healthy", Tone::Good),
        (false, false) => ("unhealthy", Tone::Bad),
    };
    let since = cluster
        .since
        .map_or_else(|| "-".to_owned(), |since| between(since, now));
    let why = if cluster.message.is_empty() {
        &cluster.reason
    } else {
        &cluster.message
    };
    Line::of(Tone::Strong, padded(&one.target.told(), names))
        .and(Tone::Plain, "  ")
        .and(cluster_tone(cluster), padded(cluster.state.told(), 10))
        .and(Tone::Plain, "  ")
        .and(tone, padded(health, 9))
        .and(Tone::Plain, format!("  {}  {why}", padded(&since, 7)))
}
