//! The program as a plugin of kubectl, `kubectl-tidegate`, and completion: for shells, and for kubectl as `kubectl_complete-tidegate`.
//!
//! Decides what may stand next on a command line. Asks a hub only for names, and not for long.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgAction, Args as _, Command, CommandFactory as _, ValueHint};

use super::print::print;
use super::rollout::{Named, names_on_hub};
use super::{Cli, CliError, HubArgs, connect};
use kubernetes::field::Shown;

/// Name of the plugin's program, and how kubectl calls it.
const PLUGIN: &str = "kubectl-tidegate";
const CALLED: &str = "kubectl tidegate";
/// Name of the program that completes.
const COMPLETER: &str = "kubectl_complete-tidegate";
/// The command by which scripts of shells ask for the same.
const COMPLETE: &str = "__complete";
/// Whether the shell proposes files; the values are kubectl's.
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

/// Returns the words of a line that the program is asked to complete.
pub(super) fn completes() -> Option<Vec<String>> {
    let mut words = std::env::args();
    let _program = words.next();
    if called_as(COMPLETER) {
        return Some(words.collect());
    }
    (words.next().as_deref() == Some(COMPLETE)).then(|| words.collect())
}

fn called_as(name: &str) -> bool {
    let called = std::env::args_os().next().map(PathBuf::from);
    let stem = called.as_deref().and_then(Path::file_stem);
    stem.is_some_and(|stem| stem == name)
}

/// Proposes what may stand next: a line each, and what the shell is to do with them.
pub(super) fn complete(words: &[String]) -> Result<ExitCode, CliError> {
    let (proposed, directive) = proposals(&Cli::command(), words, names);
    let lines: Vec<&str> = proposed.iter().map(String::as_str).chain([directive]).collect();
    print(&Shown::tabbed(&format!("{}\n", lines.join("\n"))))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns names of something: of the hub, of the kubeconfig, or those that this program explains.
fn names(named: Named, hub: &HubArgs) -> Vec<String> {
    match named {
        Named::Contexts => connect::contexts(hub.connection.kubeconfig.as_deref()),
        Named::Topics => insight::explain::topics(),
        Named::Rollouts | Named::Addons | Named::Clusters | Named::Freezes | Named::Namespaces => {
            names_on_hub(named, hub)
        }
    }
}

/// What the words before the last one mean.
struct Line<'c> {
    command: &'c Command,
    /// The names of the command.
    path: Vec<&'c str>,
    /// The flag whose value comes next.
    open: Option<&'c Arg>,
    /// Number of positional arguments.
    placed: usize,
    hub: HubArgs,
}

impl<'c> Line<'c> {
    fn read(root: &'c Command, shared: &'c Command, before: &[String]) -> Self {
        let mut line = Self {
            command: root,
            path: Vec::new(),
            open: None,
            placed: 0,
            hub: HubArgs::default(),
        };
        for word in before.iter().filter(|word| *word != "=") {
            if let Some(flag) = line.open.take() {
                match flag.get_long() {
                    Some("kubeconfig") => line.hub.connection.kubeconfig = Some(PathBuf::from(word)),
                    Some("context") => line.hub.connection.context = Some(word.clone()),
                    Some(_) | None => {}
                }
            } else if word.starts_with('-') {
                let found = line.flag(root, shared, word);
                line.open = found.filter(|_| !word.contains('='));
            } else if let Some(next) = line.command.find_subcommand(word) {
                line.command = next;
                line.path.push(next.get_name());
            } else {
                line.placed = line.placed.saturating_add(1);
            }
        }
        line
    }

