//! The log of a run: its form and how much of it there is.
//!
//! Decides levels: programs that serve tell what they do, tools tell their answer and nothing of what the libraries under them say.

use clap::Args;
use clap::ValueEnum;

use super::CliError;
use super::print::complaints_are_coloured;
use crate::telemetry::{self, LogForm, LogWriter};

/// Environment variable with a filter, to log one part of the program in more detail.
const FILTER: &str = "TIDEGATE_LOG";

/// Log options.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct LogArgs {
    /// Log format on standard error: text, or one JSON object per line.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// Log level; libraries log one level less. Default: TIDEGATE_LOG, else `info` for `serve` and `warn` for `dev`.
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub log_level: Option<LogLevel>,
}

impl LogArgs {
    /// Returns the options with `--quiet` and `--verbose`, which count where no level is given.
    pub(super) fn more(self, quiet: bool, verbose: u8) -> Self {
        let level = match (quiet, verbose) {
            (true, _) => Some(LogLevel::Error),
            (false, 0) => None,
            (false, 1) => Some(LogLevel::Debug),
            (false, _) => Some(LogLevel::Trace),
        };
        Self {
            log_level: self.log_level.or(level),
            ..self
        }
    }
}

/// Log format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One line per event, colored on a terminal unless NO_COLOR is set.
    #[default]
    Text,
    /// One JSON object per event: time, level, target, message, fields.
    Json,
}

/// Log level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// No log.
    Off,
    /// Events that need an administrator.
    Error,
    /// Also failures that are retried.
    Warn,
    /// Also changes on the hub, and every rejection of the webhook.
    Info,
    /// Also the reasons why nothing changed.
    Debug,
    /// All events.
    Trace,
}

/// The parts of the program that log; the others only compute.
const OWN: [&str; 3] = ["tidegate", "devhub", "spokes"];

impl LogLevel {
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Off => ("off", "off"),
            Self::Error => ("error", "error"),
            Self::Warn => ("warn", "warn"),
            Self::Info => ("info", "warn"),
            Self::Debug => ("debug", "info"),
            Self::Trace => ("trace", "debug"),
        }
    }

    /// Returns the filter of a server.
    fn filter(self) -> String {
        let (own, libraries) = self.words();
        let mut filter = libraries.to_owned();
        if own != libraries {
            for part in OWN {
                filter.extend([",", part, "=", own]);
            }
        }
        if matches!(self, Self::Error | Self::Warn | Self::Info) {
            for library in TWICE {
                filter.extend([",", library, "=off"]);
            }
        }
        filter
    }
}

/// These log every failed request and every failed list of a watch, although the error with its cause is also returned to the caller,
/// which logs it in one line: hundreds of lines when a hub is unavailable.
const TWICE: [&str; 2] = ["kube_client::client", "kube_runtime::watcher"];

/// A log line of a library is not the answer of a command: a failure has its own line, with its cause.
const OF_TOOLS: &str = "off,tidegate=warn";

/// What kind of program a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usual {
    /// It serves, and the log is its output.
    Serves,
    /// It draws progress; the log is for failures.
    #[cfg(feature = "dev")]
    Draws,
    /// It fills the terminal; nothing else may write to it.
    #[cfg(feature = "top")]
    Fills,
    /// It follows a hub, and reports by itself that the hub does not answer.
    Follows,
    /// It prints a result and exits.
    Answers,
}

impl Usual {
    fn filter(self) -> String {
        match self {
            Self::Serves => LogLevel::Info.filter(),
            #[cfg(feature = "dev")]
            Self::Draws => LogLevel::Warn.filter(),
            #[cfg(feature = "top")]
            Self::Fills => LogLevel::Off.filter(),
            Self::Follows => LogLevel::Off.filter(),
            Self::Answers => OF_TOOLS.to_owned(),
        }
    }
}

/// Returns the filter: from the flag, from the variable, or the default.
fn filter(flag: Option<LogLevel>, variable: Option<String>, usual: &str) -> String {
    let variable = variable.filter(|text| !text.trim().is_empty());
    flag.map(LogLevel::filter)
        .or(variable)
        .unwrap_or_else(|| usual.to_owned())
}

/// Starts the log, with the default of a command; returns its format, and a guard that writes it until dropped.
pub(super) fn start(args: LogArgs, usual: Usual) -> Result<(LogFormat, LogWriter), CliError> {
    let LogArgs {
        log_format,
        log_level,
    } = args;
    let form = match log_format {
        LogFormat::Json => LogForm::Json,
        LogFormat::Text if complaints_are_coloured() => LogForm::Coloured,
        LogFormat::Text => LogForm::Text,
    };
    let filter = filter(log_level, std::env::var(FILTER).ok(), &usual.filter());
    let writer = telemetry::start_logs(&filter, form).map_err(CliError::starting("logs"))?;
    Ok((log_format, writer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_wins_then_the_variable_then_what_is_usual() {
        let variable = || Some("kube=trace".to_owned());
        let warn = "warn,kube_client::client=off,kube_runtime::watcher=off";
        assert_eq!(filter(Some(LogLevel::Warn), variable(), "info"), warn);
        assert_eq!(filter(None, variable(), "info"), "kube=trace");
        assert_eq!(filter(None, Some(" ".to_owned()), "info"), "info");
        assert_eq!(filter(None, None, OF_TOOLS), OF_TOOLS);
    }

    #[test]
    fn libraries_are_quieter_than_the_program() {
        assert_eq!(
            LogLevel::Info.filter(),
            "warn,tidegate=info,devhub=info,spokes=info,kube_client::client=off,kube_runtime::watcher=off"
        );
        assert_eq!(
            LogLevel::Debug.filter(),
            "info,tidegate=debug,devhub=debug,spokes=debug"
        );
        assert_eq!(LogLevel::Off.filter(), "off");
    }
}
