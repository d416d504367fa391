//! Requests in, answers out.
//!
//! Decides what a request gets: a file of the page to any visitor, anything of the hub only to a person whom the hub lets see it.
//! What the pictures do not have (events, the reasons of one cluster) is read from the hub as that very person, and what a person does
//! is written as that very person.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Response, StatusCode, header};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::access::{Access, Person};
use super::action::{self, Action, FreezeAction, NotDone};
use super::answer::{answer, found, packed, reads_gzip, refused};
use super::assets;
use super::fleet;
use super::guard::foreign;
use super::reviews::Unanswered;
use super::route::{Route, route};
use super::viewers::{Followers, Interest};
use super::visibility::{self, Grants};
use audit::Told;
use insight::cockpit::{Picture, Pictures, Target};

/// The longest token.
const LONGEST_TOKEN: usize = 16 << 10;
/// How long a question may wait until the hub was read for the first time.
const FIRST_SIGHT: Duration = Duration::from_secs(20);
/// How many whole readings of the hub go on at once.
const READINGS: usize = 2;
/// How many actions go on at once; a further one waits.
const WRITINGS: usize = 2;
/// How long a request may take to come.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one may take.
const READING: Duration = Duration::from_secs(30);

/// What a visitor shows to be let in. Never printed.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Returns the name that the hub uses.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// What is read from the hub on request, as the requesting user; without a token as this program.
pub trait Ask: Send + Sync {
    /// Returns why a cluster is where it is.
    fn why(
        &self,
        token: Option<Token>,
        target: Target,
        cluster: String,
    ) -> BoxFuture<'static, Result<Value, String>>;
    /// Returns what the hub remembers of a rollout.
    fn history(&self, token: Option<Token>, target: Target) -> BoxFuture<'static, Result<Value, String>>;
    /// Returns the changed fields of its configurations, and its revisions.
    fn changes(&self, token: Option<Token>, target: Target) -> BoxFuture<'static, Result<Value, String>>;
    /// Returns the settings that control a rollout, and the decisions about it.
    fn settings(&self, token: Option<Token>, target: Target) -> BoxFuture<'static, Result<Value, String>>;
    /// Does what a user asks for, and returns what was written.
    fn act(
        &self,
        token: Option<Token>,
        target: Target,
        action: Action,
    ) -> BoxFuture<'static, Result<Value, NotDone>>;
    /// Returns the freezes of the hub.
    fn freezes(&self, token: Option<Token>) -> BoxFuture<'static, Result<Value, String>>;
    /// Creates, changes or deletes a freeze, and returns what was written.
    fn freeze(
        &self,
        token: Option<Token>,
        action: FreezeAction,
    ) -> BoxFuture<'static, Result<Value, NotDone>>;
}

/// What the page is about.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The name or address of the hub.
    pub hub: String,
    /// The version of this program.
    pub version: &'static str,
}

/// What is shown.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The pictures, while a page is open.
    pub pictures: watch::Receiver<Option<Arc<Pictures>>>,
    /// What the audit has found; absent where nothing is audited.
    pub findings: Option<watch::Receiver<Arc<Told>>>,
    /// Where it is noted that a page is open.
    pub interest: Interest,
    /// The hub.
    pub about: About,
}

/// A response to an authenticated user, or to any visitor if the hub does not authenticate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known;

/// What every request shares.
pub(super) struct PageState {
    pub(super) sources: Sources,
    pub(super) asks: Arc<dyn Ask>,
    /// Absent where the hub does not authenticate.
    pub(super) access: Option<Access>,
    pub(super) hosts: BTreeSet<String>,
    pub(super) stop: CancellationToken,
    readings: Semaphore,
    writings: Semaphore,
    pub(super) followers: Followers,
}

