//! Reads an `openAPIV3Schema` into nodes and reports what makes it unstructural.
//!
//! Decides what a schema may say where; collects all faults instead of stopping at the first one. Faults of the
//! members of special keywords are reported by the sibling files.

use super::level::Level;
use super::level::{is_given, is_true};
use super::{defaults, limits, lists, metadata, nested, rules};
use crate::error::FieldError;
use crate::fault;
use crate::node::{Additional, Flags, Junctors, Kind, ListType, Node};
use crate::path::Path;
use crate::prune::is_resource_field;
use crate::rules::is_typed;
use kubernetes::formats::Format;
use serde_json::{Map, Value};

/// Schemas nested deeper than this are refused, so that no walk can exhaust the stack.
const DEEPEST: usize = 128;

/// Faults and warnings of one parse.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub(crate) faults: Vec<FieldError>,
    /// Faults that make the schema unstructural: neither defaults nor expressions are looked at then.
    structural: Vec<FieldError>,
    /// Faults of expressions.
    expressions: Vec<FieldError>,
    /// Whether a keyword stands somewhere that structural schemas do not have: structure is not judged then.
    is_foreign: bool,
    pub(crate) warnings: Vec<String>,
    depth: usize,
    /// Field of the innermost list or map around, if its parts cannot be matched with old ones.
    pub(super) unmatched: Option<String>,
}

/// Parses a whole schema; `prefix` is the field of the schema in the object that holds it.
pub(crate) fn parse(prefix: &str, schema: &Value) -> (Node, Reader) {
    let mut reader = Reader::default();
    let path = Path::root(prefix);
    let node = reader.node(schema, Level::Root, &path);
    complete(&node, schema, &path, &mut reader.structural);
    let mut first = Vec::new();
    if !reader.is_foreign {
        first = std::mem::take(&mut reader.structural);
        first.sort_by_cached_key(ToString::to_string);
        if first.is_empty() {
            defaults::check(&node, &path, &mut first);
            // Expressions are looked at when the structure and all defaults are right.
            if first.is_empty() {
                reader.faults.append(&mut reader.expressions);
            }
        }
    }
    first.append(&mut reader.faults);
    reader.faults = first;
    (node, reader)
}

/// Reports what alternatives at the root speak of without a declaration; Kubernetes asks for that nowhere else.
fn complete(node: &Node, schema: &Value, path: &Path<'_>, faults: &mut Vec<FieldError>) {
    nested::check_alternatives(node, schema, path, path, faults);
}

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Keywords that structural schemas do not have.
const UNSUPPORTED: [&str; 7] = [
    "$ref",
    "additionalItems",
    "definitions",
    "dependencies",
    "id",
    "patternProperties",
    "$schema",
];

impl Reader {
    /// Reads one schema and everything below it.
    fn node(&mut self, schema: &Value, level: Level, path: &Path<'_>) -> Node {
        let Some(words) = schema.as_object() else {
            self.structural
                .push(fault::invalid(path, schema, "must be a schema object"));
            return Node::default();
        };
        if self.depth >= DEEPEST {
            self.structural.push(fault::forbidden(
                path,
                "must not be nested deeper than 128 levels",
            ));
            return Node::default();
        }
        self.depth += 1;
        let mut node = Node {
            flags: flags(words),
            ..Node::default()
        };
        let since = self.faults.len();
        self.refuse_unsupported(words, path);
        self.kind(&mut node, words, level, path);
        self.properties(&mut node, words, level, path);
        self.additional(&mut node, words, level, path);
        self.items(&mut node, words, level, path);
        self.format(&mut node, words);
        node.limits = limits::read(words, path, &mut self.structural, &mut self.faults);
        node.default = words.get("default").filter(|default| !default.is_null()).cloned();
        lists::read(&mut node, words, path, &mut self.faults);
        self.junctors(&mut node, words, path);
        if level == Level::Nested {
            nested::check(words, path, &mut self.structural);
        } else {
            let place = rules::Site {
                level,
                path,
                unmatched: self.unmatched.as_deref(),
                since,
            };
            rules::read(&mut node, words, &place, &mut self.faults, &mut self.expressions);
            self.structure(&node, words, level, path);
        }
        note_below(&mut node);
        self.depth -= 1;
        node
    }

