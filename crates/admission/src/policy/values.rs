//! Checks values with a JSON schema, such as the variables of a configuration.
//!
//! Patterns run in linear time, because a schema comes from a user.

use std::collections::BTreeMap;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use kubernetes::json_pointer::unescape;
use serde_json::{Map, Value};

use super::fault::PolicyFault;
use kubernetes::field::{Path, nearest, quoted};

/// The maximum number of faults that are reported for one value.
const MOST_FAULTS: usize = 20;

/// A compiled schema.
pub(super) struct Fitting {
    validator: Validator,
    /// Names of the members that the schema describes, for suggestions.
    known: Vec<String>,
}

/// The form of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParameterForm {
    /// As it is.
    Value,
    /// A list of names and values, which is checked as one object.
    Pairs,
}

/// A part of a value that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// The path below the value.
    pub(super) path: Path,
    pub(super) words: String,
    pub(super) hint: Option<String>,
}

impl std::fmt::Debug for Fitting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fitting")
            .field("known", &self.known)
            .finish_non_exhaustive()
    }
}

impl Fitting {
    /// Compiles the schema at `path`.
    pub(super) fn compile(schema: &Value, path: &Path, faults: &mut Vec<PolicyFault>) -> Option<Self> {
        if !schema.is_object() {
            faults.push(PolicyFault::at(path.clone(), "must be a JSON schema"));
            return None;
        }
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        match options.build(schema) {
            Ok(validator) => Some(Self {
                validator,
                known: schema
                    .get("properties")
                    .and_then(Value::as_object)
                    .map(|members| members.keys().cloned().collect())
                    .unwrap_or_default(),
            }),
            Err(error) => {
                let words = format!("is not a JSON schema: {error}");
                faults.push(PolicyFault::at(path.clone(), one_line(&words)));
                None
            }
        }
    }

    /// Returns what does not fit.
    pub(super) fn misfits(&self, value: &Value, form: ParameterForm) -> Vec<Misfit> {
        match form {
            ParameterForm::Value => self.faults_of(value, &|path| path),
            ParameterForm::Pairs => {
                let (object, places) = paired(value);
                self.faults_of(&object, &|path| restored(&path, &places))
            }
        }
    }

    fn faults_of(&self, value: &Value, place: &dyn Fn(Path) -> Path) -> Vec<Misfit> {
        let errors = self.validator.iter_errors(value).take(MOST_FAULTS);
        let misfits = errors.flat_map(|error| self.of_error(&error, place));
        misfits.take(MOST_FAULTS).collect()
    }

    /// An error about members that the schema does not have is reported once for each of them.
    fn of_error(&self, error: &ValidationError<'_>, place: &dyn Fn(Path) -> Path) -> Vec<Misfit> {
        let path = path_of(&error.instance_path().to_string());
        if let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() {
            let one = |name: &String| {
                let near = nearest(name, self.known.iter().map(String::as_str));
                Misfit {
                    path: place(path.entry(name.clone())),
                    words: format!("unknown name {}", quoted(name)),
                    hint: near.map(|near| format!("did you mean {}?", quoted(near))),
                }
            };
            return unexpected.iter().take(MOST_FAULTS).map(one).collect();
        }
        vec![Misfit {
            path: place(path),
            words: one_line(&error.to_string()),
            hint: None,
        }]
    }
}

/// Converts a list of names and values to one object, and returns the index of each name.
fn paired(value: &Value) -> (Value, BTreeMap<String, usize>) {
    let mut object = Map::new();
    let mut places = BTreeMap::new();
    for (index, pair) in value.as_array().into_iter().flatten().enumerate() {
        let Some(name) = pair.get("name").and_then(Value::as_str) else {
            continue;
        };
        object.insert(name.to_owned(), pair.get("value").cloned().unwrap_or(Value::Null));
        places.insert(name.to_owned(), index);
    }
    (Value::Object(object), places)
}

/// Returns the path of a member of the object in the list.
fn restored(path: &Path, places: &BTreeMap<String, usize>) -> Path {
    use kubernetes::field::Segment;
    let index = match path.segments().first() {
        Some(Segment::Entry(name)) => places.get(name),
        Some(Segment::Key(name)) => places.get(name.as_ref()),
        Some(Segment::Index(_)) | None => None,
    };
    index.map_or_else(Path::root, |index| Path::root().index(*index).key("value"))
}

fn path_of(pointer: &str) -> Path {
    let parts = pointer.split('/').skip(1);
    parts.fold(Path::root(), |path, part| {
        let name = unescape(part);
        match name.parse() {
            Ok(index) => path.index(index),
            Err(_) => path.entry(name),
        }
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn misfits(schema: &Value, value: &Value, form: ParameterForm) -> Vec<String> {
        let mut faults = Vec::new();
        let fitting = Fitting::compile(schema, &Path::root(), &mut faults).expect("a schema");
        let text = |misfit: &Misfit| match &misfit.hint {
            Some(hint) => format!("{}: {}; {hint}", misfit.path, misfit.words),
            None => format!("{}: {}", misfit.path, misfit.words),
        };
        fitting.misfits(value, form).iter().map(text).collect()
    }

    #[test]
    fn pairs_are_checked_as_an_object_and_reported_with_their_path() {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["IMAGE"],
            "properties": {"LOG_LEVEL": {"enum": ["debug", "info"]}, "IMAGE": {"type": "string"}}});
        let pairs = json!([{"name": "LOG_LVEL", "value": "x"}, {"name": "LOG_LEVEL", "value": "loud"}]);
        let mut found = misfits(&schema, &pairs, ParameterForm::Pairs);
        found.sort();
        assert_eq!(
            found,
            [
                "<nil>: \"IMAGE\" is a required property",
                "[0].value: unknown name \"LOG_LVEL\"; did you mean \"LOG_LEVEL\"?",
                "[1].value: \"loud\" is not one of \"debug\" or \"info\"",
            ]
        );
    }

    #[test]
    fn a_schema_that_is_none_is_a_fault() {
        let mut faults = Vec::new();
        assert!(Fitting::compile(&json!({"type": 5}), &Path::parse("spec.s"), &mut faults).is_none());
        assert!(
            faults
                .first()
                .is_some_and(|fault| fault.message.starts_with("is not a JSON schema"))
        );
    }
}
