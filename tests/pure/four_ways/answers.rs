//! The answers of the four ways, in a form that can be compared.

use admission::{FieldsKnownBy, Operation, RequestContext, Rulebook, UnknownFacts, Verdict, Webhook};
use audit::{FindingState, KINDS, judge};
use insight::offline::Identity;
use jiff::Timestamp;
use kubernetes::field::Violation;
use lint::check::{Background, Base, File, MissingFacts, check};
use lint::report::{Finding, Severity};
use serde_json::Value;
use store::{Facts, Kind};

use super::hub;
use crate::kit::pages::Example;

/// A verdict; what a way cannot report is absent.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) allowed: bool,
    /// `path: class: value: what would be right; hint: … [rule]`
    pub(crate) violations: Vec<String>,
    /// The same of warnings.
    pub(crate) warnings: Option<Vec<String>>,
    /// Warnings as an API server passes them on.
    pub(crate) short_warnings: Option<Vec<String>>,
    /// The JSON patch.
    pub(crate) patch: Option<Value>,
    /// The patch as `check` shows it.
    pub(crate) additions: Option<Vec<String>>,
}

impl Answer {
    /// Returns how two answers differ in what both of them show.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let both = |name: &str, one: Option<String>, other: Option<String>| match (one, other) {
            (Some(one), Some(other)) if one != other => {
                Some(format!("  {name}: {one}\n  but here: {other}\n"))
            }
            _ => None,
        };
        let text = |list: &Option<Vec<String>>| list.as_ref().map(|list| format!("{list:#?}"));
        // The order of two warnings about one field is not guaranteed.
        let sorted = |list: &Option<Vec<String>>| {
            let mut list = list.clone();
            if let Some(list) = &mut list {
                list.sort();
            }
            text(&list)
        };
        let shown = |patch: &Option<Value>| patch.as_ref().map(ToString::to_string);
        let parts = [
            both(
                "allowed",
                Some(self.allowed.to_string()),
                Some(other.allowed.to_string()),
            ),
            both(
                "violations",
                Some(format!("{:#?}", self.violations)),
                Some(format!("{:#?}", other.violations)),
            ),
            both("warnings", sorted(&self.warnings), sorted(&other.warnings)),
            both(
                "warnings",
                text(&self.short_warnings),
                text(&other.short_warnings),
            ),
            both("patch", shown(&self.patch), shown(&other.patch)),
            both("additions", text(&self.additions), text(&other.additions)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.concat())
    }
}

pub(crate) fn at_decide(
    example: &Example,
    facts: &Facts,
    (unknown, fields): (UnknownFacts, FieldsKnownBy<'_>),
) -> Answer {
    let alone = RequestContext {
        unknown,
        fields,
        ..RequestContext::default()
    };
    let rulebook = Rulebook::default();
    let verdict: Verdict = example.asked.as_told(&rulebook, (Webhook::Mutate, alone), facts);
    let patch = serde_json::to_value(verdict.patch()).expect("a patch is JSON");
    Answer {
        allowed: verdict.allowed(),
        violations: verdict.violations().iter().map(Violation::to_string).collect(),
        warnings: Some(
            verdict
                .warnings()
                .iter()
                .map(|warning| warning.violation().warning())
                .collect(),
        ),
        short_warnings: Some(admission::wire::warnings(&verdict)),
        additions: Some(lines(&patch)),
        patch: Some(patch),
    }
}

/// Writes the object into a file, the facts into a hub, and reads the report.
pub(crate) fn at_check(example: &Example) -> Answer {
    let asked = &example.asked;
    let goes = asked.operation == Operation::Delete;
    let old = if goes {
        Some(&asked.object)
    } else {
        asked.old.as_ref()
    };
    let base = old.map(|old| Base {
        objects: [(Identity::of(old), old.clone())].into(),
        deletes: goes,
    });
    let background = Background {
        hub: hub::of(&example.written),
        base,
        rulebook: Rulebook::default(),
        now: None,
        definitions: None,
    };
    // JSON is YAML, and an object of a page has been YAML before.
    let file = File {
        path: "object.yaml".to_owned(),
        text: format!("{:#}", asked.object),
    };
    let files = if goes { Vec::new() } else { vec![file] };
    let report = check(&files, &background, MissingFacts::Warn);
    assert!(report.unreadable.is_empty(), "{:?}", report.unreadable);
    let of = |severity: Severity| {
        let mut all: Vec<&Finding> = report
            .findings
            .iter()
            .filter(|finding| finding.severity == severity)
            // Names and namespaces are of files: an API server has checked them before it calls a webhook.
            .filter(|finding| {
                let is_of_files = ["metadata.name", "metadata.namespace"].contains(&finding.path.as_str());
                !finding.rule.starts_with("metadata/") || !is_of_files
            })
            .collect();
        all.sort_by_key(|finding| {
            (
                kubernetes::field::Path::parse(&finding.path),
                finding.rule.clone(),
            )
        });
        all.into_iter().map(said).collect::<Vec<String>>()
    };
    let violations = of(Severity::Error);
    Answer {
        allowed: violations.is_empty(),
        violations,
        warnings: Some(of(Severity::Warning)),
        additions: Some(
            report
                .checked
                .iter()
                .flat_map(|checked| checked.additions.clone())
                .collect(),
        ),
        ..Answer::default()
    }
}

/// Returns the kind of an object, if it is audited.
pub(crate) fn audited_kind(object: &Value) -> Option<Kind> {
    let (api_version, kind) = (object["apiVersion"].as_str()?, object["kind"].as_str()?);
    let mut kinds = KINDS.into_iter();
    kinds.find(|known| known.address().kind == kind && known.api_version() == api_version)
}

/// Judges the object as one that is stored.
pub(crate) fn at_audit(example: &Example) -> Answer {
    let object = &example.asked.object;
    let kind = audited_kind(object).expect("an audited kind");
    let now = Timestamp::UNIX_EPOCH;
    let found = judge(kind, object, &example.facts, &Rulebook::default(), now);
    let of = |standing: FindingState| {
        let some = found.iter().filter(|finding| finding.standing == standing);
        some.map(|finding| finding.message.to_string())
            .collect::<Vec<String>>()
    };
    let violations = of(FindingState::Denied);
    Answer {
        allowed: violations.is_empty(),
        violations,
        warnings: Some(of(FindingState::Warned)),
        ..Answer::default()
    }
}

fn said(finding: &Finding) -> String {
    let hint = finding
        .hint
        .as_ref()
        .map_or_else(String::new, |hint| format!("; hint: {hint}"));
    let path = if finding.path.is_empty() {
        String::new()
    } else {
        format!("{}: ", finding.path)
    };
    format!("{path}{}{hint} [{}]", finding.message, finding.rule)
}

fn lines(patch: &Value) -> Vec<String> {
    let operations = patch.as_array().expect("a list of operations");
    let line = |operation: &Value| {
        let path = operation["path"].as_str().expect("a pointer");
        let field = path
            .trim_start_matches('/')
            .replace('/', ".")
            .replace("~1", "/")
            .replace("~0", "~");
        format!("{field} = {}", operation["value"])
    };
    operations.iter().map(line).collect()
}
