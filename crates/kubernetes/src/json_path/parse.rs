//! The JSON path language of printer columns and of status feedback, as client-go's `jsonpath` reads it, without the braces.
//!
//! Decides what a path means: fields with escaped dots, indices and slices, wildcards, unions, filters and recursive descent.
//! Evaluation is in `evaluate`. One habit differs from other dialects: a quoted key in brackets is read as a path again,
//! so `['a.b/c']` means `.a.b/c`.

use serde_json::{Number, Value};

/// A parsed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath(pub(super) Vec<Node>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Field(String),
    Wildcard,
    Slice(Slice),
    Filter(Box<Filter>),
    Union(Vec<JsonPath>),
    Recursive,
    Literal(Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    /// Whether `end` follows from a single index.
    pub(super) derived: bool,
    pub(super) step: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) left: JsonPath,
    pub(super) test: Option<(Comparison, JsonPath)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl JsonPath {
    /// Parses a path such as `.status.conditions[?(@.type=="Ready")].status`; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let letters: Vec<char> = text.chars().collect();
        let mut parser = Parser {
            letters: &letters,
            at: 0,
            nodes: Vec::new(),
        };
        parser.run()?;
        Ok(Self(parser.nodes))
    }
}

struct Parser<'a> {
    letters: &'a [char],
    at: usize,
    nodes: Vec<Node>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn run(&mut self) -> Result<(), String> {
        while let Some(letter) = self.peek() {
            self.at += 1;
            match letter {
                '.' if self.peek() == Some('.') => self.recursive()?,
                '.' => self.field(),
                '[' => self.brackets()?,
                '"' | '\'' => self.quote(letter)?,
                ' ' | '@' | '$' => {}
                '+' | '-' | '0'..='9' => self.number()?,
                _ if letter.is_alphanumeric() || letter == '_' => self.word()?,
                other => return Err(format!("unrecognized character in action: {other:?}")),
            }
        }
        Ok(())
    }

    /// One behind another would say nothing more, and find everything again for each way to it.
    fn recursive(&mut self) -> Result<(), String> {
        self.at += 1;
        if matches!(self.nodes.last(), Some(Node::Recursive)) {
            return Err("invalid multiple recursive descent".to_owned());
        }
        self.nodes.push(Node::Recursive);
        if self.peek().is_some_and(|next| !is_end(next)) {
            self.field();
        }
        Ok(())
    }

    fn field(&mut self) {
        let mut name = String::new();
        while let Some(letter) = self.peek().filter(|letter| !is_end(*letter)) {
            self.at += 1;
            match letter {
                '\\' => {
                    name.extend(self.peek());
                    self.at += 1;
                }
                _ => name.push(letter),
            }
        }
        self.nodes.push(if name == "*" {
            Node::Wildcard
        } else {
            Node::Field(name)
        });
    }

    fn quote(&mut self, end: char) -> Result<(), String> {
        let start = self.at;
        while self.peek().ok_or("unterminated quoted string")? != end {
            self.at += if self.peek() == Some('\\') { 2 } else { 1 };
        }
        let text: String = self
            .letters
            .get(start..self.at)
            .unwrap_or_default()
            .iter()
            .collect();
        self.at += 1;
        self.nodes.push(Node::Literal(Value::String(
            text.replace("\\\"", "\"").replace("\\'", "'"),
        )));
        Ok(())
    }

    fn taken(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let start = self.at.saturating_sub(1);
        while self.peek().is_some_and(&belongs) {
            self.at += 1;
        }
        self.letters
            .get(start..self.at)
            .unwrap_or_default()
            .iter()
            .collect()
    }

    fn number(&mut self) -> Result<(), String> {
        let text = self.taken(|letter| letter.is_ascii_digit() || letter == '.');
        let whole = text.parse::<i64>().ok().map(Number::from);
        let number = whole.or_else(|| text.parse().ok().and_then(Number::from_f64));
        self.nodes.push(Node::Literal(Value::Number(
            number.ok_or_else(|| format!("cannot parse number {text}"))?,
        )));
        Ok(())
    }

    fn word(&mut self) -> Result<(), String> {
        match self.taken(|letter| !is_end(letter)).as_str() {
            "true" => self.nodes.push(Node::Literal(Value::Bool(true))),
            "false" => self.nodes.push(Node::Literal(Value::Bool(false))),
            other => return Err(format!("unrecognized identifier {other}")),
        }
        Ok(())
    }

    fn brackets(&mut self) -> Result<(), String> {
        if self.letters.get(self.at..self.at + 2) == Some(&['?', '(']) {
            return self.filter();
        }
        let start = self.at;
        let mut quoted = None;
        loop {
            let letter = self.peek().ok_or("unterminated array")?;
            match (letter, quoted) {
                (']', None) => break,
                ('\'' | '"', None) => quoted = Some(letter),
                (_, Some(open)) if open == letter => quoted = None,
                _ => {}
            }
            self.at += 1;
        }
        let text: String = self
            .letters
            .get(start..self.at)
            .unwrap_or_default()
            .iter()
            .collect();
        self.at += 1;
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > 1 {
            let paths = parts
                .iter()
                .map(|part| JsonPath::parse(&format!("[{}]", part.trim())))
                .collect::<Result<_, _>>()?;
            self.nodes.push(Node::Union(paths));
            return Ok(());
        }
        let key = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        if let Some(key) = key {
            self.nodes.extend(JsonPath::parse(&format!(".{key}"))?.0);
            return Ok(());
        }
        self.nodes.push(Node::Slice(slice(&text)?));
        Ok(())
    }

    fn filter(&mut self) -> Result<(), String> {
        self.at += 2;
        let start = self.at;
        let (mut depth, mut quoted) = (1, None);
        while depth > 0 {
            let letter = self.peek().ok_or("unterminated filter")?;
            match (letter, quoted) {
                ('(', None) => depth += 1,
                (')', None) => depth -= 1,
                ('\'' | '"', None) => quoted = Some(letter),
                (_, Some(open)) if open == letter => quoted = None,
                _ => {}
            }
            self.at += 1;
        }
        if self.peek() != Some(']') {
            return Err("unclosed array expect ]".to_owned());
        }
        let text: String = self
            .letters
            .get(start..self.at - 1)
            .unwrap_or_default()
            .iter()
            .collect();
        self.at += 1;
        self.nodes.push(Node::Filter(Box::new(comparison(&text)?)));
        Ok(())
    }
}

