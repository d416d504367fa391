//! Grammar of label selectors, with the error texts of Kubernetes.
//!
//! Decides whether a selector is well-formed and which requirements it makes; never matches objects.

use std::collections::BTreeSet;

use super::lexer::{Token, Word, words};
use super::selector::{Operator, Requirement};
use crate::names::{Named, label_value_faults, qualified_name_faults};
use crate::print::quote;

/// Parses `text` into requirements that must all hold.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let mut parser = Parser {
        words: words(text),
        at: 0,
    };
    let mut requirements = Vec::new();
    loop {
        let (token, word) = parser.look();
        match token {
            Token::Identifier | Token::DoesNotExist => {
                let requirement = parser.requirement();
                requirements
                    .push(requirement.map_err(|fault| format!("unable to parse requirement: {fault}"))?);
            }
            Token::End => return Ok(requirements),
            Token::ClosedPar
            | Token::Comma
            | Token::DoubleEquals
            | Token::Equals
            | Token::Unknown
            | Token::GreaterThan
            | Token::In
            | Token::LessThan
            | Token::NotEquals
            | Token::NotIn
            | Token::OpenPar => {
                return Err(format!(
                    "found '{word}', expected: !, identifier, or 'end of string'"
                ));
            }
        }
        let (token, word) = parser.next();
        let (following, after) = parser.look();
        match (token, following) {
            (Token::End, _) => return Ok(requirements),
            (Token::Comma, Token::Identifier | Token::DoesNotExist) => {}
            (Token::Comma, _) => return Err(format!("found '{after}', expected: identifier after ','")),
            _ => return Err(format!("found '{word}', expected: ',' or 'end of string'")),
        }
    }
}

struct Parser {
    words: Vec<Word>,
    at: usize,
}

impl Parser {
    /// Looks at the next word; `in` and `notin` are names here.
    fn look(&self) -> (Token, String) {
        let (token, text) = self.look_for_operator();
        (
            if matches!(token, Token::In | Token::NotIn) {
                Token::Identifier
            } else {
                token
            },
            text,
        )
    }

    fn look_for_operator(&self) -> (Token, String) {
        self.words
            .get(self.at)
            .map_or((Token::End, String::new()), |word| {
                (word.token, word.text.clone())
            })
    }

    fn next(&mut self) -> (Token, String) {
        let found = self.look();
        self.at += 1;
        found
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (mut token, mut key) = self.next();
        let negated = token == Token::DoesNotExist;
        if negated {
            (token, key) = self.next();
        }
        if token != Token::Identifier {
            return Err(format!("found '{key}', expected: identifier"));
        }
        let faults = qualified_name_faults(&key, Named::LabelKey);
        if !faults.is_empty() {
            return Err(format!(
                "<nil>: Invalid value: {}: {}",
                quote(&key),
                faults.join("; ")
            ));
        }
        if negated {
            return Ok(Requirement {
                key,
                operator: Operator::DoesNotExist,
                values: BTreeSet::new(),
            });
        }
        if matches!(self.look().0, Token::End | Token::Comma) {
            return Ok(Requirement {
                key,
                operator: Operator::Exists,
                values: BTreeSet::new(),
            });
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            Operator::Equals | Operator::NotEquals | Operator::GreaterThan | Operator::LessThan => {
                self.exact_value()?
            }
            Operator::Exists | Operator::DoesNotExist => BTreeSet::new(),
        };
        let requirement = Requirement {
            key,
            operator,
            values,
        };
        check_values(&requirement)?;
        Ok(requirement)
    }

    fn operator(&mut self) -> Result<Operator, String> {
        let (token, word) = self.look_for_operator();
        self.at += 1;
        Ok(match token {
            Token::In => Operator::In,
            Token::NotIn => Operator::NotIn,
            Token::Equals | Token::DoubleEquals => Operator::Equals,
            Token::NotEquals => Operator::NotEquals,
            Token::GreaterThan => Operator::GreaterThan,
            Token::LessThan => Operator::LessThan,
            Token::ClosedPar
            | Token::Comma
            | Token::DoesNotExist
            | Token::End
            | Token::Unknown
            | Token::Identifier
            | Token::OpenPar => {
                return Err(format!("found '{word}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        })
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let (token, word) = self.next();
        if token != Token::OpenPar {
            return Err(format!("found '{word}' expected: '('"));
        }
        match self.look() {
            (Token::Identifier | Token::Comma, _) => {
                let values = self.identifiers()?;
                match self.next() {
                    (Token::ClosedPar, _) => Ok(values),
                    (_, word) => Err(format!("found '{word}', expected: ')'")),
                }
            }
            (Token::ClosedPar, _) => {
                self.at += 1;
                Ok(BTreeSet::from([String::new()]))
            }
            (_, word) => Err(format!("found '{word}', expected: ',', ')' or identifier")),
        }
    }

    fn identifiers(&mut self) -> Result<BTreeSet<String>, String> {
        let mut values = BTreeSet::new();
        loop {
            let (token, word) = self.next();
            let next = self.look();
            match (token, next.0) {
                (Token::Identifier, Token::Comma) => {
                    values.insert(word);
                }
                (Token::Identifier, Token::ClosedPar) => {
                    values.insert(word);
                    return Ok(values);
                }
                (Token::Identifier, _) => return Err(format!("found '{}', expected: ',' or ')'", next.1)),
                // An empty value stands before a leading comma, after a trailing one and between two of them.
                (Token::Comma, Token::ClosedPar) => {
                    values.insert(String::new());
                    return Ok(values);
                }
                (Token::Comma, Token::Comma) => {
                    self.at += 1;
                    values.insert(String::new());
                }
                (Token::Comma, _) if values.is_empty() => {
                    values.insert(String::new());
                }
                (Token::Comma, _) => {}
                _ => return Err(format!("found '{word}', expected: ',', or identifier")),
            }
        }
    }

    fn exact_value(&mut self) -> Result<BTreeSet<String>, String> {
        if matches!(self.look().0, Token::End | Token::Comma) {
            return Ok(BTreeSet::from([String::new()]));
        }
        match self.next() {
            (Token::Identifier, word) => Ok(BTreeSet::from([word])),
            (_, word) => Err(format!("found '{word}', expected: identifier")),
        }
    }
}

/// Checks the values of a requirement; texts name them as `values[0][key]`.
pub(super) fn check_values(requirement: &Requirement) -> Result<(), String> {
    let mut faults = Vec::new();
    let numeric = matches!(requirement.operator, Operator::GreaterThan | Operator::LessThan);
    for (index, value) in requirement.values.iter().enumerate() {
        if numeric && value.parse::<i64>().is_err() {
            let fault = "for 'Gt', 'Lt' operators, the value must be an integer";
            faults.push(format!(
                "values[{index}]: Invalid value: {}: {fault}",
                quote(value)
            ));
        }
        let syntax = label_value_faults(value);
        if !syntax.is_empty() {
            let key = &requirement.key;
            faults.push(format!(
                "values[{index}][{key}]: Invalid value: {}: {}",
                quote(value),
                syntax.join("; ")
            ));
        }
    }
    match faults.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}
