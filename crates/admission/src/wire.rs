//! `AdmissionReview` v1: decodes requests and encodes responses.
//!
//! A review borrows from the body: the object is parsed only when a decision needs it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::request::{FieldsKnownBy, Operation, Request, RequestContext, UnknownFacts, Webhook};
use super::verdict::Verdict;
use super::{bounds, truncated_review};
use kubernetes::field::Status;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";
/// The maximum number of warnings in one response. The API server shows 4,096 characters in total.
const MOST_WARNINGS: usize = 20;
/// The maximum number of characters of warnings that are not shortened. If all warnings of a request have more than 4,096 characters, an
/// API server cuts each one to 256; other webhooks add warnings, too.
const WARNINGS_LIMIT: usize = 3_072;
/// The maximum number of findings in the annotation for the audit log.
const MOST_AUDITED: usize = 20;

/// The maximum length of a uid in a response. The uid of an API server has 36 characters.
const LONGEST_UID: usize = 128;

/// Why a body is not an admission request.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The body cannot be parsed as an `AdmissionReview`.
    #[error("the body is not an AdmissionReview")]
    ParseReview(#[source] serde_json::Error),
    /// It is another version or kind.
    #[error("the body is not an AdmissionReview of admission.k8s.io/v1")]
    WrongKind,
    /// It has no request.
    #[error("the AdmissionReview has no request")]
    NoRequest,
    /// It has no uid, so no response could be matched to it.
    #[error("the request has no uid")]
    NoUid,
    /// Its uid is invalid, and the response would contain it.
    #[error("the uid of the request must be 1 to {LONGEST_UID} visible ASCII characters")]
    WrongUid,
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

/// A decoded request that borrows from the body.
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
        if !is_uid(question.uid.as_bytes()) {
            return Err(DecodeError::WrongUid);
        }
        Ok(Self(question))
    }

    /// Returns the uid that the response must contain.
    pub fn uid(&self) -> &str {
        &self.0.uid
    }

    /// Returns whether the request is admitted if it cannot be checked in time: a deletion, a connection, or an
    /// update that changes only finalizers or owners. Otherwise an object that cannot be checked could not be removed either.
    pub fn may_pass_unjudged(&self) -> bool {
        let question = &self.0;
        let outline = |object: Option<&'a RawValue>| -> Option<Outline<'a>> {
            object.and_then(|object| serde_json::from_str(object.get()).ok())
        };
        match question.operation {
            Verb::Delete | Verb::Connect => true,
            Verb::Create => false,
            Verb::Update => match (outline(question.object), outline(question.old_object)) {
                (Some(new), Some(old)) => new.texts() == old.texts(),
                (None, _) | (_, None) => false,
            },
        }
    }

    /// Returns the request, as `webhook` receives it.
    pub fn request(&self, webhook: Webhook) -> Request<'_> {
        let question = &self.0;
        Request {
            webhook,
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
            circumstances: RequestContext {
                uid: &question.uid,
                user: question.user_info.filter(|user| user.get() != "null"),
                options: question.options.filter(|options| options.get() != "null"),
                now: None,
                date: None,
                unknown: UnknownFacts::Fail,
                fields: FieldsKnownBy::TheHub,
                stop: Default::default(),
            },
        }
    }
}

/// The parts of an object that rules and policies check.
#[derive(Default, Deserialize)]
struct Outline<'a> {
    #[serde(borrow, default)]
    metadata: Marks<'a>,
    #[serde(borrow)]
    spec: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Marks<'a> {
    #[serde(borrow)]
    labels: Option<&'a RawValue>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
}

impl Outline<'_> {
    fn texts(&self) -> [Option<&str>; 3] {
        [self.spec, self.metadata.labels, self.metadata.annotations].map(|value| value.map(RawValue::get))
    }
}

/// Why a request was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unjudged {
    /// Too many other requests are being checked.
    Crowded,
    /// The check did not end in time.
    TooSlow,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReviewResponse<'a> {
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
    response: ReviewResponse<'a>,
}

