//! `ConversionReview` v1: bytes to bytes.
//!
//! One object at a time is in memory beside the review and its response: lists of tens of megabytes come as one review. An object that
//! is not read, because it nests too deep, has too many values (`bounds`) or too many bytes, affects no other: it is returned with the
//! requested version and otherwise unchanged.

use std::borrow::Cow;
use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer as _};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::convert::convert_trusting;
use super::trust::Trust;
use super::version::{Extensions, Version};
use crate::hash::Keys;
use kubernetes::field::Path;

/// Path of the conversion webhook of definitions that have not got Tidegate's own fields in `v1beta1`.
pub const CONVERT_PATH: &str = "/convert";
/// The same for definitions that have them.
pub const CONVERT_SERVED_PATH: &str = "/convert-served";

const API_VERSION: &str = "apiextensions.k8s.io/v1";
/// The largest object that is converted, in bytes; an API server stores 1.5 MiB, and takes requests of 3 MiB.
const MOST_BYTES: usize = 3 << 20;

/// Why bytes are no question for a conversion.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The bytes are no `ConversionReview`.
    #[error("the body is not a ConversionReview")]
    Parse(#[source] serde_json::Error),
    /// It is another version or kind.
    #[error("the body is not a ConversionReview of {API_VERSION}")]
    WrongKind,
    /// It has no request with a uid.
    #[error("the ConversionReview has no request with a uid")]
    NoRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    request: Option<Question<'a>>,
}

#[derive(Deserialize)]
struct Question<'a> {
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    #[serde(borrow, default, rename = "desiredAPIVersion")]
    desired: Cow<'a, str>,
    /// A list; a vector of its items would take more memory than their text where they are short.
    #[serde(borrow)]
    objects: Option<&'a RawValue>,
}

/// Answers a review: every object in the version that is asked for, in its order.
/// Only annotations that one of the keys has signed are put back.
pub fn answer(bytes: &[u8], extensions: Extensions, keys: &Keys) -> Result<Vec<u8>, ReviewError> {
    let envelope: Envelope<'_> = serde_json::from_slice(bytes).map_err(ReviewError::Parse)?;
    if envelope.api_version != API_VERSION || envelope.kind != "ConversionReview" {
        return Err(ReviewError::WrongKind);
    }
    let question = envelope.request.filter(|question| !question.uid.is_empty());
    let question = question.ok_or(ReviewError::NoRequest)?;
    let uid = Value::from(question.uid.as_ref());
    let mut out = Vec::with_capacity(bytes.len());
    out.extend_from_slice(
        format!(r#"{{"apiVersion":"{API_VERSION}","kind":"ConversionReview","response":{{"uid":{uid},"#)
            .as_bytes(),
    );
    let Some(to) = Version::parse(&question.desired) else {
        let message = Value::from(format!(
            "this program does not convert objects to {}",
            question.desired
        ));
        out.extend_from_slice(
            format!(r#""convertedObjects":[],"result":{{"status":"Failure","message":{message}}}}}}}"#)
                .as_bytes(),
        );
        return Ok(out);
    };
    out.extend_from_slice(br#""result":{"status":"Success"},"convertedObjects":["#);
    if let Some(objects) = question.objects.filter(|objects| objects.get() != "null") {
        let mut reader = serde_json::Deserializer::from_str(objects.get());
        let items = Items(|index, object: &RawValue| {
            if index > 0 {
                out.push(b',');
            }
            write_converted(&mut out, object, to, extensions, Trust::Keys(keys));
        });
        reader.deserialize_seq(items).map_err(ReviewError::Parse)?;
    }
    out.extend_from_slice(b"]}}");
    Ok(out)
}

/// The items of a list, one after the other, with their number.
struct Items<F>(F);

impl<'a, F: FnMut(usize, &'a RawValue)> Visitor<'a> for Items<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<S: SeqAccess<'a>>(mut self, mut items: S) -> Result<(), S::Error> {
        let mut index = 0;
        while let Some(item) = items.next_element()? {
            (self.0)(index, item);
            index += 1;
        }
        Ok(())
    }
}

/// Writes an object in the other version, or as it came.
fn write_converted(
    out: &mut Vec<u8>,
    object: &RawValue,
    to: Version,
    extensions: Extensions,
    trust: Trust<'_>,
) {
    let begin = out.len();
    let is_small = object.get().len() <= MOST_BYTES;
    let read = is_small.then(|| kubernetes::bounds::read(object.get(), &Path::root()));
    let written = match read {
        Some(Ok(object)) => {
            let mut converted = convert_trusting(object, to, extensions, trust);
            add_metadata(&mut converted);
            serde_json::to_writer(&mut *out, &converted).is_ok()
        }
        Some(Err(_)) | None => false,
    };
    if !written {
        out.truncate(begin);
        write_as_it_came(out, object, to);
    }
}

/// Gives an object metadata where it has none. In a server-side apply, an API server also asks for the parts of an object that one
/// field manager owns; they may have no metadata, and it refuses a converted object without.
fn add_metadata(object: &mut Value) {
    if let Some(members) = object.as_object_mut() {
        members.entry("metadata").or_insert_with(|| json!({}));
    }
}

/// Writes an object that is not read: its members in their order, with the other version.
fn write_as_it_came(out: &mut Vec<u8>, object: &RawValue, to: Version) {
    let begin = out.len();
    out.extend_from_slice(format!(r#"{{"apiVersion":{}"#, Value::from(to.api_version())).as_bytes());
    let mut has_metadata = false;
    let written = kubernetes::bounds::members(object.get(), |name, member| {
        has_metadata |= name == "metadata";
        if name != "apiVersion" {
            out.push(b',');
            out.extend_from_slice(Value::from(&*name).to_string().as_bytes());
            out.push(b':');
            out.extend_from_slice(member.get().as_bytes());
        }
    });
    if written.is_ok() {
        out.extend_from_slice(if has_metadata { b"}" } else { br#","metadata":{}}"# });
    } else {
        out.truncate(begin);
        out.extend_from_slice(object.get().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects of which a kube-apiserver 1.36.2 asked while field managers changed the version that they apply (server-side), with
    /// another manager's status in between: whole ones, and the parts of one manager. Without their `managedFields`.
    const ASKED: &str = include_str!("asked_by_an_api_server.jsonl");

    #[test]
    fn what_an_api_server_asks_for_in_a_server_side_apply_is_an_object_that_it_takes() {
        let mut without_metadata = 0;
        for line in ASKED.lines() {
            let asked: Value = serde_json::from_str(line).expect("JSON");
            let (to, object) = (&asked["desiredAPIVersion"], &asked["object"]);
            let request = json!({"uid": "u", "desiredAPIVersion": to, "objects": [object]});
            let review = json!({"apiVersion": API_VERSION, "kind": "ConversionReview", "request": request});
            let answered = answer(review.to_string().as_bytes(), Extensions::Kept, &Keys::default());
            let answered: Value = serde_json::from_slice(&answered.expect("a review")).expect("JSON");
            let converted = &answered["response"]["convertedObjects"][0];
            assert_eq!(
                (&converted["apiVersion"], &converted["kind"]),
                (to, &object["kind"]),
                "{line}"
            );
            assert!(converted["metadata"].is_object(), "{line}");
            for name in ["name", "namespace", "uid", "resourceVersion"] {
                assert_eq!(converted["metadata"][name], object["metadata"][name], "{line}");
            }
            without_metadata += usize::from(object.get("metadata").is_none());
        }
        assert!(without_metadata > 0);
    }
}
