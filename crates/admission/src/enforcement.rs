//! The action of a finding (Off, Audit, Warn, Deny), as the operator sets it by rule, add-on and namespace.
//!
//! The last setting that matches applies. If none matches, the default action of the rule applies. Page: `docs/enforcement.md`.

use std::fmt;

use serde_json::{Map, Value};

use super::bounds;
use super::catalogue;
use super::metadata::METADATA_VALUE;
use kubernetes::field::{Class, Fault, Findings, Path, Violation, listed, nearest, quoted};

/// The maximum number of settings in one file: every finding is compared with all of them.
const MOST_SETTINGS: usize = 1000;
const FIELDS: [&str; 4] = ["action", "addons", "namespaces", "rule"];
/// The prefix of the ids of policies. Policies are created and deleted at any time, so their ids are not checked.
const OF_POLICIES: &str = "policy/";

/// The action of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Nothing: it is dropped.
    Off,
    /// It is recorded in the audit log of the API server only.
    Audit,
    /// The user gets a warning, and the object is stored.
    Warn,
    /// The object is refused.
    Deny,
}

impl Action {
    /// All actions, from the mildest to the strictest.
    pub const ALL: [Self; 4] = [Self::Off, Self::Audit, Self::Warn, Self::Deny];

    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "Off",
            Self::Audit => "Audit",
            Self::Warn => "Warn",
            Self::Deny => "Deny",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == word)
    }
}

/// The add-on and namespace of a finding, to which settings can be limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope<'a> {
    /// The add-on that the object belongs to, if the object contains it.
    pub addon: Option<&'a str>,
    /// Namespace of the object, "" for cluster-scoped ones.
    pub namespace: &'a str,
}

/// The actions of findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enforcement {
    settings: Vec<Setting>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    rule: Glob,
    action: Action,
    /// Absent means every add-on, and objects of none.
    addons: Option<Vec<Glob>>,
    /// Absent means every namespace, and objects in none.
    namespaces: Option<Vec<Glob>>,
}

/// Everything that is wrong with an enforcement file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnforcementError {
    /// The faults, each with the path of its setting, as they are shown.
    pub faults: Vec<String>,
}

impl std::error::Error for EnforcementError {}

impl fmt::Display for EnforcementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.faults.join("; "))
    }
}

impl Enforcement {
    /// Reads an enforcement file: a YAML list of settings.
    pub fn parse(text: &str) -> Result<Self, EnforcementError> {
        let only = |fault: String| EnforcementError { faults: vec![fault] };
        let document: Value = serde_saphyr::from_str(text)
            .map_err(|error| only(error.to_string().lines().next().unwrap_or_default().to_owned()))?;
        let entries = match document {
            Value::Null => Vec::new(),
            Value::Array(entries) => entries,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                return Err(only("must be a list of settings".to_owned()));
            }
        };
        if entries.len() > MOST_SETTINGS {
            return Err(only(format!("must have at most {MOST_SETTINGS} settings")));
        }
        let mut reader = Reader::default();
        let settings: Vec<Option<Setting>> = entries
            .iter()
            .enumerate()
            .map(|(index, entry)| reader.setting(&Path::root().index(index), entry))
            .collect();
        if reader.faults.is_empty() {
            let settings = settings.into_iter().flatten().collect();
            return Ok(Self { settings });
        }
        Err(EnforcementError {
            faults: reader.faults,
        })
    }

    /// Returns the action that a setting gives to findings of a rule in a scope, if there is one.
    pub fn action(&self, rule: &str, scope: &Scope<'_>) -> Option<Action> {
        let mut last_first = self.settings.iter().rev();
        last_first
            .find(|setting| setting.holds(rule, scope))
            .map(|setting| setting.action)
    }

    /// Returns whether no setting softens a rule that refuses by default. No setting changes [`bounds::RULE`] and [`METADATA_VALUE`].
    pub fn always_denies(&self, rule: &str) -> bool {
        let softens = |setting: &Setting| setting.action != Action::Deny && setting.rule.matches(rule);
        [bounds::RULE, METADATA_VALUE].contains(&rule) || !self.settings.iter().any(softens)
    }

    /// Returns the findings with the actions of the settings.
    pub fn apply(&self, findings: Findings, scope: &Scope<'_>) -> Findings {
        if self.settings.is_empty() {
            return findings;
        }
        let (violations, warnings, audited) = findings.into_parts();
        let denied = violations.into_iter().map(|one| (one, Action::Deny));
        let warned = warnings
            .into_iter()
            .map(|one| (one.violation().clone(), Action::Warn));
        let recorded = audited.into_iter().map(|one| (one, Action::Audit));
        let mut enforced = Findings::new();
        for (violation, usual) in denied.chain(warned).chain(recorded) {
            self.sort(violation, usual, scope, &mut enforced);
        }
        enforced
    }

    fn sort(&self, violation: Violation, usual: Action, scope: &Scope<'_>, into: &mut Findings) {
        match self.action(violation.rule(), scope).unwrap_or(usual) {
            Action::Off => {}
            Action::Audit => into.audit(violation),
            Action::Warn => into.warn(violation),
            Action::Deny => into.deny(violation),
        }
    }
}

