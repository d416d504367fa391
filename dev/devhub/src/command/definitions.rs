//! Custom resource definitions in files.
//!
//! Decides which files are read and that each document in them is a definition; the hub decides whether it is a good one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];
const KIND: &str = "CustomResourceDefinition";
const API_VERSION: &str = "apiextensions.k8s.io/v1";

/// A definition and the file it stands in.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) file: PathBuf,
    pub(super) object: Value,
}

impl Definition {
    /// Returns the name of the definition.
    pub(super) fn name(&self) -> &str {
        self.object
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

/// Reads all files; every file or document that cannot be used adds a fault.
pub(super) fn read(paths: &[PathBuf], faults: &mut Vec<String>) -> Vec<Definition> {
    let mut found: Vec<Definition> = Vec::new();
    let files: Vec<PathBuf> = paths.iter().flat_map(|path| files(path, faults)).collect();
    for file in files {
        for definition in documents(&file, faults) {
            match found.iter().find(|other| other.name() == definition.name()) {
                Some(other) => faults.push(format!(
                    "{}: \"{}\" stands in {} as well",
                    file.display(),
                    definition.name(),
                    other.file.display()
                )),
                None => found.push(definition),
            }
        }
    }
    found
}

fn files(path: &Path, faults: &mut Vec<String>) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => {
            faults.push(format!("--crds {}: {error}", path.display()));
            return Vec::new();
        }
    };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|file| {
            let extension = file.extension().and_then(|extension| extension.to_str());
            file.is_file() && extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
        })
        .collect();
    files.sort();
    if files.is_empty() {
        faults.push(format!(
            "--crds {}: the folder holds no file that ends in .json, .yaml or .yml",
            path.display()
        ));
    }
    files
}

fn documents(file: &Path, faults: &mut Vec<String>) -> Vec<Definition> {
    let place = file.display();
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            faults.push(format!("{place}: {error}"));
            return Vec::new();
        }
    };
    let documents: Vec<Value> = match serde_saphyr::from_multiple(&text) {
        Ok(documents) => documents,
        Err(error) => {
            faults.push(format!("{place}: {}", error.to_string().trim_end()));
            return Vec::new();
        }
    };
    let mut definitions = Vec::new();
    for (index, object) in documents.into_iter().enumerate() {
        match fault(&object) {
            _ if object.is_null() => {}
            Some(fault) => faults.push(format!("{place}: document {}: {fault}", index + 1)),
            None => definitions.push(Definition {
                file: file.to_owned(),
                object,
            }),
        }
    }
    definitions
}

/// Returns why a document is no definition.
fn fault(object: &Value) -> Option<String> {
    let part = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (version, kind) = (part("/apiVersion"), part("/kind"));
    if (version, kind) != (API_VERSION, KIND) {
        return Some(format!(
            "apiVersion \"{version}\" and kind \"{kind}\" are not {API_VERSION} and {KIND}"
        ));
    }
    part("/metadata/name")
        .is_empty()
        .then(|| "metadata.name is missing".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_and_document_that_cannot_be_used_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name);
        let good =
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\n";
        for (name, text) in [
            (
                "1.yaml",
                format!("{good}---\n---\napiVersion: v1\nkind: ConfigMap\n"),
            ),
            ("2.yml", "a: [".to_owned()),
            (
                "3.json",
                r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}"#.to_owned(),
            ),
            ("4.yaml", good.to_owned()),
            ("notes.txt", "no definition".to_owned()),
        ] {
            fs::write(place(name), text).expect("writable");
        }
        let empty = place("empty");
        fs::create_dir(&empty).expect("writable");
        let mut faults = Vec::new();
        let found = read(&[folder.path().to_owned(), empty, place("absent")], &mut faults);
        assert_eq!(found.iter().map(Definition::name).collect::<Vec<_>>(), ["a.b"]);
        let expected = [
            "1.yaml: document 2: apiVersion \"v1\" and kind \"ConfigMap\" are not",
            "2.yml: ",
            "3.json: document 1: metadata.name is missing",
            "4.yaml: \"a.b\" stands in",
            "empty: the folder holds no file",
            "absent: No such file",
        ];
        for text in expected {
            assert!(
                faults.iter().any(|fault| fault.contains(text)),
                "{text}: {faults:#?}"
            );
        }
        assert_eq!(faults.len(), expected.len(), "{faults:#?}");
    }
}
