//! From a server's answer to the form in which answers are recorded.
//!
//! Decides what differs between any two runs (names, times, versions, addresses) and hides it behind symbols.
//! It never looks at what was expected.

use std::collections::BTreeMap;

use regex::{Captures, Regex};
use serde_json::Value;

use crate::{masks::Masks, scenario::Options};

/// Letters of generated names.
const SUFFIX: &str = "[bcdfghjklmnpqrstvwxz2456789]{5}";

/// The symbols of one scenario.
#[derive(Debug)]
pub(crate) struct Symbols {
    /// Real values and the placeholders for which they were sent, longest value first.
    constants: Vec<(String, String)>,
    versions: Table,
    uids: Table,
    times: Table,
    /// Real generated names and what stands for them.
    generated: Vec<(String, String)>,
    options: Options,
    masks: Masks,
}

#[derive(Debug)]
struct Table {
    prefix: &'static str,
    known: BTreeMap<String, String>,
}

impl Table {
    fn new(prefix: &'static str) -> Self {
        Self {
            prefix,
            known: BTreeMap::new(),
        }
    }

    fn symbol(&mut self, real: &str) -> String {
        let next = self.known.len() + 1;
        self.known
            .entry(real.to_owned())
            .or_insert_with(|| format!("${}{next}", self.prefix))
            .clone()
    }
}

impl Symbols {
    /// Starts a scenario; `constants` are real values with their placeholders.
    pub(crate) fn new(mut constants: Vec<(String, String)>, options: Options) -> Self {
        constants.retain(|(real, _)| !real.is_empty());
        constants.sort_by_key(|(real, _)| std::cmp::Reverse(real.len()));
        Self {
            constants,
            versions: Table::new("rv"),
            uids: Table::new("uid"),
            times: Table::new("t"),
            generated: Vec::new(),
            options,
            masks: Masks::new(),
        }
    }

    /// Returns the real resource version behind a symbol that this scenario handed out.
    pub(crate) fn real_version(&self, symbol: &str) -> Option<&str> {
        self.versions
            .known
            .iter()
            .find(|(_, known)| *known == symbol)
            .map(|(real, _)| real.as_str())
    }

    /// Normalises one JSON answer, event object or review.
    pub(crate) fn normalise(&mut self, body: &mut Value, request: Option<&Value>) {
        self.learn_generated(body, request);
        sort_unordered(body);
        if !self.options.keep_managed_fields_order {
            sort_owners(body);
        }
        let walked = self.walk(std::mem::take(body), Place::default());
        *body = walked;
    }

    /// Normalises one text: a warning or a body that is not JSON.
    pub(crate) fn normalise_text(&mut self, text: &str) -> String {
        self.text(text)
    }

    /// Remembers generated names before anything is replaced.
    fn learn_generated(&mut self, body: &Value, request: Option<&Value>) {
        let prefix = request
            .and_then(|request| request.pointer("/metadata/generateName"))
            .and_then(Value::as_str);
        if let (Some(prefix), Some("Status")) = (prefix, body.get("kind").and_then(Value::as_str)) {
            let pattern =
                Regex::new(&format!("{}{SUFFIX}", regex::escape(prefix))).expect("an escaped prefix");
            for found in pattern.find_iter(&body.to_string()) {
                self.generated_name(found.as_str(), prefix);
            }
        }
        self.learn_from_objects(body);
    }

