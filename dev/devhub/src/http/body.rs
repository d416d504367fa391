//! Bodies of requests and answers.
//!
//! Decides how much a client may send.

use std::convert::Infallible;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited, StreamBody};

use crate::error::ApiError;

/// The largest body that is read.
const LIMIT: usize = 3 * 1024 * 1024;

/// How many events go out in one frame at most.
const EVENTS: usize = 64;

/// Body of an answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// What an answer holds.
pub(crate) enum Payload {
    /// A JSON document, to be encoded as the client asked.
    Json(Vec<u8>),
    /// Bytes of another type, as they are.
    Raw(&'static str, Vec<u8>),
    /// Events, as they come, each one a JSON line.
    Stream(BoxStream<'static, Bytes>),
    /// Nothing.
    Empty,
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Json(bytes) => f.debug_tuple("Json").field(&bytes.len()).finish(),
            Self::Raw(kind, bytes) => f.debug_tuple("Raw").field(kind).field(&bytes.len()).finish(),
            Self::Stream(_) => f.write_str("Stream"),
            Self::Empty => f.write_str("Empty"),
        }
    }
}

/// Returns a body of known bytes.
pub(crate) fn full(bytes: Vec<u8>) -> Body {
    Full::new(Bytes::from(bytes)).boxed_unsync()
}

/// Returns a body that grows. What is there at once goes out at once: a frame for every event would cost more than the events.
pub(crate) fn streamed(events: BoxStream<'static, Bytes>) -> Body {
    let frames = events
        .ready_chunks(EVENTS)
        .map(|events| Ok(Frame::data(joined(events))));
    StreamBody::new(frames).boxed_unsync()
}

fn joined(mut events: Vec<Bytes>) -> Bytes {
    match events.pop() {
        Some(only) if events.is_empty() => only,
        last => {
            events.extend(last);
            Bytes::from(events.concat())
        }
    }
}

/// Reads the body of a request.
pub(crate) async fn read_payload<B>(body: B) -> Result<Bytes, ApiError>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match Limited::new(body, LIMIT).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            let message = format!("Request entity too large: limit is {LIMIT}");
            Err(ApiError::new(413, "RequestEntityTooLarge", message))
        }
        Err(error) => Err(ApiError::bad_request(format!(
            "cannot read the request body: {error}"
        ))),
    }
}
