//! The four addresses of the gate.
//!
//! Decides what is a well-formed question and which HTTP status everything else gets. A panic in a decision ends that
//! request and nothing else; it answers 500 with the uid, and the failure policy of the webhook does the rest.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, Response, StatusCode, header};
use axum::routing::{get, post};
use bytes::Bytes;
use jiff::Timestamp;
use tracing::error;

use super::body::{self, Broken};
use super::limits::Limits;
use super::turnstile::Turnstile;
use super::witness::Witness;
use crate::admission::wire::{self, Review};
use crate::admission::{self, Door, Facts, MUTATE_PATH, Rulebook, VALIDATE_PATH, Verdict};
use crate::telemetry::{Metrics, Outcome};

/// The function that answers a question.
pub(super) type Decide = fn(&admission::Request<'_>, &Facts, &Rulebook) -> Verdict;

/// What every request shares.
pub(super) struct Desk {
    pub(super) facts: Arc<ArcSwap<Facts>>,
    rulebook: Arc<ArcSwap<Rulebook>>,
    pub(super) decide: Decide,
    pub(super) draining: AtomicBool,
    witness: Option<Witness>,
    limits: Limits,
    deciding: Turnstile,
    /// Requests that wait for the hub's word; nobody queues here.
    confirming: Turnstile,
    /// One place per KiB of body.
    buffering: Turnstile,
    metrics: Metrics,
}

impl Desk {
    pub(super) fn new(
        (facts, rulebook): (Arc<ArcSwap<Facts>>, Arc<ArcSwap<Rulebook>>),
        witness: Option<Witness>,
        limits: Limits,
        (decide, metrics): (Decide, Metrics),
    ) -> Self {
        Self {
            facts,
            rulebook,
            decide,
            draining: AtomicBool::new(false),
            witness,
            limits,
            deciding: Turnstile::new(limits.concurrent, limits.waiting, limits.patience),
            confirming: Turnstile::new(limits.confirming, 0, limits.patience),
            buffering: Turnstile::new(
                limits.buffered_bytes.div_ceil(1024),
                limits.waiting,
                limits.patience,
            ),
            metrics,
        }
    }
}

/// Returns the router of the gate.
pub(super) fn router(desk: Arc<Desk>) -> Router {
    Router::new()
        .route(
            MUTATE_PATH,
            post(|desk, request| answer(desk, Door::Mutate, request)),
        )
        .route(
            VALIDATE_PATH,
            post(|desk, request| answer(desk, Door::Validate, request)),
        )
        .route("/healthz", get(|| async { plain(StatusCode::OK, "ok") }))
        .route("/readyz", get(ready))
        .with_state(desk)
}

async fn ready(State(desk): State<Arc<Desk>>) -> Response<Body> {
    if desk.draining.load(Ordering::Acquire) {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "shutting down");
    }
    if !desk.facts.load().is_complete() {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "still reading the fleet");
    }
    plain(StatusCode::OK, "ok")
}

async fn answer(State(desk): State<Arc<Desk>>, door: Door, request: Request<Body>) -> Response<Body> {
    question(&desk, door, request).await.unwrap_or_else(|refusal| {
        desk.metrics.turned_away(label(door));
        refusal
    })
}

/// The word for a door in metrics.
fn label(door: Door) -> &'static str {
    match door {
        Door::Mutate => "mutate",
        Door::Validate => "validate",
    }
}

async fn question(desk: &Desk, door: Door, request: Request<Body>) -> Result<Response<Body>, Response<Body>> {
    if !is_json(request.headers()) {
        return Err(plain(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the content type must be application/json",
        ));
    }
    let size = announced(request.headers(), desk.limits.body_bytes).ok_or_else(too_large)?;
    let _held = desk
        .buffering
        .enter(size.div_ceil(1024).max(1))
        .await
        .ok_or_else(busy)?;
    let bytes = read(desk, request).await?;
    if bytes.is_empty() {
        return Err(plain(StatusCode::BAD_REQUEST, "the body is empty"));
    }
    if let Some(exceeded) = desk.limits.json.exceeded_by(&bytes) {
        return Err(plain(StatusCode::BAD_REQUEST, exceeded));
    }
    let turn = desk.deciding.enter(1).await.ok_or_else(busy)?;
    let begun = Instant::now();
    let review =
        Review::decode(&bytes).map_err(|error| plain(StatusCode::BAD_REQUEST, &error.to_string()))?;
    let mut request = review.request(door);
    request.circumstances.now = Some(Timestamp::now());
    let facts = desk.facts.load_full();
    let mut verdict = decided(desk, &request, &facts);
    // Whoever waits for the hub must not keep others from being decided.
    drop(turn);
    if let Some(first) = verdict.take_if(|first| !first.asks().is_empty()) {
        verdict = confirmed(desk, &request, &facts, first).await;
    }
    let counted = Counted {
        door,
        begun,
        metrics: &desk.metrics,
    };
    Ok(answered(&review, verdict.as_ref(), counted))
}

