//! The envelope of a body: four letters, then kind and bytes of what is inside.
//!
//! Decides what a body says of itself.

use super::fault::Fault;
use super::wire::{DELIMITED, Reader};

/// Content type of bodies in this form.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";
const PREFIX: &[u8] = b"k8s\0";

/// What a body says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// `apiVersion`, empty for the one that is asked for.
    pub api_version: String,
    /// `kind`, empty for the one that is asked for.
    pub kind: String,
    /// The message.
    pub content: &'a [u8],
}

/// Opens the envelope of a body.
pub fn open(body: &[u8]) -> Result<Envelope<'_>, Fault> {
    if body.is_empty() {
        return Err(Fault::NoData);
    }
    let inside = body.strip_prefix(PREFIX).ok_or(Fault::NoPrefix)?;
    if inside.is_empty() {
        return Err(Fault::EmptyBody);
    }
    let mut envelope = Envelope::default();
    let mut reader = Reader::new(inside);
    while let Some(tag) = reader.tag("Unknown")? {
        match tag.number {
            1 => head(delimited(&mut reader, tag.wire, "TypeMeta")?, &mut envelope)?,
            2 => envelope.content = delimited(&mut reader, tag.wire, "Raw")?,
            // Encoding and content type of the inside: nothing but a plain message is ever sent.
            _ => reader.skip(tag.wire)?,
        }
    }
    Ok(envelope)
}

fn head(bytes: &[u8], envelope: &mut Envelope<'_>) -> Result<(), Fault> {
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag("TypeMeta")? {
        let (field, target) = match tag.number {
            1 => ("APIVersion", &mut envelope.api_version),
            2 => ("Kind", &mut envelope.kind),
            _ => {
                reader.skip(tag.wire)?;
                continue;
            }
        };
        let bytes = delimited(&mut reader, tag.wire, field)?;
        *target = String::from_utf8_lossy(bytes).into_owned();
    }
    Ok(())
}

fn delimited<'a>(reader: &mut Reader<'a>, wire: u8, field: &'static str) -> Result<&'a [u8], Fault> {
    if wire == DELIMITED {
        reader.delimited()
    } else {
        Err(Fault::WrongType { wire, field })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_say_what_is_inside() {
        let body = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x03abc\x1a\x00\x22\x00\x2d1234";
        let expected = Envelope {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            content: b"abc",
        };
        assert_eq!(open(body), Ok(expected));
        assert_eq!(open(b"k8s\0\x12\x00"), Ok(Envelope::default()));
    }

    #[test]
    fn broken_envelopes_are_refused_with_the_reason() {
        for (body, expected) in [
            (&b""[..], "empty data"),
            (
                b"k8",
                "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
            ),
            (b"k8s\0", "empty body"),
            (b"k8s\0\x0a", "unexpected EOF"),
            (b"k8s\0\x0a\x05\x0a", "unexpected EOF"),
            (b"k8s\0\x0a\x02\x0a\x09", "unexpected EOF"),
            (b"k8s\0\x08\x01", "proto: wrong wireType = 0 for field TypeMeta"),
            (
                b"k8s\0\x0a\x02\x10\x01",
                "proto: wrong wireType = 0 for field Kind",
            ),
            (b"k8s\0\x00\x01", "proto: Unknown: illegal tag 0 (wire type 0)"),
            (b"k8s\0{\"kind\":1}", "unexpected EOF"),
        ] {
            let fault = open(body).expect_err("a broken envelope");
            assert_eq!(fault.to_string(), expected, "{body:x?}");
        }
    }
}
