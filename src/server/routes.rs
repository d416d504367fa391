//! The addresses of the webhook server: admission, conversion and probes.
//!
//! Decides what is a well-formed question and which HTTP status everything else gets. An API server takes every other status than
//! 200 for a webhook that failed, and stores the object where that is ignored: so whatever is a question, and too large, or
//! cannot be judged in time, is answered with a refusal. A panic in a decision ends that request and nothing else; it answers 500
//! with the uid, and the failure policy of the webhook does the rest.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, Response, StatusCode, header};
use axum::routing::{get, post};
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tracing::error;

use super::admission_queue::AdmissionQueue;
use super::bench::Bench;
use super::body::{self, Broken};
use super::callers::PathSecrets;
use super::convert::{Converting, convert};
use super::counted::{Counted, Subject, about, label, tell_unread};
use super::existence::{Asker, ExistenceReader};
use super::health::{Health, Word};
use super::limits::Limits;
use super::peer::Life;
use super::review_deadline::answer_by;
use super::shares::{Reserve, Share, Shares};
use super::tree_budget::TreeBudget;
use super::wrong_paths::WrongPaths;
use crate::telemetry::{About, Metrics, Parent, TRACEPARENT};
use admission::wire::{self, DecodeError, Review, Unjudged};
use admission::{self, Door, Facts, MUTATE_PATH, Rulebook, Stop, VALIDATE_PATH, Verdict};
use api::conversion::{CONVERT_PATH, CONVERT_SERVED_PATH, Extensions};

/// The function that answers a question.
pub(super) type Decide = fn(&admission::Request<'_>, &Facts, &Rulebook) -> Verdict;

/// What every request shares.
pub(super) struct AppState {
    pub(super) facts: Arc<ArcSwap<Facts>>,
    pub(super) rulebook: Arc<ArcSwap<Rulebook>>,
    decide: Decide,
    health: Health,
    pub(super) secrets: ArcSwapOption<PathSecrets>,
    witness: Option<ExistenceReader>,
    pub(super) limits: Limits,
    bench: Bench,
    /// Memory of decisions.
    trees: TreeBudget,
    /// Requests that wait for the hub's word; a further one does not queue and is answered without it.
    confirming: AdmissionQueue,
    /// Bytes of bodies.
    pub(super) buffering: Arc<Shares>,
    /// Requests under way.
    pub(super) requests: Arc<Shares>,
    pub(super) converting: Converting,
    pub(super) metrics: Metrics,
    wrong_paths: WrongPaths,
}

/// What a desk is made of.
pub(super) struct Furniture {
    pub(super) facts: Arc<ArcSwap<Facts>>,
    pub(super) rulebook: Arc<ArcSwap<Rulebook>>,
    pub(super) decide: Decide,
    pub(super) health: Health,
    pub(super) secrets: Option<PathSecrets>,
    pub(super) witness: Option<ExistenceReader>,
    pub(super) metrics: Metrics,
}

impl AppState {
    pub(super) fn new(furniture: Furniture, limits: Limits, reserve: Reserve) -> std::io::Result<Self> {
        let Furniture {
            facts,
            rulebook,
            decide,
            health,
            secrets,
            witness,
            metrics,
        } = furniture;
        Ok(Self {
            bench: Bench::new(limits, reserve, health.clone(), metrics.clone())?,
            trees: TreeBudget::new(limits.tree_bytes),
            facts,
            rulebook,
            decide,
            health,
            secrets: ArcSwapOption::from_pointee(secrets),
            witness,
            limits,
            confirming: AdmissionQueue::new(limits.confirming, 0, limits.patience),
            buffering: Shares::new(limits.buffered_bytes, reserve),
            requests: Shares::new(limits.requests, reserve),
            converting: Converting::default(),
            metrics,
            wrong_paths: WrongPaths::default(),
        })
    }

    /// Notes a question at a path without the secret.
    pub(super) fn turns_away(&self, door: &'static str) {
        self.metrics.door().wrong_path();
        self.wrong_paths.note(door, Instant::now());
    }
}

/// Returns the router of the gate.
pub(super) fn router(desk: Arc<AppState>) -> Router {
    let mut router = Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready));
    for (path, door) in [(MUTATE_PATH, Door::Mutate), (VALIDATE_PATH, Door::Validate)] {
        let asked = post(move |desk, request| answer(desk, door, request));
        router = router
            .route(path, asked.clone())
            .route(&format!("{path}/{{secret}}"), asked);
    }
    let conversions = [
        (CONVERT_PATH, Extensions::Kept),
        (CONVERT_SERVED_PATH, Extensions::Served),
    ];
    for (path, extensions) in conversions {
        let asked = post(move |desk, request| convert(desk, extensions, request));
        router = router
            .route(path, asked.clone())
            .route(&format!("{path}/{{secret}}"), asked);
    }
    router.with_state(desk)
}