    /// Returns a flag that takes a value.
    fn flag(&self, root: &'c Command, shared: &'c Command, word: &str) -> Option<&'c Arg> {
        let found = [self.command, root, shared]
            .into_iter()
            .find_map(|command| flag(command, word));
        found.filter(|flag| takes_value(flag))
    }

    /// Returns the flags that `-h` shows and, where none of them fits, the others.
    fn flags(&self, shared: &Command, last: &str) -> Vec<(String, String)> {
        let shared = Some(shared).filter(|_| self.command.is_subcommand_required_set());
        let all = || std::iter::once(self.command).chain(shared);
        let shown = all().flat_map(|command| flags(command, Arg::is_hide_short_help_set));
        let shown: Vec<_> = shown.collect();
        if shown.iter().any(|(word, _)| word.starts_with(last)) {
            return shown;
        }
        all()
            .flat_map(|command| flags(command, Arg::is_hide_set))
            .collect()
    }

    fn positional(&self) -> Option<&'c Arg> {
        let last = self.command.get_positionals().last();
        let several = last.filter(|_| takes_several(self.command));
        self.command.get_positionals().nth(self.placed).or(several)
    }
}

/// Returns what may stand in place of the last word, and whether files may.
fn proposals(
    root: &Command,
    words: &[String],
    names: impl Fn(Named, &HubArgs) -> Vec<String>,
) -> (Vec<String>, &'static str) {
    let (mut last, before) = match words.split_last() {
        // bash makes a word of the sign between a flag and its value.
        Some((last, before)) if last == "=" => ("", before),
        Some((last, before)) => (last.as_str(), before),
        None => ("", &[][..]),
    };
    let shared = HubArgs::augment_args(Command::new("hub"));
    let mut line = Line::read(root, &shared, before);
    // Other shells leave a flag, the sign and a value in one word.
    let mut prefix = String::new();
    if line.open.is_none()
        && let Some((name, value)) = last.split_once('=').filter(|(name, _)| name.starts_with("--"))
    {
        line.open = line.flag(root, &shared, name);
        prefix = format!("{name}=");
        last = value;
    }
    let named = |named: Named| {
        let found = names(named, &line.hub);
        found.into_iter().map(|name| (name, String::new())).collect()
    };
    let mut directive = NO_FILES;
    let mut of_arg = |arg: &Arg| {
        if reads_path(arg) {
            directive = FILES;
        }
        values(arg)
    };
    let is_first = line.placed == 0 || takes_several(line.command);
    let all: Vec<(String, String)> = if let Some(flag) = line.open {
        match value_of(&line.path, flag) {
            Some(of) => named(of),
            None => of_arg(flag),
        }
    } else if last.starts_with('-') {
        line.flags(&shared, last)
    } else if line.command.has_subcommands() {
        let subs = line.command.get_subcommands().filter(|sub| !sub.is_hide_set());
        subs.map(|sub| (sub.get_name().to_owned(), told(sub.get_about())))
            .collect()
    } else if let Some(of) = first_word(&line.path).filter(|_| is_first) {
        named(of)
    } else {
        line.positional().map(&mut of_arg).unwrap_or_default()
    };
    let fitting = all.into_iter().filter(|(word, _)| word.starts_with(last));
    let lines = fitting.map(|(word, about)| {
        let separator = if about.is_empty() { "" } else { "\t" };
        format!("{prefix}{word}{separator}{about}")
    });
    (lines.collect(), directive)
}

/// Returns what the first words of a command are the names of.
fn first_word(path: &[&str]) -> Option<Named> {
    match path {
        ["rollout", "unfreeze"] => Some(Named::Freezes),
        ["rollout", "freeze"] => None,
        ["rollout", "undo"] | ["render" | "release"] => Some(Named::Addons),
        ["rollout", _] | ["top" | "why"] => Some(Named::Rollouts),
        ["explain"] => Some(Named::Topics),
        ["dev", "fault" | "heal"] => Some(Named::Clusters),
        _ => None,
    }
}

/// Returns what the value of a flag is the name of.
fn value_of(path: &[&str], flag: &Arg) -> Option<Named> {
    match (path, flag.get_long()?) {
        (_, "context") => Some(Named::Contexts),
        (_, "cluster") => Some(Named::Clusters),
        (["rollout", "freeze"], "addon") => Some(Named::Addons),
        (["rollout", ..], "namespace") => Some(Named::Namespaces),
        (_, _) => None,
    }
}

