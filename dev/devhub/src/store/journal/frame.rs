//! One record of the log as bytes.
//!
//! Decides the form: mark, length, checksum, then version, operation, table, key and JSON. Never touches a file.

/// Begins every record. Its first byte is in no UTF-8 text, so it stands in no object.
pub(super) const MARK: [u8; 4] = [0xF5, b'd', b'h', 0xF6];
/// Mark, length and checksum.
const HEAD: usize = 12;
/// The longest record that is believed: a body of 3 MiB as it grows by what the hub adds, and more.
const LONGEST: usize = 64 * 1024 * 1024;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// An object of the state that the log begins with.
    State,
    /// The end of that state; the body is the number of its objects.
    Mark,
    /// An object was created or changed.
    Put,
    /// An object was removed.
    Remove,
}

impl EntryKind {
    fn byte(self) -> u8 {
        match self {
            Self::State => 1,
            Self::Mark => 2,
            Self::Put => 3,
            Self::Remove => 4,
        }
    }

    fn read(byte: u8) -> Option<Self> {
        [Self::State, Self::Mark, Self::Put, Self::Remove]
            .into_iter()
            .find(|kind| kind.byte() == byte)
    }
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// What it says.
    pub(crate) kind: EntryKind,
    /// Resource version.
    pub(crate) version: u64,
    /// Whether the object was written under a schema.
    pub(crate) shaped: bool,
    /// `plural.group`.
    pub(crate) table: String,
    /// Key of the object.
    pub(crate) key: String,
    /// API version in which the object was written; may be empty.
    pub(crate) written_in: String,
    /// The stored body of the object; empty for a removal.
    pub(crate) body: Vec<u8>,
}

impl Entry {
    /// Returns the end of a state.
    pub(super) fn mark(version: u64, objects: u64) -> Self {
        Self {
            kind: EntryKind::Mark,
            version,
            shaped: false,
            table: String::new(),
            key: String::new(),
            written_in: String::new(),
            body: objects.to_le_bytes().to_vec(),
        }
    }

    /// Tells whether the record would not be believed when it is read again.
    pub(super) fn is_too_long(&self) -> bool {
        let texts = [&self.table, &self.key, &self.written_in];
        let texts: usize = texts.iter().map(|text| text.len()).sum();
        self.body.len() + texts + HEAD > LONGEST - 64
    }

    /// Writes the record behind others. It must not be too long.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut payload = Vec::with_capacity(self.body.len() + self.key.len() + self.table.len() + 16);
        payload.extend(self.version.to_le_bytes());
        payload.push(self.kind.byte());
        payload.push(u8::from(self.shaped));
        for text in [&self.table, &self.key, &self.written_in] {
            payload.extend(length(text.len()));
            payload.extend(text.as_bytes());
        }
        payload.extend(&self.body);
        let length = length(payload.len());
        out.extend(MARK);
        out.extend(length);
        out.extend(checksum(&[&length, &payload]).to_le_bytes());
        out.extend(payload);
    }

    /// Reads the record at the begin of some bytes; returns it with its length.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let (mark, rest) = bytes.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (sum, rest) = rest.split_first_chunk::<4>()?;
        let size = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        if *mark != MARK || size > LONGEST {
            return None;
        }
        let payload = rest.get(..size)?;
        if checksum(&[length, payload]) != u32::from_le_bytes(*sum) {
            return None;
        }
        let (version, rest) = payload.split_first_chunk::<8>()?;
        let ([kind, shaped], rest) = rest.split_first_chunk::<2>()?;
        let (table, rest) = text(rest)?;
        let (key, rest) = text(rest)?;
        let (written_in, body) = text(rest)?;
        let entry = Self {
            kind: EntryKind::read(*kind)?,
            version: u64::from_le_bytes(*version),
            shaped: *shaped != 0,
            table,
            key,
            written_in,
            body: body.to_vec(),
        };
        Some((entry, HEAD + size))
    }
}

fn length(size: usize) -> [u8; 4] {
    u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes()
}

fn text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (text, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    Some((String::from_utf8(text.to_vec()).ok()?, rest))
}

/// Returns the CRC-32 (IEEE) of several pieces.
fn checksum(pieces: &[&[u8]]) -> u32 {
    let bytes = pieces.iter().flat_map(|piece| piece.iter());
    !bytes.fold(u32::MAX, |sum, byte| {
        let slot = usize::from(sum.to_le_bytes()[0] ^ byte);
        (sum >> 8) ^ TABLE.get(slot).copied().unwrap_or_default()
    })
}

const TABLE: [u32; 256] = table();

#[expect(
    clippy::indexing_slicing,
    reason = "computed while compiling: a wrong index would not compile"
)]
const fn table() -> [u32; 256] {
    let mut table = [0_u32; 256];
    let mut slot = 0;
    let mut start = 0_u32;
    while slot < 256 {
        let mut value = start;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 {
                (value >> 1) ^ 0xEDB8_8320
            } else {
                value >> 1
            };
            bit += 1;
        }
        table[slot] = value;
        slot += 1;
        start += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_standard_one() {
        assert_eq!(checksum(&[b"1234", b"56789"]), 0xCBF4_3926);
    }

    #[test]
    fn names_of_any_length_survive_and_a_record_that_cannot_be_read_again_is_known() {
        let mut entry = Entry::mark(7, 0);
        entry.key = "x".repeat(100_000);
        let mut bytes = Vec::new();
        entry.write(&mut bytes);
        assert_eq!(
            Entry::read(&bytes).map(|(entry, _)| entry.key.len()),
            Some(100_000)
        );
        assert!(!entry.is_too_long());
        entry.body = vec![b'x'; LONGEST];
        assert!(entry.is_too_long());
    }

    #[test]
    fn a_record_survives_and_every_changed_byte_is_noticed() {
        let entry = Entry {
            kind: EntryKind::Put,
            version: 107,
            shaped: true,
            table: "things.example.io".to_owned(),
            key: "ns/a".to_owned(),
            written_in: "v1".to_owned(),
            body: b"\"name\":\"a\"}}".to_vec(),
        };
        let mut bytes = Vec::new();
        entry.write(&mut bytes);
        assert_eq!(Entry::read(&bytes), Some((entry, bytes.len())));
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 0x41;
            assert_eq!(Entry::read(&broken), None, "byte {at}");
            assert_eq!(Entry::read(&bytes[..at]), None, "cut at {at}");
        }
    }
}
