//! How the controllers of a hub behave, for every verb that plans or judges: the one way from the command line to settings.
//!
//! Decides what counts: flags, then what the controllers publish, then defaults. Settings that are published and cannot be read
//! are no defaults: a verb that depends on them ends with that message and without a verdict.

use clap::Args;
use kube::Client;

use super::flags::{ControllerArgs, ControllerFlags, Words};
use super::published::{self, SettingsArgs};
use crate::cli::print::note as say_note;
use crate::cli::{CliError, RightsArgs};
use insight::offline::Dump;

/// Settings of the hub's controllers: the published ones, and flags in addition.
#[derive(Args, Clone, Debug)]
pub struct BehaviourArgs {
    /// Where the hub's controllers publish their settings.
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// The settings, if they are not published.
    #[command(flatten)]
    pub controllers: ControllerFlags,
}

/// What could be read of the settings of a hub's controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum SettingsReading {
    /// The controllers publish them.
    Published(Words),
    /// The hub has no such ConfigMap, as before the first start of the controllers.
    Absent(String),
    /// They cannot be read.
    Unread(String),
    /// `--settings none`.
    NotRead,
}

/// The settings of a hub's controllers exist and cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0}. The result depends on these settings. Grant this account `get` on that ConfigMap, or set the flags of the controllers and \
     --settings none"
)]
struct Unread(String);

impl SettingsArgs {
    /// Reads the settings that the controllers of a hub publish.
    pub(in crate::cli) async fn read(&self, client: Client) -> SettingsReading {
        let Some(place) = &self.settings.0 else {
            return SettingsReading::NotRead;
        };
        match published::read(client, place).await {
            Ok(Some(published)) => SettingsReading::Published(published.words),
            Ok(None) => SettingsReading::Absent(format!("{}/{}", place.namespace, place.name)),
            Err(why) => SettingsReading::Unread(why),
        }
    }

    /// Returns the settings in a dump.
    pub(in crate::cli) fn of_dump(&self, dump: &Dump) -> SettingsReading {
        match &dump.controllers_unread {
            _ if self.settings.0.is_none() => SettingsReading::NotRead,
            Some(why) => SettingsReading::Unread(format!("the dump does not contain them: {why}")),
            None => SettingsReading::Published(dump.controllers.clone()),
        }
    }
}

impl SettingsReading {
    /// Returns the note for a user that continues without these settings.
    pub(in crate::cli) fn note(&self) -> Option<String> {
        match self {
            Self::Published(_) | Self::NotRead => None,
            Self::Absent(place) => Some(format!(
                "the hub has no ConfigMap {place} with the settings of its controllers: flags and defaults are used \
                 (set --settings NAMESPACE/NAME for another one)"
            )),
            Self::Unread(why) => Some(format!(
                "cannot read the settings of the hub's controllers: {why}"
            )),
        }
    }
}

impl RightsArgs {
    /// Returns the permissions that agents may have on a hub: from flags, else from its controllers; nothing if these cannot be
    /// read.
    pub(in crate::cli) fn beside(&self, reading: &SettingsReading) -> Option<Self> {
        let published = match reading {
            SettingsReading::Published(words) => {
                ControllerFlags::published(words).map_or_else(Self::default, |known| known.rights)
            }
            SettingsReading::Unread(_)
                if self.hub_permission_namespaces.is_empty() || self.reserved_signers.is_empty() =>
            {
                return None;
            }
            SettingsReading::Absent(_) | SettingsReading::NotRead | SettingsReading::Unread(_) => {
                Self::default()
            }
        };
        Some(Self {
            hub_permission_namespaces: given_or(
                &self.hub_permission_namespaces,
                published.hub_permission_namespaces,
            ),
            reserved_signers: given_or(&self.reserved_signers, published.reserved_signers),
        })
    }
}

/// Returns the values of a flag if it was given, else the published ones.
fn given_or<T: Clone>(given: &[T], published: Vec<T>) -> Vec<T> {
    if given.is_empty() {
        published
    } else {
        given.to_vec()
    }
}

impl BehaviourArgs {
    /// Returns the settings in effect, and notes for the user.
    pub(in crate::cli) fn quietly(
        &self,
        reading: &SettingsReading,
    ) -> Result<(ControllerArgs, Vec<String>), CliError> {
        let none = Words::new();
        let mut notes: Vec<String> = reading.note().into_iter().collect();
        let words = match reading {
            SettingsReading::Published(words) => words,
            SettingsReading::NotRead | SettingsReading::Absent(_) => &none,
            SettingsReading::Unread(why) => {
                return Err(CliError::Act {
                    act: "read the settings of the hub's controllers",
                    source: Box::new(Unread(why.clone())),
                });
            }
        };
        let (args, unknown) = self.controllers.beside(words);
        notes.extend(unknown.into_iter().map(|word| {
            format!("the hub's controllers run with {word}, which this version does not support: ignored")
        }));
        Ok((args, notes))
    }

