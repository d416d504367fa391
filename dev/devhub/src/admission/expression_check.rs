//! Expressions of admission that are about to be stored.
//!
//! Decides which of them are refused: what does not compile, what reads a variable that is not there, what never has the
//! wanted type. Never evaluates an expression that reads anything.

use cel_engine::{Program, Reference, ResultKind, Step};
use serde_json::Value;

/// What an expression must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultType {
    /// A truth value.
    Bool,
    /// A text.
    Text,
    /// A text or null.
    TextOrNull,
    /// Anything.
    Any,
}

/// What an expression may read besides the request, its objects and the namespace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Environment<'a> {
    /// Whether there are parameters.
    pub(super) params: bool,
    /// Whether it may ask what the user may do.
    pub(super) authorizer: bool,
    /// Variables that are declared before it.
    pub(super) variables: &'a [&'a str],
}

/// Returns why an expression is refused.
pub(super) fn fault(expression: &str, environment: Environment<'_>, wanted: ResultType) -> Option<String> {
    let program = match Program::compile(expression) {
        Ok(program) => program,
        Err(cause) => return Some(format!("compilation failed: {cause}")),
    };
    let references = program.references();
    let unknown = references
        .iter()
        .find_map(|reference| Some((reference, misread(reference, environment)?)));
    if let Some((reference, (offset, cause))) = unknown {
        let (line, column) = start(expression, reference);
        let place = located(expression, (line, column + offset), &cause);
        return Some(format!("compilation failed: {place}"));
    }
    let found = kind(&program, references.is_empty())?;
    let expected = match wanted {
        ResultType::Bool if found != "bool" => "bool",
        ResultType::Text if found != "string" => "string",
        ResultType::TextOrNull if !matches!(found, "string" | "null_type") => "one of [string null_type]",
        ResultType::Bool | ResultType::Text | ResultType::TextOrNull | ResultType::Any => return None,
    };
    Some(format!("must evaluate to {expected} but got {found}"))
}

/// Returns what is wrong with a name, and how far behind its beginning.
fn misread(reference: &Reference, environment: Environment<'_>) -> Option<(usize, String)> {
    let name = reference.name.as_str();
    let known = match name {
        "object" | "oldObject" | "request" | "namespaceObject" => true,
        "params" => environment.params,
        "authorizer" => environment.authorizer,
        "variables" => {
            let Some(Step::Member(member)) = reference.steps.first() else {
                return None;
            };
            if environment.variables.contains(&member.as_str()) {
                return None;
            }
            if !environment.variables.is_empty() {
                // A test for presence is placed at the bracket of `has(`, every other member at its dot.
                let is_test = reference.tested && reference.steps.len() == 1;
                let offset = if is_test { 0 } else { 9 };
                return Some((offset, format!("undefined field '{member}'")));
            }
            false
        }
        _ => false,
    };
    (!known).then(|| (0, format!("undeclared reference to '{name}' (in container '')")))
}

/// Returns line and column at which the name begins; a reference is placed at its last member.
fn start(source: &str, reference: &Reference) -> (usize, usize) {
    let (line, column) = reference.place;
    let at = |place: isize| usize::try_from(place).unwrap_or(1).max(1);
    let (line, column) = (at(line), at(column));
    if reference.name == "variables" && reference.tested && reference.steps.len() == 1 {
        return (line, column);
    }
    let text = source.lines().nth(line - 1).unwrap_or_default();
    let end = text
        .char_indices()
        .nth(column - 1)
        .map_or(text.len(), |(end, _)| end);
    let (before, rest) = text.split_at(end);
    if rest.starts_with(&reference.name) {
        return (line, column);
    }
    let found = before
        .rfind(&reference.name)
        .and_then(|found| before.get(..found));
    (line, found.map_or(column, |before| before.chars().count() + 1))
}

fn located(source: &str, (line, column): (usize, usize), cause: &str) -> String {
    let text = source.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let dots = ".".repeat(column.saturating_sub(1));
    format!("ERROR: <input>:{line}:{column}: {cause}\n | {text}\n | {dots}^")
}

/// Returns the name of the type of the result, if it can be told without a request.
fn kind(program: &Program, reads_nothing: bool) -> Option<&'static str> {
    if reads_nothing {
        return Some(match program.eval(&[]).ok()? {
            Value::Bool(_) => "bool",
            Value::Null => "null_type",
            Value::String(_) => "string",
            Value::Number(number) if number.is_f64() => "double",
            Value::Number(_) => "int",
            Value::Array(_) => "list",
            Value::Object(_) => "map",
        });
    }
    match program.result_kind() {
        ResultKind::Bool => Some("bool"),
        ResultKind::Text => Some("string"),
        ResultKind::List => Some("list(dyn)"),
        ResultKind::Map => Some("map(dyn, dyn)"),
        ResultKind::Other | ResultKind::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, wanted: ResultType, expected: Option<&str>) {
        let environment = Environment {
            params: false,
            authorizer: true,
            variables: &["big"],
        };
        assert_eq!(fault(expression, environment, wanted).as_deref(), expected);
    }

    #[test]
    fn what_cannot_be_right_is_refused() {
        check("object.spec.size > 1 && variables.big", ResultType::Bool, None);
        check(
            "authorizer.requestResource.check('get').allowed()",
            ResultType::Bool,
            None,
        );
        check("object.items.all(item, item > 1)", ResultType::Bool, None);
        check("object.spec.name", ResultType::Text, None);
        check(
            "1 + 1",
            ResultType::Bool,
            Some("must evaluate to bool but got int"),
        );
        check(
            "'a' + object.x",
            ResultType::Bool,
            Some("must evaluate to bool but got string"),
        );
        check("null", ResultType::TextOrNull, None);
        check(
            "1",
            ResultType::TextOrNull,
            Some("must evaluate to one of [string null_type] but got int"),
        );
        check(
            "object.x == params.y",
            ResultType::Bool,
            Some(
                "compilation failed: ERROR: <input>:1:13: undeclared reference to 'params' (in container '')\n | object.x == params.y\n | ............^",
            ),
        );
        check(
            "variables.huge",
            ResultType::Any,
            Some(
                "compilation failed: ERROR: <input>:1:10: undefined field 'huge'\n | variables.huge\n | .........^",
            ),
        );
        check("has(variables.big)", ResultType::Bool, None);
        check(
            "has(variables.huge)",
            ResultType::Bool,
            Some(
                "compilation failed: ERROR: <input>:1:4: undefined field 'huge'\n | has(variables.huge)\n | ...^",
            ),
        );
        let text = "object.";
        let environment = Environment {
            params: true,
            authorizer: false,
            variables: &[],
        };
        let found = fault(text, environment, ResultType::Bool).unwrap_or_default();
        assert!(
            found.starts_with("compilation failed: ERROR: <input>:1:8: "),
            "{found}"
        );
        assert!(fault("authorizer != null", environment, ResultType::Bool).is_some());
        assert!(
            fault("variables.a", environment, ResultType::Any)
                .is_some_and(|found| found.contains("undeclared reference to 'variables'"))
        );
    }
}
