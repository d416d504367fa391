//! The error answer of every request: a Kubernetes `Status`.
//!
//! Decides how a failure is written on the wire.

use serde_json::{Map, Value, json};

/// A failure of a request, ready to be sent as a `Status` of API version `v1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// HTTP status code.
    pub code: u16,
    /// Machine-readable reason such as `NotFound`; empty where Kubernetes gives none.
    pub reason: String,
    /// Text for people.
    pub message: String,
    /// `details` of the status, `None` where Kubernetes leaves it out.
    pub details: Option<Map<String, Value>>,
    /// Token in the metadata with which a list can go on although its state is forgotten.
    pub continue_token: Option<String>,
}

impl ApiError {
    /// Returns an error without details.
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            details: None,
            continue_token: None,
        }
    }

    /// Returns this error with `details`.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        if let Value::Object(map) = details {
            self.details = Some(map);
        }
        self
    }

    /// Returns this error with a token with which a list can go on.
    #[must_use]
    pub fn with_continue(mut self, token: String) -> Self {
        self.continue_token = Some(token);
        self
    }

    /// Returns a 400 `BadRequest`.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// Returns a 500 `InternalError` with Kubernetes' usual prefix.
    pub fn internal(message: impl AsRef<str>) -> Self {
        let text = message.as_ref();
        Self::new(500, "InternalError", format!("Internal error occurred: {text}"))
            .with_details(json!({ "causes": [{ "message": text }] }))
    }

    /// Returns the `Status` object of this error.
    pub fn to_status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if let Value::Object(map) = &mut status {
            if !self.reason.is_empty() {
                map.insert("reason".to_owned(), Value::String(self.reason.clone()));
            }
            if let Some(token) = &self.continue_token {
                map.insert("metadata".to_owned(), json!({ "continue": token }));
            }
            if let Some(details) = &self.details {
                map.insert("details".to_owned(), Value::Object(details.clone()));
            }
        }
        status
    }
}