/// Decides; nothing comes of a decision that panics. Facts, rulebook and request are only read, so that a panic leaves
/// nothing half-done behind.
fn decided(desk: &Desk, request: &admission::Request<'_>, facts: &Facts) -> Option<Verdict> {
    let rulebook = desk.rulebook.load_full();
    catch_unwind(AssertUnwindSafe(|| (desk.decide)(request, facts, &rulebook))).ok()
}

/// Decides again with what the hub says of the objects in doubt. Where it says nothing in time, the first verdict stands:
/// it refuses nothing that rests on them.
async fn confirmed(
    desk: &Desk,
    request: &admission::Request<'_>,
    facts: &Facts,
    first: Verdict,
) -> Option<Verdict> {
    let Some(witness) = &desk.witness else {
        return Some(first);
    };
    let Some(_place) = desk.confirming.enter(1).await else {
        return Some(first);
    };
    let answers = witness.answers(first.asks(), desk.limits.confirm).await;
    if answers.is_empty() {
        return Some(first);
    }
    let Some(_turn) = desk.deciding.enter(1).await else {
        return Some(first);
    };
    decided(desk, request, &facts.clone().told(answers))
}

fn answered(review: &Review<'_>, verdict: Option<&Verdict>, counted: Counted<'_>) -> Response<Body> {
    let encode = |verdict| {
        let bytes = catch_unwind(AssertUnwindSafe(|| wire::encode(review.uid(), verdict))).ok()?;
        Some((verdict, bytes))
    };
    if let Some((verdict, bytes)) = verdict.and_then(encode) {
        counted.verdict(verdict);
        return json(StatusCode::OK, bytes);
    }
    counted.broken();
    error!(uid = review.uid(), "a decision panicked");
    json(
        StatusCode::INTERNAL_SERVER_ERROR,
        wire::encode_failure(review.uid()),
    )
}

/// Where one request is counted.
struct Counted<'a> {
    door: Door,
    begun: Instant,
    metrics: &'a Metrics,
}

impl Counted<'_> {
    /// Both doors see every object: what rules find is counted once, where it is final.
    fn verdict(self, verdict: &Verdict) {
        let outcome = if verdict.allowed() {
            Outcome::Allowed
        } else {
            Outcome::Denied
        };
        let metrics = self.metrics;
        metrics.admission(label(self.door), outcome, self.begun.elapsed());
        if self.door == Door::Mutate {
            return;
        }
        for violation in verdict.violations() {
            metrics.finding(violation.rule(), "deny");
        }
        for warning in verdict.warnings() {
            metrics.finding(warning.violation().rule(), "warn");
        }
        for violation in verdict.audited() {
            metrics.finding(violation.rule(), "audit");
        }
    }

    fn broken(self) {
        self.metrics
            .admission(label(self.door), Outcome::Broken, self.begun.elapsed());
    }
}

async fn read(desk: &Desk, request: Request<Body>) -> Result<Bytes, Response<Body>> {
    let read = body::read(request.into_body(), &desk.limits).await;
    read.map_err(|broken| match broken {
        Broken::TooLarge => too_large(),
        Broken::TooSlow => plain(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
        Broken::EndedEarly => plain(StatusCode::BAD_REQUEST, "the body ended early"),
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let text = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// Returns how many bytes a body says it has (all that are allowed when it does not say), unless those are too many.
fn announced(headers: &HeaderMap, most: usize) -> Option<usize> {
    let length = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    let size = length.and_then(|text| text.parse().ok()).unwrap_or(most);
    (size <= most).then_some(size)
}

fn too_large() -> Response<Body> {
    plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large")
}

fn busy() -> Response<Body> {
    let mut response = plain(StatusCode::TOO_MANY_REQUESTS, "too many requests at once");
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    response
}

fn plain(status: StatusCode, text: &str) -> Response<Body> {
    respond(status, "text/plain; charset=utf-8", format!("{text}\n").into())
}

fn json(status: StatusCode, bytes: Vec<u8>) -> Response<Body> {
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
