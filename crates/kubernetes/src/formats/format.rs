//! The formats of strings that Kubernetes checks, and the names of those of numbers.
//!
//! Decides whether a text has a format; never decides how a mismatch reads, nor which values meet one.

use super::names;
use crate::duration::GoDuration;
use crate::names::{is_dns1123_label, is_dns1123_subdomain};
use jiff::civil::Date;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A format that Kubernetes knows.
#[derive(Clone, Debug)]
pub struct Format {
    name: String,
    test: Option<fn(&str) -> bool>,
}

impl Format {
    /// Finds a format by the name in a schema; dashes do not count. Unknown names yield `None` and are not checked.
    pub fn find(name: &str) -> Option<Self> {
        let test: Option<fn(&str) -> bool> = match name.replace('-', "").as_str() {
            "int32" | "int64" | "uint32" | "uint64" | "float" | "float32" | "float64" | "double" => None,
            "datetime" => Some(is_date_time),
            "date" => Some(|text| parse_date(text).is_some()),
            "duration" => Some(|text| parse_duration(text).is_some()),
            "byte" => Some(is_base64),
            "password" => Some(|_| true),
            "email" => Some(names::is_email),
            "hostname" => Some(names::is_hostname),
            "uri" => Some(names::is_uri),
            "ipv4" => Some(|text| text.parse::<Ipv4Addr>().is_ok()),
            "ipv6" => Some(|text| text.parse::<Ipv6Addr>().is_ok()),
            "cidr" => Some(is_cidr),
            "mac" => Some(is_mac),
            "uuid" => Some(|text| is_uuid(text, None)),
            "uuid3" => Some(|text| is_uuid(text, Some('3'))),
            "uuid4" => Some(|text| is_uuid(text, Some('4'))),
            "uuid5" => Some(|text| is_uuid(text, Some('5'))),
            "bsonobjectid" => Some(|text| text.len() == 24 && is_hex(text)),
            "hexcolor" => Some(is_hex_color),
            "rgbcolor" => Some(is_rgb_color),
            "ssn" => Some(is_ssn),
            "creditcard" => Some(is_credit_card),
            "isbn" => Some(|text| is_isbn10(text) || is_isbn13(text)),
            "isbn10" => Some(is_isbn10),
            "isbn13" => Some(is_isbn13),
            "k8sshortname" => Some(is_dns1123_label),
            "k8slongname" => Some(is_dns1123_subdomain),
            _ => return None,
        };
        Some(Self {
            name: name.to_owned(),
            test,
        })
    }

    /// Tells whether it is one of texts; formats of numbers are names only.
    pub fn is_of_texts(&self) -> bool {
        self.test.is_some()
    }

    /// Returns the name as the schema spells it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tells whether a string has this format; formats of numbers accept every string.
    pub fn accepts(&self, text: &str) -> bool {
        self.test.is_none_or(|test| test(text))
    }
}

fn digits(text: &str, count: usize) -> Option<i16> {
    let all = text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    if all { text.parse().ok() } else { None }
}

/// Reads `2024-02-29`.
fn parse_date(text: &str) -> Option<Date> {
    let mut parts = text.splitn(3, '-');
    let year = digits(parts.next()?, 4)?;
    let month = i8::try_from(digits(parts.next()?, 2)?).ok()?;
    let day = i8::try_from(digits(parts.next()?, 2)?).ok()?;
    Date::new(year, month, day).ok()
}

/// Tells whether a text is a date and a time of day with an offset, the way Kubernetes checks it: seconds end at 59.
fn is_date_time(text: &str) -> bool {
    let Some(at) = text.find(['t', 'T']) else {
        return false;
    };
    let (Some(date), Some(time)) = (text.get(..at), text.get(at + 1..)) else {
        return false;
    };
    parse_date(date).is_some() && is_time(time)
}

fn is_time(text: &str) -> bool {
    let upto = |from: usize, most: i16| {
        text.get(from..from + 2)
            .and_then(|part| digits(part, 2))
            .is_some_and(|number| number <= most)
    };
    let colon = |at: usize| text.get(at..=at) == Some(":");
    let clock = upto(0, 23) && colon(2) && upto(3, 59) && colon(5) && upto(6, 59);
    let Some(rest) = text.get(8..).filter(|_| clock) else {
        return false;
    };
    let zone = match rest.strip_prefix(['.', ',']) {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if zone.len() == fraction.len() {
                return false;
            }
            zone
        }
        None => rest,
    };
    zone.eq_ignore_ascii_case("z") || is_offset(zone)
}

