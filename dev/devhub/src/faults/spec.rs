//! What shall go wrong, and how often.
//!
//! Decides how a wish is written: `seed=7,409=0.01,410=0.02,429=0.01,500=0.01,watch-drop=0.1,delay=5ms,crd-delay=2s`.

use std::time::Duration;

use kubernetes::duration::GoDuration;

/// What shall go wrong. Shares are between 0 and 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// From this number everything else follows.
    pub seed: u64,
    /// Share of changes that meet a conflict.
    pub conflict: f64,
    /// Share of lists and watches of an older state whose state is forgotten.
    pub gone: f64,
    /// Share of requests that come too often.
    pub busy: f64,
    /// Share of requests that fail inside of the server.
    pub broken: f64,
    /// Share of watch events after which the watch ends.
    pub watch_drop: f64,
    /// How long a request to a resource waits on average.
    pub delay: Duration,
    /// How long a changed definition is not served yet.
    pub crd_delay: Duration,
}

impl Faults {
    /// Reads a wish; tells everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut faults = Self::default();
        let mut wrong = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            if let Err(fault) = faults.set(name, value) {
                wrong.push(fault);
            }
        }
        if wrong.is_empty() {
            Ok(faults)
        } else {
            Err(wrong.join("; "))
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "seed" => {
                let read = value.parse().ok();
                self.seed = read.ok_or_else(|| format!("seed=\"{value}\" is no whole number"))?;
            }
            "409" => self.conflict = share(name, value)?,
            "410" => self.gone = share(name, value)?,
            "429" => self.busy = share(name, value)?,
            "500" => self.broken = share(name, value)?,
            "watch-drop" => self.watch_drop = share(name, value)?,
            "delay" => self.delay = duration(name, value)?,
            "crd-delay" => self.crd_delay = duration(name, value)?,
            _ => {
                return Err(format!(
                    "\"{name}\" is unknown; right are seed, 409, 410, 429, 500, watch-drop, delay and crd-delay"
                ));
            }
        }
        Ok(())
    }
}

fn share(name: &str, value: &str) -> Result<f64, String> {
    let read: Option<f64> = value.parse().ok();
    read.filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("{name}=\"{value}\" is no share between 0 and 1"))
}

fn duration(name: &str, value: &str) -> Result<Duration, String> {
    let read = GoDuration::parse(value).ok().and_then(GoDuration::length);
    read.ok_or_else(|| format!("{name}=\"{value}\" is no duration such as 5ms or 2s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_read_whole() {
        let read = Faults::parse(
            "seed=7, 409=0.01,410=0.02,429=0.03,500=0.04,watch-drop=0.5,delay=5ms,crd-delay=2s",
        );
        let expected = Faults {
            seed: 7,
            conflict: 0.01,
            gone: 0.02,
            busy: 0.03,
            broken: 0.04,
            watch_drop: 0.5,
            delay: Duration::from_millis(5),
            crd_delay: Duration::from_secs(2),
        };
        assert_eq!(read, Ok(expected));
        assert_eq!(Faults::parse(""), Ok(Faults::default()));
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let told = Faults::parse("seed=x,409=2,410=-1,429=NaN,418=1,delay=5,500").expect_err("all wrong");
        for text in [
            "seed=\"x\"",
            "409=\"2\"",
            "410=\"-1\"",
            "429=\"NaN\"",
            "\"418\" is unknown",
            "delay=\"5\"",
            "500=\"\"",
        ] {
            assert!(told.contains(text), "{text}: {told}");
        }
    }
}
