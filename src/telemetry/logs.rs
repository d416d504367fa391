//! Logs: one line per event, on standard error, so that standard output stays for results.
//!
//! Decides level and form. Fields are facts, messages are constant. A fact may be the word of any client of the hub (a cluster
//! reports what it likes), so nothing in it ends the line, acts on a terminal or looks like another field.

use std::fmt;
use std::fmt::Write as _;
use std::sync::OnceLock;

use anstyle::AnsiColor;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use kubernetes::field::{acts, cut, json_escaped, one_line};

/// The longest fact, in characters.
const LONGEST: usize = 4096;
const MESSAGE: &str = "message";
/// Facts of the bridge from the `log` crate; they say what the target of an event says.
const BRIDGE: &str = "log.";

/// Why logs cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter cannot be parsed.
    #[error("cannot read the log filter {filter:?}")]
    ParseFilter {
        /// The filter.
        filter: String,
        /// Why not.
        source: tracing_subscriber::filter::ParseError,
    },
    /// Logs have started already.
    #[error("the log was already started")]
    StartTwice(#[source] tracing_subscriber::util::TryInitError),
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogForm {
    /// Time, level, place, message and facts.
    #[default]
    Text,
    /// The same, with the level in colour.
    Coloured,
    /// One object of JSON a line.
    Json,
}

/// So many lines wait for the reader of the log; more are left out and counted, for no answer waits for a reader.
const WAITING: usize = 8192;

/// What writes the log, and has written all of it when it is dropped, or a second later.
#[derive(Debug)]
pub struct LogWriter {
    _guard: WorkerGuard,
}

/// Lines of the log that were left out because the reader of the log did not take the ones before.
static LEFT_OUT: OnceLock<ErrorCounter> = OnceLock::new();

/// Returns how many lines of the log were left out so far.
pub(super) fn lines_left_out() -> u64 {
    let count = LEFT_OUT.get().map_or(0, ErrorCounter::dropped_lines);
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Starts logs with a filter such as `info` or `tidegate=debug,warn`. Lines are written by a thread of their own: a reader that
/// has stopped, a disk that is full and a pipe that has broken hold no request up and end nothing.
pub fn start_logs(filter: &str, form: LogForm) -> Result<LogWriter, LogError> {
    let parsed = EnvFilter::try_new(filter).map_err(|source| LogError::ParseFilter {
        filter: filter.to_owned(),
        source,
    })?;
    let (writer, guard) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(WAITING)
        .thread_name("log")
        .finish(std::io::stderr());
    let _first = LEFT_OUT.set(writer.error_counter());
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(parsed)
        .with_writer(writer)
        .event_format(form)
        .finish();
    subscriber.try_init().map_err(LogError::StartTwice)?;
    Ok(LogWriter { _guard: guard })
}

impl<S, N> FormatEvent<S, N> for LogForm
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut facts = Facts::default();
        event.record(&mut facts);
        let (level, target) = (event.metadata().level(), event.metadata().target());
        let target = facts.target.take().unwrap_or_else(|| one_line(target));
        match self {
            Self::Text => writeln!(out, "{time} {level:>5} {target}: {facts}"),
            Self::Coloured => {
                let paint = colour(*level).on_default();
                writeln!(out, "{time} {paint}{level:>5}{paint:#} {target}: {facts}")
            }
            Self::Json => {
                let line = json!({"time": time, "level": level.to_string(), "target": target,
                    "message": facts.message, "facts": facts.others});
                writeln!(out, "{}", json_escaped(&line.to_string()))
            }
        }
    }
}

fn colour(level: Level) -> AnsiColor {
    match level {
        Level::ERROR => AnsiColor::Red,
        Level::WARN => AnsiColor::Yellow,
        Level::INFO => AnsiColor::Green,
        Level::DEBUG => AnsiColor::Blue,
        Level::TRACE => AnsiColor::Magenta,
    }
}

/// What an event says.
#[derive(Debug, Default)]
struct Facts {
    message: String,
    target: Option<String>,
    others: Map<String, Value>,
}

