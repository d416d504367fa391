//! Checks the types of an expression of an admission policy before it is evaluated, with the verdict of Kubernetes.
//!
//! The objects of a request are `dyn`, the request and the namespace have declared fields. An expression that calls a function with an
//! operand of a wrong type, that reads an undeclared field, or whose literals cannot be converted, is a fault. The functions and the
//! fields are in the tables `functions.txt` and `objects.txt`.

mod literals;
mod tables;
mod types;

pub use types::Type;

use super::ast::{bare_name, literal_text};
use super::diagnose::CompileError;
use super::library::is_format;
use super::names::{self, NAMESPACES};
use super::program::Program;
use ::cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, SelectExpr, operators};
use literals::literal_type;
use std::collections::BTreeMap;
use tables::{FUNCTIONS, OBJECTS, Overload};
use types::Bindings;

/// What an expression can read besides the request and its objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct Declared<'a> {
    /// Whether there are params.
    pub params: bool,
    /// The variables with their types; `None` where none can be read.
    pub variables: Option<&'a BTreeMap<String, Type>>,
    /// Other names with their types, which hide those of the same name.
    pub names: Option<&'a BTreeMap<String, Type>>,
}

/// The type of the variable `variables`.
const VARIABLES: &str = "kubernetes.variables";

/// Checks an expression, and returns the type of its result.
pub fn check(program: &Program, declared: &Declared<'_>) -> Result<Type, CompileError> {
    let mut checker = Checker {
        declared,
        scopes: Vec::new(),
        bindings: Bindings::default(),
        faults: Vec::new(),
        pairs: Vec::new(),
        in_format: false,
    };
    let found = checker.infer(program.ast());
    let found = checker.bindings.resolve(&found);
    for (id, first, other) in std::mem::take(&mut checker.pairs) {
        let (first, other) = (checker.closed(&first), checker.closed(&other));
        if first != other && !checker.bindings.is_full() {
            checker.fault(id, expected(&first, &other));
        }
    }
    if checker.faults.is_empty() {
        return Ok(found);
    }
    let faults = checker.faults.into_iter().map(|(id, words)| (id, 0, words));
    Err(program.error_at(faults))
}

fn expected(wanted: &Type, found: &Type) -> String {
    format!("expected type '{wanted}' but found '{found}'")
}

struct Checker<'d> {
    declared: &'d Declared<'d>,
    /// The variables of loops, innermost last.
    scopes: Vec<(String, Type)>,
    bindings: Bindings,
    faults: Vec<(u64, String)>,
    /// Parts of list and map literals that must have one type, which is known at the end.
    pairs: Vec<(u64, Type, Type)>,
    /// Operands of `format` can have several types.
    in_format: bool,
}

