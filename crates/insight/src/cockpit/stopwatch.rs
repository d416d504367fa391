//! Measures how long clusters take.
//!
//! A duration is observed if a cluster is being updated in one picture and successful in a later one. Of one that was successful
//! before, it is not known how long it took: the hub keeps one time for its start and its success.

use super::cluster::ClusterState;
use super::picture::Picture;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// Watches one rollout.
#[derive(Clone, Debug, Default)]
pub struct Stopwatch {
    under_way: BTreeMap<String, Timestamp>,
    observed: usize,
    sum: Duration,
}

impl Stopwatch {
    /// Looks at a picture of the rollout.
    pub fn look(&mut self, picture: &Picture) {
        for cluster in &picture.clusters {
            let begun = self.under_way.remove(&cluster.name);
            match cluster.state {
                ClusterState::Moving => {
                    let since = cluster.since.unwrap_or(picture.at);
                    self.under_way.insert(cluster.name.clone(), since);
                }
                ClusterState::Soaking | ClusterState::Done => {
                    let length = begun.map(|begun| picture.at.duration_since(begun));
                    if let Some(length) = length.and_then(|length| Duration::try_from(length).ok()) {
                        self.observed = self.observed.saturating_add(1);
                        self.sum = self.sum.saturating_add(length);
                    }
                }
                ClusterState::Failed
                | ClusterState::TimedOut
                | ClusterState::Stalled
                | ClusterState::Finishing
                | ClusterState::Held
                | ClusterState::Waiting
                | ClusterState::Leaving
                | ClusterState::Kept => {}
            }
        }
    }

    /// Returns the measurements.
    pub fn pace(&self) -> Pace {
        let each = u32::try_from(self.observed)
            .ok()
            .and_then(|count| self.sum.checked_div(count));
        Pace {
            observed: self.observed,
            each: each.unwrap_or_default(),
        }
    }
}

/// How long a cluster takes, and how many were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// The number of clusters whose update was observed from start to end.
    pub observed: usize,
    /// The mean of those.
    pub each: Duration,
}
