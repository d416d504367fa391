//! The windows in which changes of an add-on are rolled out.
//!
//! Decides whether one of them is open, and when the next one opens. What waits for it is decided by the planner.

use std::fmt;

use jiff::Timestamp;

use crate::rule;
use crate::upgrade::{Window, WindowState};
use api::cluster::UpgradeWindow;
use kubernetes::field::{Class, Fault, Path, Violation};

/// So many windows are followed: each is looked for over years of days.
const MOST: usize = 20;

/// The windows in which changes are rolled out. One that is open suffices; without any, changes start at any time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutWindows {
    windows: Vec<Window>,
    text: String,
}

impl RolloutWindows {
    /// Reads the list that stands at `path`.
    ///
    /// # Errors
    ///
    /// Returns everything that is wrong with it.
    pub fn parse(raw: &[UpgradeWindow], path: &Path) -> Result<Self, Vec<Violation>> {
        let (mut windows, mut wrong) = (Vec::new(), Vec::new());
        for (index, one) in raw.iter().take(MOST).enumerate() {
            match Window::parse(one, &path.index(index), rule::ROLLOUT_WINDOW) {
                Ok(window) => windows.push(window),
                Err(faults) => wrong.extend(faults),
            }
        }
        if raw.len() > MOST {
            let fault = Fault::bare(Class::TooMany, format!("must have at most {MOST} windows"));
            wrong.push(fault.at(path.clone(), rule::ROLLOUT_WINDOW));
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let text: Vec<String> = raw.iter().map(told).collect();
        Ok(Self {
            windows,
            text: text.join("; "),
        })
    }

    /// Returns whether there is none, and changes start at any time.
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Tells how they are: open until the last of those that are open now shuts, or shut until the first opens.
    pub fn at(&self, now: Timestamp) -> WindowState {
        let mut until: Option<Timestamp> = None;
        let mut next: Option<Timestamp> = None;
        for window in &self.windows {
            match window.at(now) {
                WindowState::Open(end) => until = until.max(Some(end)),
                WindowState::Shut(Some(begin)) => next = Some(next.map_or(begin, |next| next.min(begin))),
                WindowState::Shut(None) => {}
            }
        }
        until.map_or(WindowState::Shut(next), WindowState::Open)
    }
}

impl fmt::Display for RolloutWindows {
    /// Writes the schedules, how long each lasts, and the time zones.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn told(window: &UpgradeWindow) -> String {
    let UpgradeWindow {
        cron,
        duration,
        time_zone,
    } = window;
    if time_zone.is_empty() {
        return format!("{cron} for {duration}");
    }
    format!("{cron} for {duration} in {time_zone}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    fn raw(list: Value) -> Vec<UpgradeWindow> {
        serde_json::from_value(list).expect("windows")
    }

    fn read(list: Value) -> Result<RolloutWindows, Vec<Violation>> {
        RolloutWindows::parse(&raw(list), &Path::root().key("windows"))
    }

    #[test]
    fn one_open_window_suffices() {
        let both = read(json!([
            {"cron": "0 2 * * *", "duration": "4h", "timeZone": "UTC"}, {"cron": "0 5 * * *", "duration": "2h"}]))
        .expect("two windows");
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
        assert_eq!(both.to_string(), "0 2 * * * for 4h in UTC; 0 5 * * * for 2h");
        assert!(read(json!([])).expect("no window").is_empty());
    }

    #[test]
    fn faults_have_the_path_of_their_window() {
        let wrong = read(json!([
            {"cron": "0 2 * * *", "duration": "4h"}, {"cron": "0 2 * *", "duration": "soon", "timeZone": "Europe/Pari"}]))
        .expect_err("three faults");
        let texts: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        let paths: Vec<&str> = texts.iter().filter_map(|one| one.split(": ").next()).collect();
        assert_eq!(
            paths,
            ["windows[1].cron", "windows[1].duration", "windows[1].timeZone"]
        );
        assert!(
            texts.iter().all(|one| one.ends_with("[rollout/window]")),
            "{texts:?}"
        );
        let many: Vec<Value> = (0..=MOST)
            .map(|_| json!({"cron": "0 2 * * *", "duration": "4h"}))
            .collect();
        assert_eq!(read(Value::from(many)).expect_err("too many").len(), 1);
    }
}
