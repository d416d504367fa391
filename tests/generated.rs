//! Holds `manifests/crds/` to the output of the types. `UPDATE_GENERATED=1` rewrites it.
//!
//! Decides nothing about the schemas themselves: `crd_superset.rs` does.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tidegate::api;

#[test]
fn manifests_are_what_the_types_say() {
    let update = std::env::var_os("UPDATE_GENERATED").is_some();
    let folder = folder();
    let mut stale = Vec::new();
    for name in api::crd_names() {
        let path = folder.join(format!("{name}.yaml"));
        let wanted = api::crds_yaml(&name).expect("every listed name has a definition");
        if update {
            fs::create_dir_all(&folder).expect("the folder can be made");
            fs::write(&path, &wanted).expect("the file can be written");
        }
        if fs::read_to_string(&path).ok().as_deref() != Some(&wanted) {
            stale.push(path.display().to_string());
        }
    }
    let known: BTreeSet<String> = api::crd_names()
        .into_iter()
        .map(|name| format!("{name}.yaml"))
        .collect();
    let strangers: Vec<String> = file_names(&folder)
        .into_iter()
        .filter(|name| !known.contains(name))
        .collect();
    assert!(
        strangers.is_empty(),
        "these files are of no kind of ours: {strangers:?}"
    );
    assert!(
        stale.is_empty(),
        "run again with UPDATE_GENERATED=1; these differ from the types: {stale:#?}"
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

fn file_names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| {
            entry
                .expect("the entry is readable")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/crds")
}
