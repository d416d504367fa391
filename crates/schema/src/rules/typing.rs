//! Checks an expression against the schema that its `self` has, before it is ever evaluated.
//!
//! Decides only what it is sure of: unknown variables and fields, fields of scalars, results of the wrong type.
//! Whatever it cannot type passes here and is checked at evaluation.

use super::escaping::escape;
use super::overloads;
use crate::node::{Additional, Flags, Kind, Node};
use ::cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue, SelectExpr, operators};
use cel_engine::ast::{bare_name, children};
use cel_engine::{Program, names};

/// The type that an expression must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Bool,
    String,
}

/// How a rule sees `oldSelf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OldSelf {
    /// As it sees `self`.
    LikeSelf,
    /// As an optional value.
    Optional,
}

/// What is known of the type of an expression.
#[derive(Clone, Copy)]
enum Shape<'n> {
    Unknown,
    Node(&'n Node),
    /// The whole object: it has `apiVersion`, `kind` and `metadata` too.
    Root(&'n Node),
    /// `metadata` of the whole object: rules see two members of it.
    Metadata,
    Scalar(&'static str),
}

/// A fault and the expression that has it.
struct Misfit {
    id: u64,
    /// How many bytes before the place of the expression.
    back: usize,
    words: String,
}

/// Variables in scope, innermost last.
struct Typing<'n> {
    variables: Vec<(String, Shape<'n>)>,
    /// All faults found so far; what has one is of unknown type.
    misfits: Vec<Misfit>,
}

/// Checks the expression of a rule; `Err` holds the words of a compilation error.
pub(crate) fn check_expression(
    program: &Program,
    node: &Node,
    at_root: bool,
    old: OldSelf,
    wanted: Wanted,
) -> Result<(), String> {
    let own = if at_root {
        Shape::Root(node)
    } else {
        Shape::Node(node)
    };
    let old = match old {
        OldSelf::Optional => Shape::Unknown,
        OldSelf::LikeSelf => own,
    };
    let mut typing = Typing {
        variables: vec![("self".to_owned(), own), ("oldSelf".to_owned(), old)],
        misfits: Vec::new(),
    };
    let shape = typing.infer(program.ast());
    if !typing.misfits.is_empty() {
        let faults = typing
            .misfits
            .into_iter()
            .map(|misfit| (misfit.id, misfit.back, misfit.words));
        let error = program.error_at(faults);
        return Err(format!("compilation failed: {error}"));
    }
    if fits(shape, wanted) {
        return Ok(());
    }
    Err(match wanted {
        Wanted::Bool => "cel expression must evaluate to a bool".to_owned(),
        Wanted::String => "messageExpression must evaluate to a string".to_owned(),
    })
}

fn fits(shape: Shape<'_>, wanted: Wanted) -> bool {
    let (name, kind) = match wanted {
        Wanted::Bool => ("bool", Kind::Boolean),
        Wanted::String => ("string", Kind::String),
    };
    match shape {
        Shape::Unknown => true,
        Shape::Node(node) => matches!(node.kind, Kind::Any | Kind::IntOrString) || node.kind == kind,
        Shape::Scalar(found) => found == name,
        Shape::Root(_) | Shape::Metadata => false,
    }
}

impl<'n> Typing<'n> {
    /// Types an expression; a fault is kept, and then nothing is known of the type.
    fn infer(&mut self, expr: &IdedExpr) -> Shape<'n> {
        let typed = match &expr.expr {
            Expr::Literal(literal) => Ok(Shape::Scalar(literal_type(literal))),
            Expr::Ident(name) => self.variable(expr.id, name),
            Expr::Select(select) => self.select(expr.id, select),
            Expr::Call(call) => self.call(expr.id, call),
            Expr::Comprehension(comprehension) => Ok(self.comprehension(comprehension)),
            Expr::List(_) => Ok(self.list(expr)),
            Expr::Unspecified | Expr::Map(_) | Expr::Struct(_) => {
                for child in children(expr) {
                    self.infer(child);
                }
                Ok(Shape::Unknown)
            }
        };
        typed.unwrap_or_else(|misfit| {
            self.misfits.push(misfit);
            Shape::Unknown
        })
    }

    fn list(&mut self, expr: &IdedExpr) -> Shape<'n> {
        let items: Vec<_> = children(expr).into_iter().map(|item| self.infer(item)).collect();
        let names: Vec<_> = items.iter().map(|item| type_name(*item)).collect();
        let same = |name: &str| names.iter().all(|other| *other == Some(name));
        match names.first() {
            Some(Some("int")) if same("int") => Shape::Scalar("list(int)"),
            Some(Some("string")) if same("string") => Shape::Scalar("list(string)"),
            Some(Some("double")) if same("double") => Shape::Scalar("list(double)"),
            Some(_) | None => Shape::Unknown,
        }
    }

    fn variable(&self, id: u64, name: &str) -> Result<Shape<'n>, Misfit> {
        if let Some((_, shape)) = self.variables.iter().rev().find(|(known, _)| known == name) {
            return Ok(*shape);
        }
        if names::is_type_name(name) || name.starts_with(['@', '#']) {
            return Ok(Shape::Unknown);
        }
        Err(undeclared(id, name))
    }

    fn select(&mut self, id: u64, select: &SelectExpr) -> Result<Shape<'n>, Misfit> {
        if is_type_path(select) {
            return Ok(Shape::Unknown);
        }
        let shape = match self.infer(&select.operand) {
            Shape::Root(_) if matches!(select.field.as_str(), "apiVersion" | "kind") => {
                Shape::Scalar("string")
            }
            Shape::Root(_) if select.field == "metadata" => Shape::Metadata,
            Shape::Metadata if matches!(select.field.as_str(), "name" | "generateName") => {
                Shape::Scalar("string")
            }
            Shape::Metadata => return Err(undefined(id, &select.field)),
            Shape::Root(node) | Shape::Node(node) => field(node, &select.field, id)?,
            Shape::Unknown | Shape::Scalar("dyn") => Shape::Unknown,
            Shape::Scalar(name) => return Err(no_fields(id, name)),
        };
        Ok(if select.test { Shape::Scalar("bool") } else { shape })
    }

    fn call(&mut self, id: u64, call: &CallExpr) -> Result<Shape<'n>, Misfit> {
        let target = call.target.as_deref();
        let space = target.and_then(bare_name);
        let is_foreign = space.is_some_and(|space| overloads::FOREIGN.contains(&space));
        let namespace = !is_foreign && space.is_some_and(|space| names::NAMESPACES.contains(&space));
        let target = target.filter(|_| !namespace).map(|target| self.infer(target));
        let shapes: Vec<_> = call.args.iter().map(|arg| self.infer(arg)).collect();
        if let Some(name) = extreme(&call.func_name) {
            let back = "math.".len() + name.len();
            self.misfits.push(Misfit {
                back,
                ..undeclared(id, "math")
            });
            return Err(undeclared(id, name));
        }
        if is_foreign {
            return Err(undeclared(id, &call.func_name));
        }
        let types: Vec<_> = shapes.iter().map(|shape| type_name(*shape)).collect();
        let misfit = match target.map(type_name) {
            None if namespace => None,
            None => overloads::misfit(&call.func_name, &types),
            Some(of) => of
                .filter(|_| types.is_empty())
                .and_then(|of| overloads::member_misfit(&call.func_name, of)),
        };
        if let Some(words) = misfit {
            return Err(Misfit { id, back: 0, words });
        }
        if let [Some(left), Some(_)] = types.as_slice()
            && let Some(kind) = overloads::result(&call.func_name, left)
        {
            return Ok(Shape::Scalar(kind));
        }
        Ok(match (call.func_name.as_str(), shapes.as_slice()) {
            (operators::INDEX, [Shape::Node(node), _]) => element(node),
            ("size" | "indexOf" | "lastIndexOf", _) => Shape::Scalar("int"),
            ("string" | "lowerAscii" | "upperAscii" | "trim" | "replace" | "join" | "format", _) => {
                Shape::Scalar("string")
            }
            ("quantity", [_]) if target.is_none() && !namespace => Shape::Scalar("kubernetes.Quantity"),
            ("matches" | "hasValue", _) => Shape::Scalar("bool"),
            (name, _) if names::is_boolean(name) => Shape::Scalar("bool"),
            _ => Shape::Unknown,
        })
    }

    fn comprehension(&mut self, loops: &ComprehensionExpr) -> Shape<'n> {
        let range = self.infer(&loops.iter_range);
        let initial = self.infer(&loops.accu_init);
        let item = match range {
            Shape::Node(node) if node.kind == Kind::Array => element(node),
            Shape::Node(node) if node.kind == Kind::Object => Shape::Scalar("string"),
            Shape::Unknown | Shape::Node(_) | Shape::Root(_) | Shape::Metadata | Shape::Scalar(_) => {
                Shape::Unknown
            }
        };
        let length = self.variables.len();
        self.variables.push((loops.accu_var.clone(), Shape::Unknown));
        self.infer(&loops.result);
        match &loops.iter_var2 {
            Some(second) => {
                let (key, value) = pair(range);
                self.variables.push((loops.iter_var.clone(), key));
                self.variables.push((second.clone(), value));
            }
            None => self.variables.push((loops.iter_var.clone(), item)),
        }
        self.infer(&loops.loop_cond);
        self.infer(&loops.loop_step);
        self.variables.truncate(length);
        match initial {
            Shape::Scalar("bool") => Shape::Scalar("bool"),
            Shape::Unknown | Shape::Node(_) | Shape::Root(_) | Shape::Metadata | Shape::Scalar(_) => {
                Shape::Unknown
            }
        }
    }
}