impl PageState {
    pub(super) fn new(
        sources: Sources,
        asks: Arc<dyn Ask>,
        access: Option<Access>,
        hosts: BTreeSet<String>,
    ) -> Self {
        Self {
            sources,
            asks,
            access,
            hosts,
            stop: CancellationToken::new(),
            readings: Semaphore::new(READINGS),
            writings: Semaphore::new(WRITINGS),
            followers: Followers::default(),
        }
    }

    /// Answers a request, packed where the client reads gzip.
    pub(super) async fn answer(self: &Arc<Self>, request: Parts, body: Body) -> Response<Body> {
        let reads_gzip = reads_gzip(&request.headers);
        let answer = self.answered(request, body).await;
        if reads_gzip { packed(answer).await } else { answer }
    }

    async fn answered(self: &Arc<Self>, request: Parts, body: Body) -> Response<Body> {
        if let Some(foreign) = foreign(&request.headers, &request.uri, &self.hosts) {
            return refused(StatusCode::FORBIDDEN, foreign.told());
        }
        let Some(route) = route(request.uri.path()) else {
            return refused(StatusCode::NOT_FOUND, "there is no such page");
        };
        let is_action = matches!(route, Route::Act(..) | Route::Freeze(..));
        let is_right = match request.method {
            Method::GET | Method::HEAD => !is_action,
            Method::POST => is_action,
            _ => false,
        };
        if !is_right {
            let why = "actions are sent with POST, everything else is read with GET";
            return refused(StatusCode::METHOD_NOT_ALLOWED, why);
        }
        if let Some(why) = action::is_forged(&request.headers).filter(|_| is_action) {
            return refused(StatusCode::FORBIDDEN, why);
        }
        if let Route::Asset(name) = route {
            return assets::find(name).map_or_else(
                || refused(StatusCode::NOT_FOUND, "there is no such page"),
                |asset| answer(StatusCode::OK, asset.kind, Body::from(asset.text)),
            );
        }
        let token = token(&request.headers);
        match self.person(token.as_ref()).await {
            Ok(Some(person)) => {
                let mut told = match route {
                    Route::Act(verb, target) => {
                        let deed = Deed::Steer(verb, target);
                        self.act(&person, deed, token, body).await
                    }
                    Route::Freeze(begins, name) => {
                        let deed = Deed::Freeze(begins, name);
                        self.act(&person, deed, token, body).await
                    }
                    route => self.tell(route, person, token).await,
                };
                told.extensions_mut().insert(Known);
                told
            }
            Ok(None) => refused(StatusCode::UNAUTHORIZED, "the hub does not accept this token"),
            Err(unanswered) => unsaid(&unanswered),
        }
    }

    /// Returns who asks.
    pub(super) async fn person(&self, token: Option<&Token>) -> Result<Option<Person>, Unanswered> {
        match (&self.access, token) {
            (None, _) => Ok(Some(Person::Anonymous)),
            (Some(_), None) => Ok(None),
            (Some(access), Some(token)) => access.person(token).await,
        }
    }

    async fn tell(self: &Arc<Self>, route: Route, person: Person, token: Option<Token>) -> Response<Body> {
        self.sources.interest.note();
        let told = match route {
            Route::Asset(_) | Route::Act(..) | Route::Freeze(..) => {
                return refused(StatusCode::NOT_FOUND, "there is no such page");
            }
            Route::Stream(target) => return self.stream(&person, token, target),
            Route::Findings => self.findings(&person).await,
            Route::Freezes => self.read(self.asks.freezes(self.as_whom(token))).await,
            Route::List => self.list(&person).await,
            Route::Rollout(target) => self.rollout(&person, &target).await,
            Route::History(target) => self.history(&person, target, token).await,
            Route::Changes(target) => self.changes(&person, target, token).await,
            Route::Settings(target) => self.settings(&person, target, token).await,
            Route::Fleet => self.fleet(&person).await,
            Route::Cluster(name) => self.cluster(&person, &name).await,
            Route::About => Ok(self.about(&person)),
            Route::Why(target, cluster) => self.why(&person, target, cluster, token).await,
        };
        match told {
            Ok(value) => found(&value),
            Err(Refusal::Unsaid(unanswered)) => unsaid(&unanswered),
            Err(Refusal::Because(status, why)) => refused(status, &why),
        }
    }

