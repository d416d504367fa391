//! Files that grow: twice the file takes twice the time, whatever its content.
//!
//! Measured as processor time of this thread with a wide margin, because machines are busy: quadratic work takes four times as
//! long for twice the length, and sixteen times for four times.

use std::fmt::Write as _;
use std::time::Duration;

use admission::Enforcement;
use insight::offline::Dump;
use lint::check::{Background, File, MissingFacts, check};
use lint::report::{Format, Style, render};
use serde_json::json;

use crate::kit::clock::work;

/// What a file may take however small it is: below it no growth is measured.
const FLOOR: Duration = Duration::from_millis(40);
/// How much longer four times the file may take: four times and some, nowhere near sixteen.
const MOST: u32 = 9;

const HEAD: &str = "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ClusterManagementAddOn\nmetadata: {name: a}\n";

fn repeated(count: usize, each: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut all, number| {
        all.push_str(&each(number));
        all
    })
}

/// How long something takes for a text.
type Reader = fn(&str) -> Duration;

fn enforcement(text: &str) -> Duration {
    work(|| drop(std::hint::black_box(Enforcement::parse(text))))
}

/// A dump that is read and written again, with all that is looked for in it.
fn dump(text: &str) -> Duration {
    let object = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnDeploymentConfig",
        "metadata": {"name": "a", "namespace": "b"}, "spec": {"x": text}});
    let dump = json!({"kind": "TidegateSnapshot", "format": 1, "takenAt": "2026-01-01T00:00:00Z", "complete": [], "objects": [object]});
    let dump = dump.to_string();
    work(|| {
        let read = Dump::read(&dump).expect("a dump");
        std::hint::black_box(read.render());
    })
}

fn took(text: &str) -> Duration {
    let files = [File {
        path: "a.yaml".to_owned(),
        text: text.to_owned(),
    }];
    work(|| {
        let report = check(&files, &Background::default(), MissingFacts::Warn);
        for format in [
            Format::Table,
            Format::Json,
            Format::Sarif,
            Format::Junit,
            Format::Github,
        ] {
            std::hint::black_box(render(&report, format, Style::default()));
        }
    })
}

/// Returns what is wrong with how a family of files grows.
fn growth(name: &str, small: usize, make: &dyn Fn(usize) -> String, took: Reader) -> Option<String> {
    let mut told = String::new();
    // A busy machine makes one measurement long, not three.
    for _ in 0..3 {
        let (one, four) = (took(&make(small)), took(&make(small * 4)));
        if four <= one.max(FLOOR) * MOST {
            return None;
        }
        write!(
            told,
            "{name}: {small} takes {one:?}, {} takes {four:?}; ",
            small * 4
        )
        .expect("writable");
    }
    Some(told)
}

