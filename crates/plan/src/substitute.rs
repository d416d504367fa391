//! Variables in the manifests of a template: `{{NAME}}` and `{{CLUSTER_LABEL:KEY}}`, in keys and in values.
//!
//! Works on parsed JSON, so a value can never change the structure around it. A name is a letter or `_`, then letters,
//! digits and `_`, with nothing else between the braces. Other text between braces belongs to templates of other programs
//! (`{{ $labels.pod }}` in an alerting rule) and stays as it is. Values are not expanded again.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::size_budget::SizeBudget;
use model::{BadClusterVariable, ClusterVariable};

/// Why a text cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// Nothing gives this variable a value, nor these others of the template.
    UnknownVariable(String, Vec<String>),
    /// The cluster does not say it, and the template gives no other value.
    NotSaid(String),
    /// No variable of a cluster can be written so.
    BadCluster(BadClusterVariable, String),
    /// `{{` without `}}`.
    Unclosed(String),
    /// The name of a known variable with blanks around it.
    Blanks(String),
    /// Two keys of one object become the same.
    SameKey(String),
    /// The result would exceed the size budget.
    Full,
}

/// Why a manifest cannot be filled in, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SubstitutionFault {
    /// Path of the text, "" for the value itself.
    at: String,
    what: What,
}

impl std::fmt::Display for SubstitutionFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.at.is_empty() {
            write!(f, "{}: ", self.at)?;
        }
        match &self.what {
            What::UnknownVariable(name, others) => {
                write!(f, "unknown variable {name:?}")?;
                for (position, other) in others.iter().enumerate() {
                    let before = if position == 0 {
                        "; other unknown variables in the template: "
                    } else {
                        ", "
                    };
                    write!(f, "{before}{other:?}")?;
                }
                Ok(())
            }
            What::NotSaid(what) => write!(f, "the cluster has no {what}"),
            What::BadCluster(why, text) => write!(f, "variable {text:?} {why}"),
            What::Unclosed(text) => write!(f, "unclosed braces in {text:?}"),
            What::Blanks(name) => write!(
                f,
                "spaces around the variable name {name:?}: write {{{{{name}}}}}"
            ),
            What::SameKey(key) => write!(f, "after substitution, two keys are {key:?}"),
            What::Full => write!(f, "the result would be too large"),
        }
    }
}

impl SubstitutionFault {
    fn here(what: What) -> Self {
        Self {
            at: String::new(),
            what,
        }
    }

    /// Names the other unknown variables of a template beside the one that was met first.
    pub(super) fn with_unknown_of(mut self, template: &Value, variables: &Variables) -> Self {
        if let What::UnknownVariable(first, others) = &mut self.what {
            let mut all = Unknown::default();
            all.visit(template, &|name| variables.contains_key(name));
            let more = all.names.len().saturating_sub(MOST_NAMED);
            others.extend(
                all.names
                    .iter()
                    .take(MOST_NAMED)
                    .map(|name| excerpt(name))
                    .filter(|name| name != first),
            );
            if more > 0 {
                others.push(format!("… {more} more"));
            }
        }
        self
    }

    /// Returns whether the size budget was exceeded.
    pub(super) fn is_full(&self) -> bool {
        self.what == What::Full
    }

    fn under(mut self, segment: &str) -> Self {
        let dot = if self.at.is_empty() || self.at.starts_with('[') {
            ""
        } else {
            "."
        };
        self.at = format!("{segment}{dot}{}", self.at);
        self
    }

    fn under_key(self, key: &str) -> Self {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if !key.is_empty() && key.bytes().all(is_plain) {
            self.under(key)
        } else {
            self.under(&format!("[{:?}]", excerpt(key)))
        }
    }
}

/// The variables of a rendering.
pub(super) type Variables = BTreeMap<String, String>;

/// Most unknown variables of a template that a message names.
const MOST_NAMED: usize = 100;

/// The variables of a template that nothing gives a value, in the order of the text.
#[derive(Default)]
struct Unknown {
    names: Vec<String>,
    seen: BTreeSet<String>,
}

/// Returns the names of the variables in a value that are not known, in the order of the text.
pub(super) fn unknown_names(value: &Value, is_known: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut all = Unknown::default();
    all.visit(value, is_known);
    all.names
}

impl Unknown {
    fn visit(&mut self, value: &Value, is_known: &dyn Fn(&str) -> bool) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.read(text, is_known),
            Value::Array(items) => items.iter().for_each(|item| self.visit(item, is_known)),
            Value::Object(fields) => {
                for (key, field) in fields {
                    self.read(key, is_known);
                    self.visit(field, is_known);
                }
            }
        }
    }

    fn read(&mut self, text: &str, is_known: &dyn Fn(&str) -> bool) {
        let (mut from, mut closing) = (0_usize, 0_usize);
        let find = |braces: &str, from: usize| Some(from.saturating_add(text.get(from..)?.find(braces)?));
        while let Some(opening) = find("{{", from) {
            let inner = opening.saturating_add(2);
            if closing < inner {
                let Some(end) = find("}}", inner) else { return };
                closing = end;
            }
            let inside = text.get(inner..closing).unwrap_or_default();
            if !is_name(inside) {
                from = opening.saturating_add(1);
                continue;
            }
            from = closing.saturating_add(2);
            if !is_known(inside) && self.seen.insert(inside.to_owned()) {
                self.names.push(inside.to_owned());
            }
        }
    }
}

