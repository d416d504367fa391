//! What a hub remembers of an automatic undo: the content that was good as a whole, and the content that was undone.
//!
//! Decides how both are written into conditions of `status.installProgressions`, and how they are read back: a restart forgets
//! nothing, and no spec is touched. Never decides what is undone.

use jiff::Timestamp;

use crate::record::meta::Status;
use crate::record::objects::Layering;
use crate::record::reference::{ConfigRef, ConfigType};
use crate::record::rollout::Progression;
use crate::terms;
use model::Name;

/// Longest list that is written: more than fits into a condition is not remembered at all: half of it would be another content.
const LONGEST: usize = 30_000;

/// One configuration with the hash of its content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PinnedConfig {
    /// The object.
    pub config: ConfigRef,
    /// Its hash.
    pub hash: Name,
}

/// What the clusters of a placement run with, as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedContent {
    /// The configurations, in their order.
    pub configs: Vec<PinnedConfig>,
    /// Which deployment configurations among them count.
    pub layering: Layering,
}

/// The note that the content of a placement was undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// Since when.
    pub since: Timestamp,
    /// The content that failed.
    pub failed: PinnedContent,
    /// Who failed, and how many may.
    pub why: Name,
}

/// What a list begins with of which all deployment configurations count.
const IS_MERGED: &str = "merged";

impl PinnedContent {
    /// Writes it as a list, in its order; nothing where it does not fit or where a hash is not known.
    pub fn list(&self) -> Option<String> {
        let is_known = !self.configs.is_empty() && self.configs.iter().all(|one| !one.hash.is_empty());
        let first = (self.layering == Layering::Merge).then(|| IS_MERGED.to_owned());
        let each = self
            .configs
            .iter()
            .map(|one| format!("{} {}", one.config, one.hash));
        let text = first.into_iter().chain(each).collect::<Vec<_>>().join("; ");
        (is_known && text.len() <= LONGEST).then_some(text)
    }

    /// Reads a list; nothing where any of it cannot be read.
    fn parse(text: &str) -> Option<Self> {
        let mut entries = text.split("; ").peekable();
        let layering = Layering::of(entries.next_if_eq(&IS_MERGED).is_some());
        let configs: Vec<PinnedConfig> = entries.map(PinnedConfig::parse).collect::<Option<_>>()?;
        (!configs.is_empty()).then_some(Self { configs, layering })
    }
}

impl PinnedConfig {
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

    /// Returns what failed and why, of a note.
    pub fn parts(text: &str) -> Option<(&str, &str)> {
        text.split_once(": ")
    }
}

impl Progression {
    /// Returns the whole content that all clusters of the placement were last seen to run well, as far as that is noted.
    pub fn known_good(&self) -> Option<PinnedContent> {
        PinnedContent::parse(self.said(terms::KNOWN_GOOD)?.1)
    }

    /// Returns the note that its content was undone.
    pub fn undone(&self) -> Option<Undone> {
        let (since, text) = self.said(terms::UNDONE)?;
        let (failed, why) = Undone::parts(text)?;
        Some(Undone {
            since,
            failed: PinnedContent::parse(failed)?,
            why: Name::from(why),
        })
    }

    /// Returns when the first cluster started with a content, while that is being rolled out and waits for checks.
    pub fn change_started(&self, content: &str) -> Option<Timestamp> {
        let started = self.said(terms::CHANGE_STARTED);
        started
            .filter(|(_, hash)| *hash == content)
            .map(|(since, _)| since)
    }

    /// Drops the messages for users, and keeps what plans of clusters depend on: while nothing is undone and nothing waits for checks,
    /// that is nothing.
    pub(crate) fn forget_words(&mut self) {
        let counts = self.undone().is_some() || self.said(terms::CHANGE_STARTED).is_some();
        let memory = [terms::KNOWN_GOOD, terms::UNDONE, terms::CHANGE_STARTED];
        self.conditions
            .retain(|one| counts && memory.contains(&&*one.kind));
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

    fn content(configs: Vec<PinnedConfig>) -> PinnedContent {
        PinnedContent {
            configs,
            layering: Layering::Replace,
        }
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let mut all = content(vec![pinned("g.io", "default", "a"), pinned("", "", "b.c")]);
        let text = all.list().expect("it fits");
        assert_eq!(text, "things.g.io/default/a abc; things//b.c abc");
        assert_eq!(PinnedContent::parse(&text).as_ref(), Some(&all));
        all.layering = Layering::Merge;
        let text = all.list().expect("it fits");
        assert_eq!(text, "merged; things.g.io/default/a abc; things//b.c abc");
        assert_eq!(PinnedContent::parse(&text), Some(all));
    }

    #[test]
    fn half_a_list_is_none() {
        for text in [
            "",
            "merged",
            "things.g.io/default/a",
            "things/a abc",
            "a/b/c d e",
            "a/b/c d; x",
            "a/b/c d; merged",
        ] {
            assert_eq!(PinnedContent::parse(text), None, "{text}");
        }
        let unknown = PinnedConfig {
            hash: "".into(),
            ..pinned("g", "n", "a")
        };
        assert_eq!(content(vec![unknown]).list(), None);
        assert_eq!(content(Vec::new()).list(), None);
        assert_eq!(content(vec![pinned("g", "n", "a"); 5000]).list(), None);
    }
}
