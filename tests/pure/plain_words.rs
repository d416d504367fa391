//! Words that texts, comments and names of this repository avoid, with what to write instead.
//!
//! `tests/data/words-to-avoid.tsv` has the words; the list may only grow. Its second column counts the lines that still have the word: a new
//! one fails, and `UPDATE_EXPECT=1` lowers the count, never raises it. Judged by readers alone are words that also have a plain sense,
//! such as *see*, *say* and *hold*.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use regex::{Regex, RegexBuilder};

use crate::kit::manifests::repository;

const LIST: &str = "tests/data/words-to-avoid.tsv";

/// Texts of others, recorded outputs, and the changelog, which names what was renamed.
const EXCLUDED: [&str; 13] = [
    ".git/",
    "CHANGELOG.md",
    "LICENSE",
    "crates/cel-engine/tests/data/",
    "dev/devhub/tests/data/",
    "docs/casts/",
    "fuzz/corpus/",
    "site/",
    "target/",
    "tests/data/",
    "tests/pure/plain_words.rs",
    "tests/seeds/",
    "typos.toml",
];

const ENDS: [&str; 14] = [
    "css", "html", "js", "json", "md", "out", "py", "rs", "sh", "toml", "tpl", "txt", "yaml", "yml",
];

/// Adds the texts below a folder, by their paths.
fn collect(folder: &Path, texts: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let of_repository = path.strip_prefix(repository("")).expect("it is below");
        let mut name = of_repository.to_string_lossy().into_owned();
        if path.is_dir() {
            name.push('/');
        }
        if EXCLUDED.iter().any(|excluded| name.starts_with(excluded)) || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            collect(&path, texts);
            continue;
        }
        let end = path.extension().unwrap_or_default().to_string_lossy();
        if (end.is_empty() || ENDS.contains(&&*end))
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            texts.insert(name, text);
        }
    }
}

struct Word {
    avoided: String,
    allowed: usize,
    instead: String,
}

fn words() -> Vec<Word> {
    let list = std::fs::read_to_string(repository(LIST)).expect("the list");
    let row = |line: &str| {
        let mut cells = line.split('\t');
        let mut cell = || cells.next().expect("three columns").to_owned();
        Word {
            avoided: cell(),
            allowed: cell().parse().expect("a count"),
            instead: cell(),
        }
    };
    list.lines()
        .filter(|line| !line.starts_with('#'))
        .map(row)
        .collect()
}

/// Also finds the word inside of `snake_case` names.
fn pattern(word: &str) -> Regex {
    let words = regex::escape(word).replace(' ', "[ _]");
    RegexBuilder::new(&format!(r"(?:\b|_){words}(?:\b|_)"))
        .case_insensitive(true)
        .build()
        .expect("it is escaped")
}

#[test]
fn no_text_has_a_word_that_the_list_avoids() {
    let mut texts = BTreeMap::new();
    collect(&repository(""), &mut texts);
    assert!(texts.len() > 1_000, "the texts are found: {}", texts.len());
    let (mut new, mut list) = (
        String::new(),
        std::fs::read_to_string(repository(LIST)).expect("the list"),
    );
    for Word {
        avoided: word,
        allowed,
        instead,
    } in words()
    {
        let pattern = pattern(&word);
        let lines = texts.iter().flat_map(|(path, text)| {
            let found = text
                .lines()
                .enumerate()
                .filter(|(_, line)| pattern.is_match(line));
            found.map(move |(at, line)| format!("{path}:{}: {}", at + 1, line.trim()))
        });
        let found: Vec<String> = lines.collect();
        if found.len() > allowed {
            let _ = writeln!(
                new,
                "{word} (write: {instead}): {} lines, {allowed} allowed",
                found.len()
            );
            let shown = if allowed == 0 { found.len() } else { 5 };
            for line in found.iter().take(shown) {
                let _ = writeln!(new, "    {line}");
            }
        }
        let lowered = format!("{word}\t{}\t{instead}\n", found.len().min(allowed));
        list = list.replace(&format!("{word}\t{allowed}\t{instead}\n"), &lowered);
    }
    assert!(new.is_empty(), "{new}");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(repository(LIST), &list).expect("writable");
    }
    assert!(
        std::fs::read_to_string(repository(LIST)).expect("the list") == list,
        "fewer lines than {LIST} allows: UPDATE_EXPECT=1 lowers the counts"
    );
}

#[test]
fn a_word_is_found_in_texts_and_names() {
    assert!(pattern("goes by").is_match("the plan Goes by the hash"));
    assert!(pattern("door").is_match("let door_of = door;") && pattern("door").is_match("the door."));
    assert!(!pattern("door").is_match("outdoors") && !pattern("mend").is_match("recommended"));
}
