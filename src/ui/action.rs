//! The actions of users: which request is one, and which verb it means.
//!
//! Accepts only requests that the page itself can send: a form of another site has no such header, and a script of another site may not
//! set it. What a verb writes is decided by the cockpit, and whether the user may write it by the hub.

use axum::http::{HeaderMap, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;

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

/// A change of a freeze.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreezeAction {
    /// The name of the RolloutFreeze.
    pub name: String,
    /// What it freezes; absent if it is deleted.
    pub begins: Option<FreezeWish>,
    /// Whether the hub only checks the request, and stores nothing.
    pub dry_run: bool,
}

/// What a freeze freezes, as a user enters it: the flags of `tidegate rollout freeze`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FreezeWish {
    /// Why.
    pub reason: String,
    /// Its begin.
    pub from: Option<String>,
    /// Its end.
    pub until: Option<String>,
    /// Its length from now on.
    #[serde(rename = "for")]
    pub length: Option<String>,
    /// Labels of the clusters, as `key=value`.
    pub cluster_labels: Vec<String>,
    /// Names of the add-ons.
    pub add_ons: Vec<String>,
    /// Whether upgrades of clusters continue.
    pub without_upgrades: bool,
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

/// The body of a change of a freeze.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FreezeBody {
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    freeze: FreezeWish,
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

fn parsed<T: Default + DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    if body.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(body).map_err(|error| format!("the body of the request is invalid: {error}"))
}

fn bounded(reason: &str) -> Result<(), String> {
    if reason.chars().count() > LONGEST_REASON {
        return Err(format!("the reason has more than {LONGEST_REASON} characters"));
    }
    Ok(())
}

/// Reads a change of a freeze.
pub(super) fn read_freeze(is_begin: bool, name: String, body: &[u8]) -> Result<FreezeAction, String> {
    let body: FreezeBody = parsed(body)?;
    bounded(&body.freeze.reason)?;
    Ok(FreezeAction {
        name,
        begins: is_begin.then_some(body.freeze),
        dry_run: body.dry_run,
    })
}

/// Reads an action.
pub(super) fn read(word: &str, body: &[u8]) -> Result<Action, String> {
    let body: Body = parsed(body)?;
    let reason = body.reason.map(|reason| reason.trim().to_owned());
    let reason = reason.filter(|reason| !reason.is_empty());
    bounded(reason.as_deref().unwrap_or_default())?;
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
    fn the_name_says_which_freeze_and_the_body_what_it_freezes() {
        let body = br#"{"dryRun": true, "freeze": {"reason": "holidays", "for": "4h", "clusterLabels": ["env=prod"]}}"#;
        let begin = read_freeze(true, "xmas".to_owned(), body).expect("a freeze");
        let wish = begin.begins.expect("it begins");
        assert_eq!((begin.name.as_str(), begin.dry_run), ("xmas", true));
        assert_eq!(
            (wish.reason.as_str(), wish.length.as_deref()),
            ("holidays", Some("4h"))
        );
        assert_eq!(wish.cluster_labels, ["env=prod"]);
        let end = read_freeze(false, "xmas".to_owned(), b"{}").expect("an end");
        assert_eq!((end.begins, end.dry_run), (None, false));
        assert!(read_freeze(true, "xmas".to_owned(), br#"{"freeze": {"end": ""}}"#).is_err());
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
