//! Durations as Go's `time.ParseDuration` reads them.
//!
//! Decides which texts are durations, to the nanosecond and the overflow, because the agents and managers beside us
//! decode the same fields in Go: one text that Go cannot read stops their watch for every object. Never guesses.

use std::fmt;
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

impl From<Duration> for GoDuration {
    /// Lengths beyond 292 years become the longest that there is.
    fn from(length: Duration) -> Self {
        Self(i64::try_from(length.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for GoDuration {
    /// Writes it as Go does: `1h30m0s`, `1.5s`, `250ms`, `0s`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND: u64 = 1_000_000_000;
        let nanos = self.0.unsigned_abs();
        if self.0 < 0 {
            out.write_str("-")?;
        }
        let small = [(1, "ns"), (1_000, "\u{b5}s"), (1_000_000, "ms")];
        let unit = small.iter().rev().find(|(unit, _)| nanos >= *unit);
        match unit {
            Some((unit, name)) if nanos < SECOND => {
                write!(out, "{}{name}", decimal(nanos, *unit))
            }
            Some(_) => {
                let (minutes, rest) = (nanos / (60 * SECOND), nanos % (60 * SECOND));
                if minutes >= 60 {
                    write!(out, "{}h", minutes / 60)?;
                }
                if minutes > 0 {
                    write!(out, "{}m", minutes % 60)?;
                }
                write!(out, "{}s", decimal(rest, SECOND))
            }
            None => out.write_str("0s"),
        }
    }
}

/// Writes nanoseconds as a number of a unit, without zeros at its end.
fn decimal(nanos: u64, unit: u64) -> String {
    let (whole, rest) = (nanos / unit, nanos % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = unit.ilog10() as usize;
    let fraction = format!("{rest:0>digits$}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
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
    fn is_written_as_go_writes_it() {
        for (text, written) in [
            ("0", "0s"),
            ("90m", "1h30m0s"),
            ("90s", "1m30s"),
            ("1500ms", "1.5s"),
            ("250ms", "250ms"),
            ("1.5us", "1.5\u{b5}s"),
            ("7ns", "7ns"),
            ("-2h1ms", "-2h0m0.001s"),
            ("9223372036854775807ns", "2562047h47m16.854775807s"),
            ("-9223372036854775808ns", "-2562047h47m16.854775808s"),
        ] {
            let read = GoDuration::parse(text).map(|read| read.to_string());
            assert_eq!(read.as_deref(), Ok(written), "{text}");
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

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in ".{0,40}", shape in "[-+]?[0-9.hmsnu]{0,30}") {
            for text in [&text, &shape] {
                if let Ok(read) = GoDuration::parse(text) {
                    prop_assert_eq!(GoDuration::parse(&read.to_string()), Ok(read));
                }
            }
        }

        #[test]
        fn whole_parts_add_up(hours in 0_i64..2_000_000, minutes in 0_i64..1000, seconds in 0_i64..1000) {
            let text = format!("{hours}h{minutes}m{seconds}s");
            prop_assert_eq!(nanos(&text), Ok((hours * 3600 + minutes * 60 + seconds) * 1_000_000_000));
        }
    }
}
