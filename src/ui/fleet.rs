//! The fleet: all rollouts by all clusters, and one cluster with all its rollouts.
//!
//! Arranges what the pictures have, as far as a user may see it. Clusters that need attention come first. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use insight::cockpit::{ClusterState, ClusterView, Picture, Target, natural_order};
use serde_json::{Value, json};

/// Returns a row for each cluster, with a cell for each rollout.
pub(super) fn matrix(seen: &[Arc<Picture>]) -> Value {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for (column, picture) in seen.iter().enumerate() {
        for cluster in &picture.clusters {
            let row = rows.entry(&cluster.name).or_insert_with(|| Row {
                attention: cluster.attention(),
                cells: vec![String::new(); seen.len()],
            });
            row.attention = row.attention.min(cluster.attention());
            if let Some(slot) = row.cells.get_mut(column) {
                *slot = cell(cluster);
            }
        }
    }
    let mut rows: Vec<(&str, Row)> = rows.into_iter().collect();
    rows.sort_by(|(one, first), (other, second)| {
        first
            .rank()
            .cmp(&second.rank())
            .then_with(|| natural_order(one, other))
    });
    let rows: Vec<Value> = rows
        .into_iter()
        .map(|(name, row)| json!({"name": name, "cells": row.cells, "attention": !row.attention.0}))
        .collect();
    let rollouts: Vec<Value> = seen
        .iter()
        .map(|one| json!({"target": one.target, "phase": one.phase, "health": one.health}))
        .collect();
    json!({"rollouts": rollouts, "clusters": rows})
}

/// A cluster with all its rollouts.
struct Row {
    /// That of the rollout that needs most of it.
    attention: (bool, ClusterState),
    cells: Vec<String>,
}

impl Row {
    /// Returns the state that needs attention; those without one come last.
    fn rank(&self) -> (bool, Option<ClusterState>) {
        let (is_fine, state) = self.attention;
        (is_fine, Some(state).filter(|_| !is_fine))
    }
}

/// A state, and what is the matter with the agent.
fn cell(cluster: &ClusterView) -> String {
    let state = format!("{:?}", cluster.state);
    match cluster {
        ClusterView { offline: true, .. } => format!("{state} offline"),
        ClusterView { healthy: false, .. } => format!("{state} unhealthy"),
        ClusterView { .. } => state,
    }
}

/// Returns the rollouts of a cluster; nothing where no rollout has it.
pub(super) fn cluster(seen: &[Arc<Picture>], name: &str) -> Option<Value> {
    let mut found: Vec<_> = seen.iter().filter_map(|picture| row(picture, name)).collect();
    found.sort_by_key(|(attention, _)| *attention);
    let found: Vec<Value> = found.into_iter().map(|(_, row)| row).collect();
    (!found.is_empty()).then(|| json!({"name": name, "rollouts": found}))
}

fn row(picture: &Picture, name: &str) -> Option<((bool, ClusterState), Value)> {
    let cluster = picture.clusters.iter().find(|one| one.name == name)?;
    let wave = picture.waves.get(cluster.wave).map(|wave| &wave.name);
    let target: &Target = &picture.target;
    let row = json!({"target": target, "phase": picture.phase, "health": picture.health, "paused": picture.paused,
        "cluster": cluster, "waveName": wave});
    Some((cluster.attention(), row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::visibility::samples::picture;

    #[test]
    fn clusters_are_rows_and_rollouts_are_columns() {
        let mut second = picture("b", &["c10", "c2"]);
        second.clusters[0].offline = true;
        second.clusters[0].healthy = false;
        let seen = [Arc::new(picture("a", &["c2"])), Arc::new(second)];
        let fleet = matrix(&seen);
        assert_eq!(
            fleet["clusters"],
            json!([{"name": "c10", "cells": ["", "Done offline"], "attention": true},
                {"name": "c2", "cells": ["Done", "Done"], "attention": false}])
        );
        assert_eq!(fleet["rollouts"][1]["target"]["name"], "b");
        let one = cluster(&seen, "c10").expect("a cluster");
        assert_eq!(one["rollouts"].as_array().map(Vec::len), Some(1));
        assert_eq!(one["rollouts"][0]["cluster"]["offline"], true);
        assert_eq!(cluster(&seen, "missing"), None);
    }
}
