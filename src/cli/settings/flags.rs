//! The flags of controllers on verbs that only look at a hub: what is given wins, then what the hub's own controllers say.
//!
//! Decides which words count. Reads nothing: the words of the hub come in, settings go out.

use std::collections::BTreeMap;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches, Parser};

use crate::cli::options::{STOCK_LEASE, StockArg, stock_lease};
use crate::cli::{RightsArgs, TideArgs};
use crate::controllers::TideOptions;
use store::Settings;

/// Values by flag, without dashes.
pub(in crate::cli) type Words = BTreeMap<String, String>;

/// Settings of the controllers, and the permissions that agents may have on the hub.
#[derive(Args, Clone, Debug)]
pub struct ControllerArgs {
    /// Settings of the controllers.
    #[command(flatten)]
    pub tide: TideArgs,
    /// Permissions that agents may have on the hub.
    #[command(flatten)]
    pub rights: RightsArgs,
    /// Leader election Lease of OCM's add-on manager, which manages its add-ons while it holds the Lease; `none` disables
    /// the check.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = STOCK_LEASE, value_parser = stock_lease)]
    pub stock_lease: StockArg,
}

impl ControllerArgs {
    /// Returns the settings of the planner.
    pub(in crate::cli) fn settings(&self) -> Settings {
        self.rights.applied_to(TideOptions::from(&self.tide).settings)
    }
}

/// The same for a read-only command: which of the flags were given.
#[derive(Clone, Debug)]
pub struct ControllerFlags {
    given: Words,
    args: ControllerArgs,
}

const HEADING: &str = "Settings of the hub's controllers, if they are not published";

#[derive(Parser)]
#[command(disable_help_flag = true)]
struct Line {
    #[command(flatten)]
    args: ControllerArgs,
}

impl ControllerFlags {
    /// Returns the settings of controllers that publish these values; values that this version does not recognise are ignored.
    pub(in crate::cli) fn published(words: &Words) -> Option<ControllerArgs> {
        let is_known = |word: &String| parse(std::slice::from_ref(word)).is_some();
        let known: Vec<String> = words.iter().map(written).filter(is_known).collect();
        parse(&known)
    }

    /// Returns the settings in effect over those that the hub's controllers publish, and the published values that this version
    /// cannot use.
    pub(in crate::cli) fn beside(&self, told: &Words) -> (ControllerArgs, Vec<String>) {
        let mut strange = Vec::new();
        let mut words: Vec<String> = self.given.iter().map(written).collect();
        for told in told.iter().filter(|(flag, _)| !self.given.contains_key(*flag)) {
            let said = written(told);
            if parse(std::slice::from_ref(&said)).is_some() {
                words.push(said);
            } else {
                strange.push(said);
            }
        }
        // Each of them parses; should they not do so together, what was given here counts alone.
        let args = parse(&words).unwrap_or_else(|| self.args.clone());
        (args, strange)
    }
}

fn written((flag, value): (&String, &String)) -> String {
    format!("--{flag}={value}")
}

fn parse(words: &[String]) -> Option<ControllerArgs> {
    let line = std::iter::once("tidegate").chain(words.iter().map(String::as_str));
    Line::try_parse_from(line).ok().map(|line| line.args)
}

/// Returns every argument of a command line that sets the controllers, defaults included.
pub(in crate::cli) fn words_of(matches: &ArgMatches) -> Words {
    words(matches, |_| true)
}

fn words(matches: &ArgMatches, counts: impl Fn(ValueSource) -> bool) -> Words {
    let known = ControllerArgs::augment_args(Command::new("words"));
    let mut found = Words::new();
    for arg in known.get_arguments() {
        let id = arg.get_id().as_str();
        let Some(flag) = arg.get_long() else {
            continue;
        };
        if !matches.try_contains_id(id).unwrap_or(false) || !matches.value_source(id).is_some_and(&counts) {
            continue;
        }
        let values = matches.get_raw(id).into_iter().flatten();
        let values: Vec<String> = values.map(|value| value.to_string_lossy().into_owned()).collect();
        // A flag without a value has its default.
        if !values.is_empty() {
            found.insert(flag.to_owned(), values.join(","));
        }
    }
    found
}

impl Args for ControllerFlags {
    fn augment_args(command: Command) -> Command {
        let known = ControllerArgs::augment_args(Command::new("flags"));
        let hidden = known.get_arguments().cloned().map(|arg| {
            // They are shown by --help; -h shows only what is needed every day.
            arg.help_heading(HEADING).hide_short_help(true)
        });
        command.args(hidden)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ControllerFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self {
            given: words(matches, |source| source == ValueSource::CommandLine),
            args: ControllerArgs::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The arguments of a command line that set the controllers, defaults included. No flag of its own.
///
/// Must be the first field of its struct: the other fields take their values out of the matches.
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

#[cfg(test)]
mod tests {
    use super::*;
    use store::{Compat, HookTimeout, Vocabulary};

    #[derive(Parser)]
    struct Looks {
        #[command(flatten)]
        flags: ControllerFlags,
    }

    fn flags(line: &str) -> ControllerFlags {
        let words = std::iter::once("tidegate").chain(line.split_whitespace());
        Looks::try_parse_from(words).expect("it parses").flags
    }

    fn told(words: &[(&str, &str)]) -> Words {
        let pairs = words.iter();
        pairs
            .map(|(flag, value)| ((*flag).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn what_is_given_wins_over_what_the_hub_says_and_that_over_the_defaults() {
        let hub = told(&[("compat", "ocm"), ("hook-timeout", "1h")]);
        let (args, strange) = flags("--hook-timeout 5m").beside(&hub);
        let settings = args.settings();
        assert!(strange.is_empty(), "{strange:?}");
        assert_eq!(settings.compat, Compat::Ocm);
        assert_eq!(
            settings.reasons,
            Vocabulary::Ocm,
            "what follows from it follows here, too"
        );
        assert_eq!(Some(settings.hook_timeout), HookTimeout::parse("5m"));
        let (alone, _) = flags("").beside(&Words::new());
        assert_eq!(alone.settings().compat, Compat::Tidegate);
    }

    #[test]
    fn what_this_version_does_not_know_is_named_and_left_out() {
        let hub = told(&[
            ("colour-of-the-sea", "blue"),
            ("compat", "solaris"),
            ("manage", "marked"),
        ]);
        let (args, strange) = flags("").beside(&hub);
        assert_eq!(strange, ["--colour-of-the-sea=blue", "--compat=solaris"]);
        assert_eq!(args.settings().managing, store::Managing::Marked);
    }

    #[test]
    fn the_words_of_a_command_line_mean_the_same_when_they_are_read_back() {
        let command = ControllerArgs::augment_args(Command::new("serve"));
        let line = "serve --compat ocm --hub-permission-namespaces a,b --reserved-signers example.com/a=one,example.com/b --startup-time 90s --stock-lease none";
        let matches = command.get_matches_from(line.split_whitespace());
        let here = ControllerArgs::from_arg_matches(&matches).expect("it parses");
        let (there, strange) = flags("").beside(&words_of(&matches));
        assert!(strange.is_empty(), "{strange:?}");
        assert_eq!(here.settings(), there.settings());
        assert_eq!(there.stock_lease, StockArg(None));
    }
}
