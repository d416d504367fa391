//! Durations as Go's `time.ParseDuration` reads them.
//!
//! Decides which texts are durations, to the nanosecond and the overflow, because the agents and managers beside us
//! decode the same fields in Go: one text that Go cannot read stops their watch for every object. Never guesses.

use std::time::Duration;

/// Why a text is no duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DurationError {
    /// It does not have the form of a duration.
    Invalid,
    /// A number has no unit behind it.
    MissingUnit,
    /// A unit does not exist.
    UnknownUnit(String),
    /// It is longer than 2^63 nanoseconds (about 292 years).
    Overflow,
}

/// A signed span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration(i64);

const LIMIT: u64 = 1 << 63;

impl GoDuration {
    /// Reads `1h30m`, `-1.5h`, `300ms`, `0`; everything that Go reads, and nothing else.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let (negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, text.strip_prefix('-').unwrap_or_default()),
            Some(b'+') => (false, text.strip_prefix('+').unwrap_or_default()),
            Some(_) | None => (false, text),
        };
        if rest == "0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(DurationError::Invalid);
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (nanos, after) = one_part(rest)?;
            total = total
                .checked_add(nanos)
                .filter(|sum| *sum <= LIMIT)
                .ok_or(DurationError::Overflow)?;
            rest = after;
        }
        match (negative, i64::try_from(total)) {
            (false, Ok(nanos)) => Ok(Self(nanos)),
            (true, Ok(nanos)) => Ok(Self(-nanos)),
            (true, Err(_)) => Ok(Self(i64::MIN)),
            (false, Err(_)) => Err(DurationError::Overflow),
        }
    }

    /// Returns the length in nanoseconds.
    pub fn nanos(self) -> i64 {
        self.0
    }

    /// Returns the length, or nothing when it is negative.
    pub fn length(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }
}

/// Returns what somebody who wrote `text` probably meant, if that is a duration.
pub(super) fn probably_meant(text: &str) -> Option<String> {
    let mut meant = String::new();
    let mut letters = String::new();
    if text.len() > 64 {
        return None;
    }
    for letter in text
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .chain(['\0'])
    {
        if letter.is_ascii_digit() || letter == '.' || letter == '\0' {
            if !letters.is_empty() {
                write_unit(&mut meant, &letters.to_lowercase())?;
                letters.clear();
            }
            if letter != '\0' {
                meant.push(letter);
            }
        } else {
            letters.push(letter);
        }
    }
    let differs = meant != text;
    (differs && GoDuration::parse(&meant).is_ok_and(|duration| duration.nanos() > 0)).then_some(meant)
}

fn write_unit(meant: &mut String, unit: &str) -> Option<()> {
    match unit {
        "ms" | "msec" | "millis" | "milliseconds" => meant.push_str("ms"),
        "s" | "sec" | "secs" | "second" | "seconds" => meant.push('s'),
        "m" | "min" | "mins" | "minute" | "minutes" => meant.push('m'),
        "h" | "hr" | "hrs" | "hour" | "hours" => meant.push('h'),
        // Go has no days, because days are not always 24 hours long. Whoever writes them here means 24 hours.
        "d" | "day" | "days" => {
            let days: u32 = meant.parse().ok()?;
            *meant = format!("{}h", days.checked_mul(24)?);
        }
        _ => return None,
    }
    Some(())
}

fn one_part(text: &str) -> Result<(u64, &str), DurationError> {
    let (whole, rest) = leading(text, |letter| letter.is_ascii_digit());
    let (fraction, rest, has_point) = match rest.strip_prefix('.') {
        Some(after) => {
            let (fraction, rest) = leading(after, |letter| letter.is_ascii_digit());
            (fraction, rest, true)
        }
        None => ("", rest, false),
    };
    if whole.is_empty() && fraction.is_empty() {
        // A lone point and a text that starts with anything but a digit or a point are equally no duration.
        return Err(DurationError::Invalid);
    }
    let (unit, rest) = leading(rest, |letter| !(letter.is_ascii_digit() || letter == '.'));
    if unit.is_empty() {
        return Err(if has_point && rest.starts_with('.') {
            DurationError::Invalid
        } else {
            DurationError::MissingUnit
        });
    }
    let nanos = unit_nanos(unit).ok_or_else(|| DurationError::UnknownUnit(unit.to_owned()))?;
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().map_err(overflow)?
    };
    let length = whole
        .checked_mul(nanos)
        .filter(|length| *length <= LIMIT)
        .ok_or(DurationError::Overflow)?;
    let length = length
        .checked_add(fraction_nanos(fraction, nanos))
        .filter(|length| *length <= LIMIT)
        .ok_or(DurationError::Overflow)?;
    Ok((length, rest))
}

fn overflow(_: std::num::ParseIntError) -> DurationError {
    // The text is digits only, so that too many of them is the only way to fail.
    DurationError::Overflow
}

fn leading(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|letter| !belongs(letter)).unwrap_or(text.len());
    text.split_at(end)
}

