//! Just enough DER to put a name into a certificate as somebody else has encoded it.
//!
//! Decides nothing about certificates. Never panics: what does not have the expected form is `None`.

/// Tag of a SEQUENCE.
const SEQUENCE: u8 = 0x30;
/// Tag of a BIT STRING.
const BIT_STRING: u8 = 0x03;

/// Returns the elements of a SEQUENCE, each with its tag and length; nothing may follow the SEQUENCE.
pub(super) fn elements(sequence: &[u8]) -> Option<Vec<&[u8]>> {
    let (whole, rest) = element(sequence)?;
    if whole.first() != Some(&SEQUENCE) || !rest.is_empty() {
        return None;
    }
    let (header, length) = lengths(whole)?;
    let mut content = whole.get(header..header.checked_add(length)?)?;
    let mut found = Vec::new();
    while !content.is_empty() {
        let (one, rest) = element(content)?;
        found.push(one);
        content = rest;
    }
    Some(found)
}

/// Returns the first element and what follows it.
fn element(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (header, length) = lengths(bytes)?;
    bytes.split_at_checked(header.checked_add(length)?)
}

/// Returns the length of the header and that of the content.
fn lengths(bytes: &[u8]) -> Option<(usize, usize)> {
    let first = usize::from(*bytes.get(1)?);
    if first < 0x80 {
        return Some((2, first));
    }
    let count = first & 0x7f;
    if count == 0 || count > 4 {
        return None;
    }
    let digits = bytes.get(2..2_usize.checked_add(count)?)?;
    let length = digits
        .iter()
        .fold(0_usize, |length, digit| (length << 8) | usize::from(*digit));
    Some((2_usize.checked_add(count)?, length))
}

/// Returns a SEQUENCE of these elements.
pub(super) fn sequence(elements: &[&[u8]]) -> Vec<u8> {
    tagged(SEQUENCE, &elements.concat())
}

/// Returns a BIT STRING of whole bytes.
pub(super) fn bit_string(bytes: &[u8]) -> Vec<u8> {
    tagged(BIT_STRING, &[&[0], bytes].concat())
}

fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let digits = content.len().to_be_bytes();
    let digits: Vec<u8> = digits.into_iter().skip_while(|digit| *digit == 0).collect();
    if content.len() >= 0x80 {
        out.push(0x80 | u8::try_from(digits.len()).unwrap_or_default());
    } else if digits.is_empty() {
        out.push(0);
    }
    out.extend(digits);
    out.extend(content);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_put_together_comes_apart_again() {
        for size in [0, 1, 0x7f, 0x80, 0xff, 0x100, 0x1_0000] {
            let big = bit_string(&vec![7; size]);
            let whole = sequence(&[&[2, 1, 5], &big]);
            assert_eq!(elements(&whole), Some(vec![&[2, 1, 5][..], &big[..]]), "{size}");
        }
    }

    #[test]
    fn what_is_cut_or_followed_by_more_is_nothing() {
        let whole = sequence(&[&[2, 1, 5]]);
        assert_eq!(elements(&whole[..whole.len() - 1]), None);
        assert_eq!(elements(&[&whole[..], &[0]].concat()), None);
        assert_eq!(elements(&[2, 1, 5]), None);
        assert_eq!(elements(&[SEQUENCE, 0x80]), None);
    }

    proptest! {
        #[test]
        fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _found = elements(&noise).is_some();
        }
    }
}
