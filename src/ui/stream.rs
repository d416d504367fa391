//! What changes, told to a page as it does: server-sent events.
//!
//! Decides how often: once a second at most, and only when something has changed. The token of a follower is looked at again with
//! every event, and no stream goes on indefinitely: a page comes back, and shows its token again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::access::Person;
use super::answer::{EVENTS, answer, refused};
use super::state::{PageState, Token, find};
use super::visibility;
use insight::cockpit::{ClusterView, Picture, Pictures, Target};

/// The shortest time between two looks.
const SHORTEST: Duration = Duration::from_secs(1);
/// Maximum time without data to a page.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long one stream goes on.
const LONGEST: Duration = Duration::from_mins(10);
/// How long a page may leave what it was sent unread.
const UNREAD: Duration = Duration::from_secs(20);

/// What a page has been told.
#[derive(Default)]
struct Followed {
    list: Option<Value>,
    rollout: Option<Arc<Picture>>,
    hidden: usize,
    findings: u64,
}

impl PageState {
    /// Begins to tell a page what changes.
    pub(super) fn stream(
        self: &Arc<Self>,
        person: &Person,
        token: Option<Token>,
        target: Option<Target>,
    ) -> Response<Body> {
        let name = match person {
            Person::Anonymous => None,
            Person::Known(_, user) => Some(user.username.clone().unwrap_or_default()),
        };
        let Some(place) = self.followers.take(name) else {
            return refused(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many open pages for this hub",
            );
        };
        let (told, mut heard) = mpsc::channel::<Bytes>(1);
        let state = Arc::clone(self);
        tokio::spawn(async move {
            let _place = place;
            tokio::select! {
                () = state.follow(token, target, told) => {}
                () = sleep(LONGEST) => {}
                () = state.stop.cancelled() => {}
            }
        });
        let events = futures::stream::poll_fn(move |context| {
            let next = heard.poll_recv(context);
            next.map(|event| event.map(Ok::<_, Infallible>))
        });
        answer(StatusCode::OK, EVENTS, Body::from_stream(events))
    }

    async fn follow(&self, token: Option<Token>, target: Option<Target>, told: mpsc::Sender<Bytes>) {
        let mut shown = self.sources.pictures.clone();
        let mut followed = Followed::default();
        let mut last = Instant::now();
        loop {
            self.sources.interest.note();
            let pictures = shown.borrow_and_update().clone();
            let mut events = String::new();
            if let Some(pictures) = pictures {
                let Ok(Some(person)) = self.person(token.as_ref()).await else {
                    return;
                };
                let Some(news) = self
                    .news(&person, &pictures, target.as_ref(), &mut followed)
                    .await
                else {
                    return;
                };
                events = news;
            }
            if events.is_empty() && last.elapsed() >= HEARTBEAT {
                events.push_str(": still here\n\n");
            }
            if !events.is_empty() {
                last = Instant::now();
                if !matches!(timeout(UNREAD, told.send(events.into())).await, Ok(Ok(()))) {
                    return;
                }
            }
            sleep(SHORTEST).await;
            tokio::select! {
                changed = shown.changed() => if changed.is_err() { return },
                () = told.closed() => return,
                () = sleep(HEARTBEAT) => {}
            }
        }
    }

    /// Returns what a page has not been told yet; `None` when the hub does not say what may be told.
    async fn news(
        &self,
        person: &Person,
        pictures: &Pictures,
        target: Option<&Target>,
        followed: &mut Followed,
    ) -> Option<String> {
        let mut events = String::new();
        let picture = target.and_then(|target| find(pictures, target));
        let grants = match picture {
            Some(picture) => self.grants_within(person, pictures, picture).await,
            None => self.grants(person, pictures).await,
        };
        let grants = grants.ok()?;
        let list = visibility::list(pictures, &grants);
        if followed.list.as_ref() != Some(&list) {
            push(&mut events, "list", &list);
            followed.list = Some(list);
        }
        let seen = picture.and_then(|picture| visibility::rollout(picture, &grants));
        match (seen, &followed.rollout) {
            (Some((now, hidden)), had) => {
                let news = match had {
                    Some(had) if hidden == followed.hidden => change(had, &now),
                    Some(_) | None => Some(whole(&now)),
                };
                if let Some(mut news) = news {
                    if let Some(fields) = news.as_object_mut().filter(|_| hidden > 0) {
                        fields.insert("hidden".to_owned(), hidden.into());
                    }
                    push(&mut events, "rollout", &news);
                }
                (followed.rollout, followed.hidden) = (Some(now), hidden);
            }
            (None, Some(_)) => {
                push(&mut events, "gone", &Value::Null);
                followed.rollout = None;
            }
            (None, None) => {}
        }
        let revision = self.sources.findings.as_ref().map(|told| told.borrow().revision);
        if let Some(revision) = revision.filter(|revision| *revision != followed.findings) {
            push(&mut events, "findings", &Value::Null);
            followed.findings = revision;
        }
        Some(events)
    }
}

/// JSON has no line breaks outside of its strings, and none in them.
fn push(events: &mut String, name: &str, value: &Value) {
    let value = value.to_string();
    for part in ["event: ", name, "\ndata: ", &value, "\n\n"] {
        events.push_str(part);
    }
}

/// Returns a picture for a page that has none, or whose clusters are others now.
fn whole(picture: &Picture) -> Value {
    json!({ "picture": picture })
}

/// Returns what has changed since the picture that a page has; nothing when nothing has.
fn change(had: &Picture, picture: &Picture) -> Option<Value> {
    if had == picture {
        return None;
    }
    let same = had.clusters.len() == picture.clusters.len()
        && had
            .clusters
            .iter()
            .zip(&picture.clusters)
            .all(|(one, other)| one.name == other.name);
    if !same {
        return Some(whole(picture));
    }
    let each = had.clusters.iter().zip(&picture.clusters);
    let changed: Vec<&ClusterView> = each
        .filter(|(one, other)| one != other)
        .map(|(_, other)| other)
        .collect();
    Some(json!({ "picture": picture.without_clusters(), "changed": changed }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_is_one_line_whatever_it_says() {
        let mut events = String::new();
        push(&mut events, "list", &json!({"a": "x\ny\r\n\nevent: evil"}));
        assert_eq!(
            events,
            "event: list\ndata: {\"a\":\"x\\ny\\r\\n\\nevent: evil\"}\n\n"
        );
    }
}

#[cfg(test)]
mod delta_tests {
    use super::*;
    use crate::ui::visibility::samples::picture;
    use insight::cockpit::ClusterState;

    #[test]
    fn only_clusters_that_say_anything_else_are_reported() {
        let had = picture("hello", &["a", "b", "c"]);
        assert_eq!(change(&had, &had.clone()), None);
        let mut moved = had.clone();
        moved.clusters[1].state = ClusterState::Soaking;
        let told = change(&had, &moved).expect("a change");
        assert_eq!(told["changed"].as_array().map(Vec::len), Some(1));
        assert_eq!(told["changed"][0]["name"], "b");
        assert_eq!(told["picture"]["clusters"], json!([]));
        assert_eq!(told["picture"]["target"]["name"], "hello");
        let other = picture("hello", &["a", "b", "d"]);
        let told = change(&had, &other).expect("a change");
        assert_eq!(told["picture"]["clusters"].as_array().map(Vec::len), Some(3));
    }
}
