//! One thing that is wrong with one field.
//!
//! Decides how a fault reads: `path: Invalid value: "130%": must be …; hint: … [rule/id]`. Never decides that a value
//! is wrong.

use std::borrow::Cow;
use std::fmt;

pub use crate::error_class::ErrorClass as Class;
use serde_json::Value;

use super::{Path, text};

/// What is wrong with a value, without the place where it stands.
///
/// The parsers of `model` return faults; their caller, which knows the path and the rule, makes a [`Violation`] of each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    class: Class,
    value: Option<Box<str>>,
    detail: Box<str>,
    hint: Option<Box<str>>,
}

impl Fault {
    /// Returns a fault of `value`; `detail` says what would be right.
    pub fn of(class: Class, value: &Value, detail: impl Into<String>) -> Self {
        Self {
            class,
            value: Some(text::value(value).into()),
            detail: text::one_line(&detail.into()).into(),
            hint: None,
        }
    }

    /// Returns a fault of the text `value`; `detail` says what would be right.
    pub fn of_text(class: Class, value: &str, detail: impl Into<String>) -> Self {
        Self {
            class,
            value: Some(text::quoted(value).into()),
            detail: text::one_line(&detail.into()).into(),
            hint: None,
        }
    }

    /// Returns a fault that shows no value: something absent, forbidden, or told by another component.
    pub fn bare(class: Class, detail: impl Into<String>) -> Self {
        Self {
            class,
            value: None,
            detail: text::one_line(&detail.into()).into(),
            hint: None,
        }
    }

    /// Adds the cure; only where it is known.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(text::one_line(&hint.into()).into());
        self
    }

    /// Adds the cure when there is one.
    #[must_use]
    pub fn hint_if(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// Returns the class of this fault.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Returns what would be right.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Says where the fault is and which rule found it.
    pub fn at(self, path: Path, rule: impl Into<Cow<'static, str>>) -> Violation {
        let rule = rule.into();
        // Ids of policies are written by users.
        let rule = if rule.chars().any(text::acts) {
            Cow::Owned(text::one_line(&rule))
        } else {
            rule
        };
        Violation {
            path,
            fault: self,
            rule,
        }
    }
}

impl fmt::Display for Fault {
    /// Writes class, value, what would be right, and the cure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.class.title())?;
        for part in self
            .value
            .iter()
            .chain([&self.detail])
            .filter(|part| !part.is_empty())
        {
            write!(f, ": {part}")?;
        }
        match &self.hint {
            Some(hint) => write!(f, "; hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// A fault of the user's object: where it is, what it is, and the rule that found it.
///
/// Violations sort by path, then by rule: the order in which they are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    path: Path,
    fault: Fault,
    rule: Cow<'static, str>,
}

impl Violation {
    /// Returns where the fault is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the class of the fault.
    pub fn class(&self) -> Class {
        self.fault.class
    }

    /// Returns the id of the rule that found it.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Returns the value as it is shown, where one is.
    pub fn value(&self) -> Option<&str> {
        self.fault.value.as_deref()
    }

    /// Returns the phrase that says what would be right.
    pub fn detail(&self) -> &str {
        &self.fault.detail
    }

    /// Returns the cure, where it is known.
    pub fn hint(&self) -> Option<&str> {
        self.fault.hint.as_deref()
    }

    /// Returns this violation at another path and in other words: for an author whose version spells the field differently.
    #[must_use]
    pub fn told_at(self, path: Path, words: impl Fn(&str) -> String) -> Self {
        let Self { fault, rule, .. } = self;
        let fault = Fault {
            detail: words(&fault.detail).into(),
            hint: fault.hint.map(|hint| words(&hint).into()),
            ..fault
        };
        Self { path, fault, rule }
    }

    /// Returns class, value and detail: the words of a refusal, without path, hint and rule.
    pub fn refusal(&self) -> String {
        let class = (!self.is_plain()).then(|| self.fault.class.title());
        parts(class.into_iter().chain(self.value()).chain([self.detail()]))
    }

    /// Returns value and detail: the words of a warning, which is no error and names no class of errors.
    pub fn advice(&self) -> String {
        if self.detail().is_empty() {
            return parts(self.value().into_iter().chain([self.fault.class.words()]));
        }
        parts(self.value().into_iter().chain([self.detail()]))
    }

    /// Returns the whole text of a warning: `path: value: detail; hint: … [rule/id]`.
    pub fn warning(&self) -> String {
        let text = self.whole(&self.advice());
        if self.path.segments().is_empty() {
            return text;
        }
        format!("{}: {text}", self.path)
    }

    /// Returns everything after `path: `, as it is in a cause of a `Status`.
    pub fn body(&self) -> String {
        self.whole(&self.refusal())
    }

    fn whole(&self, text: &str) -> String {
        let hint = self
            .hint()
            .map_or_else(String::new, |hint| format!("; hint: {hint}"));
        format!("{text}{hint} [{}]", self.rule)
    }

    /// A fault of the whole object that shows no value: its message is a sentence, and there is no field of which a class says more.
    fn is_plain(&self) -> bool {
        let is_whole = self.path.segments().is_empty() && self.value().is_none();
        is_whole && self.fault.class == Class::Invalid && !self.detail().is_empty()
    }
}

fn parts<'a>(all: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<&str> = all.filter(|part| !part.is_empty()).collect();
    all.join(": ")
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.segments().is_empty() {
            return f.write_str(&self.body());
        }
        write!(f, "{}: {}", self.path, self.body())
    }
}