    fn learn_from_objects(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                self.learn_from_metadata(members.get("metadata"));
                members
                    .values()
                    .for_each(|member| self.learn_from_objects(member));
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn_from_objects(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn learn_from_metadata(&mut self, metadata: Option<&Value>) {
        let text = |name: &str| metadata.and_then(|it| it.get(name)).and_then(Value::as_str);
        let (Some(name), Some(prefix)) = (text("name"), text("generateName")) else {
            return;
        };
        let pattern = Regex::new(&format!("^{}{SUFFIX}$", regex::escape(prefix))).expect("an escaped prefix");
        if pattern.is_match(name) {
            self.generated_name(name, prefix);
        }
    }

    fn generated_name(&mut self, real: &str, prefix: &str) {
        if !self.generated.iter().any(|(known, _)| known == real) {
            let symbol = format!("{prefix}$gen{}", self.generated.len() + 1);
            self.generated.push((real.to_owned(), symbol));
        }
    }

    fn walk(&mut self, value: Value, place: Place) -> Value {
        match value {
            Value::String(text) => Value::String(match place.role {
                Role::Version => self.version(&text, place.in_list),
                Role::Continue if !text.is_empty() => "$continue".to_owned(),
                Role::Cell if self.masks.age.is_match(&text) => "$age".to_owned(),
                Role::Plain | Role::Continue | Role::Cell | Role::Metadata | Role::Columns => {
                    self.text(&text)
                }
            }),
            Value::Array(items) => Value::Array(
                items
                    .into_iter()
                    .map(|item| self.walk(item, place.inside_list()))
                    .collect(),
            ),
            Value::Object(members) => self.walk_object(members, place),
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }

    fn walk_object(&mut self, members: serde_json::Map<String, Value>, place: Place) -> Value {
        let is_list = members.contains_key("items") || members.contains_key("rows");
        let is_bookmark = is_initial_end(&members);
        let mut walked = serde_json::Map::new();
        for (name, member) in members {
            let role = match (place.role, name.as_str()) {
                (Role::Metadata, "resourceVersion") => Role::Version,
                (Role::Metadata, "continue") => Role::Continue,
                (_, "metadata") => Role::Metadata,
                (_, "cells") => Role::Cell,
                (_, "columnDefinitions") => Role::Columns,
                (Role::Columns, "description") if is_long(&member) => {
                    walked.insert(name, Value::String("$prose".to_owned()));
                    continue;
                }
                _ => Role::Plain,
            };
            let in_list = if role == Role::Metadata {
                is_list || is_bookmark
            } else {
                place.in_list
            };
            let member = self.walk(member, Place { role, in_list });
            walked.insert(self.text(&name), member);
        }
        Value::Object(walked)
    }

    fn version(&mut self, text: &str, in_list: bool) -> String {
        if text.is_empty() || text == "0" {
            text.to_owned()
        } else if in_list {
            if text.bytes().all(|byte| byte.is_ascii_digit()) {
                "$lrv".to_owned()
            } else {
                text.to_owned()
            }
        } else {
            self.versions.symbol(text)
        }
    }

    fn text(&mut self, text: &str) -> String {
        let mut out = text.to_owned();
        for (real, placeholder) in &self.constants {
            out = out.replace(real, placeholder);
        }
        if let Some(time) = self.masks.time.captures(&out)
            && time[2].parse::<u32>().is_ok_and(|year| year >= 2025)
        {
            return self.time(time.get(3).is_some(), &time[1]);
        }
        let uids = &mut self.uids;
        let replaced = self.masks.uid.replace_all(&out, |found: &Captures<'_>| {
            if found[0].starts_with("00000000-") {
                found[0].to_owned()
            } else {
                uids.symbol(&found[0])
            }
        });
        out = replaced.into_owned();
        for (real, symbol) in &self.generated {
            out = out.replace(real, symbol);
        }
        self.masks.apply(&out)
    }

    fn time(&mut self, has_fraction: bool, second: &str) -> String {
        match (self.options.time_symbols, has_fraction) {
            (true, _) => self.times.symbol(second),
            (false, true) => "$microtime".to_owned(),
            (false, false) => "$time".to_owned(),
        }
    }
}

/// What a value is, as far as its text is treated differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Role {
    #[default]
    Plain,
    Metadata,
    Version,
    Continue,
    Cell,
    Columns,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    role: Role,
    /// Inside the metadata of a list or of a bookmark.
    in_list: bool,
}

impl Place {
    fn inside_list(self) -> Self {
        let role = match self.role {
            Role::Cell | Role::Columns => self.role,
            Role::Plain | Role::Metadata | Role::Version | Role::Continue => Role::Plain,
        };
        Self { role, in_list: false }
    }
}

fn is_long(description: &Value) -> bool {
    description.as_str().is_some_and(|text| text.chars().count() > 60)
}

/// Bookmark objects carry nothing but a version and this mark.
fn is_initial_end(members: &serde_json::Map<String, Value>) -> bool {
    members
        .get("metadata")
        .and_then(|metadata| metadata.pointer("/annotations/k8s.io~1initial-events-end"))
        .is_some()
}

/// Puts lists whose order is not promised into one order.
fn sort_unordered(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::Array(resources)) = members.get_mut("resources") {
                sort_resources(resources);
            }
            sort_causes(members);
            members.values_mut().for_each(sort_unordered);
        }
        Value::Array(items) => items.iter_mut().for_each(sort_unordered),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Two writes may fall into one second or not, and entries are sorted by time before they are sorted by name.
fn sort_owners(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::Array(entries)) = members.get_mut("managedFields") {
                let text = |entry: &Value, name: &str| entry.get(name).map(ToString::to_string);
                entries.sort_by_key(|entry| {
                    ["operation", "manager", "apiVersion", "subresource", "fieldsV1"]
                        .map(|name| text(entry, name).unwrap_or_default())
                });
            }
            members.values_mut().for_each(sort_owners);
        }
        Value::Array(items) => items.iter_mut().for_each(sort_owners),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The resources of a discovery document.
fn sort_resources(resources: &mut [Value]) {
    let name = |resource: &Value| -> Option<String> {
        resource.get("verbs")?;
        let name = resource.get("name").or_else(|| resource.get("resource"))?;
        Some(name.as_str()?.to_owned())
    };
    if resources.iter().all(|resource| name(resource).is_some()) {
        resources.sort_by_key(name);
    }
}

