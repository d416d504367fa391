//! From a hub to the answer: the chains of all clusters, and the causes that they share.
//!
//! Decides which clusters an add-on concerns: those that have it, those that wait for it, and the one that is asked about.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::answer::{Answer, Chain, Group, Unknown};
use super::chain::Case;
use super::wait;
use crate::field::nearest;
use crate::offline::Hub;
use crate::plan;
use crate::snapshot::{Settings, Store};

/// Returns why an add-on is not where it should be, on one cluster or on all.
pub fn why(
    hub: &Hub,
    settings: Settings,
    (addon, cluster): (&str, Option<&str>),
    now: Timestamp,
) -> Result<Answer, Unknown> {
    let store = hub.store(settings);
    let view = store
        .view(addon)
        .filter(|_| store.addons().any(|name| **name == *addon));
    let view = view.ok_or_else(|| unknown_addon(&store, addon))?;
    let plan = plan::addon(&view, now);
    let case = Case {
        hub,
        view,
        waits: &plan.waits,
    };
    let is_strange = |cluster: &&str| view.cluster(cluster).is_none() && view.instance(cluster).is_none();
    if let Some(cluster) = cluster.filter(is_strange) {
        let known = view.clusters().map(|(name, _)| &**name);
        return Err(Unknown::Cluster {
            name: cluster.to_owned(),
            near: nearest(cluster, known).map(str::to_owned),
        });
    }
    Ok(answer(&case, cluster, now))
}

fn answer(case: &Case<'_>, asked: Option<&str>, now: Timestamp) -> Answer {
    let concerned = concerned(case);
    let mut groups: BTreeMap<(&'static str, String), (Group, Chain)> = BTreeMap::new();
    let mut ready = 0;
    let mut chains = Vec::new();
    for cluster in &concerned {
        let (chain, cause) = case.chain(cluster);
        if asked == Some(cluster.as_str()) {
            chains.push(chain.clone());
        }
        let Some(cause) = cause else {
            ready += 1;
            continue;
        };
        // Clusters share a cause, not their names.
        let detail = cause.detail.replace(cluster.as_str(), "<cluster>");
        let group = Group {
            cause: cause.doc,
            detail: detail.clone(),
            clusters: Vec::new(),
        };
        let (group, _) = groups.entry((cause.doc.id, detail)).or_insert((group, chain));
        group.clusters.push(cluster.clone());
    }
    let whole = case
        .waits
        .iter()
        .filter(|wait| wait.cluster.is_none())
        .map(wait::cause);
    let whole = whole.map(|cause| Group {
        cause: cause.doc,
        detail: cause.detail,
        clusters: Vec::new(),
    });
    let mut found: Vec<(Group, Chain)> = groups.into_values().collect();
    found.sort_by_key(|(group, _)| std::cmp::Reverse(group.clusters.len()));
    match asked {
        None => chains.extend(found.iter().map(|(_, chain)| chain.clone())),
        Some(cluster) if chains.is_empty() => chains.push(case.chain(cluster).0),
        Some(_) => {}
    }
    let causes: BTreeSet<&str> = chains.iter().filter_map(|chain| chain.cause).collect();
    let mut groups: Vec<Group> = whole.collect();
    groups.extend(found.into_iter().map(|(group, _)| group));
    if asked.is_some() {
        groups.retain(|group| {
            group
                .clusters
                .iter()
                .any(|cluster| Some(cluster.as_str()) == asked)
                || (group.clusters.is_empty() && !causes.is_empty())
        });
    }
    Answer {
        addon: case.view.addon.name.to_string(),
        at: now,
        clusters: concerned.len(),
        ready,
        groups,
        chains,
    }
}

fn concerned(case: &Case<'_>) -> BTreeSet<String> {
    let view = &case.view;
    let having = view.instances().map(|instance| instance.cluster.to_string());
    let waiting = case
        .waits
        .iter()
        .filter_map(|wait| wait.cluster.as_ref())
        .map(ToString::to_string);
    let mut concerned: BTreeSet<String> = having.chain(waiting).collect();
    for used in &view.addon.placements {
        let decisions = view.decisions(&used.namespace, &used.name);
        concerned.extend(decisions.flat_map(|decision| decision.clusters.iter().map(ToString::to_string)));
    }
    concerned
}

fn unknown_addon(store: &Store, addon: &str) -> Unknown {
    let near = nearest(addon, store.addons().map(|name| &**name));
    Unknown::Addon {
        name: addon.to_owned(),
        near: near.map(str::to_owned),
    }
}