    /// Returns the pictures as they are now; waits for the first ones when no page was open before.
    async fn pictures(&self) -> Result<Arc<Pictures>, Refusal> {
        let mut pictures = self.sources.pictures.clone();
        let first = tokio::time::timeout(FIRST_SIGHT, pictures.wait_for(Option::is_some)).await;
        let seen = first.ok().and_then(Result::ok).and_then(|seen| seen.clone());
        seen.ok_or_else(|| {
            let why = "the hub is still being read";
            Refusal::Because(StatusCode::SERVICE_UNAVAILABLE, why.to_owned())
        })
    }

    /// Reads from the hub what a user may see of these rollouts.
    pub(super) async fn grants(&self, person: &Person, pictures: &Pictures) -> Result<Grants, Unanswered> {
        let mut grants = Grants::default();
        match &self.access {
            None => grants.everything = true,
            Some(access) => {
                access
                    .ask(person, visibility::first_questions(), &mut grants)
                    .await?;
                let more = visibility::next_questions(pictures, &grants);
                access.ask(person, more, &mut grants).await?;
            }
        }
        Ok(grants)
    }

    /// Reads from the hub what a user may see of the clusters of one rollout, too.
    pub(super) async fn grants_within(
        &self,
        person: &Person,
        pictures: &Pictures,
        picture: &Picture,
    ) -> Result<Grants, Unanswered> {
        let mut grants = self.grants(person, pictures).await?;
        if let Some(access) = &self.access {
            let more = visibility::cluster_questions(picture, &grants);
            access.ask(person, more, &mut grants).await?;
        }
        Ok(grants)
    }

    async fn list(&self, person: &Person) -> Result<Value, Refusal> {
        let pictures = self.pictures().await?;
        let grants = self.grants(person, &pictures).await?;
        Ok(visibility::list(&pictures, &grants))
    }

    /// Returns a rollout as a person may see it, how many of its clusters are left out, and what the hub grants.
    async fn seen(&self, person: &Person, target: &Target) -> Result<(Arc<Picture>, usize, Grants), Refusal> {
        let pictures = self.pictures().await?;
        let picture = find(&pictures, target).ok_or_else(no_such)?;
        let grants = self.grants_within(person, &pictures, picture).await?;
        let (picture, hidden) = visibility::rollout(picture, &grants).ok_or_else(no_such)?;
        Ok((picture, hidden, grants))
    }

    async fn rollout(&self, person: &Person, target: &Target) -> Result<Value, Refusal> {
        let (picture, hidden, _) = self.seen(person, target).await?;
        let mut value = json!(&*picture);
        if let Some(fields) = value.as_object_mut().filter(|_| hidden > 0) {
            fields.insert("leftOut".to_owned(), json!({ "clusters": hidden }));
        }
        Ok(value)
    }

    async fn history(&self, person: &Person, target: Target, token: Option<Token>) -> Result<Value, Refusal> {
        self.seen(person, &target).await?;
        self.read(self.asks.history(self.as_whom(token), target)).await
    }

    async fn why(
        &self,
        person: &Person,
        target: Target,
        cluster: String,
        token: Option<Token>,
    ) -> Result<Value, Refusal> {
        let (_, _, grants) = self.seen(person, &target).await?;
        if !grants.cluster(&target, &cluster) {
            return Err(no_such());
        }
        self.read(self.asks.why(self.as_whom(token), target, cluster))
            .await
    }

    async fn changes(&self, person: &Person, target: Target, token: Option<Token>) -> Result<Value, Refusal> {
        self.seen(person, &target).await?;
        self.read(self.asks.changes(self.as_whom(token), target)).await
    }

