//! Holds every file of tests to be part of a test program: cargo looks for none by itself.

use super::sources;

#[test]
fn every_file_of_tests_is_part_of_a_program() {
    let tests = sources("tests");
    let suite = &tests["tests/suite.rs"];
    let blackbox = &tests["tests/blackbox/main.rs"];
    let is_named = |path: &str| match path.strip_prefix("tests/blackbox/") {
        Some(file) => names_module(blackbox, file),
        None => names_module(suite, path.trim_start_matches("tests/")),
    };
    let unheard: Vec<&String> = tests
        .keys()
        .filter(|path| !["tests/suite.rs", "tests/blackbox/main.rs"].contains(&path.as_str()))
        .filter(|path| !is_named(path))
        .collect();
    assert!(unheard.is_empty(), "no program runs them: {unheard:?}");
    assert!(tests.len() > 100, "the scan must see the tests");
    assert!(!names_module(suite, "nobody.rs"));
}

/// Whether a file is a module of this text or, in a folder, of one that is: the compiler sees to the modules of that.
fn names_module(text: &str, file: &str) -> bool {
    let first = file.split('/').next().unwrap_or_default();
    let wanted = format!("mod {};", first.trim_end_matches(".rs"));
    text.lines().any(|line| line == wanted)
}
