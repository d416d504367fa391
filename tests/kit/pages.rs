//! The parsed pages of `tests/rules/`.

use std::path::PathBuf;

use admission::Operation;
use serde_json::Value;
use store::Facts;

use super::asked::{Asked, WrittenFacts};
use super::manifests::repository;

/// One example of a page.
pub(crate) struct Example {
    pub(crate) title: String,
    pub(crate) asked: Asked,
    pub(crate) facts: Facts,
    pub(crate) written: WrittenFacts,
    pub(crate) answer: String,
    /// The blocks of YAML that are the request, each with its kind: `object`, `old`, `delete` or `status`.
    pub(crate) request: Vec<(String, String)>,
}

/// A page with its examples.
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) examples: Vec<Example>,
}

/// Returns every page of `tests/rules`.
pub(crate) fn pages() -> Vec<Page> {
    let folder = repository("tests/rules");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of the pages")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are pages");
    paths.into_iter().map(page).collect()
}

/// Reads a page.
pub(crate) fn page(path: PathBuf) -> Page {
    let text = std::fs::read_to_string(&path).expect("a page");
    let mut examples = Vec::new();
    let mut shared = WrittenFacts::default();
    let mut sections = text.split("\n### ");
    for (kind, body) in blocks(sections.next().unwrap_or_default()) {
        assert_eq!(
            kind,
            "yaml facts",
            "{} has only facts before its first example",
            path.display()
        );
        shared = yaml(&body);
    }
    for section in sections {
        let title = section.lines().next().unwrap_or_default().to_owned();
        examples.push(example(title, section, &shared));
    }
    Page { path, text, examples }
}

fn example(title: String, section: &str, shared: &WrittenFacts) -> Example {
    let mut written = shared.clone();
    let mut old: Option<Value> = None;
    let (mut asked, mut answer) = (None, None);
    let mut request = Vec::new();
    for (kind, body) in blocks(section) {
        if let Some(kind) = kind.strip_prefix("yaml ").filter(|kind| *kind != "facts") {
            request.push((kind.to_owned(), body.clone()));
        }
        let body = body.replace("<450 KiB of text>", &"x".repeat(450 << 10));
        let body = body.replace("<10,001 empty objects>", &vec!["{}"; 10_001].join(", "));
        let mut ask = |operation, subresource, old: Option<Value>| {
            asked = Some(Asked {
                operation,
                subresource,
                object: yaml(&body),
                old,
            });
        };
        match kind.as_str() {
            "yaml facts" => written = yaml(&body),
            "yaml old" => old = Some(yaml(&body)),
            "yaml object" if old.is_some() => ask(Operation::Update, "", old.take()),
            "yaml object" => asked = Some(Asked::create(yaml(&body))),
            "yaml delete" => ask(Operation::Delete, "", None),
            "yaml status" => ask(Operation::Update, "status", None),
            "text answer" => answer = Some(body),
            other => assert_eq!(other, "a known kind of block", "{title}"),
        }
    }
    let asked = asked.expect("every example asks something");
    let answer = answer.expect("every example has an answer");
    Example {
        title,
        asked,
        facts: written.read(),
        written,
        answer,
        request,
    }
}

fn blocks(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let body = body.join("\n") + "\n";
            let body = if body == "\n" { String::new() } else { body };
            found.push((kind.to_owned(), body));
        }
    }
    found
}

fn yaml<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_saphyr::from_str(text)
        .map_err(|error| {
            format!(
                "{error}
{text}"
            )
        })
        .expect("a YAML document")
}
