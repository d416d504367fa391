//! How plan scripts print references and conditions, and how they parse lists of clusters.

use std::fmt::Write as _;

use serde_json::Value;

pub(crate) fn reference_line(reference: &Value) -> String {
    let text = |pointer: &str| {
        reference
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let short = |hash: &str| hash.chars().take(6).collect::<String>();
    let hash = |pointer: &str| match text(pointer) {
        "" => "none".to_owned(),
        hash => short(hash),
    };
    let place = |form: &str| match text(&format!("/{form}/namespace")) {
        "" => text(&format!("/{form}/name")).to_owned(),
        namespace => format!("{namespace}/{}", text(&format!("/{form}/name"))),
    };
    let mut line = format!(
        "{} {} desired={}",
        text("/resource"),
        place("desiredConfig"),
        hash("/desiredConfig/specHash")
    );
    if reference.get("lastAppliedConfig").is_some() {
        write!(line, " applied={}", hash("/lastAppliedConfig/specHash")).expect("a string takes text");
        if place("lastAppliedConfig") != place("desiredConfig") {
            write!(line, " ({})", place("lastAppliedConfig")).expect("a string takes text");
        }
    }
    line
}

pub(crate) fn condition_line(condition: &Value) -> String {
    let text = |field: &str| condition[field].as_str().unwrap_or_default();
    let since = text("lastTransitionTime")
        .split_once('T')
        .map_or("", |(_, time)| time.trim_end_matches('Z'));
    format!(
        "{}={} {} {since} | {}",
        text("type"),
        text("status"),
        text("reason"),
        text("message")
    )
}

pub(crate) fn expand(names: &[&str]) -> Vec<String> {
    let range = |name: &str| {
        let (first, last) = name.split_once("..")?;
        let number = |text: &str| text.trim_start_matches('c').parse::<usize>().ok();
        Some(
            (number(first)?..=number(last)?)
                .map(|n| format!("c{n}"))
                .collect::<Vec<_>>(),
        )
    };
    let one = |name: &&str| range(name).unwrap_or_else(|| vec![(*name).to_owned()]);
    names
        .iter()
        .filter(|name| **name != "none")
        .flat_map(one)
        .collect()
}

/// Keys without the manifests: the shape of a patch.
pub(crate) fn shape(value: &Value) -> String {
    match value {
        Value::Object(fields) if fields.contains_key("workload") => {
            let manifests = fields["workload"]["manifests"].as_array().map_or(0, Vec::len);
            format!("{manifests} manifests")
        }
        Value::Object(fields) => {
            let each: Vec<String> = fields
                .iter()
                .map(|(key, value)| format!("{key}: {}", shape(value)))
                .collect();
            format!("{{{}}}", each.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(shape).collect::<Vec<_>>().join(", ")),
        Value::String(text) if text.starts_with('{') => "hashes".to_owned(),
        other => other.to_string(),
    }
}
