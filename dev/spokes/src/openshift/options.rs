//! Which clusters of a fleet play OpenShift, in which version, and how long things take there.

use std::{str::FromStr, time::Duration};

use kubernetes::duration::GoDuration;
use semver::Version;
use serde_json::{Map, Value};

use super::Channel;
use crate::pattern::Pattern;

/// Which clusters play OpenShift, and how.
#[derive(Clone, Debug)]
pub struct OpenShift {
    /// Which clusters have which version; of several rows for one cluster the last counts, and none means that the
    /// cluster plays no OpenShift.
    pub versions: Vec<(Pattern, Option<Version>)>,
    /// `spec.channel`; absent means the stable channel of the version.
    pub channel: Option<String>,
    /// `spec.upstream`: where the cluster asks for updates.
    pub upstream: String,
    /// Further fields of `spec`, for instance `overrides`.
    pub spec: Map<String, Value>,
    /// Whether the work agent may change the `ClusterVersion`.
    pub agent: AgentRights,
    /// How long things take.
    pub times: Times,
}

/// Whether the work agent may change the `ClusterVersion`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentRights {
    /// It may do everything.
    #[default]
    All,
    /// It may if a work has bound a role with that right to its account, `klusterlet-work-sa` in
    /// `open-cluster-management-agent`, or has labelled one `open-cluster-management.io/aggregate-to-work: "true"`.
    AsBound,
}

/// How long things take on a cluster that plays OpenShift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// From the wish for another version until the upgrade begins or is refused.
    pub accept: Duration,
    /// An upgrade of the control plane.
    pub upgrade: Duration,
    /// From the end of that until the workers have followed.
    pub pools: Duration,
    /// A job that a work starts.
    pub jobs: Duration,
    /// A job that approves the upgrades of operators.
    pub approver: ApproverTime,
    /// How often the agent looks at what it reports on, while something is under way.
    pub poll: Duration,
}

/// How long a job that approves upgrades of operators runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApproverTime {
    /// This long.
    Fixed(Duration),
    /// As long as its `WAITTIME` says, divided by this; its `activeDeadlineSeconds` likewise.
    Scaled(u32),
}

/// A text says nothing about versions of OpenShift.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no version of OpenShift: {fault}")]
pub struct OpenShiftTextError {
    text: String,
    fault: &'static str,
}

impl Times {
    /// Returns times that go with an upgrade of this length, in the proportions of a real one where everything is short.
    pub fn of_upgrade(upgrade: Duration) -> Self {
        Self {
            accept: upgrade / 20,
            upgrade,
            pools: upgrade / 5,
            jobs: upgrade / 10,
            approver: ApproverTime::Fixed(upgrade / 5),
            poll: (upgrade / 10).clamp(Duration::from_millis(100), Duration::from_secs(10)),
        }
    }
}

impl Default for Times {
    /// Returns the times of an upgrade that takes ten seconds.
    fn default() -> Self {
        Self::of_upgrade(Duration::from_secs(10))
    }
}

impl OpenShift {
    /// Returns a fleet whose clusters all have this version.
    pub fn new(version: Version) -> Self {
        Self {
            versions: vec![(Pattern::new("*"), Some(version))],
            channel: None,
            upstream: "https://updates.example.com/graph".to_owned(),
            spec: Map::new(),
            agent: AgentRights::default(),
            times: Times::default(),
        }
    }

    /// Reads texts: `4.11.9` is the version of every cluster, `cluster3=4.12.0` that of one, `cluster*=none` takes
    /// OpenShift away again. Later texts win.
    ///
    /// # Errors
    /// The first text that is none of these.
    pub fn parse<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Result<Self, OpenShiftTextError> {
        let rows: Result<Vec<_>, _> = texts.into_iter().map(|text| parse_row(text.as_ref())).collect();
        let mut made = Self::new(Version::new(4, 0, 0));
        made.versions = rows?;
        Ok(made)
    }

    /// Returns the version of a cluster; none when it plays no OpenShift.
    pub fn version_of(&self, cluster: &str) -> Option<&Version> {
        let mut rows = self.versions.iter().rev();
        let row = rows.find(|(pattern, _)| pattern.matches(cluster));
        row.and_then(|(_, version)| version.as_ref())
    }

