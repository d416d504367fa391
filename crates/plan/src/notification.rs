//! Notifications: what a receiver outside of the hub is sent about rollouts and upgrades, as CloudEvents.
//!
//! Defines their form. `rollout_notifications` and `upgrade/events` decide when one is due.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use api::hash::SpecHash;
use kubernetes::field::shortened;

/// The longest message, in bytes.
const LONGEST: usize = 1024;
/// How many digits of a digest identify an event.
const DIGITS: usize = 32;

/// What a notification is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotificationKind {
    /// Clusters wait for an approval.
    ApprovalNeeded,
    /// No further cluster is updated until a user acts.
    Stopped,
    /// The clusters are rolled back.
    Undone,
    /// All clusters run the content, or the version.
    Completed,
    /// All clusters of an upgrade have finished, and not all are upgraded.
    UpgradeFailed,
}

impl NotificationKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::ApprovalNeeded,
        Self::Stopped,
        Self::Undone,
        Self::Completed,
        Self::UpgradeFailed,
    ];

    /// Returns the `type` of the CloudEvent.
    pub const fn event_type(self) -> &'static str {
        match self {
            Self::ApprovalNeeded => "io.tidegate.rollout.approval-needed",
            Self::Stopped => "io.tidegate.rollout.stopped",
            Self::Undone => "io.tidegate.rollout.undone",
            Self::Completed => "io.tidegate.rollout.completed",
            Self::UpgradeFailed => "io.tidegate.upgrade.failed",
        }
    }
}

/// One notification. It has names, counts and messages of statuses, and nothing of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// What it is about.
    pub kind: NotificationKind,
    /// `addons/NAME/placements/NAMESPACE/NAME` or `upgrades/NAMESPACE/NAME`.
    pub subject: String,
    /// A digest of what it is about: an event that is sent again has the same.
    pub id: String,
    /// When it happened, by the clock of the hub.
    pub time: Timestamp,
    /// The `data` of the CloudEvent.
    pub data: Map<String, Value>,
}

impl Notification {
    /// Returns a notification; `about` identifies it among those of its kind and subject, and `said` is the reason and the message.
    pub(crate) fn new(
        kind: NotificationKind,
        subject: String,
        about: &Value,
        time: Timestamp,
        said: (&str, &str),
        data: &Value,
    ) -> Self {
        let digest = SpecHash::of_text(&json!([kind.event_type(), subject, about]).to_string()).to_string();
        let (reason, message) = said;
        let mut data = data.as_object().cloned().unwrap_or_default();
        data.insert("reason".to_owned(), reason.into());
        data.insert("message".to_owned(), shortened(message, LONGEST).into());
        Self {
            kind,
            subject,
            id: digest.chars().take(DIGITS).collect(),
            time,
            data,
        }
    }

    /// Returns the event in the JSON format of CloudEvents 1.0; `hub` identifies the hub.
    pub fn cloud_event(&self, hub: &str) -> Value {
        json!({
            "specversion": "1.0",
            "type": self.kind.event_type(),
            "source": format!("/hubs/{hub}"),
            "subject": self.subject,
            "id": self.id,
            "time": self.time.to_string(),
            "datacontenttype": "application/json",
            "data": self.data,
        })
    }
}
