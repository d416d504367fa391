//! Watches.
//!
//! Decides where a watch starts, which changes it shows and when it ends. A watcher is a cursor on the history of its resource: it
//! has no queue, and one that is too slow ends with 410 Expired.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;
use schema::{ErrorClass, FieldError};
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep, sleep_until};

use super::call::Call;
use super::errors::invalid_options;
use super::page::{self, bad_version};
use super::represent::Frames;
use super::selection::Selection;
use super::versioned::{at_version, watched};
use crate::error::ApiError;
use crate::http::{Payload, Query, Reply};
use crate::store::{Event, EventKind, Page, Record};

/// Changes that are taken from the history at once.
const BATCH: usize = 256;
/// How often a watcher that asked for a state of the future looks whether it has come.
const GLANCE: Duration = Duration::from_millis(20);

/// Objects that were converted, by resource version.
type Seen = BTreeMap<u64, Arc<Value>>;

/// Where a watch starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// With the whole state.
    State,
    /// With what changes from now on.
    Now,
    /// With what changed after a version.
    After(u64),
}

#[derive(Debug)]
struct WatchOptions {
    start: Start,
    bookmarks: bool,
    /// The version from which on a bookmark marks the end of the initial state, if one does.
    initial: Option<u64>,
    timeout: Duration,
}

impl WatchOptions {
    fn parse(query: &Query) -> Result<Self, ApiError> {
        let version = query.text("resourceVersion");
        let how = query.text("resourceVersionMatch");
        let initial = query
            .first("sendInitialEvents")
            .map(|_| query.flag("sendInitialEvents"));
        check_options(query, how, initial)?;
        let number = match version {
            "" => 0,
            text => page::number(text).ok_or_else(|| bad_version(text))?,
        };
        let start = match (initial, number) {
            (Some(true), _) | (None, 0) => Start::State,
            (Some(false), 0) => Start::Now,
            (Some(false) | None, number) => Start::After(number),
        };
        let bookmarks = query.flag("allowWatchBookmarks");
        let from_cache = initial.is_none() && version == "0";
        Ok(Self {
            start,
            bookmarks,
            initial: (bookmarks && (initial == Some(true) || from_cache)).then_some(number),
            timeout: timeout(query.text("timeoutSeconds"))?,
        })
    }
}

fn timeout(text: &str) -> Result<Duration, ApiError> {
    let seconds = match text {
        "" => 0,
        text => page::signed(text)?,
    };
    match u64::try_from(seconds) {
        Ok(0) | Err(_) => Ok(Duration::from_secs(rand::random_range(1800..3600))),
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
    }
}

fn check_options(query: &Query, how: &str, initial: Option<bool>) -> Result<(), ApiError> {
    let mut errors = Vec::new();
    let mut fault = |class: ErrorClass, message: String| {
        errors.push(FieldError {
            field: "resourceVersionMatch".to_owned(),
            class,
            message,
        });
    };
    let forbidden = |cause: &str| format!("Forbidden: {cause}");
    if !query.text("continue").is_empty() {
        fault(
            ErrorClass::Forbidden,
            forbidden("resourceVersionMatch is forbidden when continue is provided"),
        );
    }
    match initial {
        Some(_) if how != "NotOlderThan" => {
            let cause = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            fault(ErrorClass::Forbidden, forbidden(cause));
        }
        None if !how.is_empty() => {
            let cause = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            fault(ErrorClass::Forbidden, forbidden(cause));
        }
        Some(_) | None => {}
    }
    if !how.is_empty() && how != "NotOlderThan" {
        let text = format!("Unsupported value: {how:?}: supported values: \"NotOlderThan\"");
        fault(ErrorClass::NotSupported, text);
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(invalid_options("ListOptions", &errors))
    }
}

/// Answers a watch.
pub(super) async fn watch(call: &Call) -> Result<Reply, ApiError> {
    let asked = WatchOptions::parse(&call.query)?;
    let mut call = call.clone();
    if !call.name.is_empty() {
        let name = format!("metadata.name={}", call.name);
        call.query.set("fieldSelector", &name);
    }
    let selection = Selection::parse(&call)?;
    // Subscribed before the state is read, so that no change falls between the two.
    let changes = call.served.table.changes();
    let frames = Frames::new(&call)?;
    let now = Instant::now();
    let mut watcher = Watcher {
        changes,
        selection,
        frames,
        ready: VecDeque::new(),
        cursor: 0,
        bookmarks: asked.bookmarks,
        initial: asked.initial,
        bookmark_at: now + call.hub.bookmark_every,
        ends_at: now + asked.timeout,
        ended: false,
        call,
    };
    watcher.begin(&asked).await?;
    let events = stream::unfold(watcher, |mut watcher| async move {
        let bytes = watcher.next().await?;
        Some((bytes, watcher))
    });
    Ok(Reply {
        status: 200,
        payload: Payload::Stream(events.boxed()),
        headers: Vec::new(),
    })
}

struct Watcher {
    call: Call,
    changes: Receiver<u64>,
    selection: Selection,
    frames: Frames,
    ready: VecDeque<Bytes>,
    /// Everything up to this version has been looked at.
    cursor: u64,
    bookmarks: bool,
    /// The version from which on the initial state is complete, until that has been told.
    initial: Option<u64>,
    bookmark_at: Instant,
    ends_at: Instant,
    ended: bool,
}