async fn alive(State(desk): State<Arc<AppState>>) -> Response<Body> {
    spoken(desk.health.alive(Instant::now()))
}

async fn ready(State(desk): State<Arc<AppState>>) -> Response<Body> {
    spoken(desk.health.ready(Timestamp::now()))
}

/// What a probe gets.
pub(super) fn spoken(word: Word) -> Response<Body> {
    match word {
        Word::Yes(text) => plain(StatusCode::OK, &text),
        Word::No(text) => plain(StatusCode::SERVICE_UNAVAILABLE, &text),
    }
}

async fn answer(State(desk): State<Arc<AppState>>, door: Door, request: Request<Body>) -> Response<Body> {
    let Some(life) = admitted(&desk, &request) else {
        desk.turns_away(label(door));
        // As at any other path: a stranger does not learn from it that a gate is here.
        return plain(StatusCode::NOT_FOUND, "");
    };
    question(&desk, door, &life, request)
        .await
        .unwrap_or_else(|refusal| {
            desk.metrics.admission().turned_away(label(door));
            refusal
        })
}

/// Returns the connection of a request, if its path has the secret that it needs.
pub(super) fn admitted(desk: &AppState, request: &Request<Body>) -> Option<Arc<Life>> {
    let life = request.extensions().get::<Arc<Life>>()?;
    let path = request.uri().path();
    let offered = path.rsplit('/').next().filter(|_| path.matches('/').count() == 2);
    match (desk.secrets.load().as_deref(), offered) {
        (None, None) => {}
        (Some(secrets), Some(offered)) if secrets.include(offered) => life.is_known(),
        (None, Some(_)) | (Some(_), _) => return None,
    }
    Some(Arc::clone(life))
}

async fn question(
    desk: &AppState,
    door: Door,
    life: &Arc<Life>,
    request: Request<Body>,
) -> Result<Response<Body>, Response<Body>> {
    if !is_json(request.headers()) {
        return Err(plain(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the content type must be application/json",
        ));
    }
    if !is_heard_out(request.headers(), &desk.limits) {
        return Err(too_large());
    }
    let open = desk.metrics.traces().open(|| caller(request.headers()));
    let (peer, standing) = (life.peer(), life.standing());
    let _under_way = desk.requests.one(peer, standing).ok_or_else(busy)?;
    let mut held = desk.buffering.open(peer, standing);
    let answer_by = answer_by(&request, &desk.limits);
    let bytes = read(desk, door, request, answer_by, &mut held, life).await?;
    if bytes.is_empty() {
        return Err(plain(StatusCode::BAD_REQUEST, "the body is empty"));
    }
    let begun = Instant::now();
    let asked = Question {
        bytes: held.keeps(bytes),
        door,
        now: Timestamp::now(),
        until: answer_by.min(begun + desk.limits.decision),
    };
    let judged = match judged(desk, life, &asked, desk.facts.load_full()).await {
        Ok(Judged::Verdict(first)) if first.verdict.is_open() => confirmed(desk, life, &asked, first).await,
        judged => judged,
    };
    let counted = Counted {
        door,
        begun,
        metrics: &desk.metrics,
        open,
    };
    let answer = match judged {
        Ok(judged) => answered(&judged, counted).map_err(|told| plain(StatusCode::BAD_REQUEST, &told))?,
        Err(why) => unjudged(asked.bytes, why, counted, desk.limits.large_bytes).await?,
    };
    life.reviewed();
    Ok(answer)
}

