//! Responses with the headers that each has, and in gzip for clients that read it.
//!
//! A browser may keep nothing, frame nothing, load nothing from elsewhere and run nothing but our files. Compressed are responses whose
//! length is known; a stream of events has none, so that no event waits in the encoder. No attacker can find out a secret from lengths
//! (BREACH): responses hold no token, no cookie and no other secret of the user, and a request that another site has a browser send is
//! refused and has no token.

use std::io::Write as _;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::BodyExt as _;
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

/// Returns the requested content.
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

/// What is smaller fits into a packet anyway.
const WORTH: u64 = 1_400;

/// Returns whether a client reads gzip.
pub(super) fn reads_gzip(headers: &HeaderMap) -> bool {
    let all = headers.get_all(header::ACCEPT_ENCODING).into_iter();
    let words = all.filter_map(|value| value.to_str().ok());
    words.flat_map(|words| words.split(',')).any(|word| {
        let (name, weight) = word.split_once(';').unwrap_or((word, ""));
        let weight = weight.trim().strip_prefix("q=").map(str::trim);
        let is_refused = weight.is_some_and(|weight| weight.parse().is_ok_and(|weight: f32| weight <= 0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

/// Returns an answer in gzip, where it has a length and that is worth it.
pub(super) async fn packed(answer: Response<Body>) -> Response<Body> {
    let is_worth_it = answer.size_hint().exact().is_some_and(|length| length >= WORTH);
    if !is_worth_it {
        return answer;
    }
    let (mut head, body) = answer.into_parts();
    // It is all there already, and nothing of it can fail.
    let Ok(whole) = body.collect().await else {
        return Response::from_parts(head, Body::empty());
    };
    let bytes = whole.to_bytes();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let Ok(small) = encoder.write_all(&bytes).and_then(|()| encoder.finish()) else {
        return Response::from_parts(head, Body::from(bytes));
    };
    let gzip = HeaderValue::from_static("gzip");
    head.headers.insert(header::CONTENT_ENCODING, gzip);
    let by = HeaderValue::from_static("accept-encoding");
    head.headers.insert(header::VARY, by);
    Response::from_parts(head, Body::from(small))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn accepts(words: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for word in words {
            headers.append(header::ACCEPT_ENCODING, HeaderValue::from_static(word));
        }
        reads_gzip(&headers)
    }

    #[test]
    fn who_reads_gzip_says_so() {
        for words in [
            &["gzip"][..],
            &["br, GZIP;q=0.5"],
            &["br", "deflate,gzip"],
            &["gzip; q=1"],
        ] {
            assert!(accepts(words), "{words:?}");
        }
        for words in [
            &[][..],
            &["br"],
            &["gzip;q=0"],
            &["gzip; q=0.000"],
            &["x-gzip"],
            &["*"],
        ] {
            assert!(!accepts(words), "{words:?}");
        }
    }

    #[tokio::test]
    async fn what_has_a_length_is_packed_and_means_what_it_meant() {
        let text = "cluster ".repeat(10_000);
        let small = packed(Response::new(Body::from(text.clone()))).await;
        assert_eq!(small.headers()[header::CONTENT_ENCODING], "gzip");
        let bytes = small.into_body().collect().await.expect("in memory").to_bytes();
        assert!(bytes.len() < text.len() / 20, "{}", bytes.len());
        let mut read = String::new();
        flate2::read::GzDecoder::new(&*bytes)
            .read_to_string(&mut read)
            .expect("gzip");
        assert_eq!(read, text);
        let short = packed(Response::new(Body::from("short"))).await;
        assert!(!short.headers().contains_key(header::CONTENT_ENCODING));
    }

    #[tokio::test]
    async fn a_stream_is_left_as_it_is() {
        let event = "data: x\n\n".repeat(1_000);
        let events = futures::stream::iter([Ok::<_, std::convert::Infallible>(event)]);
        let told = packed(Response::new(Body::from_stream(events))).await;
        assert!(!told.headers().contains_key(header::CONTENT_ENCODING));
    }
}
