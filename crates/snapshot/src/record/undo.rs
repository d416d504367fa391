//! What a hub remembers of an automatic undo: the content that was good as a whole, and the content that was undone.
//!
//! Decides how both are written into conditions of `status.installProgressions`, and how they are read back: a restart forgets nothing,
//! and nobody's spec is touched. Never decides what is undone.

use jiff::Timestamp;

use crate::record::meta::Status;
use crate::record::reference::{ConfigRef, ConfigType};
use crate::record::rollout::Progression;
use crate::terms;
use model::Name;

/// Longest list that is written: more than fits into a condition is not remembered at all, for half of it would be another content.
const LONGEST: usize = 30_000;

/// One configuration with the hash of its content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PinnedConfig {
    /// The object.
    pub config: ConfigRef,
    /// Its hash.
    pub hash: Name,
}

/// The note that the content of a placement was undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// Since when.
    pub since: Timestamp,
    /// The content that failed.
    pub failed: Vec<PinnedConfig>,
    /// Who failed, and how many may.
    pub why: Name,
}

impl PinnedConfig {
    /// Writes a list, in its order; nothing where it does not fit or where a hash is not known.
    pub fn list(all: &[Self]) -> Option<String> {
        let is_known = !all.is_empty() && all.iter().all(|one| !one.hash.is_empty());
        let each: Vec<String> = all
            .iter()
            .map(|one| format!("{} {}", one.config, one.hash))
            .collect();
        let text = each.join("; ");
        (is_known && text.len() <= LONGEST).then_some(text)
    }

    /// Reads a list; nothing where any of it cannot be read.
    fn parse_list(text: &str) -> Option<Vec<Self>> {
        text.split("; ").map(Self::parse).collect()
    }

    fn parse(entry: &str) -> Option<Self> {
        let (config, hash) = entry.split_once(' ')?;
        let mut parts = config.splitn(3, '/');
        let (of, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
        let (resource, group) = of.split_once('.').unwrap_or((of, ""));
        let is_whole = !resource.is_empty() && !name.is_empty() && !hash.is_empty() && !hash.contains(' ');
        is_whole.then(|| Self {
            config: ConfigRef {
                of: ConfigType {
                    group: Name::from(group),
                    resource: Name::from(resource),
                },
                namespace: Name::from(namespace),
                name: Name::from(name),
            },
            hash: Name::from(hash),
        })
    }
}

impl Undone {
    /// Writes the note, without its time.
    pub fn text(failed: &str, why: &str) -> String {
        format!("{failed}: {why}")
    }
}

impl Progression {
    /// Returns the whole content that all clusters of the placement were last seen to run well, as far as anybody has noted it.
    pub fn known_good(&self) -> Option<Vec<PinnedConfig>> {
        PinnedConfig::parse_list(self.said(terms::KNOWN_GOOD)?.1)
    }

    /// Returns the note that its content was undone.
    pub fn undone(&self) -> Option<Undone> {
        let (since, text) = self.said(terms::UNDONE)?;
        let (failed, why) = text.split_once(": ")?;
        Some(Undone {
            since,
            failed: PinnedConfig::parse_list(failed)?,
            why: Name::from(why),
        })
    }

    /// Forgets what is told to people, and keeps what plans of clusters are made from: while nothing is undone, that is nothing.
    pub(crate) fn forget_words(&mut self) {
        let is_undone = self.undone().is_some();
        let memory = [terms::KNOWN_GOOD, terms::UNDONE];
        self.conditions
            .retain(|one| is_undone && memory.contains(&&*one.kind));
    }

    fn said(&self, kind: &str) -> Option<(Timestamp, &str)> {
        let mut conditions = self.conditions.iter();
        let said = conditions.find(|one| *one.kind == *kind && one.status == Status::True)?;
        Some((said.since()?, &said.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinned(group: &str, namespace: &str, name: &str) -> PinnedConfig {
        PinnedConfig {
            config: ConfigRef {
                of: ConfigType {
                    group: group.into(),
                    resource: "things".into(),
                },
                namespace: namespace.into(),
                name: name.into(),
            },
            hash: "abc".into(),
        }
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let all = vec![pinned("g.io", "default", "a"), pinned("", "", "b.c")];
        let text = PinnedConfig::list(&all).expect("it fits");
        assert_eq!(text, "things.g.io/default/a abc; things//b.c abc");
        assert_eq!(PinnedConfig::parse_list(&text), Some(all));
    }

    #[test]
    fn half_a_list_is_none() {
        for text in [
            "",
            "things.g.io/default/a",
            "things/a abc",
            "a/b/c d e",
            "a/b/c d; x",
        ] {
            assert_eq!(PinnedConfig::parse_list(text), None, "{text}");
        }
        let unknown = PinnedConfig {
            hash: "".into(),
            ..pinned("g", "n", "a")
        };
        assert_eq!(PinnedConfig::list(&[unknown]), None);
        assert_eq!(PinnedConfig::list(&[]), None);
        assert_eq!(PinnedConfig::list(&vec![pinned("g", "n", "a"); 5000]), None);
    }
}
