//! Manifests of the repository, read.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Returns where something of the repository is.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the objects of a file of the repository.
pub(crate) fn documents(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(repository(file)).expect(file);
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).expect(file);
    documents
        .into_iter()
        .filter(|document| !document.is_null())
        .collect()
}

/// Returns the objects of `manifests/examples` in the order of their files.
pub(crate) fn examples() -> Vec<Value> {
    let mut files: Vec<_> = std::fs::read_dir(repository("manifests/examples"))
        .expect("the examples")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    let texts = files
        .iter()
        .map(|file| std::fs::read_to_string(file).expect("an example"));
    texts
        .flat_map(|text| text.split("\n---\n").map(ToOwned::to_owned).collect::<Vec<_>>())
        .map(|document| serde_saphyr::from_str(&document).expect("YAML"))
        .collect()
}