impl Checker<'_> {
    fn fault(&mut self, id: u64, words: String) -> Type {
        self.faults.push((id, words));
        Type::Dyn
    }

    fn undeclared(&mut self, id: u64, name: &str) -> Type {
        self.fault(id, format!("undeclared reference to '{name}' (in container '')"))
    }

    /// Returns a type without open types.
    fn closed(&self, of: &Type) -> Type {
        self.bindings.resolve(of).without_open()
    }

    fn open(&mut self) -> Type {
        if self.bindings.is_full() {
            return Type::Dyn;
        }
        Type::Open(self.bindings.fresh(1))
    }

    fn infer(&mut self, expr: &IdedExpr) -> Type {
        match &expr.expr {
            Expr::Literal(literal) => Type::named(literal_type(literal)),
            Expr::Ident(name) => self.variable(expr.id, name),
            Expr::Select(select) => self.select(expr.id, select),
            Expr::Call(call) => self.call(expr.id, call),
            Expr::Comprehension(inner) => self.comprehension(inner),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Struct(literal) => self.object(literal),
            Expr::Unspecified => Type::Dyn,
        }
    }

    fn variable(&mut self, id: u64, name: &str) -> Type {
        if let Some((_, known)) = self.scopes.iter().rev().find(|(known, _)| known == name) {
            return known.clone();
        }
        let name = name.strip_prefix('.').unwrap_or(name);
        if let Some(known) = self.declared.names.and_then(|names| names.get(name)) {
            return known.clone();
        }
        match name {
            "object" | "oldObject" => Type::Dyn,
            "params" if self.declared.params => Type::Dyn,
            "request" => Type::named("kubernetes.AdmissionRequest"),
            "namespaceObject" => Type::named("kubernetes.Namespace"),
            "authorizer" => Type::named("authorizer"),
            "variables" if self.declared.variables.is_some() => Type::named(VARIABLES),
            _ if names::is_type_name(name) => Type::Of("type", vec![Type::Dyn]),
            _ if name.starts_with(['@', '#']) => Type::Dyn,
            _ => self.undeclared(id, name),
        }
    }

    fn select(&mut self, id: u64, select: &SelectExpr) -> Type {
        if is_type_path(&select.operand) {
            return Type::Of("type", vec![Type::Dyn]);
        }
        let operand = self.infer(&select.operand);
        let found = self.field(id, &operand, &select.field);
        if select.test { Type::named("bool") } else { found }
    }

    /// Returns the type of a field; that of an optional value is optional.
    fn field(&mut self, id: u64, operand: &Type, name: &str) -> Type {
        let operand = self.bindings.resolve(operand);
        match &operand {
            Type::Dyn => Type::Dyn,
            Type::Open(_) => {
                self.bindings.fit(&operand, &Type::Dyn);
                Type::Dyn
            }
            Type::Of("map", parts) => parts.last().cloned().unwrap_or(Type::Dyn),
            Type::Of("optional", parts) => {
                let inner = parts.first().cloned().unwrap_or(Type::Dyn);
                self.field(id, &inner, name).into_optional()
            }
            Type::Named(own) if own == VARIABLES => {
                let known = self.declared.variables.and_then(|known| known.get(name));
                known
                    .cloned()
                    .unwrap_or_else(|| self.fault(id, format!("undefined field '{name}'")))
            }
            Type::Named(own) if is_object(own) => Type::Dyn,
            Type::Named(own) if OBJECTS.contains_key(own.as_str()) => {
                let known = OBJECTS.get(own.as_str()).and_then(|fields| fields.get(name));
                known
                    .cloned()
                    .unwrap_or_else(|| self.fault(id, format!("undefined field '{name}'")))
            }
            Type::Named(_) | Type::Of(..) => {
                self.fault(id, format!("type '{operand}' does not support field selection"))
            }
        }
    }

    fn call(&mut self, id: u64, call: &CallExpr) -> Type {
        let space = call.target.as_deref().and_then(bare_name);
        let space = space.filter(|space| {
            NAMESPACES.contains(space) && !self.scopes.iter().any(|(bound, _)| bound == space)
        });
        let name = match space {
            Some("format") if call.args.is_empty() && is_format(&call.func_name) => {
                return Type::named("kubernetes.NamedFormat");
            }
            Some(space) => format!("{space}.{}", call.func_name),
            None => call.func_name.clone(),
        };
        let Some(overloads) = FUNCTIONS.get(name.as_str()).filter(|_| !is_special(&name)) else {
            return self.special(id, &name, space, call);
        };
        let target = call
            .target
            .as_deref()
            .filter(|_| space.is_none())
            .map(|target| self.infer(target));
        let outer = self.in_format;
        // The pairs that `transformMap` makes have two types.
        self.in_format |= (name == "format" && target.is_some()) || name == "@mapOfPairs";
        let operands: Vec<Type> = call.args.iter().map(|arg| self.infer(arg)).collect();
        self.in_format = outer;
        let before = self.faults.len();
        let result = self.resolve_overload(overloads, target.as_ref(), &operands);
        let result = result.unwrap_or_else(|| {
            let shown: Vec<String> = operands.iter().map(|one| self.closed(one).to_string()).collect();
            let shown = match &target {
                Some(target) => format!("{}.({})", self.closed(target), shown.join(", ")),
                None => format!("({})", shown.join(", ")),
            };
            self.fault(
                id,
                format!("found no matching overload for '{name}' applied to '{shown}'"),
            )
        });
        if self.faults.len() == before {
            self.literals(&name, call);
        }
        result
    }

    fn resolve_overload(
        &mut self,
        overloads: &[Overload],
        target: Option<&Type>,
        operands: &[Type],
    ) -> Option<Type> {
        let mut result: Option<Type> = None;
        let given: Vec<Type> = operands
            .iter()
            .chain(target)
            .map(|one| self.bindings.resolve(one))
            .collect();
        // Without open types a form determines nothing that others have to know.
        let is_open = given.iter().any(Type::is_open);
        for form in overloads {
            if form.target.is_some() != target.is_some() || form.operands.len() != operands.len() {
                continue;
            }
            let mut tried = if is_open {
                self.bindings.clone()
            } else {
                self.bindings.empty()
            };
            let first = tried.fresh(2);
            let wanted = form.target.iter().chain(&form.operands);
            let mut pairs = wanted.zip(target.into_iter().chain(operands));
            if !pairs.all(|(wanted, found)| tried.fit(&Type::parse(wanted, first), found)) {
                continue;
            }
            let mut found = tried.resolve(&Type::parse(&form.result, first));
            if self.bindings.is_full() {
                found = found.without_open();
            }
            if (is_open || found.is_open()) && !self.bindings.is_full() {
                self.bindings.adopt(tried);
            }
            result = Some(match result {
                None => found,
                Some(known) if known == found => known,
                Some(_) => Type::Dyn,
            });
        }
        result
    }

    /// Operators whose operands are not those of a function, and functions that do not exist.
    fn special(&mut self, id: u64, name: &str, space: Option<&str>, call: &CallExpr) -> Type {
        match (name, call.args.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, terms) => {
                for term in terms {
                    let found = self.infer(term);
                    let bool = Type::named("bool");
                    if !self.bindings.fit(&bool, &found) {
                        let found = self.closed(&found);
                        self.fault(term.id, expected(&bool, &found));
                    }
                }
                Type::named("bool")
            }
            (operators::OPT_SELECT, [operand, field]) => {
                let operand = self.infer(operand);
                self.field(id, &operand, literal_text(field).unwrap_or_default())
                    .into_optional()
            }
            (_, args) => {
                for arg in args {
                    self.infer(arg);
                }
                match (space, call.target.as_deref()) {
                    (Some(space), Some(target)) => self.undeclared(target.id, space),
                    (_, target) => {
                        target.map(|target| self.infer(target));
                        self.undeclared(id, name)
                    }
                }
            }
        }
    }

    fn comprehension(&mut self, inner: &ComprehensionExpr) -> Type {
        let range = self.infer(&inner.iter_range);
        let range = self.bindings.resolve(&range);
        let (key, item) = match &range {
            Type::Of("list", parts) => (Type::named("int"), parts.first().cloned().unwrap_or(Type::Dyn)),
            Type::Of("map", parts) => {
                let at = |place: usize| parts.get(place).cloned().unwrap_or(Type::Dyn);
                (at(0), if inner.iter_var2.is_some() { at(1) } else { at(0) })
            }
            Type::Dyn | Type::Open(_) => (Type::Dyn, Type::Dyn),
            Type::Named(_) | Type::Of(..) => {
                let words = format!(
                    "expression of type '{range}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.fault(inner.iter_range.id, words);
                (Type::Dyn, Type::Dyn)
            }
        };
        let accumulated = self.infer(&inner.accu_init);
        let is_bound = inner.iter_var == "#unused"
            && (!inner.accu_var.starts_with('@') || inner.accu_var.starts_with("@index"));
        let is_value = matches!(&inner.accu_init.expr, Expr::Call(call) if call.func_name == "value" && call.args.is_empty());
        if is_bound && !is_value {
            self.undeclared(inner.accu_init.id, "cel");
        }
        let depth = self.scopes.len();
        self.scopes.push((inner.accu_var.clone(), accumulated.clone()));
        let within = self.scopes.len();
        match &inner.iter_var2 {
            Some(second) => self
                .scopes
                .extend([(inner.iter_var.clone(), key), (second.clone(), item)]),
            None => self.scopes.push((inner.iter_var.clone(), item)),
        }
        self.infer(&inner.loop_cond);
        let step = self.infer(&inner.loop_step);
        if !self.bindings.fit(&accumulated, &step) {
            let (wanted, found) = (self.closed(&accumulated), self.closed(&step));
            self.fault(inner.loop_step.id, expected(&wanted, &found));
        }
        self.scopes.truncate(within);
        let result = self.infer(&inner.result);
        self.scopes.truncate(depth);
        self.bindings.resolve(&result)
    }
}

