//! What a command line says of controllers, kept in its own words.
//!
//! Decides nothing: `serve` and `dev` tell these words on the hub.

use clap::{ArgMatches, Args, Command, FromArgMatches};

use super::flags::{Words, words_of};

/// The words of a command line that say how controllers behave, defaults included. No flag of its own.
///
/// Stands first among the fields of its struct: the others take their words out of what was matched.
#[derive(Clone, Debug, Default)]
pub struct GivenWords(pub(in crate::cli) Words);

impl Args for GivenWords {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for GivenWords {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(words_of(matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
