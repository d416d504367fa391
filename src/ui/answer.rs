//! Answers with the headers that each has.
//!
//! Decides what a browser may do with an answer: keep nothing, frame nothing, load nothing from elsewhere, run nothing but our files.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

/// What the page may load, and from where.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

pub(super) const JSON: &str = "application/json";

pub(super) const EVENTS: &str = "text/event-stream";

/// Reports whether an answer is a stream of events.
pub(super) fn is_stream<B>(answer: &Response<B>) -> bool {
    answer
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind == EVENTS)
}

/// Returns an answer with all its headers.
pub(super) fn answer(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let all = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in all {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns what was asked for.
pub(super) fn found(value: &Value) -> Response<Body> {
    answer(StatusCode::OK, JSON, Body::from(value.to_string()))
}

/// Returns why there is no other answer.
pub(super) fn refused(status: StatusCode, why: &str) -> Response<Body> {
    let mut response = answer(status, JSON, Body::from(json!({ "error": why }).to_string()));
    if status == StatusCode::UNAUTHORIZED {
        let how = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, how);
    }
    response
}
