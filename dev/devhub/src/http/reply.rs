//! The answer to a request before it is bytes.
//!
//! Decides status line, headers and encoding.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, RETRY_AFTER, WARNING};
use http::{HeaderValue, Response, StatusCode};
use serde_json::Value;

use super::body::{Body, Payload, full, streamed};
use super::{Encoding, decode_json, encode_yaml};
use crate::admission::Warnings;
use crate::error::ApiError;

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    /// HTTP status.
    pub(crate) status: u16,
    /// Content.
    pub(crate) payload: Payload,
    /// Further headers.
    pub(crate) headers: Vec<(HeaderName, String)>,
}

impl Reply {
    /// Returns an answer with a JSON document.
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        Self::bytes(status, serde_json::to_vec(value).unwrap_or_default())
    }

    /// Returns an answer with JSON that is already text.
    pub(crate) fn bytes(status: u16, json: Vec<u8>) -> Self {
        Self {
            status,
            payload: Payload::Json(json),
            headers: Vec::new(),
        }
    }

    /// Returns an answer in plain text.
    pub(crate) fn text(status: u16, text: &str) -> Self {
        let payload = Payload::Raw("text/plain; charset=utf-8", text.as_bytes().to_vec());
        Self {
            status,
            payload,
            headers: Vec::new(),
        }
    }

    /// Returns the answer for a path that means nothing.
    pub(crate) fn unknown_path() -> Self {
        Self::text(404, "404 page not found\n")
    }

    /// Returns the answer that tells a failure.
    pub(crate) fn error(error: &ApiError) -> Self {
        let mut reply = Self::json(error.code, &error.to_status());
        if let Some(seconds) = error
            .details
            .as_ref()
            .and_then(|details| details.get("retryAfterSeconds"))
        {
            reply.headers.push((RETRY_AFTER, seconds.to_string()));
        }
        reply
    }

    /// Returns this answer with a header.
    pub(crate) fn with_header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Writes the answer.
    pub(crate) fn into_response(self, encoding: Encoding, warnings: &Warnings) -> Response<Body> {
        let (content_type, body) = match (self.payload, encoding) {
            (Payload::Json(bytes), Encoding::Json) => ("application/json", full(bytes)),
            (Payload::Json(bytes), Encoding::Yaml) => {
                let value = decode_json(&bytes)
                    .map(|decoded| decoded.value)
                    .unwrap_or_default();
                ("application/yaml", full(encode_yaml(&value)))
            }
            (Payload::Raw(kind, bytes), _) => (kind, full(bytes)),
            (Payload::Stream(events), _) => ("application/json", streamed(events)),
            // A 304 must not change the type of what the client has.
            (Payload::Empty, _) => ("", full(Vec::new())),
        };
        let mut response = Response::new(body);
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        if !content_type.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        for (name, text) in self.headers {
            if let Ok(value) = HeaderValue::from_bytes(text.as_bytes()) {
                headers.insert(name, value);
            }
        }
        for text in warnings.headers() {
            if let Ok(value) = HeaderValue::from_bytes(text.as_bytes()) {
                headers.append(WARNING, value);
            }
        }
        response
    }
}
