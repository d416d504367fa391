//! The parts of a policy that say something: validations, their messages, and audit annotations.
//!
//! Decides what a part says of one request. What follows, and in which words a user hears of it, is decided by those who ask.

use crate::{Evaluated, usable_message};

/// Evaluates the expressions of one policy on one request.
pub trait Evaluate<'v> {
    /// A compiled expression.
    type Expression;
    /// Why an expression has no value.
    type Error;

    /// Evaluates an expression.
    fn answer(&self, expression: &Self::Expression) -> Result<Evaluated<'v>, Self::Error>;
    /// Returns an expression as messages quote it.
    fn quoted(expression: &Self::Expression) -> String;
}

/// An expression that must hold, and what is said if it does not.
#[derive(Debug)]
pub struct Validation<X> {
    /// The expression.
    pub expression: X,
    /// What is said; empty if nothing is written.
    pub message: String,
    /// What is said before that, if it has a value that can be said.
    pub message_expression: Option<X>,
}

/// What a validation says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValidationResult<E> {
    /// It holds.
    Holds,
    /// It does not.
    Broken,
    /// It is neither true nor false, but of this type.
    NotBool(String),
    /// It has no value.
    Failed(E),
}

/// What an audit annotation says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Annotation<E> {
    /// Nothing: it is null.
    None,
    /// A text.
    Text(String),
    /// It is neither a text nor null, but of this type.
    NotText(String),
    /// It has no value.
    Failed(E),
}

impl<X> Validation<X> {
    /// Returns what it says.
    pub fn judge<'v, V: Evaluate<'v, Expression = X>>(&self, evaluate: &V) -> ValidationResult<V::Error> {
        match evaluate.answer(&self.expression) {
            Ok(answer) => match answer.as_bool() {
                Some(true) => ValidationResult::Holds,
                Some(false) => ValidationResult::Broken,
                None => ValidationResult::NotBool(answer.type_name()),
            },
            Err(error) => ValidationResult::Failed(error),
        }
    }

    /// Returns the message: what its expression says, if that can be said; else the one that is written; else the expression itself.
    pub fn message<'v, V: Evaluate<'v, Expression = X>>(&self, evaluate: &V) -> String {
        let said = self.message_expression.as_ref().and_then(|expression| {
            let answer = evaluate.answer(expression).ok()?;
            answer.as_text().and_then(usable_message)
        });
        let written = || Some(self.message.clone()).filter(|text| !text.is_empty());
        said.or_else(written)
            .unwrap_or_else(|| format!("failed expression: {}", V::quoted(&self.expression)))
    }
}

impl<E> Annotation<E> {
    /// Returns what an expression says as an annotation.
    pub fn of<'v, V: Evaluate<'v, Error = E>>(expression: &V::Expression, evaluate: &V) -> Self {
        match evaluate.answer(expression) {
            Ok(answer) if answer.is_null() => Self::None,
            Ok(answer) => match answer.as_text() {
                Some(text) => Self::Text(text.to_owned()),
                None => Self::NotText(answer.type_name()),
            },
            Err(error) => Self::Failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Activation, Program};

    struct Plain;

    impl Evaluate<'static> for Plain {
        type Expression = Program;
        type Error = String;

        fn answer(&self, expression: &Program) -> Result<Evaluated<'static>, String> {
            let answer = Activation::new(100_000).answer(expression);
            answer.map_err(|failure| failure.words().to_owned())
        }

        fn quoted(expression: &Program) -> String {
            expression.source().to_owned()
        }
    }

    fn program(source: &str) -> Program {
        Program::compile(source).expect("it compiles")
    }

    fn validation(source: &str, message: &str, message_expression: Option<&str>) -> Validation<Program> {
        Validation {
            expression: program(source),
            message: message.to_owned(),
            message_expression: message_expression.map(program),
        }
    }

    #[test]
    fn a_validation_holds_or_is_broken_and_everything_else_is_reported_apart() {
        let rows = [
            ("true", ValidationResult::Holds),
            ("1 > 2", ValidationResult::Broken),
            ("'true'", ValidationResult::NotBool("string".to_owned())),
            (
                "1 / 0 == 0",
                ValidationResult::Failed("division by zero".to_owned()),
            ),
        ];
        for (source, expected) in rows {
            assert_eq!(validation(source, "", None).judge(&Plain), expected, "{source}");
        }
    }

    #[test]
    fn the_message_is_the_first_that_can_be_said() {
        let rows = [
            ("written", Some("' made '"), "made"),
            ("written", Some("'two\\nlines'"), "written"),
            ("written", Some("' '"), "written"),
            ("written", Some("'x' + string(1 / 0)"), "written"),
            ("", Some("''"), "failed expression: 1 > 2"),
            ("", None, "failed expression: 1 > 2"),
        ];
        for (message, expression, expected) in rows {
            let found = validation("1 > 2", message, expression).message(&Plain);
            assert_eq!(found, expected, "{message} {expression:?}");
        }
    }

    #[test]
    fn an_annotation_is_a_text_or_nothing() {
        let rows = [
            ("null", Annotation::None),
            ("' a '", Annotation::Text(" a ".to_owned())),
            ("1", Annotation::NotText("int".to_owned())),
            ("string(1 / 0)", Annotation::Failed("division by zero".to_owned())),
        ];
        for (source, expected) in rows {
            assert_eq!(Annotation::of(&program(source), &Plain), expected, "{source}");
        }
    }
}