/// The span of an API server that traces its requests.
fn caller(headers: &HeaderMap) -> Option<Parent> {
    Parent::parse(headers.get(TRACEPARENT)?.to_str().ok()?)
}

/// A question that has been read.
#[derive(Clone)]
struct Question {
    bytes: Bytes,
    door: Door,
    now: Timestamp,
    until: Instant,
}

/// What came of a question.
enum Judged {
    /// A verdict.
    Verdict(Box<Spoken>),
    /// A panic.
    Broken(String, About),
    /// The bytes are no question.
    NoQuestion(DecodeError),
}

/// A verdict, and on whose question.
struct Spoken {
    uid: String,
    /// Who asks, as JSON; kept while the verdict is open.
    user: Option<String>,
    verdict: Verdict,
    about: About,
    /// Who asks for what; kept of a refusal.
    subject: Option<Subject>,
}

/// Judges a question on a thread for decisions. Facts, rulebook and request are only read, so that a panic leaves nothing
/// half-done behind.
async fn judged(
    desk: &AppState,
    life: &Arc<Life>,
    asked: &Question,
    facts: Arc<Facts>,
) -> Result<Judged, Unjudged> {
    let is_large = asked.bytes.len() >= desk.limits.large_bytes;
    let room = desk.trees.take(&asked.bytes, is_large, asked.until).await;
    let room = room.map_err(|()| Unjudged::Crowded)?;
    let work = {
        let (decide, rulebook, asked) = (desk.decide, desk.rulebook.load_full(), asked.clone());
        move |stop: &Stop| {
            let _room = room;
            let review = match Review::decode(&asked.bytes) {
                Ok(review) => review,
                Err(error) => return Judged::NoQuestion(error),
            };
            let mut request = review.request(asked.door);
            request.circumstances.now = Some(asked.now);
            request.circumstances.stop = stop;
            let (uid, about) = (review.uid().to_owned(), about(&request));
            let Ok(verdict) = catch_unwind(AssertUnwindSafe(|| decide(&request, &facts, &rulebook))) else {
                return Judged::Broken(uid, about);
            };
            let user = request.circumstances.user.filter(|_| verdict.is_open());
            Judged::Verdict(Box::new(Spoken {
                user: user.map(RawValue::get).map(str::to_owned),
                uid,
                about,
                subject: (!verdict.allowed()).then(|| Subject::of(&request)),
                verdict,
            }))
        }
    };
    desk.bench.work(asked.bytes.len(), asked.until, life, work).await
}

/// Decides again with what the hub says of the objects in doubt, and of what the user may do. Where it says nothing in time, the
/// first verdict stands: it refuses nothing that rests on an object, and everything that rests on a right.
async fn confirmed(
    desk: &AppState,
    life: &Arc<Life>,
    asked: &Question,
    first: Box<Spoken>,
) -> Result<Judged, Unjudged> {
    let Some(witness) = &desk.witness else {
        return Ok(Judged::Verdict(first));
    };
    let Some(_place) = desk.confirming.enter(1).await else {
        return Ok(Judged::Verdict(first));
    };
    let asker = Asker {
        peer: Some(life.peer().address()),
        user: first.user.as_deref(),
    };
    let answers = witness.answers(&first.verdict, asker, desk.limits.confirm).await;
    if answers.is_empty() {
        return Ok(Judged::Verdict(first));
    }
    let facts = answers.among(&desk.facts.load());
    match judged(desk, life, asked, Arc::new(facts)).await {
        Err(Unjudged::Crowded) => Ok(Judged::Verdict(first)),
        judged => judged,
    }
}

