//! The guides of `docs/guides` as users follow them: every command of a `console` block, in an empty folder with a development hub.
//!
//! A guide that says "Save as `FILE`" has the content of the file in the next block. Lines below a command are its output, in which
//! `…` is any text, and a line of its own any lines. Commands of a `text` block are not run: `<!-- not run: REASON -->` above it says why.

use std::time::{Duration, Instant};

use regex::Regex;

use crate::each::{self, test_each};
use crate::first_hour::Terminal;
use crate::rig::{PATIENCE, repository};

test_each! {
    works_as_written, "docs/guides", "md":
    air_gap
    approvals
    break_glass
    canary
    checks
    exempt
    gate_down
    notifications
    sizing
    stuck_cluster
    undo
    write_a_policy
}

/// One thing that a reader does.
#[derive(Debug)]
enum Step {
    /// Starts the development hub with these arguments.
    Start(Vec<String>),
    /// Saves a file.
    Save { file: String, content: String },
    /// Types a command, and reads these lines.
    Type { command: String, output: Vec<String> },
}

/// Returns the steps of a page, in its order.
fn steps(page: &str) -> Vec<Step> {
    let hub = Regex::new(r"`(tidegate dev --[^`]+)`").expect("it is right");
    let file = Regex::new(r"(?:[Ss]ave\s+as|content\s+of)\s+`([^`]+)`").expect("it is right");
    let mut steps = Vec::new();
    let mut is_started = false;
    let mut prose = true;
    let mut saved = None;
    let mut mark = false;
    for piece in page.split("\n```") {
        if prose {
            // The first piece begins with the page, every other one with the end of a block.
            if let Some(found) = hub.captures(piece).filter(|_| !is_started) {
                is_started = true;
                steps.push(Step::Start(arguments(&found[1])));
            }
            let above = piece.trim_end().lines().last().unwrap_or_default();
            mark = above.starts_with("<!-- not run: ") && above.ends_with(" -->");
            saved = file.captures_iter(piece).last().map(|found| found[1].to_owned());
        } else {
            let (language, content) = piece.split_once('\n').unwrap_or((piece, ""));
            match (language, saved.take()) {
                ("yaml", Some(file)) => steps.push(Step::Save {
                    file,
                    content: format!("{content}\n"),
                }),
                ("console", _) => {
                    for step in typed(content) {
                        is_started |= matches!(step, Step::Start(_));
                        steps.push(step);
                    }
                }
                ("yaml", None) => {}
                _ => assert!(
                    mark,
                    "a block that is not run has no mark `<!-- not run: REASON -->`:\n{content}"
                ),
            }
        }
        prose = !prose;
    }
    steps
}

fn arguments(command: &str) -> Vec<String> {
    command
        .split_whitespace()
        .skip(1)
        .map(ToOwned::to_owned)
        .collect()
}

/// Returns the commands of a `console` block with their output.
fn typed(block: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) if command.starts_with("tidegate dev --") => {
                steps.push(Step::Start(arguments(command)));
            }
            (Some(command), _) => steps.push(Step::Type {
                command: command.to_owned(),
                output: Vec::new(),
            }),
            (None, Some(Step::Type { output, .. })) => output.push(line.to_owned()),
            (None, _) => {}
        }
    }
    steps
}

/// Returns whether the lines of an output are those of the page.
fn is_as_written(written: &[String], output: &[&str]) -> bool {
    match written.split_first() {
        None => output.is_empty(),
        Some((first, rest)) if first.trim() == "…" => {
            (0..=output.len()).any(|skipped| is_as_written(rest, &output[skipped..]))
        }
        Some((first, rest)) => output
            .split_first()
            .is_some_and(|(line, more)| is_line(first, line) && is_as_written(rest, more)),
    }
}

/// Columns may have another width, and `…` is any text.
fn is_line(written: &str, line: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let pattern = regex::escape(&words(written)).replace('…', ".*");
    let pattern = Regex::new(&format!("^{pattern}$")).expect("it is escaped");
    pattern.is_match(&words(line))
}

/// Runs a command until its output is that of the page: one that only reads may be repeated, every other runs once.
fn run(terminal: &Terminal, command: &str, written: &[String]) {
    let reads = [
        "tidegate why",
        "tidegate rollout status",
        "kubectl get",
        "kubectl events",
        "tidegate doctor",
    ];
    let (_, last) = command.rsplit_once("; ").unwrap_or(("", command));
    let again = reads.iter().any(|read| last.starts_with(read)) && !command.contains('|');
    let begun = Instant::now();
    loop {
        let now = if begun.elapsed() > Duration::from_secs(1) {
            last
        } else {
            command
        };
        let ran = terminal.types(&format!("{{ {now}; }} 2>&1"));
        let output: Vec<&str> = ran.stdout.trim_end().lines().collect();
        let is_right = if written.is_empty() {
            ran.ok
        } else {
            is_as_written(written, &output)
        };
        if is_right {
            return;
        }
        assert!(
            again && begun.elapsed() < PATIENCE,
            "$ {command}\n{}\nThe guide has:\n{}",
            ran.stdout,
            written.join("\n")
        );
        std::thread::sleep(Duration::from_millis(300));
    }
}

fn works_as_written(name: &str) {
    let page = std::fs::read_to_string(repository(&format!("docs/guides/{name}.md"))).expect("the guide");
    let mut terminal = Terminal::open();
    for step in steps(&page) {
        match step {
            Step::Start(arguments) => {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                terminal.start(&arguments);
            }
            Step::Save { file, content } => {
                let path = terminal.folder().join(file);
                std::fs::write(path, content).expect("writable");
            }
            Step::Type { command, output } => run(&terminal, &command, &output),
        }
    }
}

#[test]
fn a_line_of_a_guide_is_compared_with_its_gaps() {
    let written = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    assert!(is_as_written(
        &written(&["a  b", "…", "d … f"]),
        &["a b", "c", "c", "d e f"]
    ));
    assert!(!is_as_written(&written(&["a", "…", "d"]), &["a", "c"]));
    assert!(!is_as_written(&written(&["a"]), &["a", "b"]));
}

#[test]
fn files_commands_and_the_hub_are_found_in_a_page() {
    let page = "# X\n\nRun `tidegate dev --clusters 3`. Save as `a.yaml`:\n\n```yaml\na: 1\n```\n\n```console\n$ cat a.yaml\na: 1\n$ true\n```\n\nEnd.\n";
    let found = format!("{:?}", steps(page));
    assert_eq!(
        found,
        r#"[Start(["dev", "--clusters", "3"]), Save { file: "a.yaml", content: "a: 1\n" }, Type { command: "cat a.yaml", output: ["a: 1"] }, Type { command: "true", output: [] }]"#
    );
}