/// Returns the body of the response to the request `uid`.
pub fn encode(uid: &str, verdict: &Verdict) -> Vec<u8> {
    let patch = (!verdict.patch().0.is_empty()).then(|| STANDARD.encode(to_json(verdict.patch())));
    bytes(ReviewResponse {
        uid,
        allowed: verdict.allowed(),
        status: verdict.status(),
        patch_type: patch.as_ref().map(|_| "JSONPatch"),
        patch,
        warnings: warnings(verdict),
        audit_annotations: annotations(verdict),
    })
}

/// Returns the body of a response that refuses because the webhook failed.
pub fn encode_failure(uid: &str) -> Vec<u8> {
    let message = format!("the webhook failed on request {uid} because of a bug in Tidegate");
    bytes(ReviewResponse {
        uid,
        allowed: false,
        status: Some(Status::failure(500, "InternalError", message)),
        patch_type: None,
        patch: None,
        warnings: Vec::new(),
        audit_annotations: BTreeMap::new(),
    })
}

/// Returns the body of the response to a request that is too large to be read, from the beginning of the request: a deletion is allowed,
/// everything else is refused. `None` if the beginning does not contain the uid.
pub fn encode_too_large(beginning: &[u8], most: usize) -> Option<Vec<u8>> {
    let review = truncated_review::read(beginning);
    let uid = review.uid.filter(|uid| is_uid(uid.as_bytes()))?;
    if review.operation.as_deref() == Some("DELETE") {
        return Some(encode(&uid, &Verdict::pass()));
    }
    let message = format!(
        "the object and its stored version are too large to be checked: together they must have at most {most} bytes; hint: split \
         it into several objects, or keep data in a ConfigMap [{}]",
        bounds::RULE
    );
    Some(bytes(ReviewResponse {
        uid: &uid,
        allowed: false,
        status: Some(Status::failure(413, "RequestEntityTooLarge", message)),
        patch_type: None,
        patch: None,
        warnings: Vec::new(),
        audit_annotations: BTreeMap::from([("rules".to_owned(), bounds::RULE.to_owned())]),
    }))
}

/// Returns whether these bytes are a valid uid.
fn is_uid(text: &[u8]) -> bool {
    (1..=LONGEST_UID).contains(&text.len()) && text.iter().all(u8::is_ascii_graphic)
}

/// Returns the uid of a request of which only the beginning has been read: an API server writes it first.
pub fn early_uid(beginning: &[u8]) -> Option<String> {
    truncated_review::read(beginning)
        .uid
        .filter(|uid| is_uid(uid.as_bytes()))
}

/// Returns the body of a response that refuses because too many requests are being checked, and tells the client to try again.
pub fn encode_crowded(uid: &str) -> Vec<u8> {
    let status = Status::failure(
        429,
        "TooManyRequests",
        "the webhook is checking too many objects at the same time; try again",
    );
    refusal(uid, status, Unjudged::Crowded)
}

fn refusal(uid: &str, status: Status, why: Unjudged) -> Vec<u8> {
    bytes(ReviewResponse {
        uid,
        allowed: false,
        status: Some(status.again_after(1)),
        patch_type: None,
        patch: None,
        warnings: Vec::new(),
        audit_annotations: unjudged(why),
    })
}

fn unjudged(why: Unjudged) -> BTreeMap<String, String> {
    BTreeMap::from([("unjudged".to_owned(), format!("{why:?}"))])
}

/// Returns the body of a response to a request that could not be checked: it is refused, and the client can try again. A request that
/// must not be blocked, and for which a retry does not help, is allowed with a warning.
pub fn encode_unjudged(review: &Review<'_>, why: Unjudged) -> Vec<u8> {
    match why {
        Unjudged::Crowded => encode_crowded(review.uid()),
        Unjudged::TooSlow => encode_too_slow(review.uid(), review.may_pass_unjudged()),
    }
}