    async fn settings(
        &self,
        person: &Person,
        target: Target,
        token: Option<Token>,
    ) -> Result<Value, Refusal> {
        self.seen(person, &target).await?;
        self.read(self.asks.settings(self.as_whom(token), target)).await
    }

    /// Returns every rollout as a person may see it.
    async fn all_seen(&self, person: &Person) -> Result<Vec<Arc<Picture>>, Refusal> {
        let pictures = self.pictures().await?;
        let mut seen = Vec::new();
        for picture in pictures.iter() {
            let grants = self.grants_within(person, &pictures, picture).await?;
            seen.extend(visibility::rollout(picture, &grants).map(|(picture, _)| picture));
        }
        Ok(seen)
    }

    async fn fleet(&self, person: &Person) -> Result<Value, Refusal> {
        Ok(fleet::matrix(&self.all_seen(person).await?))
    }

    async fn cluster(&self, person: &Person, name: &str) -> Result<Value, Refusal> {
        fleet::cluster(&self.all_seen(person).await?, name).ok_or_else(no_such)
    }

    fn about(&self, person: &Person) -> Value {
        let user = match person {
            Person::Anonymous => None,
            Person::Known(_, user) => user.username.as_deref(),
        };
        let About { hub, version } = &self.sources.about;
        json!({"hub": hub, "version": version, "user": user})
    }

    /// Does what a user asks for: with the token of the user, and with no other credential.
    async fn act(
        self: &Arc<Self>,
        person: &Person,
        deed: Deed,
        token: Option<Token>,
        body: Body,
    ) -> Response<Body> {
        self.sources.interest.note();
        let body = tokio::time::timeout(PATIENCE, to_bytes(body, action::LONGEST_BODY)).await;
        let Ok(Ok(body)) = body else {
            return refused(
                StatusCode::BAD_REQUEST,
                "the body of the request is too long, or incomplete",
            );
        };
        let done = self.acted(person, deed, token, &body).await;
        match done {
            Ok(value) => found(&value),
            Err(Refusal::Unsaid(unanswered)) => unsaid(&unanswered),
            Err(Refusal::Because(status, why)) => refused(status, &why),
        }
    }

    async fn acted(
        &self,
        person: &Person,
        deed: Deed,
        token: Option<Token>,
        body: &Bytes,
    ) -> Result<Value, Refusal> {
        let invalid = |why| Refusal::Because(StatusCode::BAD_REQUEST, why);
        let token = self.as_whom(token);
        let acting = match deed {
            Deed::Steer(verb, target) => {
                let action = action::read(&verb, body).map_err(invalid)?;
                self.seen(person, &target).await?;
                self.asks.act(token, target, action)
            }
            Deed::Freeze(begins, name) => {
                let action = action::read_freeze(begins, name, body).map_err(invalid)?;
                self.asks.freeze(token, action)
            }
        };
        let busy = |why: &str| Refusal::Because(StatusCode::SERVICE_UNAVAILABLE, why.to_owned());
        let place = tokio::time::timeout(READING, self.writings.acquire()).await;
        let Ok(Ok(_place)) = place else {
            return Err(busy("too many actions at the same time; try again later"));
        };
        let Ok(done) = tokio::time::timeout(READING, acting).await else {
            return Err(busy(
                "the hub took too long; the change may be stored: check it before you try again",
            ));
        };
        done.map_err(|error| match error {
            NotDone::NotAllowed(why) => Refusal::Because(StatusCode::FORBIDDEN, why),
            NotDone::Rejected(why) => Refusal::Because(StatusCode::CONFLICT, why),
            NotDone::Failed(why) => Refusal::Because(StatusCode::BAD_GATEWAY, why),
        })
    }

    /// Where the hub does not authenticate, a token that a request brings is not looked at.
    fn as_whom(&self, token: Option<Token>) -> Option<Token> {
        token.filter(|_| self.access.is_some())
    }

