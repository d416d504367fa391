//! The bytes of a message.
//!
//! Decides where fields begin and end. Takes no more memory than it is given.

use super::fault::Fault;

/// Type of numbers on the wire.
pub const VARINT: u8 = 0;
/// Type of texts, bytes and messages on the wire.
pub const DELIMITED: u8 = 2;
const FIXED64: u8 = 1;
const GROUP: u8 = 3;
const END: u8 = 4;
const FIXED32: u8 = 5;

/// Number and wire type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Number of the field.
    pub number: u32,
    /// Type on the wire.
    pub wire: u8,
}

/// What is left of a message.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads a message from its first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the tag of the next field of `message`, or nothing at its end.
    pub fn tag(&mut self, message: &'static str) -> Result<Option<Tag>, Fault> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (number, wire) = split(self.varint()?);
        if wire == END {
            return Err(Fault::EndOfNoGroup(message));
        }
        match u32::try_from(number) {
            Ok(number) if number > 0 => Ok(Some(Tag { number, wire })),
            _ => Err(Fault::IllegalTag {
                message,
                number,
                wire,
            }),
        }
    }

    /// Returns a number.
    pub fn varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(Fault::Truncated)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Fault::Overflow)
    }

    /// Returns bytes that are preceded by their length.
    pub fn delimited(&mut self) -> Result<&'a [u8], Fault> {
        let length = i64::from_le_bytes(self.varint()?.to_le_bytes());
        let length = usize::try_from(length).map_err(|_negative| Fault::NegativeLength)?;
        self.take(length)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Fault::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Leaves out the value of a field; groups with all that they hold.
    pub fn skip(&mut self, wire: u8) -> Result<(), Fault> {
        let (mut wire, mut open) = (wire, 0_usize);
        loop {
            match wire {
                VARINT => drop(self.varint()?),
                FIXED64 => drop(self.take(8)?),
                DELIMITED => drop(self.delimited()?),
                GROUP => open += 1,
                END => open = open.checked_sub(1).ok_or(Fault::UnexpectedEnd)?,
                FIXED32 => drop(self.take(4)?),
                other => return Err(Fault::IllegalType(other)),
            }
            if open == 0 {
                return Ok(());
            }
            wire = split(self.varint()?).1;
        }
    }
}

/// Splits a tag as 32-bit decoders do: what is above is lost.
fn split(tag: u64) -> (i32, u8) {
    let [a, b, c, d, ..] = (tag >> 3).to_le_bytes();
    let wire = u8::try_from(tag & 7).unwrap_or_default();
    (i32::from_le_bytes([a, b, c, d]), wire)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_their_bytes_say() {
        for (bytes, expected) in [
            (&[0x00][..], Ok(0)),
            (&[0x96, 0x01], Ok(150)),
            (
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
                Ok(u64::MAX),
            ),
            (&[], Err(Fault::Truncated)),
            (&[0x80], Err(Fault::Truncated)),
            (&[0x80; 9], Err(Fault::Truncated)),
            (&[0x80; 10], Err(Fault::Overflow)),
            (&[0xff; 64], Err(Fault::Overflow)),
        ] {
            assert_eq!(Reader::new(bytes).varint(), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn lengths_never_reach_beyond_the_end() {
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        let negative = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        for (bytes, expected) in [
            (&[0x00][..], Ok(&[][..])),
            (&[0x02, 1, 2, 3], Ok(&[1, 2])),
            (&[0x02, 1], Err(Fault::Truncated)),
            (&[0x80, 0x80, 0x40, 1], Err(Fault::Truncated)),
            (&huge, Err(Fault::Truncated)),
            (&negative, Err(Fault::NegativeLength)),
        ] {
            assert_eq!(Reader::new(bytes).delimited(), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn tags_need_a_number_and_open_no_end() {
        for (bytes, expected) in [
            (&[][..], Ok(None)),
            (&[0x0a], Ok(Some(Tag { number: 1, wire: 2 }))),
            (
                &[0x02],
                Err(Fault::IllegalTag {
                    message: "M",
                    number: 0,
                    wire: 2,
                }),
            ),
            (
                &[0xf8, 0xff, 0xff, 0xff, 0x7f],
                Err(Fault::IllegalTag {
                    message: "M",
                    number: -1,
                    wire: 0,
                }),
            ),
            (&[0x0c], Err(Fault::EndOfNoGroup("M"))),
            (&[0x80], Err(Fault::Truncated)),
        ] {
            assert_eq!(Reader::new(bytes).tag("M"), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn unknown_fields_are_skipped_whole() {
        for (wire, bytes, expected) in [
            (VARINT, &[0x96, 0x01, 7][..], Ok(&[7][..])),
            (FIXED64, &[1, 2, 3, 4, 5, 6, 7, 8, 9], Ok(&[9])),
            (FIXED64, &[1, 2, 3, 4, 5, 6, 7], Err(Fault::Truncated)),
            (DELIMITED, &[1, 5, 6], Ok(&[6])),
            (FIXED32, &[1, 2, 3], Err(Fault::Truncated)),
            // A group with a number, an inner group and a text.
            (GROUP, &[0x08, 1, 0x13, 0x14, 0x1a, 1, 65, 0x0c, 9], Ok(&[9])),
            (GROUP, &[0x08, 1], Err(Fault::Truncated)),
            (END, &[], Err(Fault::UnexpectedEnd)),
            (6, &[], Err(Fault::IllegalType(6))),
            (7, &[], Err(Fault::IllegalType(7))),
        ] {
            let mut reader = Reader::new(bytes);
            assert_eq!(
                reader.skip(wire).map(|()| reader.rest),
                expected,
                "{wire} {bytes:x?}"
            );
        }
    }

    #[test]
    fn a_million_nested_groups_need_no_stack() {
        let mut bytes = vec![0x0b; 1_000_000];
        assert_eq!(Reader::new(&bytes).skip(GROUP), Err(Fault::Truncated));
        bytes.extend(vec![0x0c; 1_000_001]);
        assert_eq!(Reader::new(&bytes).skip(GROUP), Ok(()));
    }
}
