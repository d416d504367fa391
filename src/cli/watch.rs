//! `--watch`: again whenever a file changes.
//!
//! Decides what a change is: another set of files, or another time or size of one. Never reads what they say.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use super::print::{complain, print};
use super::{CliError, check};
use kubernetes::field::Shown;

/// How often is looked.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// When a file was written, and how large it is.
type Stamp = (PathBuf, Option<SystemTime>, u64);

/// Does something now and after every change of the files; goes on until the program is ended. `judge` returns what it has read
/// besides, which is looked at from then on.
pub(super) fn again(
    paths: &[PathBuf],
    mut judge: impl FnMut() -> Result<Vec<PathBuf>, CliError>,
) -> Result<ExitCode, CliError> {
    let mut seen: Option<Vec<Stamp>> = None;
    let mut others = Vec::new();
    loop {
        let began = SystemTime::now();
        let mut now = stamps(paths, &others);
        if seen.as_ref() != Some(&now) {
            if seen.is_some() {
                print(&Shown::line(""))?;
            }
            // Half a file is no reason to end: the next change may fix it.
            match judge() {
                Ok(read) if read == others => {}
                Ok(read) => {
                    others = read;
                    now = stamps(paths, &others);
                    forget_since(&mut now, began);
                }
                Err(error @ CliError::Print(_)) => return Err(error),
                Err(error) => complain(&Shown::line(&format!("tidegate: {}", error.one_line()))),
            }
            complain(&Shown::line("watching for changes; press Ctrl-C to stop"));
            seen = Some(now);
        }
        sleep(LOOK_EVERY);
    }
}

/// What was written since the judging began may have been read before that: it is looked at again. Clocks of file systems tick slowly.
fn forget_since(stamps: &mut [Stamp], began: SystemTime) {
    const TICK: Duration = Duration::from_millis(20);
    for (_, changed, _) in stamps {
        changed.take_if(|changed| changed.checked_add(TICK).is_none_or(|end| end >= began));
    }
}

fn stamps(paths: &[PathBuf], others: &[PathBuf]) -> Vec<Stamp> {
    let files = paths.iter().chain(others).flat_map(|path| check::below(path));
    files
        .map(|path| {
            let about = fs::metadata(&path).ok();
            let changed = about.as_ref().and_then(|about| about.modified().ok());
            (path, changed, about.map_or(0, |about| about.len()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_while_it_was_judged_is_looked_at_again() {
        let began = SystemTime::UNIX_EPOCH + Duration::from_secs(10);
        let at = |millis| Some(SystemTime::UNIX_EPOCH + Duration::from_millis(millis));
        let mut stamps = [9_000, 9_979, 9_981, 10_000, 11_000].map(|millis| (PathBuf::new(), at(millis), 1));
        forget_since(&mut stamps, began);
        let known = stamps.map(|(_, changed, _)| changed.is_some());
        assert_eq!(known, [true, true, false, false, false]);
    }
}
