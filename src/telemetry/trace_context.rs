//! Who a span belongs to: W3C trace contexts as callers send them, and new ones.
//!
//! Decides what a `traceparent` says, and which traces are kept. Never fails over a header:
//! what cannot be read begins a trace of its own.

use uuid::Uuid;

/// The name of the header.
pub const TRACEPARENT: &str = "traceparent";

/// The span of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    pub(super) trace: u128,
    pub(super) span: u64,
    pub(super) is_kept: bool,
}

impl Parent {
    /// Reads a header of the form `00-<32 digits>-<16 digits>-<2 digits>`; later versions may have more behind it.
    pub fn parse(header: &str) -> Option<Self> {
        let mut parts = header.trim().split('-');
        let version = digits(parts.next()?, 2)?;
        let (trace, span) = (digits(parts.next()?, 32)?, digits(parts.next()?, 16)?);
        let flags = digits(parts.next()?, 2)?;
        let is_whole = version != 0 || parts.next().is_none();
        let parent = Self {
            trace,
            span: u64::try_from(span).ok()?,
            is_kept: flags & 1 == 1,
        };
        // By W3C, an id of zero and the version ff are invalid.
        (is_whole && version != 0xff && trace != 0 && span != 0).then_some(parent)
    }
}

fn digits(text: &str, count: usize) -> Option<u128> {
    let is_plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != count || !text.bytes().all(is_plain) {
        return None;
    }
    u128::from_str_radix(text, 16).ok()
}

/// The part of the traces that begin here which is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio(f64);

impl Ratio {
    /// Reads a number from 0 to 1.
    pub fn parse(text: &str) -> Result<Self, String> {
        let ratio = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        ratio
            .map(Self)
            .ok_or_else(|| "must be a number from 0 to 1, such as 0.1 for one trace of ten".to_owned())
    }

    fn keeps(self, trace: u128) -> bool {
        // As OpenTelemetry's own samplers: by the last digits, so that every program that sees the trace decides alike.
        let place = u32::try_from(trace & u128::from(u32::MAX)).unwrap_or(u32::MAX);
        f64::from(place) < self.0 * (f64::from(u32::MAX) + 1.0)
    }
}

/// A span that has begun: its trace, itself, and whose child it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) trace: u128,
    pub(super) span: u64,
    pub(super) parent: Option<u64>,
}

impl Place {
    /// Returns the place of a new span, if it is kept: as its caller has it, or by the ratio where there is none.
    pub(super) fn new(parent: Option<Parent>, ratio: Ratio) -> Option<Self> {
        let trace = parent.map_or_else(drawn, |parent| parent.trace);
        if !parent.map_or_else(|| ratio.keeps(trace), |parent| parent.is_kept) {
            return None;
        }
        let drawn = drawn();
        let span = u64::try_from((drawn ^ (drawn >> 64)) & u128::from(u64::MAX)).unwrap_or(1);
        Some(Self {
            trace,
            span: span.max(1),
            parent: parent.map(|parent| parent.span),
        })
    }
}

/// A random number, long enough that it is not drawn twice.
/// The digits that are fixed in one half of a UUID are drawn in the other.
fn drawn() -> u128 {
    Uuid::new_v4().as_u128() ^ Uuid::new_v4().as_u128().rotate_left(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn headers_are_read_and_invalid_ones_are_ignored() {
        let parent = Parent::parse(&format!("00-{TRACE}-b7ad6b7169203331-01"));
        let parent = parent.expect("a parent");
        assert_eq!(format!("{:032x}", parent.trace), TRACE);
        assert_eq!((parent.span, parent.is_kept), (0xb7ad_6b71_6920_3331, true));
        let later = format!("01-{TRACE}-b7ad6b7169203331-00-what-may-come");
        assert_eq!(Parent::parse(&later).map(|parent| parent.is_kept), Some(false));
        for wrong in [
            "",
            "00",
            &format!("00-{TRACE}-b7ad6b7169203331"),
            &format!("00-{TRACE}-b7ad6b7169203331-01-more"),
            &format!("ff-{TRACE}-b7ad6b7169203331-01"),
            &format!("00-{}-b7ad6b7169203331-01", TRACE.to_uppercase()),
            &format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            &format!("00-{TRACE}-0000000000000000-01"),
            &format!("00-{TRACE}-b7ad6b716920333é-01"),
        ] {
            assert_eq!(Parent::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_caller_decides_and_the_ratio_where_there_is_none() {
        let (none, all) = (Ratio(0.0), Ratio(1.0));
        let parent = |is_kept| Parent {
            trace: 7,
            span: 9,
            is_kept,
        };
        assert_eq!(Place::new(None, none), None);
        assert_eq!(Place::new(Some(parent(false)), all), None);
        let kept = Place::new(Some(parent(true)), none).expect("the caller keeps it");
        assert_eq!((kept.trace, kept.parent), (7, Some(9)));
        assert!(Place::new(None, all).is_some_and(|place| place.parent.is_none() && place.span != 0));
        let kept = (0..1000)
            .filter(|_| Place::new(None, Ratio(0.5)).is_some())
            .count();
        assert!((300..700).contains(&kept), "about half: {kept}");
        for wrong in ["-0.1", "1.1", "NaN", "all"] {
            assert!(Ratio::parse(wrong).is_err(), "{wrong}");
        }
    }
}
