//! The log of a run: its form and how much of it there is.
//!
//! Decides levels: programs that serve tell what they do, tools tell their answer and nothing of what the libraries under them say.

use clap::Args;
use clap::ValueEnum;

use super::CliError;
use super::print::complaints_are_coloured;
use crate::telemetry::{self, LogForm, LogWriter};

/// The variable with a filter, to see one part of the program more closely.
const FILTER: &str = "TIDEGATE_LOG";

/// How the log is written.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct LogArgs {
    /// Form of the log on standard error: lines for people, or one object of JSON a line.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// How much is logged. Libraries are a level quieter. Without it TIDEGATE_LOG counts; without both, `serve` takes `info` and `dev` takes `warn`.
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub log_level: Option<LogLevel>,
}

/// Form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line an event, coloured on a terminal unless NO_COLOR is set.
    #[default]
    Text,
    /// An object of JSON an event: time, level, target, message, facts.
    Json,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What needs an administrator.
    Error,
    /// Also what is tried again.
    Warn,
    /// Also what has changed on the hub, and every refusal of the gate.
    Info,
    /// Also why nothing has.
    Debug,
    /// Everything.
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

    /// Returns the filter of a program that serves.
    fn filter(self) -> String {
        let (own, libraries) = self.words();
        let mut filter = libraries.to_owned();
        if own != libraries {
            for part in OWN {
                filter.extend([",", part, "=", own]);
            }
        }
        if matches!(self, Self::Error | Self::Warn | Self::Info) {
            filter.extend([",", TWICE, "=off"]);
        }
        filter
    }
}

/// It says of every request that fails what its caller is told as well, and tells with its cause: hundreds of lines where a hub goes away.
const TWICE: &str = "kube_client::client";

/// What a library says is no answer to what a user asked a tool: a failure has its own line, with its cause.
const OF_TOOLS: &str = "off,tidegate=warn";

/// What kind of program a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usual {
    /// It serves, and its log is what it says.
    Serves,
    /// It draws what happens, and its log is for what goes wrong.
    #[cfg(feature = "dev")]
    Draws,
    /// It fills the terminal, into which nothing else may be written.
    #[cfg(feature = "top")]
    Fills,
    /// It answers and ends.
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
            Self::Answers => OF_TOOLS.to_owned(),
        }
    }
}

/// Returns the filter: of the flag, of the variable, or what is usual.
fn filter(flag: Option<LogLevel>, variable: Option<String>, usual: &str) -> String {
    let variable = variable.filter(|text| !text.trim().is_empty());
    flag.map(LogLevel::filter)
        .or(variable)
        .unwrap_or_else(|| usual.to_owned())
}

/// Starts the log, with what is usual for a command; returns its form, and what writes it for as long as it is held.
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
        let warn = "warn,kube_client::client=off";
        assert_eq!(filter(Some(LogLevel::Warn), variable(), "info"), warn);
        assert_eq!(filter(None, variable(), "info"), "kube=trace");
        assert_eq!(filter(None, Some(" ".to_owned()), "info"), "info");
        assert_eq!(filter(None, None, OF_TOOLS), OF_TOOLS);
    }

    #[test]
    fn libraries_are_quieter_than_the_program() {
        assert_eq!(
            LogLevel::Info.filter(),
            "warn,tidegate=info,devhub=info,spokes=info,kube_client::client=off"
        );
        assert_eq!(
            LogLevel::Debug.filter(),
            "info,tidegate=debug,devhub=debug,spokes=debug"
        );
        assert_eq!(LogLevel::Off.filter(), "off");
    }
}
