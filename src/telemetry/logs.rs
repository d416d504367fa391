//! Logs: one line per event, on standard error, so that standard output stays for results.
//!
//! Decides level and form. Fields are facts, messages are constant.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Why logs cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter has a form that nobody understands.
    #[error("cannot read the log filter {filter:?}")]
    ParseFilter {
        /// The filter.
        filter: String,
        /// Why not.
        source: tracing_subscriber::filter::ParseError,
    },
    /// Logs have started already.
    #[error("logs have been started before")]
    StartTwice(#[source] tracing_subscriber::util::TryInitError),
}

/// Starts logs with a filter such as `info` or `tidegate=debug,warn`.
pub fn start_logs(filter: &str) -> Result<(), LogError> {
    let parsed = EnvFilter::try_new(filter).map_err(|source| LogError::ParseFilter {
        filter: filter.to_owned(),
        source,
    })?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(parsed)
        .with_writer(std::io::stderr)
        .finish();
    subscriber.try_init().map_err(LogError::StartTwice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_filter_is_named() {
        let error = start_logs("tidegate=shout").expect_err("no such level");
        assert_eq!(error.to_string(), "cannot read the log filter \"tidegate=shout\"");
    }
}
