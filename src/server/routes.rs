//! The routes of the webhook server: admission, conversion and probes.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use axum::routing::{get, post};
use jiff::Timestamp;
use tokio::time::Instant;

use super::convert::convert;
use super::responses::probe_response;
use super::review::admit;
use super::state::AppState;
use admission::{MUTATE_PATH, VALIDATE_PATH, Webhook};
use api::conversion::{CONVERT_PATH, CONVERT_SERVED_PATH, Extensions};

/// Returns the router of the gate.
pub(super) fn router(state: Arc<AppState>) -> Router {
    let mut router = Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready));
    for (path, webhook) in [(MUTATE_PATH, Webhook::Mutate), (VALIDATE_PATH, Webhook::Validate)] {
        let handler = post(move |state, request| admit(state, webhook, request));
        router = router
            .route(path, handler.clone())
            .route(&format!("{path}/{{secret}}"), handler);
    }
    let conversions = [
        (CONVERT_PATH, Extensions::Kept),
        (CONVERT_SERVED_PATH, Extensions::Served),
    ];
    for (path, extensions) in conversions {
        let handler = post(move |state, request| convert(state, extensions, request));
        router = router
            .route(path, handler.clone())
            .route(&format!("{path}/{{secret}}"), handler);
    }
    router.with_state(state)
}

async fn alive(State(state): State<Arc<AppState>>) -> Response<Body> {
    probe_response(state.health.alive(Instant::now()))
}

async fn ready(State(state): State<Arc<AppState>>) -> Response<Body> {
    probe_response(state.health.ready(Timestamp::now()))
}
