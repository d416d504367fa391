//! One case: from documents to a question, and from the answer to what was not as expected.
//!
//! Decides what a case asks, and when. Never compares: `expect` does.

use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::expect;
use super::suite::{Case, Given, wrong};
use super::{Extent, ObjectForm, TestFileError, TestFiles, facts};
use admission::{Operation, Request, RequestContext, Rulebook, Trial, try_policies};
use insight::offline::Hub;

/// Runs a case; returns what was not as expected, and what the policies did.
pub(super) fn run<F: TestFiles>(
    files: &F,
    case: &Case,
    given: &Given,
    suite: &Path,
    rulebook: &Rulebook,
) -> Result<(Vec<String>, Trial), F::Error> {
    // The webhook is sent objects with the defaults of their kinds.
    let hub = Hub::default();
    let object = hub.with_defaults(case.object.read(files, suite)?);
    let old = case.old.as_ref().map(|old| old.read(files, suite)).transpose()?;
    let old = old.map(|old| hub.with_defaults(old));
    let mut known = Vec::new();
    for document in given.facts.iter().chain(&case.facts) {
        known.extend(document.read_all(files, suite)?);
    }
    let extent = if given.partial {
        Extent::Part
    } else {
        Extent::Whole
    };
    let facts = facts(&known, extent);
    let operation =
        operation(case).map_err(|reason| wrong(suite, format!("case \"{}\": {reason}", case.name)))?;
    let now = time(case, given, suite)?;
    let user = case.user.as_ref().or(given.user.as_ref()).and_then(raw);
    let form = ObjectForm::of(&object, case.resource.as_deref());
    let raw_object = raw(&object);
    let ask = |object: &Value| {
        let circumstances = RequestContext {
            uid: "test",
            user: user.as_deref(),
            options: None,
            now,
            ..RequestContext::default()
        };
        let request = Request {
            object: raw_object.as_deref(),
            ..form.request(operation, circumstances)
        };
        try_policies(&request, object, old.as_ref(), &facts, rulebook)
    };
    let trial = ask(&object);
    let again = ask(&trial.object);
    let patched = case
        .expect
        .patched
        .as_ref()
        .map(|document| document.read(files, suite))
        .transpose()?;
    let faults = expect::compare(&case.expect, &trial, &again, patched.as_ref())
        .map_err(|reason| wrong(suite, format!("case \"{}\": {reason}", case.name)))?;
    Ok((faults, trial))
}

fn time(case: &Case, given: &Given, suite: &Path) -> Result<Option<Timestamp>, TestFileError> {
    let Some(text) = case.now.as_ref().or(given.now.as_ref()) else {
        return Ok(None);
    };
    let time = text.parse().map_err(|error| {
        let words = "now must be a time such as 2026-11-20T00:00:00Z";
        wrong(suite, format!("case \"{}\": {words}: {error}", case.name))
    });
    time.map(Some)
}

fn operation(case: &Case) -> Result<Operation, String> {
    match (case.operation.as_deref(), &case.old) {
        (Some("CREATE") | None, None) => Ok(Operation::Create),
        (Some("UPDATE") | None, Some(_)) => Ok(Operation::Update),
        (Some("DELETE"), None) => Ok(Operation::Delete),
        (Some("CREATE"), Some(_)) => Err("CREATE has no old object".to_owned()),
        (Some("DELETE"), Some(_)) => Err("DELETE has no old object: the object is what is stored".to_owned()),
        (Some("UPDATE"), None) => Err("UPDATE requires an old object".to_owned()),
        (Some(other), _) => Err(format!(
            "operation must be CREATE, UPDATE or DELETE, not {other:?}: policies match no other operation"
        )),
    }
}

fn raw(value: &Value) -> Option<Box<RawValue>> {
    to_raw_value(value).ok()
}
