//! Replaces a word by another of the same length in a stream of bytes.
//!
//! Decides how much of the end of a piece is held back: only what may be the beginning of the word.

use hyper::body::Bytes;

/// A replacement with what it holds back.
#[derive(Clone, Debug)]
pub(crate) struct Rename {
    from: Vec<u8>,
    to: Vec<u8>,
    held: Vec<u8>,
}

impl Rename {
    /// Replaces `from` by `to`; `None` if they differ in length or are empty.
    pub(crate) fn new(from: &str, to: &str) -> Option<Self> {
        (!from.is_empty() && from.len() == to.len()).then(|| Self {
            from: from.as_bytes().to_vec(),
            to: to.as_bytes().to_vec(),
            held: Vec::new(),
        })
    }

    /// Returns the next piece, without an end that may be the beginning of the word.
    pub(crate) fn pass(&mut self, piece: &[u8]) -> Bytes {
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(piece);
        let mut at = 0;
        while let Some(found) = text.get(at..).and_then(|rest| {
            rest.windows(self.from.len())
                .position(|window| window == self.from)
        }) {
            let end = at + found + self.from.len();
            text[at + found..end].copy_from_slice(&self.to);
            at = end;
        }
        let longest = self.from.len().saturating_sub(1).min(text.len() - at);
        let held = (1..=longest)
            .rev()
            .find(|length| text.ends_with(&self.from[..*length]));
        self.held = text.split_off(text.len() - held.unwrap_or_default());
        Bytes::from(text)
    }

    /// Returns what is held back when nothing follows.
    pub(crate) fn rest(&mut self) -> Option<Bytes> {
        let held = std::mem::take(&mut self.held);
        (!held.is_empty()).then(|| Bytes::from(held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_replaced_wherever_the_stream_is_cut() {
        let text = b"share-0share-01share-01 share-02 share-0";
        for cut in 0..=text.len() {
            let mut rename = Rename::new("share-01", "tidegate").expect("of one length");
            let (first, second) = text.split_at(cut);
            let mut whole = rename.pass(first).to_vec();
            whole.extend_from_slice(&rename.pass(second));
            whole.extend_from_slice(&rename.rest().unwrap_or_default());
            assert_eq!(whole, b"share-0tidegatetidegate share-02 share-0", "cut at {cut}");
        }
        assert!(Rename::new("a", "bc").is_none());
    }
}
