//! Which request fails, and how.
//!
//! Decides before anything is done, so that a refused request has changed nothing. Answers look like those of a real server,
//! with one more header that names the fault.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use http::header::HeaderName;
use serde_json::json;

use super::Faults;
use super::dice::Dice;
use crate::error::ApiError;
use crate::http::{Payload, Query, Reply, Target};

/// Names the fault in an answer.
const HEADER: HeaderName = HeaderName::from_static("x-devhub-fault");

/// Does on purpose what is asked for.
#[derive(Debug)]
pub(crate) struct FaultInjector {
    faults: Faults,
    dice: Arc<Dice>,
}

impl FaultInjector {
    pub(crate) fn new(faults: Faults) -> Self {
        let dice = Arc::new(Dice::new(faults.seed));
        Self { faults, dice }
    }

    /// Returns how long a changed definition is not served yet.
    pub(crate) fn crd_delay(&self) -> Duration {
        self.faults.crd_delay
    }

    /// Lets a request wait.
    pub(crate) async fn wait(&self, method: &str, path: &str) {
        if self.faults.delay.is_zero() {
            return;
        }
        let share = self.dice.roll(&format!("delay {method} {path}"));
        tokio::time::sleep(self.faults.delay.mul_f64(share * 2.0)).await;
    }

    /// Returns the answer of a request that fails.
    pub(crate) fn inject(&self, method: &str, path: &str, target: &Target, query: &Query) -> Option<Reply> {
        let faults = &self.faults;
        let reads = method == "GET" && target.name.is_none();
        let watches = target.watch || query.flag("watch");
        let version = query.text("resourceVersion");
        let older = !matches!(version, "" | "0") || !query.text("continue").is_empty();
        let changes = matches!(method, "PUT" | "PATCH");
        let shares = [
            ("429", faults.busy, true),
            ("500", faults.broken, true),
            ("410", faults.gone, reads && older),
            ("409", faults.conflict, changes),
        ];
        if shares.iter().all(|(_, share, _)| *share <= 0.0) {
            return None;
        }
        let mut left = self.dice.roll(&format!("{method} {path}"));
        for (code, share, applies) in shares {
            if left < share {
                let reply = applies.then(|| answer(code, target, watches, version));
                return reply.map(|reply| reply.with_header(HEADER, code));
            }
            left -= share;
        }
        None
    }

    /// Lets a watch end after some of its events.
    pub(crate) fn tear(&self, path: &str, mut reply: Reply) -> Reply {
        let share = self.faults.watch_drop;
        if share <= 0.0 {
            return reply;
        }
        reply.payload = match reply.payload {
            Payload::Stream(events) => Payload::Stream(torn(events, Arc::clone(&self.dice), share, path)),
            other @ (Payload::Json(_) | Payload::Raw(..) | Payload::Empty) => other,
        };
        reply
    }
}

fn torn(
    events: BoxStream<'static, Bytes>,
    dice: Arc<Dice>,
    share: f64,
    path: &str,
) -> BoxStream<'static, Bytes> {
    let place = format!("drop {path}");
    let started = (events, false);
    stream::unfold(started, move |(mut events, ended)| {
        let (dice, place) = (Arc::clone(&dice), place.clone());
        async move {
            if ended {
                return None;
            }
            let event = events.next().await?;
            Some((event, (events, dice.roll(&place) < share)))
        }
    })
    .boxed()
}

fn answer(code: &str, target: &Target, watches: bool, version: &str) -> Reply {
    let error = match code {
        "429" => ApiError::new(
            429,
            "TooManyRequests",
            "Too many requests, please try again later.",
        )
        .with_details(json!({ "retryAfterSeconds": 1 })),
        "500" => ApiError::internal("a fault on purpose"),
        "410" if watches => {
            // A watch starts before it ends with 410 Expired.
            let text = format!("too old resource version: {version}");
            let status = ApiError::new(410, "Expired", text).to_status();
            let event = json!({ "type": "ERROR", "object": status }).to_string() + "\n";
            return Reply {
                status: 200,
                payload: Payload::Stream(stream::iter([Bytes::from(event)]).boxed()),
                headers: Vec::new(),
            };
        }
        "410" => ApiError::new(
            410,
            "Expired",
            "The resourceVersion for the provided list is too old.",
        ),
        _ => conflict(target),
    };
    Reply::error(&error)
}

fn conflict(target: &Target) -> ApiError {
    let resource = if target.group.is_empty() {
        target.resource.clone()
    } else {
        format!("{}.{}", target.resource, target.group)
    };
    let name = target.name.clone().unwrap_or_default();
    let message = format!(
        "Operation cannot be fulfilled on {resource} \"{name}\": the object has been modified; please apply your changes to the latest version and try again"
    );
    let details = json!({ "name": name, "group": target.group, "kind": target.resource });
    ApiError::new(409, "Conflict", message).with_details(details)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{Route, parse_path};

    fn target(path: &str) -> Target {
        match parse_path(path) {
            Route::Resource(target) => target,
            other => panic!("{other:?}"),
        }
    }

    fn code(wish: &str, method: &str, path: &str, query: &str) -> Option<u16> {
        let fault_injector = FaultInjector::new(Faults::parse(wish).expect("a wish"));
        let struck = fault_injector.inject(method, path, &target(path), &Query::parse(query));
        struck.map(|reply| reply.status)
    }

    #[test]
    fn faults_meet_only_requests_that_could_meet_them() {
        let (one, all) = ("/api/v1/namespaces/a/pods/x", "/api/v1/namespaces/a/pods");
        for (wish, method, path, query, expected) in [
            ("409=1", "PUT", one, "", Some(409)),
            ("409=1", "PATCH", one, "", Some(409)),
            ("409=1", "GET", one, "", None),
            ("409=1", "POST", all, "", None),
            ("410=1", "GET", all, "resourceVersion=5", Some(410)),
            ("410=1", "GET", all, "resourceVersion=5&watch=true", Some(200)),
            ("410=1", "GET", all, "resourceVersion=0", None),
            ("410=1", "GET", all, "", None),
            ("429=1", "GET", one, "", Some(429)),
            ("500=1", "POST", all, "", Some(500)),
            ("seed=3", "PUT", one, "", None),
        ] {
            assert_eq!(
                code(wish, method, path, query),
                expected,
                "{wish} {method} {path}?{query}"
            );
        }
    }

    #[test]
    fn the_same_seed_strikes_the_same_requests() {
        let path = "/api/v1/namespaces/a/pods/x";
        let struck = |seed: u64| -> Vec<Option<u16>> {
            let wish = format!("seed={seed},429=0.2,409=0.2");
            let fault_injector = FaultInjector::new(Faults::parse(&wish).expect("a wish"));
            let ask = |_| fault_injector.inject("PUT", path, &target(path), &Query::default());
            (0..200).map(|n: u32| ask(n).map(|reply| reply.status)).collect()
        };
        assert_eq!(struck(1), struck(1));
        assert_ne!(struck(1), struck(2));
        let hit = struck(1).iter().flatten().count();
        assert!((50..110).contains(&hit), "{hit}");
    }
}
