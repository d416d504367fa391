//! What is known about one configuration object.
//!
//! Decides nothing. Kinds that the tide reads show their content; of all others only a hash is kept, so that nothing of a
//! Secret is.

use std::sync::Arc;

use crate::parts::config_watch::Absence;
use crate::record::Content;
use model::Name;

/// A configuration object that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFacts {
    /// Hash of its content.
    pub hash: Name,
    /// The version of the add-on that it stands for, as it is written: a template's label, or what an `AddOnHubConfig` asks for.
    pub version: Option<Name>,
    /// What it says, if its kind is one that the tide reads.
    pub content: Option<Arc<Content>>,
}

/// Whether a configuration object exists, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigPresence {
    /// It does.
    Exists(ConfigFacts),
    /// It does not, and why.
    Absent(Absence),
    /// It was not looked for, or may not be read.
    Unknown,
}

/// Returns the name under which a configuration object is filed: `<resource>.<group>/<namespace>/<name>`.
pub fn config_key(group: &str, resource: &str, namespace: &str, name: &str) -> String {
    let point = if group.is_empty() { "" } else { "." };
    format!("{resource}{point}{group}/{namespace}/{name}")
}
