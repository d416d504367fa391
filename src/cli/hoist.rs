//! Shared flags before the command, or between a command and its subcommand: `tidegate --context hub rollout -n default list`.
//!
//! Decides only the order of the words. The subcommand itself reads its flags, and rejects those that it does not have.

use std::ffi::OsString;

use clap::{Arg, Command};

use super::help::shared;
use super::plugin::{flag, takes_value};

/// Returns the words of a command line with the shared flags behind the last subcommand.
pub(super) fn hoisted(root: &Command, words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words = words.into_iter();
    let shared = shared().arg(Arg::new("namespace").short('n').long("namespace"));
    let mut kept: Vec<OsString> = words.next().into_iter().collect();
    let mut moved = Vec::new();
    let mut command = root;
    while command.has_subcommands()
        && let Some(word) = words.next()
    {
        let text = word.to_string_lossy().into_owned();
        if text == "--" || !text.starts_with('-') {
            kept.push(word);
            match command.find_subcommand(&text) {
                Some(next) => command = next,
                None => break,
            }
            continue;
        }
        let own = flag(command, &text).or_else(|| flag(root, &text));
        let found = own.or_else(|| flag(&shared, &text));
        let to = match (own, found) {
            (None, Some(_)) => &mut moved,
            (Some(_), _) | (None, None) => &mut kept,
        };
        to.push(word);
        if found.is_some_and(takes_value) && !text.contains('=') {
            to.extend(words.next());
        }
    }
    kept.extend(words);
    let end = kept.iter().position(|word| word == "--").unwrap_or(kept.len());
    kept.splice(end..end, moved);
    kept
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn shared_flags_may_be_before_the_command_and_before_its_subcommand() {
        let rows = [
            ("tidegate rollout list", "tidegate rollout list"),
            (
                "tidegate --context hub rollout list -o json",
                "tidegate rollout list -o json --context hub",
            ),
            (
                "tidegate -q --color never --kubeconfig=k --token t why x -- y",
                "tidegate -q --color never why x --kubeconfig=k --token t -- y",
            ),
            (
                "tidegate --insecure-skip-tls-verify top",
                "tidegate top --insecure-skip-tls-verify",
            ),
            ("tidegate --version", "tidegate --version"),
            ("tidegate --context hub", "tidegate --context hub"),
            ("tidegate check --context hub", "tidegate check --context hub"),
            (
                "tidegate -n a rollout --kubeconfig k -v --compat=ocm status x",
                "tidegate rollout -v status x -n a --kubeconfig k --compat=ocm",
            ),
            (
                "tidegate policy --color never --as=alice export --all",
                "tidegate policy --color never export --all --as=alice",
            ),
            (
                "tidegate dev --clusters 2 --compat ocm",
                "tidegate dev --clusters 2 --compat ocm",
            ),
            (
                "tidegate dev --context hub heal c1",
                "tidegate dev heal c1 --context hub",
            ),
            (
                "tidegate rollout lst --context hub",
                "tidegate rollout lst --context hub",
            ),
        ];
        let root = Cli::command();
        for (line, expected) in rows {
            let words = hoisted(&root, line.split(' ').map(OsString::from));
            let words: Vec<String> = words
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            assert_eq!(words.join(" "), expected, "{line}");
        }
    }
}