fn answered(judged: &Judged, counted: Counted<'_>) -> Result<Response<Body>, String> {
    let (uid, about) = match judged {
        Judged::NoQuestion(error) => return Err(error.to_string()),
        Judged::Verdict(spoken) => {
            let Spoken {
                uid,
                verdict,
                about,
                subject,
                ..
            } = &**spoken;
            if let Ok(bytes) = catch_unwind(AssertUnwindSafe(|| wire::encode(uid, verdict))) {
                counted.verdict(*about, verdict);
                if let Some(subject) = subject {
                    counted.denied(uid, subject, verdict);
                }
                return Ok(json(StatusCode::OK, bytes));
            }
            (uid, about)
        }
        Judged::Broken(uid, about) => (uid, about),
    };
    counted.broken(*about);
    error!(uid, "a decision panicked");
    Ok(json(StatusCode::INTERNAL_SERVER_ERROR, wire::encode_failure(uid)))
}

/// Answers a question that was not judged. A large one is read apart from the threads that serve connections.
async fn unjudged(
    bytes: Bytes,
    why: Unjudged,
    counted: Counted<'_>,
    large: usize,
) -> Result<Response<Body>, Response<Body>> {
    let (far, door) = (bytes.len() >= large, counted.door);
    let encode = move || {
        Review::decode(&bytes).map(|review| {
            let request = review.request(door);
            if why == Unjudged::Crowded || !review.may_pass_unjudged() {
                Subject::of(&request).tell_unjudged(review.uid(), door, why);
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
    counted.unjudged(encoded.as_ref().map_or(About::NOTHING, |(about, _)| *about));
    encoded
        .map(|(_, bytes)| json(StatusCode::OK, bytes))
        .map_err(|error| plain(StatusCode::BAD_REQUEST, &error.to_string()))
}

async fn read(
    desk: &AppState,
    door: Door,
    request: Request<Body>,
    answer_by: Instant,
    held: &mut Share,
    life: &Life,
) -> Result<Bytes, Response<Body>> {
    let limits = Limits {
        body: desk.limits.body.min(answer_by - Instant::now()),
        ..desk.limits
    };
    let read = body::read(request.into_body(), &limits, held, life).await;
    read.map_err(|broken| match broken {
        Broken::TooLarge(beginning) => {
            tell_unread(door, "none: too large to be read");
            told_too_large(&beginning, desk.limits.body_bytes)
        }
        Broken::TooSlow(beginning) => {
            tell_unread(door, "none: not read in time");
            let slow = || plain(StatusCode::REQUEST_TIMEOUT, "the body took too long");
            wire::encode_unread(&beginning).map_or_else(slow, |bytes| json(StatusCode::OK, bytes))
        }
        Broken::EndedEarly => plain(StatusCode::BAD_REQUEST, "the body ended early"),
        // Readable as far as it has to be: refused, not left to a failure policy.
        Broken::NoRoom(beginning) => {
            tell_unread(door, "none: too many bytes at once");
            let uid = wire::early_uid(&beginning);
            uid.map_or_else(busy, |uid| json(StatusCode::OK, wire::encode_crowded(&uid)))
        }
    })
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let text = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// Tells whether a body is announced with no more bytes than are read or let pass by, or without a length.
fn is_heard_out(headers: &HeaderMap, limits: &Limits) -> bool {
    let length = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok());
    let size: Option<usize> = length.and_then(|text| text.parse().ok());
    size.is_none_or(|size| size <= limits.discarded_bytes.max(limits.body_bytes))
}

/// Refuses a question that is too large to be read, and lets a deletion pass: as long as its beginning tells whose answer it is.
fn told_too_large(beginning: &[u8], most: usize) -> Response<Body> {
    wire::encode_too_large(beginning, most).map_or_else(too_large, |bytes| json(StatusCode::OK, bytes))
}

fn too_large() -> Response<Body> {
    plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large")
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
