//! `AdmissionReview` v1: bytes to request, verdict to bytes.
//!
//! Decides how a question is read and an answer is written. Borrows from the bytes it gets: the object stays text until
//! somebody must look inside.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::request::{Circumstances, Door, Operation, Request, UnknownFacts};
use super::verdict::Verdict;
use crate::field::Status;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";
/// The most warnings in one answer; the API server has room for 4,096 characters in all.
const MOST_WARNINGS: usize = 20;
/// The most findings in the annotation for the audit log.
const MOST_AUDITED: usize = 20;

/// Why bytes are no question to this gate.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are no `AdmissionReview`.
    #[error("the body is no AdmissionReview")]
    ParseReview(#[source] serde_json::Error),
    /// It is another version or kind.
    #[error("the body is not an AdmissionReview of admission.k8s.io/v1")]
    WrongKind,
    /// It has no request.
    #[error("the AdmissionReview has no request")]
    NoRequest,
    /// It has no uid, so that no answer could be matched to it.
    #[error("the request has no uid")]
    NoUid,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    request: Option<Question<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question<'a> {
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: GroupKind<'a>,
    #[serde(borrow, default)]
    resource: GroupResource<'a>,
    #[serde(borrow, default)]
    sub_resource: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    operation: Verb,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    old_object: Option<&'a RawValue>,
    dry_run: Option<bool>,
    #[serde(borrow)]
    user_info: Option<&'a RawValue>,
    #[serde(borrow)]
    options: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
struct GroupKind<'a> {
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
}

#[derive(Debug, Default, Deserialize)]
struct GroupResource<'a> {
    #[serde(borrow, default)]
    group: Cow<'a, str>,
    #[serde(borrow, default)]
    version: Cow<'a, str>,
    #[serde(borrow, default)]
    resource: Cow<'a, str>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Verb {
    Create,
    Update,
    Delete,
    Connect,
}

/// A decoded question, still in the bytes that it came in.
#[derive(Debug)]
pub struct Review<'a>(Question<'a>);

impl<'a> Review<'a> {
    /// Reads an `AdmissionReview`.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let envelope: Envelope<'a> = serde_json::from_slice(bytes).map_err(DecodeError::ParseReview)?;
        if envelope.api_version != API_VERSION || envelope.kind != KIND {
            return Err(DecodeError::WrongKind);
        }
        let question = envelope.request.ok_or(DecodeError::NoRequest)?;
        if question.uid.is_empty() {
            return Err(DecodeError::NoUid);
        }
        Ok(Self(question))
    }

    /// Returns the uid that the answer must carry.
    pub fn uid(&self) -> &str {
        &self.0.uid
    }

    /// Returns the question, as it is asked at `door`.
    pub fn request(&self, door: Door) -> Request<'_> {
        let question = &self.0;
        Request {
            door,
            operation: match question.operation {
                Verb::Create => Operation::Create,
                Verb::Update => Operation::Update,
                Verb::Delete => Operation::Delete,
                Verb::Connect => Operation::Connect,
            },
            group: &question.resource.group,
            version: &question.resource.version,
            resource: &question.resource.resource,
            kind: &question.kind.kind,
            subresource: &question.sub_resource,
            namespace: &question.namespace,
            name: &question.name,
            object: question.object.filter(|object| object.get() != "null"),
            old: question.old_object.filter(|object| object.get() != "null"),
            dry_run: question.dry_run.unwrap_or_default(),
            circumstances: Circumstances {
                uid: &question.uid,
                user: question.user_info.filter(|user| user.get() != "null"),
                options: question.options.filter(|options| options.get() != "null"),
                now: None,
                date: None,
                unknown: UnknownFacts::Fail,
            },
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    audit_annotations: BTreeMap<String, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reply<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: Answer<'a>,
}

/// Returns the bytes of the answer to the question `uid`.
pub fn encode(uid: &str, verdict: &Verdict) -> Vec<u8> {
    let patch = (!verdict.patch().0.is_empty()).then(|| STANDARD.encode(to_json(verdict.patch())));
    bytes(Answer {
        uid,
        allowed: verdict.allowed(),
        status: verdict.status(),
        patch_type: patch.as_ref().map(|_| "JSONPatch"),
        patch,
        warnings: warnings(verdict),
        audit_annotations: annotations(verdict),
    })
}

/// Returns the bytes of an answer that refuses because the gate itself failed.
pub fn encode_failure(uid: &str) -> Vec<u8> {
    let message = format!("the gate failed on request {uid}; this is a bug");
    bytes(Answer {
        uid,
        allowed: false,
        status: Some(Status::failure(500, "InternalError", message)),
        patch_type: None,
        patch: None,
        warnings: Vec::new(),
        audit_annotations: BTreeMap::new(),
    })
}

