//! Results of tests as JUnit XML: for a command that runs cases of its own, and has no findings about files.
//!
//! Decides the form only; what was expected, and what failed, is said by the command that ran the cases.

use super::junit::{attribute, escaped};

/// What became of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestEnd {
    /// It was as expected.
    Passed,
    /// It was not: the kind of failure, and every word about it, the first line in short.
    Failed(&'static str, Vec<String>),
    /// It could not be run.
    Broken(Vec<String>),
    /// It does not count: what there is to say all the same.
    Told(Vec<String>),
}

/// A test and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCase {
    /// Its name.
    pub name: String,
    /// What became of it.
    pub end: TestEnd,
}

/// Tests that belong together, such as those of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestSuite {
    /// Its name.
    pub name: String,
    /// The tests.
    pub cases: Vec<TestCase>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
}

/// Returns results of tests as JUnit XML; `name` is who ran them.
pub fn junit_of_tests(name: &str, suites: &[TestSuite]) -> String {
    let all = suites
        .iter()
        .map(counts)
        .fold(Counts::default(), |sum, one| Counts {
            tests: sum.tests + one.tests,
            failures: sum.failures + one.failures,
            errors: sum.errors + one.errors,
        });
    let mut lines = vec![
        r#"<?xml version="1.0" encoding="UTF-8"?>"#.to_owned(),
        format!("<testsuites name=\"{}\" {}>", attribute(name), told(all)),
    ];
    for suite in suites {
        let name = attribute(&suite.name);
        lines.push(format!("  <testsuite name=\"{name}\" {}>", told(counts(suite))));
        lines.extend(suite.cases.iter().map(|case| element(&name, case)));
        lines.push("  </testsuite>".to_owned());
    }
    lines.push("</testsuites>\n".to_owned());
    lines.join("\n")
}

fn counts(suite: &TestSuite) -> Counts {
    let cases = suite.cases.iter();
    let is_failed = |case: &&TestCase| matches!(case.end, TestEnd::Failed(..));
    let is_broken = |case: &&TestCase| matches!(case.end, TestEnd::Broken(_));
    Counts {
        tests: suite.cases.len(),
        failures: cases.clone().filter(is_failed).count(),
        errors: cases.filter(is_broken).count(),
    }
}

fn told(counts: Counts) -> String {
    let Counts {
        tests,
        failures,
        errors,
    } = counts;
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"")
}

/// `class` is written as an attribute already.
fn element(class: &str, case: &TestCase) -> String {
    let name = attribute(&case.name);
    let inner = match &case.end {
        TestEnd::Passed => return format!("    <testcase classname=\"{class}\" name=\"{name}\"/>"),
        TestEnd::Failed(kind, words) => fault("failure", kind, words),
        TestEnd::Broken(words) => fault("error", "broken", words),
        TestEnd::Told(words) => format!("<system-out>{}</system-out>", escaped(&words.join("\n"))),
    };
    format!("    <testcase classname=\"{class}\" name=\"{name}\">\n      {inner}\n    </testcase>")
}

fn fault(tag: &str, kind: &str, words: &[String]) -> String {
    let short = words.first().map_or("", String::as_str);
    format!(
        "<{tag} type=\"{}\" message=\"{}\">{}</{tag}>",
        attribute(kind),
        attribute(short),
        escaped(&words.join("\n"))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn whatever_a_case_is_called_the_file_is_xml() {
        let case = |name: &str, end: TestEnd| TestCase {
            name: name.to_owned(),
            end,
        };
        let suite = TestSuite {
            name: "a \"b\" & c.yaml".to_owned(),
            cases: vec![
                case("ends <well>\n", TestEnd::Passed),
                case(
                    "does not]]>",
                    TestEnd::Failed("unexpected", vec!["is < 3".to_owned(), "and & more".to_owned()]),
                ),
                case("cannot \u{1b}[31m", TestEnd::Broken(vec!["no \u{0}".to_owned()])),
                case("is let pass", TestEnd::Told(vec!["never seen".to_owned()])),
            ],
        };
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="x" tests="4" failures="1" errors="1">
              <testsuite name="a &quot;b&quot; &amp; c.yaml" tests="4" failures="1" errors="1">
                <testcase classname="a &quot;b&quot; &amp; c.yaml" name="ends &lt;well&gt;&#10;"/>
                <testcase classname="a &quot;b&quot; &amp; c.yaml" name="does not]]&gt;">
                  <failure type="unexpected" message="is &lt; 3">is &lt; 3
            and &amp; more</failure>
                </testcase>
                <testcase classname="a &quot;b&quot; &amp; c.yaml" name="cannot \u{1b}[31m">
                  <error type="broken" message="no \u{0}">no \u{0}</error>
                </testcase>
                <testcase classname="a &quot;b&quot; &amp; c.yaml" name="is let pass">
                  <system-out>never seen</system-out>
                </testcase>
              </testsuite>
            </testsuites>
        "#]]
        .assert_eq(&junit_of_tests("x", &[suite]));
    }
}
