//! One effective configuration, and all of one instance.
//!
//! Decides which edits may pass a rollout by. Never looks anything up.

use super::fault::ConfigFault;
use super::layers::{Entry, Source};
use crate::version::BadVersion;
use model::{MOST_CONFIG_TYPES, off_limits};
use store::{Absence, ConfigRef, ConfigType, Kind, Layering, Name, Reference};

/// One effective configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Desired {
    /// The object.
    pub config: ConfigRef,
    /// The layer that it comes from.
    pub source: Source,
    /// Its spec hash, "" when it is unknown.
    pub hash: Name,
    /// Its generation; absent where the program that knows the kind writes it.
    pub generation: Option<i64>,
    /// Why the hash is unknown, or cannot be verified.
    pub fault: Option<ConfigFault>,
    /// The copy that its content is taken from; where it can be given to no cluster any more, why no copy helps.
    pub copy: Option<Name>,
}

/// The effective configuration of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Effective {
    /// Sorted by type; within a type in the order of the author.
    pub refs: Vec<Desired>,
    /// First type, in whatever layer, that the add-on does not support.
    pub unsupported: Option<ConfigType>,
    /// Whether the controllers deploy the add-on from a template.
    pub deployed: bool,
    /// Which of its deployment configurations works are made from.
    pub layering: Layering,
    /// The version that is asked for, if no template offers it.
    pub bad_version: Option<BadVersion>,
    /// Whether it is the last known good configuration, because the rollout was undone.
    pub undone: bool,
}

impl Desired {
    /// Returns the layer and what is wrong, to follow the name of the reference.
    pub(crate) fn why(&self) -> Option<String> {
        Some(format!("({}) {}", self.source, self.fault_text()?))
    }

    /// Returns what is wrong, to follow the name of the reference or *it*.
    pub(crate) fn fault_text(&self) -> Option<String> {
        let what = match self.fault? {
            ConfigFault::Absent(Absence::Missing) => "does not exist".to_owned(),
            ConfigFault::Absent(Absence::NeedsNamespace) => {
                "does not exist: the reference names no namespace".to_owned()
            }
            ConfigFault::Absent(Absence::HasNoNamespace) => {
                "does not exist: the reference names a namespace, but its kind is cluster-scoped".to_owned()
            }
            ConfigFault::NotWatchedYet => "has not been read yet, so its hash is unknown".to_owned(),
            ConfigFault::Forbidden { verb } => format!(
                "cannot be read: the hub refuses to {verb} {}; the controller needs get, list and watch",
                self.config.of
            ),
            ConfigFault::NotServed => "is of a kind that the hub does not serve".to_owned(),
            ConfigFault::OffLimits => {
                let of = &self.config.of;
                let why = off_limits(&of.group, &of.resource).unwrap_or("its type may not be read");
                format!("is not read, because its type cannot be a configuration: {why}")
            }
            ConfigFault::TooManyTypes => format!(
                "is not read: the object that refers to it refers to more than {MOST_CONFIG_TYPES} types of configurations"
            ),
            ConfigFault::Unsupported => "is of a type that the add-on does not support".to_owned(),
            ConfigFault::OfAnotherAddon => {
                "is for another add-on (its spec.addonName), and requests hub permissions or a custom signer"
                    .to_owned()
            }
            ConfigFault::Superseded => "differs from the last known good content".to_owned(),
            ConfigFault::NoSuchVersion => "requires a version that no AddOnTemplate provides".to_owned(),
        };
        Some(what)
    }
}

impl Entry {
    /// The reference leads nowhere.
    pub(super) fn without(&self, fault: ConfigFault) -> Desired {
        Desired {
            config: self.config.clone(),
            source: self.source.clone(),
            hash: Name::from(""),
            generation: Some(0),
            fault: Some(fault),
            copy: None,
        }
    }
}

impl Effective {
    /// Lets all deployment configurations count where the layers are merged; of a single one there is nothing to merge.
    pub(super) fn layer(&mut self, merges: bool) {
        let is_one = |desired: &&Desired| {
            let of = &desired.config.of;
            Kind::of_config(&of.group, &of.resource) == Some(Kind::DeploymentConfig)
        };
        self.layering = Layering::of(merges && self.refs.iter().filter(is_one).count() > 1);
    }

    pub(super) fn refuse(&mut self, is_refused: impl Fn(&Desired) -> bool) {
        for desired in self.refs.iter_mut().filter(|desired| is_refused(desired)) {
            desired.fault = Some(ConfigFault::Unsupported);
            // What was known to be good stays what it was.
            if self.deployed && !matches!(desired.source, Source::KnownGood(_)) {
                desired.hash = Name::from("");
                desired.generation = Some(0);
            }
            self.unsupported.get_or_insert_with(|| desired.config.of.clone());
        }
    }

