//! The Rust sources of the repository, by path.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns every Rust source below a folder of the repository, by its path from the root.
pub(super) fn sources(dir: &str) -> BTreeMap<String, String> {
    let mut files = Vec::new();
    collect_sources(&root().join(dir), &mut files);
    let read = |path: &Path| fs::read_to_string(path).expect("sources are readable");
    files.iter().map(|path| (relative(path), read(path))).collect()
}

fn collect_sources(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()));
    for path in entries.into_iter().flatten() {
        if path.is_dir() && !path.ends_with("target") {
            collect_sources(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
}

pub(super) fn relative(path: &Path) -> String {
    path.strip_prefix(root())
        .expect("the scan stays in the repository")
        .to_string_lossy()
        .replace('\\', "/")
}