    /// Returns the settings in effect; prints the notes to standard error.
    pub(in crate::cli) fn of(&self, reading: &SettingsReading) -> Result<ControllerArgs, CliError> {
        let (args, notes) = self.quietly(reading)?;
        for note in notes {
            say_note(&note);
        }
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};

    use super::*;
    use crate::cli::Cli;

    /// Commands that contact a hub and neither plan nor validate with the settings of its controllers, each with the reason.
    const WITHOUT: &[(&str, &str)] = &[
        ("adopt", "copies role bindings as they are"),
        ("crds", "prints definitions"),
        ("definitions apply", "changes definitions"),
        ("definitions plan", "compares definitions"),
        ("definitions revert", "changes definitions"),
        ("dev", "is the controllers"),
        ("dev fault", "tells simulated clusters what goes wrong"),
        ("dev heal", "ends what goes wrong on simulated clusters"),
        ("dev faults", "lists what goes wrong on simulated clusters"),
        ("install", "prints manifests"),
        ("uninstall", "deletes an installation"),
        ("policy bench", "measures policies, which no setting changes"),
        (
            "rollout freeze",
            "writes a RolloutFreeze, which no setting changes",
        ),
        ("rollout unfreeze", "deletes a RolloutFreeze"),
        ("serve", "is the controllers"),
    ];

    fn leaves(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        for verb in command.get_subcommands() {
            let name = format!("{path} {}", verb.get_name());
            let name = name.trim_start().to_owned();
            leaves(verb, &name, found);
            found.push((name, verb.clone()));
        }
    }

    fn has(command: &Command, id: &str) -> bool {
        command.get_arguments().any(|arg| arg.get_long() == Some(id))
    }

    #[test]
    fn every_verb_that_reads_a_hub_takes_the_settings_of_its_controllers() {
        let mut verbs = Vec::new();
        leaves(&Cli::command(), "", &mut verbs);
        let reads =
            |command: &Command| has(command, "kubeconfig") || has(command, "facts") || has(command, "live");
        let reading: Vec<_> = verbs.into_iter().filter(|(_, verb)| reads(verb)).collect();
        assert!(reading.len() > 15, "{}", reading.len());
        let wrong: Vec<&str> = reading
            .iter()
            .map(|(name, verb)| (name.as_str(), verb))
            .filter(|(name, verb)| {
                let is_excused = WITHOUT.iter().any(|(known, _)| known == name);
                has(verb, "settings") == is_excused
            })
            .map(|(name, _)| name)
            .collect();
        assert!(
            wrong.is_empty(),
            "--settings, or a reason to do without: {wrong:?}"
        );
        for verb in [
            "plan",
            "render",
            "why",
            "rollout list",
            "rollout status",
            "rollout approve",
            "doctor",
        ] {
            let (_, command) = reading.iter().find(|(name, _)| name == verb).expect(verb);
            assert!(
                has(command, "compat"),
                "tidegate {verb}: the settings can be given"
            );
        }
    }

    fn args(line: &str) -> BehaviourArgs {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            behaviour: BehaviourArgs,
        }
        let words = std::iter::once("tidegate").chain(line.split_whitespace());
        <Line as clap::Parser>::try_parse_from(words)
            .expect("it parses")
            .behaviour
    }

    #[test]
    fn settings_that_cannot_be_read_are_no_defaults() {
        let unread = SettingsReading::Unread("forbidden".to_owned());
        let refused = args("").quietly(&unread).expect_err("no verdict").one_line();
        assert!(
            refused.contains("cannot read the settings")
                && refused.contains("forbidden")
                && refused.contains("--settings none"),
            "{refused}"
        );
        assert!(
            args("--compat ocm").quietly(&unread).is_err(),
            "one flag is not all of them"
        );
        let dump = Dump {
            controllers_unread: Some("forbidden".to_owned()),
            ..Dump::default()
        };
        assert!(matches!(
            args("").settings.of_dump(&dump),
            SettingsReading::Unread(_)
        ));
        let given = args("--settings none").settings.of_dump(&dump);
        assert_eq!(given, SettingsReading::NotRead);
        assert!(args("--settings none").quietly(&given).is_ok());
        assert!(RightsArgs::default().beside(&unread).is_none());
    }

    #[test]
    fn what_is_not_published_is_noted_and_defaults_count() {
        let absent = SettingsReading::Absent("tidegate/tidegate-settings".to_owned());
        let (known, notes) = args("").quietly(&absent).expect("defaults");
        assert_eq!(known.settings().compat, store::Compat::Tidegate);
        assert!(
            notes.concat().contains("no ConfigMap tidegate/tidegate-settings"),
            "{notes:?}"
        );
        let words = Words::from([("hub-permission-namespaces".to_owned(), "shared".to_owned())]);
        let rights = RightsArgs::default().beside(&SettingsReading::Published(words));
        assert_eq!(rights.expect("read").hub_permission_namespaces, ["shared"]);
    }
}