    /// Returns what was known to be good and can be given to no cluster any more.
    pub(crate) fn lost(&self) -> Option<&Desired> {
        // Every instance is asked, and next to none is being rolled back.
        if !self.undone {
            return None;
        }
        let is_good = |desired: &&Desired| matches!(desired.source, Source::KnownGood(_));
        let mut good = self.refs.iter().filter(is_good);
        good.find(|desired| desired.fault.is_some())
    }

    /// Returns whether the only thing that differs from what is assigned is the content of the cluster's own
    /// configurations: such an edit may pass the rollout strategy by.
    pub(crate) fn moves_at_once(&self, old: &[Reference]) -> bool {
        let same_objects = old.len() == self.refs.len()
            && old
                .iter()
                .zip(&self.refs)
                .all(|(reference, desired)| reference.config == desired.config);
        let mut changed = old
            .iter()
            .zip(&self.refs)
            .filter(|(reference, desired)| reference.desired != desired.hash)
            .peekable();
        same_objects
            && changed.peek().is_some()
            && changed.all(|(_, desired)| desired.source == Source::Cluster)
    }

    /// Returns what is assigned with the present content of the cluster's own configurations, if that differs: all that a
    /// cluster may take that must wait with the rest.
    pub(crate) fn refreshed(&self, old: &[Reference]) -> Option<Vec<Reference>> {
        let renewed = |reference: &Reference| {
            let mut own = self
                .refs
                .iter()
                .filter(|desired| desired.source == Source::Cluster);
            let desired = own.find(|desired| desired.config == reference.config)?;
            (desired.hash != reference.desired).then(|| Reference {
                desired: desired.hash.clone(),
                generation: desired.generation.unwrap_or(reference.generation),
                exact: true,
                ..reference.clone()
            })
        };
        let all: Vec<Option<Reference>> = old.iter().map(renewed).collect();
        all.iter().any(Option::is_some).then(|| {
            let each = all.into_iter().zip(old);
            each.map(|(renewed, old)| renewed.unwrap_or_else(|| old.clone()))
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> ConfigRef {
        let of = ConfigType {
            group: "g".into(),
            resource: "things".into(),
        };
        ConfigRef {
            of,
            namespace: "".into(),
            name: text.into(),
        }
    }

    /// `a=1` is inherited, `a=1*` the cluster's own.
    fn effective(text: &str) -> Effective {
        let desired = |word: &str| {
            let (name, hash) = word.trim_end_matches('*').split_once('=').unwrap();
            Desired {
                config: config(name),
                source: if word.ends_with('*') {
                    Source::Cluster
                } else {
                    Source::Default
                },
                hash: hash.into(),
                generation: Some(1),
                fault: None,
                copy: None,
            }
        };
        Effective {
            refs: text.split_whitespace().map(desired).collect(),
            unsupported: None,
            deployed: true,
            layering: Layering::Replace,
            bad_version: None,
            undone: false,
        }
    }

    fn assigned(text: &str) -> Vec<Reference> {
        let reference = |word: &str| {
            let (name, hash) = word.split_once('=').unwrap();
            Reference {
                config: config(name),
                desired: hash.into(),
                applied: None,
                generation: 1,
                exact: true,
            }
        };
        text.split_whitespace().map(reference).collect()
    }

    #[test]
    fn only_edits_of_a_clusters_own_configurations_pass_a_rollout_by() {
        let rows = [
            ("a=1 b=1", "a=1 b=1*", false, ""),
            ("a=1 b=1", "a=1 b=2*", true, "a=1 b=2"),
            ("a=1 b=1", "a=2 b=2*", false, "a=1 b=2"),
            ("a=1 b=1", "a=2 b=1*", false, ""),
            ("a=1", "a=1 b=2*", false, ""),
            ("b=1 a=1", "a=1* b=2*", false, "b=2 a=1"),
            ("", "", false, ""),
        ];
        for (old, new, at_once, refreshed) in rows {
            let (old, new) = (assigned(old), effective(new));
            assert_eq!(new.moves_at_once(&old), at_once, "{old:?}");
            let got = new.refreshed(&old).unwrap_or_default();
            let got: Vec<String> = got
                .iter()
                .map(|one| format!("{}={}", one.config.name, one.desired))
                .collect();
            assert_eq!(got.join(" "), refreshed);
        }
    }
}
