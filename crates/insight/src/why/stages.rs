//! How far the instances of an add-on are in a rollout.
//!
//! Decides nothing (`turn` does).

use std::collections::BTreeMap;

use jiff::Timestamp;

/// How far an instance is in a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Waiting,
    Going,
    /// It is done, and has to stay so until then.
    Soaking(Timestamp),
    Failed,
    Done,
}

/// The stage of each instance, by cluster.
#[derive(Debug, Default)]
pub(super) struct Stages(BTreeMap<String, Stage>);

impl Stages {
    /// Collects stages, by cluster.
    pub(super) fn collect(each: impl Iterator<Item = (String, Stage)>) -> Self {
        Self(each.collect())
    }

    /// The clusters of which `is_one` is true and that are at such a stage.
    pub(super) fn at<'s>(
        &'s self,
        is_one: impl Fn(&str) -> bool + 's,
        wanted: impl Fn(Stage) -> bool + 's,
    ) -> impl Iterator<Item = (&'s str, Stage)> {
        let all = self.0.iter().map(|(cluster, stage)| (cluster.as_str(), *stage));
        all.filter(move |(cluster, stage)| wanted(*stage) && is_one(cluster))
    }
}
