//! The mutations of `tests/scripts/mutations/run` still apply to the code: one whose text was deleted tests nothing.
//! The script builds and runs them.

use std::path::Path;

struct Fault {
    name: String,
    file: String,
    find: String,
    with: String,
}

fn faults() -> Vec<Fault> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("tests/scripts/mutations/list.txt")).expect("the list");
    let mut blocks: Vec<[String; 4]> = Vec::new();
    for line in text.lines() {
        let Some((word, rest)) = line.split_once(' ') else {
            continue;
        };
        let place = ["name", "file", "find", "with"]
            .iter()
            .position(|known| *known == word);
        if place == Some(0) {
            blocks.push(Default::default());
        }
        if let (Some(place), Some(block)) = (place, blocks.last_mut()) {
            rest.clone_into(&mut block[place]);
        }
    }
    let fault = |[name, file, find, with]: [String; 4]| Fault {
        name,
        file,
        find,
        with,
    };
    blocks.into_iter().map(fault).collect()
}

#[test]
fn every_fault_stands_for_one_place_of_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let faults = faults();
    assert!(faults.len() >= 10, "the list is too short");
    for Fault {
        name,
        file,
        find,
        with,
    } in faults
    {
        let code = std::fs::read_to_string(root.join(&file)).expect("the file of a fault");
        assert_eq!(code.matches(&*find).count(), 1, "{name}: {file}: {find}");
        assert_ne!(find, with, "{name}");
    }
}
