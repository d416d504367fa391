//! Requests, counted by verb and resource.
//!
//! Decides which verb and resource a request is, as an API server's metrics do.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use http::{Method, Uri};

/// A sort of request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// `create`, `patch`, `list`, …
    pub verb: &'static str,
    /// The resource with its subresource, or the path of what is no resource.
    pub resource: String,
}

impl Call {
    /// Returns which sort a request is.
    pub fn of(method: &Method, uri: &Uri) -> Self {
        let words: Vec<&str> = uri.path().split('/').filter(|word| !word.is_empty()).collect();
        let rest = match words.as_slice() {
            ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
            _ => &[],
        };
        let (resource, is_named) = match rest {
            ["namespaces", _, resource, name @ ..] | [resource, name @ ..] => {
                (join(resource, name), !name.is_empty())
            }
            [] => (uri.path().to_owned(), true),
        };
        let watches = uri.query().is_some_and(|query| {
            query
                .split('&')
                .any(|pair| pair == "watch=true" || pair == "watch=1")
        });
        let verb = match (method.as_str(), is_named) {
            ("GET", false) if watches => "watch",
            ("GET", false) => "list",
            ("GET", true) => "get",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", true) => "delete",
            ("DELETE", false) => "deletecollection",
            _ => "other",
        };
        Self { verb, resource }
    }

    /// Returns whether it is a write.
    pub fn is_write(&self) -> bool {
        !["get", "list", "watch", "other"].contains(&self.verb)
    }
}

/// The resource with its subresource: what follows a name.
fn join(resource: &str, name: &[&str]) -> String {
    match name {
        [_, sub, ..] => format!("{resource}/{sub}"),
        _ => resource.to_owned(),
    }
}

/// How many requests there were of each sort.
pub type Counts = BTreeMap<Call, u64>;

/// Counts that are shared between those who count and those who read.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    counts: Counts,
    last: Option<Instant>,
    firsts: BTreeMap<Call, Instant>,
}

impl Counter {
    /// Counts a request.
    pub(crate) fn add(&self, call: Call) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        state.firsts.entry(call.clone()).or_insert(now);
        let count = state.counts.entry(call).or_default();
        *count = count.saturating_add(1);
        state.last = Some(now);
    }

    /// Forgets which requests came first.
    pub(crate) fn forget_firsts(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.firsts.clear();
    }

    /// Returns when the first write of a resource came since the firsts were forgotten.
    pub(crate) fn first_write(&self, resource: &str) -> Option<Instant> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |call: &Call| call.resource == resource && call.is_write();
        let times = state.firsts.iter().filter(|(call, _)| of(call));
        times.map(|(_, time)| *time).min()
    }

    /// Returns the counts since the last time they were taken.
    pub fn take(&self) -> Counts {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut state.counts)
    }

    /// Returns when the last request came.
    pub(crate) fn last(&self) -> Option<Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).last
    }

    /// Forgets when the last request came.
    pub(crate) fn forget_last(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_classified_as_in_an_api_server() {
        let cases = [
            (Method::GET, "/version", "get /version"),
            (Method::GET, "/api/v1/namespaces", "list namespaces"),
            (Method::GET, "/api/v1/namespaces/x", "get namespaces"),
            (Method::POST, "/api/v1/namespaces/x/events", "create events"),
            (Method::GET, "/apis/a.b/v1/things?limit=500", "list things"),
            (
                Method::GET,
                "/apis/a.b/v1/things?limit=5&watch=true",
                "watch things",
            ),
            (
                Method::PATCH,
                "/apis/a.b/v1/namespaces/x/things/y/status",
                "patch things/status",
            ),
            (Method::DELETE, "/apis/a.b/v1/things/y", "delete things"),
        ];
        for (method, path, expected) in cases {
            let call = Call::of(&method, &path.parse().expect("a path"));
            assert_eq!(format!("{} {}", call.verb, call.resource), expected);
        }
    }
}
