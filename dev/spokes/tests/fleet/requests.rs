//! The test hub's requests: list, watch, get, create, merge patch (also of the status), delete.

use std::collections::VecDeque;

use bytes::Bytes;
use futures::stream;
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use kube::client::Body;
use serde_json::{Value, json};

use crate::hub::{Event, Place, TestHub, place};

type Reply = Response<UnsyncBoxBody<Bytes, std::io::Error>>;

/// Where a request goes.
struct Target {
    place: Place,
    status: bool,
}

pub(crate) async fn answer(hub: &TestHub, request: Request<Body>) -> Reply {
    let (head, body) = request.into_parts();
    let query = head.uri.query().unwrap_or_default().to_owned();
    let body = body
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let target = target(head.uri.path());
    let reads = head.method == Method::GET;
    if !reads {
        let mut state = hub.lock();
        if state.refusals > 0 {
            state.refusals -= 1;
            return failure(
                StatusCode::INTERNAL_SERVER_ERROR,
                "InternalError",
                "refused by the test",
            );
        }
    }
    let named = !target.place.2.is_empty();
    let exists = hub.lock().objects.contains_key(&target.place);
    if named && !exists {
        return failure(StatusCode::NOT_FOUND, "NotFound", "no such object");
    }
    if reads && named {
        reply(
            StatusCode::OK,
            &hub.object(&target.place.0, &target.place.1, &target.place.2),
        )
    } else if reads && query.contains("watch=true") {
        watch(hub, &target.place, &query)
    } else if reads {
        list(hub, &target.place)
    } else if head.method == Method::POST {
        create(hub, &target.place, body)
    } else if head.method == Method::PATCH {
        patch(hub, &target, &body)
    } else if head.method == Method::DELETE {
        reply(StatusCode::OK, &hub.remove(&target.place))
    } else {
        failure(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            head.method.as_str(),
        )
    }
}

fn target(path: &str) -> Target {
    let mut parts: VecDeque<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let skipped = if parts.front() == Some(&"api") { 2 } else { 3 };
    parts.drain(..skipped);
    let namespace = if parts.len() > 2 && parts[0] == "namespaces" {
        parts.pop_front();
        parts.pop_front().unwrap_or_default()
    } else {
        ""
    };
    let mut next = || parts.pop_front().unwrap_or_default();
    let (plural, name, subresource) = (next(), next(), next());
    Target {
        place: place(plural, namespace, name),
        status: subresource == "status",
    }
}

fn list(hub: &TestHub, (plural, namespace, _): &Place) -> Reply {
    let state = hub.lock();
    let here = state
        .objects
        .iter()
        .filter(|((kind, within, _), _)| kind == plural && (namespace.is_empty() || within == namespace));
    let items: Vec<_> = here.map(|(_, object)| object).collect();
    let version = state.version.to_string();
    reply(
        StatusCode::OK,
        &json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": items}),
    )
}

fn watch(hub: &TestHub, (plural, _, _): &Place, query: &str) -> Reply {
    let since = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("resourceVersion="))
        .and_then(|text| text.parse().ok());
    let state = (
        hub.clone(),
        hub.version.subscribe(),
        plural.clone(),
        since.unwrap_or_default(),
    );
    let frames = stream::unfold(state, |(hub, mut versions, plural, since)| async move {
        loop {
            let next = next_event(&hub, &plural, since);
            if let Some(Event {
                version,
                kind,
                object,
                ..
            }) = next
            {
                let line = format!("{}\n", json!({"type": kind, "object": object}));
                let frame = Ok::<_, std::io::Error>(Frame::data(Bytes::from(line)));
                return Some((frame, (hub, versions, plural, version)));
            }
            versions.changed().await.ok()?;
        }
    });
    Response::new(BodyExt::boxed_unsync(StreamBody::new(frames)))
}

fn next_event(hub: &TestHub, plural: &str, since: u64) -> Option<Event> {
    let state = hub.lock();
    let from = state.log.partition_point(|event| event.version <= since);
    state.log[from..]
        .iter()
        .find(|event| event.place.0 == plural)
        .cloned()
}

fn create(hub: &TestHub, collection: &Place, object: Value) -> Reply {
    let name = object
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let place = place(&collection.0, &collection.1, name);
    if hub.lock().objects.contains_key(&place) {
        return failure(StatusCode::CONFLICT, "AlreadyExists", "there is one");
    }
    let mut object = object;
    if !collection.1.is_empty() {
        object["metadata"]["namespace"] = json!(collection.1);
    }
    reply(StatusCode::CREATED, &hub.create(&place, object))
}

fn patch(hub: &TestHub, target: &Target, patch: &Value) -> Reply {
    let known = hub.object(&target.place.0, &target.place.1, &target.place.2);
    let wanted = patch.pointer("/metadata/resourceVersion").unwrap_or(&Value::Null);
    if !wanted.is_null() && *wanted != known["metadata"]["resourceVersion"] {
        return failure(StatusCode::CONFLICT, "Conflict", "the object has been modified");
    }
    let changed = hub.change(&target.place, |object| {
        let mut merged = object.clone();
        json_patch::merge(&mut merged, patch);
        if target.status {
            object["status"] = merged["status"].take();
        } else {
            merged["status"] = object["status"].take();
            if merged["status"].is_null() {
                merged.as_object_mut().map(|fields| fields.remove("status"));
            }
            *object = merged;
        }
    });
    reply(StatusCode::OK, &changed)
}

fn failure(code: StatusCode, reason: &str, message: &str) -> Reply {
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code.as_u16()});
    reply(code, &body)
}

fn reply(code: StatusCode, body: &Value) -> Reply {
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {});
    let mut reply = Response::new(body.boxed_unsync());
    *reply.status_mut() = code;
    reply
}
