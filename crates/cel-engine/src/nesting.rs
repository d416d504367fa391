//! Refuses texts that would take the parser too deep, before it sees them.
//!
//! Decides by counting signs, never by meaning: the parser and every walk over the tree recurse once for each operator
//! of a chain, each member and each bracket. What is refused is far beyond what users write.

use super::diagnose::CompileError;

/// Most operators in a row, members in a chain and brackets inside each other, together.
const MOST: usize = 150;
/// What a bracket counts for: the parser takes a rule for each kind of operator to get into it.
const BRACKET: usize = 3;

/// One level of brackets.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Operators and members since the last sign between operands that stand side by side.
    chain: usize,
    /// Conditions: each `?` nests everything behind it.
    conditions: usize,
}

impl Level {
    fn depth(self) -> usize {
        1 + self.chain + self.conditions
    }
}

/// Counts what nests.
pub(super) fn check(source: &str) -> Result<(), CompileError> {
    let mut around: Vec<Level> = Vec::new();
    let mut here = Level::default();
    let mut outside = 0_usize;
    let mut word = String::new();
    for letter in code(source) {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            word.push(letter);
        } else {
            here.chain += usize::from(word == "in");
            word.clear();
        }
        match letter {
            '(' | '[' | '{' => {
                // What is in brackets is one more member of the chain around.
                here.chain += BRACKET;
                outside += here.depth();
                around.push(here);
                here = Level::default();
            }
            ')' | ']' | '}' => {
                here = around.pop().unwrap_or_default();
                outside = outside.saturating_sub(here.depth());
            }
            '.' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!' => here.chain += 1,
            '?' => here.conditions += 1,
            '&' | '|' => here.chain = 0,
            ',' => here = Level::default(),
            _ => {}
        }
        if outside + here.depth() > MOST {
            let words = format!("expression is nested more than {MOST} levels deep");
            return Err(CompileError::whole(source, words));
        }
    }
    Ok(())
}

/// Returns the letters that are not inside a text or a comment.
fn code(source: &str) -> impl Iterator<Item = char> {
    let mut letters = source.chars().peekable();
    std::iter::from_fn(move || {
        let letter = letters.next()?;
        match letter {
            '"' | '\'' => {
                while let Some(inner) = letters.next() {
                    if inner == '\\' {
                        letters.next();
                    } else if inner == letter || inner == '\n' {
                        break;
                    }
                }
                Some(' ')
            }
            '/' if letters.peek() == Some(&'/') => {
                while letters.next_if(|inner| *inner != '\n').is_some() {}
                Some(' ')
            }
            other => Some(other),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn what_people_write_passes_and_what_nests_deeply_does_not() {
        let long = vec!["object.spec.replicas + 1 <= params.max[0].value"; 200].join(" && ");
        for source in [
            long.as_str(),
            "a.b(c.d(e.f))",
            "'((((' + \"....\"",
            &"// ((((\n".repeat(200),
        ] {
            assert!(check(source).is_ok(), "{source}");
        }
        for (sign, times) in [
            ("(", 200),
            ("1+", 200),
            ("a.", 200),
            ("a?b:", 200),
            ("a&&b?c:", 200),
            ("[", 200),
            ("1 in ", 200),
        ] {
            assert!(check(&sign.repeat(times)).is_err(), "{sign}");
        }
    }
}