/// Returns the body of the response to a request that did not arrive in time, from the beginning of the request: a deletion is allowed,
/// everything else is refused. `None` if the beginning does not contain the uid.
pub fn encode_unread(beginning: &[u8]) -> Option<Vec<u8>> {
    let review = truncated_review::read(beginning);
    let uid = review.uid.filter(|uid| is_uid(uid.as_bytes()))?;
    Some(encode_too_slow(
        &uid,
        review.operation.as_deref() == Some("DELETE"),
    ))
}

fn encode_too_slow(uid: &str, may_pass: bool) -> Vec<u8> {
    let why = Unjudged::TooSlow;
    if !may_pass {
        let message = "the webhook could not check this object in time, so it is refused; try again, or make the object smaller";
        return refusal(uid, Status::failure(504, "Timeout", message), why);
    }
    bytes(ReviewResponse {
        uid,
        allowed: true,
        status: None,
        patch_type: None,
        patch: None,
        warnings: vec![
            "the webhook could not check this request in time, and allows it because it adds nothing"
                .to_owned(),
        ],
        audit_annotations: unjudged(why),
    })
}

/// Returns the audit annotations: the rules with findings, and the full text of the findings with the action Audit.
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

/// Returns the warnings as clients print them. They are shortened if they exceed the limit of the API server together.
pub fn warnings(verdict: &Verdict) -> Vec<String> {
    let shown = || verdict.warnings().iter().take(MOST_WARNINGS);
    let whole: Vec<String> = shown().map(|warning| warning.violation().warning()).collect();
    let length: usize = whole.iter().map(|text| text.chars().count()).sum();
    let mut texts = if length <= WARNINGS_LIMIT {
        whole
    } else {
        shown().map(ToString::to_string).collect()
    };
    let more = verdict.warnings().len().saturating_sub(MOST_WARNINGS);
    if more > 0 {
        texts.push(format!("and {more} more warnings"));
    }
    texts
}