/// Returns `value` with every variable replaced; ends as soon as the size budget is exceeded.
pub(super) fn substitute(
    value: &Value,
    variables: &Variables,
    budget: &SizeBudget,
) -> Result<Value, SubstitutionFault> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
        Value::String(text) => expand(text, variables, budget)
            .map(Value::String)
            .map_err(SubstitutionFault::here),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| {
                substitute(item, variables, budget).map_err(|fault| fault.under(&format!("[{index}]")))
            })
            .collect::<Result<_, _>>()
            .map(Value::Array),
        Value::Object(fields) => fill(fields, variables, budget).map(Value::Object),
    }
}

fn fill(
    fields: &Map<String, Value>,
    variables: &Variables,
    budget: &SizeBudget,
) -> Result<Map<String, Value>, SubstitutionFault> {
    let mut filled = Map::with_capacity(fields.len());
    for (key, field) in fields {
        let fault = |what| SubstitutionFault::here(what).under_key(key);
        let name = expand(key, variables, budget).map_err(fault)?;
        let value = substitute(field, variables, budget).map_err(|fault| fault.under_key(key))?;
        if filled.contains_key(&name) {
            return Err(fault(What::SameKey(excerpt(&name))));
        }
        filled.insert(name, value);
    }
    Ok(filled)
}

fn expand(text: &str, variables: &Variables, budget: &SizeBudget) -> Result<String, What> {
    let mut out = String::new();
    let write = |out: &mut String, piece: &str| {
        let fits = budget.take(piece.len());
        fits.then(|| out.push_str(piece)).ok_or(What::Full)
    };
    let mut written = 0;
    // The closing braces after an opening pair also follow every later pair before them: each is looked for once.
    let mut closing = 0;
    let find = |braces: &str, from: usize| Some(from.saturating_add(text.get(from..)?.find(braces)?));
    let piece = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    while let Some(opening) = find("{{", written) {
        let inner = opening.saturating_add(2);
        if closing < inner {
            closing = find("}}", inner).ok_or_else(|| What::Unclosed(excerpt(text)))?;
        }
        let inside = piece(inner, closing);
        write(&mut out, piece(written, opening))?;
        if is_name(inside) {
            let value = variables.get(inside);
            write(
                &mut out,
                value.ok_or_else(|| What::UnknownVariable(excerpt(inside), Vec::new()))?,
            )?;
            written = closing.saturating_add(2);
            continue;
        }
        if let Some(variable) = ClusterVariable::parse(inside) {
            let variable = variable.map_err(|why| What::BadCluster(why, excerpt(inside)))?;
            write(&mut out, of_cluster(variable, variables)?)?;
            written = closing.saturating_add(2);
            continue;
        }
        if let Some(bare) = among_blanks(inside).filter(|bare| variables.contains_key(*bare)) {
            return Err(What::Blanks(bare.to_owned()));
        }
        // Not ours. A variable may still stand within, as in `{{ printf "{{CLUSTER_NAME}}" }}` or `{{{CLUSTER_NAME}}}`.
        write(&mut out, "{")?;
        written = opening.saturating_add(1);
    }
    write(&mut out, piece(written, text.len()))?;
    Ok(out)
}

/// What a cluster says counts unless that is nothing; then the template's own default does.
fn of_cluster<'v>(variable: ClusterVariable<'v>, variables: &'v Variables) -> Result<&'v str, What> {
    let said = variables.get(variable.name()).map(String::as_str);
    match (said.filter(|said| !said.is_empty()), variable.default()) {
        (Some(said), _) => Ok(said),
        (None, Some(default)) => Ok(default),
        // An empty label is a label.
        (None, None) => said.ok_or_else(|| What::NotSaid(variable.shown())),
    }
}

