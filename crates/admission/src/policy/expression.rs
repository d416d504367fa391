//! A compiled expression of a policy, with the variables and fields that it reads.
//!
//! An expression that reads an undeclared name, or that cannot have a result of the required type, is refused when the policy is loaded
//! and not when it is evaluated.

use std::collections::{BTreeMap, BTreeSet};

use cel_engine::typecheck::{self, Declared, Type};
use cel_engine::{Program, Reference, ResultKind, Step};

use super::fault::PolicyFault;
use super::question::Fact;
use kubernetes::field::{Path, nearest, quoted};

/// The required type of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultType {
    Bool,
    Text,
    /// A text or null.
    Note,
    /// A list of patch operations.
    List,
    /// An object.
    Map,
    Any,
}

/// What expressions of a policy can read besides the request and its objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    pub(super) facts: BTreeSet<Fact>,
    /// The declared variables, each with the facts that it reads.
    pub(super) variables: BTreeMap<String, BTreeSet<Fact>>,
    /// The variables that are known to be lists.
    pub(super) lists: BTreeSet<String>,
    /// Whether there may be other variables, because the name of one cannot be parsed.
    pub(super) any_variable: bool,
    pub(super) params: bool,
    /// The types of the variables, in a policy of Kubernetes: its expressions are checked as its API server checks them.
    pub(super) types: Option<BTreeMap<String, Type>>,
}

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Expression {
    pub(super) program: Program,
    /// The variables that it reads.
    pub(super) variables: BTreeSet<String>,
    /// The facts that it reads.
    pub(super) facts: BTreeSet<Fact>,
    /// The facts that it needs: its own, and those of the variables that it reads.
    pub(super) needs: BTreeSet<Fact>,
    /// Everything that it reads.
    pub(super) references: Vec<Reference>,
    /// The type of its result, as far as it is known.
    pub(super) kind: Type,
}

const VARIABLES: [&str; 7] = [
    "object",
    "oldObject",
    "request",
    "namespaceObject",
    "params",
    "variables",
    "facts",
];

/// Compiles the expression at `path`, and adds its faults to `faults`.
pub(super) fn compile(
    source: &str,
    wanted: ResultType,
    terms: &Terms,
    path: &Path,
    faults: &mut Vec<PolicyFault>,
) -> Option<Expression> {
    let compiled = match wanted {
        ResultType::List | ResultType::Map => Program::compile_mutation(source),
        ResultType::Bool | ResultType::Text | ResultType::Note | ResultType::Any => Program::compile(source),
    };
    let program = match compiled {
        Ok(program) => program,
        Err(words) => {
            faults.extend(PolicyFault::of_compiler(path, &words, source));
            return None;
        }
    };
    let before = faults.len();
    let references = program.references();
    for reference in &references {
        if let Some(words) = undeclared(reference, terms) {
            faults.push(PolicyFault::in_text(path.clone(), reference.place, words, source));
        }
    }
    let kind = if let Some(types) = &terms.types {
        checked(&program, wanted, types, terms, path, faults)
    } else {
        let words = misfit(program.result_kind(), wanted);
        faults.extend(words.map(|words| PolicyFault::in_text(path.clone(), (1, 1), words, source)));
        Type::Dyn
    };
    if faults.len() > before {
        return None;
    }
    let variables: BTreeSet<String> = named(&references, "variables").map(ToOwned::to_owned).collect();
    let facts: BTreeSet<Fact> = named(&references, "facts").filter_map(Fact::parse).collect();
    let below = variables
        .iter()
        .filter_map(|name| terms.variables.get(name))
        .flatten();
    Some(Expression {
        needs: facts.iter().chain(below).copied().collect(),
        variables,
        facts,
        references,
        program,
        kind,
    })
}

