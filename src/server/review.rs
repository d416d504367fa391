//! An admission review: from the request to the response.
//!
//! `admit` checks the path, `review` reads the body, `judge` decides it on a thread of the pool, `confirm` decides it again with what the
//! hub says, `respond` encodes the verdict. An API server takes every other status than 200 for a webhook that failed, and stores the
//! object where that is ignored: so a review that is too large, or cannot be decided in time, is answered with a denial. A panic in a
//! decision ends that request and nothing else; it is answered with 500 and the uid, and the failure policy of the webhook does the rest.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, Response, StatusCode, header};
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tracing::error;

use super::connection_state::Connection;
use super::existence::Asker;
use super::limits::Limits;
use super::record::{RequestRecord, Subject, about, label, log_unread};
use super::request::{ArrivingBody, Unread, answer_by};
use super::responses::{busy, is_json, json, plain};
use super::state::AppState;
use crate::telemetry::{About, Parent, TRACEPARENT};
use admission::wire::{self, DecodeError, Review, Unjudged};
use admission::{Facts, Stop, Verdict, Webhook};

pub(super) async fn admit(
    State(state): State<Arc<AppState>>,
    webhook: Webhook,
    request: Request<Body>,
) -> Response<Body> {
    let Some(conn) = state.verified(&request) else {
        state.reject_path(label(webhook));
        // As at any other path: an unknown client does not learn from it that a webhook is here.
        return plain(StatusCode::NOT_FOUND, "");
    };
    review(&state, webhook, &conn, request)
        .await
        .unwrap_or_else(|refusal| {
            state.metrics.admission().turned_away(label(webhook));
            refusal
        })
}

async fn review(
    state: &AppState,
    webhook: Webhook,
    conn: &Arc<Connection>,
    request: Request<Body>,
) -> Result<Response<Body>, Response<Body>> {
    if !is_json(request.headers()) {
        return Err(plain(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the content type must be application/json",
        ));
    }
    if !fits_in(request.headers(), &state.limits) {
        return Err(too_large());
    }
    let open = state.metrics.traces().open(|| caller(request.headers()));
    let (peer, class) = (conn.peer(), conn.class());
    let in_flight = state.requests.one(peer, class).ok_or_else(busy)?;
    let mut memory = state.buffering.open(peer, class);
    let answer_by = answer_by(&request, &state.limits);
    let limits = Limits {
        body: state.limits.body.min(answer_by - Instant::now()),
        ..state.limits
    };
    let arriving = ArrivingBody::begins(&limits);
    let bytes = match arriving.read(request.into_body(), &mut memory, conn).await {
        Ok(bytes) => bytes,
        Err(unread) => {
            let response = respond_unread(&unread, webhook, &limits);
            drop((in_flight, memory));
            arriving.outlasts(unread, &state.closing).await;
            return Err(response);
        }
    };
    if bytes.is_empty() {
        return Err(plain(StatusCode::BAD_REQUEST, "the request body is empty"));
    }
    let begun = Instant::now();
    let admission = AdmissionRequest {
        bytes: memory.attach(bytes),
        webhook,
        now: Timestamp::now(),
        until: answer_by.min(begun + state.limits.decision),
    };
    let judged = match judge(state, conn, &admission, state.facts.load_full()).await {
        Ok(Judgement::Verdict(first)) if first.verdict.is_open() => {
            confirm(state, conn, &admission, first).await
        }
        judged => judged,
    };
    let record = RequestRecord {
        webhook,
        begun,
        metrics: &state.metrics,
        open,
    };
    let response = match judged {
        Ok(judged) => respond(&judged, record).map_err(|error| plain(StatusCode::BAD_REQUEST, &error))?,
        Err(why) => respond_unjudged(admission.bytes, why, record, state.limits.large_bytes).await?,
    };
    conn.reviewed();
    Ok(response)
}

/// The span of an API server that traces its requests.
fn caller(headers: &HeaderMap) -> Option<Parent> {
    Parent::parse(headers.get(TRACEPARENT)?.to_str().ok()?)
}

/// A review that has been read.
#[derive(Clone)]
struct AdmissionRequest {
    bytes: Bytes,
    webhook: Webhook,
    now: Timestamp,
    until: Instant,
}

/// The outcome of a review.
enum Judgement {
    Verdict(Box<Decided>),
    /// The decision panicked.
    Panicked(String, About),
    /// The body is no review.
    Undecodable(DecodeError),
}

/// A verdict, and what its metrics and log line need of the review.
struct Decided {
    uid: String,
    /// The user, as JSON; kept while the verdict is open.
    user: Option<String>,
    verdict: Verdict,
    about: About,
    /// For the log line of a denial.
    subject: Option<Subject>,
}

/// Decides a review on a thread of the pool. Facts, rulebook and request are only read, so that a panic leaves nothing
/// half-done behind.
async fn judge(
    state: &AppState,
    conn: &Arc<Connection>,
    admission: &AdmissionRequest,
    facts: Arc<Facts>,
) -> Result<Judgement, Unjudged> {
    let is_large = admission.bytes.len() >= state.limits.large_bytes;
    let permit = state
        .trees
        .take(&admission.bytes, is_large, admission.until)
        .await;
    let permit = permit.map_err(|()| Unjudged::Crowded)?;
    let work = {
        let (decide, rulebook, admission) = (state.decide, state.rulebook.load_full(), admission.clone());
        move |stop: &Stop| {
            let _permit = permit;
            let review = match Review::decode(&admission.bytes) {
                Ok(review) => review,
                Err(error) => return Judgement::Undecodable(error),
            };
            let mut request = review.request(admission.webhook);
            request.circumstances.now = Some(admission.now);
            request.circumstances.stop = stop;
            let (uid, about) = (review.uid().to_owned(), about(&request));
            let Ok(verdict) = catch_unwind(AssertUnwindSafe(|| decide(&request, &facts, &rulebook))) else {
                return Judgement::Panicked(uid, about);
            };
            let user = request.circumstances.user.filter(|_| verdict.is_open());
            Judgement::Verdict(Box::new(Decided {
                user: user.map(RawValue::get).map(str::to_owned),
                uid,
                about,
                subject: (!verdict.allowed()).then(|| Subject::of(&request)),
                verdict,
            }))
        }
    };
    state
        .workers
        .run(admission.bytes.len(), admission.until, conn, work)
        .await
}

