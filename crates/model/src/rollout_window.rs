//! When changes of an add-on may be rolled out: the list of windows of its annotation.
//!
//! Decides how the list is read, and how its windows are together. A single window is that of upgrades of clusters (`upgrade::Window`).

use jiff::Timestamp;

use crate::upgrade::{Window, WindowState};
use api::cluster::UpgradeWindow;
use kubernetes::field::{Class, Fault, Path};

/// What an entry looks like.
const FORM: &str = "must be a schedule of five fields, \"for\" and a duration, and optionally \"in\" and a time zone, such as \"0 2 * * 0 for 4h in Europe/Paris\"";

/// So many windows are followed: each is looked for over years of days.
const MOST: usize = 20;

/// The windows in which changes are rolled out. One that is open suffices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutWindows(Vec<Window>);

impl RolloutWindows {
    /// Reads a list whose entries are separated by `;`; one without entries is invalid.
    ///
    /// # Errors
    ///
    /// Returns everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        let entries = text.split(';').map(str::trim).filter(|entry| !entry.is_empty());
        let (mut windows, mut wrong) = (Vec::new(), Vec::new());
        for entry in entries.take(MOST.saturating_add(1)) {
            match window(entry) {
                Ok(window) => windows.push(window),
                Err(faults) => wrong.extend(faults),
            }
        }
        if windows.len() > MOST {
            wrong.push(Fault::bare(
                Class::TooMany,
                format!("must have at most {MOST} windows"),
            ));
        }
        if windows.is_empty() && wrong.is_empty() {
            wrong.push(Fault::of_text(Class::Invalid, text, FORM));
        }
        if wrong.is_empty() {
            Ok(Self(windows))
        } else {
            Err(wrong)
        }
    }

    /// Tells how they are: open until the last of those that are open now shuts, or shut until the first opens.
    pub fn at(&self, now: Timestamp) -> WindowState {
        let mut until: Option<Timestamp> = None;
        let mut next: Option<Timestamp> = None;
        for window in &self.0 {
            match window.at(now) {
                WindowState::Open(end) => until = until.max(Some(end)),
                WindowState::Shut(Some(begin)) => next = Some(next.map_or(begin, |next| next.min(begin))),
                WindowState::Shut(None) => {}
            }
        }
        until.map_or(WindowState::Shut(next), WindowState::Open)
    }
}

fn window(entry: &str) -> Result<Window, Vec<Fault>> {
    let Some((cron, rest)) = entry.split_once(" for ") else {
        return Err(vec![Fault::of_text(Class::Invalid, entry, FORM)]);
    };
    let (duration, zone) = rest.split_once(" in ").unwrap_or((rest, ""));
    let raw = UpgradeWindow {
        cron: cron.trim().to_owned(),
        duration: duration.trim().to_owned(),
        time_zone: zone.trim().to_owned(),
    };
    Window::parse(&raw, &Path::root()).map_err(|wrong| {
        let faults = wrong.iter().map(|violation| {
            let value = match violation.path().to_string().as_str() {
                "duration" => raw.duration.as_str(),
                "timeZone" => raw.time_zone.as_str(),
                _ => raw.cron.as_str(),
            };
            let hint = violation.hint().map(str::to_owned);
            Fault::of_text(violation.class(), value, violation.detail()).hint_if(hint)
        });
        faults.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn one_open_window_suffices() {
        let both = RolloutWindows::parse("0 2 * * * for 4h in UTC; 0 5 * * * for 2h;").expect("two windows");
        let rows = [
            (
                "2026-11-22T01:00:00Z",
                WindowState::Shut(Some(time("2026-11-22T02:00:00Z"))),
            ),
            (
                "2026-11-22T02:00:00Z",
                WindowState::Open(time("2026-11-22T06:00:00Z")),
            ),
            (
                "2026-11-22T05:30:00Z",
                WindowState::Open(time("2026-11-22T07:00:00Z")),
            ),
            (
                "2026-11-22T07:00:00Z",
                WindowState::Shut(Some(time("2026-11-23T02:00:00Z"))),
            ),
        ];
        for (now, expected) in rows {
            assert_eq!(both.at(time(now)), expected, "{now}");
        }
    }

    #[test]
    fn every_fault_is_reported() {
        let told = |text: &str| {
            let wrong = RolloutWindows::parse(text).expect_err("it is invalid");
            wrong
                .iter()
                .map(|fault| fault.detail().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(told(" ; "), [FORM]);
        assert_eq!(told("0 2 * * 0 4h"), [FORM]);
        assert_eq!(told("x for 0s in Nowhere/Land").len(), 3);
        assert_eq!(told("0 2 * * 0 for 4h; x for 4h").len(), 1);
        assert_eq!(
            told(&"* * * * * for 1h;".repeat(21)),
            ["must have at most 20 windows"]
        );
    }
}