impl Setting {
    fn holds(&self, rule: &str, scope: &Scope<'_>) -> bool {
        let among = |globs: &Option<Vec<Glob>>, text: Option<&str>| match (globs, text) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(globs), Some(text)) => globs.iter().any(|glob| glob.matches(text)),
        };
        let namespace = Some(scope.namespace).filter(|namespace| !namespace.is_empty());
        self.rule.matches(rule) && among(&self.addons, scope.addon) && among(&self.namespaces, namespace)
    }
}

/// A pattern in which `*` matches any characters, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Glob(String);

impl Glob {
    fn matches(&self, text: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
            return false;
        };
        let Some(last) = parts.next_back() else {
            return rest.is_empty();
        };
        // The earliest match of every middle part leaves the longest rest for the others.
        for part in parts {
            match rest.split_once(part) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

/// Parses settings and collects the faults of the file.
#[derive(Debug, Default)]
struct Reader {
    faults: Vec<String>,
}

impl Reader {
    fn report(&mut self, path: &Path, fault: &Fault) {
        self.faults.push(format!("{path}: {fault}"));
    }

    fn setting(&mut self, path: &Path, entry: &Value) -> Option<Setting> {
        let Some(fields) = entry.as_object() else {
            self.report(
                path,
                &Fault::of(
                    Class::TypeInvalid,
                    entry,
                    "must be a setting with rule and action",
                ),
            );
            return None;
        };
        for name in fields.keys().filter(|name| !FIELDS.contains(&name.as_str())) {
            let near = nearest(name, FIELDS).map(|near| format!("did you mean {}?", quoted(near)));
            let fault = Fault::bare(Class::Forbidden, "unknown field").hint_if(near);
            self.report(&path.key(name.clone()), &fault);
        }
        // All fields are parsed before one is required, so that every fault is reported.
        let rule = self.rule(&path.key("rule"), fields.get("rule"));
        let action = self.action(&path.key("action"), fields.get("action"));
        let addons = self.globs(path, fields, "addons");
        let namespaces = self.globs(path, fields, "namespaces");
        Some(Setting {
            rule: rule?,
            action: action?,
            addons: addons?,
            namespaces: namespaces?,
        })
    }

    fn rule(&mut self, path: &Path, value: Option<&Value>) -> Option<Glob> {
        let Some(text) = value.and_then(Value::as_str).filter(|text| !text.is_empty()) else {
            let detail = "must be the id of a rule, such as \"rollout/max-concurrency\" or \"rollout/*\"";
            self.report(path, &Fault::bare(Class::Required, detail));
            return None;
        };
        let glob = Glob(text.to_owned());
        let ids: Vec<&str> = catalogue::catalogue().iter().map(|entry| entry.id).collect();
        if text.starts_with(OF_POLICIES) || ids.iter().any(|id| glob.matches(id)) {
            return Some(glob);
        }
        let mut families: Vec<String> = ids
            .iter()
            .filter_map(|id| Some(format!("{}/*", id.split_once('/')?.0)))
            .collect();
        families.push("policy/*".to_owned());
        families.sort();
        families.dedup();
        let candidates = ids.iter().copied().chain(families.iter().map(String::as_str));
        let near = nearest(text, candidates).map(|near| format!("did you mean {}?", quoted(near)));
        self.report(
            path,
            &Fault::of_text(Class::NotFound, text, "no rule has this id").hint_if(near),
        );
        None
    }

    fn action(&mut self, path: &Path, value: Option<&Value>) -> Option<Action> {
        // YAML 1.1 parses an unquoted `Off` as false, and so do many tools.
        let word = match value {
            Some(Value::Bool(false)) => Some("Off"),
            other => other.and_then(Value::as_str),
        };
        if let Some(action) = word.and_then(Action::parse) {
            return Some(action);
        }
        let legal = format!("must be one of {}", listed(Action::ALL.map(Action::as_str)));
        let fault = match value {
            None | Some(Value::Null) => Fault::bare(Class::Required, legal),
            Some(value) => {
                let near = word.and_then(|word| nearest(word, Action::ALL.map(Action::as_str)));
                Fault::of(Class::NotSupported, value, legal)
                    .hint_if(near.map(|near| format!("did you mean {}?", quoted(near))))
            }
        };
        self.report(path, &fault);
        None
    }

    /// Returns `None` if the field is invalid, and `Some(None)` if it is absent.
    #[expect(clippy::option_option, reason = "wrong and absent differ")]
    fn globs(
        &mut self,
        path: &Path,
        fields: &Map<String, Value>,
        name: &'static str,
    ) -> Option<Option<Vec<Glob>>> {
        let Some(value) = fields.get(name) else {
            return Some(None);
        };
        let texts = value.as_array().map(|items| {
            let texts = items.iter().map(Value::as_str);
            texts.collect::<Option<Vec<&str>>>()
        });
        match texts.flatten() {
            Some(texts) if !texts.is_empty() && texts.iter().all(|text| !text.is_empty()) => {
                let globs = texts.into_iter().map(|text| Glob(text.to_owned()));
                Some(Some(globs.collect()))
            }
            Some(_) | None => {
                let detail =
                    "must be a list of names, in which \"*\" matches any characters; omit it to select all";
                self.report(&path.key(name), &Fault::of(Class::Invalid, value, detail));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(settings: &str, rule: &str, addon: Option<&str>, namespace: &str) -> Option<&'static str> {
        let enforcement = Enforcement::parse(settings).expect("a good file");
        let scope = Scope { addon, namespace };
        enforcement.action(rule, &scope).map(Action::as_str)
    }

    #[test]
    fn the_last_setting_that_matches_counts() {
        let settings = "\
- {rule: 'rollout/*', action: Warn}
- {rule: rollout/max-concurrency, action: Deny, addons: [hello, 'edge-*']}
- {rule: '*', action: Audit, namespaces: ['test-*']}
- {rule: 'policy/freeze/*', action: Off}
";
        let rows = [
            ("rollout/max-failures", Some("hello"), "", Some("Warn")),
            ("rollout/max-concurrency", Some("hello"), "", Some("Deny")),
            ("rollout/max-concurrency", Some("edge-dns"), "", Some("Deny")),
            ("rollout/max-concurrency", Some("other"), "", Some("Warn")),
            ("rollout/max-concurrency", None, "", Some("Warn")),
            ("rollout/max-concurrency", Some("hello"), "test-1", Some("Audit")),
            ("config/duplicate", Some("hello"), "prod-1", None),
            ("policy/freeze/0", None, "", Some("Off")),
            ("policy/other/0", None, "", None),
        ];
        for (rule, addon, namespace, expected) in rows {
            assert_eq!(
                action(settings, rule, addon, namespace),
                expected,
                "{rule} {addon:?} {namespace}"
            );
        }
    }

    #[test]
    fn a_star_stands_for_any_letters_or_none() {
        let rows = [
            ("a*", "a", true),
            ("a*", "abc", true),
            ("a*", "ba", false),
            ("*c", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("ab*bc", "abc", false),
            ("abc", "abcd", false),
            ("*", "", true),
        ];
        for (glob, text, expected) in rows {
            assert_eq!(Glob(glob.to_owned()).matches(text), expected, "{glob} {text}");
        }
    }

    #[test]
    fn every_fault_of_a_file_is_reported_with_its_path() {
        let text = "\
- {rule: rolout/*, action: Denny}
- {rule: config/duplicate, action: Warn, addon: [a]}
- {action: Off, namespaces: all}
- just-text
";
        let faults = Enforcement::parse(text).expect_err("everything is wrong").faults;
        let expected = [
            r#"[0].rule: Not found: "rolout/*": no rule has this id; hint: did you mean "rollout/*"?"#,
            r#"[0].action: Unsupported value: "Denny": must be one of "Off", "Audit", "Warn", "Deny"; hint: did you mean "Deny"?"#,
            r#"[1].addon: Forbidden: unknown field; hint: did you mean "addons"?"#,
            r#"[2].rule: Required value: must be the id of a rule, such as "rollout/max-concurrency" or "rollout/*""#,
            r#"[2].namespaces: Invalid value: "all": must be a list of names, in which "*" matches any characters; omit it to select all"#,
            r#"[3]: Invalid value: "just-text": must be a setting with rule and action"#,
        ];
        assert_eq!(faults, expected);
    }

    #[test]
    fn a_file_that_is_no_list_is_refused_and_an_empty_one_sets_nothing() {
        assert!(Enforcement::parse("rule: a").is_err());
        assert!(Enforcement::parse("[").is_err());
        assert_eq!(Enforcement::parse("").expect("nothing"), Enforcement::default());
        assert_eq!(
            Enforcement::parse("# nothing\n").expect("nothing"),
            Enforcement::default()
        );
    }

    #[test]
    fn findings_go_where_they_are_sent() {
        let violation = |rule: &'static str| Fault::bare(Class::Invalid, "x").at(Path::parse("spec"), rule);
        let mut findings = Findings::new();
        for rule in ["config/duplicate", "rollout/max-failures", "install/namespace"] {
            findings.deny(violation(rule));
        }
        findings.warn(violation("naming/unknown-addon"));
        let text = "[{rule: config/*, action: Off}, {rule: rollout/*, action: Audit}, {rule: naming/*, action: Deny}, \
                    {rule: install/*, action: Warn}]";
        let enforcement = Enforcement::parse(text).expect("a good file");
        let (denied, warned, audited) = enforcement.apply(findings, &Scope::default()).into_parts();
        let rules = |found: &[Violation]| found.iter().map(|one| one.rule().to_owned()).collect::<Vec<_>>();
        assert_eq!(rules(&denied), ["naming/unknown-addon"]);
        assert_eq!(
            warned
                .iter()
                .map(|one| one.violation().rule())
                .collect::<Vec<_>>(),
            ["install/namespace"]
        );
        assert_eq!(rules(&audited), ["rollout/max-failures"]);
    }
}
