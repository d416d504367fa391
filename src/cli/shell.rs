//! `tidegate completion` and `tidegate man`: a completion script and the manual of the command line.
//!
//! Never writes a sentence of its own: the command line says everything.

use std::path::PathBuf;

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use super::print::print;
use super::{Cli, CliError};
use crate::files::{Access, write};
use kubernetes::field::Shown;

/// Print a completion script for a shell.
///
/// In bash, zsh and fish, the script also completes names of add-ons, upgrades, clusters, contexts and rules. For the current
/// shell: `source <(tidegate completion bash)`. For all: `tidegate completion bash > /etc/bash_completion.d/tidegate`.
#[derive(Args, Clone, Debug)]
pub struct CompletionsArgs {
    /// Shell to generate the script for.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Print the manual page, or write one page per subcommand into a folder.
#[derive(Args, Clone, Debug)]
pub struct ManArgs {
    /// Output folder for `tidegate.1`, `tidegate-check.1` and the other pages; created if it does not exist.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Returns the script of a shell that asks the program for every word: names of add-ons, clusters, contexts and rules, too.
fn dynamic(shell: Shell) -> Option<&'static str> {
    let scripts = [
        (Shell::Bash, include_str!("completion/tidegate.bash")),
        (Shell::Zsh, include_str!("completion/tidegate.zsh")),
        (Shell::Fish, include_str!("completion/tidegate.fish")),
    ];
    let found = scripts.into_iter().find(|(known, _)| *known == shell);
    found.map(|(_, script)| script)
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<(), CliError> {
    if let Some(script) = dynamic(args.shell) {
        return print(&Shown::page(script));
    }
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tidegate", &mut script);
    print(&Shown::page(&String::from_utf8_lossy(&script)))
}

pub(super) fn man(args: &ManArgs) -> Result<(), CliError> {
    let mut root = Cli::command();
    root.build();
    let mut pages = Vec::new();
    collect("tidegate", &root, &mut pages);
    let Some(dir) = &args.dir else {
        let first = pages.into_iter().next();
        let (_, command) = first.unwrap_or_else(|| ("tidegate".to_owned(), root.clone()));
        return print(&Shown::page(&page(command)?));
    };
    std::fs::create_dir_all(dir).map_err(|source| CliError::PrepareFolder {
        dir: dir.clone(),
        source,
    })?;
    for (name, command) in pages {
        let path = dir.join(format!("{name}.1"));
        let text = page(command)?;
        write(&path, &text, Access::Shared).map_err(CliError::writing(&path))?;
    }
    Ok(())
}

/// Every command has a page under its full name: `tidegate-check`.
fn collect(name: &str, command: &Command, pages: &mut Vec<(String, Command)>) {
    pages.push((name.to_owned(), command.clone()));
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        collect(&format!("{name}-{}", sub.get_name()), sub, pages);
    }
}

fn page(command: Command) -> Result<String, CliError> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut text)
        .map_err(CliError::Print)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