impl Facts {
    fn put(&mut self, field: &Field, value: Value) {
        let name = field.name();
        match (name.strip_prefix(BRIDGE), &value) {
            (Some("target"), Value::String(text)) => self.target = Some(one_line(text)),
            (Some(_), _) => {}
            (None, Value::String(text)) if name == MESSAGE => self.message.clone_from(text),
            (None, _) => {
                self.others.insert(name.to_owned(), value);
            }
        }
    }

    fn say(&mut self, field: &Field, text: &str) {
        self.put(field, Value::String(cut(text, LONGEST)));
    }
}

impl Visit for Facts {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, json!(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.say(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut cause = value.source();
        while let Some(error) = cause {
            write!(text, ": {error}").unwrap_or_default();
            cause = error.source();
        }
        self.say(field, &text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.say(field, &format!("{value:?}"));
    }
}

impl fmt::Display for Facts {
    /// Writes the message and the facts on one line. A fact that could be taken for several is in quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(&self.message))?;
        for (name, value) in &self.others {
            match value {
                Value::String(text)
                    if text.is_empty()
                        || text.chars().any(|letter| acts(letter) || " =\"".contains(letter)) =>
                {
                    write!(f, " {name}={}", one_line(&format!("{text:?}")))?;
                }
                Value::String(text) => write!(f, " {name}={text}")?,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                    write!(f, " {name}={value}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex, PoisonError};

    use super::*;

    /// What was written.
    #[derive(Clone, Debug, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut page = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            page.extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(form: LogForm, tell: impl Fn()) -> String {
        let page = Page::default();
        let writer = page.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::TRACE)
            .with_writer(move || writer.clone())
            .event_format(form)
            .finish();
        tracing::subscriber::with_default(subscriber, tell);
        let bytes = page.0.lock().expect("one writer").clone();
        String::from_utf8(bytes).expect("text")
    }

    const FORGED: &str =
        "boom\n2026-11-22T00:00:00Z  INFO tidegate: forged\r\u{1b}[2J\u{9b}x\u{202e}\u{2028} level=INFO";

    fn forge() {
        let failure = io::Error::other(FORGED);
        tracing::warn!(
            said = FORGED, shown = %FORGED, debugged = ?FORGED, error = &failure as &dyn std::error::Error, size = 7,
            "work failed {FORGED}"
        );
    }

    #[test]
    fn a_message_cannot_forge_a_line_or_control_a_terminal() {
        let text = written(LogForm::Text, forge);
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        assert!(!text.trim_end().chars().any(acts), "{text}");
        assert!(
            text.contains(" WARN tidegate::telemetry::logs::tests: work failed boom 2026"),
            "{text}"
        );
        assert!(
            text.contains(" size=7") && text.contains(" shown=\"boom\\n2026"),
            "{text}"
        );
        let coloured = written(LogForm::Coloured, forge);
        assert_eq!(coloured.matches('\u{1b}').count(), 2, "{coloured}");
    }

    #[test]
    fn json_has_one_object_a_line_and_the_words_unchanged() {
        let text = written(LogForm::Json, || {
            forge();
            forge();
        });
        assert_eq!(text.lines().count(), 2);
        for line in text.lines() {
            assert!(!line.chars().any(acts), "{line}");
            let event: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(event["level"], "WARN");
            assert_eq!(event["facts"]["said"], FORGED);
            assert_eq!(event["facts"]["error"], FORGED);
            assert_eq!(event["facts"]["size"], 7);
        }
    }

    #[test]
    fn a_fact_is_bounded_and_reads_as_it_is() {
        let text = written(LogForm::Text, || {
            tracing::info!(addon = "größe", why = %"x".repeat(1 << 20), "moved");
        });
        assert!(text.contains("moved addon=größe why=xxx"), "{text}");
        assert!(text.len() < 5000);
    }

    #[test]
    fn a_bad_filter_is_named() {
        let error = start_logs("tidegate=shout", LogForm::Text).expect_err("no such level");
        assert_eq!(error.to_string(), "cannot read the log filter \"tidegate=shout\"");
    }
}
