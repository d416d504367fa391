//! Every file of tests must be part of a test program: cargo does not search for them.

use super::sources;

#[test]
fn every_file_of_tests_is_part_of_a_program() {
    let mut tests = sources("tests");
    // A package of its own.
    tests.retain(|path, _| !path.starts_with("tests/oracle/"));
    let suite = &tests["tests/suite.rs"];
    let binary = &tests["tests/binary/main.rs"];
    let is_named = |path: &str| {
        let path = path.trim_start_matches("tests/");
        match path.split_once('/') {
            Some(("binary", file)) => names_module(binary, file),
            Some((folder @ ("pure" | "hub"), file)) => names_module(block(suite, folder), file),
            Some(_) => names_module(suite, path),
            None => false,
        }
    };
    let unnamed: Vec<&String> = tests
        .keys()
        .filter(|path| !["tests/suite.rs", "tests/binary/main.rs"].contains(&path.as_str()))
        .filter(|path| !is_named(path))
        .collect();
    assert!(unnamed.is_empty(), "no program runs them: {unnamed:?}");
    assert!(tests.len() > 100, "the scan must see the tests");
    assert!(!names_module(suite, "missing.rs"));
}

/// Whether a file is a module of this text or, in a folder, of one that is: the compiler sees to the modules of that.
fn names_module(text: &str, file: &str) -> bool {
    let first = file.split('/').next().unwrap_or_default();
    let wanted = format!("mod {};", first.trim_end_matches(".rs"));
    text.lines()
        .any(|line| line.trim().trim_start_matches("pub(super) ") == wanted)
}

/// The body of an inline module.
fn block<'a>(text: &'a str, module: &str) -> &'a str {
    text.split_once(&format!("\nmod {module} {{\n"))
        .and_then(|(_, rest)| rest.split_once("\n}\n"))
        .map_or("", |(body, _)| body)
}
