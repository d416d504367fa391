//! The approvals that a rollout waits for.
//!
//! Decides words. What is asked, and of whom, is the plan's.

use schemars::JsonSchema;
use serde::Serialize;

use kubernetes::field::counted;
use plan::{Asked, AskedGroup, Outlook, PlacementOutlook};

/// A decision group, or a stage of an upgrade, that waits until a user approves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskedApproval {
    /// The placement, as `namespace/name`; empty for a stage of an upgrade.
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
    /// A user has rejected the change.
    Rejected,
    /// A user has approved.
    Given,
}

impl WaveApproval {
    pub(super) const fn told(self) -> &'static str {
        match self {
            Self::Later => "requires approval",
            Self::Asked => "waiting for approval",
            Self::Rejected => "rejected",
            Self::Given => "approved",
        }
    }
}

impl AskedApproval {
    /// Returns what has to be approved now over a placement, or, without one, of an upgrade.
    pub(super) fn now(placement: &str, asked: &Asked) -> Vec<Self> {
        let each = asked.now().map(|group| Self {
            placement: placement.to_owned(),
            group: group.name.to_string(),
            hash: asked.hash.to_string(),
            waiting: group.waiting,
            rejected: group.rejected,
        });
        each.collect()
    }

    /// Returns its short name.
    pub(super) fn path(&self) -> String {
        if self.placement.is_empty() {
            return format!("stage {}", self.group);
        }
        format!("{}/{}", self.placement, self.group)
    }

    /// Returns what it is called: a decision group with its placement, or a stage.
    pub(super) fn title(&self) -> String {
        if self.placement.is_empty() {
            return format!("stage {}", self.group);
        }
        format!("decision group {} of placement {}", self.group, self.placement)
    }

    /// Returns it in a line: the group, the content, and who waits for it.
    pub(super) fn told(&self) -> String {
        let Self {
            hash,
            waiting,
            rejected,
            ..
        } = self;
        let verb = match (*rejected, *waiting) {
            (false, 1) => "is waiting",
            (false, _) => "are waiting",
            (true, 1) => "does not start",
            (true, _) => "do not start",
        };
        let what = self.path();
        format!(
            "{what}: {}{} {verb}, content {hash}",
            if *rejected { "rejected, " } else { "" },
            counted(*waiting, "cluster")
        )
    }
}

/// Returns what has to be approved now.
pub(super) fn asked(outlook: &Outlook) -> Vec<AskedApproval> {
    let each = outlook.placements.iter().flat_map(|placement| {
        let place = format!("{}/{}", placement.namespace, placement.name);
        let asked = placement.asked.iter();
        asked.flat_map(move |asked| AskedApproval::now(&place, asked))
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
        () if own.iter().any(|group| group.waiting > 0 && !group.rejected) => Some(WaveApproval::Asked),
        () if own.iter().any(|group| group.waiting > 0) => Some(WaveApproval::Rejected),
        () if own.iter().any(|group| group.later > 0) => Some(WaveApproval::Later),
        () if own.iter().all(|group| group.approved) => Some(WaveApproval::Given),
        // Its clusters run a content that needed no approval.
        () => None,
    }
}
