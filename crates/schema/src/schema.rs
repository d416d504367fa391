//! One parsed schema and what can be asked of it.
//!
//! Decides the order of the passes; the passes themselves are in the sibling files.

use crate::check::{self, Checked};
use crate::error::FieldError;
use crate::node::{Flags, Node};
use crate::path::Path;
use crate::rules::{self, Findings};
use crate::{defaults, embedded, fault, lists, objectmeta, parse, prune};
use cel_engine::Stop;
use serde_json::Value;

/// Field of a schema in a definition whose versions all have the same one.
const DEFAULT_PREFIX: &str = "spec.validation.openAPIV3Schema";

/// A structural schema, ready to prune, default and validate objects.
#[derive(Debug)]
pub struct Schema {
    root: Node,
    warnings: Vec<String>,
}

/// What a validation found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Faults that refuse the object.
    pub errors: Vec<FieldError>,
    /// Faults of rules that are tolerated because the value did not change; texts for `Warning` headers.
    pub warnings: Vec<String>,
}

/// Which part of an object a write may change, and so must be checked against the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// The whole object.
    #[default]
    Whole,
    /// `status` alone; texts name fields relative to it.
    Status,
}

/// One validation.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// The object as it shall be.
    pub new: &'a Value,
    /// The object as it was, if this is an update.
    pub old: Option<&'a Value>,
    /// The part that the write is about.
    pub part: Part,
    /// Faults that the caller found already (metadata); some of them keep rules from being evaluated.
    pub before: &'a [FieldError],
    /// Ends the check before it is done: for a deadline that another thread watches.
    pub stop: &'a Stop,
}

impl Schema {
    /// Parses an `openAPIV3Schema`; faults name fields below `spec.validation.openAPIV3Schema`.
    pub fn parse(schema: &Value) -> Result<Self, Vec<FieldError>> {
        Self::parse_at(DEFAULT_PREFIX, schema)
    }

    /// Parses an `openAPIV3Schema` whose faults name fields below `prefix`.
    ///
    /// Faults of class [`ErrorClass::Internal`](crate::ErrorClass::Internal) are not the schema's: they name
    /// expressions that this server cannot evaluate although a Kubernetes server may.
    pub fn parse_at(prefix: &str, schema: &Value) -> Result<Self, Vec<FieldError>> {
        let (root, reader) = parse::parse(prefix, schema);
        if reader.faults.is_empty() {
            Ok(Self {
                root,
                warnings: reader.warnings,
            })
        } else {
            Err(reader.faults)
        }
    }

    /// Returns what a definition with this schema should be warned about, such as formats that are not checked.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Tells whether any part of the schema has rules.
    pub fn has_rules(&self) -> bool {
        self.root.is(Flags::RULES_WITHIN)
    }

    /// Removes what the schema does not describe and returns the removed paths: `spec.zz`, `spec.items[0].zz`.
    ///
    /// Metadata comes first, then everything else, then the metadata of embedded resources; each part is sorted.
    pub fn prune(&self, value: &mut Value) -> Vec<String> {
        prune::prune_resource(&self.root, value)
    }

    /// Drops nulls that are not allowed and fills in defaults.
    pub fn apply_defaults(&self, value: &mut Value) {
        defaults::apply(&self.root, value);
    }

    /// Returns why the metadata of the object, or of one embedded in it, cannot be decoded; words of the 400 answer.
    pub fn metadata_fault(&self, value: &Value) -> Option<String> {
        if let Some(words) = value.get("metadata").and_then(objectmeta::type_fault) {
            return Some(words);
        }
        embedded::type_fault(&self.root, value, &Path::root("")).map(|fault| fault.to_string())
    }

    /// Validates a whole object; `old` is the stored one on updates.
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Outcome {
        self.check(&Check {
            new,
            old,
            part: Part::Whole,
            before: &[],
            stop: <&Stop>::default(),
        })
    }

    /// Validates an object as one write sees it.
    pub fn check(&self, check: &Check<'_>) -> Outcome {
        let mut errors = self.check_values(check);
        if check.part == Part::Whole {
            embedded::check(&self.root, check.new, &Path::root(""), &mut errors);
        }
        errors.append(&mut self.check_lists(check));
        if !self.has_rules() {
            return Outcome {
                errors,
                warnings: Vec::new(),
            };
        }
        if errors.iter().chain(check.before).any(fault::blocks_rules) {
            errors.push(fault::rules_skipped());
            return Outcome {
                errors,
                warnings: Vec::new(),
            };
        }
        let mut findings = Findings::default();
        rules::check(&self.root, check.new, check.old, check.stop, &mut findings);
        errors.append(&mut findings.errors);
        Outcome {
            errors,
            warnings: findings.warnings,
        }
    }

    fn check_values(&self, check: &Check<'_>) -> Vec<FieldError> {
        let mut out = Checked::default();
        match check.part {
            Part::Whole => check::check(&self.root, check.new, check.old, &Path::root(""), &mut out),
            Part::Status => {
                if let (Some(node), Some(new)) = (self.root.member("status"), check.new.get("status")) {
                    let old = check.old.and_then(|old| old.get("status"));
                    check::check(node, new, old, &Path::root("status"), &mut out);
                }
            }
        }
        out.faults
    }

    /// Checks sets and keyed lists; an object that was stored with duplicates may keep having some.
    fn check_lists(&self, check: &Check<'_>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        lists::check(&self.root, check.new, &Path::root(""), &mut errors);
        if !errors.is_empty()
            && let Some(old) = check.old
        {
            let mut before = Vec::new();
            lists::check(&self.root, old, &Path::root(""), &mut before);
            if !before.is_empty() {
                return Vec::new();
            }
        }
        errors
    }

    /// Returns the schema's root, for walks inside the crate.
    pub(crate) fn root(&self) -> &Node {
        &self.root
    }
}
