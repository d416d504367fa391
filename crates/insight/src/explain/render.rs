//! How the schema of a field reads.
//!
//! Decides the layout; the words are those of the definition.

use std::fmt::Write as _;

use serde_json::Value;

use super::fields::{Field, first_sentence, innermost, is_required};

const WIDTH: usize = 100;

/// Returns the page of a field.
pub(super) fn field(field: &Field) -> String {
    let schema = field.schema;
    let mut text = String::new();
    let mut row = |name: &str, value: &str| {
        writeln!(text, "{:10}{value}", format!("{name}:")).expect("writing to a string cannot fail");
    };
    row(
        "KIND",
        &format!("{} ({})", field.kind.kind, field.kind.api_version),
    );
    if !field.path.is_empty() {
        row("FIELD", &field.path);
        row("TYPE", &kind_of(schema));
        row("REQUIRED", if field.required { "yes" } else { "no" });
    }
    if let Some(default) = schema.get("default") {
        row("DEFAULT", &default.to_string());
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        row("ALLOWED", &values.join(", "));
    }
    for (name, key) in LIMITS {
        if let Some(limit) = schema.get(key) {
            row(name, &limit.to_string());
        }
    }
    for rule in schema
        .get("x-kubernetes-validations")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let said = rule
            .get("message")
            .or_else(|| rule.get("rule"))
            .and_then(Value::as_str);
        row("RULE", said.unwrap_or_default());
    }
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        writeln!(text, "\n{}", wrapped(description, "")).expect("writing to a string cannot fail");
    }
    text.push_str(&children(schema));
    text
}

const LIMITS: [(&str, &str); 8] = [
    ("PATTERN", "pattern"),
    ("FORMAT", "format"),
    ("MINIMUM", "minimum"),
    ("MAXIMUM", "maximum"),
    ("SHORTEST", "minLength"),
    ("LONGEST", "maxLength"),
    ("FEWEST", "minItems"),
    ("MOST", "maxItems"),
];

fn children(schema: &Value) -> String {
    let inner = innermost(schema);
    let Some(properties) = inner.get("properties").and_then(Value::as_object) else {
        return String::new();
    };
    let mut text = String::from("\nFIELDS:\n");
    for (name, schema) in properties {
        let required = if is_required(inner, name) {
            ", required"
        } else {
            ""
        };
        let about = schema
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let about = wrapped(&first_sentence(about), "      ");
        writeln!(text, "  {name} <{}{required}>", kind_of(schema)).expect("writing to a string cannot fail");
        if !about.is_empty() {
            writeln!(text, "      {about}").expect("writing to a string cannot fail");
        }
    }
    text
}

pub(super) fn kind_of(schema: &Value) -> String {
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return "integer or string".to_owned();
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("any");
    if let Some(items) = schema.get("items") {
        return format!("list of {}", kind_of(items));
    }
    match schema
        .get("additionalProperties")
        .filter(|values| values.is_object())
    {
        Some(values) => format!("map of {}", kind_of(values)),
        None => kind.to_owned(),
    }
}

/// Breaks a text into lines that fit a terminal; paragraphs stay apart, lists and blocks stay as they are.
pub(super) fn wrapped(text: &str, indent: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let is_block = paragraph
            .lines()
            .any(|line| line.starts_with([' ', '-', '|', '*', '`']));
        if is_block {
            return paragraph.to_owned();
        }
        let mut lines: Vec<String> = Vec::new();
        for word in paragraph.split_whitespace() {
            match lines.last_mut() {
                Some(line) if line.chars().count() + word.chars().count() < WIDTH - indent.len() => {
                    line.push(' ');
                    line.push_str(word);
                }
                Some(_) | None => lines.push(word.to_owned()),
            }
        }
        lines.join(&format!("\n{indent}"))
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
