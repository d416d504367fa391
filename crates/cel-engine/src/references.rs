//! What an expression reads and calls, found without evaluating it.
//!
//! Decides which names are free, and which members of them are named in the text. Never decides whether that is right.

use super::ast::children;
use super::names;
use super::program::Program;
use ::cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue, operators};
use std::collections::BTreeSet;

/// Names of types, which are no variables.
const TYPES: [&str; 14] = [
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "optional_type",
    "string",
    "type",
    "uint",
    "google",
    "duration",
    "timestamp",
];

/// One step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A member with this name.
    Member(String),
    /// Every item of a list, or every key of a map.
    Each,
}

/// A free variable, and the members of it that the text selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Name of the variable.
    pub name: String,
    /// The members, outermost first; ends where the text does something else with the value.
    pub steps: Vec<Step>,
    /// Whether only the presence of the last member is asked.
    pub tested: bool,
    /// How many of the steps must exist: without one of them, the evaluation is an error. An optional step and what follows it need not.
    pub needed: usize,
    /// Line and column in the text, from one.
    pub place: (isize, isize),
}

/// The kinds of results that can be told from the text alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// A truth value.
    Bool,
    /// A text.
    Text,
    /// A list.
    List,
    /// A map, or an object.
    Map,
    /// A number, `null`, bytes or a type.
    Other,
    /// It depends on what is read.
    Unknown,
}

impl Program {
    /// Returns what the expression reads, in the order of the text.
    pub fn references(&self) -> Vec<Reference> {
        let mut collector = Collector {
            program: self,
            bound: Vec::new(),
            found: Vec::new(),
        };
        collector.visit(self.ast());
        collector.found.sort_by_key(|reference| reference.place);
        collector.found
    }

    /// Returns the functions and operators that the expression calls.
    pub fn functions(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        functions(self.ast(), &mut found);
        found
    }

    /// Returns how many loops stand inside each other at most.
    pub fn loops(&self) -> usize {
        loops(self.ast())
    }

    /// Returns what kind of result the expression has, as far as its text tells.
    pub fn result_kind(&self) -> ResultKind {
        kind_of(self.ast())
    }
}

fn functions(expr: &IdedExpr, found: &mut BTreeSet<String>) {
    if let Expr::Call(call) = &expr.expr {
        let name = match call.target.as_deref().map(|target| &target.expr) {
            Some(Expr::Ident(space)) if names::NAMESPACES.contains(&space.as_str()) => {
                format!("{space}.{}", call.func_name)
            }
            Some(_) | None => call.func_name.clone(),
        };
        found.insert(name);
    }
    for child in children(expr) {
        functions(child, found);
    }
}

fn loops(expr: &IdedExpr) -> usize {
    let own = usize::from(matches!(expr.expr, Expr::Comprehension(_)));
    own + children(expr).into_iter().map(loops).max().unwrap_or(0)
}

fn kind_of(expr: &IdedExpr) -> ResultKind {
    match &expr.expr {
        Expr::Literal(LiteralValue::Boolean(_)) => ResultKind::Bool,
        Expr::Literal(LiteralValue::String(_)) => ResultKind::Text,
        Expr::Literal(_) => ResultKind::Other,
        Expr::List(_) => ResultKind::List,
        Expr::Map(_) | Expr::Struct(_) => ResultKind::Map,
        Expr::Select(select) if select.test => ResultKind::Bool,
        Expr::Call(call) => called(call),
        Expr::Comprehension(_) | Expr::Unspecified | Expr::Ident(_) | Expr::Select(_) => ResultKind::Unknown,
    }
}