fn is_special(name: &str) -> bool {
    [
        operators::LOGICAL_AND,
        operators::LOGICAL_OR,
        operators::OPT_SELECT,
    ]
    .contains(&name)
}

fn is_object(name: &str) -> bool {
    name == "Object" || name.starts_with("Object.")
}

/// Returns whether it is the beginning of a name such as `google.protobuf.Timestamp`.
fn is_type_path(expr: &IdedExpr) -> bool {
    match &expr.expr {
        Expr::Ident(name) => name == "google",
        Expr::Select(inner) => is_type_path(&inner.operand),
        Expr::Unspecified
        | Expr::Call(_)
        | Expr::Comprehension(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Struct(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(source: &str) -> Result<String, String> {
        let variables = BTreeMap::from([("n".to_owned(), Type::named("int")), ("d".to_owned(), Type::Dyn)]);
        let declared = Declared {
            params: false,
            variables: Some(&variables),
            names: None,
        };
        let program = Program::compile_mutation(source)?;
        let found = check(&program, &declared).map_err(|error| {
            let all: Vec<String> = error.faults.into_iter().map(|fault| fault.message).collect();
            all.join("; ")
        })?;
        Ok(found.to_string())
    }

    #[test]
    fn every_function_has_an_overload_and_is_one_of_the_engine() {
        for (name, overloads) in FUNCTIONS.iter() {
            assert!(!overloads.is_empty(), "{name}");
            let (space, last) = match name.split_once('.') {
                Some((space, last)) => (Some(space), last),
                None => (None, *name),
            };
            assert_ne!(
                names::look_up(last, space),
                names::Availability::Nowhere,
                "{name}"
            );
        }
    }

    #[test]
    fn results_have_the_type_that_the_text_gives_them() {
        let rows = [
            ("object.spec.replicas", "dyn"),
            ("object.spec.replicas > 1", "bool"),
            ("object.a + 'x'", "string"),
            ("object.a.map(x, x.b)", "list(dyn)"),
            ("[1, 2].filter(x, x > 1)", "list(int)"),
            ("object.?a.orValue('x')", "dyn"),
            ("object.?a", "optional_type(dyn)"),
            ("{'a': 1}.?a.orValue(2)", "int"),
            ("request.userInfo.groups.map(g, g.size())", "list(int)"),
            ("variables.n + 1", "int"),
            ("variables.d", "dyn"),
            ("object.a ? [] : ['x']", "list(string)"),
            ("(true ? dyn('a') : 1) == 1", "bool"),
            ("[[], [1]]", "list(list(int))"),
            ("'%s %d'.format(['a', 1])", "string"),
            ("[3, 1].sort().sum()", "int"),
            ("object.?a.optMap(x, x + 1).orValue(1) == 1", "bool"),
            ("[1].all(i, v, i == 0 && v == 1)", "bool"),
            ("quantity('1').add(1).compareTo(quantity('2'))", "int"),
            ("duration('1h') == null", "bool"),
            ("{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}", "bool"),
            ("Object{spec: Object.spec{a: 1}}", "Object"),
            ("[JSONPatch{op: 'add', path: '/a', value: 1}]", "list(JSONPatch)"),
            ("namespaceObject.metadata.labels['a']", "string"),
            ("namespaceObject.status.conditions.all(c, c.type == 'x')", "bool"),
        ];
        for (source, expected) in rows {
            assert_eq!(verdict(source).as_deref(), Ok(expected), "{source}");
        }
    }

    #[test]
    fn what_cannot_be_evaluated_is_a_fault() {
        let rows = [
            (
                "1 == 'a'",
                "found no matching overload for '_==_' applied to '(int, string)'",
            ),
            (
                "'a' == null",
                "found no matching overload for '_==_' applied to '(string, null)'",
            ),
            ("object.a && 1", "expected type 'bool' but found 'int'"),
            (
                "object.a.startsWith(1)",
                "found no matching overload for 'startsWith' applied to 'dyn.(int)'",
            ),
            (
                "['a'].all(x, x > 1)",
                "found no matching overload for '_>_' applied to '(string, int)'",
            ),
            ("[1, 'a'].size() == 2", "expected type 'int' but found 'string'"),
            ("[1, object.a].size() == 2", "expected type 'int' but found 'dyn'"),
            (
                "{'a': 1, 'b': 'c'}.size() == 2",
                "expected type 'int' but found 'string'",
            ),
            ("request.nosuch == 1", "undefined field 'nosuch'"),
            ("has(request.userInfo.name)", "undefined field 'name'"),
            ("namespaceObject.metadata.uid == ''", "undefined field 'uid'"),
            ("variables.x == 1", "undefined field 'x'"),
            (
                "params.a == 1",
                "undeclared reference to 'params' (in container '')",
            ),
            (
                "math.abs(1) == 1",
                "undeclared reference to 'math' (in container '')",
            ),
            (
                "cel.bind(x, 1, x == 1)",
                "undeclared reference to 'cel' (in container '')",
            ),
            ("int('abc') == 1", "invalid int argument"),
            ("duration(1) == duration('1s')", "invalid duration argument"),
            (
                "'%d %s'.format([1])",
                "the format has 2 clauses, and the list has 1 items",
            ),
            (
                "'%d'.format(['a']) == ''",
                "the clause \"%d\" needs a whole number",
            ),
            (
                "1.all(x, true)",
                "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
            ),
            (
                "JSONPatch{op: 1}",
                "expected type of field 'op' is 'string' but provided type is 'int'",
            ),
            (
                "optional.of(1).orValue('a')",
                "found no matching overload for 'orValue' applied to 'optional_type(int).(string)'",
            ),
        ];
        for (source, expected) in rows {
            assert_eq!(verdict(source), Err(expected.to_owned()), "{source}");
        }
        for literal in [
            "'a'.matches('[')",
            "duration('1d') > duration('1h')",
            "timestamp('2020') > timestamp(1)",
        ] {
            assert!(verdict(literal).is_err(), "{literal}");
        }
        let many = format!("[{}].size() == 1", vec!["[]"; 2000].join(","));
        assert_eq!(verdict(&many).as_deref(), Ok("bool"), "in a short time");
        assert!(
            verdict("1 / 0 == 1").is_ok(),
            "Kubernetes finds this only when it evaluates"
        );
    }
}
