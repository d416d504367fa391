//! Ages of fixed moments, which grow with every day after the recording.
//!
//! Decides whether a found age is the recorded one, grown by the time since: by form and by length, never by the day of
//! the run. Ages of things that a replay makes itself are symbols before this is asked.

use std::{ops::RangeInclusive, sync::LazyLock};

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use regex::Regex;

const DAY: i64 = 86_400;
const YEAR: i64 = 365 * DAY;

/// The day of the recording; an age tells of it to the day at best, and the recording took less than one.
const RECORDED: Date = jiff::civil::date(2026, 11, 21);

/// Tells whether both texts are ages of years and the second one is the first, as old as it is now.
pub(crate) fn is_grown(recorded: &str, found: &str, now: Timestamp) -> bool {
    let (Some(then), Some(today)) = (seconds(recorded), seconds(found)) else {
        return false;
    };
    let Ok(day) = RECORDED.to_zoned(TimeZone::UTC) else {
        return false;
    };
    let since = now.as_second() - day.timestamp().as_second();
    // The recording may have begun or ended anywhere in its day.
    let expected = then.start() + since - DAY..=then.end() + since + DAY;
    expected.contains(today.start()) || expected.contains(today.end()) || today.contains(expected.start())
}

/// Returns how many seconds an age of years may stand for; `None` for what Kubernetes would write otherwise.
fn seconds(age: &str) -> Option<RangeInclusive<i64>> {
    static FORM: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^([1-9]\d*)y(?:([1-9]\d{0,2})d)?$").expect("a valid pattern"));
    let parts = FORM.captures(age)?;
    let years: i64 = parts[1].parse().ok()?;
    let days: Option<i64> = parts.get(2).map(|days| days.as_str().parse()).transpose().ok()?;
    let start = years.checked_mul(YEAR)? + days.unwrap_or_default() * DAY;
    match (years, days) {
        (2..8, None | Some(1..365)) => Some(start..=start + DAY - 1),
        (8.., None) => Some(start..=start + YEAR - 1),
        (_, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(now: &str, found: &str, expected: bool) {
        let now: Timestamp = now.parse().expect("a time");
        assert_eq!(is_grown("6y326d", found, now), expected, "{found} at {now}");
    }

    #[test]
    fn an_age_grows_with_the_days_since_the_recording() {
        check("2026-11-21T12:00:00Z", "6y326d", true);
        check("2026-11-22T00:00:01Z", "6y327d", true);
        check("2026-12-22T13:00:00Z", "6y357d", true);
        check("2026-12-31T00:00:01Z", "7y1d", true);
        check("2026-12-30T00:00:01Z", "7y", true);
        check("2028-02-29T23:59:59Z", "8y", true);
        check("2029-11-22T12:00:00Z", "9y", true);
        check("2039-11-22T12:00:00Z", "19y", true);
    }

    #[test]
    fn another_age_or_another_form_is_a_difference() {
        check("2026-11-22T12:00:00Z", "6y324d", false);
        check("2026-11-22T12:00:00Z", "6y330d", false);
        check("2026-11-22T12:00:00Z", "5y327d", false);
        check("2026-11-22T12:00:00Z", "6y0d", false);
        check("2026-11-22T12:00:00Z", "6y400d", false);
        check("2026-11-22T12:00:00Z", "2518d", false);
        check("2029-11-22T12:00:00Z", "9y327d", false);
        check("2029-11-22T12:00:00Z", "8y", false);
        check("2026-11-22T12:00:00Z", "<unknown>", false);
        check("2026-11-22T12:00:00Z", "99999999999999999999y", false);
        check("2026-11-22T12:00:00Z", "9223372036854775807y", false);
    }

    #[test]
    fn only_ages_of_years_grow() {
        let now: Timestamp = "2026-11-22T12:00:00Z".parse().expect("a time");
        assert!(!is_grown("red", "red", now));
        assert!(!is_grown("$age", "6y327d", now));
        assert!(!is_grown("$age", "2y", now));
    }
}
