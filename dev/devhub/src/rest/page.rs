//! Which state and which part of it a list shows.
//!
//! Decides what resourceVersion, resourceVersionMatch, limit and continue mean together.

use std::time::Duration;

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use schema::{ErrorClass, FieldError};
use serde_json::{Value, json};

use super::errors::{invalid_options, too_large_version};
use crate::error::ApiError;
use crate::http::Query;
use crate::patch::go_json;
use crate::store::Table;

/// Base64 as Go's decoder reads it: it does not look at the last bits.
const BASE64: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// How long a request for a state of the future waits for it.
const PATIENCE: Duration = Duration::from_secs(3);

/// Which state is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The newest.
    Newest,
    /// Anything not older than this version.
    NotOlder(u64),
    /// Exactly this version.
    Exact(u64),
}

/// What a list asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListOptions {
    /// The state.
    pub(super) state: State,
    /// How many items, 0 for all.
    pub(super) limit: usize,
    /// Where to go on, relative to the collection; empty for the start.
    pub(super) start: String,
    /// Whether the list goes on from a token.
    pub(super) continued: bool,
}

impl ListOptions {
    /// Reads the parameters of a list.
    pub(super) fn parse(query: &Query) -> Result<Self, ApiError> {
        let version = query.text("resourceVersion");
        let how = query.text("resourceVersionMatch");
        let token = query.text("continue");
        check_options(query, version, how, token)?;
        let limit = match query.text("limit") {
            "" => 0,
            text => parse_limit(text)?,
        };
        if !token.is_empty() {
            if !version.is_empty() && version != "0" {
                return Err(ApiError::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            let (version, start) = parse_token(token)?;
            let state = version.map_or(State::Newest, State::Exact);
            return Ok(Self {
                state,
                limit,
                start,
                continued: true,
            });
        }
        let state = match version {
            "" => State::Newest,
            text => {
                let number = number(text).ok_or_else(|| bad_list_version(text))?;
                match how {
                    "Exact" => State::Exact(number),
                    // Without a match, a page of a version means that very version.
                    "" if limit > 0 && number > 0 => State::Exact(number),
                    _ => State::NotOlder(number),
                }
            }
        };
        // A list at version 0 comes from the cache, which has no pages.
        let limit = if state == State::NotOlder(0) { 0 } else { limit };
        Ok(Self {
            state,
            limit,
            start: String::new(),
            continued: false,
        })
    }
}

fn check_options(query: &Query, version: &str, how: &str, token: &str) -> Result<(), ApiError> {
    let mut errors = Vec::new();
    let mut fault = |field: &str, class: ErrorClass, message: String| {
        errors.push(FieldError {
            field: field.to_owned(),
            class,
            message,
        });
    };
    if query.first("sendInitialEvents").is_some() {
        fault(
            "sendInitialEvents",
            ErrorClass::Forbidden,
            "Forbidden: sendInitialEvents is forbidden for list".to_owned(),
        );
    }
    if !how.is_empty() {
        let forbidden = |cause: &str| format!("Forbidden: {cause}");
        if version.is_empty() {
            let cause = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            fault("resourceVersionMatch", ErrorClass::Forbidden, forbidden(cause));
        }
        if !token.is_empty() {
            let cause = "resourceVersionMatch is forbidden when continue is provided";
            fault("resourceVersionMatch", ErrorClass::Forbidden, forbidden(cause));
        }
        if !matches!(how, "Exact" | "NotOlderThan") {
            let text =
                format!("Unsupported value: {how:?}: supported values: \"Exact\", \"NotOlderThan\", \"\"");
            fault("resourceVersionMatch", ErrorClass::NotSupported, text);
        }
        if how == "Exact" && version == "0" {
            let cause = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            fault("resourceVersionMatch", ErrorClass::Forbidden, forbidden(cause));
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(invalid_options("ListOptions", &errors))
    }
}

fn parse_limit(text: &str) -> Result<usize, ApiError> {
    let number = signed(text)?;
    Ok(usize::try_from(number).unwrap_or_default())
}

/// Reads a resource version.
pub(super) fn number(text: &str) -> Option<u64> {
    text.parse().ok()
}

/// Reads a whole number, in the words of Go's parser if it is none.
pub(super) fn signed(text: &str) -> Result<i64, ApiError> {
    let fault = || ApiError::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"));
    text.parse().ok().ok_or_else(fault)
}

fn version_fault(text: &str) -> String {
    format!("resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax")
}

/// Returns the answer to a resource version that is none.
pub(super) fn bad_version(text: &str) -> ApiError {
    ApiError::new(500, "", version_fault(text))
}

fn bad_list_version(text: &str) -> ApiError {
    ApiError::bad_request(format!("invalid resource version: {}", version_fault(text)))
}

/// Writes a token with which a list goes on behind `key`.
pub(super) fn token(version: Option<u64>, key: &str) -> String {
    let version = version.map_or_else(|| json!(-1), |version| json!(version));
    let text = json!({ "v": "meta.k8s.io/v1", "rv": version, "start": format!("{key}\0") }).to_string();
    BASE64.encode(text)
}

/// Reads a token: the version, if it has one, and the first key.
fn parse_token(token: &str) -> Result<(Option<u64>, String), ApiError> {
    let bad = |cause: &str| {
        ApiError::bad_request(format!(
            "invalid continue token: continue key is not valid: {cause}"
        ))
    };
    let bytes = BASE64
        .decode(token.trim_end_matches('='))
        .map_err(|error| bad(&error.to_string()))?;
    let value: Value = match go_json::check(&bytes) {
        Ok(_) => serde_json::from_slice(&bytes).unwrap_or_default(),
        Err(fault) => return Err(bad(&fault)),
    };
    let version = value.get("v").and_then(Value::as_str).unwrap_or_default();
    if version != "meta.k8s.io/v1" {
        return Err(bad(&format!(
            "server does not recognize this encoded version {version}"
        )));
    }
    let number = value.get("rv").and_then(Value::as_i64).unwrap_or_default();
    if number == 0 {
        return Err(bad(&format!(
            "incorrect encoded start resourceVersion (version {version})"
        )));
    }
    let start = value.get("start").and_then(Value::as_str).unwrap_or_default();
    if start.is_empty() {
        return Err(bad(&format!("encoded start key empty (version {version})")));
    }
    if start.split('/').any(|part| part == ".." || part == ".") || start.starts_with('/') {
        return Err(bad(start));
    }
    Ok((u64::try_from(number).ok(), start.to_owned()))
}

/// Waits for a state of the future, for a while.
pub(super) async fn await_version(table: &Table, version: u64) -> Result<(), ApiError> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while table.version() < version {
        if tokio::time::Instant::now() >= deadline {
            return Err(too_large_version(version, table.version()));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Returns the answer to a list of a state that is forgotten.
pub(super) fn too_old() -> ApiError {
    ApiError::new(
        410,
        "Expired",
        "The resourceVersion for the provided list is too old.",
    )
}

/// Returns the answer to a token whose state is forgotten; it holds a token that goes on without a fixed state.
pub(super) fn token_expired(start: &str) -> ApiError {
    let text = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
    ApiError::new(410, "Expired", text).with_continue(token(None, start.trim_end_matches('\0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_leads_back_to_its_place() {
        let asked = ListOptions::parse(&Query::parse(&format!(
            "limit=2&continue={}",
            token(Some(7), "b")
        )))
        .unwrap();
        assert_eq!(
            asked,
            ListOptions {
                state: State::Exact(7),
                limit: 2,
                start: "b\0".to_owned(),
                continued: true
            }
        );
        let asked = ListOptions::parse(&Query::parse(&format!("continue={}", token(None, "b")))).unwrap();
        assert_eq!(asked.state, State::Newest);
        assert!(ListOptions::parse(&Query::parse("continue=e30")).is_err());
    }

    #[test]
    fn versions_mean_what_their_match_says() {
        let state = |query: &str| {
            ListOptions::parse(&Query::parse(query))
                .map(|asked| asked.state)
                .ok()
        };
        assert_eq!(state(""), Some(State::Newest));
        assert_eq!(state("resourceVersion=0"), Some(State::NotOlder(0)));
        assert_eq!(state("resourceVersion=7"), Some(State::NotOlder(7)));
        assert_eq!(state("resourceVersion=7&limit=3"), Some(State::Exact(7)));
        assert_eq!(
            state("resourceVersion=7&resourceVersionMatch=Exact"),
            Some(State::Exact(7))
        );
        assert_eq!(state("resourceVersion=x"), None);
        assert_eq!(state("resourceVersionMatch=Exact"), None);
    }
}