fn is_offset(zone: &str) -> bool {
    let Some(clock) = zone.strip_prefix(['+', '-']) else {
        return false;
    };
    clock
        .split_once(':')
        .is_some_and(|(hours, minutes)| digits(hours, 2).is_some() && digits(minutes, 2).is_some())
}

/// Reads a duration: Go's form (`1h30m`) or a count and a unit in words (`3 days`). The result is in nanoseconds.
fn parse_duration(text: &str) -> Option<i64> {
    let read = GoDuration::parse(text).map(GoDuration::nanos);
    read.ok().or_else(|| worded_duration(text))
}

fn worded_duration(text: &str) -> Option<i64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let count: f64 = text.get(..split)?.parse().ok()?;
    let unit = match text.get(split..)?.trim().to_lowercase().as_str() {
        "ns" | "nano" => 1.0,
        "us" | "\u{b5}s" | "micro" => 1e3,
        "ms" | "milli" => 1e6,
        "s" | "sec" | "secs" | "second" | "seconds" => 1e9,
        "m" | "min" | "mins" | "minute" | "minutes" => 60e9,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600e9,
        "d" | "day" | "days" => 86400e9,
        "w" | "wk" | "week" | "weeks" => 604_800e9,
        _ => return None,
    };
    nanos(count * unit)
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
fn nanos(total: f64) -> Option<i64> {
    // 292 years, the range of Go's time.Duration.
    let limit = 9.2e18;
    (total.abs() < limit).then_some(total as i64)
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    (1..=3).contains(&bits.len()) && digits(bits, bits.len()).is_some_and(|bits| bits <= most)
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_mac(text: &str) -> bool {
    let (separator, width) = match text.find([':', '-', '.']).and_then(|at| text.get(at..=at)) {
        Some(".") => ('.', 4),
        Some("-") => ('-', 2),
        Some(_) => (':', 2),
        None => return false,
    };
    let groups: Vec<&str> = text.split(separator).collect();
    matches!(groups.len() * width / 2, 6 | 8 | 20)
        && groups.iter().all(|group| group.len() == width && is_hex(group))
}

/// A UUID with or without dashes; `version` fixes the version digit and, from 4 on, the variant.
fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut rest = text;
    let mut groups = [""; 5];
    for (group, width) in groups.iter_mut().zip([8, 4, 4, 4, 12]) {
        let Some((head, tail)) = rest.split_at_checked(width) else {
            return false;
        };
        if !is_hex(head) {
            return false;
        }
        *group = head;
        rest = tail.strip_prefix('-').unwrap_or(tail);
    }
    let [_, _, third, fourth, _] = groups;
    let variant = |wanted: char| wanted == '3' || fourth.starts_with(['8', '9', 'a', 'b', 'A', 'B']);
    rest.is_empty()
        && !text.ends_with('-')
        && version.is_none_or(|wanted| third.starts_with(wanted) && variant(wanted))
}

fn is_hex_color(text: &str) -> bool {
    let code = text.strip_prefix('#').unwrap_or(text);
    matches!(code.len(), 3 | 6) && is_hex(code)
}

fn is_rgb_color(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else {
        return false;
    };
    let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
    parts.len() == 3
        && parts
            .iter()
            .all(|part| part.parse::<u8>().is_ok_and(|n| n.to_string() == *part))
}

fn is_ssn(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !matches!(c, '-' | ' ')).collect();
    digits_only(&plain) && plain.len() == 9 && text.len() <= 11
}