/// Returns the name that stands between blanks. Reads no further than the name and the blanks after it: many openings may
/// share one closing.
fn among_blanks(inside: &str) -> Option<&str> {
    let begun = inside.trim_start();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let (name, after) = begun.split_at_checked(begun.bytes().take_while(is_part).count())?;
    (is_name(name) && after.chars().all(char::is_whitespace)).then_some(name)
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn excerpt(text: &str) -> String {
    const LONGEST: usize = 80;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain("…".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn variables() -> Variables {
        [
            ("CLUSTER_NAME", "c1"),
            ("QUOTE", "a\"b\\c{{CLUSTER_NAME}}\n"),
            ("_x1", "low"),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
    }

    #[test]
    fn replaces_in_keys_and_values_and_expands_no_value_again() {
        let template =
            json!({"{{CLUSTER_NAME}}-x": ["{{QUOTE}}", 1, null, "a {{CLUSTER_NAME}}{{CLUSTER_NAME}} }}{"]});
        let filled = substitute(&template, &variables(), &SizeBudget::default()).unwrap();
        assert_eq!(
            filled,
            json!({"c1-x": ["a\"b\\c{{CLUSTER_NAME}}\n", 1, null, "a c1c1 }}{"]})
        );
    }

    #[test]
    fn variables_of_the_cluster_are_replaced_and_missing_ones_are_reported() {
        let mut variables = variables();
        variables.insert("CLUSTER_LABEL:region".to_owned(), "\"eu\"}}{{QUOTE}}".to_owned());
        variables.insert("CLUSTER_LABEL:empty".to_owned(), String::new());
        let expanded = |text: &str| {
            let filled = substitute(&json!({"a": text}), &variables, &SizeBudget::default());
            filled.map_or_else(
                |fault| fault.to_string(),
                |value| value["a"].as_str().unwrap().to_owned(),
            )
        };
        let rows = [
            ("{{CLUSTER_LABEL:region}}-x", "\"eu\"}}{{QUOTE}}-x"),
            ("{{CLUSTER_LABEL:region:-d}}", "\"eu\"}}{{QUOTE}}"),
            ("{{CLUSTER_LABEL:empty}}|{{CLUSTER_LABEL:empty:-d}}", "|d"),
            ("{{CLUSTER_CLAIM:id.k8s.io:-}}{{CLUSTER_NAME}}", "c1"),
            ("{{{CLUSTER_CLAIM:x:-d}}}", "{d}"),
            ("{{CLUSTER_CLAIM:x}}", "a: the cluster has no claim \"x\""),
            ("{{CLUSTER_LABEL}}", "a: unknown variable \"CLUSTER_LABEL\""),
            (
                "{{CLUSTER_LABEL: x}}",
                "a: variable \"CLUSTER_LABEL: x\" must have no spaces around the name",
            ),
        ];
        for (text, expected) in rows {
            assert_eq!(expanded(text), expected, "{text}");
        }
    }

    #[test]
    fn only_a_name_between_the_braces_is_a_variable() {
        let rows = [
            ("{{CLUSTER_NAME}}{{_x1}}", "c1low"),
            ("pod {{ $labels.pod }} is down", "pod {{ $labels.pod }} is down"),
            (
                "{{.Values.x}} {{}} {{1a}} {{a-b}}",
                "{{.Values.x}} {{}} {{1a}} {{a-b}}",
            ),
            ("{{ printf \"{{CLUSTER_NAME}}\" }}", "{{ printf \"c1\" }}"),
            ("{{{CLUSTER_NAME}}}", "{c1}"),
            ("${{{{CLUSTER_NAME}}}}", "${{c1}}"),
            ("{ {CLUSTER_NAME} }}", "{ {CLUSTER_NAME} }}"),
        ];
        for (text, expected) in rows {
            assert_eq!(
                expand(text, &variables(), &SizeBudget::default()).unwrap(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn names_the_fault_and_its_place() {
        let fault = |value: Value| {
            let filled = substitute(&value, &variables(), &SizeBudget::default());
            filled.unwrap_err().to_string()
        };
        assert_eq!(
            fault(json!({"spec": {"items": [{"image": "{{IMAGE}}"}]}})),
            "spec.items[0].image: unknown variable \"IMAGE\""
        );
        assert_eq!(
            fault(json!({"data": {"a.b": "x {{CLUSTER_NAME"}})),
            "data[\"a.b\"]: unclosed braces in \"x {{CLUSTER_NAME\""
        );
        assert_eq!(
            fault(json!([["{{ CLUSTER_NAME }}"]])),
            "[0][0]: spaces around the variable name \"CLUSTER_NAME\": write {{CLUSTER_NAME}}"
        );
        assert_eq!(
            fault(json!({"data": {"c1": "", "{{CLUSTER_NAME}}": ""}})),
            "data[\"{{CLUSTER_NAME}}\"]: after substitution, two keys are \"c1\""
        );
        assert_eq!(fault(json!("{{UNKNOWN}}")), "unknown variable \"UNKNOWN\"");
    }

    #[test]
    fn a_bomb_ends_while_it_is_written() {
        let big = Variables::from([("A".to_owned(), "x".repeat(1024))]);
        let budget = SizeBudget::default();
        let bomb = json!(["{{A}}".repeat(67_500)]);
        let fault = substitute(&bomb, &big, &budget).unwrap_err();
        assert!(fault.is_full());
        assert_eq!(fault.to_string(), "[0]: the result would be too large");
    }

    #[test]
    fn many_openings_before_many_blanks_are_read_once() {
        let text = format!("{}{}}}}}", "{{x".repeat(50_000), " ".repeat(200_000));
        let same = expand(&text, &variables(), &SizeBudget::default()).unwrap();
        assert_eq!(same, text);
    }
}