fn called(call: &CallExpr) -> ResultKind {
    match (call.func_name.as_str(), call.args.as_slice()) {
        ("matches", _) => ResultKind::Bool,
        (name, _) if names::is_boolean(name) => ResultKind::Bool,
        (operators::CONDITIONAL, [_, yes, no]) => match (kind_of(yes), kind_of(no)) {
            (yes, no) if yes == no => yes,
            (_, _) => ResultKind::Unknown,
        },
        (operators::ADD, [left, right]) => match (kind_of(left), kind_of(right)) {
            (ResultKind::Text, _) | (_, ResultKind::Text) => ResultKind::Text,
            (ResultKind::List, _) | (_, ResultKind::List) => ResultKind::List,
            (_, _) => ResultKind::Unknown,
        },
        ("size" | "int" | "double" | "uint", _) => ResultKind::Other,
        ("string" | "join" | "lowerAscii" | "upperAscii" | "format", _) => ResultKind::Text,
        (_, _) => ResultKind::Unknown,
    }
}

/// A value that the text names by selecting: a variable and steps.
#[derive(Clone)]
struct Chain {
    name: String,
    steps: Vec<Step>,
    /// The position of the first step that is optional.
    optional: Option<usize>,
}

impl Chain {
    fn member(mut self, name: &str, optional: bool) -> Self {
        if optional {
            self.optional.get_or_insert(self.steps.len());
        }
        self.steps.push(Step::Member(name.to_owned()));
        self
    }
}

struct Collector<'a> {
    program: &'a Program,
    /// Variables of loops, innermost last, and what they stand for.
    bound: Vec<(String, Option<Chain>)>,
    found: Vec<Reference>,
}

impl Collector<'_> {
    fn visit(&mut self, expr: &IdedExpr) {
        if let Some(chain) = self.chain(expr) {
            let tested = matches!(&expr.expr, Expr::Select(select) if select.test);
            self.add(expr.id, chain, tested);
            return;
        }
        match &expr.expr {
            Expr::Comprehension(inner) => self.visit_loop(inner),
            Expr::Call(call) if namespace(call).is_some() => {
                call.args.iter().for_each(|arg| self.visit(arg));
            }
            Expr::Call(_)
            | Expr::List(_)
            | Expr::Map(_)
            | Expr::Struct(_)
            | Expr::Select(_)
            | Expr::Unspecified
            | Expr::Ident(_)
            | Expr::Literal(_) => children(expr).into_iter().for_each(|child| self.visit(child)),
        }
    }

    fn visit_loop(&mut self, inner: &ComprehensionExpr) {
        self.visit(&inner.iter_range);
        self.visit(&inner.accu_init);
        let item = self.chain(&inner.iter_range).map(|mut chain| {
            chain.steps.push(Step::Each);
            chain
        });
        let depth = self.bound.len();
        // Of two variables the first is a position or a key, and the second one the item.
        let second = inner.iter_var2.as_ref().filter(|name| !name.is_empty());
        let first = if second.is_some() { None } else { item.clone() };
        self.bound.push((inner.iter_var.clone(), first));
        self.bound.extend(second.map(|name| (name.clone(), item)));
        self.bound.push((inner.accu_var.clone(), None));
        for part in [&inner.loop_cond, &inner.loop_step, &inner.result] {
            self.visit(part);
        }
        self.bound.truncate(depth);
    }

    /// Returns what an expression names, if it does nothing but select.
    fn chain(&self, expr: &IdedExpr) -> Option<Chain> {
        match &expr.expr {
            Expr::Ident(name) => match self.bound.iter().rev().find(|(bound, _)| bound == name) {
                Some((_, chain)) => chain.clone(),
                None => Some(Chain {
                    name: name.trim_start_matches('.').to_owned(),
                    steps: Vec::new(),
                    optional: None,
                }),
            },
            Expr::Select(select) => Some(self.chain(&select.operand)?.member(&select.field, false)),
            Expr::Call(call) => {
                let optional = match call.func_name.as_str() {
                    operators::INDEX => false,
                    operators::OPT_SELECT | operators::OPT_INDEX => true,
                    _ => return None,
                };
                let [operand, field] = call.args.as_slice() else {
                    return None;
                };
                let Expr::Literal(LiteralValue::String(name)) = &field.expr else {
                    return None;
                };
                Some(self.chain(operand)?.member(name.inner(), optional))
            }
            Expr::Comprehension(_)
            | Expr::List(_)
            | Expr::Map(_)
            | Expr::Struct(_)
            | Expr::Unspecified
            | Expr::Literal(_) => None,
        }
    }

    fn add(&mut self, id: u64, chain: Chain, tested: bool) {
        if chain.name.starts_with('@') || TYPES.contains(&chain.name.as_str()) {
            return;
        }
        let needed = chain.steps.len().saturating_sub(usize::from(tested));
        self.found.push(Reference {
            name: chain.name,
            needed: chain.optional.unwrap_or(needed).min(needed),
            steps: chain.steps,
            tested,
            place: self.program.place(id),
        });
    }
}