fn digits_only(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// A card number of 13 to 19 digits whose Luhn sum is a multiple of ten.
fn is_credit_card(text: &str) -> bool {
    let plain: String = text.chars().filter(char::is_ascii_digit).collect();
    let sum: u32 = plain
        .chars()
        .rev()
        .filter_map(|c| c.to_digit(10))
        .enumerate()
        .map(|(at, digit)| match at % 2 {
            0 => digit,
            _ if digit > 4 => digit * 2 - 9,
            _ => digit * 2,
        })
        .sum();
    (13..=19).contains(&plain.len()) && sum.is_multiple_of(10)
}

fn isbn_digits(text: &str) -> Vec<char> {
    text.chars().filter(|c| !matches!(c, '-' | ' ')).collect()
}

fn is_isbn10(text: &str) -> bool {
    let letters = isbn_digits(text);
    let sum: Option<u32> = (1_u32..)
        .zip(&letters)
        .map(|(at, letter)| match letter {
            'X' | 'x' if at == 10 => Some(100),
            _ => letter.to_digit(10).map(|digit| digit * at),
        })
        .sum();
    letters.len() == 10 && sum.is_some_and(|sum| sum.is_multiple_of(11))
}

fn is_isbn13(text: &str) -> bool {
    let letters = isbn_digits(text);
    let sum: Option<u32> = letters
        .iter()
        .enumerate()
        .map(|(at, letter)| {
            letter
                .to_digit(10)
                .map(|digit| if at % 2 == 0 { digit } else { digit * 3 })
        })
        .sum();
    letters.len() == 13 && sum.is_some_and(|sum| sum.is_multiple_of(10))
}

/// Base64 in groups of four letters, at least one: what an API server takes, which looks at letters and padding alone.
fn is_base64(text: &str) -> bool {
    let letters = text.trim_end_matches('=');
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'+' | b'/');
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - letters.len() <= 2
        && letters.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_accept_what_kubernetes_accepts() {
        let rows = [
            ("date-time", "2020-01-01T00:00:00Z", true),
            ("date-time", "2020-01-01T00:00:00.123+02:00", true),
            ("date-time", "2020-01-01t23:59:59z", true),
            ("date-time", "2020-01-01", false),
            ("date-time", "2020-02-30T00:00:00Z", false),
            ("date-time", "2020-01-01T24:00:00Z", false),
            ("date", "2024-02-29", true),
            ("date", "2023-02-29", false),
            ("byte", "YQ==", true),
            ("byte", "****", false),
            ("byte", "", false),
            ("byte", "YR==", true),
            ("byte", "YQ=", false),
            ("byte", "Y===", false),
            ("byte", "YQ==YQ==", false),
            ("ipv4", "10.0.0.1", true),
            ("ipv4", "::1", false),
            ("ipv6", "::1", true),
            ("cidr", "10.0.0.0/8", true),
            ("cidr", "10.0.0.0/33", false),
            ("mac", "01:23:45:67:89:ab", true),
            ("mac", "0123.4567.89ab", true),
            ("mac", "01:23:45", false),
            ("uuid", "a4c6b7de-0f5b-4d2e-8b5a-3f3d2b1a0c9e", true),
            ("uuid", "a4c6b7de0f5b4d2e8b5a3f3d2b1a0c9e", true),
            ("uuid4", "a4c6b7de-0f5b-1d2e-8b5a-3f3d2b1a0c9e", false),
            ("duration", "1h30m", true),
            ("duration", "3 days", true),
            ("duration", "soon", false),
            ("email", "a.b@example.com", true),
            ("email", "a b@example.com", false),
            ("hostname", "node-1", true),
            ("hostname", "a.example.com", true),
            ("hostname", "a..b", false),
            ("uri", "https://example.com/x?y=1", true),
            ("uri", "example.com", false),
            ("hexcolor", "#fff", true),
            ("rgbcolor", "rgb(1, 2, 255)", true),
            ("creditcard", "4111 1111 1111 1111", true),
            ("creditcard", "4111 1111 1111 1112", false),
            ("isbn", "0-306-40615-2", true),
            ("isbn13", "978-0-306-40615-7", true),
            ("k8s-short-name", "a-b", true),
            ("k8s-long-name", "a.b-c", true),
            ("k8s-long-name", "A.b", false),
            ("int32", "anything", true),
        ];
        for (name, text, wanted) in rows {
            let format = Format::find(name).expect(name);
            assert_eq!(format.accepts(text), wanted, "{name}: {text}");
        }
        assert!(Format::find("no-such-format").is_none());
    }

    #[test]
    fn durations_are_nanoseconds() {
        let rows = [
            ("1.5h", Some(5_400_000_000_000)),
            ("-2s", Some(-2_000_000_000)),
            ("2 weeks", Some(1_209_600_000_000_000)),
            ("1x", None),
        ];
        for (text, wanted) in rows {
            assert_eq!(parse_duration(text), wanted, "{text}");
        }
    }
}