/// What the audit log of the API server keeps: the rules that spoke, and the whole text of what was told nobody.
fn annotations(verdict: &Verdict) -> BTreeMap<String, String> {
    let mut annotations = verdict.annotations().clone();
    let rules = verdict.rules();
    if !rules.is_empty() {
        annotations.insert("rules".to_owned(), rules.join(","));
    }
    let audited = verdict.audited();
    if !audited.is_empty() {
        let mut texts: Vec<String> = audited
            .iter()
            .take(MOST_AUDITED)
            .map(ToString::to_string)
            .collect();
        let more = audited.len().saturating_sub(MOST_AUDITED);
        if more > 0 {
            texts.push(format!("and {more} more"));
        }
        annotations.insert("audited".to_owned(), texts.join("; "));
    }
    annotations
}

fn warnings(verdict: &Verdict) -> Vec<String> {
    let mut texts: Vec<String> = verdict
        .warnings()
        .iter()
        .take(MOST_WARNINGS)
        .map(ToString::to_string)
        .collect();
    let more = verdict.warnings().len().saturating_sub(MOST_WARNINGS);
    if more > 0 {
        texts.push(format!("and {more} more warnings"));
    }
    texts
}

fn bytes(response: Answer<'_>) -> Vec<u8> {
    to_json(&Reply {
        api_version: API_VERSION,
        kind: KIND,
        response,
    })
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("answers are made of text, numbers and lists")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::{Rulebook, decide};
    use crate::api::v1alpha1::{GROUP, VERSION};
    use crate::snapshot::{AddonFacts, Facts};
    use serde_json::{Value, json};

    fn review(request: &Value) -> Vec<u8> {
        serde_json::to_vec(&json!({"apiVersion": API_VERSION, "kind": KIND, "request": request}))
            .expect("JSON")
    }

    #[test]
    fn a_question_is_borrowed_from_its_bytes() {
        let bytes = review(&json!({
            "uid": "u1", "operation": "UPDATE", "name": "n", "namespace": "c1", "dryRun": true,
            "kind": {"group": "g", "version": "v", "kind": "K"},
            "resource": {"group": "g", "version": "v", "resource": "ks"},
            "object": {"a": 1}, "oldObject": null, "userInfo": {"username": "x"}, "options": {"fieldManager": "y"},
        }));
        let review = Review::decode(&bytes).expect("a review");
        let request = review.request(Door::Validate);
        assert_eq!(review.uid(), "u1");
        assert_eq!(
            (request.resource, request.kind, request.namespace),
            ("ks", "K", "c1")
        );
        assert_eq!(request.object.map(RawValue::get), Some(r#"{"a":1}"#));
        assert!(request.old.is_none());
        assert!(request.dry_run);
    }

    #[test]
    fn what_is_no_question_is_told_apart() {
        let wrong = serde_json::to_vec(&json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": KIND}))
            .expect("JSON");
        assert!(matches!(Review::decode(b"{"), Err(DecodeError::ParseReview(_))));
        assert!(matches!(Review::decode(&wrong), Err(DecodeError::WrongKind)));
        assert!(matches!(
            Review::decode(&review(&Value::Null)),
            Err(DecodeError::NoRequest)
        ));
        assert!(matches!(
            Review::decode(&review(&json!({"operation": "CREATE"}))),
            Err(DecodeError::NoUid)
        ));
        assert!(matches!(
            Review::decode(&review(&json!({"uid": "u", "operation": "PATCH"}))),
            Err(DecodeError::ParseReview(_))
        ));
    }

    #[test]
    fn an_addition_travels_as_a_json_patch() {
        let addon = json!({"installStrategy": {"type": "Placements", "placements": [
            {"namespace": "default", "name": "all", "addonSpec": {"installNamespace": "agents"}}]}});
        let addon = AddonFacts::of(&serde_json::from_value(addon).expect("a wire type"));
        let facts =
            Facts::default()
                .with_addon("helloworld", addon)
                .with_placement("default", "all", ["cluster1"]);
        let kind = json!({"group": GROUP, "version": VERSION, "kind": "ManagedClusterAddOn"});
        let resource = json!({"group": GROUP, "version": VERSION, "resource": "managedclusteraddons"});
        let bytes = review(&json!({
            "uid": "u1", "operation": "CREATE", "name": "helloworld", "namespace": "cluster1", "kind": kind,
            "resource": resource, "object": {"metadata": {"name": "helloworld"}, "spec": {}},
        }));
        let review = Review::decode(&bytes).expect("a review");
        let verdict = decide(&review.request(Door::Mutate), &facts, &Rulebook::default());
        let answer: Value = serde_json::from_slice(&encode(review.uid(), &verdict)).expect("JSON");
        assert_eq!(answer["response"]["patchType"], "JSONPatch");
        let patch = STANDARD
            .decode(answer["response"]["patch"].as_str().expect("a patch"))
            .expect("base64");
        let patch: Value = serde_json::from_slice(&patch).expect("JSON");
        assert_eq!(
            patch,
            json!([{"op": "add", "path": "/spec/installNamespace", "value": "agents"}])
        );
    }

    #[test]
    fn a_plain_yes_is_short() {
        let text = String::from_utf8(encode("u1", &Verdict::pass())).expect("text");
        assert_eq!(
            text,
            r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u1","allowed":true}}"#
        );
    }
}
