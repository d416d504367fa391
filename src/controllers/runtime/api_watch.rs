//! Watches of the API: a kind, a kind in pages of limited size, a single object; and which answer of the hub an error carries.
//!
//! A watch that is interrupted continues by itself; what was seen before stays true meanwhile. The pauses between lists do not grow:
//! each attempt begins with an event.

use std::fmt::Debug;

use futures::stream::BoxStream;
use futures::{StreamExt as _, future};
use kube::core::ApiResource;
use kube::runtime::watcher::{Config, Error, Event, Result};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tracing::debug;

use super::apply_error::root;
use super::raw::Raw;
use super::sign_of_life::{TooLarge, listening, smaller};

/// The most objects of one page of a list; fewer where the page would have too many bytes (`sign_of_life`).
const PAGE: u32 = 200;

/// The events of a watch, and what interrupts it.
pub(in crate::controllers) type Events<K> = BoxStream<'static, Result<Event<K>>>;

/// Lists and watches what an API and a selector describe.
pub(in crate::controllers) fn observe<K>(api: Api<K>, config: Config) -> Events<K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    watcher(api, config).default_backoff().boxed()
}

/// Watches the object of this name: what it is at first, and each change; `None` where it does not exist.
pub(in crate::controllers) fn observe_object<K>(
    api: Api<K>,
    name: &str,
) -> BoxStream<'static, Result<Option<K>>>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    // `kube::runtime::watcher::watch_object` hides the event that begins each attempt, so that pauses would grow.
    let events = observe(api, Config::default().fields(&format!("metadata.name={name}")));
    let states = events.scan(false, |is_listed, event| {
        let state = match event {
            Ok(Event::Init) => {
                *is_listed = false;
                None
            }
            Ok(Event::InitApply(object) | Event::Apply(object)) => {
                *is_listed = true;
                Some(Ok(Some(object)))
            }
            Ok(Event::InitDone) => (!*is_listed).then_some(Ok(None)),
            Ok(Event::Delete(_)) => Some(Ok(None)),
            Err(error) => Some(Err(error)),
        };
        future::ready(Some(state))
    });
    states.filter_map(future::ready).boxed()
}

/// A watch of a kind in pages. Where a page has too many bytes, it lists again in smaller ones.
pub(in crate::controllers) struct PagedWatch {
    client: Client,
    resource: ApiResource,
    selector: Option<String>,
    page: u32,
    too_large: TooLarge,
    events: Option<Events<Raw>>,
}

impl PagedWatch {
    /// Watches nothing yet. Calls `heard` with every piece of an answer.
    pub(in crate::controllers) fn new(
        client: &Client,
        resource: ApiResource,
        selector: Option<String>,
        heard: impl Fn() + Clone + Send + Sync + 'static,
    ) -> Self {
        let too_large = TooLarge::default();
        Self {
            client: listening(client, heard, &too_large),
            resource,
            selector,
            page: PAGE,
            too_large,
            events: None,
        }
    }

    /// Returns the client whose answers count as signs of life.
    pub(in crate::controllers) fn client(&self) -> &Client {
        &self.client
    }

    /// Lists again before the next event.
    pub(in crate::controllers) fn restart(&mut self) {
        self.events = None;
    }

    /// Waits for the next event or error. May be dropped and begun again.
    pub(in crate::controllers) async fn next(&mut self) -> Option<Result<Event<Raw>>> {
        loop {
            let events = self.events.get_or_insert_with(|| {
                let api = Api::all_with(self.client.clone(), &self.resource);
                let config = Config::default().page_size(self.page);
                match &self.selector {
                    Some(selector) => observe(api, config.labels(selector)),
                    None => observe(api, config),
                }
            });
            let next = events.next().await?;
            if next.is_err()
                && self.too_large.take()
                && let Some(page) = smaller(self.page)
            {
                (self.page, self.events) = (page, None);
                let kind = &self.resource.kind;
                debug!(kind, page, "a page was too large; listing with smaller pages");
                continue;
            }
            if matches!(next, Ok(Event::InitDone)) {
                self.page = self.page.saturating_mul(2).min(PAGE);
            }
            return Some(next);
        }
    }
}

/// Returns the HTTP code of the hub's answer to a request for a list.
pub(in crate::controllers) fn list_code(error: &Error) -> Option<u16> {
    let Error::InitialListFailed(kube::Error::Api(status)) = error else {
        return None;
    };
    Some(status.code)
}

/// Returns the HTTP code of the hub's answer to a list or a watch.
pub(in crate::controllers) fn api_code(error: &Error) -> Option<u16> {
    match error {
        Error::InitialListFailed(kube::Error::Api(status))
        | Error::WatchStartFailed(kube::Error::Api(status))
        | Error::WatchFailed(kube::Error::Api(status))
        | Error::WatchError(status) => Some(status.code),
        Error::InitialListFailed(_)
        | Error::WatchStartFailed(_)
        | Error::WatchFailed(_)
        | Error::NoResourceVersion => None,
    }
}

/// What is known of an object.
#[derive(Clone, Debug)]
pub(in crate::controllers) enum ObservedObject<K> {
    /// It is there.
    There(Box<K>),
    /// It is not.
    Absent,
    /// It cannot be read.
    Unreadable {
        /// Why not, in the words of the hub.
        why: String,
        /// Whether it is forbidden, which does not pass by itself.
        forbidden: bool,
    },
}

/// Watches the object of this name as `observe_object`. An error is of interest where nothing is known yet, and where the object is
/// forbidden.
pub(in crate::controllers) fn observed<K>(api: Api<K>, name: &str) -> BoxStream<'static, ObservedObject<K>>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let states = observe_object(api, name).scan(false, |is_known, state| {
        let seen = match state {
            Ok(state) => {
                *is_known = true;
                Some(state.map_or(ObservedObject::Absent, |object| {
                    ObservedObject::There(Box::new(object))
                }))
            }
            Err(error) => {
                let forbidden = api_code(&error) == Some(403);
                debug!(error = %root(&error), "watch of an object interrupted");
                (forbidden || !*is_known).then(|| ObservedObject::Unreadable {
                    why: root(&error).to_string(),
                    forbidden,
                })
            }
        };
        future::ready(Some(seen))
    });
    states.filter_map(future::ready).boxed()
}
