//! Time stamps as the API takes them, with the error texts of Go's parser.
//!
//! Decides whether a text is a time.

/// Layout of `Time` fields.
pub const TIME: &str = "2006-01-02T15:04:05Z07:00";
/// Layout of `MicroTime` fields.
pub const MICRO_TIME: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Checks `text` against `layout`, one of [`TIME`] and [`MICRO_TIME`].
pub fn check(text: &str, layout: &str) -> Result<(), String> {
    Reader {
        layout,
        text,
        rest: text,
    }
    .run()
}

struct Reader<'a> {
    layout: &'a str,
    text: &'a str,
    rest: &'a str,
}

impl Reader<'_> {
    fn run(&mut self) -> Result<(), String> {
        let year = self.digits(4, "2006")?;
        self.literal("-")?;
        let month = self.digits(2, "01")?;
        if !(1..=12).contains(&month) {
            return Err(self.out_of_range("month"));
        }
        self.literal("-")?;
        let day = self.digits(2, "02")?;
        self.literal("T")?;
        for (element, limit, name) in [("15", 24, "hour"), ("04", 60, "minute"), ("05", 60, "second")] {
            if element != "15" {
                self.literal(":")?;
            }
            if self.digits(2, element)? >= limit {
                return Err(self.out_of_range(name));
            }
        }
        self.fraction()?;
        self.zone()?;
        if !self.rest.is_empty() {
            return Err(format!(
                "parsing time {:?}: extra text: {:?}",
                self.text, self.rest
            ));
        }
        if day < 1 || day > days(year, month) {
            return Err(self.out_of_range("day"));
        }
        Ok(())
    }

    fn digits(&mut self, count: usize, element: &str) -> Result<u32, String> {
        match self.rest.split_at_checked(count) {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.rest = rest;
                Ok(number.parse().unwrap_or_default())
            }
            _ => Err(self.cannot(element)),
        }
    }

    fn literal(&mut self, text: &str) -> Result<(), String> {
        self.rest = self.rest.strip_prefix(text).ok_or_else(|| self.cannot(text))?;
        Ok(())
    }

    /// Seconds may have a fraction; micro times must have one of six digits.
    fn fraction(&mut self) -> Result<(), String> {
        let after_point = self.rest.strip_prefix(['.', ',']);
        if self.layout == MICRO_TIME {
            let digits = after_point.and_then(|rest| rest.split_at_checked(6));
            let (_, rest) = digits
                .filter(|(digits, _)| all_digits(digits))
                .ok_or_else(|| self.cannot(".000000"))?;
            self.rest = rest;
        } else if let Some(rest) =
            after_point.filter(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
        {
            self.rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
        }
        Ok(())
    }

    fn zone(&mut self) -> Result<(), String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(());
        }
        let offset = self
            .rest
            .split_at_checked(6)
            .filter(|(offset, _)| is_offset(offset));
        let (_, rest) = offset.ok_or_else(|| self.cannot("Z07:00"))?;
        self.rest = rest;
        Ok(())
    }

    fn cannot(&self, element: &str) -> String {
        format!(
            "parsing time {:?} as {:?}: cannot parse {:?} as {element:?}",
            self.text, self.layout, self.rest
        )
    }

    fn out_of_range(&self, name: &str) -> String {
        format!("parsing time {:?}: {name} out of range", self.text)
    }
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_offset(text: &str) -> bool {
    let shape = text.bytes().enumerate().all(|(at, byte)| match at {
        0 => matches!(byte, b'+' | b'-'),
        3 => byte == b':',
        _ => byte.is_ascii_digit(),
    });
    let part = |range: std::ops::Range<usize>| {
        text.get(range)
            .and_then(|part| part.parse::<u32>().ok())
            .unwrap_or(u32::MAX)
    };
    shape && part(1..3) <= 24 && part(4..6) <= 60
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_read_as_recorded() {
        for (text, layout, expected) in [
            ("2020-01-01T00:00:00.123456Z", MICRO_TIME, Ok(())),
            ("2020-01-01T00:00:00+02:00", TIME, Ok(())),
            ("2020-02-29T23:59:59.5Z", TIME, Ok(())),
            (
                "yesterday",
                MICRO_TIME,
                Err(
                    "parsing time \"yesterday\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"yesterday\" as \"2006\"",
                ),
            ),
            (
                "2020-01-01T00:01:00Z",
                MICRO_TIME,
                Err(
                    "parsing time \"2020-01-01T00:01:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\"",
                ),
            ),
            (
                "2020-13-01T00:00:00Z",
                TIME,
                Err("parsing time \"2020-13-01T00:00:00Z\": month out of range"),
            ),
            (
                "2021-02-29T00:00:00Z",
                TIME,
                Err("parsing time \"2021-02-29T00:00:00Z\": day out of range"),
            ),
            (
                "2020-01-01T00:00:00Zx",
                TIME,
                Err("parsing time \"2020-01-01T00:00:00Zx\": extra text: \"x\""),
            ),
            (
                "ä",
                TIME,
                Err("parsing time \"ä\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"ä\" as \"2006\""),
            ),
        ] {
            assert_eq!(check(text, layout), expected.map_err(str::to_owned), "{text}");
        }
    }
}
