//! Which flags belong to which half of the program.
//!
//! Decides which flags make no sense beside `--only`. What is for the other half alone is refused, not ignored: whoever gives it
//! means something that would not happen.

use clap::ArgMatches;
use clap::parser::ValueSource;

use crate::cli::Only;

/// Flags that the gate alone has no use for.
const OF_CONTROLLERS: [&str; 13] = [
    "agent_groups",
    "audit",
    "cluster_configs",
    "compat",
    "discovery_labels",
    "elect",
    "failures",
    "hook_timeout",
    "hook_timeout_policy",
    "progressing_reasons",
    "removal_budget",
    "signing_namespace",
    "startup_time",
];
/// Flags that the controllers alone have no use for.
const OF_THE_GATE: [&str; 8] = [
    "bind",
    "certificate",
    "certificate_name",
    "client_ca",
    "client_names",
    "key",
    "linger",
    "path_secret",
];

/// Returns what is wrong with the flags of `serve`, if anything is.
pub(in crate::cli) fn nonsense(serve: &ArgMatches) -> Option<String> {
    let only = serve.get_one::<Only>("only")?;
    let (half, flags, rest) = match only {
        Only::Gate => ("gate", &OF_CONTROLLERS[..], "controllers, which do not run"),
        Only::Controllers => ("controllers", &OF_THE_GATE[..], "gate, which does not run"),
    };
    let given = |flag: &&&str| serve.value_source(flag) == Some(ValueSource::CommandLine);
    let flag = flags.iter().find(given)?.replace('_', "-");
    Some(format!(
        "--{flag} is for the {rest} with --only {half}; leave it out"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory as _;

    /// What is said of a line; empty when nothing is wrong.
    fn said(line: &str) -> String {
        let words = ["tidegate", "serve"].into_iter().chain(line.split_whitespace());
        let matches = Cli::command().try_get_matches_from(words).expect("it parses");
        nonsense(matches.subcommand_matches("serve").expect("serve")).unwrap_or_default()
    }

    #[test]
    fn flags_of_the_other_half_are_refused() {
        let rows = [
            ("--elect a/b --bind 127.0.0.1:0", false),
            (
                "--only gate --bind 127.0.0.1:0 --certificate c --key k --metrics 127.0.0.1:0",
                false,
            ),
            ("--only gate --elect a/b", true),
            ("--only gate --audit reports", true),
            ("--only gate --hook-timeout 5m", true),
            (
                "--only controllers --elect a/b --audit metrics --metrics 127.0.0.1:0",
                false,
            ),
            ("--only controllers --bind 127.0.0.1:0", true),
            ("--only controllers --key k", true),
        ];
        for (line, expected) in rows {
            assert_eq!(!said(line).is_empty(), expected, "{line}: {}", said(line));
        }
        let words = said("--only controllers --certificate c");
        assert_eq!(
            words,
            "--certificate is for the gate, which does not run with --only controllers; leave it out"
        );
    }

    #[test]
    fn every_flag_that_is_named_exists() {
        let command = Cli::command();
        let serve = command.find_subcommand("serve").expect("serve");
        for flag in OF_CONTROLLERS.iter().chain(&OF_THE_GATE) {
            assert!(serve.get_arguments().any(|arg| arg.get_id() == flag), "{flag}");
        }
    }
}