    /// Reads the hub, few at a time: each reading is of the whole. A further request waits.
    async fn read(&self, reading: BoxFuture<'static, Result<Value, String>>) -> Result<Value, Refusal> {
        let busy = |why: &str| Refusal::Because(StatusCode::SERVICE_UNAVAILABLE, why.to_owned());
        let place = tokio::time::timeout(READING, self.readings.acquire()).await;
        let Ok(Ok(_place)) = place else {
            return Err(busy("too many requests at the same time; try again later"));
        };
        let Ok(read) = tokio::time::timeout(READING, reading).await else {
            return Err(busy("reading the hub took too long"));
        };
        read.map_err(|why| Refusal::Because(StatusCode::BAD_GATEWAY, why))
    }

    async fn findings(&self, person: &Person) -> Result<Value, Refusal> {
        let Some(told) = &self.sources.findings else {
            return Ok(json!({"audited": false, "items": [], "more": 0}));
        };
        let told = told.borrow().clone();
        let mut grants = Grants::default();
        let objects = told
            .items
            .iter()
            .map(|item| (item.key.kind, &*item.key.namespace));
        match &self.access {
            None => grants.everything = true,
            Some(access) => {
                let questions = visibility::finding_questions(objects);
                access.ask(person, questions, &mut grants).await?;
            }
        }
        let is_seen = |item: &&audit::ToldFinding| grants.object(item.key.kind, &item.key.namespace);
        let items: Vec<Value> = told
            .items
            .iter()
            .filter(is_seen)
            .map(audit::ToldFinding::json)
            .collect();
        let hidden = told.items.len().saturating_sub(items.len());
        Ok(json!({"audited": true, "items": items, "more": told.more, "leftOut": hidden}))
    }
}

/// What a user does.
enum Deed {
    /// A verb for a rollout, by its word.
    Steer(String, Target),
    /// A freeze of this name begins or ends.
    Freeze(bool, String),
}

/// Why there is no answer.
pub(super) enum Refusal {
    Unsaid(Unanswered),
    Because(StatusCode, String),
}

impl From<Unanswered> for Refusal {
    fn from(unanswered: Unanswered) -> Self {
        Self::Unsaid(unanswered)
    }
}

/// What may not be seen is not there.
fn no_such() -> Refusal {
    let why = "there is no such rollout or cluster, or you may not see it";
    Refusal::Because(StatusCode::NOT_FOUND, why.to_owned())
}

fn unsaid(unanswered: &Unanswered) -> Response<Body> {
    warn!(
        error = unanswered as &dyn std::error::Error,
        "the web page cannot check the permissions of users"
    );
    refused(
        StatusCode::SERVICE_UNAVAILABLE,
        "the hub does not answer reviews of tokens or permissions",
    )
}

pub(super) fn find<'a>(pictures: &'a Pictures, target: &Target) -> Option<&'a Arc<Picture>> {
    pictures.iter().find(|picture| picture.target == *target)
}

/// Reads the token of a request.
fn token(headers: &HeaderMap) -> Option<Token> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    let token = token.trim();
    let fits =
        !token.is_empty() && token.len() <= LONGEST_TOKEN && token.chars().all(|one| one.is_ascii_graphic());
    (scheme.eq_ignore_ascii_case("bearer") && fits).then(|| Token(token.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_clients_send_it_and_never_printed() {
        let read = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().expect("a value"));
            token(&headers)
        };
        let found = read("bearer secret").expect("a token");
        assert_eq!(
            (found.text(), format!("{found:?}")),
            ("secret", "Token".to_owned())
        );
        for wrong in ["", "Bearer", "Bearer ", "Basic abc", "Bearer a b"] {
            assert!(read(wrong).is_none(), "{wrong}");
        }
        assert!(read(&format!("Bearer {}", "a".repeat(LONGEST_TOKEN + 1))).is_none());
    }
}
