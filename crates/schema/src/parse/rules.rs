//! Reads `x-kubernetes-validations`.
//!
//! Decides whether a rule is well formed, compiles, and may use `oldSelf` where it stands. An expression that this
//! server cannot evaluate is a fault of class `Internal`: the schema must not be accepted as if it were checked.

use super::level::Level;
use crate::error::{ErrorClass, FieldError};
use crate::fault;
use crate::node::{Kind, Node};
use crate::path::Path;
use crate::rules::{Member, OldSelf, Rule, Wanted, check_expression, is_typed};
use cel_engine::Program;
use serde_json::{Map, Value, json};

/// Where the rules of a schema stand.
pub(super) struct Site<'a> {
    pub(super) level: Level,
    pub(super) path: &'a Path<'a>,
    /// Field of the list around, if its items cannot be matched with old ones.
    pub(super) unmatched: Option<&'a str>,
    /// How many faults there were before this schema.
    pub(super) since: usize,
}

/// Reads all rules of a schema whose properties and items are read already.
pub(super) fn read(
    node: &mut Node,
    words: &Map<String, Value>,
    site: &Site<'_>,
    faults: &mut Vec<FieldError>,
    expressions: &mut Vec<FieldError>,
) {
    let Some(given) = words.get("x-kubernetes-validations").and_then(Value::as_array) else {
        return;
    };
    let at = site.path.child("x-kubernetes-validations");
    let heads: Vec<Head> = given
        .iter()
        .enumerate()
        .map(|(index, rule)| Head::read(node, rule, &at.index(index), faults))
        .collect();
    let refused = faults.len() > site.since;
    if !is_typed(node) {
        let words = "internal error: failed to construct type information for x-kubernetes-validations rules: \
                     unable to convert structural schema to CEL declarations";
        if !refused {
            expressions.push(fault::internal(&at, words));
        }
        return;
    }
    // What is wrong with the schema explains what is wrong with expressions. Defaults meet the rules nevertheless.
    let mut ignored = Vec::new();
    let expressions = if refused { &mut ignored } else { expressions };
    for (index, (rule, head)) in given.iter().zip(heads).enumerate() {
        if text(rule, "rule").unwrap_or_default().trim().is_empty() {
            continue;
        }
        let here = Site {
            path: &at.index(index),
            ..*site
        };
        match read_one(node, rule, head, &here, expressions) {
            Ok(rule) => node.rules.push(rule),
            Err(words) => node.rules.broken.push(words),
        }
    }
}

/// What a rule says besides its expressions.
struct Head {
    class: ErrorClass,
    field_path: Vec<Member>,
}

impl Head {
    fn read(node: &Node, given: &Value, path: &Path<'_>, faults: &mut Vec<FieldError>) -> Self {
        if text(given, "rule").unwrap_or_default().trim().is_empty() {
            faults.push(fault::required(&path.child("rule"), "rule is not specified"));
        } else {
            check_message(given, path, faults);
        }
        if text(given, "messageExpression").is_some_and(|text| !text.is_empty() && text.trim().is_empty()) {
            let (at, why) = (
                path.child("messageExpression"),
                "messageExpression must be non-empty if specified",
            );
            faults.push(fault::required(&at, why));
        }
        Self {
            class: class(given, path, faults),
            field_path: field_path(node, given, path, faults),
        }
    }
}

fn text<'a>(given: &'a Value, name: &str) -> Option<&'a str> {
    given.get(name).and_then(Value::as_str)
}

fn read_one(
    node: &Node,
    given: &Value,
    head: Head,
    site: &Site<'_>,
    faults: &mut Vec<FieldError>,
) -> Result<Rule, String> {
    let path = site.path;
    let source = text(given, "rule").unwrap_or_default();
    let optional_old = given
        .get("optionalOldSelf")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let Head { class, field_path } = head;
    let build = Build {
        node,
        given,
        at_root: site.level == Level::Root,
        optional_old,
    };
    let program = build.program(source, Wanted::Bool, &path.child("rule"), faults);
    let message_expression = text(given, "messageExpression")
        .filter(|source| program.is_ok() && !source.trim().is_empty())
        .map(|source| build.program(source, Wanted::String, &path.child("messageExpression"), faults));
    let message_expression = message_expression.and_then(Result::ok);
    let uses_old = program.as_ref().is_ok_and(reads_old_self);
    let reads_old = uses_old || message_expression.as_ref().is_some_and(reads_old_self);
    check_old_self(given, uses_old, site, faults);
    let program = program?;
    let message = text(given, "message")
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(ToOwned::to_owned);
    let text = source.trim().to_owned();
    Ok(Rule {
        text,
        program,
        message,
        message_expression,
        class,
        field_path,
        reads_old,
        optional_old,
    })
}

fn reads_old_self(program: &Program) -> bool {
    program.reads("oldSelf")
}

/// Checks whether a rule may use `oldSelf` where it stands, and does if it says that there may be none.
fn check_old_self(given: &Value, uses_old: bool, site: &Site<'_>, faults: &mut Vec<FieldError>) {
    let path = site.path;
    let source = text(given, "rule").unwrap_or_default();
    let stated = given.get("optionalOldSelf").filter(|given| given.is_boolean());
    let optional_old = stated == Some(&Value::Bool(true));
    if let Some(list) = site.unmatched.filter(|_| uses_old && !optional_old) {
        let detail =
            format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {list}");
        faults.push(fault::invalid(
            &path.child("rule"),
            &Value::String(source.to_owned()),
            &detail,
        ));
    }
    if let Some(given) = stated
        && !uses_old
    {
        let why = "may not be set if oldSelf is not used in rule";
        faults.push(fault::invalid(&path.child("optionalOldSelf"), given, why));
    }
}