/// Checks the types of an expression of a policy of Kubernetes, and returns that of its result.
fn checked(
    program: &Program,
    wanted: ResultType,
    types: &BTreeMap<String, Type>,
    terms: &Terms,
    path: &Path,
    faults: &mut Vec<PolicyFault>,
) -> Type {
    let declared = Declared {
        params: terms.params,
        variables: Some(types),
        names: None,
    };
    let source = program.source();
    match typecheck::check(program, &declared) {
        Ok(found) => {
            let names = wanted.names();
            if !names.is_empty() && !names.contains(&found.to_string().as_str()) {
                let words = format!("must evaluate to {}, not to {found}", names.join(" or "));
                faults.push(PolicyFault::in_text(path.clone(), (1, 1), words, source));
            }
            found
        }
        Err(error) => {
            for fault in error.faults {
                let place = (
                    isize::try_from(fault.line).unwrap_or(1),
                    isize::try_from(fault.column).unwrap_or(1),
                );
                let fault = PolicyFault::in_text(path.clone(), place, fault.message, source);
                // A reference that is reported already, with a suggestion.
                let is_known = |known: &PolicyFault| known.path == fault.path && known.caret == fault.caret;
                if !faults.iter().any(is_known) {
                    faults.push(fault);
                }
            }
            Type::Dyn
        }
    }
}

impl ResultType {
    /// Returns the types that Kubernetes accepts, as it writes them.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Bool => &["bool"],
            Self::Text => &["string"],
            Self::Note => &["string", "null"],
            Self::List => &["list(JSONPatch)"],
            Self::Map => &["Object"],
            Self::Any => &[],
        }
    }
}

/// Returns the first members of `variable` that are read.
fn named<'m>(references: &'m [Reference], variable: &'m str) -> impl Iterator<Item = &'m str> {
    references
        .iter()
        .filter(move |reference| reference.name == variable)
        .filter_map(first_member)
}

fn first_member(reference: &Reference) -> Option<&str> {
    match reference.steps.first() {
        Some(Step::Member(name)) => Some(name),
        Some(Step::Each) | None => None,
    }
}

fn misfit(found: ResultKind, wanted: ResultType) -> Option<String> {
    let (name, fits) = match wanted {
        ResultType::Bool => ("bool", ResultKind::Bool),
        ResultType::Text | ResultType::Note => ("string", ResultKind::Text),
        ResultType::List => ("list of JSONPatch", ResultKind::List),
        ResultType::Map => ("Object", ResultKind::Map),
        ResultType::Any => return None,
    };
    // A string expression may also be null, which is known only when it is evaluated.
    let open = found == ResultKind::Unknown
        || (matches!(wanted, ResultType::Text | ResultType::Note) && found == ResultKind::Other);
    (found != fits && !open).then(|| format!("must evaluate to {name}"))
}

fn undeclared(reference: &Reference, terms: &Terms) -> Option<String> {
    let member = first_member(reference);
    match (reference.name.as_str(), member) {
        ("object" | "oldObject" | "request", _) => None,
        ("namespaceObject", _) => undeclared_namespace_field(&reference.steps),
        ("params", _) if terms.params => None,
        ("params", _) => Some("undeclared reference to 'params': the policy has no params".to_owned()),
        ("authorizer", _) => Some("'authorizer' is not available in this webhook".to_owned()),
        ("variables" | "facts", None) => Some(format!(
            "'{}' can only be read by members: {}.<name>",
            reference.name, reference.name
        )),
        ("facts", Some(_)) if reference.tested && reference.steps.len() == 1 => {
            Some("has() cannot test members of 'facts': the declared ones are always set".to_owned())
        }
        ("variables", Some(_)) if terms.any_variable => None,
        ("variables", Some(name)) => (!terms.variables.contains_key(name)).then(|| {
            let near = nearest(name, terms.variables.keys().map(String::as_str));
            hinted(
                format!("undefined field '{name}': no variable with this name is declared earlier"),
                near,
            )
        }),
        ("facts", Some(name)) => undeclared_fact(name, terms),
        (name, _) => {
            let near = nearest(name, VARIABLES);
            Some(hinted(
                format!("undeclared reference to '{name}' (in container '')"),
                near,
            ))
        }
    }
}

/// Returns what is wrong with a field of the namespace. Only metadata that a manifest contains is known, and an unknown field must not
/// be absent.
fn undeclared_namespace_field(steps: &[Step]) -> Option<String> {
    let known: [&[&str]; 2] = [&["metadata"], &["name", "labels", "annotations"]];
    let missed = steps.iter().zip(known).find_map(|(step, known)| match step {
        Step::Member(name) if known.contains(&name.as_str()) => None,
        Step::Member(name) => Some((name.as_str(), nearest(name, known.iter().copied()))),
        Step::Each => None,
    });
    missed.map(|(name, near)| {
        let words = format!(
            "undefined field '{name}': of a namespace only metadata.name, metadata.labels and metadata.annotations are known here"
        );
        hinted(words, near)
    })
}

