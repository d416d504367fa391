//! JSON paths as kubectl writes them, without the braces: `.a.b`, `['a.b']`, `[0]`, `[-1]`, `[*]`, `.*`, `..name`,
//! `[?(@.type=="Ready")]`. A part that is not there yields nothing; a path that cannot be read is an error.

use std::{cmp::Ordering, iter::Peekable, str::Chars};

use serde_json::Value;

/// A path that can be followed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Key(String),
    Index(i64),
    Every,
    /// This key, at any depth.
    Deep(String),
    Filter(Operand, Option<(Comparison, Operand)>),
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Path(Path),
    Literal(Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

type Cursor<'a> = Peekable<Chars<'a>>;

impl Path {
    /// Returns the path, or what is wrong with its text.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut cursor = text.trim().chars().peekable();
        let path = parse_path(&mut cursor)?;
        match cursor.next() {
            None if path.0.is_empty() => Err("the path is empty".to_owned()),
            None => Ok(path),
            Some(other) => Err(format!("\"{other}\" is not expected here")),
        }
    }

    /// Returns all values that the path leads to, in order.
    pub(super) fn find<'a>(&self, root: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![root];
        for step in &self.0 {
            found = found.into_iter().flat_map(|value| step.follow(value)).collect();
        }
        found
    }
}

impl Step {
    fn follow<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match self {
            Self::Key(key) => value.get(key).into_iter().collect(),
            Self::Index(index) => {
                let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
                let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
                let place = if *index < 0 {
                    index.saturating_add(length)
                } else {
                    *index
                };
                usize::try_from(place)
                    .ok()
                    .and_then(|place| list.get(place))
                    .into_iter()
                    .collect()
            }
            Self::Every => children(value),
            Self::Deep(key) => {
                let below = children(value).into_iter().flat_map(|child| self.follow(child));
                value.get(key).into_iter().chain(below).collect()
            }
            Self::Filter(left, test) => children(value)
                .into_iter()
                .filter(|item| holds(left, test.as_ref(), item))
                .collect(),
        }
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn holds(left: &Operand, test: Option<&(Comparison, Operand)>, item: &Value) -> bool {
    let Some(left) = left.first(item) else {
        return false;
    };
    let Some((comparison, right)) = test else {
        return true;
    };
    let Some(right) = right.first(item) else {
        return false;
    };
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => left.as_f64().partial_cmp(&right.as_f64()),
        (left, right) => (left == right).then_some(Ordering::Equal),
    };
    match comparison {
        Comparison::Equal => order == Some(Ordering::Equal),
        Comparison::NotEqual => order != Some(Ordering::Equal),
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

impl Operand {
    fn first<'a>(&'a self, item: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Path(path) => path.find(item).first().copied(),
            Self::Literal(value) => Some(value),
        }
    }
}

fn parse_path(cursor: &mut Cursor<'_>) -> Result<Path, String> {
    cursor.next_if(|next| matches!(next, '$' | '@'));
    let mut steps = Vec::new();
    while let Some(next) = cursor.next_if(|next| matches!(next, '.' | '[')) {
        steps.push(if next == '[' {
            parse_bracket(cursor)?
        } else {
            parse_dotted(cursor)?
        });
    }
    Ok(Path(steps))
}

fn parse_dotted(cursor: &mut Cursor<'_>) -> Result<Step, String> {
    let deep = cursor.next_if_eq(&'.').is_some();
    if cursor.next_if_eq(&'*').is_some() {
        return if deep {
            Err("\"..*\" is not supported".to_owned())
        } else {
            Ok(Step::Every)
        };
    }
    let mut key = String::new();
    while let Some(next) =
        cursor.next_if(|next| !matches!(next, '.' | '[' | ']' | '(' | ')' | '=' | '!' | '<' | '>' | ' '))
    {
        // A backslash makes the next character part of the key, as in `.metadata.labels.app\.kubernetes\.io/name`.
        key.extend(if next == '\\' { cursor.next() } else { Some(next) });
    }
    match (key.is_empty(), deep) {
        (true, _) => Err("a name is missing after \".\"".to_owned()),
        (false, true) => Ok(Step::Deep(key)),
        (false, false) => Ok(Step::Key(key)),
    }
}

fn parse_bracket(cursor: &mut Cursor<'_>) -> Result<Step, String> {
    let step = match cursor.peek().copied() {
        Some('*') => {
            cursor.next();
            Step::Every
        }
        Some('?') => {
            cursor.next();
            parse_filter(cursor)?
        }
        Some(quote @ ('\'' | '"')) => {
            cursor.next();
            Step::Key(parse_quoted(cursor, quote)?)
        }
        Some(_) | None => parse_index(cursor)?,
    };
    expect(cursor, ']')?;
    Ok(step)
}

fn parse_index(cursor: &mut Cursor<'_>) -> Result<Step, String> {
    let mut text = String::new();
    while let Some(next) = cursor.next_if(|next| *next != ']') {
        text.push(next);
    }
    text.trim()
        .parse()
        .map(Step::Index)
        .map_err(|_not_a_number| format!("\"[{text}]\" is not an index"))
}