/// Decides again with what the hub says of the objects in doubt, and of the permissions of the user. If it does not answer in time, the
/// first verdict counts: it denies nothing because of an object, and everything that needs a permission.
async fn confirm(
    state: &AppState,
    conn: &Arc<Connection>,
    admission: &AdmissionRequest,
    first: Box<Decided>,
) -> Result<Judgement, Unjudged> {
    let Some(witness) = &state.witness else {
        return Ok(Judgement::Verdict(first));
    };
    let Ok(_permit) = state.confirming.try_acquire() else {
        return Ok(Judgement::Verdict(first));
    };
    let asker = Asker {
        peer: Some(conn.peer().address()),
        user: first.user.as_deref(),
    };
    let answers = witness.answers(&first.verdict, asker, state.limits.confirm).await;
    if answers.is_empty() {
        return Ok(Judgement::Verdict(first));
    }
    let facts = answers.among(&state.facts.load());
    match judge(state, conn, admission, Arc::new(facts)).await {
        Err(Unjudged::Crowded) => Ok(Judgement::Verdict(first)),
        judged => judged,
    }
}

fn respond(judged: &Judgement, record: RequestRecord<'_>) -> Result<Response<Body>, String> {
    let (uid, about) = match judged {
        Judgement::Undecodable(error) => return Err(error.to_string()),
        Judgement::Verdict(decided) => {
            let Decided {
                uid,
                verdict,
                about,
                subject,
                ..
            } = &**decided;
            if let Ok(bytes) = catch_unwind(AssertUnwindSafe(|| wire::encode(uid, verdict))) {
                record.verdict(*about, verdict);
                if let Some(subject) = subject {
                    record.denied(uid, subject, verdict);
                }
                return Ok(json(StatusCode::OK, bytes));
            }
            (uid, about)
        }
        Judgement::Panicked(uid, about) => (uid, about),
    };
    record.broken(*about);
    error!(uid, "an admission decision panicked");
    Ok(json(StatusCode::INTERNAL_SERVER_ERROR, wire::encode_failure(uid)))
}

/// Responds to a review that was not decided. A large one is read apart from the threads that serve connections.
async fn respond_unjudged(
    bytes: Bytes,
    why: Unjudged,
    record: RequestRecord<'_>,
    large: usize,
) -> Result<Response<Body>, Response<Body>> {
    let (far, webhook) = (bytes.len() >= large, record.webhook);
    let encode = move || {
        Review::decode(&bytes).map(|review| {
            let request = review.request(webhook);
            if why == Unjudged::Crowded || !review.may_pass_unjudged() {
                Subject::of(&request).log_unjudged(review.uid(), webhook, why);
            }
            (about(&request), wire::encode_unjudged(&review, why))
        })
    };
    let encoded = if far {
        tokio::task::spawn_blocking(encode)
            .await
            .map_err(|_ended| busy())?
    } else {
        encode()
    };
    record.unjudged(encoded.as_ref().map_or(About::NOTHING, |(about, _)| *about));
    encoded
        .map(|(_, bytes)| json(StatusCode::OK, bytes))
        .map_err(|error| plain(StatusCode::BAD_REQUEST, &error.to_string()))
}

/// Responds to a review whose body could not be read.
fn respond_unread(unread: &Unread, webhook: Webhook, limits: &Limits) -> Response<Body> {
    match unread {
        Unread::TooLarge(beginning) => {
            log_unread(webhook, "none: too large to be read");
            deny_too_large(beginning, limits.body_bytes)
        }
        Unread::TooSlow(beginning) => {
            log_unread(webhook, "none: not read in time");
            let slow = || {
                plain(
                    StatusCode::REQUEST_TIMEOUT,
                    "the request body was not received in time",
                )
            };
            wire::encode_unread(beginning).map_or_else(slow, |bytes| json(StatusCode::OK, bytes))
        }
        Unread::EndedEarly => plain(StatusCode::BAD_REQUEST, "the request body is incomplete"),
        // Readable as far as it has to be: refused, not left to a failure policy.
        Unread::NoMemory(beginning) => {
            log_unread(webhook, "none: too many bytes at once");
            let uid = wire::early_uid(beginning);
            uid.map_or_else(busy, |uid| json(StatusCode::OK, wire::encode_crowded(&uid)))
        }
    }
}

/// Returns whether a body has no announced length, or one of no more bytes than are read or dropped.
fn fits_in(headers: &HeaderMap, limits: &Limits) -> bool {
    let length = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    let size: Option<usize> = length.and_then(|text| text.parse().ok());
    size.is_none_or(|size| size <= limits.discarded_bytes.max(limits.body_bytes))
}

/// Denies a review that is too large to be read, and allows a deletion; the uid has to be in the beginning of its body.
fn deny_too_large(beginning: &[u8], most: usize) -> Response<Body> {
    wire::encode_too_large(beginning, most).map_or_else(too_large, |bytes| json(StatusCode::OK, bytes))
}

fn too_large() -> Response<Body> {
    plain(StatusCode::PAYLOAD_TOO_LARGE, "the request body is too large")
}