fn bytes(response: ReviewResponse<'_>) -> Vec<u8> {
    to_json(&Reply {
        api_version: API_VERSION,
        kind: KIND,
        response,
    })
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("a response can be serialized")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rulebook, decide};
    use api::v1alpha1::{GROUP, VERSION};
    use json_patch::Patch;
    use serde_json::{Value, json};
    use store::{AddonFacts, Facts};

    fn review(request: &Value) -> Vec<u8> {
        serde_json::to_vec(&json!({"apiVersion": API_VERSION, "kind": KIND, "request": request}))
            .expect("JSON")
    }

    #[test]
    fn a_uid_that_no_api_server_sends_is_no_question() {
        let asked =
            |uid: &str| Review::decode(&review(&json!({"uid": uid, "operation": "CREATE"}))).map(|_| ());
        assert!(asked(&"u".repeat(LONGEST_UID)).is_ok());
        for uid in [
            "u".repeat(LONGEST_UID + 1),
            "u".repeat(1 << 20),
            "a b".into(),
            "a\n".into(),
            "\u{e9}".into(),
        ] {
            assert!(matches!(asked(&uid), Err(DecodeError::WrongUid)), "{}", uid.len());
        }
    }

    #[test]
    fn the_uid_is_known_from_the_beginning_of_a_question() {
        let early = |text: &str| early_uid(text.as_bytes());
        let start = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":""#;
        assert_eq!(
            early(&format!("{start}u-1\",\"kind\":{{")),
            Some("u-1".to_owned())
        );
        for cut in [
            String::new(),
            start.to_owned(),
            format!("{start}u-1"),
            format!("{start}\""),
            format!("{start}a\\u0009\""),
            format!("{start}{}\"", "u".repeat(LONGEST_UID + 1)),
        ] {
            assert_eq!(early(&cut), None, "{cut}");
        }
    }

    #[test]
    fn what_cannot_be_judged_is_refused_unless_it_only_goes() {
        let object = |spec: u8, label: &str, finalizer: &str| json!({"metadata": {"labels": {"a": label}, "finalizers": [finalizer]}, "spec": {"x": spec}});
        let answer = |operation: &str, object: Value, why| {
            let old = json!({"metadata": {"labels": {"a": "b"}, "finalizers": ["f"]}, "spec": {"x": 1}});
            let bytes =
                review(&json!({"uid": "u", "operation": operation, "object": object, "oldObject": old}));
            let review = Review::decode(&bytes).expect("a review");
            let answer: Value = serde_json::from_slice(&encode_unjudged(&review, why)).expect("JSON");
            answer["response"].clone()
        };
        let slow = Unjudged::TooSlow;
        for (operation, object, allowed) in [
            ("CREATE", object(1, "b", "f"), false),
            ("UPDATE", object(2, "b", "f"), false),
            ("UPDATE", object(1, "other", "f"), false),
            ("UPDATE", object(1, "b", "g"), true),
            ("DELETE", Value::Null, true),
        ] {
            assert_eq!(answer(operation, object, slow)["allowed"], allowed, "{operation}");
        }
        let refused = answer("CREATE", object(1, "b", "f"), slow);
        assert_eq!(refused["status"]["code"], 504);
        assert_eq!(refused["status"]["details"]["retryAfterSeconds"], 1);
        let crowded = answer("DELETE", Value::Null, Unjudged::Crowded);
        assert_eq!(
            (&crowded["allowed"], &crowded["status"]["code"]),
            (&json!(false), &json!(429))
        );
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
        let request = review.request(Webhook::Validate);
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
    fn invalid_reviews_are_distinguished() {
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
    fn an_addition_is_sent_as_a_json_patch() {
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
        let verdict = decide(&review.request(Webhook::Mutate), &facts, &Rulebook::default());
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
    fn an_object_whose_name_is_yet_to_be_generated_is_named_by_its_prefix() {
        let kind = json!({"group": GROUP, "version": VERSION, "kind": "ClusterManagementAddOn"});
        let resource = json!({"group": GROUP, "version": VERSION, "resource": "clustermanagementaddons"});
        let bytes = review(&json!({
            "uid": "u1", "operation": "CREATE", "kind": kind, "resource": resource,
            "object": {"metadata": {"generateName": "hello-"}, "spec": {"installStrategy": {"type": "banana"}}},
        }));
        let review = Review::decode(&bytes).expect("a review");
        let verdict = decide(
            &review.request(Webhook::Validate),
            &Facts::default(),
            &Rulebook::default(),
        );
        let answer: Value = serde_json::from_slice(&encode(review.uid(), &verdict)).expect("JSON");
        let message = answer["response"]["status"]["message"]
            .as_str()
            .expect("a refusal");
        assert!(message.contains(" \"hello-\" is invalid: "), "{message}");
    }

    #[test]
    fn warnings_are_whole_while_they_all_fit() {
        let of = |count: usize| {
            let mut findings = kubernetes::field::Findings::new();
            for at in 0..count {
                let fault = kubernetes::field::Fault::bare(
                    kubernetes::field::Class::Forbidden,
                    "why ".repeat(100) + "the cause",
                );
                findings.warn(fault.at(
                    kubernetes::field::Path::root().key("spec").index(at),
                    "family/rule",
                ));
            }
            warnings(&Verdict::of(
                kubernetes::field::Identity::default(),
                findings,
                Patch::default(),
            ))
        };
        for (count, is_whole) in [(1, true), (7, true), (8, false), (25, false)] {
            let texts = of(count);
            let whole = texts
                .iter()
                .filter(|text| text.ends_with("the cause [family/rule]"));
            assert_eq!(whole.count() == count, is_whole, "{count}: {texts:#?}");
            let limit = if is_whole { usize::MAX } else { 256 };
            assert!(
                texts.iter().all(|text| text.chars().count() <= limit),
                "{texts:#?}"
            );
        }
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
