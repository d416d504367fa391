//! Slips in durations: `5min`, `5 m`, `2d`.
//!
//! Decides what was meant by a text that Go does not read as a duration. Never reads durations itself.

use kubernetes::duration::GoDuration;

/// Returns what was probably meant by `text`, if that is a duration.
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
        // Go has no days, because days are not always 24 hours long. A day that is written here means 24 hours.
        "d" | "day" | "days" => {
            let days: u32 = meant.parse().ok()?;
            *meant = format!("{}h", days.checked_mul(24)?);
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
