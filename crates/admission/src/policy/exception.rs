//! Exceptions: objects that can violate a policy for some time.
//!
//! Without a current time, an exception with an end counts as ended.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::fault::PolicyFault;
use super::question::Question;
use api::v1alpha1::PolicyException;
use kubernetes::field::Path;

/// The start of the text about an exception.
const EXCEPTED: &str = "excepted";

/// Returns whether the text of a finding says that an exception applies. Such a finding is recorded like any other.
pub fn is_excused(detail: &str) -> bool {
    let begins = |said: &str| said.starts_with(" until ") || said.starts_with(": ");
    let last = detail.rsplit_once(&format!(" ({EXCEPTED}")).map(|(_, said)| said);
    detail.ends_with(')') && last.is_some_and(begins)
}

/// Returns a message with the text of the exception that applies.
pub(super) fn with_excuse(message: &str, words: &str) -> String {
    format!("{message} ({words})")
}

/// A parsed exception.
#[derive(Clone, Debug)]
pub(super) struct Exception {
    names: Vec<String>,
    namespaces: Vec<String>,
    parts: Vec<String>,
    /// The time at which it ends.
    end: Option<Timestamp>,
    /// Its text: the reason, and the end as it was written.
    words: String,
}

impl Exception {
    /// Parses an exception at `path`. `parts` are the ids that it can name.
    pub(super) fn read(
        raw: &PolicyException,
        path: &Path,
        parts: &[&str],
        faults: &mut Vec<PolicyFault>,
    ) -> Option<Self> {
        let before = faults.len();
        if raw.reason.trim().is_empty() {
            faults.push(PolicyFault::at(
                path.key("reason"),
                "must contain the reason for the exception",
            ));
        }
        for (index, part) in raw.validations.iter().enumerate() {
            if !parts.contains(&part.as_str()) {
                let at = path.key("validations").index(index);
                faults.push(PolicyFault::at(at, format!("no validation has the id {part:?}")));
            }
        }
        let end = match end(&raw.until) {
            Ok(end) => end,
            Err(words) => {
                faults.push(PolicyFault::at(path.key("until"), words));
                None
            }
        };
        let until = if raw.until.is_empty() {
            String::new()
        } else {
            format!(" until {}", raw.until)
        };
        (faults.len() == before).then(|| Self {
            names: raw.names.clone(),
            namespaces: raw.namespaces.clone(),
            parts: raw.validations.clone(),
            end,
            words: format!("{EXCEPTED}{until}: {}", raw.reason.trim()),
        })
    }

    /// Returns the time at which the exception ends, if it ends.
    pub(super) fn end(&self) -> Option<Timestamp> {
        self.end
    }

    /// Returns the text of the exception if it applies to a part of the policy.
    pub(super) fn excuses(&self, question: &Question<'_>, part: &str) -> Option<&str> {
        let any = |patterns: &[String], text: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| fits(pattern, text))
        };
        let in_time = match (self.end, question.now) {
            (None, _) => true,
            (Some(end), Some(now)) => now < end,
            (Some(_), None) => false,
        };
        let holds = in_time
            && any(&self.names, question.target.name)
            && any(&self.namespaces, question.target.namespace)
            && (self.parts.is_empty() || self.parts.iter().any(|known| known == part));
        holds.then_some(self.words.as_str())
    }

    /// Returns whether the exception has ended.
    pub(super) fn has_ended(&self, now: Timestamp) -> bool {
        self.end.is_some_and(|end| now >= end)
    }
}

/// A date ends at the end of the day, in UTC.
fn end(text: &str) -> Result<Option<Timestamp>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(Some(time));
    }
    let last: Option<Date> = text.parse().ok();
    last.and_then(|day| day.checked_add(1.day()).ok())
        .and_then(|next| next.to_zoned(TimeZone::UTC).ok())
        .map(|midnight| Some(midnight.timestamp()))
        .ok_or_else(|| "must be a day such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z".to_owned())
}

/// Matches a pattern in which `*` matches any text.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut left) = text.strip_prefix(start) else {
        return false;
    };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match left.split_once(piece) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::NoFacts;
    use crate::policy::question::Target;
    use serde_json::Value;

    #[test]
    fn stars_stand_for_any_text() {
        let rows = [
            ("legacy-*", "legacy-1", true),
            ("legacy-*", "my-legacy-1", false),
            ("*", "", true),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c", false),
            ("a*a", "a", false),
            ("one", "one", true),
            ("one", "two", false),
        ];
        for (pattern, text, expected) in rows {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn an_exception_holds_until_the_end_of_its_last_day() {
        let raw = PolicyException {
            names: vec!["a*".to_owned()],
            until: "2027-01-31".to_owned(),
            reason: "JIRA-1".to_owned(),
            ..PolicyException::default()
        };
        let mut faults = Vec::new();
        let exception = Exception::read(&raw, &Path::root(), &[], &mut faults).expect("it can be read");
        let excused = |name: &str, now: Option<&str>| {
            let request = Value::Null;
            let question = Question {
                stop: Default::default(),
                target: Target {
                    name,
                    ..Target::default()
                },
                request: &request,
                object: None,
                old: None,
                namespace: None,
                facts: &NoFacts,
                now: now.map(|text| text.parse().expect("a time")),
            };
            exception.excuses(&question, "0").map(ToOwned::to_owned)
        };
        assert_eq!(
            excused("abc", Some("2027-01-31T23:59:59Z")).as_deref(),
            Some("excepted until 2027-01-31: JIRA-1")
        );
        assert_eq!(excused("abc", Some("2027-02-01T00:00:00Z")), None);
        assert_eq!(excused("abc", None), None, "without a time it has ended");
        assert_eq!(excused("b", Some("2027-01-01T00:00:00Z")), None);
    }

    #[test]
    fn an_end_that_is_no_day_and_no_time_is_a_fault() {
        assert!(end("soon").is_err());
        assert!(end("2027-02-30").is_err());
        assert_eq!(end(""), Ok(None));
    }
}
