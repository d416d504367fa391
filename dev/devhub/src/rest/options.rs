//! Options of writes, as they stand in the query or in a deletion's body.
//!
//! Valid options, and how they are passed to webhooks.

use schema::{ErrorClass, FieldError};
use serde_json::{Map, Value, json};

use super::errors::invalid_options;
use crate::error::ApiError;
use crate::http::Query;

/// How unknown and duplicate fields are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// Silently dropped.
    Ignore,
    /// Dropped with warnings.
    Warn,
    /// Refused.
    Strict,
}

/// How a write treats what others own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It is no apply and takes what it changes.
    Update,
    /// It is an apply, and others may mind.
    Apply,
    /// It is an apply that takes what it sets.
    ApplyByForce,
}

/// Options of a create, update or patch.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    /// Whether nothing is stored.
    pub(crate) dry_run: bool,
    /// What happens to unknown fields.
    pub(crate) validation: FieldValidation,
    /// Who writes, as the client says; empty if it does not.
    pub(crate) manager: String,
    /// Whether the write is an apply, and how far it goes.
    pub(crate) how: How,
    given_validation: String,
}

impl WriteOptions {
    /// Reads the options of a request; `kind` is `CreateOptions`, `UpdateOptions` or `PatchOptions`.
    pub(crate) fn parse(query: &Query, kind: &str) -> Result<Self, ApiError> {
        Self::read(query, kind, false)
    }

    /// Reads the options of an apply.
    pub(crate) fn parse_apply(query: &Query) -> Result<Self, ApiError> {
        Self::read(query, "PatchOptions", true)
    }

    fn read(query: &Query, kind: &str, applies: bool) -> Result<Self, ApiError> {
        let mut errors = Vec::new();
        let manager = query.text("fieldManager").to_owned();
        if applies && manager.is_empty() {
            let text = "Required value: is required for apply patch";
            errors.push(fault("fieldManager", ErrorClass::Required, text));
        }
        check_manager(&manager, &mut errors);
        if kind == "PatchOptions" && !applies && query.first("force").is_some() {
            errors.push(fault(
                "force",
                ErrorClass::Forbidden,
                "Forbidden: may not be specified for non-apply patch",
            ));
        }
        let dry_run = dry_run(&query.all("dryRun"), &mut errors);
        let given_validation = query.text("fieldValidation").to_owned();
        let validation = match given_validation.as_str() {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let text = format!(
                    "Unsupported value: {other:?}: supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
                );
                errors.push(fault("fieldValidation", ErrorClass::NotSupported, &text));
                FieldValidation::Warn
            }
        };
        if errors.is_empty() {
            Ok(Self {
                dry_run,
                validation,
                manager,
                how: match (applies, query.first("force")) {
                    (false, _) => How::Update,
                    // As Kubernetes reads it: whatever does not say no says yes.
                    (true, None | Some("false" | "0")) => How::Apply,
                    (true, Some(_)) => How::ApplyByForce,
                },
                given_validation,
            })
        } else {
            Err(invalid_options(kind, &errors))
        }
    }

    /// Returns the options as webhooks see them.
    pub(crate) fn to_json(&self, kind: &str) -> Value {
        let mut options = Map::new();
        let mut put = |name: &str, value: Value, present: bool| {
            if present {
                options.insert(name.to_owned(), value);
            }
        };
        put("apiVersion", json!("meta.k8s.io/v1"), true);
        put("kind", json!(kind), true);
        put("dryRun", json!(["All"]), self.dry_run);
        put("fieldManager", json!(self.manager), !self.manager.is_empty());
        let validation = &self.given_validation;
        put("fieldValidation", json!(validation), !validation.is_empty());
        Value::Object(options)
    }
}

/// The refusal of a body that is no options: the object that it holds is not touched.
fn unknown_options(kind: &str, given: &Map<String, Value>) -> ApiError {
    let version = given
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    ApiError::bad_request(format!(
        "no kind \"{kind}\" is registered for version \"{version}\" in scheme \
         \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go\""
    ))
}

/// What happens to dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// The kind's habit: the object goes, dependents follow.
    Unsaid,
    /// The object goes, dependents follow.
    Background,
    /// Dependents go first.
    Foreground,
    /// Dependents stay.
    Orphan,
}

/// Options of a deletion.
#[derive(Clone, Debug)]
pub(crate) struct DeleteOptions {
    /// Whether nothing is stored.
    pub(crate) dry_run: bool,
    /// What happens to dependents.
    pub(crate) propagation: Propagation,
    /// The uid that the object must have.
    pub(crate) uid: Option<String>,
    /// The resource version that the object must have.
    pub(crate) version: Option<String>,
    given: Map<String, Value>,
}

