//! Completion in real shells: a line is typed in a terminal, and the Tab key completes it. A shell that is not installed is skipped.

use std::process::Command;

use crate::programs::Program;
use crate::rig::{Dev, condition};
use crate::terminal::Terminal;

const BASH: Program = Program::new("bash", "apt-get install bash");
const ZSH: Program = Program::new("zsh", "apt-get install zsh");
const FISH: Program = Program::new("fish", "apt-get install fish");

/// What is typed before the Tab key, and the line after it: subcommands, names on the hub, contexts, rules and values of flags.
const LINES: [(&str, &str); 8] = [
    ("tidegate rollout sta", "tidegate rollout status"),
    ("tidegate rollout status he", "tidegate rollout status helloworld"),
    (
        "tidegate why helloworld --cluster clu",
        "tidegate why helloworld --cluster cluster1",
    ),
    (
        "tidegate why helloworld --cluster=clu",
        "tidegate why helloworld --cluster=cluster1",
    ),
    (
        "tidegate rollout list --context d",
        "tidegate rollout list --context devhub",
    ),
    (
        "tidegate explain rollout/min-s",
        "tidegate explain rollout/min-success-time",
    ),
    ("tidegate why helloworld -o ya", "tidegate why helloworld -o yaml"),
    ("tidegate why --clu", "tidegate why --cluster"),
];

/// Starts a shell without files of the user, types each line and the Tab key, and compares the line.
fn complete(shell: &[&str], load: &str) {
    let dev = Dev::start(&["--clusters", "1"]);
    dev.until(
        "the add-on is available",
        &["managedclusteraddon", "helloworld", "-n", "cluster1"],
        |instance| condition(instance, "Available").is_some_and(|available| available["status"] == "True"),
    );
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_tidegate"));
    let folder = program.parent().expect("a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    let home = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("env");
    command
        .arg(format!("PATH={folder}:{path}"))
        .arg(format!("KUBECONFIG={}", dev.kubeconfig.display()))
        .arg(format!("HOME={}", home.path().display()))
        .args(shell);
    let terminal = Terminal::open((160, 24), &command);
    terminal.press(&format!("{load}; echo loaded-\"\"2\r"));
    terminal.shows("loaded-2");
    for (typed, expected) in LINES {
        terminal.press(&format!("{typed}\t"));
        let line = format!("{expected} ");
        terminal.until(&line, |page| {
            page.contains(&line) || page.contains(&format!("{expected}\n"))
        });
        // The description of a proposal is not a part of the line: what is typed next follows.
        terminal.press("#");
        terminal.until(expected, |page| {
            page.contains(&format!("{expected} #")) || page.contains(&format!("{expected}#"))
        });
        terminal.press("\u{15}");
        // `clear` is a program that not every machine has; `printf` is part of each shell.
        terminal.press("printf '\\e[2J\\e[H'\r");
        terminal.until("a clear page", |page| !page.contains('#'));
    }
}

#[test]
fn bash_completes_commands_names_and_values() {
    if BASH.is_missing() {
        return;
    }
    complete(
        &["bash", "--norc", "--noprofile", "-i"],
        "PS1='> '; source <(tidegate completion bash)",
    );
}

#[test]
fn zsh_completes_commands_names_and_values() {
    if ZSH.is_missing() {
        return;
    }
    complete(
        &["zsh", "-f", "-i"],
        "PS1='> '; autoload -Uz compinit && compinit -u -D; source <(tidegate completion zsh)",
    );
}

#[test]
fn fish_completes_commands_names_and_values() {
    if FISH.is_missing() {
        return;
    }
    complete(
        &[
            "fish",
            "--no-config",
            "-i",
            "-C",
            "set fish_autosuggestion_enabled 0; set fish_greeting; function fish_prompt; echo '> '; end",
        ],
        "tidegate completion fish | source",
    );
}
