//! The actions of users: which request is one, and which verb it means.
//!
//! Accepts only requests that the page itself can send: a form of another site has no such header, and a script of another site may not
//! set it. What a verb writes is decided by the cockpit, and whether the user may write it by the hub.

use axum::http::{HeaderMap, header};
use serde::Deserialize;

use insight::cockpit::{Approve, Decision, Verb};

/// The header of every action. Browsers send it to other origins only after a preflight request, which is not answered.
const MARK: &str = "tidegate-action";
/// The longest body of a request, in bytes.
pub(super) const LONGEST_BODY: usize = 8 << 10;
/// The longest reason, in characters.
const LONGEST_REASON: usize = 1_000;

/// What a user does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The verb.
    pub verb: Verb,
    /// The reason that the user gives.
    pub reason: Option<String>,
    /// Whether the hub only checks the request, and stores nothing.
    pub dry_run: bool,
    /// Whether fields are overwritten that another program owns.
    pub force: bool,
}

/// Why an action is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotDone {
    /// The hub does not allow it to the user.
    NotAllowed(String),
    /// It is not applicable, or the hub rejected it.
    Rejected(String),
    /// The hub could not be read or written.
    Failed(String),
}

/// The body of an action.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Body {
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    placement: Option<String>,
    #[serde(default)]
    group: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    revision: Option<i64>,
}

/// Returns the error of a request that the page itself would not send, if there is one.
pub(super) fn is_forged(headers: &HeaderMap) -> Option<&'static str> {
    if headers.get(MARK).is_none_or(|value| value != "1") {
        return Some("an action needs the header Tidegate-Action: 1");
    }
    let kind = headers.get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| kind != "application/json") {
        return Some("an action needs the content type application/json");
    }
    // A browser sends it with every POST. Programs without a browser have the command line.
    if !headers.contains_key(header::ORIGIN) {
        return Some("an action needs the header Origin, which browsers send");
    }
    None
}

/// Reads an action.
pub(super) fn read(word: &str, body: &[u8]) -> Result<Action, String> {
    let body: Body = if body.is_empty() {
        Body::default()
    } else {
        serde_json::from_slice(body)
            .map_err(|error| format!("the body of the request is invalid: {error}"))?
    };
    let reason = body.reason.map(|reason| reason.trim().to_owned());
    let reason = reason.filter(|reason| !reason.is_empty());
    if reason
        .as_ref()
        .is_some_and(|reason| reason.chars().count() > LONGEST_REASON)
    {
        return Err(format!("the reason has more than {LONGEST_REASON} characters"));
    }
    let place = body.placement;
    let decide = |decision, place| {
        Verb::Approve(Approve {
            decision,
            placement: place,
            group: body.group,
            contents: body.content.into_iter().collect(),
        })
    };
    let verb = match word {
        "pause" => Verb::Pause(place),
        "resume" => Verb::Resume(place),
        "promote" => Verb::Promote(place),
        "approve" => decide(Decision::Approve, place),
        "reject" => decide(Decision::Reject, place),
        "retry" => Verb::Retry,
        "undo" => body.revision.map_or(Verb::Undo, Verb::UndoTo),
        _ => {
            return Err(format!(
                "there is no action {word:?}; the actions are pause, resume, promote, approve, reject, retry and undo"
            ));
        }
    };
    Ok(Action {
        verb,
        reason,
        dry_run: body.dry_run,
        force: body.force,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().expect("a value"));
        }
        headers
    }

    #[test]
    fn what_a_form_of_another_site_can_send_is_no_action() {
        let mark = ("tidegate-action", "1");
        let json = ("content-type", "application/json");
        let origin = ("origin", "http://127.0.0.1:8090");
        assert_eq!(is_forged(&headers(&[mark, json, origin])), None);
        for lines in [
            vec![json, origin],
            vec![mark, origin],
            vec![mark, json],
            vec![mark, ("content-type", "text/plain"), origin],
            vec![("tidegate-action", "0"), json, origin],
        ] {
            assert!(is_forged(&headers(&lines)).is_some(), "{lines:?}");
        }
    }

    #[test]
    fn a_body_becomes_a_verb_or_an_error() {
        let pause = read("pause", br#"{"dryRun": true, "reason": " lunch "}"#).expect("an action");
        assert_eq!((pause.verb, pause.dry_run), (Verb::Pause(None), true));
        assert_eq!(pause.reason.as_deref(), Some("lunch"));
        let undo = read("undo", br#"{"revision": 2}"#).expect("an action");
        assert_eq!(undo.verb, Verb::UndoTo(2));
        let approve = read(
            "approve",
            br#"{"placement": "a/b", "group": "prod", "content": "1f"}"#,
        );
        assert_eq!(
            approve.expect("an action").verb,
            Verb::Approve(Approve {
                decision: Decision::Approve,
                placement: Some("a/b".to_owned()),
                group: Some("prod".to_owned()),
                contents: vec!["1f".to_owned()],
            })
        );
        let long = format!(r#"{{"reason": "{}"}}"#, "x".repeat(LONGEST_REASON + 1));
        for (word, body) in [
            ("delete", "{}"),
            ("pause", "{"),
            ("pause", r#"{"motive": ""}"#),
            ("pause", &long),
        ] {
            assert!(read(word, body.as_bytes()).is_err(), "{word} {body}");
        }
    }
}