impl DeleteOptions {
    /// Reads the options of a deletion: the body wins over the query.
    pub(crate) fn parse(query: &Query, body: Option<&Value>) -> Result<Self, ApiError> {
        let mut given = body
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_else(|| of_query(query));
        let kind = given.get("kind").and_then(Value::as_str).unwrap_or_default();
        if !matches!(kind, "" | "DeleteOptions") {
            return Err(unknown_options(kind, &given));
        }
        given.retain(|name, value| !matches!(name.as_str(), "kind" | "apiVersion") && !value.is_null());
        let mut errors = Vec::new();
        let words: Vec<&str> = given
            .get("dryRun")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let dry_run = dry_run(&words, &mut errors);
        let propagation = propagation(&given, &mut errors);
        if !errors.is_empty() {
            return Err(invalid_options("DeleteOptions", &errors));
        }
        let precondition = |name: &str| {
            given
                .get("preconditions")
                .and_then(|p| p.get(name))
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let (uid, version) = (precondition("uid"), precondition("resourceVersion"));
        Ok(Self {
            dry_run,
            propagation,
            uid,
            version,
            given,
        })
    }

    /// Returns the options as webhooks see them.
    pub(crate) fn to_json(&self) -> Value {
        let mut options = self.given.clone();
        options.insert("apiVersion".to_owned(), json!("meta.k8s.io/v1"));
        options.insert("kind".to_owned(), json!("DeleteOptions"));
        Value::Object(options)
    }

    /// Demands a uid, as deletions of namespaces do.
    pub(crate) fn demand_uid(&mut self, uid: &str) {
        if self.uid.is_some() {
            return;
        }
        self.uid = Some(uid.to_owned());
        let conditions = self.given.entry("preconditions").or_insert_with(|| json!({}));
        if let Some(conditions) = conditions.as_object_mut() {
            conditions.insert("uid".to_owned(), json!(uid));
        }
    }
}

fn of_query(query: &Query) -> Map<String, Value> {
    let mut given = Map::new();
    for name in ["gracePeriodSeconds", "propagationPolicy", "orphanDependents"] {
        let Some(text) = query.first(name) else { continue };
        let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
        given.insert(name.to_owned(), value);
    }
    let dry_run = query.all("dryRun");
    if !dry_run.is_empty() {
        given.insert("dryRun".to_owned(), json!(dry_run));
    }
    given
}

fn propagation(given: &Map<String, Value>, errors: &mut Vec<FieldError>) -> Propagation {
    let policy = given.get("propagationPolicy").and_then(Value::as_str);
    let orphan = given.get("orphanDependents").and_then(Value::as_bool);
    if policy.is_some() && orphan.is_some() {
        let text = "Invalid value: orphanDependents and deletionPropagation cannot be both set";
        let shown = policy.unwrap_or_default();
        errors.push(fault(
            "propagationPolicy",
            ErrorClass::Invalid,
            &text.replacen("Invalid value:", &format!("Invalid value: {shown:?}:"), 1),
        ));
    }
    match (policy, orphan) {
        (Some("Background"), _) | (None, Some(false)) => Propagation::Background,
        (Some("Foreground"), _) => Propagation::Foreground,
        (Some("Orphan"), _) | (None, Some(true)) => Propagation::Orphan,
        (Some(other), _) => {
            let text = format!(
                "Unsupported value: {other:?}: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
            );
            errors.push(fault("propagationPolicy", ErrorClass::NotSupported, &text));
            Propagation::Unsaid
        }
        (None, None) => Propagation::Unsaid,
    }
}

fn dry_run(words: &[&str], errors: &mut Vec<FieldError>) -> bool {
    if words.is_empty() {
        return false;
    }
    if words.iter().any(|word| *word != "All") {
        let list = serde_json::to_string(words).unwrap_or_default();
        let text = format!("Unsupported value: {list}: supported values: \"All\"");
        errors.push(fault("dryRun", ErrorClass::NotSupported, &text));
    }
    true
}

fn check_manager(manager: &str, errors: &mut Vec<FieldError>) {
    if manager.len() > 128 {
        errors.push(fault(
            "fieldManager",
            ErrorClass::TooLong,
            "Too long: may not be more than 128 bytes",
        ));
    }
    if let Some((at, bad)) = manager
        .chars()
        .enumerate()
        .find(|(_, character)| character.is_control())
    {
        let text = format!(
            "Invalid value: {}: invalid character U+{:04X} (at position {at})",
            serde_json::to_string(manager).unwrap_or_default(),
            u32::from(bad)
        );
        errors.push(fault("fieldManager", ErrorClass::Invalid, &text));
    }
}

fn fault(field: &str, class: ErrorClass, message: &str) -> FieldError {
    FieldError {
        field: field.to_owned(),
        class,
        message: message.to_owned(),
    }
}
