//! Checks that the members of more than one workload kind must pass.
//!
//! Decides whether one value is legal and how its fault reads; never which members a kind has, and never fills anything in.

use schema::FieldError;
use serde_json::{Value, json};

use crate::builtin::faults::{duplicate, invalid, invalid_value, required, text, unsupported};
use crate::builtin::names::label_faults;

/// Refuses a negative number.
pub(super) fn not_negative(object: &Value, field: &str, member: &str) -> Option<FieldError> {
    let number = object
        .get(member)
        .and_then(Value::as_i64)
        .filter(|number| *number < 0)?;
    Some(invalid_value(
        &format!("{field}.{member}"),
        &json!(number),
        "must be greater than or equal to 0",
    ))
}

/// Refuses a text that is none of the legal ones, which are sorted when they are shown.
pub(super) fn choice(object: &Value, field: &str, member: &str, legal: &[&str]) -> Option<FieldError> {
    let given = text(object, &format!("/{member}"));
    if given.is_empty() || legal.contains(&given) {
        return None;
    }
    let mut legal = legal.to_vec();
    legal.sort_unstable();
    Some(unsupported(&format!("{field}.{member}"), given, &legal))
}

/// Refuses names that stand twice in a list.
pub(super) fn duplicates(items: &[Value], field: &str, member: &str) -> Vec<FieldError> {
    let name = |item: &Value| text(item, &format!("/{member}")).to_owned();
    let mut errors = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let name = name(item);
        let before = items.iter().take(index);
        if !name.is_empty()
            && before
                .into_iter()
                .any(|other| text(other, &format!("/{member}")) == name)
        {
            errors.push(duplicate(&format!("{field}[{index}].{member}"), &name));
        }
    }
    errors
}

/// Refuses a name that is missing or no label.
pub(super) fn label_name(item: &Value, field: &str) -> Vec<FieldError> {
    let field = format!("{field}.name");
    match text(item, "/name") {
        "" => vec![required(&field, "")],
        name => {
            let faults = label_faults(name);
            faults.iter().map(|fault| invalid(&field, name, fault)).collect()
        }
    }
}
