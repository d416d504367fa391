//! One report in all its forms.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use serde_json::Value;

use super::*;

fn spot(file: &str, line: usize, column: usize, end: usize, excerpt: &str) -> Spot {
    Spot {
        file: file.to_owned(),
        line,
        column,
        end,
        excerpt: excerpt.to_owned(),
        begins: 1,
    }
}

fn subject(kind: &str, namespace: &str, name: &str) -> ObjectReference {
    ObjectReference {
        kind: kind.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

fn finding(severity: Severity, rule: &str, spot: Spot, path: &str, message: &str) -> Finding {
    Finding {
        severity,
        rule: rule.to_owned(),
        spot,
        subject: subject("ClusterManagementAddOn", "", "hello"),
        path: path.to_owned(),
        message: message.to_owned(),
        hint: None,
    }
}

/// Two objects in one file, one of them with every severity, and a file that is no YAML.
fn report() -> Report {
    let file = "add ons/a:1.yaml";
    let mut warned = finding(
        Severity::Warning,
        "schema/unknown-field",
        spot(file, 12, 3, 8, "  colour: \u{1b}[31mred"),
        "spec.colour",
        "Forbidden: unknown field <b>",
    );
    warned.hint = Some("did you mean \"color\"?".to_owned());
    let mut report = Report {
        findings: vec![
            warned,
            finding(
                Severity::Error,
                "rollout/max-concurrency",
                spot(file, 8, 25, 29, "        maxConcurrency: 130%"),
                "spec.max",
                "Invalid value: \"130%\": must be between 1% and 100%\nreally",
            ),
            finding(
                Severity::Unknown,
                "facts/unknown",
                spot(file, 9, 5, 5, "    name: x"),
                "spec.x",
                "unknown here",
            ),
        ],
        unreadable: vec![Unreadable {
            spot: spot("b.yaml", 3, 1, 1, "x: ]"),
            message: "did not find expected ','".to_owned(),
        }],
        checked: vec![
            Checked {
                spot: spot(file, 20, 1, 1, "apiVersion: v1"),
                subject: subject("ManagedClusterAddOn", "c1", "hello"),
                additions: vec!["spec.installNamespace = \"agents\"".to_owned()],
            },
            Checked {
                spot: spot(file, 1, 1, 1, "apiVersion: v1"),
                subject: subject("ClusterManagementAddOn", "", "hello"),
                additions: Vec::new(),
            },
        ],
        ignored: [("of other kinds".to_owned(), [("Service".to_owned(), 2)].into())].into(),
        excused: 1,
        files: 2,
        rules: vec![RuleDoc {
            id: "rollout/max-concurrency".to_owned(),
            summary: "A sentence.".to_owned(),
            text: "More.".to_owned(),
        }],
    };
    report.sort();
    report
}

fn check(format: Format, expected: &Expect) {
    expected.assert_eq(&render(&report(), format, Style::default()));
}

#[test]
fn people_see_the_line_and_a_caret() {
    let style = Style {
        colour: false,
        additions: true,
    };
    expect![[r#"
        unreadable: did not find expected ','
         --> b.yaml:3:1
          |
        3 | x: ]
          | ^

        error[rollout/max-concurrency]: Invalid value: "130%": must be between 1% and 100%·really
         --> add ons/a:1.yaml:8:25
          |
        8 |         maxConcurrency: 130%
          |                         ^^^^ spec.max
          = in ClusterManagementAddOn hello

        unknown[facts/unknown]: unknown here
         --> add ons/a:1.yaml:9:5
          |
        9 |     name: x
          |     ^ spec.x
          = in ClusterManagementAddOn hello

        warning[schema/unknown-field]: Forbidden: unknown field <b>
          --> add ons/a:1.yaml:12:3
           |
        12 |   colour: ·[31mred
           |   ^^^^^ spec.colour
           = in ClusterManagementAddOn hello
           = hint: did you mean "color"?

        adds: ManagedClusterAddOn c1/hello (add ons/a:1.yaml:20)
          + spec.installNamespace = "agents"

        1 unreadable place, 1 error, 1 warning, 1 unknown in 2 objects of 2 files; not checked: 2 of other kinds (2 Service); 1 finding ignored by comments
    "#]]
    .assert_eq(&render(&report(), Format::Table, style));
}

#[test]
fn colours_are_only_there_when_asked_for() {
    let plain = render(&report(), Format::Table, Style::default());
    assert!(
        !plain.contains('\u{1b}'),
        "what a file says cannot colour the terminal either"
    );
    let style = Style {
        colour: true,
        additions: false,
    };
    assert!(
        render(&report(), Format::Table, style).contains("\u{1b}[1m\u{1b}[31merror[rollout/max-concurrency]")
    );
}

#[test]
fn a_long_line_is_cut_around_what_matters() {
    let line = format!("{}HERE{}", "a".repeat(400), "b".repeat(400));
    let mut report = Report::default();
    report.findings.push(finding(
        Severity::Error,
        "a/b",
        spot("f", 1, 401, 405, &line),
        "x",
        "m",
    ));
    let text = render(&report, Format::Table, Style::default());
    let lines: Vec<&str> = text.lines().collect();
    let caret = lines[4]
        .chars()
        .position(|letter| letter == '^')
        .expect("a caret");
    let above: String = lines[3].chars().skip(caret).take(4).collect();
    assert_eq!(above, "HERE");
    assert!(lines[3].chars().count() < 200);
}

#[test]
fn github_gets_one_command_a_finding() {
    check(
        Format::Github,
        &expect![[r#"
        ::error file=b.yaml,line=3,endLine=3,col=1,endColumn=1,title=unreadable::did not find expected ','
        ::error file=add ons/a%3A1.yaml,line=8,endLine=8,col=25,endColumn=28,title=rollout/max-concurrency (ClusterManagementAddOn hello)::spec.max: Invalid value: "130%25": must be between 1%25 and 100%25%0Areally
        ::notice file=add ons/a%3A1.yaml,line=9,endLine=9,col=5,endColumn=5,title=facts/unknown (ClusterManagementAddOn hello)::spec.x: unknown here
        ::warning file=add ons/a%3A1.yaml,line=12,endLine=12,col=3,endColumn=7,title=schema/unknown-field (ClusterManagementAddOn hello)::spec.colour: Forbidden: unknown field <b>; hint: did you mean "color"?
    "#]],
    );
}

#[test]
fn junit_has_a_suite_a_file_and_a_case_an_object() {
    check(
        Format::Junit,
        &expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="tidegate check" tests="3" failures="1" errors="1">
          <testsuite name="add ons/a:1.yaml" tests="2" failures="1" errors="0">
            <testcase classname="add ons/a:1.yaml" name="ClusterManagementAddOn hello">
              <failure type="rollout/max-concurrency" message="spec.max: Invalid value: &quot;130%&quot;: must be between 1% and 100%&#10;really">add ons/a:1.yaml:8:25: error: spec.max: Invalid value: &quot;130%&quot;: must be between 1% and 100%
        really [rollout/max-concurrency]
        </failure>
              <system-out>add ons/a:1.yaml:9:5: unknown: spec.x: unknown here [facts/unknown]
        add ons/a:1.yaml:12:3: warning: spec.colour: Forbidden: unknown field &lt;b&gt;; hint: did you mean &quot;color&quot;? [schema/unknown-field]
        </system-out>
            </testcase>
            <testcase classname="add ons/a:1.yaml" name="ManagedClusterAddOn c1/hello"/>
          </testsuite>
          <testsuite name="b.yaml" tests="1" failures="0" errors="1">
            <testcase classname="b.yaml" name="line 3">
              <error type="unreadable" message="did not find expected ','">b.yaml:3:1</error>
            </testcase>
          </testsuite>
        </testsuites>
    "#]],
    );
}

#[test]
fn programs_get_every_part_by_name() {
    let text = render(&report(), Format::Json, Style::default());
    let page: Value = serde_json::from_str(&text).expect("JSON");
    let mut finding = page["findings"][2].clone();
    let fingerprint = finding
        .as_object_mut()
        .and_then(|fields| fields.remove("fingerprint"));
    assert!(fingerprint.is_some_and(|text| text.as_str().is_some_and(|text| text.len() == 32)));
    expect![[r#"
        {
          "column": 3,
          "endColumn": 8,
          "file": "add ons/a:1.yaml",
          "hint": "did you mean \"color\"?",
          "line": 12,
          "message": "Forbidden: unknown field <b>",
          "object": {
            "kind": "ClusterManagementAddOn",
            "name": "hello",
            "namespace": ""
          },
          "path": "spec.colour",
          "rule": "schema/unknown-field",
          "severity": "warning"
        }"#]]
    .assert_eq(&format!("{finding:#}"));
    expect![[r#"{"errors":1,"files":2,"ignored":{"of other kinds":2},"ignoredByComments":1,"objects":2,"unknown":1,"unreadable":1,"warnings":1}"#]]
        .assert_eq(&page["summary"].to_string());
    assert_eq!(page["unreadable"][0]["line"], 3);
    assert_eq!(
        page["objects"][1]["additions"][0],
        "spec.installNamespace = \"agents\""
    );
}

#[test]
fn sarif_has_what_its_standard_asks_for() {
    let text = render(&report(), Format::Sarif, Style::default());
    let log: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "tidegate");
    assert_eq!(driver["rules"][0]["id"], "rollout/max-concurrency");
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    let told = &run["invocations"][0]["toolExecutionNotifications"][0];
    assert_eq!(told["locations"][0]["physicalLocation"]["region"]["startLine"], 3);
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 3);
    let first = &results[0];
    assert_eq!(first["ruleIndex"], 0);
    assert_eq!(first["level"], "error");
    let place = &first["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "add%20ons/a%3A1.yaml");
    let region = &place["region"];
    assert_eq!(
        [
            &region["startLine"],
            &region["startColumn"],
            &region["endLine"],
            &region["endColumn"]
        ]
        .map(Value::as_u64),
        [Some(8), Some(25), Some(8), Some(29)]
    );
    // 3.27.9: a result that is no failure has the level "none".
    let open = results
        .iter()
        .find(|result| result["kind"] == "open")
        .expect("the unknown");
    assert_eq!(open["level"], "none");
    for result in results {
        assert!(
            result["message"]["text"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
        let fingerprint = result["partialFingerprints"]["tidegateFinding/v1"].as_str();
        assert_eq!(fingerprint.map(str::len), Some(32));
    }
}

#[test]
fn fingerprints_outlive_moved_lines_and_tell_findings_apart() {
    let report = report();
    let mut moved = report.clone();
    for finding in &mut moved.findings {
        finding.spot.line += 7;
        finding.message.push_str(", in better words");
    }
    assert_eq!(fingerprints(&report), fingerprints(&moved));
    let mut twice = report.clone();
    twice.findings.extend(report.findings);
    let distinct: BTreeSet<String> = fingerprints(&twice).into_iter().collect();
    assert_eq!(distinct.len(), 6);
}
