//! The tools that need no hub: `check` on folders and on git, `explain`, completions and manual pages.
//!
//! Tests where and how findings are shown; the rule pages test the findings.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::rig::{Run, repository, run, tidegate};

/// Marks a line of the example folder on which a rule finds something.
const MARK: &str = "# here: ";

fn checked(args: &[&str]) -> (Run, Value) {
    let run = run(&[&["check", "-o", "json"], args].concat());
    let report = serde_json::from_str(&run.stdout).unwrap_or_default();
    (run, report)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// Every line of the folder that carries a mark: file, line and rule.
fn marks(folder: &Path, found: &mut BTreeSet<(String, u64, String)>) {
    for entry in std::fs::read_dir(folder).expect("the folder is there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            marks(&path, found);
            continue;
        }
        let content = std::fs::read_to_string(&path).expect("text");
        for (number, line) in (1..).zip(content.lines()) {
            if let Some((_, rule)) = line.split_once(MARK) {
                found.insert((path.to_string_lossy().into_owned(), number, rule.to_owned()));
            }
        }
    }
}

#[test]
fn check_finds_every_fault_of_a_folder_exactly_where_it_stands() {
    let folder = repository("tests/data/check");
    let (run, report) = checked(&[&folder.to_string_lossy()]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    let mut expected = BTreeSet::new();
    marks(&folder, &mut expected);
    assert!(expected.len() >= 30, "the folder has lost its faults");
    let findings = report["findings"].as_array().expect("findings");
    let told: BTreeSet<(String, u64, String)> = findings
        .iter()
        .map(|finding| {
            let line = finding["line"].as_u64().expect("a line");
            (
                text(finding, "file").to_owned(),
                line,
                text(finding, "rule").to_owned(),
            )
        })
        .collect();
    assert_eq!(told, expected);
    for finding in findings {
        let content = std::fs::read_to_string(text(finding, "file")).expect("text");
        let number = |name: &str| usize::try_from(finding[name].as_u64().expect("a number")).expect("small");
        let line = content
            .lines()
            .nth(number("line") - 1)
            .expect("the line is there");
        let before_mark = line.split(MARK).next().unwrap_or_default().trim_end();
        let (start, end) = (number("column") - 1, number("endColumn") - 1);
        let shown: String = line.chars().skip(start).take(end - start).collect();
        let last = text(finding, "path").rsplit('.').next().unwrap_or_default();
        // A value stands behind its key up to the mark; what is missing is shown where the item begins.
        let value = before_mark.split_once(": ").map_or("", |(_, value)| value);
        let is_key = shown == last;
        assert!(
            shown == value || is_key || before_mark.trim_start().starts_with("- "),
            "{finding:#}\nshows {shown:?} of {line:?}"
        );
    }
    let ignored = &report["summary"]["ignored"];
    assert_eq!(ignored["templates of Helm charts"], 1);
    assert_eq!(ignored["patches of kustomizations"], 1);
    assert_eq!(report["summary"]["unreadable"], 0);
}

#[test]
fn check_tells_with_its_exit_status_how_it_ended() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("writable");
        path.to_string_lossy().into_owned()
    };
    let addon = |spec: &str| {
        format!(
            "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ClusterManagementAddOn\nmetadata: {{name: a}}\nspec: {spec}\n"
        )
    };
    let clean = write("clean.yaml", &addon("{}"));
    let warned = write("warned.yaml", &addon("{colour: red}"));
    let broken = write("broken.yaml", "a: [1,\n");
    let latin = folder.path().join("latin.yaml");
    std::fs::write(&latin, b"a: 1\nb: caf\xe9\n").expect("writable");
    let latin = latin.to_string_lossy().into_owned();
    let orphan = write(
        "orphan.yaml",
        "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ManagedClusterAddOn\nmetadata: {name: x, namespace: c}\nspec: {}\n",
    );
    for (args, status) in [
        (vec![clean.as_str()], 0),
        (vec![&warned], 0),
        (vec![&warned, "--fail-on", "warning"], 1),
        (vec![&orphan], 0),
        (vec![&orphan, "--missing-facts", "fail"], 1),
        (vec![&orphan, "--missing-facts", "skip"], 0),
        (vec![&broken], 2),
        (vec![&broken, "--fail-on", "never"], 2),
        (vec![&latin], 2),
        (vec!["/nowhere/at/all"], 2),
        (vec![&clean, "-o", "jason"], 2),
        (vec![&clean, "-o", "json", "-o", "table"], 2),
        (vec![&clean, "--base", "no-such-revision"], 2),
        (vec![&clean, "--facts", &clean], 0),
        (vec![&clean, "--facts", &latin], 2),
        (vec![], 2),
    ] {
        let ended = run(&[&["check"], &args[..]].concat());
        assert_eq!(
            ended.code,
            Some(status),
            "{args:?}: {}{}",
            ended.stdout,
            ended.stderr
        );
    }
}