impl PartialOrd for Violation {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Violation {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (&self.path, &self.rule, &self.fault).cmp(&(&other.path, &other.rule, &other.fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_violation_reads_like_a_kubernetes_field_error() {
        let violation = Fault::of(Class::Invalid, &json!("130%"), "must be between 1% and 100%")
            .hint("use 100%")
            .at(Path::parse("spec.maxConcurrency"), "rollout/max-concurrency");
        assert_eq!(
            violation.to_string(),
            r#"spec.maxConcurrency: Invalid value: "130%": must be between 1% and 100%; hint: use 100% [rollout/max-concurrency]"#
        );
    }

    #[test]
    fn a_warning_names_no_class_of_errors() {
        let every = [
            Class::Required,
            Class::Invalid,
            Class::TypeInvalid,
            Class::NotSupported,
            Class::Duplicate,
            Class::Forbidden,
            Class::NotFound,
            Class::TooLong,
            Class::TooMany,
            Class::Internal,
        ];
        for class in every {
            for fault in [
                Fault::bare(class, ""),
                Fault::bare(class, "must be y"),
                Fault::of(class, &json!("x"), ""),
                Fault::of(class, &json!("x"), "must be y").hint("write y"),
            ] {
                for path in ["spec.name", ""] {
                    let path = if path.is_empty() {
                        Path::root()
                    } else {
                        Path::parse(path)
                    };
                    let text = fault.clone().at(path, "family/rule").warning();
                    assert!(!text.contains(class.title()) && !text.contains("<nil>"), "{text}");
                    assert!(text.ends_with(" [family/rule]"), "{text}");
                }
            }
        }
        let moved = Fault::bare(
            Class::Forbidden,
            "this edit updates 5 of 5 clusters at once (limit 50%)",
        );
        assert_eq!(
            moved
                .at(Path::parse("spec.customizedVariables"), "blast-radius/move")
                .warning(),
            "spec.customizedVariables: this edit updates 5 of 5 clusters at once (limit 50%) [blast-radius/move]"
        );
    }

    #[test]
    fn a_fault_of_the_whole_object_names_no_path() {
        let whole =
            Fault::bare(Class::Invalid, "every add-on has an owner label").at(Path::root(), "policy/owner/a");
        assert_eq!(
            whole.to_string(),
            "every add-on has an owner label [policy/owner/a]"
        );
        assert_eq!(whole.warning(), whole.to_string());
    }

    #[test]
    fn a_bare_fault_shows_no_value() {
        let violation = Fault::bare(Class::Required, "").at(Path::parse("spec.name"), "schema/value");
        assert_eq!(violation.to_string(), "spec.name: Required value [schema/value]");
    }
}