fn unit_nanos(unit: &str) -> Option<u64> {
    match unit {
        "ns" => Some(1),
        // Both characters for micro: U+00B5 and U+03BC.
        "us" | "\u{b5}s" | "\u{3bc}s" => Some(1_000),
        "ms" => Some(1_000_000),
        "s" => Some(1_000_000_000),
        "m" => Some(60_000_000_000),
        "h" => Some(3_600_000_000_000),
        _ => None,
    }
}

// Go computes fractions in 64-bit floats and drops digits that do not fit 63 bits; the same rounding is wanted here.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the same float arithmetic as Go's; the result is below 3.6e12 and never negative"
)]
fn fraction_nanos(digits: &str, unit: u64) -> u64 {
    let mut value: u64 = 0;
    let mut scale: f64 = 1.0;
    for digit in digits.chars().filter_map(|digit| digit.to_digit(10)) {
        if value > (LIMIT - 1) / 10 {
            break;
        }
        let next = value * 10 + u64::from(digit);
        if next > LIMIT {
            break;
        }
        value = next;
        scale *= 10.0;
    }
    if value == 0 {
        0
    } else {
        (value as f64 * (unit as f64 / scale)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nanos(text: &str) -> Result<i64, DurationError> {
        GoDuration::parse(text).map(GoDuration::nanos)
    }

    #[test]
    fn reads_what_go_reads() {
        let second = 1_000_000_000_i64;
        for (text, expected) in [
            ("0", 0),
            ("-0", 0),
            ("5s", 5 * second),
            ("+5s", 5 * second),
            ("-5s", -5 * second),
            ("1478s", 1478 * second),
            ("5.0s", 5 * second),
            ("5.s", 5 * second),
            (".5s", second / 2),
            ("1.004s", second + 4_000_000),
            ("100.00100s", 100 * second + 1_000_000),
            ("10ns", 10),
            ("11us", 11_000),
            ("12\u{b5}s", 12_000),
            ("12\u{3bc}s", 12_000),
            ("13ms", 13_000_000),
            ("14s", 14 * second),
            ("15m", 900 * second),
            ("16h", 16 * 3600 * second),
            ("3h30m", 12_600 * second),
            ("10.5s4m", 250 * second + second / 2),
            ("-2m3.4s", -(123 * second + 400_000_000)),
            ("1h2m3s4ms5us6ns", 3_723_004_005_006),
            ("52763797000ns", 52_763_797_000),
            ("0.3333333333333333333h", 1_200 * second),
            ("9007199254740993ns", (1 << 53) + 1),
            ("9223372036854775807ns", i64::MAX),
            ("9223372036854775.807us", i64::MAX),
            ("9223372036s854ms775us807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            ("-9223372036854775.808us", i64::MIN),
            ("0.100000000000000000000h", 360 * second),
            ("0.830103483285477580700h", 2_988_372_539_827),
        ] {
            assert_eq!(nanos(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn refuses_what_go_refuses() {
        use DurationError::{Invalid, MissingUnit, Overflow, UnknownUnit};
        for (text, expected) in [
            ("", Invalid),
            ("-", Invalid),
            ("banana", Invalid),
            ("s", Invalid),
            (".", Invalid),
            ("-.", Invalid),
            (".s", Invalid),
            ("+.s", Invalid),
            (" 5s", Invalid),
            ("3", MissingUnit),
            ("1h30", MissingUnit),
            ("5min", UnknownUnit("min".into())),
            ("1d", UnknownUnit("d".into())),
            ("5s ", UnknownUnit("s ".into())),
            ("3000000h", Overflow),
            ("9223372036854775808ns", Overflow),
            ("9223372036854775.808us", Overflow),
            ("-9223372036854775809ns", Overflow),
            ("99999999999999999999999s", Overflow),
            ("9223372036854775808ns9223372036854775808ns", Overflow),
        ] {
            assert_eq!(nanos(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn common_slips_are_understood() {
        for (text, meant) in [
            ("5min", Some("5m")),
            ("5 m", Some("5m")),
            ("5M", Some("5m")),
            ("1 hour 30 minutes", Some("1h30m")),
            ("2d", Some("48h")),
            ("5m", None),
            ("5", None),
            ("banana", None),
            ("0min", None),
        ] {
            assert_eq!(probably_meant(text).as_deref(), meant, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in ".{0,40}", shape in "[-+]?[0-9.hmsnu]{0,30}") {
            let read = [&text, &shape].map(|text| (nanos(text).is_ok(), probably_meant(text).is_none()));
            prop_assert!(read.len() == 2);
        }

        #[test]
        fn whole_parts_add_up(hours in 0_i64..2_000_000, minutes in 0_i64..1000, seconds in 0_i64..1000) {
            let text = format!("{hours}h{minutes}m{seconds}s");
            prop_assert_eq!(nanos(&text), Ok((hours * 3600 + minutes * 60 + seconds) * 1_000_000_000));
        }
    }
}