fn takes_several(command: &Command) -> bool {
    let last = command.get_positionals().last();
    last.is_some_and(|arg| matches!(arg.get_action(), ArgAction::Append))
}

fn told(about: Option<&clap::builder::StyledStr>) -> String {
    about
        .map(|about| kubernetes::field::one_line(&about.to_string()))
        .unwrap_or_default()
}

pub(super) fn flag<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    command.get_arguments().find(|arg| {
        let long = arg
            .get_long()
            .is_some_and(|long| name.strip_prefix("--") == Some(long));
        let short = arg.get_short().is_some_and(|short| name == format!("-{short}"));
        long || short
    })
}

pub(super) fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

/// Returns whether a value is a path of a file or a folder.
fn reads_path(arg: &Arg) -> bool {
    matches!(
        arg.get_value_hint(),
        ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath
    )
}

fn flags(command: &Command, is_hidden: impl Fn(&Arg) -> bool) -> Vec<(String, String)> {
    let all = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !is_hidden(arg));
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
        let names = |named: Named, hub: &HubArgs| match (&hub.connection.context, named) {
            (Some(context), Named::Rollouts) => vec![format!("of-{context}")],
            (_, Named::Rollouts) => vec!["helloworld".to_owned(), "mcu/default/to-4-12".to_owned()],
            (_, Named::Addons) => vec!["helloworld".to_owned()],
            (_, Named::Clusters) => vec!["cluster1".to_owned(), "cluster2".to_owned()],
            (_, Named::Contexts) => vec!["dev".to_owned(), "prod".to_owned()],
            (_, Named::Topics) => vec!["rollout/min-success-time".to_owned()],
            (_, Named::Freezes) => vec!["holidays".to_owned()],
            (_, Named::Namespaces) => vec!["default".to_owned()],
        };
        let (found, _) = proposals(&Cli::command(), &words, names);
        found
            .into_iter()
            .map(|line| line.split('\t').next().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn what_may_stand_next_is_proposed() {
        let rows: [(&str, &[&str]); 23] = [
            ("rollout st", &["status"]),
            ("rollout status ", &["helloworld", "mcu/default/to-4-12"]),
            ("rollout status m", &["mcu/default/to-4-12"]),
            ("rollout status helloworld m", &["mcu/default/to-4-12"]),
            ("rollout history helloworld ", &[]),
            ("rollout pause --context x ", &["of-x"]),
            ("--context x rollout pause ", &["of-x"]),
            ("rollout --context x pause ", &["of-x"]),
            ("rollout --conte", &["--context"]),
            ("--context ", &["dev", "prod"]),
            ("why x --context = ", &["dev", "prod"]),
            ("rollout status helloworld --wa", &["--watch"]),
            ("why helloworld -o ", &["text", "json", "yaml"]),
            ("why helloworld --cluster ", &["cluster1", "cluster2"]),
            ("why --cluster = cluster2", &["cluster2"]),
            ("why --cluster=cluster2", &["--cluster=cluster2"]),
            ("why --clu", &["--cluster"]),
            ("render ", &["helloworld"]),
            ("render helloworld --live --cluster cluster2", &["cluster2"]),
            ("explain rollout/", &["rollout/min-success-time"]),
            ("rollout unfreeze ", &["holidays"]),
            ("rollout freeze x --addon ", &["helloworld"]),
            ("rollout list -n ", &["default"]),
        ];
        for (line, expected) in rows {
            assert_eq!(proposed(line), expected, "{line:?}");
        }
        assert!(proposed("").contains(&"rollout".to_owned()));
    }

    #[test]
    fn files_are_proposed_only_where_a_path_is_read() {
        let rows = [
            ("check ", FILES),
            ("check a.yaml ", FILES),
            ("why x --facts ", FILES),
            ("explain rollout/addon ", NO_FILES),
            ("why x --cluster ", NO_FILES),
        ];
        for (line, expected) in rows {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let (_, directive) = proposals(&Cli::command(), &words, |_, _| Vec::new());
            assert_eq!(directive, expected, "{line:?}");
        }
    }
}