impl Watcher {
    async fn begin(&mut self, asked: &WatchOptions) -> Result<(), ApiError> {
        let table = Arc::clone(&self.call.served.table);
        match asked.start {
            Start::After(version) => self.cursor = version,
            Start::Now => self.cursor = table.version(),
            Start::State => {
                let page = Page {
                    prefix: &self.selection.prefix,
                    ..Page::default()
                };
                let Ok(snapshot) = table.list(&page) else {
                    return Ok(());
                };
                self.cursor = snapshot.version;
                let seen = watched(&self.call, snapshot.records.iter().collect()).await?;
                for record in &snapshot.records {
                    if self.means(record, &seen) {
                        let frame = self.line("ADDED", record, record.version, &seen);
                        self.ready.push_back(frame);
                    }
                }
            }
        }
        if self.initial.is_some_and(|due| self.cursor >= due) {
            let frame = self.frames.bookmark(&self.call, self.cursor, true);
            self.ready.push_back(frame);
            self.initial = None;
        }
        Ok(())
    }

    /// Tells whether the selection means an object, as the client sees it.
    fn means(&self, record: &Record, seen: &Seen) -> bool {
        let served = &self.call.served;
        match seen.get(&record.version) {
            Some(object) => self.selection.matches_converted(served, record, object),
            None => self.selection.matches(served, record),
        }
    }

    fn line(&mut self, kind: &str, record: &Record, version: u64, seen: &Seen) -> Bytes {
        match seen.get(&record.version) {
            Some(object) => self.frames.converted(kind, &at_version(object, version)),
            None => self.frames.event(kind, &self.call, record, version),
        }
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Some(bytes);
            }
            if self.ended {
                return None;
            }
            // A watch that is always busy never comes to the pause.
            if Instant::now() >= self.ends_at {
                self.end();
                continue;
            }
            self.changes.mark_unchanged();
            self.collect().await;
            if self.ready.is_empty() && !self.ended && self.initial.is_some() {
                self.bookmark();
            }
            if !self.ready.is_empty() || self.ended {
                continue;
            }
            self.pause().await;
        }
    }

    /// Takes the definition as it is now: it may have changed since the watch began.
    fn refresh(&mut self) {
        let served = &self.call.served;
        if served.custom.is_none() {
            return;
        }
        let resource = &served.resource;
        let registry = self.call.hub.directory.load();
        let found = registry.find(&resource.group, &resource.version, &resource.plural);
        let newer = found.filter(|newer| Arc::ptr_eq(&newer.table, &served.table));
        if let Some(newer) = newer.map(Arc::clone) {
            self.call.served = newer;
        }
    }

    /// Takes the next changes out of the history.
    async fn collect(&mut self) {
        self.refresh();
        match self.call.served.table.events_after(self.cursor, BATCH) {
            Ok(events) => {
                let previous = events
                    .iter()
                    .filter(|_| !self.selection.is_whole())
                    .filter_map(|event| event.previous.as_ref());
                let records = events.iter().map(|event| &event.record).chain(previous).collect();
                let seen = match watched(&self.call, records).await {
                    Ok(seen) => seen,
                    Err(error) => return self.fail(&error),
                };
                for event in events {
                    self.cursor = event.version;
                    let frame = self.frame(&event, &seen);
                    self.ready.extend(frame);
                }
                self.ended = self.ready.is_empty() && self.call.served.table.is_closed();
            }
            Err(forgotten) => {
                let message = format!("too old resource version: {} ({})", self.cursor, forgotten.oldest);
                self.fail(&ApiError::new(410, "Expired", message));
            }
        }
    }

    /// Tells the client why nothing more comes.
    fn fail(&mut self, error: &ApiError) {
        let event = json!({ "type": "ERROR", "object": error.to_status() });
        self.ready.push_back(line(&event));
        self.ended = true;
    }

    /// Maps a change to the selection: an object that starts to match is added, one that no longer matches is deleted.
    fn frame(&mut self, event: &Event, seen: &Seen) -> Option<Bytes> {
        let before = event
            .previous
            .as_deref()
            .filter(|record| self.means(record, seen));
        let after = (event.kind != EventKind::Deleted)
            .then_some(&*event.record)
            .filter(|record| self.means(record, seen));
        let (kind, record) = match (before, after) {
            (None, None) => return None,
            (None, Some(record)) => ("ADDED", record),
            (Some(_), Some(record)) => ("MODIFIED", record),
            (Some(record), None) => ("DELETED", record),
        };
        Some(self.line(kind, record, event.version, seen))
    }

    /// Waits for a change, a bookmark to be due, the end of the watch or of the hub.
    async fn pause(&mut self) {
        tokio::select! {
            () = self.call.hub.stop.cancelled() => self.ended = true,
            changed = self.changes.changed() => self.ended = changed.is_err(),
            () = sleep_until(self.ends_at) => self.end(),
            () = sleep_until(self.bookmark_at), if self.bookmarks => self.bookmark(),
            () = sleep(GLANCE), if self.initial.is_some() => {}
        }
    }

    /// Ends the watch; with bookmarks allowed, the last one has the version to resume from.
    fn end(&mut self) {
        self.ended = true;
        if self.bookmarks {
            self.bookmark();
        }
    }

    /// Tells how far the hub has come, or that the initial state is complete.
    fn bookmark(&mut self) {
        self.bookmark_at = Instant::now() + self.call.hub.bookmark_every;
        // Everything that happened to this resource until now has been shown, so the hub's newest version is safe.
        let version = self.call.served.table.version();
        let unseen = self
            .call
            .served
            .table
            .events_after(self.cursor, 1)
            .is_ok_and(|events| !events.is_empty());
        if unseen || version < self.cursor {
            return;
        }
        // Until the state that was asked for has come, there is nothing from which a watch could be resumed.
        if self.initial.is_some_and(|due| version < due) {
            return;
        }
        let completes = self.initial.take().is_some();
        let frame = self.frames.bookmark(&self.call, version, completes);
        self.ready.push_back(frame);
    }
}

/// Returns a line of a stream.
pub(super) fn line(value: &Value) -> Bytes {
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    Bytes::from(bytes)
}