/// What expressions of one rule are compiled against.
struct Build<'a> {
    node: &'a Node,
    given: &'a Value,
    at_root: bool,
    optional_old: bool,
}

impl Build<'_> {
    fn program(
        &self,
        source: &str,
        wanted: Wanted,
        at: &Path<'_>,
        faults: &mut Vec<FieldError>,
    ) -> Result<Program, String> {
        let built = Program::build(source)
            .map_err(|error| (error.unsupported, error.to_string()))
            .and_then(|program| {
                let old = if self.optional_old {
                    OldSelf::Optional
                } else {
                    OldSelf::LikeSelf
                };
                let checked = check_expression(&program, self.node, self.at_root, old, wanted);
                checked.map(|()| program).map_err(|words| (false, words))
            });
        match built {
            Ok(program) => Ok(program),
            Err((false, words)) => {
                let known = words.starts_with("compilation failed")
                    || words.ends_with("to a bool")
                    || words.ends_with("to a string");
                let detail = if known {
                    words
                } else {
                    format!("compilation failed: {words}")
                };
                let detail = match wanted {
                    Wanted::String if detail.starts_with("compilation failed") => {
                        format!("messageExpression {detail}")
                    }
                    Wanted::Bool | Wanted::String => detail,
                };
                faults.push(fault::invalid_printed(at, &as_go_struct(self.given), &detail));
                Err(detail)
            }
            Err((true, words)) => {
                faults.push(fault::internal(at, &words));
                Err(words)
            }
        }
    }
}

/// Prints a rule as Kubernetes shows it: its Go struct as JSON, in the order of the struct's fields.
fn as_go_struct(given: &Value) -> String {
    let printed =
        |name: &str| kubernetes::print::json(&given.get(name).cloned().unwrap_or_else(|| json!("")));
    let pointer = |name: &str| kubernetes::print::json(given.get(name).unwrap_or(&Value::Null));
    format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{},"FieldPath":{},"OptionalOldSelf":{}}}"#,
        printed("rule"),
        printed("message"),
        printed("messageExpression"),
        pointer("reason"),
        printed("fieldPath"),
        pointer("optionalOldSelf"),
    )
}

fn check_message(given: &Value, path: &Path<'_>, faults: &mut Vec<FieldError>) {
    let at = path.child("message");
    match given.get("message") {
        Some(Value::String(message)) if !message.is_empty() => {
            let shown = Value::String(message.clone());
            if message.trim().is_empty() {
                faults.push(fault::invalid(&at, &shown, "must be non-empty if specified"));
            } else if message.trim().contains(['\n', '\r']) {
                faults.push(fault::invalid(&at, &shown, "must not contain line breaks"));
            }
        }
        _ => {
            let rule = text(given, "rule").unwrap_or_default();
            if rule.trim().contains(['\n', '\r']) {
                faults.push(fault::required(
                    &at,
                    "message must be specified if rule contains line breaks",
                ));
            }
        }
    }
}

fn class(given: &Value, path: &Path<'_>, faults: &mut Vec<FieldError>) -> ErrorClass {
    let Some(reason) = given.get("reason").filter(|reason| !reason.is_null()) else {
        return ErrorClass::Invalid;
    };
    match reason.as_str() {
        Some("FieldValueInvalid") => ErrorClass::Invalid,
        Some("FieldValueRequired") => ErrorClass::Required,
        Some("FieldValueForbidden") => ErrorClass::Forbidden,
        Some("FieldValueDuplicate") => ErrorClass::Duplicate,
        Some(_) | None => {
            let legal = [
                "FieldValueDuplicate",
                "FieldValueForbidden",
                "FieldValueInvalid",
                "FieldValueRequired",
            ];
            faults.push(fault::not_supported(&path.child("reason"), reason, legal));
            ErrorClass::Invalid
        }
    }
}

fn field_path(node: &Node, given: &Value, path: &Path<'_>, faults: &mut Vec<FieldError>) -> Vec<Member> {
    let Some(source) = text(given, "fieldPath").filter(|source| !source.is_empty()) else {
        return Vec::new();
    };
    if let Some(members) = parse_field_path(source).and_then(|names| resolve(node, &names)) {
        return members;
    }
    let (at, shown) = (path.child("fieldPath"), Value::String(source.to_owned()));
    let mut refuse = |why| faults.push(fault::invalid(&at, &shown, why));
    if source.trim().is_empty() {
        refuse("must be non-empty if specified");
    }
    if source.contains(['\n', '\r']) {
        refuse("must not contain line breaks");
    }
    refuse("must be a valid path");
    Vec::new()
}

/// Splits `.a.b['c']` into its names.
fn parse_field_path(source: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = source.trim();
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix("['") {
            let (name, after) = quoted.split_once("']")?;
            names.push(name.replace("\\'", "'"));
            rest = after;
        } else {
            let after = rest.strip_prefix('.')?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, tail) = after.split_at_checked(end)?;
            if name.is_empty() {
                return None;
            }
            names.push(name.to_owned());
            rest = tail;
        }
    }
    (!names.is_empty()).then_some(names)
}

/// Follows names through a schema; only members of objects and maps can be named.
fn resolve(node: &Node, names: &[String]) -> Option<Vec<Member>> {
    let mut at = node;
    let mut members = Vec::new();
    for name in names {
        if at.kind != Kind::Object {
            return None;
        }
        let (next, member) = match at.properties.get(name) {
            Some(schema) => (schema, Member::Field(name.clone())),
            None => (at.additional_schema()?, Member::Key(name.clone())),
        };
        members.push(member);
        at = next;
    }
    Some(members)
}
