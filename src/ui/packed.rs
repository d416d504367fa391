//! Answers made smaller on their way to clients that read gzip.
//!
//! Decides which: those whose length is known. A stream of events has none, so that no event waits in a packer. Packed is nothing
//! by which an attacker could find out a secret from lengths (BREACH): answers hold no token, no cookie and no other secret of
//! the visitor, and what another site has a browser ask is refused and bears no token.

use std::io::Write as _;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::BodyExt as _;

/// What is smaller fits into a packet anyway.
const WORTH: u64 = 1_400;

/// Tells whether a client reads gzip.
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
