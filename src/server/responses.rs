//! Plain responses, and the content type of requests.

use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode, header};

use super::health::Word;

/// The response to a probe.
pub(super) fn probe_response(word: Word) -> Response<Body> {
    match word {
        Word::Yes(text) => plain(StatusCode::OK, &text),
        Word::No(text) => plain(StatusCode::SERVICE_UNAVAILABLE, &text),
    }
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let text = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

pub(super) fn busy() -> Response<Body> {
    let mut response = plain(StatusCode::TOO_MANY_REQUESTS, "too many requests at once");
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    response
}

pub(super) fn plain(status: StatusCode, text: &str) -> Response<Body> {
    respond(status, "text/plain; charset=utf-8", format!("{text}\n").into())
}

pub(super) fn json(status: StatusCode, bytes: impl Into<Body>) -> Response<Body> {
    respond(status, "application/json", bytes.into())
}

fn respond(status: StatusCode, content: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content));
    response
}
