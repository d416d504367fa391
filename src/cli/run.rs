//! Picks the subcommand and turns its end into an exit status.
//!
//! Never does the work of a subcommand.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};

#[cfg(feature = "dev")]
use super::dev;
use super::hoist::hoisted;
use super::logs::{self, Usual};
use super::print::{self, complain};
use super::terminal::glimpsed;
use super::{
    Cli, CliError, Command, LogArgs, LogFormat, check, crds, definitions, explain, plan, plugin, policy,
    reference, render, serve, shell, snapshot, why,
};
use kubernetes::field::{Shown, acts};

/// Runs the program with the words of the command line; returns its exit status.
///
/// Clap answers `--help`, `--version` and misuse itself (status 0, 0 and 2).
pub fn run() -> ExitCode {
    glimpsed(std::env::args_os()).choose();
    if let Some(words) = plugin::completes() {
        return plugin::complete(&words).unwrap_or(ExitCode::FAILURE);
    }
    let command = plugin::command();
    let words = hoisted(&command, std::env::args_os());
    let matches = match command.try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => return misused(&error),
    };
    if let Some(words) = matches.subcommand_matches("serve").and_then(serve::contradiction) {
        return misused(&Cli::command().error(ErrorKind::ArgumentConflict, words));
    }
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return misused(&error),
    };
    cli.color.choose();
    if cli.quiet {
        print::be_quiet();
    }
    let (log, usual) = logs_of(&cli.command);
    let log = log.more(cli.quiet, cli.verbose);
    let started = logs::start(log, usual).inspect(|_| tell_panics());
    // What is logged is written before the program ends.
    let (form, ended, _writer) = match started {
        Ok((form, writer)) => (form, perform(cli.command), Some(writer)),
        Err(error) => (LogFormat::default(), Err(error), None),
    };
    match ended {
        Ok(status) => status,
        Err(CliError::Print(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            match form {
                LogFormat::Text => complain(&Shown::line(&format!("tidegate: {}", error.one_line()))),
                // In this form every line of the log is an object.
                LogFormat::Json => tracing::error!(why = error.one_line(), "the program exits with an error"),
            }
            ExitCode::from(error.exit_status())
        }
    }
}

/// Returns the flags of the log, and what is usual.
fn logs_of(command: &Command) -> (LogArgs, Usual) {
    match command {
        #[cfg(feature = "dev")]
        Command::Dev(args) => (args.logs, Usual::Draws),
        Command::Serve(args) => (args.logs, Usual::Serves),
        #[cfg(feature = "top")]
        Command::Top(_) => (LogArgs::default(), Usual::Fills),
        Command::Rollout(args) if args.follows() => (LogArgs::default(), Usual::Follows),
        Command::Check(_)
        | Command::Why(_)
        | Command::Plan(_)
        | Command::Render(_)
        | Command::Doctor(_)
        | Command::Explain(_)
        | Command::Snapshot(_)
        | Command::Policy(_)
        | Command::Rollout(_)
        | Command::Install(_)
        | Command::Uninstall(_)
        | Command::Examples(_)
        | Command::Options
        | Command::Version(_)
        | Command::Crds(_)
        | Command::Definitions(_)
        | Command::Reference(_)
        | Command::Release(_)
        | Command::Adopt(_)
        | Command::Completion(_)
        | Command::Man(_) => (LogArgs::default(), Usual::Answers),
    }
}

fn perform(command: Command) -> Result<ExitCode, CliError> {
    match command {
        Command::Check(args) => return check::run(&args),
        Command::Why(args) => return why::run(&args),
        Command::Plan(args) => return plan::run(&args),
        Command::Render(args) => return render::run(&args),
        Command::Doctor(args) => return super::doctor::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Snapshot(args) => snapshot::run(&args),
        Command::Completion(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
        #[cfg(feature = "dev")]
        Command::Dev(args) => dev::run(*args),
        Command::Serve(args) => serve::run(&args),
        Command::Crds(args) => crds::run(&args),
        Command::Release(args) => return super::release::run(&args),
        Command::Adopt(args) => super::release::adopt(&args),
        Command::Reference(args) => reference::run(&args),
        Command::Examples(args) => super::about::examples::run(&args),
        Command::Options => super::help::options(),
        Command::Version(args) => return super::about::version::run(&args),
        Command::Policy(args) => return policy::run(&args.command),
        Command::Rollout(args) => return super::rollout::run(&args),
        #[cfg(feature = "top")]
        Command::Top(args) => return super::rollout::top::run(&args),
        Command::Definitions(args) => return definitions::run(&args.command),
        Command::Install(args) => super::install::run(&args),
        Command::Uninstall(args) => return super::uninstall::run(&args),
    }
    .map(|()| ExitCode::SUCCESS)
}

/// Help, the version, or what is wrong with the words; these may be names of files that others have made up.
fn misused(error: &clap::Error) -> ExitCode {
    let text = error.render();
    let is_odd = std::env::args_os().any(|word| word.to_string_lossy().chars().any(acts));
    let page = |coloured: bool| match (is_odd, coloured) {
        (true, _) => Shown::line(&text.to_string()),
        (false, true) => Shown::painted(&text.ansi().to_string()),
        (false, false) => Shown::page(&text.to_string()),
    };
    if error.use_stderr() {
        complain(&page(print::complaints_are_coloured()));
    } else {
        print::print(&page(print::is_coloured())).unwrap_or_default();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// The message of a panic may contain text of others: it is logged like every event.
fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let words = panic.payload_as_str().unwrap_or("without words");
        tracing::error!(place, words, "panic");
    }));
}
