//! Times and numbers that may be absent, each in eight bytes.
//!
//! Decides nothing. A record of every condition of every instance has two of them: as options they would take as much again. A time is
//! kept to the microsecond, which is finer than any that the API writes.

use jiff::Timestamp;

/// What stands for "absent": no time and no generation that a hub can write.
const ABSENT: i64 = i64::MIN;

/// A time that may be absent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SparseTime(i64);

impl SparseTime {
    pub(crate) fn get(self) -> Option<Timestamp> {
        (self.0 != ABSENT)
            .then(|| Timestamp::from_microsecond(self.0).ok())
            .flatten()
    }
}

impl From<Option<Timestamp>> for SparseTime {
    fn from(time: Option<Timestamp>) -> Self {
        Self(time.map_or(ABSENT, Timestamp::as_microsecond))
    }
}

impl Default for SparseTime {
    fn default() -> Self {
        Self(ABSENT)
    }
}

impl std::fmt::Debug for SparseTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// A whole number that may be absent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SparseNumber(i64);

impl SparseNumber {
    pub(crate) fn get(self) -> Option<i64> {
        (self.0 != ABSENT).then_some(self.0)
    }
}

impl From<Option<i64>> for SparseNumber {
    fn from(number: Option<i64>) -> Self {
        Self(number.unwrap_or(ABSENT))
    }
}

impl std::fmt::Debug for SparseNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back() {
        let texts = [
            "2030-01-01T00:00:00Z",
            "1969-12-31T23:59:59.5Z",
            "-009999-01-02T01:59:59Z",
            "9999-12-30T22:00:00Z",
            "2030-01-01T00:00:00.123456Z",
        ];
        for text in texts {
            let time: Timestamp = text.parse().expect("a time");
            assert_eq!(SparseTime::from(Some(time)).get(), Some(time), "{text}");
        }
        assert_eq!(SparseTime::from(None).get(), None);
        for number in [0, -1, 7, i64::MAX] {
            assert_eq!(SparseNumber::from(Some(number)).get(), Some(number));
        }
        assert_eq!(SparseNumber::from(None).get(), None);
    }
}