fn namespace(call: &CallExpr) -> Option<&str> {
    match call.target.as_deref().map(|target| &target.expr) {
        Some(Expr::Ident(name)) if names::NAMESPACES.contains(&name.as_str()) => Some(name),
        Some(_) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> Vec<String> {
        let program = Program::compile(source).expect("it compiles");
        let step = |step: &Step| match step {
            Step::Member(name) => format!(".{name}"),
            Step::Each => "[]".to_owned(),
        };
        let text = |reference: &Reference| {
            let steps: String = reference.steps.iter().map(step).collect();
            let (line, column) = reference.place;
            format!("{}{steps}@{line}:{column}", reference.name)
        };
        program.references().iter().map(text).collect()
    }

    #[test]
    fn selections_are_reported_whole_and_with_their_place() {
        let rows = [
            ("object.spec.a == 1", vec!["object.spec.a@1:12"]),
            ("has(object.spec.a)", vec!["object.spec.a@1:4"]),
            (
                "object.spec.?a.orValue('') == x",
                vec!["object.spec.a@1:12", "x@1:31"],
            ),
            ("object.spec['a'].b == 1", vec!["object.spec.a.b@1:17"]),
            ("object.spec[x].b == 1", vec!["object.spec@1:7", "x@1:13"]),
            ("type(object) == string && true", vec!["object@1:6"]),
            ("sets.contains([1], params.a)", vec!["params.a@1:26"]),
        ];
        for (source, expected) in rows {
            assert_eq!(read(source), expected, "{source}");
        }
    }

    #[test]
    fn only_what_is_neither_optional_nor_tested_must_exist() {
        let rows = [
            ("a.b.c == 1", 2),
            ("a['b'].c == 1", 2),
            ("has(a.b.c)", 1),
            ("a.?b.c.orValue(1) == 1", 0),
            ("a.b.?c.orValue(1) == 1", 1),
            ("a.b[?'c'].orValue(1) == 1", 1),
            ("has(a.?b.c)", 0),
        ];
        for (source, expected) in rows {
            let program = Program::compile(source).expect("it compiles");
            let needed: Vec<usize> = program.references().iter().map(|one| one.needed).collect();
            assert_eq!(needed, [expected], "{source}");
        }
    }

    #[test]
    fn variables_of_loops_stand_for_the_items() {
        let found = read("object.list.all(c, c.name != '' && other.exists(d, d == c))");
        let names: Vec<&str> = found.iter().filter_map(|text| text.split('@').next()).collect();
        assert!(names.contains(&"object.list[].name"), "{names:?}");
        assert!(names.contains(&"other"), "{names:?}");
        assert!(
            !names.iter().any(|name| *name == "c" || *name == "d"),
            "{names:?}"
        );
    }

    #[test]
    fn results_are_known_where_the_text_tells() {
        let rows = [
            ("a && b", ResultKind::Bool),
            ("'x' + a", ResultKind::Text),
            ("a ? 'x' : 'y'", ResultKind::Text),
            ("[a]", ResultKind::List),
            ("1 + 2", ResultKind::Unknown),
            ("a.b", ResultKind::Unknown),
        ];
        for (source, expected) in rows {
            let program = Program::compile(source).expect("it compiles");
            assert_eq!(program.result_kind(), expected, "{source}");
        }
    }
}
