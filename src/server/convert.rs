//! `/convert`: objects in the other version.
//!
//! Decides how large a review may be and how many are converted at once; what becomes of an object `conversion` says. Asks no hub and
//! needs no fact, so that it answers before anything else of this program is ready: a hub whose conversions wait for its own
//! controllers would never start.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response, StatusCode};
use tokio::sync::Semaphore;

use super::body::{self, Broken};
use super::limits::Limits;
use super::routes::{AppState, admitted, busy, is_json, json, plain};
use conversion::{self, Extensions};

/// The largest review that is read, in bytes: a list of ten thousand add-ons comes as one.
const MOST_BYTES: usize = 64 << 20;
/// How many are converted at once; each holds its review and its answer.
const AT_ONCE: usize = 2;

/// The places for conversions.
pub(super) struct Converting(Semaphore);

impl Default for Converting {
    fn default() -> Self {
        Self(Semaphore::new(AT_ONCE))
    }
}

pub(super) async fn convert(
    State(desk): State<Arc<AppState>>,
    extensions: Extensions,
    request: Request<Body>,
) -> Response<Body> {
    let Some(life) = admitted(&desk, &request) else {
        desk.turns_away("convert");
        return plain(StatusCode::NOT_FOUND, "");
    };
    if !is_json(request.headers()) {
        let told = "the content type must be application/json";
        return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, told);
    }
    let (peer, standing) = (life.peer(), life.standing());
    let Some(_under_way) = desk.requests.one(peer, standing) else {
        return busy();
    };
    let Ok(_place) = tokio::time::timeout(desk.limits.patience, desk.converting.0.acquire()).await else {
        return busy();
    };
    let limits = Limits {
        body_bytes: MOST_BYTES,
        discarded_bytes: MOST_BYTES,
        body: desk.limits.body.saturating_mul(4),
        ..desk.limits
    };
    let mut held = desk.buffering.open(peer, standing);
    let bytes = match body::read(request.into_body(), &limits, &mut held, &life).await {
        Ok(bytes) => bytes,
        Err(broken) => return refused(&broken),
    };
    let converted = tokio::task::spawn_blocking(move || conversion::answer(&bytes, extensions)).await;
    match converted {
        Ok(Ok(answer)) => {
            life.reviewed();
            json(StatusCode::OK, answer)
        }
        Ok(Err(error)) => plain(StatusCode::BAD_REQUEST, &error.to_string()),
        Err(_panicked) => plain(StatusCode::INTERNAL_SERVER_ERROR, "the conversion failed"),
    }
}

fn refused(broken: &Broken) -> Response<Body> {
    match broken {
        Broken::TooLarge(_) => plain(StatusCode::PAYLOAD_TOO_LARGE, "the review is larger than 64 MiB"),
        Broken::TooSlow => plain(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
        Broken::EndedEarly => plain(StatusCode::BAD_REQUEST, "the body ended early"),
        Broken::NoRoom(_) => busy(),
    }
}
