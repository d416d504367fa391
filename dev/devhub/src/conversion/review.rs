//! `ConversionReview`s: what is asked, and what counts as an answer.
//!
//! Decides the protocol's version, its shape and its texts.

use serde_json::{Value, json};

use crate::admission::unregistered;

const GROUP: &str = "apiextensions.k8s.io";

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    V1,
    V1Beta1,
}

impl Protocol {
    /// Returns the first version that a webhook takes and this hub speaks.
    pub(super) fn choose(accepted: &[String]) -> Option<Self> {
        accepted.iter().find_map(|version| match version.as_str() {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1Beta1 => "v1beta1",
        }
    }

    /// Returns the review that asks for objects in a version.
    pub(super) fn ask(self, uid: &str, objects: &[Value], desired: &str) -> Value {
        json!({
            "kind": "ConversionReview",
            "apiVersion": format!("{GROUP}/{}", self.name()),
            "request": { "uid": uid, "desiredAPIVersion": desired, "objects": objects },
            "response": { "uid": "", "convertedObjects": null, "result": { "metadata": {} } },
        })
    }

    /// Returns the converted objects of an answer.
    pub(super) fn answered(self, uid: &str, mut review: Value) -> Result<Vec<Value>, String> {
        self.check_kind(&review)?;
        let response = match review.get_mut("response").map(Value::take) {
            None | Some(Value::Null) => return Err("no response provided".to_owned()),
            Some(response) => response,
        };
        let text = |pointer: &str| {
            let found = response.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        // The older version never looked at the uid.
        if self == Self::V1 && text("/uid") != uid {
            return Err(format!("expected response.uid={uid:?}, got {:?}", text("/uid")));
        }
        let (status, message) = (text("/result/status"), text("/result/message"));
        if status != "Success" {
            return Err(if message.is_empty() {
                format!("response.result.status was '{status}', not 'Success'")
            } else {
                message
            });
        }
        match response.get("convertedObjects") {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(objects)) => Ok(objects.clone()),
            Some(_) => {
                Err("json: cannot read ConversionReview.response.convertedObjects: not a list".to_owned())
            }
        }
    }

    fn check_kind(self, review: &Value) -> Result<(), String> {
        let text = |name: &str| review.get(name).and_then(Value::as_str).unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        let is_ours = |name: &str| version == format!("{GROUP}/{name}");
        if !(version.is_empty() || is_ours("v1") || is_ours("v1beta1"))
            || !(kind.is_empty() || kind == "ConversionReview")
        {
            return Err(unregistered(kind, version));
        }
        let expected = self.name();
        if !version.is_empty() && !is_ours(expected) {
            let found = version.rsplit('/').next().unwrap_or_default();
            return Err(format!(
                "converting ({found}.ConversionReview) to ({expected}.ConversionReview): unknown conversion"
            ));
        }
        // Only the newer version has to be named.
        if self == Self::V1 && (version.is_empty() || kind.is_empty()) {
            let version = if version.is_empty() { "/" } else { version };
            return Err(format!(
                "expected webhook response of {GROUP}/v1, Kind=ConversionReview, got {version}, Kind={kind}"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(protocol: Protocol, review: Value, expected: Result<usize, &str>) {
        let found = protocol.answered("u1", review).map(|objects| objects.len());
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    fn answer(response: &Value) -> Value {
        json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response })
    }

    #[test]
    fn an_answer_names_its_kind_its_question_and_its_success() {
        let good = json!({ "uid": "u1", "result": { "status": "Success" }, "convertedObjects": [{}] });
        check(Protocol::V1, answer(&good), Ok(1));
        check(Protocol::V1, answer(&json!(null)), Err("no response provided"));
        check(
            Protocol::V1,
            answer(&json!({ "uid": "zzz" })),
            Err("expected response.uid=\"u1\", got \"zzz\""),
        );
        check(
            Protocol::V1,
            answer(&json!({ "uid": "u1" })),
            Err("response.result.status was '', not 'Success'"),
        );
        check(
            Protocol::V1,
            answer(&json!({ "uid": "u1", "result": { "status": "Failure", "message": "no" } })),
            Err("no"),
        );
        check(
            Protocol::V1,
            json!({ "response": good }),
            Err("expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind="),
        );
        check(
            Protocol::V1Beta1,
            answer(&good),
            Err("converting (v1.ConversionReview) to (v1beta1.ConversionReview): unknown conversion"),
        );
        check(
            Protocol::V1,
            json!({ "apiVersion": "x/v1", "kind": "Y" }),
            Err("no kind \"Y\" is registered for version \"x/v1\" in scheme \"devhub\""),
        );
        // The older version compared neither kind nor uid.
        let old = json!({ "uid": "zzz", "result": { "status": "Success" }, "convertedObjects": [] });
        check(Protocol::V1Beta1, json!({ "response": old }), Ok(0));
    }

    #[test]
    fn the_first_version_that_both_sides_know_is_spoken() {
        let choose = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            Protocol::choose(&names)
        };
        assert_eq!(choose(&["v9", "v1beta1", "v1"]), Some(Protocol::V1Beta1));
        assert_eq!(choose(&["v1"]), Some(Protocol::V1));
        assert_eq!(choose(&["v9"]), None);
    }
}