#[test]
fn an_unreadable_file_is_reported_with_its_position_and_hides_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (broken, latin, clean) = (path("broken.yaml"), path("latin.yaml"), path("clean.yaml"));
    std::fs::write(&broken, "a: [1,\n").expect("writable");
    std::fs::write(&latin, b"a: 1\nb: caf\xe9\n").expect("writable");
    let addon = "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ClusterManagementAddOn\nmetadata: {name: a}\nspec: {}\n";
    std::fs::write(&clean, addon).expect("writable");
    let (_, report) = checked(&[&broken, &latin, &clean]);
    let places: Vec<(u64, u64)> = report["unreadable"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|fault| {
            (
                fault["line"].as_u64().expect("a line"),
                fault["column"].as_u64().expect("a column"),
            )
        })
        .collect();
    assert_eq!(places, [(1, 4), (2, 7)], "{report:#}");
    assert_eq!(
        report["summary"]["objects"], 1,
        "what can be read is judged all the same"
    );
}

#[test]
fn check_writes_several_reports_at_once_and_colours_none_of_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (sarif, junit) = (file("a.sarif"), file("a.xml"));
    let example = repository("tests/data/check/instances.yml")
        .to_string_lossy()
        .into_owned();
    let ended = run(&[
        "check",
        &example,
        "-o",
        "table",
        "-o",
        &format!("sarif={sarif}"),
        "-o",
        &format!("junit={junit}"),
    ]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("^^^^^ ") && !ended.stdout.contains('\u{1b}'),
        "{}",
        ended.stdout
    );
    let log: Value = serde_json::from_str(&std::fs::read_to_string(&sarif).expect("written")).expect("JSON");
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 10);
    let rules = log["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .expect("rules");
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("small");
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    let xml = std::fs::read_to_string(&junit).expect("written");
    assert!(
        xml.contains("<testsuites name=\"tidegate check\" tests=\"3\" failures=\"3\""),
        "{xml}"
    );
    let coloured = run(&["check", &example, "--color", "always"]);
    assert!(coloured.stdout.contains('\u{1b}'));
}

#[test]
fn check_reads_standard_input() {
    let example = std::fs::File::open(repository("tests/data/check/instances.yml")).expect("there");
    let output = tidegate()
        .args(["check", "-f", "-", "-o", "github"])
        .stdin(example)
        .output()
        .expect("it ends");
    let run = Run::from(output);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stdout.contains("::error file=stdin,line=9,endLine=9,col=15,"),
        "{}",
        run.stdout
    );
}

