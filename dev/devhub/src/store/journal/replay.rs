//! From the bytes of a log to what was committed.
//!
//! Decides what is a torn end, which is cut off, and what is damage, which is told. Never touches a file and never guesses.

use super::frame::{Entry, EntryKind, MARK};

/// First bytes of every log.
pub(super) const HEADER: &[u8] = b"devhub log 1\n";

/// What a log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replay {
    /// Objects of the state that the log begins with.
    pub(crate) state: Vec<Entry>,
    /// Resource version of that state.
    pub(crate) version: u64,
    /// What happened since, in order.
    pub(crate) events: Vec<Entry>,
    /// Bytes up to the end of the state.
    pub(super) base: usize,
    /// Bytes that are good; what stands behind was never answered.
    pub(super) good: usize,
}

/// A log that cannot be believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// It begins otherwise.
    #[error("it is not the log of a hub: it begins otherwise")]
    NotALog,
    /// The state that it begins with is not whole.
    #[error(
        "byte {at} is damaged, inside of the state that the log begins with; restore the file from a copy, or remove it to begin anew"
    )]
    State {
        /// Where.
        at: usize,
    },
    /// Good records stand behind a bad one.
    #[error(
        "byte {at} is damaged, but a whole record stands at byte {next}: this is no write that was cut off; restore the file from a copy, or cut it at byte {at} to lose everything behind"
    )]
    Middle {
        /// Where the damage begins.
        at: usize,
        /// Where the next good record begins.
        next: usize,
    },
    /// A record is good but cannot stand where it stands.
    #[error("the record at byte {at} cannot stand there: {why}")]
    Order {
        /// Where.
        at: usize,
        /// Why.
        why: &'static str,
    },
}

impl Replay {
    /// Reads a log.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Damage> {
        if !bytes.starts_with(HEADER) {
            return Err(Damage::NotALog);
        }
        let mut replay = Self {
            good: HEADER.len(),
            ..Self::default()
        };
        replay.read_state(bytes)?;
        replay.read_events(bytes)?;
        Ok(replay)
    }

    fn read_state(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        loop {
            let at = self.good;
            let (entry, length) = next(bytes, at).ok_or(Damage::State { at })?;
            self.good += length;
            match entry.kind {
                EntryKind::State => self.state.push(entry),
                EntryKind::Mark => {
                    let counted = u64::try_from(self.state.len()).unwrap_or(u64::MAX);
                    if entry.body != counted.to_le_bytes() {
                        return Err(Damage::State { at });
                    }
                    self.version = entry.version;
                    self.base = self.good;
                    return Ok(());
                }
                EntryKind::Put | EntryKind::Remove => {
                    let why = "the state before it has no end";
                    return Err(Damage::Order { at, why });
                }
            }
        }
    }

    fn read_events(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        let mut newest = self.version;
        while self.good < bytes.len() {
            let at = self.good;
            let Some((entry, length)) = next(bytes, at) else {
                return match following(bytes, at + 1) {
                    Some(next) => Err(Damage::Middle { at, next }),
                    None => Ok(()),
                };
            };
            match entry.kind {
                EntryKind::Put | EntryKind::Remove if entry.version > newest => {}
                EntryKind::Put | EntryKind::Remove => {
                    let why = "its resource version is not newer than the one before";
                    return Err(Damage::Order { at, why });
                }
                EntryKind::State | EntryKind::Mark => {
                    let why = "the state has ended before it";
                    return Err(Damage::Order { at, why });
                }
            }
            newest = entry.version;
            self.good += length;
            self.events.push(entry);
        }
        Ok(())
    }
}

fn next(bytes: &[u8], at: usize) -> Option<(Entry, usize)> {
    Entry::read(bytes.get(at..)?)
}

/// Returns where the next whole record begins.
fn following(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let starts = rest.windows(MARK.len()).enumerate();
    starts
        .filter(|(_, window)| **window == MARK)
        .map(|(offset, _)| from + offset)
        .find(|at| next(bytes, *at).is_some())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(kind: EntryKind, version: u64, key: &str, body: &str) -> Entry {
        Entry {
            kind,
            version,
            shaped: false,
            table: "things.example.io".to_owned(),
            key: key.to_owned(),
            written_in: String::new(),
            body: body.as_bytes().to_vec(),
        }
    }

    /// Returns a log with the places at which its events end.
    fn log(state: &[Entry], events: &[Entry]) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = HEADER.to_vec();
        for entry in state {
            entry.write(&mut bytes);
        }
        Entry::mark(100, u64::try_from(state.len()).expect("few")).write(&mut bytes);
        let mut ends = vec![bytes.len()];
        for entry in events {
            entry.write(&mut bytes);
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    fn sample() -> (Vec<Entry>, Vec<Entry>) {
        let state = vec![entry(EntryKind::State, 40, "a", "\"name\":\"a\"}}")];
        let events = vec![
            entry(
                EntryKind::Put,
                101,
                "b",
                "\"name\":\"b\"},\"data\":{\"ä\":\"x\"}}",
            ),
            entry(EntryKind::Remove, 102, "a", ""),
            entry(EntryKind::Put, 105, "b", "\"name\":\"b\"}}"),
        ];
        (state, events)
    }

    #[test]
    fn a_log_cut_anywhere_is_what_was_committed_until_there_or_a_told_damage() {
        let (state, events) = sample();
        let (bytes, ends) = log(&state, &events);
        for length in 0..=bytes.len() {
            let read = Replay::read(&bytes[..length]);
            if length < ends[0] {
                assert!(read.is_err(), "cut at {length}");
                continue;
            }
            let whole = ends.iter().filter(|end| **end <= length).count() - 1;
            let read = read.unwrap_or_else(|damage| panic!("cut at {length}: {damage}"));
            assert_eq!(read.events, events[..whole], "cut at {length}");
            assert_eq!(
                (read.state.as_slice(), read.good),
                (state.as_slice(), ends[whole])
            );
        }
    }

    #[test]
    fn a_byte_changed_anywhere_is_told_or_costs_the_last_record_only() {
        let (state, events) = sample();
        let (bytes, ends) = log(&state, &events);
        let last = ends[ends.len() - 2];
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xFF] {
                let mut broken = bytes.clone();
                broken[at] ^= flip;
                match Replay::read(&broken) {
                    Ok(read) => {
                        assert!(at >= last, "byte {at} is no torn end");
                        assert_eq!(read.events, events[..2], "byte {at}");
                    }
                    Err(Damage::Middle { at: told, next }) => assert!(told <= at && at < next, "byte {at}"),
                    Err(Damage::NotALog) => assert!(at < HEADER.len()),
                    Err(Damage::State { .. }) => assert!(at < ends[0]),
                    Err(damage @ Damage::Order { .. }) => panic!("byte {at}: {damage}"),
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), good in any::<bool>()) {
            let mut log = if good { log(&sample().0, &sample().1).0 } else { HEADER.to_vec() };
            log.extend(bytes);
            let read = Replay::read(&log);
            prop_assert!(!good || read.is_ok_and(|read| read.events == sample().1));
        }
    }

    #[test]
    fn records_that_cannot_stand_where_they_stand_are_told() {
        let (state, events) = sample();
        let (mut bytes, _) = log(&state, &events);
        events[0].write(&mut bytes);
        assert!(matches!(Replay::read(&bytes), Err(Damage::Order { .. })));
        let mut endless = HEADER.to_vec();
        events[0].write(&mut endless);
        assert!(matches!(Replay::read(&endless), Err(Damage::Order { .. })));
    }
}
