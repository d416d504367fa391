//! The troubleshooting page: it has every log message and every finding of the doctor.

use std::collections::BTreeSet;

use crate::kit::manifests::repository;

/// Files whose messages the administrator of a hub does not meet: the dev hub's, and what is only for tests.
const APART: [&str; 3] = ["src/cli/dev/", "src/telemetry/logs.rs", "src/server/trials/"];

fn page(path: &str) -> String {
    std::fs::read_to_string(repository(path)).expect(path)
}

fn files(folder: &std::path::Path, all: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, all);
        } else if path.extension().is_some_and(|end| end == "rs") {
            all.push(path);
        }
    }
}

/// Returns the constant messages of `warn!` and `error!` in a source: the last text of each call.
fn messages(text: &str) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    for word in ["warn!(", "error!("] {
        for call in text.split(word).skip(1) {
            let call = call.split(");").next().unwrap_or_default();
            let call = call.trim_end().trim_end_matches(',');
            let Some((_, last)) = call.strip_suffix('"').and_then(|body| body.rsplit_once('"')) else {
                continue;
            };
            let begin = last.split(['\n', '\\']).next().unwrap_or_default();
            found.insert(begin.trim().to_owned());
        }
    }
    found
}

#[test]
fn every_message_of_the_log_has_a_cause_and_a_cure() {
    let told = page("docs/operate/troubleshoot.md");
    let mut all = Vec::new();
    files(&repository("src"), &mut all);
    let (mut seen, mut missing) = (0, Vec::new());
    for path in all {
        let name = path
            .strip_prefix(repository(""))
            .expect("below")
            .display()
            .to_string();
        if APART.iter().any(|apart| name.starts_with(apart)) {
            continue;
        }
        for message in messages(&std::fs::read_to_string(&path).expect("a source")) {
            seen += 1;
            // A page says the beginning of a long one.
            let begin: String = message.chars().take(40).collect();
            if !told.contains(&begin) {
                missing.push(format!("{name}: {message}"));
            }
        }
    }
    assert!(
        seen > 30,
        "only {seen} messages were found: the walk looks past them"
    );
    assert!(
        missing.is_empty(),
        "not in docs/operate/troubleshoot.md: {missing:#?}"
    );
}

#[test]
fn every_finding_of_the_doctor_is_on_its_page() {
    let told = page("docs/operate/doctor.md");
    let mut all = Vec::new();
    files(&repository("crates/operate/src/doctor/checks"), &mut all);
    let mut seen = 0;
    for path in all {
        let text = std::fs::read_to_string(&path).expect("a source");
        let ids = text
            .lines()
            .filter_map(|line| line.strip_prefix("const ")?.split_once(": &str = \""));
        for (_, rest) in ids {
            let id = rest.split('"').next().unwrap_or_default();
            if id.split_once('/').is_some_and(|(area, name)| {
                area.chars()
                    .chain(name.chars())
                    .all(|one| one.is_ascii_lowercase() || one == '-')
            }) {
                seen += 1;
                assert!(
                    told.contains(&format!("| `{id}` |")),
                    "{id} is not in docs/operate/doctor.md"
                );
            }
        }
    }
    assert!(seen > 20, "only {seen} ids were found");
}

#[test]
fn a_message_is_found_whatever_stands_before_it() {
    let text = "warn!(kind = name, error = %root(error), \"watch interrupted\");\nerror!(\n  a,\n  \"it broke\"\n);\ninfo!(\"fine\");";
    let found: Vec<String> = messages(text).into_iter().collect();
    assert_eq!(found, ["it broke", "watch interrupted"]);
}
