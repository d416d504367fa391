//! The program as a plugin of kubectl: `kubectl-tidegate`, and `kubectl_complete-tidegate`, which kubectl asks to complete a line.
//!
//! Decides what may stand next on a command line. Asks a hub only for the names of rollouts and clusters, and not for long.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, Command, CommandFactory as _};

use super::print::print;
use super::rollout::{Named, names_on_hub};
use super::{Cli, CliError};
use kubernetes::field::Shown;

/// Name of the plugin's program, and how kubectl calls it.
const PLUGIN: &str = "kubectl-tidegate";
const CALLED: &str = "kubectl tidegate";
/// Name of the program that completes.
const COMPLETER: &str = "kubectl_complete-tidegate";
/// What kubectl does when nothing is proposed: it proposes files; and when something is: it does not.
const FILES: &str = ":0";
const NO_FILES: &str = ":4";

/// Returns the command line, under the name by which it was called.
pub(super) fn command() -> Command {
    let command = super::help::concise(Cli::command());
    if called_as(PLUGIN) {
        command.bin_name(CALLED)
    } else {
        command
    }
}

/// Returns whether the program is asked to complete a line.
pub(super) fn completes() -> bool {
    called_as(COMPLETER)
}

fn called_as(name: &str) -> bool {
    let called = std::env::args_os().next().map(PathBuf::from);
    let stem = called.as_deref().and_then(Path::file_stem);
    stem.is_some_and(|stem| stem == name)
}

/// Proposes what may stand next: a line each, and what kubectl is to do with them.
pub(super) fn complete() -> Result<ExitCode, CliError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let proposed = proposals(&Cli::command(), &words, names_on_hub);
    let directive = if proposed.is_empty() { FILES } else { NO_FILES };
    let lines: Vec<&str> = proposed.iter().map(String::as_str).chain([directive]).collect();
    print(&Shown::page(&format!("{}\n", lines.join("\n"))))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns what may stand in place of the last word.
fn proposals(
    root: &Command,
    words: &[String],
    names: impl Fn(Named, Option<&Path>) -> Vec<String>,
) -> Vec<String> {
    let (last, before) = match words.split_last() {
        Some((last, before)) => (last.as_str(), before),
        None => ("", &[][..]),
    };
    let (mut command, mut path) = (root, Vec::new());
    let mut open: Option<&Arg> = None;
    let mut placed = 0usize;
    let mut kubeconfig = None;
    for word in before {
        if let Some(flag) = open.take() {
            if flag.get_long() == Some("kubeconfig") {
                kubeconfig = Some(PathBuf::from(word));
            }
        } else if word.starts_with('-') {
            open = flag(command, word).filter(|flag| takes_value(flag) && !word.contains('='));
        } else if let Some(next) = command.find_subcommand(word) {
            command = next;
            path.push(next.get_name());
        } else {
            placed = placed.saturating_add(1);
        }
    }
    let on_hub = |named: Named| {
        let found = names(named, kubeconfig.as_deref());
        found.into_iter().map(|name| (name, String::new())).collect()
    };
    let all: Vec<(String, String)> = if let Some(flag) = open {
        if names_a_cluster(&path, flag) {
            on_hub(Named::Clusters)
        } else {
            values(flag)
        }
    } else if last.starts_with('-') {
        flags(command)
    } else if command.has_subcommands() {
        let subs = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        subs.map(|sub| (sub.get_name().to_owned(), told(sub.get_about())))
            .collect()
    } else if let Some(named) = first_word(&path).filter(|_| placed == 0) {
        on_hub(named)
    } else {
        let mut positionals = command.get_positionals();
        positionals.nth(placed).map(values).unwrap_or_default()
    };
    let fitting = all.into_iter().filter(|(word, _)| word.starts_with(last));
    fitting
        .map(|(word, about)| {
            if about.is_empty() {
                word
            } else {
                format!("{word}\t{about}")
            }
        })
        .collect()
}

/// Returns what the first word of a command is the name of.
fn first_word(path: &[&str]) -> Option<Named> {
    match path {
        ["top" | "why"] => Some(Named::Rollouts),
        ["rollout", verb] if *verb != "list" && *verb != "schema" => Some(Named::Rollouts),
        ["render"] => Some(Named::Addons),
        _ => None,
    }
}

/// Returns whether a flag of a command takes the name of a cluster.
fn names_a_cluster(path: &[&str], flag: &Arg) -> bool {
    matches!(path, ["why" | "render"]) && flag.get_long() == Some("cluster")
}

fn told(about: Option<&clap::builder::StyledStr>) -> String {
    about
        .map(|about| kubernetes::field::one_line(&about.to_string()))
        .unwrap_or_default()
}

fn flag<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    command.get_arguments().find(|arg| {
        let long = arg
            .get_long()
            .is_some_and(|long| name.strip_prefix("--") == Some(long));
        let short = arg.get_short().is_some_and(|short| name == format!("-{short}"));
        long || short
    })
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

fn flags(command: &Command) -> Vec<(String, String)> {
    let all = command.get_arguments().filter(|arg| !arg.is_hide_set());
    all.filter_map(|arg| Some((format!("--{}", arg.get_long()?), told(arg.get_help()))))
        .collect()
}

fn values(arg: &Arg) -> Vec<(String, String)> {
    let all = arg.get_possible_values();
    all.iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| (value.get_name().to_owned(), told(value.get_help())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed(line: &str) -> Vec<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let names = |named: Named, kubeconfig: Option<&Path>| match (kubeconfig, named) {
            (Some(_), _) => vec!["from-the-flag".to_owned()],
            (None, Named::Rollouts) => vec!["helloworld".to_owned(), "mcu/default/to-4-12".to_owned()],
            (None, Named::Addons) => vec!["helloworld".to_owned()],
            (None, Named::Clusters) => vec!["cluster1".to_owned(), "cluster2".to_owned()],
        };
        let found = proposals(&Cli::command(), &words, names);
        found
            .into_iter()
            .map(|line| line.split('\t').next().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn what_may_stand_next_is_proposed() {
        let rows: [(&str, &[&str]); 10] = [
            ("rollout st", &["status"]),
            ("rollout status ", &["helloworld", "mcu/default/to-4-12"]),
            ("rollout status m", &["mcu/default/to-4-12"]),
            ("rollout status helloworld ", &[]),
            ("rollout pause --kubeconfig x ", &["from-the-flag"]),
            ("rollout status helloworld --wa", &["--watch"]),
            ("why helloworld -o ", &["text", "json"]),
            ("why helloworld --cluster ", &["cluster1", "cluster2"]),
            ("render ", &["helloworld"]),
            ("render helloworld --live --cluster cluster2", &["cluster2"]),
        ];
        for (line, expected) in rows {
            assert_eq!(proposed(line), expected, "{line:?}");
        }
        assert!(proposed("").contains(&"rollout".to_owned()));
    }
}