/// Returns the function that a macro stands for, which has taken the namespace away: its place is before the call's.
fn extreme(function: &str) -> Option<&'static str> {
    match function {
        "math.@max" => Some("greatest"),
        "math.@min" => Some("least"),
        _ => None,
    }
}

/// Returns the name of a plain type.
fn type_name(shape: Shape<'_>) -> Option<&'static str> {
    match shape {
        Shape::Scalar("dyn") | Shape::Unknown | Shape::Root(_) | Shape::Metadata => None,
        Shape::Scalar(name) => Some(name),
        Shape::Node(node) => match node.kind {
            Kind::String if node.format.is_none() => Some("string"),
            Kind::Integer => Some("int"),
            Kind::Number => Some("double"),
            Kind::Boolean => Some("bool"),
            Kind::Any | Kind::String | Kind::Object | Kind::Array | Kind::IntOrString => None,
        },
    }
}

/// Returns what is known of the two variables of a loop: index and item, or key and value.
fn pair(range: Shape<'_>) -> (Shape<'_>, Shape<'_>) {
    match range {
        Shape::Node(node) if node.kind == Kind::Array => (Shape::Scalar("int"), element(node)),
        Shape::Node(node) if node.kind == Kind::Object => (Shape::Scalar("string"), element(node)),
        Shape::Unknown | Shape::Node(_) | Shape::Root(_) | Shape::Metadata | Shape::Scalar(_) => {
            (Shape::Unknown, Shape::Unknown)
        }
    }
}

/// `google.protobuf.Timestamp` and the like name types.
fn is_type_path(select: &SelectExpr) -> bool {
    match &select.operand.expr {
        Expr::Ident(name) => name == "google",
        Expr::Select(inner) => is_type_path(inner),
        Expr::Unspecified
        | Expr::Call(_)
        | Expr::Comprehension(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Struct(_) => false,
    }
}

/// Tells whether rules can be written about values of a schema: those without a type are unknown to them.
pub(crate) fn is_typed(node: &Node) -> bool {
    match node.kind {
        Kind::Any => false,
        Kind::Array => node.items.as_deref().is_some_and(is_typed),
        Kind::Object => node.additional_schema().is_none_or(is_typed),
        Kind::String | Kind::Integer | Kind::Number | Kind::Boolean | Kind::IntOrString => true,
    }
}

fn field<'n>(node: &'n Node, name: &str, id: u64) -> Result<Shape<'n>, Misfit> {
    match node.kind {
        Kind::Any | Kind::IntOrString | Kind::Array => Ok(Shape::Unknown),
        Kind::Object => {
            let spelled = |property: &str| escape(property).is_some_and(|spelled| spelled == name);
            if let Some((_, schema)) = node.properties.iter().find(|(property, _)| spelled(property)) {
                return if is_typed(schema) {
                    Ok(Shape::Node(schema))
                } else {
                    Err(undefined(id, name))
                };
            }
            let open = matches!(node.additional, Additional::Anything);
            let implied = node.is(Flags::EMBEDDED) && matches!(name, "apiVersion" | "kind" | "metadata");
            match node.additional_schema() {
                Some(schema) => Ok(Shape::Node(schema)),
                None if open || implied => Ok(Shape::Unknown),
                None => Err(undefined(id, name)),
            }
        }
        // Texts with a format may be timestamps, durations or bytes; those have no fields either, but other names.
        Kind::String if node.format.is_some() => Ok(Shape::Unknown),
        Kind::String => Err(no_fields(id, "string")),
        Kind::Integer => Err(no_fields(id, "int")),
        Kind::Number => Err(no_fields(id, "double")),
        Kind::Boolean => Err(no_fields(id, "bool")),
    }
}

fn undeclared(id: u64, name: &str) -> Misfit {
    Misfit {
        id,
        back: 0,
        words: format!("undeclared reference to '{name}' (in container '')"),
    }
}

fn undefined(id: u64, name: &str) -> Misfit {
    Misfit {
        id,
        back: 0,
        words: format!("undefined field '{name}'"),
    }
}

fn no_fields(id: u64, kind: &str) -> Misfit {
    Misfit {
        id,
        back: 0,
        words: format!("type '{kind}' does not support field selection"),
    }
}

fn element(node: &Node) -> Shape<'_> {
    match (node.kind, node.items.as_deref(), node.additional_schema()) {
        (Kind::Array, Some(schema), _) | (Kind::Object, _, Some(schema)) => Shape::Node(schema),
        _ => Shape::Unknown,
    }
}

fn literal_type(literal: &LiteralValue) -> &'static str {
    match literal {
        LiteralValue::Boolean(_) => "bool",
        LiteralValue::Bytes(_) => "bytes",
        LiteralValue::Double(_) => "double",
        LiteralValue::Int(_) => "int",
        LiteralValue::Null => "dyn",
        LiteralValue::String(_) => "string",
        LiteralValue::UInt(_) => "uint",
    }
}
