//! Compares `manifests/crds/` with the Rust types: our own kinds, and those of others, in a folder each. `UPDATE_EXPECT=1` rewrites it.
//!
//! `crd_superset.rs` checks the schemas themselves.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::kit::manifests::repository;

#[test]
fn manifests_are_what_the_types_say() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut stale = Vec::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for crd in api::crds() {
        let folder = folder().join(if api::is_ours(&crd) {
            "ours"
        } else {
            "hub-without-ocm"
        });
        let name = crd.spec.names.plural;
        let path = folder.join(format!("{name}.yaml"));
        let wanted = api::crds_yaml(&name).expect("every listed name has a definition");
        known.insert(path.display().to_string());
        if update {
            fs::create_dir_all(&folder).expect("the folder can be made");
            fs::write(&path, &wanted).expect("the file can be written");
        }
        if fs::read_to_string(&path).ok().as_deref() != Some(&wanted) {
            stale.push(path.display().to_string());
        }
    }
    let unknown: Vec<String> = ["ours", "hub-without-ocm"]
        .into_iter()
        .flat_map(|kept| files(&folder().join(kept)))
        .filter(|path| !known.contains(path))
        .collect();
    assert_eq!(
        files(&folder()).len(),
        2,
        "the folders of ours and theirs, and nothing beside them"
    );
    assert!(
        unknown.is_empty(),
        "these files belong to no kind of ours: {unknown:?}"
    );
    assert!(
        stale.is_empty(),
        "run again with UPDATE_EXPECT=1; these differ from the types: {stale:#?}"
    );
}

#[test]
fn a_definition_is_found_by_plural_and_by_full_name() {
    let short = api::crds_yaml("placements");
    assert!(short.is_some());
    assert_eq!(
        short,
        api::crds_yaml("placements.cluster.open-cluster-management.io")
    );
    assert_eq!(api::crds_yaml("placement"), None);
}

fn files(folder: &Path) -> Vec<String> {
    fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("the entry is readable").path().display().to_string())
        .collect()
}

fn folder() -> PathBuf {
    repository("manifests/crds")
}