fn is_end(letter: char) -> bool {
    matches!(letter, '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}') || letter.is_whitespace()
}

fn slice(text: &str) -> Result<Slice, String> {
    let text = if text == "*" { ":" } else { text };
    let invalid = || format!("invalid array index {text}");
    let parts: Vec<&str> = text.split(':').collect();
    let number = |at: usize| match parts.get(at) {
        None | Some(&"") => Ok(None),
        Some(part) => part.parse::<i64>().map(Some).map_err(|_fault| invalid()),
    };
    if parts.len() > 3 {
        return Err(invalid());
    }
    let (start, end, step) = (number(0)?, number(1)?, number(2)?);
    match (parts.len(), start) {
        (1, Some(index)) => Ok(Slice {
            start,
            end: Some(index.saturating_add(1)),
            derived: true,
            step: None,
        }),
        (1, None) => Err(invalid()),
        _ => Ok(Slice {
            start,
            end,
            derived: false,
            step,
        }),
    }
}

fn comparison(text: &str) -> Result<Filter, String> {
    let Some(at) = text.find(['!', '<', '>', '=']) else {
        return Ok(Filter {
            left: JsonPath::parse(text.trim())?,
            test: None,
        });
    };
    let (left, rest) = text.split_at(at);
    for (sign, comparison) in [
        ("==", Comparison::Equal),
        ("!=", Comparison::NotEqual),
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ] {
        if let Some(right) = rest.strip_prefix(sign) {
            let right = JsonPath::parse(right.trim())?;
            return Ok(Filter {
                left: JsonPath::parse(left.trim())?,
                test: Some((comparison, right)),
            });
        }
    }
    Err(format!("unrecognized filter operator in {text}"))
}