fn parse_filter(cursor: &mut Cursor<'_>) -> Result<Step, String> {
    expect(cursor, '(')?;
    let left = parse_operand(cursor)?;
    let test = match parse_comparison(cursor)? {
        Some(comparison) => Some((comparison, parse_operand(cursor)?)),
        None => None,
    };
    expect(cursor, ')')?;
    Ok(Step::Filter(left, test))
}

fn parse_comparison(cursor: &mut Cursor<'_>) -> Result<Option<Comparison>, String> {
    skip_spaces(cursor);
    let Some(first) = cursor.next_if(|next| matches!(next, '=' | '!' | '<' | '>')) else {
        return Ok(None);
    };
    let equal = cursor.next_if_eq(&'=').is_some();
    match (first, equal) {
        ('=', true) => Ok(Some(Comparison::Equal)),
        ('!', true) => Ok(Some(Comparison::NotEqual)),
        ('<', false) => Ok(Some(Comparison::Less)),
        ('<', true) => Ok(Some(Comparison::LessOrEqual)),
        ('>', false) => Ok(Some(Comparison::Greater)),
        ('>', true) => Ok(Some(Comparison::GreaterOrEqual)),
        (other, _) => Err(format!("\"{other}\" is not a comparison")),
    }
}

fn parse_operand(cursor: &mut Cursor<'_>) -> Result<Operand, String> {
    skip_spaces(cursor);
    match cursor.peek().copied() {
        Some('@' | '$' | '.') => parse_path(cursor).map(Operand::Path),
        Some(quote @ ('\'' | '"')) => {
            cursor.next();
            parse_quoted(cursor, quote).map(|text| Operand::Literal(Value::String(text)))
        }
        Some(_) | None => {
            let mut text = String::new();
            while let Some(next) =
                cursor.next_if(|next| next.is_ascii_alphanumeric() || matches!(next, '.' | '-' | '+'))
            {
                text.push(next);
            }
            serde_json::from_str(&text)
                .map(Operand::Literal)
                .map_err(|_not_json| format!("\"{text}\" is not a value"))
        }
    }
}

fn parse_quoted(cursor: &mut Cursor<'_>, quote: char) -> Result<String, String> {
    let mut text = String::new();
    loop {
        match cursor.next() {
            None => return Err(format!("the closing {quote} is missing")),
            Some(next) if next == quote => return Ok(text),
            Some('\\') => text.extend(cursor.next()),
            Some(next) => text.push(next),
        }
    }
}

fn skip_spaces(cursor: &mut Cursor<'_>) {
    while cursor.next_if_eq(&' ').is_some() {}
}

fn expect(cursor: &mut Cursor<'_>, wanted: char) -> Result<(), String> {
    skip_spaces(cursor);
    match cursor.next() {
        Some(next) if next == wanted => Ok(()),
        Some(next) => Err(format!("\"{next}\" stands where \"{wanted}\" is expected")),
        None => Err(format!("\"{wanted}\" is missing at the end")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(path: &str, wanted: &Value) {
        let object = json!({
            "metadata": {"labels": {"app.io/name": "x"}},
            "spec": {"replicas": 3, "list": [10, 20, 30]},
            "status": {"conditions": [
                {"type": "Ready", "status": "True", "n": 1},
                {"type": "Stalled", "status": "False", "n": 2, "why": "no"},
            ]},
        });
        let seen: Vec<_> = Path::parse(path)
            .expect(path)
            .find(&object)
            .into_iter()
            .cloned()
            .collect();
        assert_eq!(&Value::Array(seen), wanted, "{path}");
    }

    fn wrong(path: &str, wanted: &str) {
        assert_eq!(Path::parse(path), Err(wanted.to_owned()), "{path}");
    }

    #[test]
    fn paths_are_followed() {
        check(".spec.replicas", &json!([3]));
        check("$.spec['replicas']", &json!([3]));
        check(".spec.list[1]", &json!([20]));
        check(".spec.list[-1]", &json!([30]));
        check(".spec.list[9]", &json!([]));
        check(".spec.list[*]", &json!([10, 20, 30]));
        check(".spec.absent.deeper", &json!([]));
        check(r".metadata.labels.app\.io/name", &json!(["x"]));
        check(".metadata.labels['app.io/name']", &json!(["x"]));
        check("..why", &json!(["no"]));
        check(".status.conditions[*].type", &json!(["Ready", "Stalled"]));
    }

    #[test]
    fn filters_choose_among_items() {
        check(
            r#".status.conditions[?(@.type=="Ready")].status"#,
            &json!(["True"]),
        );
        check(
            ".status.conditions[?( @.type != 'Ready' )].status",
            &json!(["False"]),
        );
        check(".status.conditions[?(@.n >= 2)].type", &json!(["Stalled"]));
        check(".status.conditions[?(@.n<2)].type", &json!(["Ready"]));
        check(".status.conditions[?(@.why)].type", &json!(["Stalled"]));
        check(".status.conditions[?(@.absent==1)].type", &json!([]));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        wrong("", "the path is empty");
        wrong("status.replicas", "\"s\" is not expected here");
        wrong(".status.", "a name is missing after \".\"");
        wrong(".list[one]", "\"[one]\" is not an index");
        wrong(".list[0", "\"]\" is missing at the end");
        wrong(".list[?(@.a=1)]", "\"=\" is not a comparison");
        wrong(".list[?(@.a==)]", "\"\" is not a value");
        wrong(".list['a]", "the closing ' is missing");
    }
}
