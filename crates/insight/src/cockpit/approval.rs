//! The approvals that a rollout waits for.
//!
//! Decides words. What is asked, and of whom, is the plan's.

use schemars::JsonSchema;
use serde::Serialize;

use kubernetes::field::counted;
use plan::{AskedGroup, Outlook, PlacementOutlook};

/// A decision group that waits until a user approves of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskedApproval {
    /// The placement, as `namespace/name`.
    pub placement: String,
    /// The decision group: its name, or its index where it has none.
    pub group: String,
    /// Hash of the content that its clusters are to run with.
    pub hash: String,
    /// How many clusters wait.
    pub waiting: usize,
    /// Whether a user has rejected this content.
    pub rejected: bool,
}

/// How a wave stands with those who approve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum WaveApproval {
    /// The change stops before it until a user approves.
    Later,
    /// A user has to approve now.
    Asked,
    /// A user has approved.
    Given,
}

impl WaveApproval {
    pub(super) const fn told(self) -> &'static str {
        match self {
            Self::Later => "requires approval",
            Self::Asked => "waiting for approval",
            Self::Given => "approved",
        }
    }
}

impl AskedApproval {
    /// Returns it in a line: the group, the content, and who waits for it.
    pub(super) fn told(&self) -> String {
        let Self {
            placement,
            group,
            hash,
            waiting,
            rejected,
        } = self;
        let verb = if *waiting == 1 {
            "is waiting"
        } else {
            "are waiting"
        };
        format!(
            "{placement}/{group}: {}{} {verb}, content {hash}",
            if *rejected { "rejected, " } else { "" },
            counted(*waiting, "cluster")
        )
    }
}

/// Returns what has to be approved now.
pub(super) fn asked(outlook: &Outlook) -> Vec<AskedApproval> {
    let each = outlook.placements.iter().flat_map(|placement| {
        let asked = placement.asked.iter();
        asked.flat_map(move |asked| {
            asked.now().map(move |group| AskedApproval {
                placement: format!("{}/{}", placement.namespace, placement.name),
                group: group.name.to_string(),
                hash: asked.hash.to_string(),
                waiting: group.waiting,
                rejected: group.rejected,
            })
        })
    });
    each.collect()
}

/// Returns how the groups of a stage stand with those who approve, if any of them asks: what is most urgent.
pub(super) fn of_stage(placement: &PlacementOutlook, stage: usize) -> Option<WaveApproval> {
    let asked = placement.asked.as_ref()?;
    let is_own = |group: &&AskedGroup| {
        let found = placement.groups.get(group.position);
        found.is_some_and(|found| found.stage == stage)
    };
    let own: Vec<&AskedGroup> = asked.groups.iter().filter(is_own).collect();
    match () {
        () if own.is_empty() => None,
        () if own.iter().any(|group| group.waiting > 0) => Some(WaveApproval::Asked),
        () if own.iter().any(|group| group.later > 0) => Some(WaveApproval::Later),
        () if own.iter().all(|group| group.approved) => Some(WaveApproval::Given),
        // Its clusters run a content that needed no approval.
        () => None,
    }
}