fn git(folder: &Path, words: &[&str]) {
    let done = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(words)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("these tests need git on the PATH");
    assert!(
        done.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn check_against_a_revision_ignores_unchanged_errors() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("old name.yaml");
    let content = |name: &str, failures: &str| {
        format!(
            "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ClusterManagementAddOn\nmetadata: {{name: {name}}}\n\
             spec:\n  installStrategy:\n    type: Placements\n    placements:\n    - name: p\n      namespace: default\n\
             \u{20}     rolloutStrategy: {{type: Progressive, progressive: {{minSuccessTime: banana, maxFailures: {failures}}}}}\n"
        )
    };
    std::fs::write(&path, format!("{}---\n{}", content("a", "-1"), content("b", "1"))).expect("writable");
    git(folder.path(), &["init", "-q"]);
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-qm", "before"]);
    std::fs::remove_file(&path).expect("there");
    // Moved to another file, one fault touched, one object added.
    std::fs::write(folder.path().join("new.yaml"), content("a", "-2")).expect("writable");
    std::fs::write(folder.path().join("c.yaml"), content("c", "1")).expect("writable");
    let dir = folder.path().to_string_lossy().into_owned();
    let (run, report) = checked(&[&dir, "--base", "HEAD"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let mut told: Vec<String> = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(|finding| {
            let name = finding["object"]["name"].as_str().unwrap_or_default();
            format!("{} {name} {}", text(finding, "severity"), text(finding, "rule"))
        })
        .collect();
    told.sort();
    assert_eq!(
        told,
        [
            "error a rollout/max-failures",
            "error c rollout/min-success-time",
            "unknown a install/unknown-placement",
            "unknown c install/unknown-placement",
            "warning a rollout/min-success-time",
        ]
    );
    let option = checked(&[&dir, "--base", "--output=x"]).0;
    assert_eq!(
        option.code,
        Some(2),
        "git is never handed an option: {}",
        option.stderr
    );
}

#[test]
fn explain_knows_rules_causes_and_fields_and_suggests_the_rest() {
    let rule = run(&["explain", "rollout/max-concurrency"]);
    assert!(
        rule.ok && rule.stdout.starts_with("rollout/max-concurrency\n"),
        "{}",
        rule.stdout
    );
    let field = run(&["explain", "ManagedClusterAddOn.spec.installNamespace"]);
    assert!(
        field
            .stdout
            .contains("DEFAULT:  \"open-cluster-management-agent-addon\""),
        "{}",
        field.stdout
    );
    let slip = run(&["explain", "rolout/max-concurrency"]);
    assert_eq!(slip.code, Some(2));
    assert!(
        slip.stderr.contains("did you mean \"rollout/max-concurrency\"?"),
        "{}",
        slip.stderr
    );
    let list = run(&["explain", "--list"]);
    assert!(list.stdout.contains("why/work-not-applied") && list.stdout.contains("ClusterManagementAddOn"));
    assert_eq!(run(&["explain"]).code, Some(2));
}

#[test]
fn excluded_files_are_not_validated() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("vendor/deep")).expect("writable");
    std::fs::write(at("broken.tmp.yaml"), "a: [1,\n").expect("writable");
    std::fs::write(at("vendor/deep/broken.yaml"), "a: [1,\n").expect("writable");
    let good = "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ClusterManagementAddOn\nmetadata: {name: a}\nspec: {}\n";
    std::fs::write(at("good.yaml"), good).expect("writable");
    let path = folder.path().to_string_lossy();
    assert_eq!(run(&["check", &path]).code, Some(2));
    let tried = run(&["check", &path, "--exclude", "vendor", "--exclude", "*.tmp.yaml"]);
    assert_eq!(tried.code, Some(0), "{}{}", tried.stdout, tried.stderr);
    assert_eq!(tried.stderr, "");
    let slip = run(&[
        "check",
        &path,
        "--exclude",
        "vendor",
        "--exclude",
        "deep",
        "--exclude",
        "*.yml",
    ]);
    let told = "tidegate: warning: the pattern \"*.yml\" of --exclude matches no manifest\n";
    assert_eq!(slip.stderr, told);
    let nothing = run(&["check", &path, "--exclude", "*"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.stdout);
    assert!(
        nothing.stderr.contains("every file is excluded"),
        "{}",
        nothing.stderr
    );
    let patterns = "# of others\nvendor/deep\n*.tmp.yaml\nvendr\n";
    std::fs::write(at(".tidegateignore"), patterns).expect("writable");
    let tried = run(&["check", &path]);
    assert_eq!(tried.code, Some(0), "{}{}", tried.stdout, tried.stderr);
    let told = format!("warning: the pattern \"vendr\" of {path}/.tidegateignore matches no manifest");
    assert!(tried.stderr.contains(&told), "{}", tried.stderr);
    assert_eq!(tried.stderr.lines().count(), 1, "{}", tried.stderr);
}

#[test]
fn every_shell_gets_a_script_and_every_command_a_page() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&["completion", shell]);
        let asks = ["missing-facts", "__complete"];
        assert!(
            script.ok && asks.iter().any(|word| script.stdout.contains(word)),
            "{shell}"
        );
        assert_eq!(
            run(&["completions", shell]).stdout,
            script.stdout,
            "the former name"
        );
    }
    let completed = run(&["__complete", "explain", "rollout/min-s"]);
    assert_eq!(completed.stdout, "rollout/min-success-time\n:4\n");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().join("man").to_string_lossy().into_owned();
    assert!(run(&["man", "--dir", &dir]).ok);
    for page in ["tidegate", "tidegate-check", "tidegate-why", "tidegate-plan"] {
        let text = std::fs::read_to_string(folder.path().join(format!("man/{page}.1"))).expect(page);
        let title = text
            .lines()
            .find(|line| line.starts_with(".TH"))
            .unwrap_or_default();
        assert!(title.contains(page), "{page}: {title}");
    }
    assert!(run(&["man"]).stdout.contains(".TH tidegate"));
}
