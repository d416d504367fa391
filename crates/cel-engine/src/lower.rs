//! From the expression as written to the expression as evaluated: what the evaluator lacks is spelled with what it has.
//!
//! Two-variable loops become loops over keys, `Object{}` and `JSONPatch{}` become maps, patterns that are written out
//! are compiled once, members of well-known variables are looked up directly, and `has(variables.x)` evaluates the variable: in
//! Kubernetes it is true if that succeeds, and fails with it if not. Never changes what an expression means.

use super::ast::{self, at, bare_name, bind, call, each_part, ident, literal_text};
use super::library::{Pattern, is_format};
use super::members::{EVALUATED, LONGEST, PATH};
use ::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, MapExpr, SelectExpr, operators,
};

/// Variables whose members are plain data: never optional, never a name with dots in it.
const ROOTS: [&str; 6] = [
    "object",
    "oldObject",
    "params",
    "request",
    "namespaceObject",
    "self",
];

/// What came out besides the expression.
pub(super) struct Lowered {
    pub(super) expr: IdedExpr,
    /// The patterns that are written out, in the order of their numbers.
    pub(super) patterns: Vec<Pattern>,
}

/// A text in the expression that cannot be what it stands for.
pub(super) struct Misspelt {
    pub(super) id: u64,
    pub(super) words: String,
}

/// Rewrites an expression.
pub(super) fn lower(mut expr: IdedExpr) -> Result<Lowered, Misspelt> {
    let mut lowering = Lowering {
        patterns: Vec::new(),
        shadowed: Vec::new(),
        misspelt: None,
    };
    lowering.visit(&mut expr);
    match lowering.misspelt {
        Some(misspelt) => Err(misspelt),
        None => Ok(Lowered {
            expr,
            patterns: lowering.patterns,
        }),
    }
}

struct Lowering {
    patterns: Vec<Pattern>,
    /// Names that loops around bind.
    shadowed: Vec<String>,
    misspelt: Option<Misspelt>,
}

impl Lowering {
    fn visit(&mut self, expr: &mut IdedExpr) {
        if let Expr::Comprehension(inner) = &mut expr.expr {
            self.visit_loop(inner);
        } else {
            each_part(&mut expr.expr, &mut |part| self.visit(part));
        }
        let id = expr.id;
        match std::mem::take(&mut expr.expr) {
            Expr::Comprehension(inner) if inner.iter_var2.is_some() => *expr = two_variables(id, *inner),
            Expr::Struct(fields) => {
                let entries = fields.entries.into_iter().map(|mut entry| {
                    entry.expr = match entry.expr {
                        EntryExpr::StructField(field) => {
                            ast::named_entry(entry.id, &field.field, field.value, field.optional)
                        }
                        entry @ EntryExpr::MapEntry(_) => entry,
                    };
                    entry
                });
                expr.expr = Expr::Map(MapExpr {
                    entries: entries.collect(),
                });
            }
            Expr::Select(select) if !select.test && self.is_plain(&select.operand) => {
                expr.expr = member(id, select);
            }
            Expr::Select(select) if select.test && self.is_free(&select.operand, "variables") => {
                expr.expr = call(
                    EVALUATED,
                    vec![at(
                        id,
                        Expr::Select(SelectExpr {
                            test: false,
                            ..select
                        }),
                    )],
                );
            }
            Expr::Call(call) if is_format_constant(&call) => {
                expr.expr = ast::call("@format", vec![at(id, ast::text(&call.func_name))]);
            }
            Expr::Call(mut call) => {
                let texts = call.target.is_some();
                if matches!(
                    (call.func_name.as_str(), texts, call.args.len()),
                    ("matches", false, 2) | ("matches" | "find", true, 1) | ("findAll", true, 1 | 2)
                ) {
                    let number = usize::from(!texts);
                    if let Some(pattern) = call.args.get_mut(number) {
                        self.pattern(pattern, &call.func_name);
                    }
                }
                expr.expr = Expr::Call(call);
            }
            other @ (Expr::Unspecified
            | Expr::Comprehension(_)
            | Expr::Ident(_)
            | Expr::List(_)
            | Expr::Literal(_)
            | Expr::Map(_)
            | Expr::Select(_)) => expr.expr = other,
        }
    }

    fn visit_loop(&mut self, inner: &mut ComprehensionExpr) {
        self.visit(&mut inner.iter_range);
        self.visit(&mut inner.accu_init);
        let around = self.shadowed.len();
        self.shadowed.push(inner.accu_var.clone());
        self.visit(&mut inner.result);
        self.shadowed.push(inner.iter_var.clone());
        self.shadowed.extend(inner.iter_var2.clone());
        self.visit(&mut inner.loop_cond);
        self.visit(&mut inner.loop_step);
        self.shadowed.truncate(around);
    }

