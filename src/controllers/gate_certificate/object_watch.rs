//! A single object, watched by its name.
//!
//! Decides what of a watch is news. A watch that is interrupted goes on by itself; what was seen before stays true meanwhile.

use std::fmt::Debug;

use futures::stream::BoxStream;
use futures::{StreamExt as _, future};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tracing::debug;

use crate::controllers::runtime::error_root::root;

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

/// Watches the object of this name: what it is at first, and each change.
pub(in crate::controllers) fn observed<K>(api: Api<K>, name: &str) -> BoxStream<'static, ObservedObject<K>>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let events = watcher(api, config).default_backoff();
    let news = events.scan((false, false), |(listed, known), event| {
        future::ready(Some(news(event, (listed, known))))
    });
    news.filter_map(future::ready).boxed()
}

fn news<K>(
    event: watcher::Result<watcher::Event<K>>,
    (listed, known): (&mut bool, &mut bool),
) -> Option<ObservedObject<K>> {
    match event {
        Ok(watcher::Event::Init) => {
            *listed = false;
            None
        }
        Ok(watcher::Event::InitApply(object) | watcher::Event::Apply(object)) => {
            (*listed, *known) = (true, true);
            Some(ObservedObject::There(Box::new(object)))
        }
        Ok(watcher::Event::InitDone) => {
            *known = true;
            (!*listed).then_some(ObservedObject::Absent)
        }
        Ok(watcher::Event::Delete(_)) => Some(ObservedObject::Absent),
        Err(error) => {
            let forbidden = is_forbidden(&error);
            debug!(error = %root(&error), "watch of an object interrupted");
            (forbidden || !*known).then(|| ObservedObject::Unreadable {
                why: root(&error).to_string(),
                forbidden,
            })
        }
    }
}

fn is_forbidden(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == 403,
        watcher::Error::InitialListFailed(_)
        | watcher::Error::WatchStartFailed(_)
        | watcher::Error::WatchError(_)
        | watcher::Error::WatchFailed(_)
        | watcher::Error::NoResourceVersion => false,
    }
}