fn undeclared_fact(name: &str, terms: &Terms) -> Option<String> {
    match Fact::parse(name) {
        Some(fact) if terms.facts.contains(&fact) => None,
        Some(_) => Some(format!(
            "undefined field '{name}': add {} to spec.facts",
            quoted(name)
        )),
        None => {
            let near = nearest(name, Fact::ALL.map(Fact::name));
            Some(hinted(
                format!("undefined field '{name}': there is no such fact"),
                near,
            ))
        }
    }
}

fn hinted(words: String, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("{words}; did you mean {}?", quoted(near)),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(source: &str, wanted: ResultType) -> Vec<String> {
        let terms = Terms {
            facts: BTreeSet::from([Fact::Cluster]),
            variables: BTreeMap::from([("prod".to_owned(), BTreeSet::new())]),
            lists: BTreeSet::new(),
            any_variable: false,
            params: false,
            types: None,
        };
        let mut faults = Vec::new();
        let compiled = compile(source, wanted, &terms, &Path::parse("x"), &mut faults);
        assert_eq!(compiled.is_some(), faults.is_empty());
        faults.iter().map(PolicyFault::one_line).collect()
    }

    #[test]
    fn expressions_read_only_what_is_declared() {
        let none: [&str; 0] = [];
        assert_eq!(
            faults("variables.prod && facts.cluster.found", ResultType::Bool),
            none
        );
        assert_eq!(faults("has(variables.prod)", ResultType::Bool), none);
        let rows = [
            (
                "variables.pord",
                "x:1:10: undefined field 'pord': no variable with this name is declared earlier; did you mean \"prod\"?",
            ),
            (
                "has(variables.pord)",
                "x:1:4: undefined field 'pord': no variable with this name is declared earlier; did you mean \"prod\"?",
            ),
            (
                "facts.addon.x == 1",
                "x:1:12: undefined field 'addon': add \"addon\" to spec.facts",
            ),
            (
                "facts.clutser.x == 1",
                "x:1:14: undefined field 'clutser': there is no such fact; did you mean \"cluster\"?",
            ),
            (
                "objct.spec == 1",
                "x:1:6: undeclared reference to 'objct' (in container ''); did you mean \"object\"?",
            ),
            (
                "params.a == 1",
                "x:1:7: undeclared reference to 'params': the policy has no params",
            ),
            (
                "has(facts.cluster)",
                "x:1:4: has() cannot test members of 'facts': the declared ones are always set",
            ),
            (
                "namespaceObject.metadata.lables.a == 'b'",
                "x:1:32: undefined field 'lables': of a namespace only metadata.name, metadata.labels and metadata.annotations are \
                 known here; did you mean \"labels\"?",
            ),
            (
                "namespaceObject.status.phase == 'Active'",
                "x:1:23: undefined field 'status': of a namespace only metadata.name, metadata.labels and metadata.annotations are \
                 known here",
            ),
            (
                "authorizer.a == 1",
                "x:1:11: 'authorizer' is not available in this webhook",
            ),
        ];
        for (source, expected) in rows {
            assert_eq!(faults(source, ResultType::Bool), [expected], "{source}");
        }
    }

    #[test]
    fn results_of_a_wrong_type_are_refused_when_the_type_is_known() {
        assert_eq!(
            faults("'a' + 'b'", ResultType::Bool),
            ["x:1:1: must evaluate to bool"]
        );
        assert_eq!(
            faults("true", ResultType::Text),
            ["x:1:1: must evaluate to string"]
        );
        assert!(faults("object.a", ResultType::Bool).is_empty());
    }

    #[test]
    fn a_fault_of_syntax_has_its_place() {
        let found = faults("object.", ResultType::Bool);
        assert!(
            found.iter().any(|fault| fault.starts_with("x:1:8: Syntax error")),
            "{found:?}"
        );
    }
}
