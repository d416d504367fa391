//! One picture of a rollout, of an add-on or of an upgrade of clusters, for every face that shows it.
//!
//! Decides words and layout, and never who moves: turns, budgets and ends are those that `plan` and `upgrade` have decided, written down
//! while they did. Reads no hub, has no clock, and does bounded work whatever the number of clusters is.

mod addon;
mod applied;
mod approval;
mod approve;
mod attention;
mod cluster;
mod cluster_rollouts;
mod eta;
mod field_changes;
mod find;
mod gallery;
mod health;
mod history;
mod line;
mod list;
mod navigation;
mod objects;
mod ownership;
mod phase;
mod picture;
mod revisions;
mod settings_edit;
mod steer;
mod stopwatch;
mod summary;
mod text;
mod undo;
mod upgrade_picture;
mod wave;
mod waves;
mod writing;
mod written;

pub(crate) use addon::authored;
pub use addon::{addon, set_by_text};
pub use approval::{AskedApproval, WaveApproval};
pub use approve::{Approve, Decision};
pub use attention::{Attention, AttentionGroup};
pub use cluster::{ClusterState, ClusterView, Counts};
pub use cluster_rollouts::{ClusterRollout, ClusterRollouts, UnknownCluster, cluster_rollouts, of_cluster};
pub use eta::Eta;
pub use field_changes::{FieldChanges, field_changes};
pub use find::{Rollouts, Unknown, find};
pub use gallery::{Gallery, Pictures};
pub use health::{HealthState, RolloutHealth};
pub use history::{RolloutHistory, history};
pub use line::{Line, Piece, Tone, WHOLE};
pub use list::{compact_list, list, rows};
pub use navigation::{Effect, Key, Order, Page, Question, VerbRequest, View};
pub use objects::{OBJECT_KINDS, object_tables};
pub use ownership::{OwnedField, conflicting, managers, of_programs, owners_of_spec};
pub use picture::*;
pub use plan::upgrade::natural_order;
pub use revisions::{
    RecordedDecision, Revision, RolloutRevision, decision_lines, decisions, revision_lines, revisions,
};
pub use steer::{CHANGE_CAUSE, Refusal, Steer, SteerClient, Verb, steer};
pub use stopwatch::{Pace, Stopwatch};
pub use summary::summary;
pub use text::{status, status_line};
pub use upgrade_picture::upgrade;
pub use wave::{Batches, Wave, WaveEta, WaveState};
pub use writing::{Form, Writing};
pub use written::written;
