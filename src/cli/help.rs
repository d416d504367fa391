//! What `--help` shows of a command: its own flags. The flags that many commands share are shown once, by `tidegate options`.

use std::collections::BTreeSet;

use clap::{Arg, ArgAction, Args as _, Command};

use super::print::print;
use super::{CliError, ColourArg, ControllerArgs, HubArgs, SettingsArgs};
use kubernetes::field::Shown;

/// The command whose `--help` shows every flag, because its flags are its configuration.
const SERVE: &str = "serve";
/// The command that starts what `serve` starts, with the same flags.
const DEV: &str = "dev";
const SHARED: &str = "Shared flags";

/// Returns the flags of the connection to the hub and of the output.
fn connection() -> Command {
    let color = Arg::new("color")
        .long("color")
        .value_name("WHEN")
        .value_parser(clap::value_parser!(ColourArg))
        .default_value("auto")
        .help("When to use colors in the output");
    let quiet = Arg::new("quiet")
        .short('q')
        .long("quiet")
        .action(ArgAction::SetTrue)
        .help("Print no notes and no progress, only results and errors");
    let verbose = Arg::new("verbose")
        .short('v')
        .long("verbose")
        .action(ArgAction::Count)
        .help("Log more on standard error; twice also for requests to the hub");
    let own = Command::new("options").args([color, quiet, verbose]);
    SettingsArgs::augment_args(HubArgs::augment_args(own))
}

/// Returns the settings of the controllers, which commands that plan accept as flags.
fn settings() -> Command {
    ControllerArgs::augment_args(Command::new("options"))
}

/// Returns the flags that many commands share.
pub(super) fn shared() -> Command {
    ControllerArgs::augment_args(connection())
}

/// Returns a command line whose `--help` shows, for each command, what is its own, with a line for each flag.
///
/// `tidegate help COMMAND` still shows the long texts. Every flag is accepted as before.
pub(super) fn concise(root: Command) -> Command {
    let shared: BTreeSet<String> = shared()
        .get_arguments()
        .map(|arg| arg.get_id().to_string())
        .collect();
    // `dev` runs what `serve` runs, with the same flags.
    let of_serve = root
        .find_subcommand(SERVE)
        .into_iter()
        .flat_map(Command::get_arguments);
    let of_serve = of_serve
        .map(|arg| arg.get_id().to_string())
        .chain(shared.iter().cloned());
    let of_serve: BTreeSet<String> = of_serve.collect();
    let root = root.mut_subcommands(|sub| {
        if sub.get_name() == DEV {
            own_flags(sub, "tidegate", &of_serve)
        } else {
            sub
        }
    });
    own_flags(root, "", &shared)
}

fn own_flags(command: Command, path: &str, shared: &BTreeSet<String>) -> Command {
    if command.get_arguments().any(|arg| arg.get_id() == "help") {
        return command;
    }
    if command.get_name() == SERVE {
        // Disabling the flag of the root disables it here as well.
        return command.arg(help_flag(ArgAction::Help));
    }
    let path = format!("{path} {}", command.get_name());
    let verb = path.split_once(' ').map_or("", |(_, path)| path).to_owned();
    let verb = verb
        .split_once(' ')
        .map_or(String::new(), |(_, verb)| verb.to_owned());
    let hides = command
        .get_arguments()
        .any(|arg| shared.contains(arg.get_id().as_str()));
    let described = match command.get_long_about() {
        Some(about) => about.clone(),
        None => command.get_about().cloned().unwrap_or_default(),
    };
    let more = if verb.is_empty() {
        "Run `tidegate help COMMAND` for the details of a command, and `tidegate options` for the flags of all commands."
            .to_owned()
    } else if hides {
        format!(
            "Run `tidegate help {verb}` for details, and `tidegate options` for the flags of all commands."
        )
    } else {
        format!("Run `tidegate help {verb}` for details.")
    };
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    let after = after.map_or_else(|| more.clone(), |after| format!("{after}\n{more}"));
    command
        .disable_help_flag(true)
        .arg(help_flag(ArgAction::HelpShort))
        .about(described)
        .after_help(after)
        .mut_args(|arg| {
            let is_shared = shared.contains(arg.get_id().as_str());
            arg.hide_short_help(is_shared)
                .hide_long_help(is_shared)
                .help_heading(None::<&'static str>)
        })
        .mut_subcommands(|sub| own_flags(sub, &path, shared))
}

fn help_flag(action: ArgAction) -> Arg {
    Arg::new("help")
        .short('h')
        .long("help")
        .action(action)
        .help("Print help")
}

/// Prints the flags that many commands share.
pub(super) fn options() -> Result<(), CliError> {
    print(&Shown::page(&shared_flags()))
}

/// Returns the flags that many commands share, with their long texts.
pub(super) fn shared_flags() -> String {
    let of = |command: Command| {
        let mut command = command
            .term_width(100)
            .disable_help_flag(true)
            .help_template("{options}")
            .mut_args(|arg| arg.help_heading(None::<&'static str>).hide_short_help(false));
        let text = command.render_long_help().to_string();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    };
    format!(
        "{SHARED}: output and connection to the hub\n\n{}\n\n\
         {SHARED}: settings of the controllers\n\n\
         `serve` and `dev` take these flags. Commands that plan read the settings from the hub;\n\
         these flags override them.\n\n{}\n",
        of(connection()),
        of(settings())
    )
}
