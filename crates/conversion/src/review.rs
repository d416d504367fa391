//! `ConversionReview` v1: bytes to bytes.
//!
//! Decides how a question is read and an answer written. Holds one object at a time beside question and answer: lists of tens of
//! megabytes come as one review. One object that cannot be read spoils nothing but itself: it is sent back with the version that was
//! asked for and otherwise as it came.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::convert::convert;
use super::version::{Extensions, Version};

/// Path of the conversion webhook of definitions that have not got Tidegate's own fields in `v1beta1`.
pub const CONVERT_PATH: &str = "/convert";
/// The same for definitions that have them.
pub const CONVERT_SERVED_PATH: &str = "/convert-served";

const API_VERSION: &str = "apiextensions.k8s.io/v1";

/// Why bytes are no question for a conversion.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The bytes are no `ConversionReview`.
    #[error("the body is no ConversionReview")]
    Parse(#[source] serde_json::Error),
    /// It is another version or kind.
    #[error("the body is not a ConversionReview of {API_VERSION}")]
    WrongKind,
    /// It has no request with a uid.
    #[error("the ConversionReview has no request with a uid")]
    NoRequest,
    /// The answer cannot be written.
    #[error("the answer cannot be written")]
    Write(#[source] serde_json::Error),
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
    #[serde(borrow, default)]
    objects: Vec<&'a RawValue>,
}

/// Answers a review: every object in the version that is asked for, in its order.
pub fn answer(bytes: &[u8], extensions: Extensions) -> Result<Vec<u8>, ReviewError> {
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
            "this program converts no objects to {}",
            question.desired
        ));
        out.extend_from_slice(
            format!(r#""convertedObjects":[],"result":{{"status":"Failure","message":{message}}}}}}}"#)
                .as_bytes(),
        );
        return Ok(out);
    };
    out.extend_from_slice(br#""result":{"status":"Success"},"convertedObjects":["#);
    for (index, object) in question.objects.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match serde_json::from_str(object.get()) {
            Ok(object) => serde_json::to_writer(&mut out, &convert(object, to, extensions)),
            Err(_) => write_as_it_came(&mut out, object, to),
        }
        .map_err(ReviewError::Write)?;
    }
    out.extend_from_slice(b"]}}");
    Ok(out)
}

/// Writes an object that is nested too deeply to be read, or whose numbers nothing holds.
fn write_as_it_came(out: &mut Vec<u8>, object: &RawValue, to: Version) -> Result<(), serde_json::Error> {
    let Ok(mut fields) = serde_json::from_str::<BTreeMap<String, &RawValue>>(object.get()) else {
        out.extend_from_slice(object.get().as_bytes());
        return Ok(());
    };
    let version = RawValue::from_string(Value::from(to.api_version()).to_string())?;
    fields.insert("apiVersion".to_owned(), &version);
    serde_json::to_writer(out, &fields)
}