type Family = (&'static str, usize, Box<dyn Fn(usize) -> String>);

fn family(name: &'static str, small: usize, make: impl Fn(usize) -> String + 'static) -> Family {
    (name, small, Box::new(make))
}

fn texts() -> Vec<Family> {
    vec![
        family("keys of one mapping", 25_000, |n| {
            repeated(n, |i| format!("k{i}: 1\n"))
        }),
        family("keys in flow", 25_000, |n| {
            format!("{{{}}}", repeated(n, |i| format!("k{i}: 1, ")))
        }),
        family("keys of a nested mapping", 25_000, |n| {
            format!("a:\n  b:\n{}", repeated(n, |i| format!("    k{i}: 1\n")))
        }),
        family("merged keys", 12_000, |n| {
            format!(
                "a: &a\n{}b:\n  <<: *a\n{}",
                repeated(n, |i| format!("  k{i}: 1\n")),
                repeated(n, |i| format!("  l{i}: 1\n"))
            )
        }),
        family("many merges", 12_000, |n| {
            format!(
                "a: &a {{x: 1}}\nb: {{<<: [{}]}}\n",
                repeated(n, |_| "*a, ".to_owned())
            )
        }),
        family("aliases", 25_000, |n| {
            format!("a: &a 1\nb:\n{}", repeated(n, |_| "- *a\n".to_owned()))
        }),
        family("anchors", 25_000, |n| repeated(n, |i| format!("- &a{i} x\n"))),
        family("items", 50_000, |n| repeated(n, |_| "- a\n".to_owned())),
        family("documents", 10_000, |n| {
            repeated(n, |i| format!("---\na{i}: 1\n"))
        }),
        family("empty documents", 20_000, |n| repeated(n, |_| "---\n".to_owned())),
        family("comments", 50_000, |n| {
            repeated(n, |_| "# a comment of some length\n".to_owned()) + "a: 1\n"
        }),
        family("one long comment", 500_000, |n| {
            format!("# {}\na: 1\n", "x".repeat(n))
        }),
        family("one long word", 500_000, |n| format!("a: {}\n", "x".repeat(n))),
        family("one long quoted text", 500_000, |n| {
            format!("a: \"{}\"\n", "x\\n".repeat(n / 3))
        }),
        family("a long block", 50_000, |n| {
            format!("a: |\n{}", "  some line\n".repeat(n))
        }),
        family("a long folded text", 50_000, |n| {
            format!("a: >\n{}", "  some line\n".repeat(n))
        }),
        family("blank lines", 200_000, |n| format!("a: 1\n{}", "\n".repeat(n))),
        family("blanks", 200_000, |n| format!("a:{}1\n", " ".repeat(n))),
        family("quoted texts on one line", 20_000, |n| {
            format!("[{}\"x\"]", repeated(n, |_| "\"some text\", ".to_owned()))
        }),
        family("letters that are no ASCII on one line", 20_000, |n| {
            format!("[{}\"x\"]", repeated(n, |_| "'ä€', ".to_owned()))
        }),
    ]
}

fn objects() -> Vec<Family> {
    let addon = |name: usize| format!("---\n{}", HEAD.replace("name: a", &format!("name: a{name}")));
    vec![
        family("objects", 500, move |n| {
            repeated(n, |i| format!("{}spec: {{}}\n", addon(i)))
        }),
        family("objects of other kinds", 5_000, |n| {
            repeated(n, |i| {
                format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{i}}}\n")
            })
        }),
        family("objects at fault", 300, move |n| {
            repeated(n, |i| format!("{}spec: {{colour: red}}\n", addon(i)))
        }),
        family("objects at fault on one line", 300, |n| {
            let one = |i: usize| {
                format!(
                    "{{\"apiVersion\": \"addon.open-cluster-management.io/v1alpha1\", \"kind\": \"ClusterManagementAddOn\", \"metadata\": {{\"name\": \"a{i}\"}}, \"spec\": {{\"colour\": 1}}}},"
                )
            };
            format!(
                "{{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{}]}}",
                repeated(n, one)
            )
        }),
        family("unknown fields", 1_000, |n| {
            format!("{HEAD}spec:\n{}", repeated(n, |i| format!("  k{i}: 1\n")))
        }),
        family("documents at fault", 2_000, |n| {
            repeated(n, |_| "---\na: 1\na: 2\n".to_owned())
        }),
    ]
}

fn grow(families: &[Family], took: Reader) {
    let faults: Vec<String> = families
        .iter()
        .filter_map(|(name, small, make)| growth(name, *small, make.as_ref(), took))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn texts_are_read_in_a_time_that_grows_with_them() {
    grow(&texts(), took);
}

#[test]
fn objects_are_judged_in_a_time_that_grows_with_them() {
    grow(&objects(), took);
}

#[test]
fn settings_are_read_in_a_time_that_grows_with_them() {
    grow(
        &[
            family("keys", 10_000, |n| repeated(n, |i| format!("k{i}: 1\n"))),
            family("settings", 3_000, |n| {
                repeated(n, |_| "- {rule: \"rollout/*\", action: Warn}\n".to_owned())
            }),
        ],
        enforcement,
    );
}

#[test]
fn credentials_are_looked_for_in_a_time_that_grows_with_the_dump() {
    grow(
        &[
            family("nothing", 100_000, |n| "some words of a text ".repeat(n / 20)),
            family("pairs", 2_000, |n| {
                repeated(n, |i| format!("password=Hunter{i:08}\n"))
            }),
            family("keys that never end", 4_000, |n| {
                "-----BEGIN PRIVATE KEY-----\n".repeat(n)
            }),
            family("almost addresses", 20_000, |n| "a://b:c/".repeat(n)),
            family("one long word", 100_000, |n| "token".repeat(n / 5)),
            family("base64", 100_000, |n| "YWJj".repeat(n / 4)),
            family("brackets", 50_000, |n| format!("{{{}}}", "[".repeat(n))),
            family("tokens that begin alike", 1_000, |n| {
                repeated(n, |i| format!("eyJhbGciOi.eyJzdWIiOi.{i:08}A "))
            }),
        ],
        dump,
    );
}

#[test]
fn growth_that_is_too_much_is_seen() {
    let slow = |n: usize| {
        let wanted = Duration::from_micros((n * n) as u64 / 10);
        let mut done = Duration::ZERO;
        while done < wanted {
            done += work(|| {
                for step in 0..1_000 {
                    std::hint::black_box(step);
                }
            });
        }
    };
    let (one, eight) = (work(|| slow(400)), work(|| slow(3_200)));
    assert!(eight > one.max(FLOOR) * MOST);
}
