//! When something comes again, in the words of cron: minute, hour, day of the month, month, day of the week.
//!
//! Decides which texts are schedules and which minutes of a calendar they mean. Knows no time zone and no clock.

use std::collections::BTreeSet;

use jiff::civil::Date;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The five fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cron {
    minutes: BTreeSet<i8>,
    hours: BTreeSet<i8>,
    month_days: BTreeSet<i8>,
    months: BTreeSet<i8>,
    week_days: BTreeSet<i8>,
    /// Where both kinds of days are narrowed, a day of either kind will do.
    either_day: bool,
}

impl Cron {
    /// Reads five fields of numbers, ranges, steps, lists and names, or tells what would be right.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split_ascii_whitespace().take(6).collect();
        let [minute, hour, month_day, month, week_day] = fields.as_slice() else {
            return Err(
                "must have five fields: minute, hour, day of the month, month, day of the week".to_owned(),
            );
        };
        let mut week_days = field(week_day, "day of the week", (0, 7), &DAYS)?;
        // Sunday has two numbers.
        if week_days.remove(&7) {
            week_days.insert(0);
        }
        Ok(Self {
            minutes: field(minute, "minute", (0, 59), &[])?,
            hours: field(hour, "hour", (0, 23), &[])?,
            month_days: field(month_day, "day of the month", (1, 31), &[])?,
            months: field(month, "month", (1, 12), &MONTHS)?,
            week_days,
            either_day: !month_day.starts_with('*') && !week_day.starts_with('*'),
        })
    }

    /// Tells whether it comes on that day at all.
    pub(super) fn is_on(&self, day: Date) -> bool {
        let month_day = self.month_days.contains(&day.day());
        let week_day = self.week_days.contains(&day.weekday().to_sunday_zero_offset());
        let is_day = if self.either_day {
            month_day || week_day
        } else {
            month_day && week_day
        };
        is_day && self.months.contains(&day.month())
    }

    /// Returns the hours and minutes at which it comes on such a day, in order.
    pub(super) fn times(&self) -> impl DoubleEndedIterator<Item = (i8, i8)> {
        let of_hour = |hour: &i8| {
            let hour = *hour;
            self.minutes.iter().map(move |minute| (hour, *minute))
        };
        self.hours.iter().flat_map(of_hour)
    }
}

fn field(text: &str, called: &str, bounds: (i8, i8), names: &[&str]) -> Result<BTreeSet<i8>, String> {
    let wrong = || {
        let (low, high) = bounds;
        format!(
            "must have numbers from {low} to {high} as {called}, such as \"*\", \"{low}\", \"{low}-{high}\" or \"*/2\""
        )
    };
    let mut all = BTreeSet::new();
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, number(step).filter(|step| *step > 0).ok_or_else(wrong)?),
            None => (part, 1),
        };
        let (from, to) = match (range, range.split_once('-')) {
            ("*", _) => bounds,
            (_, Some((from, to))) => (
                value(from, bounds, names).ok_or_else(wrong)?,
                value(to, bounds, names).ok_or_else(wrong)?,
            ),
            (one, None) => {
                let from = value(one, bounds, names).ok_or_else(wrong)?;
                // As cron has it: a number with a step begins a range that has no end.
                (from, if part.contains('/') { bounds.1 } else { from })
            }
        };
        if from > to {
            return Err(wrong());
        }
        all.extend((from..=to).step_by(usize::try_from(step).unwrap_or(1)));
    }
    Ok(all)
}

fn value(text: &str, (low, high): (i8, i8), names: &[&str]) -> Option<i8> {
    let named = names.iter().position(|name| text.eq_ignore_ascii_case(name));
    // Months are counted from one, days of the week from zero: where the bounds begin.
    let named = named.and_then(|at| i8::try_from(at).ok()?.checked_add(low));
    named
        .or_else(|| number(text))
        .filter(|value| (low..=high).contains(value))
}

fn number(text: &str) -> Option<i8> {
    let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn fields_are_numbers_ranges_steps_lists_and_names() {
        let set = |values: &[i8]| values.iter().copied().collect::<BTreeSet<i8>>();
        let rows: [(&str, &[i8]); 7] = [
            ("5", &[5]),
            ("1-3", &[1, 2, 3]),
            ("*/20", &[0, 20, 40]),
            ("50/5", &[50, 55]),
            ("10-20/5", &[10, 15, 20]),
            ("1,3,5-6", &[1, 3, 5, 6]),
            ("59", &[59]),
        ];
        for (text, expected) in rows {
            let read = Cron::parse(&format!("{text} * * * *")).expect(text);
            assert_eq!(read.minutes, set(expected), "{text}");
        }
        let named = Cron::parse("0 0 * JAN,mar mon-fri").expect("names");
        assert_eq!(named.months, set(&[1, 3]));
        assert_eq!(named.week_days, set(&[1, 2, 3, 4, 5]));
        assert_eq!(Cron::parse("0 0 * * 7").expect("sunday").week_days, set(&[0]));
    }

    #[test]
    fn what_cron_does_not_say_is_refused() {
        for text in [
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "-1 * * * *",
            "*/0 * * * *",
            "5-1 * * * *",
            "a * * * *",
            "1,, * * * *",
            "@daily",
            "* * * * L",
            "+1 * * * *",
        ] {
            assert!(Cron::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_day_of_either_kind_will_do_where_both_are_narrowed() {
        let first_or_monday = Cron::parse("0 0 1 * 1").expect("a schedule");
        // The first of June 2026 is a Monday.
        for (day, is_on) in [(1, true), (2, false), (8, true)] {
            assert_eq!(first_or_monday.is_on(date(2026, 6, day)), is_on, "{day}");
        }
        assert!(
            first_or_monday.is_on(date(2026, 7, 1)),
            "a Wednesday, and the first"
        );
        let mondays = Cron::parse("0 0 * * 1").expect("a schedule");
        assert!(!mondays.is_on(date(2026, 7, 1)));
    }
}