    /// Returns `spec` of the `ClusterVersion` of a new cluster.
    pub(crate) fn spec_of(&self, id: &str, version: &Version) -> Map<String, Value> {
        let channel = self.channel.clone().unwrap_or_else(|| Channel::stable(version));
        let mut spec = Map::from_iter([
            ("clusterID".to_owned(), Value::from(id)),
            ("channel".to_owned(), Value::from(channel)),
            ("upstream".to_owned(), Value::from(self.upstream.clone())),
            (
                "capabilities".to_owned(),
                serde_json::json!({"baselineCapabilitySet": "vCurrent"}),
            ),
        ]);
        spec.extend(self.spec.clone());
        spec
    }
}

fn parse_row(text: &str) -> Result<(Pattern, Option<Version>), OpenShiftTextError> {
    let fault = |fault| OpenShiftTextError {
        text: text.to_owned(),
        fault,
    };
    let (cluster, version) = text.split_once('=').unwrap_or(("*", text));
    if cluster.trim().is_empty() {
        return Err(fault("the name of the cluster is missing before \"=\""));
    }
    let version = match version.trim() {
        "none" => None,
        version => {
            let read = Version::parse(version);
            Some(read.map_err(|_why| {
                fault("write <version> or <cluster>=<version>, for example 4.11.9 or cluster3=4.12.0")
            })?)
        }
    };
    Ok((Pattern::new(cluster.trim()), version))
}

impl FromStr for ApproverTime {
    type Err = String;

    /// Reads a duration (`2s`) or a scale (`1:600`: ten minutes pass in a second).
    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("\"{text}\" is neither a duration such as 2s nor a scale such as 1:600");
        if let Some(scale) = text.strip_prefix("1:") {
            let scale: u32 = scale.parse().map_err(|_why| fault())?;
            return if scale > 0 {
                Ok(Self::Scaled(scale))
            } else {
                Err(fault())
            };
        }
        let read = GoDuration::parse(text).ok().and_then(GoDuration::length);
        read.map(Self::Fixed).ok_or_else(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_row_for_a_cluster_counts() {
        let fleet = OpenShift::parse(["4.11.9", "cluster1*=4.12.0", "cluster12=none"]).expect("texts");
        let of = |cluster: &str| fleet.version_of(cluster).map(ToString::to_string);
        assert_eq!(of("cluster2").as_deref(), Some("4.11.9"));
        assert_eq!(of("cluster1").as_deref(), Some("4.12.0"));
        assert_eq!(of("cluster12"), None);
        for (text, why) in [
            ("=4.11.9", "the name of the cluster is missing before \"=\""),
            (
                "four",
                "write <version> or <cluster>=<version>, for example 4.11.9 or cluster3=4.12.0",
            ),
        ] {
            let seen = OpenShift::parse([text]).expect_err(text).to_string();
            assert_eq!(seen, format!("\"{text}\" is no version of OpenShift: {why}"));
        }
    }

    #[test]
    fn times_go_with_the_length_of_an_upgrade() {
        let short = Times::of_upgrade(Duration::from_secs(5));
        assert_eq!(
            (short.accept, short.jobs),
            (Duration::from_millis(250), Duration::from_millis(500))
        );
        let real = Times::of_upgrade(Duration::from_hours(1));
        assert_eq!(
            real.poll,
            Duration::from_secs(10),
            "the agent looks as often as a real one"
        );
        assert_eq!(Times::default().poll, Duration::from_secs(1));
    }

    #[test]
    fn the_time_of_the_approver_is_a_duration_or_a_scale() {
        assert_eq!("2s".parse(), Ok(ApproverTime::Fixed(Duration::from_secs(2))));
        assert_eq!("1:600".parse(), Ok(ApproverTime::Scaled(600)));
        for text in ["1:0", "1:x", "soon", "-2s"] {
            assert!(text.parse::<ApproverTime>().is_err(), "{text}");
        }
    }
}