    fn refuse_unsupported(&mut self, words: &Map<String, Value>, path: &Path<'_>) {
        for name in UNSUPPORTED.into_iter().filter(|name| words.contains_key(*name)) {
            self.is_foreign = true;
            self.faults.push(fault::forbidden(
                &path.child(name),
                &format!("{name} is not supported"),
            ));
        }
    }

    fn kind(&mut self, node: &mut Node, words: &Map<String, Value>, level: Level, path: &Path<'_>) {
        let given = words.get("type").unwrap_or(&Value::Null);
        let at = path.child("type");
        node.kind = match given.as_str() {
            Some("object") => Kind::Object,
            Some("array") => Kind::Array,
            Some("string") => Kind::String,
            Some("integer") => Kind::Integer,
            Some("number") => Kind::Number,
            Some("boolean") => Kind::Boolean,
            Some("null") => {
                self.faults.push(fault::forbidden(
                    &at,
                    "type cannot be set to null, use nullable as an alternative",
                ));
                self.faults.push(fault::not_supported(&at, given, TYPES));
                Kind::Any
            }
            None if given.is_null() => Kind::Any,
            Some("") => Kind::Any,
            Some(_) | None => {
                self.faults.push(fault::not_supported(&at, given, TYPES));
                Kind::Any
            }
        };
        if level == Level::Root && !matches!(node.kind, Kind::Any | Kind::Object) {
            self.structural
                .push(fault::invalid(&at, given, "must be object at the root"));
        }
        if is_true(words, "x-kubernetes-int-or-string") {
            node.kind = Kind::IntOrString;
        }
    }

    fn properties(&mut self, node: &mut Node, words: &Map<String, Value>, level: Level, path: &Path<'_>) {
        let Some(given) = words.get("properties") else {
            return;
        };
        let at = path.child("properties");
        let Some(members) = given.as_object() else {
            self.structural
                .push(fault::invalid(&at, given, "must be an object"));
            return;
        };
        let below = if level == Level::Nested {
            Level::Nested
        } else {
            Level::Field
        };
        for (name, schema) in members {
            let here = at.key(name);
            let implied = level == Level::Root || node.is(Flags::EMBEDDED);
            if implied && is_resource_field(name) {
                metadata::check(name, schema, level, &here, &mut self.structural);
            }
            let member = self.node(schema, below, &here);
            node.properties.insert(name.clone(), member);
        }
    }