/// The causes of a Status; with more than one the message names them in an arbitrary order too.
fn sort_causes(members: &mut serde_json::Map<String, Value>) {
    if members.get("kind").and_then(Value::as_str) != Some("Status") {
        return;
    }
    let Some(Value::Array(causes)) = members
        .get_mut("details")
        .and_then(|details| details.get_mut("causes"))
    else {
        return;
    };
    let text = |cause: &Value, name: &str| {
        cause
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    causes.sort_by_key(|cause| {
        (
            text(cause, "field"),
            text(cause, "reason"),
            text(cause, "message"),
        )
    });
    let several = causes.len() > 1;
    if let Some(Value::String(message)) = members.get_mut("message")
        && several
        && message.ends_with(']')
        && let Some(start) = message.find("is invalid: [")
    {
        message.truncate(start);
        message.push_str("is invalid: [$causes]");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Symbols;
    use crate::scenario::{self, Compare, Options, Step};

    #[track_caller]
    fn check(raw: Value, expected: &Value) {
        let constants = vec![("https://127.0.0.1:1".to_owned(), "$WEBHOOK".to_owned())];
        let mut symbols = Symbols::new(constants, Options::default());
        let mut body = raw;
        symbols.normalise(&mut body, None);
        assert_eq!(&body, expected);
    }

    #[test]
    fn hides_what_differs_between_runs() {
        check(
            json!({ "metadata": { "resourceVersion": "17", "uid": "3d9f8a1c-0b6e-4a57-9d9a-5f1f0c1e2d3b",
                "creationTimestamp": "2026-01-02T03:04:05Z" }, "url": "https://127.0.0.1:1/x" }),
            &json!({ "metadata": { "resourceVersion": "$rv1", "uid": "$uid1", "creationTimestamp": "$time" },
                "url": "$WEBHOOK/x" }),
        );
        check(
            json!({ "metadata": { "resourceVersion": "17", "continue": "abc" }, "items": [] }),
            &json!({ "metadata": { "resourceVersion": "$lrv", "continue": "$continue" }, "items": [] }),
        );
        check(
            json!({ "t": "2024-01-02T03:04:05Z" }),
            &json!({ "t": "2024-01-02T03:04:05Z" }),
        );
        check(
            json!({ "rows": [{ "cells": ["a", "5m3s"] }] }),
            &json!({ "rows": [{ "cells": ["a", "$age"] }] }),
        );
        check(
            json!({ "metadata": { "name": "x-bcdfg", "generateName": "x-" }, "m": "about x-bcdfg" }),
            &json!({ "metadata": { "name": "x-$gen1", "generateName": "x-" }, "m": "about x-$gen1" }),
        );
    }

    #[test]
    fn sorts_managers_unless_their_order_counts() {
        let list = |managers: [&str; 2]| {
            let entries = managers.map(|manager| json!({ "manager": manager, "operation": "Update" }));
            json!({ "metadata": { "managedFields": entries } })
        };
        check(list(["b", "a"]), &list(["a", "b"]));
        let options = Options {
            keep_managed_fields_order: true,
            ..Options::default()
        };
        let mut kept = list(["b", "a"]);
        Symbols::new(Vec::new(), options).normalise(&mut kept, None);
        assert_eq!(kept, list(["b", "a"]));
    }

    #[test]
    fn masks_texts_that_quote_numbers_or_objects() {
        let mut symbols = Symbols::new(Vec::new(), Options::default());
        let rows = [
            (
                "too old resource version: 1 (219)",
                "too old resource version: 1 ($rv)",
            ),
            (
                r#"Invalid value: "{\"apiVersion\":\"v1\",\"a\":\"}\"}": no"#,
                r#"Invalid value: "$object": no"#,
            ),
            ("x?hash=0AF1", "x?hash=$hash"),
            (
                "dial tcp 127.0.0.1:1: connect: connection refused",
                "dial tcp $addr: connect: connection refused",
            ),
        ];
        for (raw, expected) in rows {
            assert_eq!(symbols.normalise_text(raw), expected);
        }
    }

    #[test]
    fn sorts_causes_and_hides_their_order_in_the_message() {
        check(
            json!({ "kind": "Status", "message": "X \"a\" is invalid: [b, a]",
                "details": { "causes": [{ "field": "b" }, { "field": "a" }] } }),
            &json!({ "kind": "Status", "message": "X \"a\" is invalid: [$causes]",
                "details": { "causes": [{ "field": "a" }, { "field": "b" }] } }),
        );
    }

    #[test]
    fn recorded_answers_are_already_normal() {
        for scenario in scenario::all() {
            let mut symbols = Symbols::new(Vec::new(), scenario.header.options);
            let exact = |step: &&Step| step.compare == Compare::Exact && !step.is_unstable();
            for step in scenario.steps.iter().filter(exact) {
                let recorded = step.expect.body.clone().unwrap_or_default();
                let mut again = recorded.clone();
                symbols.normalise(&mut again, step.body.as_ref());
                // Versions are renumbered because events are not walked here.
                assert_eq!(blur(&again), blur(&recorded), "{}", step.id);
            }
        }
    }

    fn blur(value: &Value) -> String {
        regex::Regex::new(r"\$rv\d+")
            .expect("a pattern")
            .replace_all(&value.to_string(), "$$rvN")
            .into_owned()
    }
}
