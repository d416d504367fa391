//! The form of a PolicyTest file.
//!
//! Decides how the file is read, and reports every misspelt field. Files that it names are found beside it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::{TestFileError, TestFiles};

/// A file of cases.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suite {
    #[serde(rename = "apiVersion", default)]
    _api_version: Option<String>,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(rename = "metadata", default)]
    _metadata: Option<Value>,
    /// Files and folders of the policies.
    pub(super) policies: Vec<String>,
    /// What holds for every case.
    #[serde(default)]
    pub(super) given: Given,
    pub(super) cases: Vec<Case>,
}

/// What is known.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Given {
    /// Objects of the hub.
    pub(super) facts: Vec<Document>,
    /// Whether there may be more on the hub than that.
    pub(super) partial: bool,
    /// The time of the requests.
    pub(super) now: Option<String>,
    /// Who asks.
    pub(super) user: Option<Value>,
}

/// One question, and the answer that it should get.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) object: Document,
    #[serde(default)]
    pub(super) old: Option<Document>,
    /// CREATE, UPDATE when there is an old object, or DELETE: then the object is what is stored.
    #[serde(default)]
    pub(super) operation: Option<String>,
    /// Plural name of the resource, where it cannot be told from the kind.
    #[serde(default)]
    pub(super) resource: Option<String>,
    /// What is known besides.
    #[serde(default)]
    pub(super) facts: Vec<Document>,
    #[serde(default)]
    pub(super) now: Option<String>,
    #[serde(default)]
    pub(super) user: Option<Value>,
    pub(super) expect: Expect,
}

/// What should come out. What is absent is not looked at, except that nothing may be refused that is not listed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) allow: Option<bool>,
    pub(super) deny: Option<Vec<Expected>>,
    #[serde(alias = "warnings")]
    pub(super) warn: Option<Vec<Expected>>,
    pub(super) audit: Option<Vec<Expected>>,
    /// Fields that the object has after the mutations.
    pub(super) patched: Option<Document>,
    /// Whether asking again about the result adds nothing.
    pub(super) idempotent: Option<bool>,
}

/// One finding that should be there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expected {
    /// Id of the validation, or of the whole rule: `policy/<name>/<id>`.
    pub(super) id: String,
    #[serde(default)]
    pub(super) field: Option<String>,
    #[serde(default)]
    pub(super) message: Option<String>,
    /// A pattern that the message has.
    #[serde(rename = "message~", default)]
    pub(super) message_like: Option<String>,
}

/// An object: itself, or the name of its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Document {
    File(String),
    Object(Value),
}

impl Suite {
    /// Reads a file; `None` when it is something else than a PolicyTest.
    pub(super) fn read<F: TestFiles>(files: &F, path: &Path) -> Result<Option<Self>, F::Error> {
        let mut suites = files
            .documents(path)?
            .into_iter()
            .filter(|document| document.get("kind").and_then(Value::as_str) == Some("PolicyTest"));
        let Some(document) = suites.next() else {
            return Ok(None);
        };
        let suite: Self = serde_json::from_value(document).map_err(|error| wrong(path, error.to_string()))?;
        if suites.next().is_some() {
            return Err(wrong(path, "has more than one PolicyTest".to_owned()).into());
        }
        Ok(Some(suite))
    }

    /// Returns the files and folders of the policies.
    pub(super) fn policies(&self, suite: &Path) -> Vec<PathBuf> {
        self.policies.iter().map(|name| beside(suite, name)).collect()
    }

    /// Returns every file and folder that the suite names.
    pub(super) fn reads(&self, suite: &Path) -> Vec<PathBuf> {
        let cases = self.cases.iter();
        let named = cases.flat_map(|case| case.facts.iter().chain(&case.old).chain([&case.object]));
        let named = named.chain(&self.given.facts);
        let named = named.filter_map(|document| match document {
            Document::File(name) => Some(beside(suite, name)),
            Document::Object(_) => None,
        });
        self.policies(suite).into_iter().chain(named).collect()
    }
}

impl Document {
    /// Returns the object.
    pub(super) fn read<F: TestFiles>(&self, files: &F, suite: &Path) -> Result<Value, F::Error> {
        match self {
            Self::Object(object) => Ok(object.clone()),
            Self::File(name) => {
                let path = beside(suite, name);
                let mut all = files.documents(&path)?;
                match (all.pop(), all.is_empty()) {
                    (Some(only), true) => Ok(only),
                    (_, _) => Err(wrong(&path, "must contain one object".to_owned()).into()),
                }
            }
        }
    }

    /// Returns all objects of a file or folder, or the object.
    pub(super) fn read_all<F: TestFiles>(&self, files: &F, suite: &Path) -> Result<Vec<Value>, F::Error> {
        match self {
            Self::Object(object) => Ok(vec![object.clone()]),
            Self::File(name) => {
                let mut all = Vec::new();
                for file in files.below(&[beside(suite, name)])? {
                    all.extend(files.documents(&file)?);
                }
                Ok(all)
            }
        }
    }
}

fn beside(suite: &Path, name: &str) -> PathBuf {
    suite.parent().unwrap_or_else(|| Path::new(".")).join(name)
}

/// Returns the error of a file that cannot be understood.
pub(super) fn wrong(path: &Path, reason: String) -> TestFileError {
    TestFileError {
        path: path.to_owned(),
        reason,
    }
}