    fn additional(&mut self, node: &mut Node, words: &Map<String, Value>, level: Level, path: &Path<'_>) {
        let Some(given) = words.get("additionalProperties") else {
            return;
        };
        let at = path.child("additionalProperties");
        if !node.properties.is_empty() && given.as_bool() != Some(true) {
            self.faults.push(fault::forbidden(
                &at,
                "additionalProperties and properties are mutual exclusive",
            ));
        }
        if node.is(Flags::EMBEDDED) {
            self.structural.push(fault::forbidden(
                &at,
                "must not be used if x-kubernetes-embedded-resource is set",
            ));
        }
        node.additional = match given {
            Value::Bool(true) => Additional::Anything,
            Value::Bool(false) => Additional::Unspecified,
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                let below = if level == Level::Nested {
                    Level::Nested
                } else {
                    Level::Field
                };
                Additional::Schema(Box::new(self.node(given, below, &at)))
            }
        };
    }

    fn items(&mut self, node: &mut Node, words: &Map<String, Value>, level: Level, path: &Path<'_>) {
        let at = path.child("items");
        match words.get("items") {
            None if node.kind == Kind::Array => {
                self.structural.push(fault::required(&at, "must be specified"));
            }
            None => {}
            Some(Value::Array(_)) => {
                self.is_foreign = true;
                self.faults.push(fault::forbidden(
                    &at,
                    "items must be a schema object and not an array",
                ));
            }
            Some(schema) => {
                let below = if level == Level::Nested {
                    Level::Nested
                } else {
                    Level::Item
                };
                let keyed = words
                    .get("x-kubernetes-list-type")
                    .is_some_and(|given| given == "map");
                let around = self.unmatched.clone();
                if !keyed && self.unmatched.is_none() {
                    self.unmatched = Some(path.field());
                }
                node.items = Some(Box::new(self.node(schema, below, &at)));
                self.unmatched = around;
            }
        }
    }

    fn format(&mut self, node: &mut Node, words: &Map<String, Value>) {
        let Some(name) = words
            .get("format")
            .and_then(Value::as_str)
            .filter(|name| !name.is_empty())
        else {
            return;
        };
        let known = Format::find(name);
        let is_known = known.is_some();
        node.format = known.filter(|format| node.kind.meets(format));
        if !is_known {
            self.warnings
                .push(format!("unrecognized format {}", kubernetes::print::quote(name)));
        }
    }

    fn junctors(&mut self, node: &mut Node, words: &Map<String, Value>, path: &Path<'_>) {
        let mut junctors = Junctors::default();
        for (name, list) in [
            ("allOf", &mut junctors.all_of),
            ("anyOf", &mut junctors.any_of),
            ("oneOf", &mut junctors.one_of),
        ] {
            let at = path.child(name);
            for (index, schema) in words
                .get(name)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .enumerate()
            {
                let branch = self.node(schema, Level::Nested, &at.index(index));
                list.push(branch);
            }
        }
        if let Some(schema) = words.get("not") {
            let at = path.child("not");
            junctors.not = Some(Box::new(self.node(schema, Level::Nested, &at)));
        }
        let any = !junctors.all_of.is_empty()
            || !junctors.any_of.is_empty()
            || !junctors.one_of.is_empty()
            || junctors.not.is_some();
        node.junctors = any.then(|| Box::new(junctors));
    }

    /// Checks what only schemas outside `allOf` and friends must fulfil.
    fn structure(&mut self, node: &Node, words: &Map<String, Value>, level: Level, path: &Path<'_>) {
        let at = path.child("type");
        let embedded = node.is(Flags::EMBEDDED);
        let preserved = node.is(Flags::PRESERVE_UNKNOWN);
        if embedded && node.kind != Kind::Object {
            let detail = "must be object if x-kubernetes-embedded-resource is true";
            let given = words.get("type").cloned().unwrap_or_default();
            let missing = !is_given(words, "type");
            self.structural.push(if missing {
                fault::required(&at, detail)
            } else {
                fault::invalid(&at, &given, detail)
            });
        } else if node.kind == Kind::Any && !is_given(words, "type") && !preserved {
            let place = match level {
                Level::Root => "at the root",
                Level::Item => "for specified array items",
                Level::Field | Level::Nested => "for specified object fields",
            };
            self.structural
                .push(fault::required(&at, &format!("must not be empty {place}")));
        }
        if embedded && !preserved && node.properties.is_empty() {
            let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                          x-kubernetes-preserve-unknown-fields";
            self.structural
                .push(fault::required(&path.child("properties"), detail));
        }
        let both = |name: &str, on: bool| {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            (on && node.kind == Kind::IntOrString)
                .then(|| fault::invalid(&path.child(name), &Value::Bool(true), detail))
        };
        self.structural
            .extend(both("x-kubernetes-preserve-unknown-fields", preserved));
        self.structural
            .extend(both("x-kubernetes-embedded-resource", embedded));
    }
}

fn flags(words: &Map<String, Value>) -> Flags {
    let mut flags = Flags::default();
    let atomic = words.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic");
    let rows = [
        (is_true(words, "nullable"), Flags::NULLABLE),
        (
            is_true(words, "x-kubernetes-preserve-unknown-fields"),
            Flags::PRESERVE_UNKNOWN,
        ),
        (is_true(words, "x-kubernetes-embedded-resource"), Flags::EMBEDDED),
        (atomic, Flags::ATOMIC_MAP),
    ];
    for (on, flag) in rows {
        if on {
            flags.add(flag);
        }
    }
    flags
}

/// Notes in a node what it and its parts contain, so that passes can skip whole branches.
fn note_below(node: &mut Node) {
    let mut flags = node.flags;
    if !node.rules.list.is_empty() || !node.rules.broken.is_empty() {
        flags.add(Flags::RULES_WITHIN);
    }
    if !matches!(node.list, ListType::Atomic) {
        flags.add(Flags::LISTS_WITHIN);
    }
    if node.is(Flags::EMBEDDED) {
        flags.add(Flags::EMBEDDED_WITHIN);
    }
    for part in node.parts() {
        let mut below = part.flags;
        // Rules about what has no type, and below it, are not evaluated.
        if !is_typed(part) {
            below.remove(Flags::RULES_WITHIN);
        }
        flags.add_within(below);
    }
    node.flags = flags;
}
