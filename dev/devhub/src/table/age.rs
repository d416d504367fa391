//! Ages as people read them: `5m30s`, `3d4h`, `2y10d`.
//!
//! Decides the rounding, which is that of Kubernetes.

use jiff::Timestamp;
use serde_json::Value;

use super::values::text;
use crate::builtin::go_time;

/// Returns how long a span of seconds is in words; a span that lies in the future is `<invalid>`.
pub fn human_duration(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let pair = |large: i64, unit: &str, small: i64, rest: &str| {
        if small == 0 {
            format!("{large}{unit}")
        } else {
            format!("{large}{unit}{small}{rest}")
        }
    };
    match seconds {
        // Clocks may differ by a second.
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        _ if seconds < 2 * MINUTE => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => pair(seconds / MINUTE, "m", seconds % MINUTE, "s"),
        _ if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < 8 * HOUR => pair(seconds / HOUR, "h", seconds / MINUTE % 60, "m"),
        _ if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        _ if seconds < 8 * DAY => pair(seconds / DAY, "d", seconds / HOUR % 24, "h"),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => pair(seconds / YEAR, "y", seconds / DAY % 365, "d"),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// Returns the age of a time stamp; `None` when it is no time stamp.
pub(super) fn age(stamp: &str, now: Timestamp) -> Option<String> {
    let exact = go_time::check(stamp, go_time::TIME);
    let then: Timestamp = exact.ok().and_then(|()| stamp.parse().ok())?;
    Some(human_duration(now.as_second() - then.as_second()))
}

/// Returns the age of the time at `pointer`, or `<unknown>`.
pub(super) fn age_at(object: &Value, pointer: &str, now: Timestamp) -> String {
    age(text(object, pointer), now).unwrap_or_else(|| "<unknown>".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_round_like_kubernetes() {
        const DAY: i64 = 86_400;
        for (seconds, text) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (119, "119s"),
            (120, "2m"),
            (330, "5m30s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (2 * DAY, "2d"),
            (3 * DAY + 4 * 3600, "3d4h"),
            (8 * DAY, "8d"),
            (729 * DAY, "729d"),
            (730 * DAY, "2y"),
            (6 * 365 * DAY + 326 * DAY, "6y326d"),
            (8 * 365 * DAY + DAY, "8y"),
        ] {
            assert_eq!(human_duration(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn only_time_stamps_have_an_age() {
        let now: Timestamp = "2020-01-01T00:01:00Z".parse().expect("a time");
        assert_eq!(age("2020-01-01T00:00:00Z", now), Some("60s".to_owned()));
        assert_eq!(age("not a date", now), None);
    }
}