    /// Tells whether an expression is a free variable of this name.
    fn is_free(&self, expr: &IdedExpr, variable: &str) -> bool {
        let is_named = matches!(&expr.expr, Expr::Ident(name) if name == variable);
        is_named && !self.shadowed.iter().any(|bound| bound == variable)
    }

    /// Tells whether an expression is a well-known variable or a member of one, already rewritten.
    fn is_plain(&self, expr: &IdedExpr) -> bool {
        match &expr.expr {
            Expr::Ident(name) => {
                ROOTS.contains(&name.as_str()) && !self.shadowed.iter().any(|bound| bound == name)
            }
            Expr::Call(call) => call.func_name == PATH,
            Expr::Unspecified
            | Expr::Comprehension(_)
            | Expr::List(_)
            | Expr::Literal(_)
            | Expr::Map(_)
            | Expr::Select(_)
            | Expr::Struct(_) => false,
        }
    }

    /// Compiles a pattern that is written out and leaves its number.
    fn pattern(&mut self, arg: &mut IdedExpr, function: &str) {
        let Some(text) = literal_text(arg) else {
            return;
        };
        if let Ok(pattern) = Pattern::compile(text) {
            arg.expr = ident(&format!("{}{}", super::run::PATTERN, self.patterns.len()));
            self.patterns.push(pattern);
        } else {
            self.misspelt.get_or_insert_with(|| Misspelt {
                id: arg.id,
                words: format!("invalid {function} argument"),
            });
        }
    }
}

/// `format.dns1123Label()`
fn is_format_constant(call: &CallExpr) -> bool {
    call.args.is_empty()
        && call.target.as_deref().and_then(bare_name) == Some("format")
        && is_format(&call.func_name)
}

/// `a.b` as a look-up: the evaluator takes it for a name with a dot first.
fn member(id: u64, select: SelectExpr) -> Expr {
    let (operand, name) = (*select.operand, at(id, ast::text(&select.field)));
    match operand.expr {
        Expr::Call(mut path) if path.func_name == PATH && path.args.len() <= LONGEST => {
            path.args.push(name);
            Expr::Call(path)
        }
        other @ (Expr::Unspecified
        | Expr::Call(_)
        | Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_)) => call(PATH, vec![at(operand.id, other), name]),
    }
}

/// Turns `range.all(i, v, step)` into `cel.bind(r, range, keys(r).all(k, step with k for i and r[k] for v))`.
fn two_variables(id: u64, mut inner: ComprehensionExpr) -> IdedExpr {
    let (range, key) = (format!("@range{id}"), format!("@key{id}"));
    let value = call(operators::INDEX, vec![at(id, ident(&range)), at(id, ident(&key))]);
    let second = inner.iter_var2.take().unwrap_or_default();
    let swaps = [(inner.iter_var.clone(), ident(&key)), (second, value)];
    replace(&mut inner.loop_cond, &swaps);
    replace(&mut inner.loop_step, &swaps);
    inner.iter_var = key;
    let keys = call("@keys", vec![at(id, ident(&range))]);
    let init = std::mem::replace(&mut inner.iter_range, at(id, keys));
    bind(id, &range, init, at(id, Expr::Comprehension(Box::new(inner))))
}

/// Replaces free names.
fn replace(expr: &mut IdedExpr, swaps: &[(String, Expr)]) {
    match &mut expr.expr {
        Expr::Ident(name) => {
            if let Some((_, other)) = swaps.iter().find(|(from, _)| from == name) {
                expr.expr = other.clone();
            }
        }
        Expr::Comprehension(inner) => {
            replace(&mut inner.iter_range, swaps);
            replace(&mut inner.accu_init, swaps);
            let free = |bound: &[&str]| -> Vec<(String, Expr)> {
                let kept = swaps.iter().filter(|(from, _)| !bound.contains(&from.as_str()));
                kept.cloned().collect()
            };
            let accu = inner.accu_var.as_str();
            let (outer, within) = (
                free(&[accu]),
                free(&[accu, &inner.iter_var, inner.iter_var2.as_deref().unwrap_or(accu)]),
            );
            replace(&mut inner.result, &outer);
            replace(&mut inner.loop_cond, &within);
            replace(&mut inner.loop_step, &within);
        }
        Expr::Select(select) => {
            // `v.x` with `v` bound by the loop is a member, whatever other names there are.
            let named = bare_name(&select.operand).map(str::to_owned);
            replace(&mut select.operand, swaps);
            if select.test || named.is_none_or(|name| !swaps.iter().any(|(from, _)| *from == name)) {
                return;
            }
            let id = expr.id;
            if let Expr::Select(select) = std::mem::take(&mut expr.expr) {
                expr.expr = member(id, select);
            }
        }
        other @ (Expr::Unspecified
        | Expr::Call(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Struct(_)) => each_part(other, &mut |part| replace(part, swaps)),
    }
}
