//! Literals: what they are made of, and what functions make of them.

use super::tables::OBJECTS;
use super::types::Type;
use super::{Checker, expected};
use crate::Activation;
use crate::ast::{at, call, literal_text};
use crate::program::Program;
use ::cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, StructExpr};

/// Steps that the evaluation of one conversion of a literal can take.
const STEPS: u64 = 10_000;

impl Checker<'_> {
    /// Literals that a function cannot convert. Texts of durations, timestamps and patterns are checked before.
    pub(super) fn literals(&mut self, name: &str, called: &CallExpr) {
        let wrong = match (name, called.args.as_slice(), called.target.as_deref()) {
            ("format", [last], Some(target)) => match (literal_text(target), &last.expr) {
                (Some(text), Expr::List(list)) => format_misfit(text, &list.elements),
                (_, _) => None,
            },
            ("bool" | "bytes" | "double" | "duration" | "int" | "string" | "uint", [last], None) => {
                cannot_convert(name, last).then(|| format!("invalid {name} argument"))
            }
            (_, _, _) => None,
        };
        if let (Some(words), Some(last)) = (wrong, called.args.last()) {
            self.fault(last.id, words);
        }
    }

    pub(super) fn list(&mut self, list: &ListExpr) -> Type {
        let mut joined = None;
        let mut first = None;
        for (place, item) in list.elements.iter().enumerate() {
            let mut found = self.infer(item);
            if list.optional_indices.contains(&place) {
                found = self.unwrapped(item.id, &found);
            }
            self.pair(item.id, &mut first, &found);
            joined = Some(self.joined(joined, found));
        }
        let item = joined.unwrap_or_else(|| self.open());
        Type::list(item)
    }

    pub(super) fn map(&mut self, map: &MapExpr) -> Type {
        let (mut keys, mut values) = (None, None);
        let (mut first_key, mut first_value) = (None, None);
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                continue;
            };
            let key = self.infer(&entry.key);
            let mut value = self.infer(&entry.value);
            if entry.optional {
                value = self.unwrapped(entry.value.id, &value);
            }
            self.pair(entry.key.id, &mut first_key, &key);
            self.pair(entry.value.id, &mut first_value, &value);
            keys = Some(self.joined(keys, key));
            values = Some(self.joined(values, value));
        }
        let key = keys.unwrap_or_else(|| self.open());
        let value = values.unwrap_or_else(|| self.open());
        Type::map(key, value)
    }

    fn pair(&mut self, id: u64, first: &mut Option<Type>, found: &Type) {
        match first {
            None => *first = Some(found.clone()),
            Some(first) if !self.in_format => self.pairs.push((id, first.clone(), found.clone())),
            Some(_) => {}
        }
    }

    fn joined(&mut self, before: Option<Type>, found: Type) -> Type {
        match before {
            None => found,
            Some(before) if self.bindings.fit(&before, &found) => self.bindings.general(&before, &found),
            Some(_) => Type::Dyn,
        }
    }

    /// Returns the type of an optional entry.
    fn unwrapped(&mut self, id: u64, found: &Type) -> Type {
        let inner = self.open();
        if self.bindings.fit(&Type::optional(inner.clone()), found) {
            return self.bindings.resolve(&inner);
        }
        let found = self.closed(found);
        self.fault(id, expected(&Type::optional(found.clone()), &found))
    }

    pub(super) fn object(&mut self, literal: &StructExpr) -> Type {
        let fields = OBJECTS.get(literal.type_name.as_str());
        for entry in &literal.entries {
            let EntryExpr::StructField(field) = &entry.expr else {
                continue;
            };
            let mut found = self.infer(&field.value);
            if field.optional {
                found = self.unwrapped(field.value.id, &found);
            }
            let wanted = fields.and_then(|fields| fields.get(field.field.as_str()));
            if let Some(wanted) = wanted.filter(|wanted| !self.bindings.fit(wanted, &found)) {
                let found = self.closed(&found);
                let words = format!(
                    "expected type of field '{}' is '{wanted}' but provided type is '{found}'",
                    field.field
                );
                self.fault(entry.id, words);
            }
        }
        Type::named(&literal.type_name)
    }
}

pub(super) fn literal_type(literal: &LiteralValue) -> &'static str {
    match literal {
        LiteralValue::Boolean(_) => "bool",
        LiteralValue::Bytes(_) => "bytes",
        LiteralValue::Double(_) => "double",
        LiteralValue::Int(_) => "int",
        LiteralValue::Null => "null_type",
        LiteralValue::String(_) => "string",
        LiteralValue::UInt(_) => "uint",
    }
}

fn cannot_convert(name: &str, literal: &IdedExpr) -> bool {
    if !matches!(literal.expr, Expr::Literal(_)) {
        return false;
    }
    let call = at(literal.id, call(name, vec![literal.clone()]));
    Activation::new(STEPS)
        .answer(&Program::of_literals(call))
        .is_err()
}

/// Returns what is wrong with a format for these operands.
fn format_misfit(text: &str, operands: &[IdedExpr]) -> Option<String> {
    let mut letters = text.chars().peekable();
    let mut wanted = 0;
    while let Some(letter) = letters.next() {
        if letter != '%' || letters.next_if_eq(&'%').is_some() {
            continue;
        }
        while letters
            .next_if(|letter| *letter == '.' || letter.is_ascii_digit())
            .is_some()
        {}
        let operand = operands.get(wanted).map(|operand| &operand.expr);
        let is_text = matches!(
            operand,
            Some(Expr::Literal(LiteralValue::String(_) | LiteralValue::Boolean(_)))
        );
        match letters.next() {
            Some(letter @ ('d' | 'o')) if is_text => {
                return Some(format!("the clause \"%{letter}\" needs a whole number"));
            }
            Some('s' | 'd' | 'f' | 'e' | 'b' | 'x' | 'X' | 'o') => wanted += 1,
            Some(other) => return Some(format!("unrecognized formatting clause \"{other}\"")),
            None => return Some("the format ends with an incomplete clause".to_owned()),
        }
    }
    let found = operands.len();
    (wanted != found).then(|| format!("the format has {wanted} clauses, and the list has {found} items"))
}
